"""The API's contract tests, through the host's web server.

Owns raw HTTP/1.1: a test decides about every header and every piece of a body; and a session of
the host that runs. What only holds of the application itself, as where a connection comes from, is
skipped.
"""

import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from tavern_loader.adapters.http.api import API_ROOT
from tests.dsh._host import DRIVEN, Driven, Home, eventually
from tests.dsh._install import find
from tests.dsh._model import Model
from tests.http_scene import HOST, OWN_PAGE, Client, Place, Reply, body_of

TIMEOUT_S = 20
BUSY = "busy-1"
TURN_S, USED_S = 5, 3
"""How long a turn of the busy session takes, and how much of it is used."""


@define
class WebClient(Client):
    """Sends requests to a port."""

    port: int = 0

    def send(  # noqa: PLR0913 - a request has many sides
        self,
        method: str,
        target: str,
        *,
        content: object = None,
        data: bytes | None = None,
        pieces: Sequence[bytes] | None = None,
        pause_s: float = 0.0,
        headers: Mapping[str, str | None] | None = None,
        more_headers: Sequence[tuple[str, str]] = (),
        peer: str | None = "127.0.0.1",
        root: str = API_ROOT,
    ) -> Reply:
        """Send one request; see the base class."""
        if peer != "127.0.0.1":
            pytest.skip("a connection to this port comes from this machine")
        data = body_of(content, data)
        merged = {**OWN_PAGE, **(headers or {})}
        listed = [(name, value) for name, value in merged.items() if value is not None]
        if pieces is None:
            if "content-length" not in merged:
                listed.append(("content-length", str(len(data))))
        elif "content-length" not in merged:
            listed.append(("transfer-encoding", "chunked"))
        listed += [*more_headers, ("connection", "close")]
        lines = [f"{method} {root}{target} HTTP/1.1", *(f"{n}: {self._own(v)}" for n, v in listed)]
        head = "\r\n".join(lines) + "\r\n\r\n"
        parts = [data] if pieces is None else [_chunk(piece) for piece in pieces]
        with socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S) as opened:
            try:
                opened.sendall(head.encode("latin-1"))
                for part in parts:
                    time.sleep(pause_s)
                    opened.sendall(part)
                if pieces is not None and "content-length" not in merged:
                    opened.sendall(b"0\r\n\r\n")
            except OSError:
                pass  # refused before everything was sent
            return _reply(opened, has_body=method != "HEAD")

    def _own(self, value: str) -> str:
        """Name the port that is really listened on."""
        return value.replace(HOST, f"127.0.0.1:{self.port}")


def _chunk(piece: bytes) -> bytes:
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n" if piece else b""


def _reply(opened: socket.socket, *, has_body: bool) -> Reply:
    received = b""
    while True:
        try:
            piece = opened.recv(1 << 20)
        except ConnectionResetError:
            break
        if not piece:
            break
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(_header(line) for line in lines)
    if headers.get("transfer-encoding") == "chunked":
        body = _joined(body)
    return Reply(int(status.split()[1]), headers, body if has_body else b"")


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.lower(), value.strip()


def _joined(chunked: bytes) -> bytes:
    whole = b""
    while chunked:
        size, _, rest = chunked.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            break
        whole, chunked = whole + rest[:length], rest[length + 2 :]
    return whole


@contextmanager
def hosted_place(folder: Path) -> Iterator[Place]:
    """Start the host with the loader in it, for as long as the block takes."""
    toolbox = find()
    assert toolbox is not None, "DSH is not installed: python -m tests.dsh._install"
    with Model() as model:
        home = Home(toolbox, folder, model)
        home.install(DRIVEN)
        home.add_driver()
        with home.driven() as running:
            client = WebClient(None, port=running.do("port"))
            busy = BusySession(running, client)
            yield Place(client=client, folder=home.storage, occupy=busy.occupy, rest=busy.rest)


@define
class BusySession:
    """A session that has a turn going on whenever it is asked for."""

    host: Driven
    client: Client
    _turn: Future[Any] | None = None
    _began_s: float = 0.0

    def occupy(self, session: str) -> str:
        """Let it run, with all that a session has bound; gives its id."""
        if self._turn is None or time.monotonic() - self._began_s > USED_S:
            self._begin()
        source = {"mode": "current", "sessionId": session}
        target = "/v1/session-configurations/apply?whileRunning=allow"
        applied = self.client.post(target, {"targetSessionId": BUSY, "source": source})
        assert applied.status == 200, applied.body
        return BUSY

    def rest(self) -> None:
        """Wait until its turn is over."""
        if self._turn is not None:
            self._turn.result(2 * TURN_S)

    def _begin(self) -> None:
        if self._turn is None:
            self.host.session(BUSY)
        self.rest()
        self._turn = self.host.begin("say", session=BUSY, text=f"SLOW {TURN_S}")
        self._began_s = time.monotonic()
        nothing = {"sessionId": BUSY, "worldBookIds": []}
        eventually(lambda: self.client.post("/v1/world-book-selection", nothing).status == 409)
