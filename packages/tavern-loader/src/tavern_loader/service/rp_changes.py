"""A change of RP mode, made whole: decided, stored, appended to the session's log, told.

Owns that changes of one session come one after another, and what holds when a step of one fails.
What is slow, the stores or the host, holds up the session that changes and no other. Must not know
why something changes.
"""

from collections.abc import Callable

from attrs import define, evolve

from tavern_loader.domain import rp_mode
from tavern_loader.domain.rp_mode import Change, RpOutcome, RpSession, SandboxMode
from tavern_loader.errors import StoreError
from tavern_loader.ports import HostSession
from tavern_loader.service.rp_lineage import Lineages, LiveSession, Lock
from tavern_loader.service.rp_locks import Locks, Selections

Decide = Callable[[RpSession], Change]


@define(kw_only=True)
class Changes:
    """The one place where RP mode of a session changes."""

    selections: Selections
    host: HostSession
    sessions: Lineages
    locks: Locks
    elsewhere: Lock
    """Held while a session is changed that the host does not run."""

    def make(self, session_id: str, decide: Decide, *, holds: bool = False) -> RpOutcome:
        """Make the change that `decide` makes of a session's state.

        Raises StoreError if it cannot be stored; with `holds` a lock then holds all the same, as a
        wish that the next step stores. Raises HostError if the host does not take the sandbox mode.
        """
        live = self.sessions.live.get(session_id)
        try:
            with self.elsewhere if live is None else live.changing:
                change = decide(self.locks.machine(session_id))
                self._keep(session_id, live, change, holds=holds)
                # A session that does not run gets its sandbox when it starts.
                if live is not None:
                    self._append(session_id, live, change.append)
        finally:
            self.locks.tell(session_id)
        return change.outcome

    def settle(self, session_id: str, live: LiveSession) -> None:
        """Make what was wished for within a turn. Raises as `make`; then the wish stays."""
        if live.machine.pending is not None:
            self.make(session_id, rp_mode.at_boundary)
        else:
            self.locks.tell(session_id)  # a store may have been repaired meanwhile

    def pin(self, session_id: str, live: LiveSession) -> None:
        """Put a locked session back into the read-only sandbox. Raises HostError."""
        with live.changing:
            if self.locks.is_locked(session_id):
                self._append(session_id, live, rp_mode.pin(live.machine))

    def _keep(
        self, session_id: str, live: LiveSession | None, change: Change, *, holds: bool
    ) -> None:
        stored, pending = change.session.stored, change.session.pending
        try:
            if change.outcome is RpOutcome.COMMITTED:
                self.selections.change_selection(session_id, lambda one: evolve(one, rp=stored))
        except StoreError:
            if live is not None and holds and stored.active:
                live.machine = evolve(live.machine, pending=stored)
            raise
        if live is not None:
            live.machine = evolve(live.machine, pending=pending)
            live.seen = stored

    def _append(self, session_id: str, live: LiveSession, mode: SandboxMode | None) -> None:
        # Switched off below a locked session, it stays as it is.
        if mode is None or (mode is not SandboxMode.READ_ONLY and self.locks.is_locked(session_id)):
            return
        self.host.set_sandbox_mode(session_id, str(mode))
        # The log says so now. What is said there later comes as an event, which waits for us.
        live.machine = evolve(live.machine, sandbox=mode)
