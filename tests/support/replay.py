"""Recorded ink into the pad of a real browser, with its true timing however slow the machine is.

Chromium's input commands take a ``timestamp`` that the page's events carry; many are sent at once, so a signature of
three seconds takes a fraction of one.
"""

import asyncio
import io
import re
import time

import numpy as np

from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.model import Model
from tests.support.browser import until_still

FILES = {"susig-visual": "sign-susig-visual-74.npz", "svc2004": "sign-svc2004-28.npz"}
ENROLLED = 5
AT_ONCE = 60             # commands under way: what a frame takes in is coalesced, and comes out again one by one


def strokes_of(values: np.ndarray, y_up: bool) -> list[np.ndarray]:
    """Strokes (k, 4) of seconds, x, y downwards, pressure from 0 to 1, out of x, y, pressure, down at 100 Hz. (T, 4)"""
    down = values[:, 3] > 0.5
    edges = np.flatnonzero(np.diff(np.concatenate([[0], down.astype(int), [0]])))
    pressure = values[:, 2] / max(float(values[:, 2].max()), 1e-9)
    timed = np.column_stack([np.arange(len(values)) / 100, values[:, 0], -values[:, 1] if y_up else values[:, 1],
                             0.02 + 0.98 * pressure])
    return [timed[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def fitted(strokes: list[np.ndarray], box: dict, margin: float = 0.06) -> list[np.ndarray]:
    """The same, in its proportions, as large as the pad lets it be: x and y in pixels of the page."""
    ink = np.concatenate(strokes)[:, 1:3]
    low, size = ink.min(0), np.maximum(np.ptp(ink, axis=0), 1e-9)
    room = (1 - 2 * margin) * np.array([box["width"], box["height"]])
    scale = float((room / size).min())
    corner = np.array([box["x"], box["y"]]) + (np.array([box["width"], box["height"]]) - scale * size) / 2
    placed = []
    for stroke in strokes:
        moved = stroke.copy()
        moved[:, 1:3] = corner + scale * (stroke[:, 1:3] - low)
        placed.append(moved)
    return placed


def commands(strokes: list[np.ndarray], touch: bool, start: float) -> list[tuple[str, dict]]:
    """What Chromium is told: (method, parameters) of every sample."""
    told = []
    for stroke in strokes:
        for i, (t, x, y, pressure) in enumerate(stroke.tolist()):
            told.append(_touched("touchMove" if i else "touchStart", x, y, pressure, start + t) if touch else
                        _moused("mouseMoved" if i else "mousePressed", x, y, start + t))
        t, x, y, pressure = stroke[-1].tolist()
        told.append(_touched("touchEnd", None, None, None, start + t + 0.005) if touch else
                    _moused("mouseReleased", x, y, start + t + 0.005))
    return told


def dispatch(session, told: list[tuple[str, dict]]) -> None:
    """Send them all through a CDP session of Playwright's synchronous interface, many under way at once."""
    inner = session._impl_obj

    async def everything() -> None:
        for i in range(0, len(told), AT_ONCE):
            await asyncio.gather(*(inner.send(method, parameters, None) for method, parameters in told[i:i + AT_ONCE]))

    session._sync(everything())


def draw(page, session, strokes: list[np.ndarray], touch: bool = False) -> None:
    """Draw strokes on the pad that is on the page, and press nothing."""
    pad = page.locator("canvas.ink")
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    pad.scroll_into_view_if_needed()
    box = None
    while box != (box := pad.bounding_box()):                     # until it stands where it will stand
        page.wait_for_timeout(30)
    dispatch(session, commands(fitted(strokes, box), touch, time.time()))


def _moused(kind: str, x: float, y: float, when: float) -> tuple[str, dict]:
    held = {"button": "left", "buttons": 0 if kind == "mouseReleased" else 1}
    return "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "timestamp": when, **held,
                                        "clickCount": 0 if kind == "mouseMoved" else 1}


def _touched(kind: str, x, y, force, when: float) -> tuple[str, dict]:
    points = [] if kind == "touchEnd" else [{"x": x, "y": y, "force": force, "id": 1}]
    return "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points, "timestamp": when}

def held_out(card: dict, shared) -> dict[str, tuple[Recordings, str]]:
    """People of the shared files whom a model neither learned from nor was calibrated on: name -> file and subject."""
    files = {prefix: load_recordings(shared / name) for prefix, name in FILES.items()}
    known = set(card["split"]["test"]) - set(card.get("gallery", {}).get("calibration", ()))
    found = {}
    for person in sorted(known):
        prefix, _, subject = person.rpartition("-")
        if prefix in files and (files[prefix].imitates == subject).any():
            found[person] = files[prefix], subject
    return found


class Signer:
    """Somebody at the page Sign, who draws recorded ink instead of signing."""

    def __init__(self, page, touch: bool):
        self.page, self.touch, self.drawn = page, touch, []
        self.session = page.context.new_cdp_session(page)

    def sign(self, values: np.ndarray) -> None:
        """One signature, handed over; what was drawn is kept to compare."""
        strokes = strokes_of(values, y_up=True)
        draw(self.page, self.session, strokes, self.touch)
        self.drawn.append(values)
        self.page.locator("button.done").click()

    def enrol(self, signatures: list[np.ndarray]) -> None:
        for i, values in enumerate(signatures):
            self.sign(values)
            self.page.get_by_text(f"{i + 1} of 5 signatures").wait_for()

    def knock(self, values: np.ndarray, number: int) -> bool:
        """A try; whether it got in, as the page says it."""
        self.sign(values)
        self.page.get_by_text(re.compile(rf"^Try {number} of Neighbour 1\b")).wait_for()
        return self.page.get_by_role("heading", name="Neighbour 1 gets in as you").count() > 0

    def downloaded(self) -> Recordings:
        """What the server got, through the button that gives it away."""
        until_still(self.page)
        with self.page.expect_download() as file:
            self.page.get_by_role("button", name="Download my signatures (.npz)").click()
        with open(file.value.path(), "rb") as content:
            return load_recordings(io.BytesIO(content.read()), name="signatures.npz")


def replay_person(page, touch: bool, recordings: Recordings, subject: str, strangers: list[np.ndarray], each: int,
                  model: Model) -> dict:
    """Enrol five of a person's first session, let ``each`` of the next session, forgeries and strangers knock.

    ``page`` is at the page Sign, with nothing drawn. -> whether each got in, by kind, and for every drawing how far
    what the server got is from its source, over the median distance to the same person's other signatures.
    """
    where = lambda mask: [recordings.sequences[i] for i in np.flatnonzero(mask)]
    own = recordings.subjects == subject
    first, later = (where(own & (recordings.stimuli == session)) for session in ("session1", "session2"))
    forged = where(recordings.imitates == subject)
    signer = Signer(page, touch)
    signer.enrol(first[:ENROLLED])
    page.get_by_role("button", name="Hand it to your neighbour").click()
    page.get_by_text("Who tries?").wait_for()
    found: dict = {"genuine": [], "skilled": [], "random": []}
    for kind, signatures in (("genuine", later), ("skilled", forged), ("random", strangers)):
        for values in signatures[:each]:
            found[kind].append(signer.knock(values, sum(map(len, found.values())) + 1))
    got = signer.downloaded()
    embed = lambda sequences, like: model.embed(Recordings(
        sequences, ["x"] * len(sequences), like.channels, like.rate, info=like.info))
    genuine = first + later
    captured, sources, mine = embed(got.sequences, got), embed(signer.drawn, recordings), embed(genuine, recordings)
    apart = np.diag(model.distances(captured, sources))
    among = model.distances(mine)
    usual = float(np.median(among[~np.eye(len(among), dtype=bool)]))
    found["captured"] = (apart / usual).tolist()
    found["lost"] = [abs(len(a) - len(_inked(b))) for a, b in zip(got.sequences, signer.drawn, strict=True)]
    page.get_by_role("button", name="Forget me").click()
    page.get_by_text("Nothing of you is left here").wait_for()
    until_still(page)
    return found


def _inked(values: np.ndarray) -> np.ndarray:
    """From the first touch to the last."""
    down = np.flatnonzero(values[:, 3] > 0.5)
    return values[down[0]:down[-1] + 1]


def rates(people: list[dict]) -> dict[str, float]:
    """Shares over all tries, and the median of what was captured over what is usual."""
    share = lambda kind: float(np.mean(np.concatenate([found[kind] for found in people])))
    return {"genuine let in": share("genuine"), "random sent away": 1 - share("random"),
            "skilled sent away": 1 - share("skilled"), "captured to its source, of what is usual among the person's":
            float(np.median(np.concatenate([found["captured"] for found in people])))}
