"""A record's life: begun with an assembly, moved on by what the host does next.

Owns the functions that take a record and facts and give a new record. Texts come in as arguments
and leave no trace but hashes and sizes. Time and ids are arguments. Must not know the store, nor
read a history for any purpose but references.

Source: the plugin contract, sections D2 to D4.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from tavern_trace._json import EMPTY, JsonObject, freeze_object
from tavern_trace._tables import Foreign
from tavern_trace.assembly import OfficialAssembly, OwnPart, measure
from tavern_trace.audit_header import HeaderFacts, advance_audit
from tavern_trace.audit_view import CaptureIdentity
from tavern_trace.changes import changed_since
from tavern_trace.codec import FAILED_LAYOUT
from tavern_trace.hashing import digest
from tavern_trace.history import ASSISTANT_ATTEMPT, HistoryEvent, HistorySnapshot
from tavern_trace.redaction import redact
from tavern_trace.reference import (
    SentRequest,
    failure_ref,
    session_ref,
    system_refs,
    with_context_refs,
    with_ranges,
)
from tavern_trace.schema import (
    ContentStatus,
    Delivery,
    Draw,
    Privacy,
    Reference,
    TraceRecord,
)
from tavern_trace.status import MAX_PENDING_SESSIONS, RecordStatus, TraceEvent, next_status


@frozen(kw_only=True)
class Capture:
    """Everything that is known when a request begins."""

    identity: CaptureIdentity
    assembly: OfficialAssembly | None = None
    """None: it was not captured."""
    own_parts: tuple[OwnPart, ...] = ()
    """What we put into the assembly; a section with the name and text of one keeps its sources."""
    audit: JsonObject = field(default=EMPTY, converter=freeze_object, repr=False)
    """Of `new_audit`."""
    selection: JsonObject = field(default=EMPTY, converter=freeze_object, repr=False)
    """What the session had selected: ids and settings."""
    compiler_fingerprint: str | None = None
    draws: tuple[Draw, ...] = ()
    """The matcher's random numbers, in the order of drawing."""
    privacy: Privacy = field(default=Privacy.NORMAL, converter=Privacy)


def next_attempt(records: Iterable[TraceRecord], *, session_id: str, turn: int, step: int) -> int:
    """Give the number of the next attempt at a step: one more than the retained ones have."""
    tried = (
        record.attempt
        for record in records
        if (record.session_id, record.turn, record.step) == (session_id, turn, step)
    )
    return max(tried, default=0) + 1


def begin(capture: Capture, previous: TraceRecord | None = None) -> TraceRecord:
    """Begin the record of a request; `previous` is the session's last one, to tell what changed.

    An assembly whose text nobody can tell is recorded as unavailable, without parts. The previous
    record itself stays as it is: `supersede` it if it is pending.
    """
    identity = capture.identity
    measured = capture.assembly and measure(capture.assembly, capture.own_parts)
    record = TraceRecord(
        id=identity.record_id,
        session_id=identity.session_id,
        turn=identity.turn,
        step=identity.step,
        attempt=identity.attempt,
        recorded_at_ms=identity.at_ms,
        status=RecordStatus.ASSEMBLED,
        content_status=ContentStatus.ASSEMBLY_UNAVAILABLE,
        audit=capture.audit,
        selection=capture.selection,
        compiler_fingerprint=capture.compiler_fingerprint,
        draws=capture.draws,
    )
    if measured:
        record = evolve(
            record,
            content_status=ContentStatus.REFERENCE_ONLY,
            sections=measured.sections,
            contexts=measured.contexts,
            assembly_hash=measured.system_hash,
        )
        if previous is not None and previous.sections:
            record = evolve(record, changes=changed_since(previous, record))
    return redact(record, capture.privacy)


def begin_failed(identity: CaptureIdentity) -> TraceRecord:
    """Record a request that failed before anything was assembled."""
    return TraceRecord(
        id=identity.record_id,
        session_id=identity.session_id,
        turn=identity.turn,
        step=identity.step,
        attempt=identity.attempt,
        recorded_at_ms=identity.at_ms,
        status=RecordStatus.ASSEMBLY_OR_PREPARATION_FAILED,
        content_status=ContentStatus.ASSEMBLY_UNAVAILABLE,
        foreign=Foreign(layout=FAILED_LAYOUT),
    )


# --- what the host does next -----------------------------------------------------------------


def observe_header(
    record: TraceRecord, header: HeaderFacts, *, at_ms: int, profile_text: str = ""
) -> TraceRecord:
    """Align the audit with the request header that the host logged for this request.

    `profile_text` is the compiled system text: it is looked for in the effective one, not kept.
    """
    event = TraceEvent.HEADER_LOGGED
    return _advance(record, event, at_ms=at_ms, header=header, profile_text=profile_text)


def observe_stream(
    record: TraceRecord, request: SentRequest, history: HistorySnapshot | None
) -> TraceRecord:
    """Record a request on its way to the model, with references into the history as it is now.

    The assembly is verified only if exactly one system text of the request is it, whole. Without a
    history nothing is pointed to. A record that is not pending stays as it is. Requests that the
    host makes for a purpose of its own, a session's title, are no requests of a record.
    """
    if not record.status.is_pending:
        return record
    systems = request.system_messages()
    hashes = tuple(digest(message.text) for message in systems)
    index = _verified_index(record, hashes)
    session = session_ref(history)
    refs: tuple[Reference | None, ...] | None = None
    if history is not None and session is not None:
        refs = system_refs(history, systems)
        record = evolve(
            record,
            sections=with_ranges(record.sections, None if index is None else refs[index]),
            contexts=with_context_refs(record.contexts, history, request),
        )
    delivery = Delivery(
        log_cut_seq=history.cut if history and history.cut >= 0 else None,
        session_version=history.format_version if history else None,
        system_hashes=hashes,
        assembly_verified=index is not None,
        system_message_index=index,
        provider=request.provider,
        model=request.model,
        tool_names=request.tool_names,
        history_verified=bool(refs and index is not None and refs[index]),
    )
    return evolve(
        record,
        status=next_status(record.status, TraceEvent.STREAM_STARTED),
        delivery=delivery,
        session_ref=session,
        system_message_refs=refs,
    )


def _verified_index(record: TraceRecord, hashes: Sequence[str]) -> int | None:
    found = [at for at, text_hash in enumerate(hashes) if text_hash == record.assembly_hash]
    known = record.content_status is ContentStatus.REFERENCE_ONLY
    return found[0] if known and len(found) == 1 else None


def note_parameters(record: TraceRecord, parameters: Mapping[str, object]) -> TraceRecord:
    """Note how the settings of the call were fitted to the provider.

    Fields: `requested`, `effective`, `fallbacks` (one for each setting that was withdrawn),
    `attempt`. Texts of resources have no place in them, and are left out when written.
    """
    return redact(evolve(record, parameters=freeze_object(parameters)))


def observe_message(
    record: TraceRecord, *, at_ms: int, header: HeaderFacts | None = None, profile_text: str = ""
) -> TraceRecord:
    """Note that an answer was logged: a request that was not seen stays unconfirmed.

    `header` is the one in force, if the host logged none for this very request.
    """
    event = TraceEvent.MESSAGE_LOGGED
    return _advance(record, event, at_ms=at_ms, header=header, profile_text=profile_text)


def observe_turn_end(
    record: TraceRecord, *, at_ms: int, header: HeaderFacts | None = None, profile_text: str = ""
) -> TraceRecord:
    """Note that the turn ended: a request that was not seen stays unconfirmed."""
    event = TraceEvent.TURN_ENDED
    return _advance(record, event, at_ms=at_ms, header=header, profile_text=profile_text)


def observe_failure(
    record: TraceRecord, history: HistorySnapshot, event: HistoryEvent | None
) -> TraceRecord:
    """Point to the event that says why the request failed; the first one counts.

    No event, one of another turn, or one that says nothing, changes nothing.
    """
    if event is None:
        return record
    same = event.data.get("turn") == record.turn and (
        event.type != ASSISTANT_ATTEMPT or event.data.get("step") == record.step
    )
    if record.failure_ref is not None or not same:
        return record
    return evolve(record, failure_ref=failure_ref(history, event))


def fail(
    record: TraceRecord, *, at_ms: int, header: HeaderFacts | None = None, profile_text: str = ""
) -> TraceRecord:
    """Note that the request failed; one that was seen before stays observed."""
    event = TraceEvent.REQUEST_FAILED
    return _advance(record, event, at_ms=at_ms, header=header, profile_text=profile_text)


def supersede(record: TraceRecord, *, at_ms: int) -> TraceRecord:
    """Note that the next request of the session began."""
    return _advance(record, TraceEvent.SUPERSEDED, at_ms=at_ms)


def unload(record: TraceRecord, *, at_ms: int) -> TraceRecord:
    """Note that the plugin ends and will not see what becomes of the request."""
    return _advance(record, TraceEvent.UNLOADED, at_ms=at_ms)


def supersede_excess(
    pending: Sequence[TraceRecord], *, at_ms: int
) -> tuple[tuple[TraceRecord, ...], tuple[TraceRecord, ...]]:
    """Split pending records, oldest first: those given up, superseded, and those still waiting."""
    excess = max(len(pending) - MAX_PENDING_SESSIONS, 0)
    given_up = tuple(supersede(record, at_ms=at_ms) for record in pending[:excess])
    return given_up, tuple(pending[excess:])


def _advance(
    record: TraceRecord,
    event: TraceEvent,
    *,
    at_ms: int,
    header: HeaderFacts | None = None,
    profile_text: str = "",
) -> TraceRecord:
    audit = record.audit
    if audit:
        audit = advance_audit(audit, event, at_ms=at_ms, header=header, profile_text=profile_text)
    return evolve(record, status=next_status(record.status, event), audit=audit)
