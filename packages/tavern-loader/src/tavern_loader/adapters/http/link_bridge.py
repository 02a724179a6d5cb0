"""Requests that the host's web server got, from the link to the ASGI application and back.

Owns the streams of one link: their windows, their ends, and the event loop they run in. Must not
know routes. What goes over the link is in DESIGN.md under "HTTP".
"""

import asyncio
import base64
import binascii
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread
from typing import Any
from urllib.parse import unquote

from attrs import define, field
from starlette.types import ASGIApp, Message, Scope

from tavern_loader.errors import HostError
from tavern_loader.ports import JsonObject

CHUNK_BYTES = 64 * 1024
"""Of one piece, before it is written as base64."""
WINDOW_BYTES = 256 * 1024
"""Sent and not acknowledged, of one stream and direction."""
MAX_STREAMS = 64
STALL_S = 30.0
"""How long the other side may read nothing of an answer before its stream is given up."""

Tell = Callable[[str, JsonObject], None]


@define(eq=False)
class _Stream:
    """One request and its answer. Lives in the event loop."""

    number: int
    tell: Tell
    _arrived: asyncio.Queue[Message] = field(factory=asyncio.Queue)
    _waiting_bytes: int = 0
    """Arrived and not used up."""
    _unacknowledged_bytes: int = 0
    _room: asyncio.Event = field(factory=asyncio.Event)
    is_gone: bool = False

    # From the link.

    def arrive(self, data: bytes, *, is_last: bool) -> None:
        """Take a piece of the body; more than the window is a fault of the other side."""
        self._waiting_bytes += len(data)
        if self._waiting_bytes > WINDOW_BYTES:
            self.abort("window")
            return
        self._arrived.put_nowait({"type": "http.request", "body": data, "more_body": not is_last})

    def acknowledge(self, size: int) -> None:
        """Take note that the other side used up what it got."""
        self._unacknowledged_bytes -= size
        self._room.set()

    def leave(self) -> None:
        """Take note that the other side is gone."""
        self.is_gone = True
        self._arrived.put_nowait({"type": "http.disconnect"})
        self._room.set()

    def abort(self, reason: str) -> None:
        """Give the stream up."""
        if not self.is_gone:
            self.leave()
            self._say("http/abort", reason=reason)

    # To the application.

    async def receive(self) -> Message:
        """Give the next piece of the body."""
        message = await self._arrived.get()
        if message["type"] == "http.disconnect":
            self._arrived.put_nowait(message)
            return message
        size = len(message["body"])
        self._waiting_bytes -= size
        if size and not self.is_gone:
            self._say("http/ack", bytes=size)
        return message

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on; waits while the other side does not read."""
        if message["type"] == "http.response.start":
            headers = [
                [name.decode("latin-1"), value.decode("latin-1")]
                for name, value in message.get("headers", ())
            ]
            self._say("http/head", status=message["status"], headers=headers)
        elif message["type"] == "http.response.body":
            await self._send_body(message.get("body", b""))
            if not message.get("more_body", False):
                self._say("http/done")

    async def _send_body(self, body: bytes) -> None:
        for start in range(0, len(body), CHUNK_BYTES):
            piece = body[start : start + CHUNK_BYTES]
            while self._unacknowledged_bytes + len(piece) > WINDOW_BYTES and not self.is_gone:
                await self._wait_for_room()
            self._unacknowledged_bytes += len(piece)
            self._say("http/chunk", data=base64.b64encode(piece).decode("ascii"))

    async def _wait_for_room(self) -> None:
        self._room.clear()
        try:
            async with asyncio.timeout(STALL_S):
                await self._room.wait()
        except TimeoutError:
            self.abort("stalled")

    def _say(self, method: str, **params: Any) -> None:  # noqa: ANN401
        if self.is_gone and method != "http/abort":
            return
        try:
            self.tell(method, {"stream": self.number, **params})
        except HostError:
            self.is_gone = True


@define(eq=False)
class LinkBridge:
    """The HTTP side of one link. `inline` is what the reading thread calls."""

    app: ASGIApp
    tell: Tell
    _loop: asyncio.AbstractEventLoop = field(factory=asyncio.new_event_loop, init=False)
    _thread: Thread = field(init=False)
    _streams: dict[int, _Stream] = field(factory=dict, init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        """Start the loop in a thread of its own."""
        self._thread = Thread(target=self._work, name="http-loop", daemon=True)
        self._thread.start()

    @property
    def inline(self) -> Mapping[str, Callable[[JsonObject], None]]:
        """The notifications of the link and who takes them; each returns at once."""
        takers: Mapping[str, Callable[[JsonObject], None]] = {
            "http/request": self._begin,
            "http/body": self._body,
            "http/end": self._end,
            "http/ack": self._acknowledge,
            "http/abort": self._leave,
        }
        return {method: self._later(taker) for method, taker in takers.items()}

    def close(self) -> None:
        """End all streams and the loop."""
        with suppress(RuntimeError):  # closed before
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2)

    def _later(self, taker: Callable[[JsonObject], None]) -> Callable[[JsonObject], None]:
        def take(params: JsonObject) -> None:
            with suppress(RuntimeError):  # after the end
                self._loop.call_soon_threadsafe(taker, params)

        return take

    def _work(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(self._settle())
        self._loop.close()

    async def _settle(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # In the loop.

    def _begin(self, params: JsonObject) -> None:
        stream = _Stream(params["stream"], self.tell)
        scope = _scope(params)
        if scope is None or len(self._streams) >= MAX_STREAMS:
            stream.abort("busy" if scope else "target")
            return
        self._streams[stream.number] = stream
        task = self._loop.create_task(self._run(scope, stream))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, scope: Scope, stream: _Stream) -> None:
        try:
            await self.app(scope, stream.receive, stream.send)
        except Exception:  # noqa: BLE001 - one stream must not end the others
            stream.abort("fault")
        finally:
            self._streams.pop(stream.number, None)

    def _body(self, params: JsonObject) -> None:
        stream = self._streams.get(params["stream"])
        if stream is None:
            return
        try:
            stream.arrive(base64.b64decode(params["data"], validate=True), is_last=False)
        except (binascii.Error, TypeError, ValueError):
            stream.abort("data")

    def _end(self, params: JsonObject) -> None:
        stream = self._streams.get(params["stream"])
        if stream is not None:
            stream.arrive(b"", is_last=True)

    def _acknowledge(self, params: JsonObject) -> None:
        stream = self._streams.get(params["stream"])
        if stream is not None:
            stream.acknowledge(params["bytes"])

    def _leave(self, params: JsonObject) -> None:
        stream = self._streams.get(params["stream"])
        if stream is not None:
            stream.leave()


def _scope(params: JsonObject) -> Scope | None:
    """Make the ASGI scope of a request; None for a target that no server lets through."""
    target: str = params["target"]
    path, _, query = target.partition("?")
    if not target.isascii():
        return None
    remote, local = params.get("remote") or {}, params.get("local") or {}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "http",
        "method": str(params["method"]).upper(),
        "root_path": "",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "headers": [
            (name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace"))
            for name, value in params["headers"]
        ],
        "client": (remote["address"], remote.get("port") or 0) if remote.get("address") else None,
        "server": (local.get("address") or "", local.get("port") or 0),
    }
