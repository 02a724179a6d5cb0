"""Verifying a record against a history: the recovered texts, or the precise reason.

Owns what holds of a record as a whole. It never puts texts together again, never looks at present
resources, and says `available` of nothing that it has not hashed. Must not know how a result is
shown (`api`) or where the history comes from.

Source: the plugin contract, sections D5 and D6.
"""

from collections.abc import Callable, Iterable

from attrs import field, frozen

from tavern_trace.fault import HISTORY_FAULTS, Found, History, ReferenceFault
from tavern_trace.following import Read, reader
from tavern_trace.history import HistorySnapshot
from tavern_trace.reference import Failure
from tavern_trace.schema import ContentStatus, Part, SessionRef, TraceRecord
from tavern_trace.verify_failure import failure_status, verify_failure


@frozen(kw_only=True)
class Verification:
    """What a history proves of a record."""

    content_status: ContentStatus
    fault: ReferenceFault | None = None
    """Of the record as a whole; then every part has it, too."""
    sections: tuple[Found, ...] = ()
    """One for each section of the record."""
    contexts: tuple[Found, ...] = ()
    system_messages: tuple[str, ...] | None = field(default=None, repr=False)
    """The system texts of the request; None unless all of them were found."""
    request_content_status: ContentStatus | None = None
    """`reference-unavailable` if there were system texts and not all of them were found."""
    failure_status: ContentStatus | None = None
    """None: the record points to no failure."""
    failure: Failure | None = None
    failure_fault: ReferenceFault | None = None


def verify(record: TraceRecord, history: History) -> Verification:
    """Follow all references of a record.

    Where there is no history, `history` is the fault that says why. Raises ValueError if it is
    another fault than those two.
    """
    if isinstance(history, ReferenceFault) and history not in HISTORY_FAULTS:
        raise ValueError(f"{history.value} does not say why there is no history")
    session = _session(record)
    fault = _record_fault(record, session, history)
    read = None
    if session and fault is None and isinstance(history, HistorySnapshot):
        read = reader(session, history)
    sections = _parts(record.sections, read, fault)
    contexts = _parts(record.contexts, read, fault)
    refs = record.system_message_refs or ()
    systems = [read(ref, None) if read else Found(fault=fault) for ref in refs]
    texts = tuple(found.text for found in systems if found.text is not None)
    complete = bool(refs) and len(texts) == len(refs)
    failure, failure_fault = verify_failure(record, history)
    return Verification(
        content_status=_content_status(record, (*sections, *contexts)),
        fault=fault,
        sections=sections,
        contexts=contexts,
        system_messages=texts if complete else None,
        request_content_status=(
            ContentStatus.REFERENCE_UNAVAILABLE if refs and not complete else None
        ),
        failure_status=failure_status(record, failure),
        failure=failure,
        failure_fault=failure_fault,
    )


def _session(record: TraceRecord) -> SessionRef | None:
    if record.session_ref is None and record.failure_ref is not None:
        return record.failure_ref.session
    return record.session_ref


def _content_status(record: TraceRecord, parts: tuple[Found, ...]) -> ContentStatus:
    if record.content_status.is_final:
        return record.content_status
    available = sum(found.fault is None for found in parts)
    if not available:
        return ContentStatus.REFERENCE_UNAVAILABLE
    whole = available == len(parts)
    return ContentStatus.AVAILABLE if whole else ContentStatus.PARTIALLY_AVAILABLE


# --- the record as a whole -------------------------------------------------------------------

_Check = Callable[[TraceRecord, SessionRef, HistorySnapshot], bool]

RECORD_CHECKS: tuple[tuple[ReferenceFault, _Check], ...] = (
    (
        ReferenceFault.FORMAT_MISMATCH,
        lambda _, session, history: history.format_version == session.format_version,
    ),
    (
        ReferenceFault.SESSION_MISMATCH,
        lambda record, session, history: (
            history.session_id == session.session_id == record.session_id
            and history.created_at == session.created_at
        ),
    ),
    (
        ReferenceFault.CUT_UNAVAILABLE,
        lambda _, session, history: 0 <= session.log_cut_seq <= history.cut,
    ),
)
"""What must hold before any part is looked at; the first that does not is the fault."""


def _record_fault(
    record: TraceRecord, session: SessionRef | None, history: History
) -> ReferenceFault | None:
    if not session:
        return ReferenceFault.UNVERIFIED
    if isinstance(history, ReferenceFault):
        return history
    broken = (fault for fault, holds in RECORD_CHECKS if not holds(record, session, history))
    return next(broken, None)


def _parts(
    parts: Iterable[Part], read: Read | None, fault: ReferenceFault | None
) -> tuple[Found, ...]:
    return tuple(
        read(part.reference, part.text_hash) if read else Found(fault=fault) for part in parts
    )
