"""The API on a socket of its own: `tavern-loader serve`.

Owns the server's limits on heads, connections and idle time. Must not know routes.
"""

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEAD_TIMEOUT_S = 10.0
"""For a head to arrive, and for the rest of a refused body."""
STALL_S = 30.0
"""For a client to read something of an answer that waits for it."""
MAX_CONNECTIONS = 512
BACKLOG = 2048
MAX_HEAD_BYTES = 64 * 1024


class BoundedProtocol(H11Protocol):
    """Ends a connection on which no request arrives in time, or no answer is read.

    The base class waits for ever for the end of a head that has begun, and for a slow reader.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Begin without a deadline: there is no connection yet."""
        super().__init__(config, server_state, app_state, _loop)
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in the base class
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on for the end of a head, or let a complete one take its own time."""
        super().data_received(data)
        if getattr(self.cycle, "response_complete", True):  # None before the first request
            self._wait()
        else:
            self._stop_waiting()

    def pause_writing(self) -> None:
        """Give the client its time to read."""
        super().pause_writing()
        # Not `close`, which would first send the rest.
        self._stalled = self.loop.call_later(STALL_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Take note that it reads."""
        if self._stalled is not None:
            self._stalled.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def serve(app: ASGIApp, host: str, port: int, ready: Callable[[str, int], None]) -> None:
    """Serve until the process is told to end; `ready` gets the address once it is open.

    Raises OSError if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=BACKLOG) as listener:
        ready(*listener.getsockname()[:2])
        uvicorn.Server(server_config(app)).run(sockets=[listener])


def server_config(app: ASGIApp) -> uvicorn.Config:
    """Give the settings of the server, without its address."""
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        # What a client does wrong is in its answer, and nobody else's business.
        log_level="error",
        access_log=False,
        server_header=False,
        # A header must not say where a connection comes from.
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )
