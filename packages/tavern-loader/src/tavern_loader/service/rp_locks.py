"""Which sessions are locked, and what the host knows of it.

Owns the answer where something cannot be read: what is not known counts as locked as far as there
is reason to think so. Must not know how a session comes to be locked.
"""

from collections.abc import Callable
from typing import Protocol

from attrs import define, evolve, field

from tavern_loader.domain.rp_guard import REFUSAL
from tavern_loader.domain.rp_mode import RpSession, SandboxMode, highest_active
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import StoreError
from tavern_loader.ports import HostSession
from tavern_loader.service.rp_lineage import Lineages, LiveSession, Lock


class Selections(Protocol):
    """Where the states of RP mode are kept: with the selections, as `service.library` has them."""

    def selection(self, session_id: str) -> Selection:
        """Give what a session has bound, without binding anything."""
        ...

    def change_selection(
        self, session_id: str, change: Callable[[Selection], Selection]
    ) -> Selection:
        """Replace a session's selection by what is made of it, while nobody else can."""
        ...


@define(kw_only=True)
class Locks:
    """The locks of all sessions."""

    selections: Selections
    host: HostSession
    sessions: Lineages
    telling: Lock
    """Held from the asking what is locked until the host is told, or an older word came last."""
    _told: dict[str, bool] = field(factory=dict, init=False)

    def machine(self, session_id: str) -> RpSession:
        """Give the state of one session. Raises StoreError if it cannot be read."""
        live = self.sessions.live.get(session_id)
        known = RpSession() if live is None else live.machine
        stored = self.selections.selection(session_id).rp
        if live is not None:
            live.seen = stored
        return evolve(known, stored=stored)

    def is_locked(self, session_id: str) -> bool:
        """Whether the session or one it came from is in RP mode."""
        if any(self._is_active(one) for one in self.sessions.chain(session_id)):
            return True
        live = self.sessions.live.get(session_id)
        # Who is further up is not known, and this one is held read-only, maybe for their sake.
        return live is not None and not self.sessions.is_whole(session_id) and _is_read_only(live)

    def highest(self, session_id: str) -> str:
        """Find the top-most locked session of a lineage; the session itself if none is."""
        lineage = ((one, self._is_active(one)) for one in self.sessions.chain(session_id))
        return highest_active(lineage) or session_id

    def tell(self, changed: str) -> None:
        """Tell the host of the sessions that are locked or free since a session has changed."""
        with self.telling:
            now = {one: self.is_locked(one) for one in self.sessions.below(changed)}
            news = {one: locked for one, locked in now.items() if self._told.get(one) != locked}
            if not news:
                return
            self._told.update(news)
            locked = tuple(sorted(one for one, is_locked in news.items() if is_locked))
            free = tuple(sorted(one for one, is_locked in news.items() if not is_locked))
            self.host.lock_tools(locked, free, REFUSAL)

    def forget(self, session_id: str) -> None:
        """Take a session for ended: the host forgets its lock by itself."""
        with self.telling:
            self._told.pop(session_id, None)

    def _is_active(self, session_id: str) -> bool:
        """Whether a session by itself is locked, or about to be."""
        try:
            return self.machine(session_id).is_active
        except (StoreError, ValueError):  # damaged; an id that nothing can be stored under
            live = self.sessions.live.get(session_id)
            return live is not None and _was_active(live)


def _was_active(live: LiveSession) -> bool:
    """Judge a session whose state cannot be read by what is known otherwise."""
    if live.machine.pending is not None and live.machine.pending.active:
        return True
    if live.seen is not None:
        return live.seen.active
    return live.was_locked or _is_read_only(live)


def _is_read_only(live: LiveSession) -> bool:
    return live.machine.sandbox is SandboxMode.READ_ONLY
