"""Load on the HTTP API: many clients that read, import and bind, and a count of what was kept.

    python packages/tavern-loader/benchmarks/http_load.py --clients 200 --seconds 60

Starts `tavern-loader serve` on an empty folder, lets every client send one request after another on
a connection of its own, and prints the times by kind of request. Afterwards everything that was
answered with success must be there, once, and bound as was said last.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, field, frozen

API = "/pmp-dsh-tavern/api"
WRITES_PERCENT = 20
BUSY = (503, "STORE_BUSY")
DOCUMENTED = {BUSY}
"""Errors that a client of a busy server has to expect."""
CARD = json.dumps(
    {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {"name": "Maren", "description": "A ferry woman. " * 40, "first_mes": "Get in."},
    }
).encode()
BOOK = json.dumps(
    {
        "name": "River",
        "entries": {
            str(number): {"uid": number, "key": [f"bell {number}"], "content": "It rings. " * 10}
            for number in range(50)
        },
    }
).encode()


@frozen
class Answer:
    """What came back."""

    status: int
    body: Any


@define
class Connection:
    """One client's connection, kept open."""

    port: int
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, method: str, target: str, data: bytes = b"") -> Answer:
        """Send a request and read its answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        own = f"127.0.0.1:{self.port}"
        head = (
            f"{method} {API}{target} HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        await writer.drain()
        raw = await reader.readuntil(b"\r\n\r\n")
        lines = raw.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        body = await reader.readexactly(int(headers["content-length"]))
        return Answer(int(lines[0].split()[1]), json.loads(body))

    async def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
            with suppress(OSError):
                await self._streams[1].wait_closed()


@define
class Tally:
    """What all clients have seen."""

    times_ms: dict[str, list[float]] = field(factory=lambda: defaultdict(list))
    errors: Counter[tuple[int, str]] = field(factory=Counter)
    users: set[str] = field(factory=set)
    characters: set[str] = field(factory=set)
    books: set[str] = field(factory=set)
    bound: dict[str, str] = field(factory=dict)
    """Of each session, the user that was bound last."""


@define
class Client:
    """One client with a session of its own."""

    number: int
    connection: Connection
    tally: Tally
    shared_user: str
    dice: Random = field(init=False)
    _serial: Any = field(factory=count)

    def __attrs_post_init__(self) -> None:
        """Draw the same requests in every run."""
        self.dice = Random(self.number)  # noqa: S311 - the same requests in every run

    async def run(self, until: float) -> None:
        """Send one request after another."""
        while time.monotonic() < until:
            if self.dice.randrange(100) < WRITES_PERCENT:
                await self.dice.choice((self.make_user, self.import_card, self.bind))()
            else:
                await self.read()
        await self.connection.close()

    async def ask(self, kind: str, method: str, target: str, data: bytes = b"") -> Any:  # noqa: ANN401
        """Send, time and count; gives the body of a success."""
        began = time.perf_counter()
        answer = await self.connection.send(method, target, data)
        self.tally.times_ms[kind].append((time.perf_counter() - began) * 1000)
        if answer.status < 300:
            return answer.body
        error = answer.body["error"]
        code = error["code"] if isinstance(error, dict) else answer.body["code"]
        self.tally.errors[answer.status, code] += 1
        return None

    async def read(self) -> None:
        """Read one of the things a page reads."""
        session = f"load-{self.number}"
        target = self.dice.choice(
            (
                "/v1/users",
                f"/v1/users/{self.shared_user}",
                f"/v1/user-selection?sessionId={session}",
                f"/v1/character-selection?sessionId={session}",
                "/v1/ui-settings",
                f"/v1/rp-mode?sessionId={session}",
                "/v3/capabilities",
                f"/v3/sessions/{session}/assemblies",
            )
        )
        await self.ask("read", "GET", target)

    async def make_user(self) -> None:
        """Make a user, and perhaps a world book."""
        name = f"u{self.number}-{next(self._serial)}"
        done = await self.ask("make user", "POST", "/v1/users", json.dumps({"name": name}).encode())
        if done:
            self.tally.users.add(done["user"]["id"])

    async def import_card(self) -> None:
        """Import a character or a world book."""
        if self.dice.randrange(2):
            done = await self.ask("import", "POST", "/v1/characters/import?filename=a.json", CARD)
            if done:
                self.tally.characters.add(done["character"]["id"])
        else:
            done = await self.ask("import", "POST", "/v1/world-books/import?filename=a.json", BOOK)
            if done:
                self.tally.books.add(done["worldBook"]["id"])

    async def bind(self) -> None:
        """Bind one of the users that were made to the client's session."""
        session = f"load-{self.number}"
        user = self.dice.choice(sorted(self.tally.users))
        body = json.dumps({"sessionId": session, "userId": user}).encode()
        if await self.ask("bind", "POST", "/v1/user-selection", body):
            self.tally.bound[session] = user


async def load(port: int, clients: int, seconds: float) -> Tally:
    """Let the clients work."""
    tally = Tally()
    first = Connection(port)
    made = await first.send("POST", "/v1/users", b'{"name": "first"}')
    shared = made.body["user"]["id"]
    tally.users.add(shared)
    until = time.monotonic() + seconds
    await asyncio.gather(
        *(Client(number, Connection(port), tally, shared).run(until) for number in range(clients))
    )
    await first.close()
    return tally


async def check(port: int, tally: Tally) -> None:
    """Compare what is kept with what was answered."""
    connection = Connection(port)
    for target, key, expected in (
        ("/v1/users", "users", tally.users),
        ("/v1/characters", "characters", tally.characters),
        ("/v1/world-books", "worldBooks", tally.books),
    ):
        listed = (await connection.send("GET", target)).body[key]
        ids = [one["id"] for one in listed]
        assert len(ids) == len(set(ids)), f"{key} are listed twice"
        assert set(ids) == expected, f"{key}: {len(set(ids) ^ expected)} lost or left behind"
    for session, user in tally.bound.items():
        found = await connection.send("GET", f"/v1/user-selection?sessionId={session}")
        assert found.body["selection"] == {"userId": user}, session
    await connection.close()


def report(tally: Tally, seconds: float) -> None:
    """Print the times."""
    everything = [one for times in tally.times_ms.values() for one in times]
    rows = {**tally.times_ms, "all": everything}
    print(f"{'request':<12}{'count':>8}{'per s':>8}{'p50 ms':>9}{'p95 ms':>9}{'max ms':>9}")
    for kind, times in rows.items():
        cuts = statistics.quantiles(times, n=20)
        print(
            f"{kind:<12}{len(times):>8}{len(times) / seconds:>8.0f}"
            f"{statistics.median(times):>9.1f}{cuts[18]:>9.1f}{max(times):>9.1f}"
        )
    for (status, code), number in sorted(tally.errors.items()):
        print(f"{status} {code}: {number}")


def main() -> int:
    """Measure once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tavern_loader", "serve", "--port", "0"]
        server = subprocess.Popen(  # noqa: S603 - this project's own command
            [*command, "--dsh-home", folder], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            port = int(server.stderr.readline().rsplit(":", 1)[1].split("/")[0])
            tally = asyncio.run(load(port, options.clients, options.seconds))
            report(tally, options.seconds)
            asyncio.run(check(port, tally))
            left = list(Path(folder).rglob("*.tmp"))
            assert not left, f"{len(left)} temporary files are left"
        finally:
            server.terminate()
            server.wait(timeout=10)
    unexpected = set(tally.errors) - DOCUMENTED
    assert not unexpected, unexpected
    print("nothing is lost, and nothing is kept twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
