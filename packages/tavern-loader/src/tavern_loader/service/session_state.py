"""The live sessions: inbox, place in the log, memory, and the latest step.

Owns what is known of a session while the host runs it, and when its memory is kept. Messages of one
session come one after another; those of different sessions may come at the same time. Must not know
how a prompt is made or where memories are kept.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field

from tavern_loader.domain import inbox
from tavern_loader.domain.inbox import InboxBounds, PendingInput
from tavern_loader.domain.memory import (
    SessionMemory,
    essence,
    fork_memory,
    memory_from_json,
    memory_to_json,
    new_memory,
)
from tavern_loader.domain.session import SessionFacts, session_facts
from tavern_loader.errors import StoreError
from tavern_loader.ports import JsonObject, SessionMemories

TURN_START = "turn/start"
TURN_END = "turn/end"
STEP_START = "step/start"
REQUEST_CONTEXT = "request/context"
REPLAYED_TYPES = (inbox.SPLICED, TURN_START, TURN_END, STEP_START)
"""Events of the past that a session is rebuilt from."""
EVENT_TYPES = (*REPLAYED_TYPES, REQUEST_CONTEXT)
"""Events that this needs to see."""

_Event = tuple[str, object, int | None]


@define(kw_only=True)
class LiveSession:
    """One session that the host runs."""

    facts: SessionFacts
    memory: SessionMemory
    kept: SessionMemory
    """What was last written, or read."""
    is_keepable: bool = True
    """False: what was written cannot be read, and is not written over."""
    pending: PendingInput
    turn: int = 0
    """The latest turn that began."""
    step: int = 0
    """The latest step of it that began."""
    refused: dict[tuple[str, str], str] = field(factory=dict)
    """Settings of calls that a model does not take: by route and name, the code of the refusal."""
    context_tokens: int | None = None
    """Size of the model's context, as far as the host has said."""
    replayed: list[_Event] = field(factory=list, repr=False)
    """Events of a sync that is not complete yet."""


class SessionStates:
    """All live sessions of one host."""

    def __init__(
        self,
        memories: SessionMemories,
        bounds: InboxBounds | None = None,
        complain: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Keep memories in a store; `bounds` are those of every inbox.

        `complain` is told the code of a memory that cannot be read: its session begins anew.
        """
        self._memories = memories
        self._bounds = bounds or InboxBounds()
        self._complain = complain
        self._live: dict[str, LiveSession] = {}

    def take_in(self, session: JsonObject) -> LiveSession:
        """Take in what a message says about its session.

        Raises ValueError if it names none.
        """
        facts = session_facts(session)
        live = self._live.get(facts.id)
        if live is None:
            live = self._begin(facts)
        live.facts = facts
        return live

    def live(self, session_id: str) -> LiveSession | None:
        """Give a session that the host runs."""
        return self._live.get(session_id)

    def sync(
        self,
        session: JsonObject,
        events: Iterable[JsonObject],
        *,
        is_first: bool = True,
        is_last: bool = True,
        request_context: JsonObject | None = None,
    ) -> LiveSession:
        """Rebuild a session from its own events, which may come in several parts.

        The last part brings the latest `request/context` event of the whole log: the host does not
        repeat what stays the same, be it after a fork or a resume.
        """
        live = self.take_in(session)
        if is_first:
            live.replayed = []
        live.replayed += [_event(event) for event in events]
        if is_last:
            self._replay(live, request_context)
        return live

    def observe(self, session_id: str, event: JsonObject) -> LiveSession | None:
        """Take in an event that the host has just logged.

        None: nothing is known of the session yet. Its sync will bring the event, and who its
        parent is, which an event does not say.
        """
        live = self._live.get(session_id)
        if live is None:
            return None
        event_type, data, seq = _event(event)
        _advance(live, event_type, data)
        live.pending = inbox.observe(live.pending, event_type, data, seq).pending
        if event_type == TURN_END:
            live.pending = inbox.clear_claimed(live.pending)
        return live

    def keep(self, live: LiveSession) -> None:
        """Write a session's memory if it changed. Raises StoreError."""
        if not live.is_keepable or essence(live.memory) == essence(live.kept):
            return
        self._memories.put(live.facts.id, memory_to_json(live.memory))
        live.kept = live.memory

    def end(self, session_id: str) -> LiveSession | None:
        """Forget a session that the host has closed; what is kept of it stays."""
        return self._live.pop(session_id, None)

    def memory(self, session_id: str) -> SessionMemory | None:
        """Give the memory of any session, live or not; None if there is none.

        Raises StoreError if it cannot be read.
        """
        live = self._live.get(session_id)
        if live is not None:
            return live.memory
        found = self._memories.get(session_id)
        return None if found is None else memory_from_json(session_id, found)

    @property
    def all(self) -> Sequence[LiveSession]:
        """List the live sessions."""
        return tuple(self._live.values())

    def _begin(self, facts: SessionFacts) -> LiveSession:
        kept, is_keepable = self._kept(facts.id)
        memory = kept or new_memory(facts.id)
        if kept is None and facts.parent_id and facts.seed_length:
            parent, _ = self._kept(facts.parent_id)
            memory = fork_memory(parent, facts.seed_length) if parent else memory
        live = LiveSession(
            facts=facts,
            memory=memory,
            kept=kept or new_memory(facts.id),
            is_keepable=is_keepable,
            pending=PendingInput(bounds=self._bounds),
        )
        return self._live.setdefault(facts.id, live)

    def _kept(self, session_id: str) -> tuple[SessionMemory | None, bool]:
        """Give a session's memory, and whether it may be written over."""
        try:
            return self.memory(session_id), True
        except StoreError as error:
            self._complain(f"a session's memory is not used: {error.code}")
            return None, False

    def _replay(self, live: LiveSession, request_context: JsonObject | None) -> None:
        empty = PendingInput(bounds=self._bounds)
        live.pending = inbox.replay(empty, live.replayed, is_running=live.facts.is_running)
        live.turn = live.step = 0
        for event_type, data, _ in live.replayed:
            _advance(live, event_type, data)
        live.replayed = []
        if request_context is not None:
            _advance(live, REQUEST_CONTEXT, request_context.get("data"))


def _event(event: JsonObject) -> _Event:
    seq = event.get("seq")
    event_type = event.get("type")
    return (
        event_type if isinstance(event_type, str) else "",
        event.get("data"),
        seq if isinstance(seq, int) else None,
    )


def _advance(live: LiveSession, event_type: str, data: object) -> None:
    """Note where in its turns a session is."""
    facts: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    if event_type == TURN_START:
        live.turn, live.step = _number(facts.get("turn"), live.turn + 1), 0
    elif event_type == STEP_START:
        live.turn = _number(facts.get("turn"), live.turn)
        live.step = _number(facts.get("step"), live.step + 1)
    elif event_type == REQUEST_CONTEXT:
        live.context_tokens = context_window(facts)


def context_window(data: Mapping[str, Any]) -> int | None:
    """Read the size of the model's context from a `request/context` event; None: not said."""
    window = data.get("contextWindow")
    return window if isinstance(window, int) and window > 0 else None


def _number(value: object, other: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else other
