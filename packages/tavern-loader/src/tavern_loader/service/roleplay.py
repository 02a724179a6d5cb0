"""RP mode of the sessions of a host: what happens at a start, an event, a step, a tool call.

Owns what each message of the host and each wish of the user means. The rules are those of
`domain.rp_mode` and `domain.rp_guard`; `rp_lineage` knows the sessions, `rp_locks` which are
locked, and `rp_changes` makes what is decided. Must not know the link, a file or a page.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Protocol

from attrs import define, evolve, field, frozen

from tavern_loader.domain import rp_mode
from tavern_loader.domain.rp_guard import REFUSAL, Guard, RealPath
from tavern_loader.domain.rp_mode import (
    Change,
    RpOutcome,
    RpSession,
    RpSource,
    RpState,
)
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import HostError, StoreError
from tavern_loader.ports import Clock, HostSession, JsonObject
from tavern_loader.service import rp_command
from tavern_loader.service.rp_alerts import Alerts
from tavern_loader.service.rp_changes import Changes
from tavern_loader.service.rp_lineage import Lineages, LiveSession, NewLock
from tavern_loader.service.rp_locks import Locks, Selections

SECTION_NAME = "rp:policy"
SECTION_ORDER = 45
EVENT_TYPES = ("turn/start", "turn/end", "sandbox/mode")
"""What this needs of a session's log."""
CANCEL_REASON = "rp-high-risk-block"


class RpRules(Protocol):
    """What the user decided about RP mode."""

    def section(self) -> str:
        """Give the text of the policy section; empty for none."""
        ...

    def allowed_tools(self) -> Sequence[str]:
        """List the tools beyond the built-in table that a locked session may call."""
        ...

    def follows_characters(self) -> bool:
        """Whether binding a character switches RP mode on."""
        ...


@frozen(kw_only=True)
class HostWord:
    """What the host knows of a session beside its own events."""

    sandbox: str | None = None
    """The mode that the whole log says last, inherited events included."""
    was_locked: bool = False
    """Whether the host was told so, maybe by the process before this one."""


@frozen(kw_only=True)
class RpView:
    """What a page shows of one session."""

    rp: RpState
    pending: RpState | None
    follow_character: bool


@frozen(kw_only=True)
class ToolVerdict:
    """What becomes of a tool call; both None lets it pass."""

    deny: str | None = None
    """Told to the model."""
    cancel: str | None = None
    """Why the step is cancelled after the refusal; the inbox stays."""


@define(kw_only=True)
class Roleplay:
    """RP mode of all sessions.

    Messages of one session must come in their order; different sessions, and pages, may come at the
    same time if `new_lock` makes real locks. What is slow for one session holds up that one only.
    """

    selections: Selections
    rules: RpRules
    host: HostSession
    clock: Clock
    real_path: RealPath
    new_lock: NewLock = nullcontext
    alerts: Alerts = field(init=False)
    """Refused calls that the user has not seen yet."""
    _sessions: Lineages = field(init=False)
    _locks: Locks = field(init=False)
    _changes: Changes = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Join the parts."""
        self.alerts = Alerts(lock=self.new_lock())
        self._sessions = Lineages(host=self.host, new_lock=self.new_lock)
        self._locks = Locks(
            selections=self.selections,
            host=self.host,
            sessions=self._sessions,
            telling=self.new_lock(),
        )
        self._changes = Changes(
            selections=self.selections,
            host=self.host,
            sessions=self._sessions,
            locks=self._locks,
            elsewhere=self.new_lock(),
        )

    # What the host reports.

    def on_sync(
        self,
        session: JsonObject,
        events: Sequence[JsonObject],
        *,
        is_first: bool = True,
        is_last: bool = True,
        known: HostWord | None = None,
    ) -> None:
        """Take in the session's own events, which may come in several parts.

        Args:
            session: what the host says of it.
            events: the next part, oldest first.
            is_first: whether the part replaces what is known.
            is_last: whether all counts from now on.
            known: what the host knows beyond them; counts with the last part.
        """
        session_id, known = str(session["id"]), known or HostWord()
        live = self._sessions.take_in(session)
        with live.changing:
            live.replay(events, is_first=is_first, is_last=is_last, sandbox=known.sandbox)
        if not is_last:
            return
        self._sessions.learn_ancestors(session_id)
        self._take_over(session_id, live, was_locked=known.was_locked)
        self._locks.forget(session_id)  # who syncs may have lost what it was told
        self._locks.tell(session_id)

    def on_session_start(self, session: JsonObject, source: str = "startup") -> None:
        """Decide whether a session that begins or is resumed is locked."""
        live = self._sessions.take_in(session)
        session_id = str(session["id"])
        self._sessions.learn_ancestors(session_id)

        def begun(machine: RpSession) -> Change:
            selection = self.selections.selection(session_id)
            is_locked_child = live.depth > 0 and self.is_locked(session_id)
            return rp_mode.begin(
                machine,
                delegated_by=self._parent_state(live) if is_locked_child else None,
                is_new=source == "startup",
                is_child=live.parent_id is not None,
                follows=selection.character_id is not None and self.rules.follows_characters(),
            )

        self._changes.make(session_id, begun, holds=True)

    def on_event(self, session_id: str, event: JsonObject) -> None:
        """Take in an event; a locked session that left the read-only sandbox is put back."""
        kind = event.get("type")
        live = self._sessions.live.get(session_id)
        if kind not in EVENT_TYPES or live is None:
            return  # of a session that is not known yet, its sync brings the event
        with live.changing:
            live.observe(event)
        if kind == "turn/end":
            # Nothing runs any more: what waited for a step would be lost with this process.
            self._sessions.learn_ancestors(session_id, is_repeated=True)
            self._changes.settle(session_id, live)
        elif kind == "sandbox/mode":
            self._changes.pin(session_id, live)

    def on_pre_step(self, session_id: str) -> None:
        """Let what was asked for within the turn count, and hold the sandbox read-only."""
        live = self._sessions.live.get(session_id)
        if live is None:
            return
        try:
            self._changes.settle(session_id, live)
        finally:
            self._changes.pin(session_id, live)

    def on_tool(self, session: JsonObject, name: str, arguments: object) -> ToolVerdict:
        """Judge a tool call; a refusal leaves an alert for the user."""
        workspace = self._sessions.take_in(session).cwd
        session_id = str(session["id"])
        self._sessions.learn_ancestors(session_id)
        if not self.is_locked(session_id):
            return ToolVerdict()
        guard = Guard(
            workspace=workspace,
            real_path=self.real_path,
            allowed_tools=tuple(self.rules.allowed_tools()),
        )
        if guard.refuses(name, arguments) is None:
            return ToolVerdict()
        self.alerts.note(self._locks.highest(session_id), name, self.clock.now_ms())
        return ToolVerdict(deny=REFUSAL, cancel=CANCEL_REASON)

    def on_command(self, session_id: str, arguments: str) -> str:
        """Carry out /rp, /rp on and /rp off; gives the answer to the user."""
        wanted = rp_command.wanted_by(arguments)
        if wanted is None:
            return rp_command.USAGE
        try:
            outcome = self.set_active(session_id, active=wanted)
        except StoreError as error:
            return rp_command.not_stored(str(error))
        except HostError:  # it is stored by then
            return rp_command.not_in_sandbox(wanted=wanted)
        if not wanted and self.is_locked(session_id) and outcome is not RpOutcome.QUEUED:
            return rp_command.LOCKED_FROM_ABOVE
        return rp_command.answer_to(wanted=wanted, outcome=outcome)

    def on_selection_change(self, session_id: str, before: Selection, after: Selection) -> None:
        """Follow a stored change of the selection: a taken-over RP state, else the character."""

        def followed(machine: RpSession) -> Change:
            if before.rp != after.rp:
                return rp_mode.commit(evolve(machine, stored=before.rp), after.rp)
            return rp_mode.follow_character(
                machine,
                previous_id=before.character_id,
                next_id=after.character_id,
                follows=self.rules.follows_characters(),
            )

        self._changes.make(session_id, followed)

    def on_session_end(self, session_id: str) -> None:
        """Forget what only a running session needs.

        A lock that waited for a step is stored: the sandbox follows at the next start. The end of
        a lock is not, for then nobody would put the sandbox back. Raises StoreError.
        """
        live = self._sessions.forget(session_id)
        self._locks.forget(session_id)
        wish = None if live is None else live.machine.pending
        if wish is not None and wish.active:
            self._changes.make(session_id, lambda machine: rp_mode.commit(machine, wish))

    # What pages and sections ask.

    def section_text(self, session_id: str) -> str:
        """Give the text of the policy section; empty for a session that is not locked."""
        return self.rules.section() if self.is_locked(session_id) else ""

    def is_locked(self, session_id: str) -> bool:
        """Whether the session or one it came from is in RP mode."""
        return self._locks.is_locked(session_id)

    def set_active(self, session_id: str, *, active: bool) -> RpOutcome:
        """Switch as the user wants; off also keeps a bound character from switching it on.

        Raises StoreError if that cannot be stored.
        """
        wanted = RpState(
            active=active,
            source=RpSource.COMMAND if active else None,
            follow_suppressed=not active,
        )
        return self._changes.make(session_id, lambda machine: rp_mode.request(machine, wanted))

    def view(self, session_id: str) -> RpView:
        """Show one session. Raises StoreError."""
        machine = self._locks.machine(session_id)
        return RpView(
            rp=machine.stored,
            pending=machine.pending,
            follow_character=self.rules.follows_characters(),
        )

    # Inside.

    def _parent_state(self, live: LiveSession) -> RpState:
        return rp_mode.OFF if live.parent_id is None else self._locks.machine(live.parent_id).stored

    def _take_over(self, session_id: str, live: LiveSession, *, was_locked: bool) -> None:
        """Go on where the process before this one was."""
        with live.changing:
            if was_locked and not live.is_synced:
                live.was_locked = True
                if not self.is_locked(session_id):
                    # A wish waited for the next step, and was in the memory of that process only.
                    wish = RpState(active=True, source=RpSource.COMMAND)
                    live.machine = evolve(live.machine, pending=wish)
            live.is_synced = True
