"""The API on a real socket: heads that never end, connections that never speak."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tavern_loader.adapters.http import api, serving
from tavern_loader.adapters.http.route import Route, checked_body
from tests.http_scene import HttpScene
from tests.http_server import Served

LARGE_BYTES = 64 * 1024 * 1024
"""More than the buffers between two programs of one machine hold."""
SETTINGS = "/pmp-dsh-tavern/api/v1/ui-settings"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(serving, "HEAD_TIMEOUT_S", 0.3)
    scene = HttpScene(tmp_path)
    with Served.of(scene.api) as running:
        yield running
    scene.api.close()


@pytest.fixture
def connection(served: Served) -> Iterator[HTTPConnection]:
    with closing(HTTPConnection("127.0.0.1", served.port, timeout=5)) as opened:
        yield opened


def test_it_answers_on_loopback_and_keeps_the_connection(connection: HTTPConnection) -> None:
    for _ in range(2):
        connection.request("GET", SETTINGS)
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("server")) == (200, None)
        assert answer.read().startswith(b'{"ok":true')


def test_a_head_that_never_ends_is_cut_off(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert _until_closed(slow, each=b"x-a: b\r\n") < 3


def test_a_connection_that_never_speaks_is_cut_off(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as silent:
        assert silent.recv(1) == b""


def test_a_second_head_that_never_ends_is_cut_off(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as slow:
        slow.sendall(f"GET {SETTINGS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert b"200 OK" in slow.recv(65_536)
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert _until_closed(slow, each=b"x-a: b\r\n") < 3


def test_a_refused_body_that_goes_on_for_ever_is_cut_off(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as talker:
        own = f"127.0.0.1:{served.port}"
        talker.sendall(
            f"PUT {SETTINGS} HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\n"
            "Content-Type: application/json\r\nContent-Length: 60000000\r\n\r\n".encode()
        )
        assert b"413" in talker.recv(65_536)
        assert _until_closed(talker, each=b"x" * 1000) < 3


def test_an_answer_that_nobody_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = Event()

    async def large(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _piece in range(64):
            piece = bytes(LARGE_BYTES // 64)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        over.set()

    monkeypatch.setattr(serving, "STALL_S", 0.3)
    with (
        Served.of(large) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=5) as lazy,
    ):
        lazy.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert over.wait(10)
        assert _read_to_the_end(lazy) < LARGE_BYTES


def test_a_body_that_is_being_read_holds_up_nobody(
    connection: HTTPConnection, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = Event(), Event()

    def read(route: Route, data: bytes) -> object:
        if route.changes:
            begun.set()
            goes_on.wait(5)
        return checked_body(route, data)

    monkeypatch.setattr(api, "checked_body", read)
    own = f"127.0.0.1:{served.port}"
    headers = {"Origin": f"http://{own}", "Content-Type": "application/json"}
    connection.request("PUT", SETTINGS, b'{"locale": "en", "scale": 1}', headers)
    assert begun.wait(5)
    with closing(HTTPConnection("127.0.0.1", served.port, timeout=5)) as other:
        other.request("GET", SETTINGS)
        assert other.getresponse().status == 200
    goes_on.set()
    assert connection.getresponse().status == 200


def test_a_head_of_megabytes_is_refused(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as greedy:
        greedy.sendall(b"GET / HTTP/1.1\r\nx-a: " + b"b" * 100_000)
        assert greedy.recv(65_536).startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",  # no host
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"NONSENSE\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(served: Served, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as odd:
        odd.sendall(head)
        assert odd.recv(65_536).split(b" ", 2)[1] in (b"400", b"403", b"404")


def test_an_upgrade_gets_an_ordinary_answer(connection: HTTPConnection) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x"}
    connection.request("GET", SETTINGS, headers=headers)
    assert connection.getresponse().status == 200


def test_a_header_cannot_say_where_a_connection_comes_from(connection: HTTPConnection) -> None:
    connection.request("GET", SETTINGS, headers={"X-Forwarded-For": "10.0.0.1"})
    assert connection.getresponse().status == 200


def _read_to_the_end(opened: socket.socket) -> int:
    """Give how many bytes there were until the other side closed."""
    size = 0
    with suppress(ConnectionResetError):
        while piece := opened.recv(1 << 20):
            size += len(piece)
    return size


def _until_closed(opened: socket.socket, each: bytes) -> float:
    """Go on sending; gives the seconds until the other side has closed."""
    began = time.monotonic()
    opened.settimeout(0.05)
    while time.monotonic() - began < 5:
        try:
            opened.sendall(each)
            if opened.recv(65_536) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began
