"""Pointing from a request to the texts in the host's history, as far as they are proven.

Owns the rules of capture: a reference is made only where exactly one event of the history holds
the same content. What a history has decides which kind it is, not a version. Must not know when
this happens (`record`) or how references are followed (`verify`).

Source: the plugin contract, section D3.
"""

from collections.abc import Sequence

from attrs import evolve, field, frozen

from tavern_trace._json import Json, as_array, as_object, as_text, freeze
from tavern_trace.hashing import digest
from tavern_trace.history import (
    ASSISTANT_ATTEMPT,
    REQUEST_HEADER,
    SYSTEM_MESSAGE,
    TURN_END,
    USER_MESSAGE,
    HistoryEvent,
    HistorySnapshot,
    context_sections,
    is_context_snapshot,
    message_hash,
    message_text,
)
from tavern_trace.schema import FailureRef, Part, Reference, ReferenceKind, SessionRef, Utf16Range

KNOWN_FORMATS = frozenset(range(5))
"""Formats of session logs whose events were looked at; of others nothing is claimed."""
HEADER_TEXT_FORMATS = frozenset(range(3))
"""Formats in which a request header may be the home of the system text."""


@frozen(kw_only=True)
class SentMessage:
    """One message of a request."""

    role: str
    id: str | None = None
    content: Json = field(default=(), repr=False, converter=freeze)
    """Its blocks, as sent."""

    @property
    def text(self) -> str:
        """The text blocks, joined without anything between them."""
        return message_text({"content": self.content})


@frozen(kw_only=True)
class SentRequest:
    """A request on its way to the model."""

    provider: str | None = None
    model: str | None = None
    tool_names: tuple[str, ...] = ()
    system: str | None = field(default=None, repr=False)
    """Where the host passes the system text by itself; None: it is among the messages."""
    messages: tuple[SentMessage, ...] = ()
    """All of the request: a context is pointed to only if the request carries its message."""

    def system_messages(self) -> tuple[SentMessage, ...]:
        """Give the system texts of the request as messages."""
        if self.system is not None:
            block: Json = {"type": "text", "text": self.system}
            return (SentMessage(role="system", content=(block,)),)
        return tuple(message for message in self.messages if message.role == "system")


@frozen(kw_only=True)
class Failure:
    """What a host says about a failed request. Never part of a record."""

    code: str | None
    message: str | None = field(repr=False)


def session_ref(history: HistorySnapshot | None) -> SessionRef | None:
    """Point to a session at its present end; None if nothing can be claimed about it."""
    if history is None or history.cut < 0 or history.created_at is None:
        return None
    if history.format_version not in KNOWN_FORMATS:
        return None
    return SessionRef(
        session_id=history.session_id,
        format_version=history.format_version,
        created_at=history.created_at,
        log_cut_seq=history.cut,
    )


def system_refs(
    history: HistorySnapshot, messages: Sequence[SentMessage]
) -> tuple[Reference | None, ...]:
    """Point to each system text of a request; None where the history does not prove it."""
    return tuple(_message_ref(history, one) or _header_ref(history, one) for one in messages)


def _message_ref(history: HistorySnapshot, message: SentMessage) -> Reference | None:
    """Point to the one system message on the surface that has the same content."""
    wanted = digest(message.content)
    found = [
        event
        for event in history.surface_events()
        if event.type == SYSTEM_MESSAGE and _is_same(event, message.id, wanted)
    ]
    return _to_message(found[0], ReferenceKind.SYSTEM_MESSAGE) if len(found) == 1 else None


def _is_same(event: HistoryEvent, wanted_id: str | None, wanted_hash: str) -> bool:
    message = event.message or {}
    same_id = wanted_id is None or message.get("id") == wanted_id
    return same_id and message_hash(message) == wanted_hash


def _to_message(event: HistoryEvent, kind: ReferenceKind) -> Reference | None:
    message = event.message or {}
    identity = as_text(message.get("id"))
    if not identity:
        return None
    return Reference(
        kind=kind.value,
        event_seq=event.seq,
        event_type=event.type,
        message_id=identity,
        message_hash=message_hash(message),
        text_hash=digest(message_text(message)),
    )


def _header_ref(history: HistorySnapshot, message: SentMessage) -> Reference | None:
    """Point to the latest request header, if it holds the very text."""
    event = history.latest(REQUEST_HEADER)
    if event is None or history.format_version not in HEADER_TEXT_FORMATS:
        return None
    text = event.header_system
    if text is None or text != message.text:
        return None
    return Reference(
        kind=ReferenceKind.REQUEST_HEADER_SYSTEM.value,
        event_seq=event.seq,
        event_type=event.type,
        text_hash=digest(text),
    )


def with_ranges(sections: Sequence[Part], reference: Reference | None) -> tuple[Part, ...]:
    """Point each section to its piece of the system text."""
    if reference is None:
        return tuple(sections)
    return tuple(evolve(part, reference=evolve(reference, range=_range(part))) for part in sections)


def _range(part: Part) -> Utf16Range:
    start = part.offset_utf16 or 0
    return Utf16Range(start_utf16=start, end_utf16=start + part.utf16)


def with_context_refs(
    contexts: Sequence[Part], history: HistorySnapshot, request: SentRequest
) -> tuple[Part, ...]:
    """Point each context to its named section of the snapshot that the request carries."""
    shown = [
        event
        for event in history.surface_events()
        if event.type == USER_MESSAGE and is_context_snapshot(event.data)
    ]
    reference = _snapshot_ref(shown[-1], request) if shown else None
    if reference is None:
        return tuple(contexts)
    named = context_sections(shown[-1].data)
    hashes = [(item.get("name"), digest(as_text(item.get("text")) or "")) for item in named]
    found = [_only(hashes, (part.name, part.text_hash)) for part in contexts]
    return tuple(
        part
        if index is None
        else evolve(
            part,
            reference=evolve(reference, source_section_index=index, source_section_name=part.name),
        )
        for part, index in zip(contexts, found, strict=True)
    )


def _only(hashes: Sequence[tuple[Json, str]], wanted: tuple[str, str]) -> int | None:
    places = [place for place, found in enumerate(hashes) if found == wanted]
    return places[0] if len(places) == 1 else None


def _snapshot_ref(event: HistoryEvent, request: SentRequest) -> Reference | None:
    """Point to a context snapshot, if exactly one message of the request is it."""
    wanted, identity = message_hash(event.data), event.data.get("id")
    sent = [
        message
        for message in request.messages
        if message.role == "user"
        and message.id in (None, identity)
        and digest(message.content) == wanted
    ]
    return _to_message(event, ReferenceKind.CONTEXT_SECTION) if len(sent) == 1 else None


# --- failures --------------------------------------------------------------------------------


def failure_of(event: HistoryEvent) -> Failure | None:
    """Read what an event says about a failed request; None if it says nothing."""
    value = as_object(_failure_value(event))
    code, message = as_text(value.get("code")), as_text(value.get("message"))
    return None if code is None and message is None else Failure(code=code, message=message)


def _failure_value(event: HistoryEvent) -> Json:
    if event.type == TURN_END:
        reason = as_object(event.data.get("reason"))
        return reason.get("error") if reason.get("kind") == "error" else None
    if event.type == ASSISTANT_ATTEMPT:
        rows = (as_object(row) for row in as_array(event.data.get("stream")))
        chunks = [as_object(row.get("chunk")) for row in rows if row.get("type") == "chunk"]
        ends = [chunk for chunk in chunks if chunk.get("type") == "finish"]
        reason = as_object(ends[-1].get("reason")) if ends else {}
        return reason.get("failure") if reason.get("kind") in ("error", "aborted") else None
    return None


def failure_ref(history: HistorySnapshot, event: HistoryEvent) -> FailureRef | None:
    """Point to the event that says why a request failed; None if it does not, or is not there."""
    session = session_ref(history)
    if session is None or not 0 <= event.seq <= history.cut or failure_of(event) is None:
        return None
    return FailureRef(
        event_seq=event.seq,
        event_type=event.type,
        event_hash=digest(event.data),
        session=evolve(session, log_cut_seq=event.seq),
    )
