"""What outlives a step of a session: timed effects, variables of the chat, and our call settings.

A checkpoint holds what was in force after a step, with the place of the log at which the step was
assembled. So a fork begins with what held at its cut, and a step that is tried again begins with
what held before it. Of variables, only those are written that are known to hold nothing of an
input: what is written holds no text of the user. Must not know where it is written.
"""

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from tavern_loader.domain.call_settings import (
    NOTHING_APPLIED,
    AppliedSettings,
    applied_from_json,
    applied_to_json,
)
from tavern_matcher import MatchState, state_from_json, state_to_json

SCHEMA_VERSION = 1
MAX_CHECKPOINTS = 256
"""Older ones are forgotten: a fork from before them begins with no effects and no variables."""
_FORKED_STEP = (0, 0)
"""Turn and step of a checkpoint that was taken over: no step of the session itself."""


@frozen(kw_only=True)
class Checkpoint:
    """What is in force after a step."""

    seq: int = -1
    """Number of the next event when the step was assembled; -1: from the beginning."""
    turn: int = 0
    step: int = 0
    length_messages: int = 0
    """The clock of timed effects at that step."""
    unseen_messages: int = 0
    """Messages that the clock counts and the host's history has no more: a compaction took them."""
    timed: MatchState = field(factory=MatchState)
    variables: Mapping[str, object] = field(factory=dict, repr=False)
    """Of the chat."""
    public: frozenset[str] = frozenset()
    """Names of variables that are known to hold nothing of an input: only they are written."""

    @property
    def private(self) -> frozenset[str]:
        """Names of variables that may hold something of an input."""
        return frozenset(self.variables) - self.public

    def says_the_same(self, other: "Checkpoint") -> bool:
        """Whether nothing that outlives a step differs."""
        return (self.timed, self.variables, self.unseen_messages) == (
            other.timed,
            other.variables,
            other.unseen_messages,
        )


START = Checkpoint()


@frozen(kw_only=True)
class SessionMemory:
    """What is kept of one session."""

    chat_id: str = ""
    """The session that all its forks go back to."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """Oldest first; of a run of equal ones the first and the last."""
    applied: AppliedSettings = NOTHING_APPLIED


def essence(memory: SessionMemory) -> tuple[object, ...]:
    """Give what of a memory is worth keeping: two with an equal one need not both be written."""
    before, distinct = START, []
    for one in memory.checkpoints:
        if not one.says_the_same(before):
            distinct.append((one.seq, one.timed, one.variables, one.unseen_messages, one.public))
        before = one
    return memory.chat_id, memory.applied, distinct


def new_memory(session_id: str) -> SessionMemory:
    """Begin the memory of a session without a history."""
    return SessionMemory(chat_id=session_id)


def fork_memory(parent: SessionMemory, seed_length: int) -> SessionMemory:
    """Begin the memory of a fork, which has the first `seed_length` events of its parent."""
    within = [one for one in parent.checkpoints if one.seq < seed_length]
    turn, step = _FORKED_STEP
    taken = (evolve(within[-1], seq=-1, turn=turn, step=step),) if within else ()
    return SessionMemory(chat_id=parent.chat_id, checkpoints=taken)


def before_step(memory: SessionMemory, seq: int, turn: int, step: int) -> Checkpoint:
    """Give what a step begins with: what the latest step left that is not this one itself."""
    found = (
        one
        for one in reversed(memory.checkpoints)
        if one.seq < seq and ((one.turn, one.step) != (turn, step) or one.seq < 0)
    )
    return next(found, START)


def after_step(memory: SessionMemory, done: Checkpoint) -> SessionMemory:
    """Keep what a step left; of a step that was tried again only the last time counts."""
    base = before_step(memory, done.seq, done.turn, done.step)
    kept = [one for one in memory.checkpoints if one.seq <= base.seq]
    # Of a run of equal ones, the first says from when on it holds, the last where the clock is.
    while len(kept) > 1 and all(done.says_the_same(one) for one in kept[-2:]):
        kept.pop()
    return evolve(memory, checkpoints=(*kept, done)[-MAX_CHECKPOINTS:])


def clock(base: Checkpoint, counted_messages: int) -> tuple[int, int]:
    """Give the clock of timed effects, and how many of its messages the history has no more.

    A compaction makes a history shorter. The chat has not become shorter: it goes on by one
    message at that moment, and then as the history grows.
    """
    length = counted_messages + base.unseen_messages
    if length < base.length_messages:
        length = base.length_messages + 1
    return length, length - counted_messages


# --- JSON ------------------------------------------------------------------------------------


def memory_to_json(memory: SessionMemory) -> dict[str, Any]:
    """Write a memory."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "chatId": memory.chat_id,
        "checkpoints": [_checkpoint_to_json(one) for one in memory.checkpoints],
        "callSettings": applied_to_json(memory.applied),
    }


def _checkpoint_to_json(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "seq": checkpoint.seq,
        "turn": checkpoint.turn,
        "step": checkpoint.step,
        "lengthMessages": checkpoint.length_messages,
        "unseenMessages": checkpoint.unseen_messages,
        "timedWorldInfo": state_to_json(checkpoint.timed),
        "variables": {
            name: value for name, value in checkpoint.variables.items() if name in checkpoint.public
        },
    }


def memory_from_json(session_id: str, value: Mapping[str, Any]) -> SessionMemory:
    """Read a memory; what is not understood of it is left out."""
    chat_id, listed = value.get("chatId"), value.get("checkpoints")
    rows = listed if isinstance(listed, list) else []
    checkpoints = [_checkpoint(row) for row in rows if isinstance(row, Mapping)]
    return SessionMemory(
        chat_id=chat_id if isinstance(chat_id, str) and chat_id else session_id,
        checkpoints=tuple(sorted(checkpoints, key=lambda one: one.seq)),
        applied=applied_from_json(value.get("callSettings")),
    )


def _checkpoint(row: Mapping[str, Any]) -> Checkpoint:
    found = row.get("variables")
    variables = dict(found) if isinstance(found, Mapping) else {}
    return Checkpoint(
        seq=_whole(row.get("seq"), START.seq),
        turn=_whole(row.get("turn")),
        step=_whole(row.get("step")),
        length_messages=_whole(row.get("lengthMessages")),
        unseen_messages=_whole(row.get("unseenMessages")),
        timed=state_from_json(row.get("timedWorldInfo")),
        variables=variables,
        public=frozenset(variables),
    )


def _whole(value: object, other: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else other
