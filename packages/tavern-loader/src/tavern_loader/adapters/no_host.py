"""A host that is not there: for programs that run beside it, on the same stores.

Implements `ports.HostSession` and what the API asks about open sessions.
"""

from collections.abc import Sequence

from tavern_loader.ports import JsonObject


class NoHost:
    """Runs no session and has no logs."""

    def set_sandbox_mode(self, session_id: str, mode: str) -> None:
        """Do nothing: a session gets its sandbox when the host starts it."""

    def cancel(self, session_id: str, reason: str) -> None:
        """Do nothing."""

    def lock_tools(self, locked: Sequence[str], free: Sequence[str], reason: str) -> None:
        """Do nothing."""

    def session_header(self, session_id: str) -> JsonObject | None:  # noqa: ARG002 - no session has a log here
        """Know no session."""
        return None

    def inspect(self, session_id: str) -> JsonObject | None:  # noqa: ARG002 - no session has a log here
        """Know no session."""
        return None

    def is_running(self, session_id: str) -> bool:  # noqa: ARG002 - no session runs here
        """Run no session."""
        return False

    def sessions(self) -> Sequence[JsonObject]:
        """Have no session open."""
        return ()
