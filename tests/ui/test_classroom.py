"""A class: nobody gets in without a code, nobody sees or changes what is another's, and what is forgotten is gone."""

import asyncio
import errno
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import quote_plus

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

import ui.visitors.gate
from qpwl_core.common.files import FileError, read_json
from tests.support.classroom import running_class
from tests.support.client import COOKIE, Client, asked
from tests.support.places import ROOT
from tests.support.tiny import tiny_recordings
from tests.support.views import PAGES
from ui.library.spaces import Notes
from ui.visitors.classroom import OUTSIDE, Classroom, open_class
from ui.visitors.gate import Gate, Told, client_of, form_of, permitted
from ui.visitors.guesses import Guesses, network_of, prepare
from ui.visitors.uploads import Own, Uploads

SECRET = "Zebulon"                    # the mark on all that Ann has
MODEL = "gait-hapt-qp-wl"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    with running_class(tmp_path_factory.mktemp("class")) as running:
        yield running


@pytest.fixture(scope="module")
def ann(room, tmp_path_factory):
    """A student with a run, a model, an upload, an enrolment and an answer."""
    cookie, path = room.join(SECRET), tmp_path_factory.mktemp("ann") / f"{SECRET}.npz"
    tiny_recordings().save(path)

    async def work():
        async with Client(room.address, cookie) as client:
            await client.open("desk")
            await client.act(client.find("text_input", "Name"), f"{SECRET} enrolled")
            await client.act(client.find("button", "Enrol"))
            assert "is enrolled with" in client.text
            await client.open("data", "data_view=Your+own")
            await client.upload(client.find("file_uploader", "Recordings of several people"), path.name,
                                path.read_bytes())
            assert f"**{SECRET}**: 8 people" in client.text
            await client.open("lessons")
            await client.act(client.widgets("radio")[1], client.widgets("radio")[1].proto.options[0])
            await client.open("train", "train_view=Models")
            files = {name: (ROOT / "tests/artefacts/before_the_house/models/qp-wl" / name).read_bytes()
                     for name in ("card.json", "model.safetensors")}
            await client.upload_all(client.find("file_uploader", "Files of one model"), files)
            assert not client.errors, client.errors
        async with Client(room.address, cookie) as client:
            await client.open("train")
            await client.act(client.find("button", "Start training"))
            assert not client.errors, client.errors

    asyncio.run(work())
    runs = [path for path in (room.folder / "runs").iterdir() if not path.name.startswith(".")]
    run = next(path for path in runs if (path / "job.json").exists())
    return SimpleNamespace(cookie=cookie, id=cookie.partition(".")[0], run=run, runs=runs)


def shown(room, cookie, path="", query=""):
    """What a page says to somebody."""
    async def look():
        async with Client(room.address, cookie) as client:
            await client.open(path, query)
            return client.text

    return asyncio.run(look())


def test_a_signature_is_ours_or_opens_nothing():
    room = Classroom("code", "secret", "key")
    ticket = room.ticket("abc123")
    assert room.visitor_of(ticket) == "abc123"
    other = Classroom("code", "secret", "another key")
    for forged in (None, "", "abc123", "abc123.", ticket[:-1], ticket + "0", ticket.replace("abc123", "lecturer"),
                   ticket.upper(), other.ticket("abc123"), "../x." + ticket[7:], "é" * 30, "." + ticket[7:]):
        assert room.visitor_of(forged) is None


def test_a_class_is_found_again_and_its_file_is_for_the_owner_only(tmp_path):
    first, again = open_class(tmp_path / "class"), open_class(tmp_path / "class")
    assert first == again
    assert len(first.join) == 8
    assert len(first.lecturer) >= 32
    assert (tmp_path / "class" / "class.json").stat().st_mode & 0o077 == 0
    assert open_class(tmp_path / "other").key != first.key


def test_where_the_register_cannot_be_read_our_cookie_counts_but_not_of_who_was_removed():
    """A full disk, a database that is away: whoever is in the class stays in it."""
    class Away:
        def find(self, visitor):
            raise FileError("it cannot be read: no space left on device")

    room = Classroom("code", "secret", "key")
    gate = Gate.__new__(Gate)
    gate.room, gate.register, gate.known = room, Away(), {"gone": (False, -1e9), "here": (True, -1e9)}

    def who(ticket):
        return asyncio.run(gate.visitor_of({"headers": [(b"cookie", f"{COOKIE}={ticket}".encode())]}))

    assert [who(room.ticket(name)) for name in ("here", "new", "gone")] == ["here", "new", None]
    assert who(Classroom("code", "secret", "another key").ticket("new")) is None


def test_a_visitor_has_a_bounded_number_of_pages_open(monkeypatch):
    """Without nginx, too; a page that closes makes room, and others have theirs."""
    monkeypatch.setattr(ui.visitors.gate, "SOCKETS_EACH", 2)
    room, closed = Classroom("code", "secret", "key"), []
    gate = Gate.__new__(Gate)
    gate.room, gate.known, gate.told, gate.open = room, {}, Told(), Counter()

    async def play():
        ends = asyncio.Event()

        async def app(scope, receive, send):
            await ends.wait()

        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            closed.append(message["code"])

        def one(who):
            gate.known[who] = True, time.monotonic()
            return asyncio.create_task(gate({"type": "websocket", "path": "/_stcore/stream", "headers": [
                (b"cookie", f"{COOKIE}={room.ticket(who)}".encode())]}, receive, send))

        gate.app = app
        tasks = [one("ann"), one("ann"), one("ann"), one("bob")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (closed, gate.open) == ([1008], {"ann": 2, "bob": 1})
        ends.set()
        await asyncio.gather(*tasks)
        assert not gate.open

    asyncio.run(play())


def test_guessing_is_slowed_down(tmp_path):
    """All processes count in one file: whoever is asked, and whoever was killed meanwhile."""
    now = [0.0]
    prepare(tmp_path)

    def processes():
        return [Guesses(tmp_path / "guesses", "key", 3, 10, lambda: now[0]) for _ in range(2)]

    one, other = processes()
    assert [one.may("here", "a", False), other.may("here", "b", False), one.may("here", "c", False)] == [True] * 3
    assert not other.may("here", "d", False)
    assert not one.may("here", "the right one", True), "or they would learn that it is"
    assert other.may("elsewhere", "the right one", True)
    one, other = processes()                                  # both were killed
    assert not one.may("here", "d", False)
    now[0] = 10.5
    assert one.may("here", "d", False)
    assert not other.may("here", "e", False)
    now[0] = -1e6                                             # a machine started again, a clock that goes back
    assert not one.may("here", "e", False)
    now[0] += 10.5
    assert other.may("here", "e", False)


def test_who_mistypes_and_loads_the_page_again_has_tried_once(tmp_path):
    prepare(tmp_path)
    guesses = Guesses(tmp_path / "guesses", "key", 3, 10, lambda: 0.0)
    assert all(guesses.may("here", "mistyped", False) for _ in range(50))
    assert guesses.may("here", "right", True)
    assert [guesses.may("here", str(i), False) for i in range(3)] == [True, True, False]


def test_without_a_file_a_process_counts_for_itself(tmp_path):
    (tmp_path / "guesses").write_bytes(b"short")
    for at in (None, tmp_path / "nowhere", tmp_path / "guesses"):
        guesses = Guesses(at, "key", 3, 10, lambda: 0.0)
        assert [guesses.may("here", str(i), False) for i in range(4)] == [True] * 3 + [False]


@pytest.mark.parametrize(("address", "network"), [
    ("192.168.1.7", "192.168.1.7"), ("::ffff:192.168.1.7", "192.168.1.7"), ("", ""), ("no address", "no address"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:db8:1:2:ffff::9", "2001:db8:1:2::/64")])
def test_who_may_choose_an_address_is_counted_by_the_rest_of_it(address, network):
    assert network_of(address) == network


OPEN_PATHS = ["/", *(f"/{page}" for page in PAGES if page), "/classroom", "/start", "/static/js/index.js",
              "/favicon.png", "/index.html", "/_stcore/health", "/_stcore/host-config", "/_stcore/metrics",
              "/_stcore/allowed-message-origins", "/_stcore/agent/openapi.json", "/media/0123456789abcdef.csv",
              "/_stcore/upload_file/a/b", "/component/x/y", "/_stcore/bidi-components/x/y", "/oauth2callback",
              "/auth/login", "/app/static/x", "/join", "/lecturer",
              "/../class/class.json", "/%2e%2e/class/class.json", "/join/../desk", "//desk", "/desk/join/x"]


@pytest.mark.parametrize("forged", ["none", "invented", "another class", "unknown visitor"])
def test_an_outsider_sees_one_sentence_and_nothing_else(room, tmp_path, forged):
    cookie = {"none": None, "invented": "lecturer." + "0" * 64,
              "another class": open_class(tmp_path).ticket("lecturer"),
              "unknown visitor": Classroom(**room.secrets).ticket("0123456789abcdef")}[forged]
    bodies = set()
    for path in OPEN_PATHS:
        for method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
            if forged != "none" and method != "GET":
                continue
            status, text, headers = asked(room.address, path, cookie=cookie, method=method, source="127.0.0.3")
            assert status == 403, (method, path, text[-200:])
            assert not any(key.lower() == "set-cookie" for key in headers), path
            bodies.add(text)
    assert len(bodies - {""}) == 1
    assert OUTSIDE in next(iter(bodies - {""}))

    async def socket():
        async with Client(room.address, cookie) as client:
            await client.open("", timeout=10)

    with pytest.raises(Exception, match="403"):
        asyncio.run(socket())


def test_a_visitor_has_no_use_for_the_servers_own_figures(room, ann):
    for path in ("/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent/interact", "/_stcore/metrics/"):
        assert asked(room.address, path, cookie=ann.cookie)[0] == 403


def test_a_visitor_gets_what_draws_the_pictures(room, ann):
    """Seen: components that were loaded before the server was there were unknown to it."""
    shown(room, ann.cookie, "verification")
    for path in ("ui.shell.plot.small/plotly-cartesian.min.js", "ui.shell.plot.plotly/plotly.min.js"):
        status, text, _ = asked(room.address, f"/component/{path}", cookie=ann.cookie)
        assert (status, "Plotly" in text) == (200, True), path


def test_wrong_codes_are_slowed_down_and_a_wrong_one_sets_no_cookie(room, ann):
    """By the address that they come from: what the request says of itself is no use, and nobody else has to wait."""
    here, claims = "127.0.0.4", ("X-Real-IP", "X-Forwarded-For", "Forwarded", "Client-IP", "True-Client-IP")
    join = f"/join/{room.secrets['join']}"
    status, text, headers = asked(room.address, "/join/zzzzzzzz", {"name": "Eve"}, source=here)
    assert (status, "Set-Cookie" in headers) == (403, False)
    assert OUTSIDE in text
    told = [asked(room.address, f"/lecturer/{i}", source=here, headers={claims[i % len(claims)]: f"10.0.0.{i}"})[0]
            for i in range(12)]
    assert told[0] == 403
    assert told[-1] == 429
    right = asked(room.address, f"/lecturer/{room.secrets['lecturer']}", source=here)
    assert right[0] == 429, "the right one has to wait, too"
    assert asked(room.address, join, source=here)[0] == 429
    assert asked(room.address, join, source="127.0.0.5")[0] == 200, "others need not wait"
    assert asked(room.address, join, cookie=ann.cookie, source=here)[0] == 303, "nor who is in"
    assert asked(room.address, "/", cookie=ann.cookie, source=here)[0] == 200


def test_a_header_says_who_asks_only_where_our_nginx_wrote_it(monkeypatch):
    def who(client, **headers):
        return client_of({"client": (client, 1), "headers": [(name.replace("_", "-").encode(), value.encode())
                                                             for name, value in headers.items()]})

    assert who("127.0.0.1", x_real_ip="10.0.0.1") == "127.0.0.1", "nobody stands in front"
    monkeypatch.setenv("QPWL_BEHIND", "nginx")
    assert who("127.0.0.1", x_real_ip="10.0.0.1", x_forwarded_for="10.0.0.2") == "10.0.0.1"
    assert who("192.168.1.7", x_real_ip="10.0.0.1") == "192.168.1.7", "it does not come from here"


def test_the_consent_stands_before_the_button_and_a_name_may_be_anything(room):
    status, text, _ = asked(room.address, f"/join/{room.secrets['join']}")
    assert status == 200
    assert text.index("Forget me") < text.index("<button>")
    status, text, _ = asked(room.address, f"/join/{room.secrets['join']}", {"name": "x" * 100})
    assert status == 400
    assert "100 characters" in text
    assert "<script>" not in asked(room.address, f"/join/{room.secrets['join']}", {"name": "<script>" * 20})[1]


def test_the_consent_says_where_it_is_kept(monkeypatch):
    for name, value, where in (("QPWL_DESK", "/a/folder", "computer"), ("QPWL_DESK", "postgresql://db/x", "computers"),
                               ("QPWL_DASK", "tcp://host:8786", "computers")):
        for each in ("QPWL_DESK", "QPWL_DASK"):
            monkeypatch.delenv(each, raising=False)
        monkeypatch.setenv(name, value)
        assert f"kept on the lecturer's {where} under" in form_of(Classroom("code", "secret", "key"))


def test_who_comes_again_finds_everything(room, ann):
    assert f"{SECRET} enrolled" in shown(room, ann.cookie, "desk")
    assert SECRET in shown(room, ann.cookie, "data", "data_view=Your+own")
    assert "Stop" in shown(room, ann.cookie, "train") or "Resume" in shown(room, ann.cookie, "train")
    assert "1 of" in shown(room, ann.cookie, "lessons")
    assert "1 run, 1 model, 1 upload, 1 person enrolled" in shown(room, ann.cookie, "classroom")


LINKS = [("desk", "desk-view=Desk"), ("desk", "desk-view=Log"), ("data", "data_view=Your+own"),
         ("data", f"data=own%3A{SECRET}"), ("train", "train_run={run}"), ("train", "train_view=Models&model={model}"),
         ("train", "train_view=Compare+runs"), ("filters", "model={model}"), ("distances", "model={model}"),
         ("verification", "model={model}"), ("identification", "model={model}"), ("quantile_layer", "model={model}"),
         ("desk", "model={model}"), ("classroom", ""), ("lessons", ""), ("", ""), ("results", ""),
         ("data", "data=../.visitors/{ann}/uploads"), ("train", "train_run=../{run}")]


@pytest.mark.parametrize(("path", "query"), LINKS)
def test_another_visitor_sees_nothing_of_it_by_any_link(room, ann, path, query):
    model = next(folder for folder in ann.runs if folder != ann.run)
    title = read_json(model / "card.json")["title"]
    bob = room.join("Bob")
    for name in (model.name, title.replace(" ", "+")):
        text = shown(room, bob, path, query.format(run=ann.run.name, model=name, ann=ann.id))
        for mark in (SECRET, ann.id, ann.run.name, model.name, f"stop-{ann.run.name}"):
            assert mark not in text, (path, mark)


def test_another_visitor_cannot_press_the_buttons_of_the_first(room, ann):
    """Widgets have names that follow from what they are about: knowing them is of no use."""
    async def try_it():
        async with Client(room.address, ann.cookie) as client:
            await client.open("train")
            buttons = [widget for widget in client.widgets("button") if ann.run.name in widget.id]
            assert buttons
            await client.open("desk")
            remove = client.find("button", "Remove")
        async with Client(room.address, room.join("Bob")) as client:
            for page, widgets in (("train", buttons), ("desk", [remove])):
                await client.open(page)
                for widget in widgets:
                    await client.act(replace(widget, fragment=""))       # a part of Ann's page is none of Bob's
            await client.open("classroom")
            assert "Clear the room" not in client.text

    asyncio.run(try_it())
    assert not (ann.run / "stop").exists()
    assert f"{SECRET} enrolled" in shown(room, ann.cookie, "desk")


def test_a_session_is_not_taken_over_by_who_knows_its_number(room, ann):
    """Session ids cannot be guessed; should one be known, it is still of no use with another's cookie."""
    async def try_it():
        bob = room.join("Bob")
        async with Client(room.address, ann.cookie) as client:
            await client.open("data", "data_view=Your+own")
            session = client.session
        async with Client(room.address, bob, session) as thief:
            await thief.open("data", "data_view=Your+own")
            assert SECRET not in thief.text

    asyncio.run(try_it())


def every_message() -> dict[str, bytes]:
    """One of each kind that Streamlit's protocol knows, and what is none."""
    found = {"nothing": b"", "noise": bytes(range(256))}
    for field in BackMsg.DESCRIPTOR.fields:
        message = BackMsg()
        if field.type != field.TYPE_MESSAGE:
            setattr(message, field.name, "x" if field.type == field.TYPE_STRING else True)
        elif field.name == "backend_operation_request":
            for payload in message.backend_operation_request.DESCRIPTOR.oneofs_by_name["payload"].fields:
                one = BackMsg()
                getattr(one.backend_operation_request, payload.name).SetInParent()
                found[payload.name] = one.SerializeToString()
        else:
            getattr(message, field.name).SetInParent()
        found[field.name] = message.SerializeToString()
    return found


def test_only_messages_that_pages_send_come_through():
    """The others clear everybody's caches, end the server, install things or tell of the code."""
    let = {name for name, data in every_message().items() if permitted(data)}
    assert let == {"rerun_script", "stop_script", "file_urls_request", "app_heartbeat", "deferred_file",
                   "dataframe_chunk"}


def test_no_message_of_a_visitor_ends_the_server_or_breaks_the_page_of_another(room, ann):
    async def try_it():
        async with Client(room.address, room.join("Bob")) as bob, Client(room.address, ann.cookie) as client:
            await client.open("lessons")
            await bob.open("lessons")
            for name, data in every_message().items():
                if name not in ("rerun_script", "stop_script"):
                    await bob.socket.send(data)
            await bob.open("lessons")
            await client.open("desk")
            assert f"{SECRET} enrolled" in client.text
            assert not bob.errors + client.errors

    asyncio.run(try_it())


def test_downloads_and_uploads_are_for_whoever_was_told_of_them(room, ann):
    """Their addresses cannot be guessed; to know one is of no use with another's cookie."""
    async def asks(path, cookie=None, method=None):
        return (await asyncio.to_thread(asked, room.address, path, None, cookie, method, {}, method and b"x"))[0]

    async def try_it():
        bob = room.join("Bob")
        async with Client(room.address, ann.cookie) as client:
            await client.open("desk")
            await client.act(client.find("button", "Present"))
            await client.act(client.find("button_group", "View"), "Log")
            url = await client.download("Export (CSV)")
            status, text, _ = await asyncio.to_thread(asked, room.address, url, None, ann.cookie)
            assert (status, "distance" in text) == (200, True)
            assert [await asks(url, bob), await asks(url)] == [404, 403]
            await client.open("data", "data_view=Your+own")
            url = await client.place_to_upload("x.csv")
            assert [await asks(url, bob, method) for method in ("PUT", "DELETE")] == [404, 404]
            assert [await asks(url, None, method) for method in ("PUT", "DELETE")] == [403, 403]
        async with Client(room.address, room.lecturer()) as client:
            await client.open("classroom")
            picture, = set(re.findall(r"/media/[0-9a-f]+\.\w+", client.text))
            assert [await asks(picture, room.lecturer()), await asks(picture, bob)] == [200, 404]

    asyncio.run(try_it())


PARAMETERS = ("model", "models", "data", "train_run", "lesson", "focus", "desk-person", "desk-leaving", "class_visitor",
              "desk-new-data", "distances_beside", "train_view", "data_view", "sign_model", "_visitor", "owner")


@pytest.mark.parametrize("page", [*PAGES, "classroom"])
def test_no_page_shows_anything_of_another_whatever_stands_in_its_link(room, ann, page):
    bob = room.join("Bob")
    names = (ann.id, ann.run.name, ann.runs[-1].name, f"own:{SECRET}", SECRET, str(ann.run), f"../{ann.run.name}")

    async def look():
        async with Client(room.address, bob) as client:
            for name in names:
                await client.open(page, "&".join(f"{key}={quote_plus(name)}" for key in PARAMETERS))
                said = client.text.replace(quote_plus(name), "")
                for mark in (f"{SECRET} enrolled", f"{SECRET}**", f"stop-{ann.run.name}", f"{ann.id}/"):
                    assert mark not in said, (page, name)
                assert not client.errors, (page, name, client.errors)

    asyncio.run(look())


def test_what_is_shared_is_shared_by_a_button_and_stays_its_owners(room, ann):
    model = next(folder for folder in ann.runs if folder != ann.run)
    bob = room.join("Bob")

    async def share(yes):
        async with Client(room.address, ann.cookie) as client:
            await client.open("train", f"train_view=Models&model={read_json(model / 'card.json')['title']}")
            await client.act(client.find("selectbox", "Model"), client.option("Model", "Uploaded", model.name))
            await client.act(client.find("checkbox", "Shared with the class"), yes)

    async def look():
        async with Client(room.address, bob) as client:
            await client.open("train", "train_view=Models")
            offered = list(client.find("selectbox", "Model").proto.options)
            return offered, client.text

    before, _ = asyncio.run(look())
    asyncio.run(share(True))
    assert (model / "shared").exists()
    shared, _ = asyncio.run(look())
    assert len(shared) == len(before) + 1
    asyncio.run(share(False))
    assert asyncio.run(look())[0] == before


def test_a_person_of_a_data_set_is_embedded_in_another_process_and_enrolled(room):
    async def enrol():
        async with Client(room.address, room.join("Cat")) as client:
            await client.open("desk", "model=gait+%C2%B7+HAPT")
            await client.act(client.find("button_group", "From"), "Data or file")
            await client.act(client.find("button", "Enrol"))
            assert not client.errors, room.log[-2000:]
            return client.text

    assert "is enrolled with" in asyncio.run(enrol())


def test_the_lecturer_sees_all_and_can_stop(room, ann):
    lecturer = room.lecturer()

    async def stop():
        async with Client(room.address, lecturer) as client:
            await client.open("classroom")
            assert SECRET in client.text
            assert room.secrets["join"] in client.text
            await client.act(client.find("selectbox", "Visitor"), client.option("Visitor", SECRET))
            await client.act(client.find("button", "Stop their training"))
            await client.act(client.find("button", "Project their run"))
            assert client.widgets("button")[-1].label != "Clear it", "another page is shown"
            return client.text

    assert ann.run.name in asyncio.run(stop())
    assert (ann.run / "stop").exists() or read_json(ann.run / "state.json")["state"] in ("stopped", "finished")


def test_the_lecturer_projects_any_page_as_its_visitor_sees_it(room, ann):
    """Their desk, uploads, answers and runs, on the pages where they are; and comes back to what is the lecturer's."""
    async def look():
        async with Client(room.address, room.lecturer()) as client:
            await client.open("desk")
            assert f"{SECRET} enrolled" not in client.text, "the lecturer has a desk of their own"
            await client.open("classroom")
            await client.act(client.find("selectbox", "Visitor"), client.option("Visitor", SECRET))
            await client.act(client.find("button", "See what they see"))
            for page, query, mark in (("classroom", "", f"You are **{SECRET}**"), ("desk", "", f"{SECRET} enrolled"),
                                      ("data", "data_view=Your+own", f"**{SECRET}**: 8 people"),
                                      ("train", f"train_run={ann.run.name}", ann.run.name), ("lessons", "", "1 of")):
                await client.open(page, query)
                assert not client.errors, client.errors
                assert mark in client.text, page
                assert f"As **{SECRET}** sees it" in client.text, page
            await client.act(client.find("button", "Back to yours"))
            await client.open("desk")
            assert f"{SECRET} enrolled" not in client.text
            await client.open("lessons")
            assert "1 of" not in client.text
            await client.open("classroom")
            assert "Here: " in client.text

    asyncio.run(look())


def test_a_visitor_cannot_look_as_another(room, ann):
    """The name of the lecturer's choice in a link or a message of one's own changes nothing."""
    bob = room.join("Bob")

    async def try_it():
        async with Client(room.address, bob) as client:
            for query in (f"_as={ann.id}", f"looks_as={ann.id}", f"class_visitor={ann.id}"):
                await client.open("desk", query)
                assert SECRET not in client.text
            client.states["_as"] = WidgetState(id="_as", string_value=ann.id)
            await client._run(60)
            assert SECRET not in client.text
            assert not [each for each in client.widgets("button") if each.label == "Back to yours"]

    asyncio.run(try_it())


def test_a_server_that_is_killed_comes_again_and_everybody_finds_their_space(room, ann):
    import psutil

    children = psutil.Process(room.process.pid).children()
    next(each for each in children if "streamlit" in " ".join(each.cmdline())).kill()
    time.sleep(1)
    room.until_up()
    assert f"{SECRET} enrolled" in shown(room, ann.cookie, "desk")
    assert "1 run, 1 model, 1 upload" in shown(room, ann.cookie, "classroom")


def test_forget_me_forgets_all_and_the_door_is_closed(room, ann):
    async def forget():
        async with Client(room.address, ann.cookie) as client:
            await client.open("classroom")
            await client.act(client.find("button", "Forget me"))
            assert OUTSIDE in client.text
            assert SECRET not in client.text

    asyncio.run(forget())
    assert not any(folder.exists() for folder in ann.runs)
    assert not (room.folder / "desk" / ann.id).exists()
    assert not (room.folder / "runs" / ".visitors" / ann.id).exists()
    time.sleep(2.1)
    assert asked(room.address, "/", cookie=ann.cookie)[0] == 403
    # who had the last turns stays known to the scheduler, by a number that is now nobody's
    everything = b"".join(path.read_bytes() for path in room.folder.rglob("*")
                          if path.is_file() and path.name != ".scheduler.json")
    assert SECRET.encode() not in everything
    assert ann.id.encode() not in everything


def test_the_end_of_class_removes_everything_and_says_how_much(tmp_path):
    with running_class(tmp_path / "class") as room:
        cookie = room.join("Ann")

        async def enrol():
            async with Client(room.address, cookie) as client:
                await client.open("desk")
                await client.act(client.find("button", "Enrol three people"))

        asyncio.run(enrol())
        done = subprocess.run([sys.executable, "-m", "scripts.classroom", "end", "--folder", str(room.folder)],
                              cwd=ROOT, capture_output=True, text=True, check=True)
        assert room.process.wait(10) == 0
    assert "Removed: 1 visitors, 0 runs, 0 models, 0 uploads, 3 enrolled people" in done.stdout
    assert not (tmp_path / "class").exists()


def test_uploads_and_notes_are_kept_and_bounded(tmp_path, monkeypatch):
    kept = Uploads(tmp_path / "a" / "uploads")
    kept["walk"] = Own("walk", tiny_recordings(), "gait", "walk.npz")
    again = Uploads(tmp_path / "a" / "uploads")
    assert (list(again), again["walk"].domain, again["walk"].token) == (["walk"], "gait", kept["walk"].token)
    monkeypatch.setattr("ui.visitors.uploads.LARGEST_EACH", 10)
    with pytest.raises(ValueError, match="your uploads are bounded to"):
        again["other"] = Own("other", tiny_recordings(), "gait")
    again.pop("walk")
    assert not list((tmp_path / "a" / "uploads").iterdir())
    notes = Notes(tmp_path / "notes.json")
    notes["a"] = 1
    assert Notes(tmp_path / "notes.json") == {"a": 1}
    (tmp_path / "notes.json").write_text("half")
    assert Notes(tmp_path / "notes.json") == {}


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    """A full disk and a read-only folder: what is asked for is refused in a sentence, and nothing half is left."""
    kept = Uploads(tmp_path / "uploads")
    for number in (errno.ENOSPC, errno.EROFS):
        def full(*_, number=number, **__):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("qpwl_core.data.recordings.Recordings.save", full)
        with pytest.raises(ValueError, match="it cannot be kept: (No space|Read-only)") as error:
            kept["walk"] = Own("walk", tiny_recordings(), "gait")
        assert "\n" not in str(error.value)
        assert list(kept) == []
        assert not list((tmp_path / "uploads").glob("*.npz"))
