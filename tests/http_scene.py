"""The HTTP API over stores in a folder, and a client that looks like the host's own page.

The client speaks ASGI itself: a test decides about every header and every piece of a body.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from attrs import define, field, frozen

import tavern_loader
from tavern_loader.adapters.http.api import API_ROOT, Api, TimeLimits
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.walls import Security
from tavern_loader.http_app import http_api, parts_alone
from tavern_loader.installation import Installation, open_installation
from tavern_loader.ports import JsonObject

HOST = "127.0.0.1:7777"
_FERRY = Path(tavern_loader.__file__).parent / "samples"
CARD, WORLD, PRESET = (
    (_FERRY / f"ferry.{kind}.json").read_bytes() for kind in ("card", "world", "preset")
)
"""The files of a sample set."""
SAFE_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
"""What every answer says."""
OWN_PAGE = {"host": HOST, "origin": f"http://{HOST}", "content-type": "application/json"}


@frozen
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        """Status and code, in whichever shape the family has."""
        document = self.json
        assert document["ok"] is False
        nested = document["error"]
        return self.status, nested["code"] if isinstance(nested, dict) else document["code"]


@define
class Client:
    """Sends requests to an ASGI application."""

    app: Any

    def get(self, target: str, **changes: Any) -> Reply:
        """Read."""
        return self.send("GET", target, **changes)

    def put(self, target: str, content: object, **changes: Any) -> Reply:
        """Replace."""
        return self.send("PUT", target, content=content, **changes)

    def post(self, target: str, content: object, **changes: Any) -> Reply:
        """Make."""
        return self.send("POST", target, content=content, **changes)

    def patch(self, target: str, content: object, **changes: Any) -> Reply:
        """Change."""
        return self.send("PATCH", target, content=content, **changes)

    def delete(self, target: str, **changes: Any) -> Reply:
        """Remove."""
        return self.send("DELETE", target, **changes)

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
        """Send one request.

        Args:
            method: of HTTP.
            target: path and query below `root`, percent-encoded.
            content: the body as a value.
            data: the body as bytes.
            pieces: the body in pieces and without a length.
            pause_s: how long the body stops before each piece.
            headers: changes to those of the host's own page; None leaves one out.
            more_headers: sent after them, also if one of the name is there.
            peer: where the connection comes from.
            root: what stands before the target.
        """
        data = body_of(content, data)
        parts = [data] if pieces is None else list(pieces)
        merged = {**OWN_PAGE, **(headers or {})}
        listed = [(name, value) for name, value in merged.items() if value is not None]
        if data and pieces is None and "content-length" not in merged:
            listed.append(("content-length", str(len(data))))
        path, _, query = (root + target).partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [
                (name.encode("latin-1"), value.encode("latin-1"))
                for name, value in (*listed, *more_headers)
            ],
            "client": None if peer is None else (peer, 50_000),
            "server": ("127.0.0.1", 7777),
        }
        return asyncio.run(_exchange(self.app, scope, parts, pause_s))


def body_of(content: object, data: bytes | None) -> bytes:
    """Give the bytes of a body that was given as a value or as bytes."""
    return data or b"" if content is None else json.dumps(content).encode()


async def _exchange(
    app: Any, scope: Mapping[str, Any], parts: Sequence[bytes], pause_s: float
) -> Reply:
    waiting = list(parts)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not waiting:
            return {"type": "http.disconnect"}
        await asyncio.sleep(pause_s)
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *bodies = sent
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    return Reply(start["status"], headers, b"".join(one.get("body", b"") for one in bodies))


@define
class QuietHost:
    """A host that runs the sessions it is told to, and does nothing."""

    running: set[str] = field(factory=set)
    logs: dict[str, JsonObject] = field(factory=dict)

    def set_sandbox_mode(self, session_id: str, mode: str) -> None:
        """Ignore it."""

    def cancel(self, session_id: str, reason: str) -> None:
        """Ignore it."""

    def lock_tools(self, locked: Sequence[str], free: Sequence[str], reason: str) -> None:
        """Ignore it."""

    def session_header(self, session_id: str) -> JsonObject | None:
        """Give the head of a log that was put there."""
        return self.logs.get(session_id, {}).get("meta")

    def inspect(self, session_id: str) -> JsonObject | None:
        """Give a log that was put there."""
        return self.logs.get(session_id)

    def is_running(self, session_id: str) -> bool:
        """Look into the set."""
        return session_id in self.running

    def sessions(self) -> Sequence[JsonObject]:
        """List those that run."""
        return [{"id": session_id, "running": True} for session_id in sorted(self.running)]


@frozen(kw_only=True)
class Place:
    """An API wherever it is served."""

    client: Client
    folder: Path
    """Of its stores."""
    occupy: Callable[[str], str]
    """Lets a session run that has bound the same as another; gives its id."""
    rest: Callable[[], None] = lambda: None
    """Waits until that one runs no more."""


@define
class HttpScene:
    """An API with everything behind it."""

    folder: Path
    security: Security = field(factory=Security)
    limits: TimeLimits = field(factory=TimeLimits)
    host: QuietHost = field(factory=QuietHost)
    complaints: list[str] = field(factory=list)
    installation: Installation = field(init=False)
    services: HttpServices = field(init=False)
    api: Api = field(init=False)
    client: Client = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Join them."""
        self.installation = open_installation(self.folder)
        parts = parts_alone(self.installation, self.complaints.append, self.host)
        self.api = http_api(
            self.installation,
            parts,
            self.complaints.append,
            security=self.security,
            limits=self.limits,
        )
        self.services = self.api.services
        self.client = Client(self.api)
