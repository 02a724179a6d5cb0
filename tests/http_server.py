"""An ASGI application on a loopback port, in a thread of the test."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from attrs import frozen

from tavern_loader.adapters.http.serving import server_config


@frozen
class Served:
    """Where it listens."""

    port: int

    @classmethod
    @contextmanager
    def of(cls, app: Any) -> Iterator["Served"]:
        """Serve until the block ends."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            server = uvicorn.Server(server_config(app))
            thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
            thread.start()
            try:
                yield cls(port)
            finally:
                server.should_exit = True
                thread.join(timeout=10)
