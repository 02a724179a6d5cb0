"""RP mode of the sessions of a host: what happens at a start, an event, a step, a tool call.

Owns which session is locked, the alerts, and when the host is told. The rules are those of
`domain.rp_mode` and `domain.rp_guard`. Must not know the link, a file or a page.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from typing import Any, Protocol

from attrs import define, evolve, field, frozen

from tavern_loader.domain import rp_mode
from tavern_loader.domain.rp_guard import REFUSAL, Guard, RealPath
from tavern_loader.domain.rp_mode import (
    Change,
    RpOutcome,
    RpSession,
    RpSource,
    RpState,
    SandboxMode,
    highest_active,
)
from tavern_loader.domain.selection import Selection
from tavern_loader.ports import Clock, HostSession, JsonObject
from tavern_loader.service.rp_lineage import Lineages, LiveSession

SECTION_NAME = "rp:policy"
SECTION_ORDER = 45
EVENT_TYPES = ("turn/start", "turn/end", "sandbox/mode")
"""What this needs of a session's log."""
COMMAND_NAME = "rp"
COMMAND_DESCRIPTION = "Switch role-play mode on, or off with: /rp off"
CANCEL_REASON = "rp-high-risk-block"
MAX_PENDING_ALERTS = 1_024


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
class RpAlert:
    """A refused call that the user has not seen yet."""

    id: int
    session_id: str
    tool: str
    at_ms: int


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

    Messages of one session must come in their order; different sessions, and a page, may come at
    the same time as soon as `lock` is a real one.
    """

    selections: Selections
    rules: RpRules
    host: HostSession
    clock: Clock
    real_path: RealPath
    lock: AbstractContextManager[object] = field(factory=nullcontext)
    """Re-entrant; held while memory and store change, never while the host is asked."""
    _sessions: Lineages = field(init=False)
    _alerts: dict[str, RpAlert] = field(factory=dict, init=False)
    _alert_ids: Iterator[int] = field(factory=lambda: count(1), init=False)
    _told: tuple[str, ...] = field(default=(), init=False)

    @_sessions.default
    def _no_sessions(self) -> Lineages:
        return Lineages(host=self.host)

    # What the host reports.

    def on_sync(
        self, session: JsonObject, events: Sequence[JsonObject], *, is_first: bool = True
    ) -> None:
        """Take in the session's own events; the first batch replaces what is known."""
        with self.lock:
            live = self._sessions.take_in(session)
            machine = RpSession(pending=live.machine.pending) if is_first else live.machine
            for event in events:
                machine = _observed(machine, event)
            live.machine = machine
        self._tell_locks(str(session["id"]))

    def on_session_start(self, session: JsonObject, source: str = "startup") -> None:
        """Decide whether a session that begins or is resumed is locked."""
        with self.lock:
            live = self._sessions.take_in(session)
        self._sessions.learn_ancestors(live.parent_id)
        session_id = str(session["id"])
        with self.lock:
            selection = self.selections.selection(session_id)
            is_locked_child = live.depth > 0 and self.is_locked(session_id)
            change = rp_mode.begin(
                self._machine(session_id),
                delegated_by=self._parent_state(live) if is_locked_child else None,
                is_new=source == "startup",
                is_child=live.parent_id is not None,
                follows=selection.character_id is not None and self.rules.follows_characters(),
            )
        self._carry_out(session_id, change)
        self._tell_locks(session_id)

    def on_event(self, session_id: str, event: JsonObject) -> None:
        """Take in an event; a locked session that left the read-only sandbox is put back."""
        kind = event.get("type")
        if kind not in EVENT_TYPES:
            return
        with self.lock:
            live = self._sessions.live.setdefault(session_id, LiveSession())
            live.machine = _observed(live.machine, event)
        if kind == "turn/end":
            # Nothing runs any more: what waited for a step would be lost with this process.
            self._carry_out(session_id, rp_mode.at_boundary(self._machine(session_id)))
        elif kind == "sandbox/mode":
            self._pin(session_id)

    def on_pre_step(self, session_id: str) -> None:
        """Let what was asked for within the turn count, and hold the sandbox read-only."""
        with self.lock:
            change = rp_mode.at_boundary(self._machine(session_id))
        self._carry_out(session_id, change)
        if change.append is None:
            self._pin(session_id)

    def on_tool(self, session: JsonObject, name: str, arguments: object) -> ToolVerdict:
        """Judge a tool call; a refusal leaves an alert for the user."""
        session_id = str(session["id"])
        with self.lock:
            workspace = self._sessions.take_in(session).cwd
            if not self.is_locked(session_id):
                return ToolVerdict()
        guard = Guard(
            workspace=workspace,
            real_path=self.real_path,
            allowed_tools=tuple(self.rules.allowed_tools()),
        )
        if guard.refuses(name, arguments) is None:
            return ToolVerdict()
        with self.lock:
            self._note_alert(highest_active(self._lineage(session_id)) or session_id, name)
        return ToolVerdict(deny=REFUSAL, cancel=CANCEL_REASON)

    def on_command(self, session_id: str, arguments: str) -> str:
        """Carry out /rp, /rp on and /rp off; gives the answer to the user."""
        wanted = _COMMAND_WORDS.get(arguments.strip().casefold())
        if wanted is None:
            return "Use /rp to switch role-play mode on and /rp off to switch it off."
        outcome = self.set_active(session_id, active=wanted)
        if not wanted and self.is_locked(session_id) and outcome is not RpOutcome.QUEUED:
            return "A conversation this one came from is still in role-play mode."
        return _ANSWERS[wanted, outcome]

    def on_selection_change(self, session_id: str, before: Selection, after: Selection) -> None:
        """Follow a stored change of the selection: a taken-over RP state, else the character."""
        with self.lock:
            machine = self._machine(session_id)
            if before.rp != after.rp:
                change = rp_mode.commit(evolve(machine, stored=before.rp), after.rp)
            else:
                change = rp_mode.follow_character(
                    machine,
                    previous_id=before.character_id,
                    next_id=after.character_id,
                    follows=self.rules.follows_characters(),
                )
        self._carry_out(session_id, change)

    def on_session_end(self, session_id: str) -> None:
        """Forget what only a running session needs."""
        with self.lock:
            self._sessions.forget(session_id)
        self._tell_locks(session_id)

    # What pages and sections ask.

    def section_text(self, session_id: str) -> str:
        """Give the text of the policy section; empty for a session that is not locked."""
        return self.rules.section() if self.is_locked(session_id) else ""

    def is_locked(self, session_id: str) -> bool:
        """Whether the session or one it came from is in RP mode."""
        with self.lock:
            return any(active for _, active in self._lineage(session_id))

    def set_active(self, session_id: str, *, active: bool) -> RpOutcome:
        """Switch as the user wants; off also keeps a bound character from switching it on."""
        wanted = RpState(
            active=active,
            source=RpSource.COMMAND if active else None,
            follow_suppressed=not active,
        )
        with self.lock:
            change = rp_mode.request(self._machine(session_id), wanted)
        self._carry_out(session_id, change)
        return change.outcome

    def view(self, session_id: str) -> RpView:
        """Show one session."""
        with self.lock:
            machine = self._machine(session_id)
        return RpView(
            rp=machine.stored,
            pending=machine.pending,
            follow_character=self.rules.follows_characters(),
        )

    def alert(self, session_id: str) -> RpAlert | None:
        """Give the alert that waits for the user; it goes on waiting."""
        with self.lock:
            return self._alerts.get(session_id)

    def take_alert(self, session_id: str, alert_id: int | None = None) -> RpAlert | None:
        """Remove and give the alert; None if there is none, or another than the one named."""
        with self.lock:
            alert = self._alerts.get(session_id)
            if alert is None or alert_id not in (None, alert.id):
                return None
            return self._alerts.pop(session_id)

    # Inside.

    def _machine(self, session_id: str) -> RpSession:
        live = self._sessions.live.get(session_id)
        known = RpSession() if live is None else live.machine
        return evolve(known, stored=self.selections.selection(session_id).rp)

    def _lineage(self, session_id: str) -> Iterator[tuple[str, bool]]:
        """List a session and its ancestors with whether each by itself is locked."""
        for one in self._sessions.chain(session_id):
            yield one, self._machine(one).is_active

    def _parent_state(self, live: LiveSession) -> RpState:
        return RpState() if live.parent_id is None else self._machine(live.parent_id).stored

    def _carry_out(self, session_id: str, change: Change) -> None:
        with self.lock:
            live = self._sessions.live.get(session_id)
            if live is not None:
                live.machine = evolve(live.machine, pending=change.session.pending)
            if change.outcome is RpOutcome.COMMITTED:
                stored = change.session.stored
                self.selections.change_selection(session_id, lambda one: evolve(one, rp=stored))
        self._append(session_id, change.append)
        if change.outcome is not RpOutcome.NOOP:
            self._tell_locks(session_id)

    def _pin(self, session_id: str) -> None:
        if self.is_locked(session_id):
            self._append(session_id, rp_mode.pin(self._machine(session_id)))

    def _append(self, session_id: str, mode: SandboxMode | None) -> None:
        # A session that does not run gets its sandbox when it starts.
        if mode is None or session_id not in self._sessions.live:
            return
        # Switched off below a locked session, it stays as it is.
        if mode is SandboxMode.READ_ONLY or not self.is_locked(session_id):
            self.host.set_sandbox_mode(session_id, str(mode))

    def _tell_locks(self, changed: str) -> None:
        """Tell the host which live sessions are locked, if the change of one changed that."""
        with self.lock:
            live = self._sessions.live
            below = {one for one in live if changed in self._sessions.chain(one)}
            still = {one for one in self._told if one in live and one not in below}
            locked = tuple(sorted(still | {one for one in below if self.is_locked(one)}))
            is_news, self._told = locked != self._told, locked
        if is_news:
            self.host.lock_tools(locked, REFUSAL)

    def _note_alert(self, session_id: str, tool: str) -> None:
        earlier = self._alerts.pop(session_id, None)
        if len(self._alerts) >= MAX_PENDING_ALERTS:
            self._alerts.pop(next(iter(self._alerts)))
        self._alerts[session_id] = RpAlert(
            id=next(self._alert_ids) if earlier is None else earlier.id,
            session_id=session_id,
            tool=tool,
            at_ms=self.clock.now_ms(),
        )


def _observed(machine: RpSession, event: JsonObject) -> RpSession:
    data: Any = event.get("data")
    kind = event.get("type")
    if not isinstance(kind, str):
        return machine
    return rp_mode.observe(machine, kind, data if isinstance(data, Mapping) else {})


_COMMAND_WORDS: Mapping[str, bool] = {"": True, "on": True, "off": False}
_ON_NOW = "Role-play mode is on: changes, programs and fetching are refused. /rp off ends it."
_ANSWERS: Mapping[tuple[bool, RpOutcome], str] = {
    (True, RpOutcome.COMMITTED): _ON_NOW,
    (True, RpOutcome.QUEUED): "Role-play mode is on from the next step. /rp off ends it.",
    (True, RpOutcome.CANCELLED): "Role-play mode stays on.",
    (True, RpOutcome.NOOP): "Role-play mode is already on, or begins with the next step.",
    (False, RpOutcome.COMMITTED): "Role-play mode is off.",
    (False, RpOutcome.QUEUED): "Role-play mode ends with the next step.",
    (False, RpOutcome.CANCELLED): "Role-play mode stays off.",
    (False, RpOutcome.NOOP): "Role-play mode is already off, or ends with the next step.",
}
