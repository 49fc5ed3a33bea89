"""What a file, a card or a form may claim at most: every bound in one place, with its reason.

A claim is held against its bound before anything of that size is made, and the sentence that refuses it names the
bound.
"""

from qpwl_core.common.text import quoted

# --- recordings
SEQUENCES = 10**6              # of one file: beyond, lists of names alone take gigabytes
CHANNELS = 4096                # of one file: the densest EEG caps have 512
NAME_LENGTH = 200              # characters of a subject, stimulus or channel: it must fit a line
NAME_BYTES = 256 * 2**20       # of all names of one kind in a file, as NumPy keeps them
INFO_BYTES = 4 * 2**20         # of the free text that travels with recordings
SLOWEST, FASTEST = 1e-3, 1e6   # Hz: one sample in a quarter of an hour, and a million a second
RESAMPLED = 2**28              # values of one sequence after resampling: a gibibyte of float32

VALUES_BYTES_FILE = 32 * 2**30  # of one file or folder as float32: what a workstation holds; pages take far less
FOLDER_FILES = 100_000         # of one folder of recordings: more is somebody's whole disk
CSV_LINE = 2**20               # characters of a line: a file that is one endless line is not read into memory
DEFLATED = 1032                # bytes that one deflated byte holds at most: a claim of more is none
EXPANSION = 100                # times that a file grows when unpacked: recordings do by 1.5 to 5, more is a bomb ...
EXPANSION_FREE = 64 * 2**20    # ... unless it has no more bytes than this, which harm nobody
MEMBER_BYTES = 64 * 2**20      # of a file in an archive of a data set: the largest of ours is below 10 MB
ARCHIVE_BYTES = 8 * 2**30      # of an archive inside an archive, which is copied to a temporary file
ARCHIVE_MEMBERS = 500_000      # files of one archive
ARCHIVE_DEPTH = 4              # UCI EEG: eeg+database.zip / eeg_full.tar / co2a0000364.tar.gz / the files
PHONE_SECONDS = 24 * 3600.0    # of one walk with a phone: beyond, its clock is broken
PHONE_GAP = 10.0               # seconds without a sample: beyond, the phone was asleep
PHONE_MEMBERS = 200            # files in an export of a phone: it has a dozen sensors
PHONE_LINE = 2**16             # characters of a line of it
SIGNATURE_SECONDS = 600.0      # of one signature in a file: beyond that a clock is broken
SIGNATURE_STEP = 60.0          # seconds from one sample to the next; more is a broken clock, and counts as this
SIGNATURE_COORDINATE = 1e7     # of a pen: float32 tells neighbours apart up to here

# --- what a pad in the browser hands over
INK_SECONDS = 60.0             # of one signature or movement, from the first touch to the last
INK_SAMPLES = 120_000          # of one: a minute at 2,000 Hz, twice what the fastest common mice report
INK_STROKES = 500              # of one: three hundred letters with dots and accents
INK_PIXELS = 20_000.0          # a coordinate, on the pad or beside it: the widest screens have 8,000
INK_SLOWEST = 0.1              # seconds between samples while the pen moves (median): slower is no movement to learn
LEAST_INK = 10                 # samples below which a pen has told nothing

INK_CLOCK = 1e13               # milliseconds: three hundred years on either side of any clock's beginning
DRAWINGS = 500                 # that one session keeps: each is embedded by every model that it meets

# --- what a form or a link says
TYPED = 10_000                 # numbers pasted into the page Quantile layer: all are sorted and drawn
TYPED_NUMBER = 1e12            # the largest of them: squares of differences stay exact enough to show
LEVELS_BY_HAND = 64            # of a quantile layer, typed in
LINK_LENGTH = 2_000            # characters of pasted text that a link carries
FILES_EACH = 1000              # addresses of files that the door of a class remembers of one visitor
SOCKETS_EACH = 40              # pages that one visitor of a class has open at a time: each is a session of the server
GAME_TRIES, GAME_TRIES_EACH = 20_000, 500      # of one game of a class, and of one visitor: everybody shall have theirs
TRAIN_FORM = {                 # whole numbers on the page Train: what one machine trains within days
    "points": (1, 256), "pairs": (2, 256), "iterations": (1, 100_000), "seed": (0, 99_999), "filters": (1, 512),
    "layers": (1, 32), "stride": (1, 16)}
FORM_BYTES = 4096              # of the form at the door of a class: a code and a button
CODE_TRIES, CODE_EVERY = 10, 6.0   # wrong codes from one address at once, and seconds until one more is allowed
TITLE_LENGTH = 80              # characters of a model's title: it must fit a list

# --- networks
FILTERS = 4096                 # of a layer: its weights are filters² · kernel
LAYERS = 256                   # of a network: the paper has 16
KERNEL = 1025                  # samples that a convolution sees
REACH = 10**5                  # samples that a convolution reaches to either side, dilation · (kernel − 1) / 2
STRIDE = 1024                  # samples that a step of the first convolution skips: seconds at any common rate
POINTS = 10_000                # levels of a quantile layer
PAIRS = 4096                   # people in a batch: the loss has pairs² distances
ITERATIONS = 10**8             # steps: at a millisecond each, a day
SEED = 2**63 - 1               # NumPy and PyTorch take no larger ones alike
FORGERIES, COPIES = 16, 16     # of each person in a batch; of each sequence
CROP_PIECES = 1024             # that a crop is made of: each is a slice that Python cuts
TRIES = 10_000                 # of a search: each is a training
PIECES = 64                    # of all storeys of a pyramid: each multiplies the embedding
SETTING = 1e30                 # the largest number in a Config: beyond, float32 overflows
JSON_BYTES = 16 * 2**20        # of a card, a config or a state: the largest of ours has 100 kB

# --- the command line: what its numbers may be, beside those of networks above
SIMULATED = 10_000             # people that are simulated: a gigabyte
OPTIONS: dict[str, tuple[float, float]] = {
    "p": (1.0, 1000.0),                        # beyond, the largest difference alone counts, to all digits
    "learning_rate": (1e-12, 1000.0), "penalty": (0.0, 1e6), "crop": (0.0, 1e6), "channel_dropout": (0.0, 0.999),
    "validation": (0.001, 0.999), "forgery_weight": (1e-6, 1e6), "fmr": (1e-6, 0.999),
    "threshold": (-1e12, 1e12)}                # distances of our models are below a thousand

# --- the enrolment desk
PERSON_LENGTH = 80             # characters of a name: it must fit a line
ENROLLED_SEQUENCES = 1000      # of one person: each is compared with whoever comes
PRESENTED = 5                  # sequences at once, as in the paper
DESK_RECORDINGS = 100          # of one person of a file that are embedded: nobody brings more to a desk
VISITORS = 300                 # of one class: a lecture hall

# --- galleries
GALLERY_SEQUENCES = 3000       # every page compares all with all: 36 MB of distances, and keeps some of those
GALLERY_PARTS = 2**30          # sequences² · filters: what each filter adds to every distance between people
GALLERY_WORK = 2**34           # sequences² · filters · levels: fifteen seconds of one core; ours have 2**29
GALLERY_PEOPLE = 200           # of a part: an interval compares each with every pair of others, people³ numbers
PICTURE_SEQUENCES = 600        # whose pairs, 180,000 of them, are drawn and ranked filter by filter
GALLERY_HERE = 2**31           # work up to which distances are computed in the server: a second or two
PEOPLE_HERE = 128              # and people up to which intervals are: 17 MB, half a second
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
ANSWER_BYTES = 2**29           # of what comes back: the values of the largest upload, and something beside them
CHILD_TASKS = 100              # of one process, then another takes over: what it forgot to free goes with it
CHILD_PATIENCE = 120.0         # seconds that one waits for a process that is free
MEASURING_MEMORY = 4 * 2**30   # bytes of a few steps of a training whose cost is measured
TRAINING_SHARE = 0.75          # of the machine's memory that a training may take: pages need the rest

# --- what the server keeps of what it computed, `ui/visitors/kept.py`
KEPT_BYTES = 512 * 2**20       # of galleries, models, distances, trials: ten of ours, or one at the bounds above
KEPT_SHARE = 0.125             # of the memory that the server may have, where that is less
KEPT_IDLE, KEPT_BYTES_IDLE = 60.0, 128 * 2**20   # in a class: seconds unused, after which no more than these are kept
REFUSED_SECONDS = 60.0         # that what another process refused is refused at once: pages are drawn again and again

# --- uploads to the app
UPLOADS = 4                               # recordings that one session keeps
UPLOAD_SEQUENCES = 50_000                 # of one upload: pages list them one by one; the largest sets have 15,000
UPLOAD_PEOPLE = 5_000                     # of one upload: pages draw a bar and a colour for each
DRAWN_SAMPLES = 20_000                    # of one sequence that a page draws sample by sample
UPLOADED_BYTES_SESSION = 256 * 2**20      # of the files of one session, as the browser sent them
UPLOADED_BYTES = 512 * 2**20              # of all sessions: a server of 3 GB holds them, and goes on
UPLOADED_SHARE = 0.125                    # of the memory that the server may have, where that is less
VALUES_BYTES_SESSION = 256 * 2**20        # of what was read from them, as float32
VALUES_BYTES = 768 * 2**20                # of all sessions
VALUES_SHARE = 0.1875                     # of the memory that the server may have, where that is less
EMBEDDED_BYTES_SESSION = 64 * 2**20       # of what a model saw in them that a desk keeps at hand; the oldest go first
MODEL_BYTES = 200 * 2**20                 # of all files of a model, unpacked
STORED_BYTES_EACH = 256 * 2**20           # of uploads that a class keeps on disk, of one visitor
STORED_BYTES = 4 * 2**30                  # and of all visitors
ONCE_BYTES = 512 * 2**20                  # of distances that processes of a class share on disk; the oldest go first
MODELS_BYTES = 2 * 2**30                  # of all models that visitors uploaded, on the disk of the server
PRIVATE_HOURS = 24                        # that a model nobody shared lies on the disk of a server that was killed


def within(name: str, value, least, most) -> str | None:
    """What is wrong with a number that must lie between two, None where nothing is."""
    if least <= value <= most:                       # NaN lies nowhere
        return None
    return f"{name} must be from {said(least)} to {said(most)}, not {quoted(value)}"


def said(number) -> str:
    """A bound, for people."""
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"
