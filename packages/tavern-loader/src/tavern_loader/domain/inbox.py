"""What the user has sent and no step has answered: the host's inbox, mirrored from its events.

Owns the two queues, the batch that was claimed for the step to come, and their bounds. An event
names removed messages by place only, so the queues are kept; all of it lives in memory. Must not
know sessions, history or where events come from.

Source: the plugin contract, section C.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from attrs import evolve, field, frozen

from tavern_loader.domain.history import Speaker, id_of, speaker_of, text_of
from tavern_loader.domain.utf16 import size_utf16, tail_utf16

SPLICED = "agent/inbox/spliced"
"""Type of the events that edit the inbox."""
MAX_CLAIM_SEQS = 4
MAX_SAFE_INTEGER = 2**53 - 1
"""JavaScript's Number.MAX_SAFE_INTEGER."""
_BEGINS_ANSWER = frozenset({"step/start", "turn/end"})
"""After these, what was claimed before is history, or lost."""


class InboxProfile(StrEnum):
    """Whose rules hold where text is cut and counted."""

    SAFE = "safe"
    """Characters stay whole; a message without a text counts as read."""
    DSH_TAVERN = "dsh-tavern"
    """As the JavaScript plugin: bounds may cut a character, and a message without a text makes a
    scan `truncated`."""


# --- bounds ----------------------------------------------------------------------------------

_LIMITS: Mapping[str, tuple[str, int, int]] = {
    "scan_utf16": ("maxScanCharacters", 65_536, 1_048_576),
    "scan_messages": ("maxScanMessages", 128, 1024),
    "queued_utf16": ("maxQueuedCharacters", 262_144, 1_048_576),
    "queued_messages": ("maxQueuedMessages", 256, 1024),
}
"""Our name: the option's, the default, and what no option can exceed."""


@frozen(kw_only=True)
class InboxBounds:
    """How much is kept and how much is scanned."""

    scan_utf16: int = _LIMITS["scan_utf16"][1]
    """UTF-16 units of one scan, separators included."""
    scan_messages: int = _LIMITS["scan_messages"][1]
    queued_utf16: int = _LIMITS["queued_utf16"][1]
    """UTF-16 units over both queues."""
    queued_messages: int = _LIMITS["queued_messages"][1]
    """In one queue."""


def bounds_from_options(options: Mapping[str, Any]) -> InboxBounds:
    """Read bounds from options; what is no positive whole number is the default."""
    return InboxBounds(
        **{
            name: min(_whole(options.get(option), least=1) or default, most)
            for name, (option, default, most) in _LIMITS.items()
        }
    )


def _whole(value: object, least: int = 0) -> int | None:
    """Take what JavaScript calls a safe integer."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value) if least <= value <= MAX_SAFE_INTEGER else None


# --- the mirrored inbox ----------------------------------------------------------------------


@frozen(kw_only=True)
class PendingMessage:
    """One message that waits, or was claimed."""

    id: str | None
    speaker: Speaker
    text: str = field(repr=False)
    """Empty for what is no conversation and for messages of other blocks."""
    is_truncated: bool = False
    """Only its end was kept."""


@frozen(kw_only=True)
class Queue:
    """One of the host's two queues."""

    items: tuple[PendingMessage, ...] = ()
    omitted: int = 0
    """Further messages at its end that are not kept."""

    def __len__(self) -> int:
        """Count all messages, kept or not."""
        return len(self.items) + self.omitted


@frozen(kw_only=True)
class PendingInput:
    """The inbox of one session."""

    bounds: InboxBounds = field(factory=InboxBounds)
    profile: InboxProfile = InboxProfile.SAFE
    queues: Mapping[str, Queue] = field(
        factory=lambda: {"next-turn": Queue(), "next-step": Queue()}, repr=False
    )
    claimed: tuple[PendingMessage, ...] = field(default=(), repr=False)
    """Taken out of the queues for a step, oldest first."""
    claimed_omitted: int = 0
    """Messages that were taken out, too, and are not kept."""
    claim_event_seqs: tuple[int, ...] = ()
    """Numbers of the latest claims, at most four."""
    invalid_events: int = 0


class Observed(NamedTuple):
    """The inbox after an event."""

    pending: PendingInput
    accepted: bool
    """False: the event is none of ours, or does not fit the queue and changed nothing."""


class _Splice(NamedTuple):
    target: str
    start: int
    removed: int
    inserted: Sequence[Any]
    is_cancelled: bool


def observe(
    pending: PendingInput,
    event_type: str,
    data: object,
    seq: int | None = None,
    *,
    captures: bool = True,
) -> Observed:
    """Take in one event of the session.

    Messages that are only removed, and not cancelled, are claimed: the step to come answers them.
    Without `captures` they are removed and forgotten.
    """
    if event_type != SPLICED or not isinstance(data, Mapping):
        return Observed(pending, accepted=False)
    splice = _read(pending, data)
    if splice is None:
        counted = evolve(pending, invalid_events=pending.invalid_events + 1)
        return Observed(counted, accepted=False)
    after, taken, omitted = _spliced(pending, splice)
    is_claim = splice.removed and not splice.inserted and not splice.is_cancelled
    if captures and is_claim:
        after = _claim(after, taken, omitted, seq)
    return Observed(after, accepted=True)


def clear_claimed(pending: PendingInput) -> PendingInput:
    """Forget the claimed batch: a scan has read it, or the turn is over."""
    return evolve(pending, claimed=(), claimed_omitted=0, claim_event_seqs=())


def reclaim(pending: PendingInput, earlier: PendingInput) -> PendingInput:
    """Put back a batch that was read for a step that is now prepared again.

    `earlier` is the inbox as it was when it was read.
    """
    both = (*earlier.claimed, *pending.claimed)
    first = _first_kept(pending, both)
    seqs = (*earlier.claim_event_seqs, *pending.claim_event_seqs)
    return evolve(
        pending,
        claimed=both[first:],
        claimed_omitted=earlier.claimed_omitted + pending.claimed_omitted + first,
        claim_event_seqs=seqs[-MAX_CLAIM_SEQS:],
    )


def replay(
    empty: PendingInput, events: Iterable[tuple[str, object, int | None]], *, is_running: bool
) -> PendingInput:
    """Rebuild an inbox from the session's own events: (type, data, number), oldest first.

    Claims of the past stay unread. Of a session in the middle of a turn, those are kept that no
    step has begun with yet: their step is still being prepared.
    """
    pending = empty
    for event_type, data, seq in events:
        if event_type in _BEGINS_ANSWER:
            pending = clear_claimed(pending)
        pending = observe(pending, event_type, data, seq, captures=is_running).pending
    return pending


# --- one edit --------------------------------------------------------------------------------


def _read(pending: PendingInput, data: Mapping[str, Any]) -> _Splice | None:
    """Check an edit; None if it does not fit the queue."""
    target, start = data.get("target"), _whole(data.get("start"))
    removed = _whole(data.get("removedCount", 0))
    inserted, outcome = data.get("inserted"), data.get("outcome")
    queue = pending.queues.get(target) if isinstance(target, str) else None
    fits = (
        queue is not None
        and start is not None
        and removed is not None
        and start + removed <= len(queue)
        and isinstance(inserted, list | tuple)
        and outcome in (None, "canceled")
    )
    if not fits:
        return None
    return _Splice(str(target), start or 0, removed or 0, inserted or (), outcome == "canceled")


def _spliced(
    pending: PendingInput, splice: _Splice
) -> tuple[PendingInput, tuple[PendingMessage, ...], int]:
    """Edit a queue; also give what was removed from it: messages, and how many were not kept."""
    queue = pending.queues[splice.target]
    end = splice.start + splice.removed
    taken = queue.items[splice.start : end]
    lost = splice.removed - len(taken)
    kept = Queue(
        items=(*queue.items[: splice.start], *queue.items[end:]), omitted=queue.omitted - lost
    )
    without = evolve(pending, queues={**pending.queues, splice.target: kept})
    if not splice.inserted:
        return without, taken, lost
    if splice.start > len(kept.items):
        filled = evolve(kept, omitted=kept.omitted + len(splice.inserted))
    else:
        fresh = _materialised(without, splice.inserted)
        items = (*kept.items[: splice.start], *fresh, *kept.items[splice.start :])
        excess = max(len(items) - pending.bounds.queued_messages, 0)
        filled = Queue(items=items[: len(items) - excess], omitted=kept.omitted + excess)
    return evolve(pending, queues={**pending.queues, splice.target: filled}), taken, lost


def _materialised(pending: PendingInput, inserted: Sequence[Any]) -> tuple[PendingMessage, ...]:
    """Keep messages, of each only as much of its end as there is room for."""
    room = pending.bounds.queued_utf16 - sum(
        size_utf16(item.text) for queue in pending.queues.values() for item in queue.items
    )
    made = []
    for value in inserted:
        message = value if isinstance(value, Mapping) else {}
        speaker = speaker_of(message)
        whole = text_of(message) if speaker else ""
        text = _tail(pending, whole, room)
        room -= size_utf16(text)
        made.append(
            PendingMessage(
                id=id_of(message),
                speaker=speaker or Speaker.USER,
                text=text,
                is_truncated=text != whole,
            )
        )
    return tuple(made)


def _tail(pending: PendingInput, text: str, limit_utf16: int) -> str:
    splits = pending.profile is InboxProfile.DSH_TAVERN
    return tail_utf16(text, limit_utf16, splits=splits)


def _claim(
    pending: PendingInput, taken: tuple[PendingMessage, ...], omitted: int, seq: int | None
) -> PendingInput:
    """Add to the claimed batch; of a long one the latest messages are kept."""
    batch = (*pending.claimed, *taken)
    first = _first_kept(pending, batch)
    seqs = pending.claim_event_seqs if seq is None else (*pending.claim_event_seqs, seq)
    return evolve(
        pending,
        claimed=batch[first:],
        claimed_omitted=pending.claimed_omitted + omitted + first,
        claim_event_seqs=seqs[-MAX_CLAIM_SEQS:],
    )


def _first_kept(pending: PendingInput, batch: Sequence[PendingMessage]) -> int:
    """Find from where on a batch is within the bounds."""
    counts_all = pending.profile is InboxProfile.DSH_TAVERN
    messages, units = pending.bounds.scan_messages, pending.bounds.queued_utf16
    for place in range(len(batch) - 1, -1, -1):
        messages -= counts_all or bool(batch[place].text)
        units -= size_utf16(batch[place].text)
        if messages < 0 or units < 0:
            return place + 1
    return 0
