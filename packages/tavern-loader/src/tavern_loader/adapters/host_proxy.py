"""What the services ask of the host, asked over the link.

Implements `ports.HostSession`. Must not know a rule of role-play, nor how the host does it.
"""

from collections.abc import Sequence
from typing import Protocol

from tavern_loader.ports import JsonObject

_LAST_NUMBER = 2**53 - 1
"""JavaScript counts no further."""


class Caller(Protocol):
    """The part of a link that asks."""

    def call(self, method: str, params: JsonObject) -> JsonObject:
        """Ask and wait; raises HostError."""
        ...

    def notify(self, method: str, params: JsonObject) -> None:
        """Tell without waiting; raises HostError."""
        ...


class HostProxy:
    """The sessions of the host at the other end of a link."""

    def __init__(self, link: Caller) -> None:
        self._link = link

    def set_sandbox_mode(self, session_id: str, mode: str) -> None:
        """Append the official event; raises HostError, also if the session is not open."""
        self._link.call("host/sandbox-mode", {"sessionId": session_id, "mode": mode})

    def cancel(self, session_id: str, reason: str) -> None:
        """Cancel the running step; raises HostError."""
        self._link.call("host/cancel", {"sessionId": session_id, "reason": reason})

    def lock_tools(self, locked: Sequence[str], free: Sequence[str], reason: str) -> None:
        """Say of sessions whether they are locked; the bridge keeps it for as long as they live."""
        params = {"locked": list(locked), "free": list(free), "reason": reason}
        self._link.notify("host/locks", params)

    def session_header(self, session_id: str) -> JsonObject | None:
        """Read the head of a log alone: no log has events behind the last number there is."""
        page = self._link.call("host/inspect", {"sessionId": session_id, "after": _LAST_NUMBER})
        header: JsonObject | None = page.get("meta")
        return header

    def inspect(self, session_id: str) -> JsonObject | None:
        """Read a log, whose pieces come one by one; without `assistant/chunk` events."""
        events: list[JsonObject] = []
        after = -1
        while True:
            page = self._link.call("host/inspect", {"sessionId": session_id, "after": after})
            if page.get("meta") is None:
                return None
            events += page["events"]
            if not page.get("more"):
                return {"meta": page["meta"], "events": events}
            after = page["last"]

    def is_running(self, session_id: str) -> bool:
        """Ask now; a session that is not open is not running."""
        session = self._link.call("host/session", {"sessionId": session_id}).get("session")
        return bool(session and session["running"])

    def sessions(self) -> tuple[JsonObject, ...]:
        """List the open sessions."""
        return tuple(self._link.call("host/sessions", {})["sessions"])

    def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification that is no question about a session; raises HostError."""
        self._link.notify(method, params)
