"""Following one reference into a history: the text it points to, or the fault.

Owns the order of the checks for each kind of reference. Every text is hashed before it is given
out. Must not know records.

Source: the plugin contract, section D6 ("Part-level").
"""

from collections.abc import Callable, Mapping

from attrs import field, frozen

from tavern_trace._json import as_text
from tavern_trace.fault import Found, ReferenceFault
from tavern_trace.hashing import digest
from tavern_trace.history import (
    REQUEST_HEADER,
    SYSTEM_MESSAGE,
    USER_MESSAGE,
    HistoryEvent,
    HistorySnapshot,
    context_sections,
    is_context_snapshot,
    message_hash,
    message_text,
)
from tavern_trace.reference import HEADER_TEXT_FORMATS
from tavern_trace.schema import Reference, ReferenceKind, SessionRef, Utf16Range

Read = Callable[[Reference | None, str | None], Found]
"""Follows a reference to a text of a hash; without one the reference's own hash must do."""


@frozen
class _Body:
    """The text of an event, hashed once."""

    text: str | None
    text_hash: str | None
    message_hash: str | None
    units: bytes = field(repr=False)
    """UTF-16, to cut ranges from."""


def reader(session: SessionRef, history: HistorySnapshot) -> Read:
    """Make the function that follows references into one history up to the session's cut."""
    events = {event.seq: event for event in history.events}
    bodies: dict[int, _Body] = {}

    def read(reference: Reference | None, wanted_hash: str | None) -> Found:
        if reference is None:
            return Found(fault=ReferenceFault.UNVERIFIED)
        event = events.get(reference.event_seq)
        inside = 0 <= reference.event_seq <= session.log_cut_seq
        if event is None or not inside or event.type != reference.event_type:
            return Found(fault=ReferenceFault.EVENT_UNAVAILABLE)
        if event.seq not in bodies:
            bodies[event.seq] = _body(event)
        found = _KINDS.get(reference.kind, _unknown)(reference, event, bodies[event.seq], session)
        return _piece(found, reference, bodies[event.seq], wanted_hash)

    return read


def _body(event: HistoryEvent) -> _Body:
    message = event.message
    text = event.header_system if message is None else message_text(message)
    return _Body(
        text,
        None if text is None else digest(text),
        None if message is None else message_hash(message),
        b"" if text is None else text.encode("utf-16-le", "surrogatepass"),
    )


def _piece(found: Found, reference: Reference, body: _Body, wanted_hash: str | None) -> Found:
    """Cut the range out of a text and hash it."""
    if found.text is None:
        return found
    text: str | None = found.text
    if reference.range is not None:
        same = found.text is body.text
        units = body.units if same else found.text.encode("utf-16-le", "surrogatepass")
        text = _cut(units, reference.range)
    if text is None:
        return Found(fault=ReferenceFault.RANGE_MISMATCH)
    if wanted_hash is not None and digest(text) != wanted_hash:
        return Found(fault=ReferenceFault.HASH_MISMATCH)
    return Found(text=text)


def _cut(units: bytes, wanted: Utf16Range) -> str | None:
    start, end = 2 * wanted.start_utf16, 2 * wanted.end_utf16
    if not 0 <= start <= end <= len(units):
        return None
    return units[start:end].decode("utf-16-le", "surrogatepass")


def _header_text(
    reference: Reference, event: HistoryEvent, body: _Body, session: SessionRef
) -> Found:
    if event.type != REQUEST_HEADER or session.format_version not in HEADER_TEXT_FORMATS:
        return Found(fault=ReferenceFault.IDENTITY_MISMATCH)
    if body.text is None:
        return Found(fault=ReferenceFault.EVENT_UNAVAILABLE)
    return _hashed(body, reference)


def _system_text(reference: Reference, event: HistoryEvent, body: _Body, _: SessionRef) -> Found:
    fault = _message_fault(reference, event, body)
    if fault is None and event.type != SYSTEM_MESSAGE:
        fault = ReferenceFault.IDENTITY_MISMATCH
    return Found(fault=fault) if fault else _hashed(body, reference)


def _context_text(reference: Reference, event: HistoryEvent, body: _Body, _: SessionRef) -> Found:
    fault = _message_fault(reference, event, body)
    message = event.message or {}
    if fault is None and not (event.type == USER_MESSAGE and is_context_snapshot(message)):
        fault = ReferenceFault.IDENTITY_MISMATCH
    if fault is None and body.text_hash != reference.text_hash:
        fault = ReferenceFault.HASH_MISMATCH
    if fault is not None:
        return Found(fault=fault)
    sections = dict(enumerate(context_sections(message)))
    section = sections.get(-1 if (at := reference.source_section_index) is None else at)
    if section is None or section.get("name") != reference.source_section_name:
        return Found(fault=ReferenceFault.IDENTITY_MISMATCH)
    text = as_text(section.get("text"))
    return Found(fault=ReferenceFault.EVENT_UNAVAILABLE) if text is None else Found(text=text)


def _unknown(_: Reference, __: HistoryEvent, ___: _Body, ____: SessionRef) -> Found:
    return Found(fault=ReferenceFault.IDENTITY_MISMATCH)


def _message_fault(reference: Reference, event: HistoryEvent, body: _Body) -> ReferenceFault | None:
    message = event.message
    if message is None or message.get("id") != reference.message_id:
        return ReferenceFault.IDENTITY_MISMATCH
    return None if body.message_hash == reference.message_hash else ReferenceFault.HASH_MISMATCH


def _hashed(body: _Body, reference: Reference) -> Found:
    if body.text_hash != reference.text_hash:
        return Found(fault=ReferenceFault.HASH_MISMATCH)
    return Found(text=body.text)


_KINDS: Mapping[str, Callable[[Reference, HistoryEvent, _Body, SessionRef], Found]] = {
    ReferenceKind.REQUEST_HEADER_SYSTEM.value: _header_text,
    ReferenceKind.SYSTEM_MESSAGE.value: _system_text,
    ReferenceKind.CONTEXT_SECTION.value: _context_text,
}
