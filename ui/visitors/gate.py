"""The door of a class: an ASGI layer in front of the whole app, which nothing passes without a signed cookie.

Pages, scripts, the web socket, uploads and downloads are all behind it. ``/join/<code>`` asks for consent and gives the
cookie, ``/lecturer/<secret>`` gives the lecturer's. Whoever has neither sees one sentence.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import time
from collections import Counter, OrderedDict
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, unquote

from starlette.responses import HTMLResponse, RedirectResponse, Response

from qpwl_core.common.bounds import FILES_EACH, SOCKETS_EACH
from qpwl_core.common.bounds import FORM_BYTES as LARGEST
from qpwl_core.common.files import FileError
from qpwl_core.common.paths import desk_place
from qpwl_core.desk.visitors import Register
from ui.visitors.classroom import BEHIND, COOKIE, LECTURER, OUTSIDE, Classroom, classroom, folder, same, whose_computer
from ui.visitors.guesses import FILE, Guesses

SLOW = "There were too many wrong codes from here: wait a minute, then open the lecturer's link again."
CONSENT = ("What you upload, train and enrol here is kept on {} under a random number until you "
           "press “Forget me” or the class ends; only the lecturer can see it, and nobody else until you share it.")
CLOSED = ("/_stcore/metrics", "/_stcore/agent", "/_stcore/script-health-check")        # nothing for visitors
FILES = re.compile("/media/[0-9a-f]+|/_stcore/upload_file/[-0-9a-zA-Z]+/[-0-9a-zA-Z]+")   # of those who were told
MESSAGES = ("rerun_script", "stop_script", "file_urls_request", "app_heartbeat")          # that pages send
OPERATIONS = ("deferred_file", "dataframe_chunk")
KNOWN = 2.0                       # seconds that a look at the register counts
STYLE = ("<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><title>QP-WL Lab</title>"
         "<style>:root{color-scheme:light dark}body{font:18px/1.5 system-ui,sans-serif;max-width:34em;margin:3em auto;"
         "padding:0 1em}input,button{font:inherit;padding:.5em .8em;border-radius:.5em;border:1px solid #888}"
         "button{background:#0072B2;color:#fff;border-color:#0072B2}</style>")


class Gate:
    """Starlette middleware."""

    def __init__(self, app):
        self.app, self.room, self.register = app, classroom(), Register(desk_place())
        self.known, self.told, self.open = {}, Told(), Counter()
        self.guesses = Guesses(at / FILE if (at := folder()) else None, self.room.key)

    async def __call__(self, scope, receive, send):
        if scope["type"] not in ("http", "websocket"):                     # the server's own start and end
            await self.app(scope, receive, send)
            return
        visitor = await self.visitor_of(scope)
        path = unquote(scope["path"])
        if scope["type"] == "websocket":
            if visitor is None or self.open[visitor] >= SOCKETS_EACH:
                await receive()
                await send({"type": "websocket.close", "code": 1008})
                return
        elif path.startswith(("/join/", "/lecturer/")):
            response = await self.let_in(scope, receive, path, visitor)
            await response(scope, receive, send)
            return
        elif visitor is None or path.rstrip("/").startswith(CLOSED):
            await page(f"<p>{OUTSIDE}</p>", 403)(scope, receive, send)
            return
        elif (wanted := FILES.match(path)) and not self.told.knows(visitor, wanted[0]):
            await page("<p>It is not there.</p>", 404)(scope, receive, send)
            return
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        self.open[visitor] += 1
        try:
            await self.app(scope, only_permitted(receive), self.told.listening(visitor, send))
        finally:
            self.open[visitor] -= 1
            self.open += Counter()                                         # forget who has none

    async def visitor_of(self, scope) -> str | None:
        """Whose request it is: the cookie is signed by us, and its visitor was not removed meanwhile."""
        visitor = self.room.visitor_of(cookie_of(scope))
        if visitor is None or visitor == LECTURER:
            return visitor
        seen, when = self.known.get(visitor, (False, -KNOWN))
        if time.monotonic() - when > KNOWN:
            try:
                seen = await asyncio.to_thread(self.register.find, visitor) is not None
            except FileError:                  # a full disk, a database that is away: the cookie is ours, and as far
                return visitor if seen or visitor not in self.known else None          # as we know they are one of us
            self.known[visitor] = seen, time.monotonic()
            if len(self.known) > 1000:
                self.known.clear()
        return visitor if seen else None

    async def let_in(self, scope, receive, path: str, visitor: str | None) -> Response:
        """Check a code; ask for consent, then hand out the cookie."""
        kind, _, code = path[1:].partition("/")
        code = code.strip("/")
        lectures = kind == LECTURER and same(code, self.room.lecturer)
        joins = kind == "join" and same(code.lower(), self.room.join)
        if joins and visitor is not None:                                  # they have known it before
            return RedirectResponse("/", 303)
        if not await asyncio.to_thread(self.guesses.may, client_of(scope), path, lectures or joins):
            return page(f"<p>{SLOW}</p>", 429)
        if lectures:
            return with_cookie(RedirectResponse("/classroom", 303), self.room, LECTURER)
        if joins:
            if scope["method"] != "POST":
                return page(form_of(self.room), 200)
            try:
                name = parse_qs(await body_of(receive)).get("name", [""])[0]
                joined = await asyncio.to_thread(self.register.join, name)
            except (FileError, ValueError) as error:
                said = str(error).replace(f"{folder()}{os.sep}", "")         # where it lies is nothing for visitors
                return page(f"<p>{html.escape(said[:1].upper() + said[1:])}.</p>{form_of(self.room)}", 400)
            return with_cookie(RedirectResponse("/", 303), self.room, joined.id)
        return page(f"<p>{OUTSIDE}</p>", 403)


def permitted(data: bytes | None) -> bool:
    """Whether a message is one that a page sends by itself; others are for developers and change the whole server."""
    from streamlit.proto.BackMsg_pb2 import BackMsg

    try:
        message = BackMsg.FromString(data or b"")
    except Exception:                                                      # no message at all
        return False
    kind = message.WhichOneof("type")
    return kind in MESSAGES or (kind == "backend_operation_request" and
                                message.backend_operation_request.WhichOneof("payload") in OPERATIONS)


def only_permitted(receive):
    """What comes by a web socket without what a visitor has no business with."""
    async def heard():
        while True:
            message = await receive()
            if message["type"] != "websocket.receive" or permitted(message.get("bytes")):
                return message

    return heard


class Told:
    """Which downloads a visitor was told of, and where to put an upload: what Streamlit sent to a session of theirs.

    Its addresses cannot be guessed; to know another's must be of no use either."""

    def __init__(self):
        self.files: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()
        self.sent = re.compile(FILES.pattern.encode())

    def listening(self, visitor: str, send):
        async def noting(message):
            for found in self.sent.findall(message.get("bytes") or b""):
                theirs = self.files.setdefault(visitor, OrderedDict())
                theirs[found.decode()] = None
                theirs.move_to_end(found.decode())
                if len(theirs) > FILES_EACH:
                    theirs.popitem(last=False)
            await send(message)

        if len(self.files) > 1000:
            self.files.popitem(last=False)
        return noting

    def knows(self, visitor: str, path: str) -> bool:
        return path in self.files.get(visitor, ())


def cookie_of(scope) -> str | None:
    """The cookie of ours that a request carries."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                found = SimpleCookie(value.decode("latin-1")).get(COOKIE)
            except CookieError:
                continue
            if found is not None:
                return found.value
    return None


def client_of(scope) -> str:
    """The address of whoever asks; behind our own nginx, which sits on this machine, the one that it tells."""
    address = (scope.get("client") or ("",))[0]
    if BEHIND in os.environ and address in ("127.0.0.1", "::1"):
        for name, value in scope["headers"]:
            if name == b"x-real-ip":
                return value.decode("latin-1")[:64]
    return address


async def body_of(receive) -> str:
    """The body of a small form."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST:
            raise ValueError("that is too long")
        if not message.get("more_body"):
            return body.decode("utf-8", "replace")


def form_of(room: Classroom) -> str:
    return (f"<h1>QP-WL Lab</h1><p>{CONSENT.format(whose_computer())}</p>"
            f"<form method=post action='/join/{room.join}'><p><label>Your name for the others, if you like"
            "<br><input name=name maxlength=40 autocomplete=nickname></label></p>"
            "<p><button>I agree, let me in</button></p></form>")


def with_cookie(response: Response, room: Classroom, visitor: str) -> Response:
    response.set_cookie(COOKIE, room.ticket(visitor), max_age=30 * 86400, path="/", httponly=True, samesite="lax")
    response.headers["cache-control"] = "no-store"
    response.headers["referrer-policy"] = "no-referrer"                   # the code stands in the address
    return response


def page(inside: str, status: int) -> HTMLResponse:
    return HTMLResponse(STYLE + inside, status, headers={
        "cache-control": "no-store", "referrer-policy": "no-referrer", "x-content-type-options": "nosniff"})
