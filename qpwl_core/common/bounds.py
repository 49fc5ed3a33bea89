"""What a file, a card or a form may claim at most: every bound in one place, with its reason.

A claim is held against its bound before anything of that size is made, and the sentence that refuses it names the
bound.
"""

# --- recordings
SEQUENCES = 10**6              # of one file: beyond, lists of names alone take gigabytes
CHANNELS = 4096                # of one file: the densest EEG caps have 512
NAME_LENGTH = 200              # characters of a subject, stimulus or channel: it must fit a line
NAME_BYTES = 256 * 2**20       # of all names of one kind in a file, as NumPy keeps them
INFO_BYTES = 4 * 2**20         # of the free text that travels with recordings
SLOWEST, FASTEST = 1e-3, 1e6   # Hz: one sample in a quarter of an hour, and a million a second
RESAMPLED = 2**28              # values of one sequence after resampling: a gibibyte of float32

# --- what a pad in the browser hands over
INK_SECONDS = 60.0             # of one signature or movement, from the first touch to the last
INK_SAMPLES = 120_000          # of one: a minute at 2,000 Hz, twice what the fastest common mice report
INK_STROKES = 500              # of one: three hundred letters with dots and accents
INK_PIXELS = 20_000.0          # a coordinate, on the pad or beside it: the widest screens have 8,000
INK_SLOWEST = 0.1              # seconds between samples while the pen moves (median): slower is no movement to learn
LEAST_INK = 10                 # samples below which a pen has told nothing

# --- networks
FILTERS = 4096                 # of a layer: its weights are filters² · kernel
LAYERS = 256
KERNEL = 1025                  # samples that a convolution sees
REACH = 10**5                  # samples that a convolution reaches to either side, dilation · (kernel − 1) / 2
STRIDE = 1024
POINTS = 10_000                # levels of a quantile layer
PAIRS = 4096                   # people in a batch: the loss has pairs² distances
ITERATIONS = 10**8
SEED = 2**63 - 1               # NumPy and PyTorch take no larger ones alike
FORGERIES, COPIES = 16, 16     # of each person in a batch; of each sequence
TRIES = 10_000                 # of a search: each is a training

# --- galleries
GALLERY_SEQUENCES = 3000       # every page compares all with all: 36 MB of distances, and keeps some of those
GALLERY_PARTS = 2**30          # sequences² · filters: what each filter adds to every distance between people
GALLERY_WORK = 2**36           # sequences² · filters · levels: a minute of one core
PICTURE_SEQUENCES = 600        # whose pairs, 180,000 of them, are drawn and ranked filter by filter
GALLERY_HERE = 2**31           # the same, up to which distances are computed in the server: a second or two
GALLERY_VALUES = 2**28         # quantiles of all sequences together: a gibibyte of float32

# --- trainings of the app
JOBS = 32                      # that wait or run: each keeps its recordings on the disk until its turn
JOBS_WAITING_EACH = 2          # of one visitor of a class, beside the one that runs: the others shall have a turn
RUNS_EACH, RUNS = 50, 2000     # that one visitor of a class keeps, and all of them: a run is some megabytes
OWNERS = 1000                  # whose last turn is remembered
SILENCE = 60.0                 # seconds without a sign of life after which a training's process is ended
STUCK = 3600.0                 # seconds that one step of a training may take: the machine has other jobs waiting

# --- heavy work that leaves the server, `common/child.py`
CHILDREN = 2                   # processes at a time: of two cores one is for the pages
CHILD_SECONDS = 60.0           # of one task: nobody waits longer for a page
CHILD_MEMORY = 3 * 2**29       # bytes of one task, 1.5 GB: three times what an upload may hold, and PyTorch's buffers
CHILD_TASKS = 100              # of one process, then another takes over: what it forgot to free goes with it
CHILD_PATIENCE = 120.0         # seconds that one waits for a process that is free
MEASURING_MEMORY = 4 * 2**30   # bytes of a few steps of a training whose cost is measured
TRAINING_SHARE = 0.75          # of the machine's memory that a training may take: pages need the rest

# --- uploads to the app
UPLOADS = 4                               # recordings that one session keeps
UPLOADED_BYTES_SESSION = 256 * 2**20      # of the files of one session, as the browser sent them
UPLOADED_BYTES = 512 * 2**20              # of all sessions: a server of 3 GB holds them, and goes on
VALUES_BYTES_SESSION = 256 * 2**20        # of what was read from them, as float32
VALUES_BYTES = 768 * 2**20                # of all sessions
MODEL_BYTES = 200 * 2**20                 # of all files of a model, unpacked
PRIVATE_HOURS = 24                        # that a model nobody shared lies on the disk of a server that was killed


def within(name: str, value, least, most) -> str | None:
    """What is wrong with a number that must lie between two, None where nothing is."""
    if least <= value <= most:                       # NaN lies nowhere
        return None
    return f"{name} must be from {_said(least)} to {_said(most)}, not {value!r}"


def _said(number) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"
