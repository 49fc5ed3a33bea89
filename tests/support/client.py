"""A person at the app without a browser: Streamlit's own messages over its web socket, so that the server is measured.

A client opens a page by its link, holds what the page shows, presses buttons and sets widgets as a browser would, and
runs fragments again when the server asked for it.
"""

from __future__ import annotations

import asyncio
import functools
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import connect

DONE = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
COOKIE = "qpwl_visitor"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class From(urllib.request.HTTPHandler):
    """Requests that come from an address of this machine, such as 127.0.0.7."""

    def __init__(self, source: str):
        super().__init__()
        self.source = source

    def http_open(self, request):
        return self.do_open(functools.partial(http.client.HTTPConnection,
                                              source_address=(self.source, 0) if self.source else None), request)


def asked(address: str, path: str, form: dict | None = None, cookie: str | None = None, method: str | None = None,
          headers: dict | None = None, body: bytes | Iterable[bytes] | None = None,
          source: str = "") -> tuple[int, str, dict]:
    """One HTTP request, no redirect followed: status, text, headers."""
    data = body if body is not None else None if form is None else urlencode(form).encode()
    request = urllib.request.Request(address + path, data, headers or {}, method=method)
    if cookie and not request.has_header("Cookie"):
        request.add_header("Cookie", f"{COOKIE}={cookie}")
    try:
        with urllib.request.build_opener(NoRedirect, From(source)).open(request, timeout=60) as answer:
            return answer.status, answer.read().decode("utf-8", "replace"), dict(answer.headers)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.read().decode("utf-8", "replace"), dict(answer.headers)


def joined(address: str, link: str, name: str = "") -> str:
    """The cookie that a link gives (``/join/…`` or ``/lecturer/…``)."""
    status, text, headers = asked(address, link, {"name": name} if link.startswith("/join") else None)
    if status != 303:
        raise RuntimeError(f"{status}: {text[-200:]}")
    found = {key.lower(): value for key, value in headers.items()}["set-cookie"]
    return found.partition(";")[0].partition("=")[2]


def pieces(*parts: bytes | Path) -> Iterator[bytes]:
    """Bytes, and those of files, none of which is in memory as a whole."""
    for part in parts:
        if isinstance(part, bytes):
            yield part
            continue
        with open(part, "rb") as file:
            while piece := file.read(2**18):
                yield piece


@dataclass
class Widget:
    kind: str
    id: str
    label: str
    proto: object
    fragment: str = ""       # the part of the page that it stands in, which alone runs again when it is touched


class Client:
    """One session."""

    def __init__(self, address: str, cookie: str | None = None, session: str = ""):
        """``session``: the id of one to go on with, as a browser does that lost its connection."""
        self.address, self.cookie, self.wanted = address, cookie, session
        self.elements: dict[tuple, object] = {}
        self.fragments: dict[tuple, str] = {}                 # which part of the page an element stands in
        self.running, self.touched = frozenset(), set()       # the parts that run, and what they have drawn so far
        self.states: dict[str, WidgetState] = {}
        self.asks: dict[str, float] = {}                      # fragments that want to run again, and how often
        self.path, self.query, self.session, self.page_hash = "", "", "", ""
        self.started = self.runs = 0                          # runs of scripts that began, and that ended well
        self.errors, self.pages, self.not_found = [], {}, False
        self.finished, self.turn, self.told, self.tasks = asyncio.Event(), asyncio.Lock(), {}, []

    async def __aenter__(self):
        headers = {"Cookie": f"{COOKIE}={self.cookie}"} if self.cookie else {}
        self.socket = await connect(self.address.replace("http", "ws") + "/_stcore/stream",
                                    subprotocols=["streamlit", "-", self.wanted] if self.wanted else ["streamlit"],
                                    origin=self.address, additional_headers=headers, max_size=None, open_timeout=60,
                                    ping_interval=None)
        self.tasks = [asyncio.create_task(self._listen())]
        return self

    async def __aexit__(self, *_):
        for task in self.tasks:
            task.cancel()
        await self.socket.close()

    async def open(self, path: str = "", query: str = "", timeout: float = 120) -> float:
        """Open a page by its link: seconds until its script has run."""
        self.path, self.query, self.elements, self.states, self.asks = path.strip("/"), query, {}, {}, {}
        self.page_hash, self.not_found = "", False
        return await self._run(timeout)

    async def act(self, widget: Widget, value=None, timeout: float = 120) -> float:
        """Press, or set to a value: seconds until the script has run."""
        state = WidgetState(id=widget.id)
        match widget.kind:
            case "button":
                state.trigger_value = True
            case "checkbox":
                state.bool_value = bool(value)
            case "selectbox" | "text_input" | "radio":
                state.string_value = str(value)
            case "number_input":
                state.double_value = float(value)
            case "button_group" | "multiselect":
                state.string_array_value.data[:] = [value] if isinstance(value, str) else list(value)
            case "slider" if widget.proto.options:
                state.string_array_value.data[:] = [str(value)]
            case "slider":
                state.double_array_value.data[:] = [float(value)]
            case "file_uploader":
                state.file_uploader_state_value.CopyFrom(value)
            case _:
                raise ValueError(widget.kind)
        self.states[widget.id] = state
        try:
            return await self._run(timeout, widget.fragment)
        finally:
            if widget.kind == "button":
                self.states.pop(widget.id, None)

    async def upload(self, widget: Widget, name: str, content: bytes | Path, timeout: float = 120) -> float:
        """Give a file to an uploader, as the browser does: ask where to put it, put it there, and say so.

        What lies on disk goes from there piece by piece."""
        given = FileUploaderState()
        await self._put(given, name, content, timeout)
        return await self.act(widget, given, timeout)

    async def upload_all(self, widget: Widget, files: dict[str, bytes], timeout: float = 120) -> float:
        """Several files into an uploader of a form, and send it."""
        given = FileUploaderState()
        for name, content in files.items():
            await self._put(given, name, content, timeout)
        state = WidgetState(id=widget.id)
        state.file_uploader_state_value.CopyFrom(given)
        self.states[widget.id] = state
        sent = next(each for each in self.widgets("button") if each.proto.form_id == widget.proto.form_id)
        return await self.act(sent, timeout=timeout)

    async def place_to_upload(self, name: str) -> str:
        """Where the server wants a file to be put."""
        return (await self._urls(name, 60)).upload_url

    async def download(self, label: str, timeout: float = 60) -> str:
        """Press a button whose file is made when it is asked for: the address of the file."""
        message = BackMsg()
        message.backend_operation_request.request_id = "download"
        message.backend_operation_request.session_id = self.session
        proto = self.find("download_button", label).proto
        message.backend_operation_request.deferred_file.file_id = proto.deferred_file_id
        return (await self._ask(message, "operation", timeout)).deferred_file.url

    async def _ask(self, message: BackMsg, answer: str, timeout: float):
        self.told.pop(answer, None)
        await self.socket.send(message.SerializeToString())
        ends = time.monotonic() + timeout
        while answer not in self.told and time.monotonic() < ends:
            await asyncio.sleep(0.02)
        return self.told[answer]

    async def _urls(self, name: str, timeout: float):
        message = BackMsg()
        message.file_urls_request.request_id = name
        message.file_urls_request.file_names.append(name)
        message.file_urls_request.session_id = self.session
        return (await self._ask(message, "urls", timeout)).file_urls[0]

    async def _put(self, given: FileUploaderState, name: str, content: bytes | Path, timeout: float) -> None:
        urls, mark = await self._urls(name, timeout), "qpwl-boundary"
        head = (f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
                "Content-Type: application/octet-stream\r\n\r\n").encode()
        foot = f"\r\n--{mark}--\r\n".encode()
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        self.put = await asyncio.to_thread(
            asked, self.address, urls.upload_url, None, self.cookie, "PUT",
            {"Content-Type": f"multipart/form-data; boundary={mark}", "X-Xsrftoken": await self._token(),
             "Content-Length": str(len(head) + size + len(foot)),
             "Cookie": f"{COOKIE}={self.cookie}; _streamlit_xsrf={self.xsrf}"}, pieces(head, content, foot))
        if self.put[0] >= 300:
            raise RuntimeError(f"{self.put[0]}: {self.put[1][-200:]}")
        info = given.uploaded_file_info.add(name=name, size=size, file_id=urls.file_id)
        info.file_urls.CopyFrom(urls)

    async def _token(self) -> str:
        """The token against forged requests, which comes as a cookie."""
        _, _, headers = await asyncio.to_thread(asked, self.address, "/_stcore/health", None, self.cookie)
        found = next((value for key, value in headers.items() if key.lower() == "set-cookie" and "xsrf" in value), "")
        self.xsrf = found.partition("=")[2].partition(";")[0]
        return self.xsrf

    def widgets(self, *kinds: str) -> list[Widget]:
        """The widgets on the page that can be used, in order."""
        found = []
        for path, element in list(self.elements.items()):
            kind = element.WhichOneof("type")
            proto = getattr(element, kind) if kind else None
            if kind and hasattr(proto, "id") and (not kinds or kind in kinds) and not getattr(proto, "disabled", False):
                found.append(Widget(kind, proto.id, getattr(proto, "label", ""), proto,
                                    self.fragments.get(path, "")))
        return found

    def find(self, kind: str, label: str) -> Widget:
        for widget in self.widgets(kind):
            if label in (widget.label, widget.proto.id) or f"-{label}-" in widget.proto.id + "-":
                return widget
        raise KeyError(f"{kind} {label!r} is not among {[w.label for w in self.widgets(kind)]}")

    def option(self, label: str, *marks: str) -> str:
        """The option of a select box that has one of these marks."""
        return next(option for option in self.find("selectbox", label).proto.options
                    if any(mark in option for mark in marks))

    @property
    def text(self) -> str:
        """All that the page shows, as the server said it."""
        return "\n".join(str(element) for element in self.elements.values())

    def keep_fragments_alive(self) -> None:
        """Run fragments again as often as the server asked for it, as a browser does."""
        self.tasks.append(asyncio.create_task(self._again()))

    async def _run(self, timeout: float, fragment: str = "", auto: bool = False) -> float:
        start = time.perf_counter()
        async with self.turn:                                # a session runs one script at a time
            if auto and fragment not in self.asks:           # another page was opened meanwhile
                return 0.0
            message = BackMsg()
            state = message.rerun_script
            state.query_string, state.page_name, state.page_script_hash = self.query, self.path, self.page_hash
            state.fragment_id, state.is_auto_rerun = fragment, auto
            state.widget_states.widgets.extend(self.states.values())
            state.context_info.url = f"{self.address}/{self.path}"
            state.context_info.timezone = "UTC"
            self.finished.clear()
            await self.socket.send(message.SerializeToString())
            await asyncio.wait_for(self.finished.wait(), timeout)
        return time.perf_counter() - start

    async def _again(self) -> None:
        last: dict[str, float] = {}
        while True:
            await asyncio.sleep(0.25)
            for fragment, every in list(self.asks.items()):
                now = time.monotonic()
                if not self.turn.locked() and now - last.setdefault(fragment, now) >= every:
                    last[fragment] = now
                    with suppress(TimeoutError):
                        await self._run(60, fragment, auto=True)

    async def _listen(self) -> None:
        try:
            async for data in self.socket:
                message = ForwardMsg()
                message.ParseFromString(data)
                self._take(message)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")
        self.finished.set()

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        path = tuple(message.metadata.delta_path)
        if kind == "new_session":
            self.started += 1
            self.session = message.new_session.initialize.session_id or self.session
            self.running, self.touched = frozenset(message.metadata.run.fragment_ids), set()
            if not self.running:
                self.elements, self.asks = {}, {}             # what is still there says so again
        elif kind == "navigation":
            self.page_hash = message.navigation.page_script_hash
            self.pages = {page.url_pathname: page.page_name for page in message.navigation.app_pages}
        elif kind == "delta":
            if message.delta.WhichOneof("type") == "new_element":
                element = message.delta.new_element
                self.elements[path], self.fragments[path] = element, message.delta.fragment_id
                self.touched.add(path)
                if element.WhichOneof("type") == "exception":
                    self.errors.append(element.exception.message)
            elif message.delta.WhichOneof("type") == "add_block":
                for old in [at for at in self.elements if at[:len(path)] == path]:
                    del self.elements[old]
        elif kind == "auto_rerun":
            self.asks[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self.asks.pop(fragment, None)
        elif kind == "page_not_found":
            self.not_found = True
        elif kind == "file_urls_response":
            self.told["urls"] = message.file_urls_response
        elif kind == "backend_operation_response":
            self.told["operation"] = message.backend_operation_response
        elif kind == "script_finished" and message.script_finished in DONE:
            self.runs += 1
            for path in [path for path in self.elements if path not in self.touched
                         and self.fragments.get(path) in self.running]:
                del self.elements[path]                       # a part that ran did not draw it again
            self.finished.set()
