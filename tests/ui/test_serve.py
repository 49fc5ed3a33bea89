"""How the app is served: what a browser waits for before any page of ours runs."""

import socket
import threading
import time

import pytest
import uvicorn

from ui.serve import send_at_once


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.mark.parametrize("mended", [False, True])
def test_what_the_server_sends_leaves_at_once(monkeypatch, mended):
    """The premise, too: asyncio sets nothing on a socket that was made as Streamlit makes it."""
    monkeypatch.setattr(uvicorn.Server, "startup", uvicorn.Server.startup)       # what is changed is put back
    if mended:
        send_at_once()
    server = uvicorn.Server(uvicorn.Config(hello, lifespan="off", log_level="error", loop="asyncio"))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        with socket.create_connection(listening.getsockname()) as visitor:
            visitor.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert visitor.recv(4096).startswith(b"HTTP/1.1 200")
            (connection,) = server.server_state.connections
            accepted = connection.transport.get_extra_info("socket")
            assert bool(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)) == mended
        server.should_exit = True
        thread.join(10)
    assert not thread.is_alive()
