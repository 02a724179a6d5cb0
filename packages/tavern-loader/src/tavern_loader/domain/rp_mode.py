"""RP mode of one session: what is stored, what waits for the end of a turn, when the sandbox moves.

Owns the state machine and nothing else: a change is a `Change`, which says what to store and which
sandbox mode to append. Must not know tools, stores or the host.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from attrs import evolve, frozen

E = TypeVar("E", bound=StrEnum)


class RpSource(StrEnum):
    """Who switched RP mode on."""

    COMMAND = "command"
    CHARACTER_FOLLOW = "character-follow"


class SandboxMode(StrEnum):
    """The host's file sandbox."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    DANGER_FULL_ACCESS = "danger-full-access"


class RpOutcome(StrEnum):
    """What became of a wish."""

    COMMITTED = "committed"
    QUEUED = "queued"
    """A turn is open: it counts from the next step on."""
    CANCELLED = "cancelled"
    """A queued wish was taken back."""
    NOOP = "noop"


@frozen(kw_only=True)
class RpState:
    """What is stored of RP mode with the selection of a session."""

    active: bool = False
    source: RpSource | None = None
    follow_suppressed: bool = False
    """The user switched it off: a bound character alone does not switch it on again."""
    sandbox_before: SandboxMode | None = None
    """Where the sandbox goes back to."""

    def says_the_same(self, other: "RpState") -> bool:
        """Whether both mean the same wish, wherever the sandbox was."""
        return (self.active, self.source, self.follow_suppressed) == (
            other.active,
            other.source,
            other.follow_suppressed,
        )


OFF = RpState()


@frozen(kw_only=True)
class RpSession:
    """RP mode of one session, with what its log says."""

    stored: RpState = OFF
    pending: RpState | None = None
    """A wish that waits for the next step."""
    is_turn_open: bool = False
    sandbox: SandboxMode | None = None
    """The mode the log names last; None if it names none."""

    @property
    def is_active(self) -> bool:
        """Whether this session by itself is locked: stored, or about to be."""
        return self.stored.active or (self.pending is not None and self.pending.active)


@frozen(kw_only=True)
class Change:
    """The next state, and what has to be done for it."""

    session: RpSession
    outcome: RpOutcome
    append: SandboxMode | None = None
    """The mode to append to the log; None leaves the sandbox as it is."""


def rp_from_json(value: object) -> RpState:
    """Read a stored state; what is not understood counts as not set."""
    if not isinstance(value, Mapping):
        return OFF
    return RpState(
        active=value.get("active") is True,
        source=_member(RpSource, value.get("source")),
        follow_suppressed=value.get("followSuppressed") is True,
        sandbox_before=_member(SandboxMode, value.get("sandboxBefore")),
    )


def rp_to_json(state: RpState) -> dict[str, Any]:
    """Write a state in the spelling of the stores."""
    return {
        "active": state.active,
        "source": None if state.source is None else str(state.source),
        "followSuppressed": state.follow_suppressed,
        "sandboxBefore": None if state.sandbox_before is None else str(state.sandbox_before),
    }


def observe(session: RpSession, event_type: str, data: Mapping[str, Any]) -> RpSession:
    """Take in one event of the session's log."""
    if event_type in ("turn/start", "turn/end"):
        return evolve(session, is_turn_open=event_type == "turn/start")
    mode = _member(SandboxMode, data.get("mode")) if event_type == "sandbox/mode" else None
    return session if mode is None else evolve(session, sandbox=mode)


def request(session: RpSession, wanted: RpState) -> Change:
    """Ask for a state: at once between turns, from the next step on within one."""
    if (session.pending or session.stored).says_the_same(wanted):
        return Change(session=session, outcome=RpOutcome.NOOP)
    if session.pending is not None and session.stored.says_the_same(wanted):
        return Change(session=evolve(session, pending=None), outcome=RpOutcome.CANCELLED)
    if session.is_turn_open:
        return Change(session=evolve(session, pending=wanted), outcome=RpOutcome.QUEUED)
    return commit(session, wanted)


def commit(session: RpSession, wanted: RpState, *, recapture: bool = False) -> Change:
    """Store a state now.

    Args:
        session: what holds.
        wanted: what shall hold.
        recapture: forget which mode was remembered before, and remember today's.
    """
    before = None if recapture else session.stored.sandbox_before
    if wanted.active:
        return _lock(session, wanted, before)
    stored = evolve(wanted, sandbox_before=None)
    unlocked = evolve(session, stored=stored, pending=None)
    is_ours = session.sandbox is SandboxMode.READ_ONLY and before is not SandboxMode.READ_ONLY
    return Change(session=unlocked, outcome=RpOutcome.COMMITTED, append=before if is_ours else None)


def _lock(session: RpSession, wanted: RpState, before: SandboxMode | None) -> Change:
    # The mode in `session` is what the log says: it follows the appended event, not our wish.
    is_locked = session.sandbox is SandboxMode.READ_ONLY
    remembered = before if is_locked else session.sandbox or before
    stored = evolve(wanted, sandbox_before=remembered)
    return Change(
        session=evolve(session, stored=stored, pending=None),
        outcome=RpOutcome.COMMITTED,
        append=None if is_locked else SandboxMode.READ_ONLY,
    )


def at_boundary(session: RpSession) -> Change:
    """Store what waited for a step to begin."""
    if session.pending is None:
        return Change(session=session, outcome=RpOutcome.NOOP)
    return commit(session, session.pending)


def begin(
    session: RpSession,
    *,
    is_new: bool,
    is_child: bool,
    delegated_by: RpState | None = None,
    follows: bool = False,
) -> Change:
    """Decide what a session begins with.

    Args:
        session: what its log and its selection say.
        is_new: whether it never ran before. What a resumed one remembers is its own, also when
            the log says that it is read-only: because of us.
        is_child: whether it has a parent, whose stored state it began with.
        delegated_by: the state of the delegating session, for a delegated child of a locked
            lineage; None for every other session.
        follows: whether a character is bound and RP mode follows characters.
    """
    if delegated_by is not None:
        source = delegated_by.source or RpSource.COMMAND
        return commit(session, RpState(active=True, source=source), recapture=is_new)
    if session.stored.active:
        return commit(session, session.stored, recapture=is_new and not is_child)
    if follows and not session.stored.follow_suppressed:
        return request(session, RpState(active=True, source=RpSource.CHARACTER_FOLLOW))
    return Change(session=session, outcome=RpOutcome.NOOP)


def follow_character(
    session: RpSession, *, previous_id: str | None, next_id: str | None, follows: bool
) -> Change:
    """Let RP mode follow a change of the bound character.

    Unbinding switches it off and lets the next character switch it on again.
    """
    if previous_id == next_id:
        return Change(session=session, outcome=RpOutcome.NOOP)
    if next_id is None:
        return request(session, OFF)
    if session.stored.active or not follows:
        return Change(session=session, outcome=RpOutcome.NOOP)
    return request(session, RpState(active=True, source=RpSource.CHARACTER_FOLLOW))


def pin(session: RpSession) -> SandboxMode | None:
    """Name the mode to append so that the sandbox of a locked lineage is read-only again."""
    return None if session.sandbox is SandboxMode.READ_ONLY else SandboxMode.READ_ONLY


def highest_active(lineage: Iterable[tuple[str, bool]]) -> str | None:
    """Find the top-most locked session; `lineage` is (id, is active), the session itself first."""
    active = [identity for identity, is_active in lineage if is_active]
    return active[-1] if active else None


def _member(kind: type[E], value: object) -> E | None:
    return next((member for member in kind if member == value), None)
