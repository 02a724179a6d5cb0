"""What one scan reads: the conversation and, behind it, the batch that was claimed for the step.

Owns the joining, the removal of messages that are in the history already, and the bounds. Must not
know world books.

Source: the plugin contract, section C.
"""

from collections.abc import Sequence
from enum import StrEnum

from attrs import evolve, field, frozen

from tavern_loader.domain.history import History, Speaker
from tavern_loader.domain.inbox import (
    InboxBounds,
    InboxProfile,
    PendingInput,
    PendingMessage,
    clear_claimed,
)
from tavern_loader.domain.utf16 import size_utf16, tail_utf16

SEPARATOR = "\n"
KIND = "durable-plus-pending-input"


class MessageOrigin(StrEnum):
    """Where a scanned message is."""

    DURABLE = "durable"
    """In the session's history."""
    PENDING = "pending"
    """In memory only: the step to come brings it into the history."""


@frozen(kw_only=True)
class ActivationMessage:
    """One message of a scan."""

    id: str | None
    speaker: Speaker
    text: str = field(repr=False)
    origin: MessageOrigin
    is_truncated: bool = False
    """Only its end is here."""


@frozen(kw_only=True)
class ActivationContext:
    """Everything a scan reads, and what of it was left out."""

    messages: tuple[ActivationMessage, ...] = ()
    """Oldest first."""
    durable_messages: int = 0
    """Messages of the conversation, read or not."""
    pending_messages: int = 0
    """Messages of the batch, those not kept included, without duplicates."""
    duplicate_messages: int = 0
    """Messages of the batch that are in the history already."""
    length_messages: int = 0
    """Length of the conversation with the batch: messages with a text, read or not."""
    input_utf16: int = 0
    """Units of all texts at hand, with separators."""
    is_truncated: bool = False
    claim_event_seqs: tuple[int, ...] = ()
    invalid_events: int = 0

    @property
    def text(self) -> str:
        """All texts, with a line break between two."""
        return SEPARATOR.join(message.text for message in self.messages)

    @property
    def pending(self) -> tuple[ActivationMessage, ...]:
        """The messages that are in no history yet."""
        return tuple(one for one in self.messages if one.origin is MessageOrigin.PENDING)

    def metadata(self) -> dict[str, object]:
        """Write what a trace says about a scan: counts, no text."""
        return {
            "kind": KIND,
            "durableMessageCount": self.durable_messages,
            "pendingMessageCount": self.pending_messages,
            "includedPendingMessageCount": len(self.pending),
            "duplicatePendingMessageCount": self.duplicate_messages,
            "scannedMessageCount": len(self.messages),
            "scannedCharacters": size_utf16(self.text),
            "inputCharacters": self.input_utf16,
            "truncated": self.is_truncated,
            "claimEventSeqs": list(self.claim_event_seqs),
            "invalidEventCount": self.invalid_events,
        }


def activate(history: History, pending: PendingInput) -> tuple[ActivationContext, PendingInput]:
    """Join history and claimed batch; also give the inbox without the batch: it is read once."""
    durable = [_durable(one.id, one.speaker, one.text) for one in history.messages if one.text]
    known = {one.id for one in history.messages if one.id is not None}
    fresh = [one for one in pending.claimed if one.id not in known]
    claimed = [_pending(one) for one in fresh if one.text]
    all_messages = (*durable, *claimed)
    kept, is_cut = _bounded(all_messages, pending.bounds, pending.profile)
    unread = len(fresh) if pending.profile is InboxProfile.DSH_TAVERN else len(claimed)
    expected = len(durable) + unread + history.earlier + pending.claimed_omitted
    context = ActivationContext(
        messages=kept,
        durable_messages=len(durable) + history.earlier,
        pending_messages=len(fresh) + pending.claimed_omitted,
        duplicate_messages=len(pending.claimed) - len(fresh),
        length_messages=len(all_messages) + history.earlier + pending.claimed_omitted,
        input_utf16=_size(all_messages),
        is_truncated=is_cut or len(kept) < expected,
        claim_event_seqs=pending.claim_event_seqs,
        invalid_events=pending.invalid_events,
    )
    return context, clear_claimed(pending)


def _durable(identity: str | None, speaker: Speaker, text: str) -> ActivationMessage:
    return ActivationMessage(id=identity, speaker=speaker, text=text, origin=MessageOrigin.DURABLE)


def _pending(message: PendingMessage) -> ActivationMessage:
    return ActivationMessage(
        id=message.id,
        speaker=message.speaker,
        text=message.text,
        origin=MessageOrigin.PENDING,
        is_truncated=message.is_truncated,
    )


def _size(messages: Sequence[ActivationMessage]) -> int:
    texts = sum(size_utf16(message.text) for message in messages)
    return texts + max(len(messages) - 1, 0) * len(SEPARATOR)


def _bounded(
    messages: Sequence[ActivationMessage], bounds: InboxBounds, profile: InboxProfile
) -> tuple[tuple[ActivationMessage, ...], bool]:
    """Keep the latest messages, and of the oldest of them the end that has room.

    Also tell whether a text is not whole. A separator needs room, too.
    """
    room = bounds.scan_utf16
    kept: list[ActivationMessage] = []
    for message in reversed(messages[-bounds.scan_messages :]):
        room -= len(SEPARATOR) * bool(kept)
        splits = profile is InboxProfile.DSH_TAVERN
        text = tail_utf16(message.text, room, splits=splits)
        if not text:
            break
        room -= size_utf16(text)
        is_cut = text != message.text
        kept.append(evolve(message, text=text, is_truncated=message.is_truncated or is_cut))
    return tuple(reversed(kept)), any(message.is_truncated for message in kept)
