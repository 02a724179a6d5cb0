"""Whether a change would reach a session that is in the middle of a turn.

Owns which sessions a resource counts for. Must not know who asks, nor the host behind the port.

Source: the plugin contract, sections E3 and K.
"""

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from tavern_loader.domain.documents import Kind
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import SessionRunningError
from tavern_loader.ports import JsonObject
from tavern_loader.service.library import Library


class OpenSessions(Protocol):
    """The sessions a host runs."""

    def sessions(self) -> Sequence[JsonObject]:
        """List the open sessions, each with `id` and `running`."""
        ...

    def is_running(self, session_id: str) -> bool:
        """Whether a turn of this session is going on."""
        ...


@frozen(kw_only=True)
class Running:
    """What may not be changed now."""

    library: Library
    open: OpenSessions

    def require_idle(self, session_id: str, code: str) -> None:
        """Refuse a change of what a session has bound. Raises SessionRunningError while it runs."""
        if self.open.is_running(session_id):
            message = "the session is running; try again when its turn has ended"
            raise SessionRunningError(code, message, session_ids=(session_id,))

    def require_unused(self, kind: Kind, document_id: str, code: str) -> None:
        """Refuse a change of a resource. Raises SessionRunningError while a session runs on it."""
        using = tuple(
            session_id
            for session_id in self._running_ids()
            if self._counts(kind, document_id, self.library.selection(session_id))
        )
        if using:
            message = (
                "a session that uses it is running; try again when its turn has ended,"
                " or with whileRunning=allow"
            )
            raise SessionRunningError(code, message, session_ids=using)

    def _running_ids(self) -> Sequence[str]:
        return [str(one["id"]) for one in self.open.sessions() if one.get("running")]

    def _counts(self, kind: Kind, document_id: str, selection: Selection) -> bool:
        if kind is Kind.WORLD_BOOK:
            return document_id in self.library.resolve(selection).world_books.effective
        bound = {
            Kind.PRESET: selection.preset_id,
            Kind.CHARACTER: selection.character_id,
            Kind.USER: selection.user_id,
        }
        return bound[kind] == document_id
