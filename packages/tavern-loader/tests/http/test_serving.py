"""The API on a real socket: heads that never end, connections that never speak."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tavern_loader.adapters.http import serving
from tests.http_scene import HttpScene
from tests.http_server import Served

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
