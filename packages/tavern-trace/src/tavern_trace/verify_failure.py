"""Following the pointer to a failure: what the host said about it, or the fault.

Owns the order of the checks, as a table. Must not know the parts of a record.

Source: the plugin contract, sections D3 and D6 ("failure").
"""

from collections.abc import Callable

from tavern_trace.fault import History, ReferenceFault
from tavern_trace.hashing import digest
from tavern_trace.history import ASSISTANT_ATTEMPT, HistoryEvent, HistorySnapshot
from tavern_trace.reference import KNOWN_FORMATS, Failure, failure_of
from tavern_trace.schema import ContentStatus, FailureRef, TraceRecord

_FailureCheck = Callable[[TraceRecord, FailureRef, HistorySnapshot], bool]


def _failure_event(reference: FailureRef, history: HistorySnapshot) -> HistoryEvent | None:
    found = (event for event in history.events if event.seq == reference.event_seq)
    return next((event for event in found if event.type == reference.event_type), None)


def _same_step(record: TraceRecord, reference: FailureRef, history: HistorySnapshot) -> bool:
    event = _failure_event(reference, history)
    if event is None or event.data.get("turn") != record.turn:
        return False
    return event.type != ASSISTANT_ATTEMPT or event.data.get("step") == record.step


FAILURE_CHECKS: tuple[tuple[ReferenceFault, _FailureCheck], ...] = (
    (
        ReferenceFault.SESSION_MISMATCH,
        lambda record, reference, history: (
            history.session_id == reference.session.session_id == record.session_id
            and history.created_at == reference.session.created_at
        ),
    ),
    (
        ReferenceFault.FORMAT_MISMATCH,
        lambda _, reference, history: (
            history.format_version == reference.session.format_version
            and history.format_version in KNOWN_FORMATS
        ),
    ),
    (
        ReferenceFault.CUT_UNAVAILABLE,
        lambda _, reference, history: 0 <= reference.session.log_cut_seq <= history.cut,
    ),
    (
        ReferenceFault.EVENT_UNAVAILABLE,
        lambda _, reference, history: (
            0 <= reference.event_seq <= reference.session.log_cut_seq
            and _failure_event(reference, history) is not None
        ),
    ),
    (ReferenceFault.IDENTITY_MISMATCH, _same_step),
    (
        ReferenceFault.HASH_MISMATCH,
        lambda _, reference, history: (
            (event := _failure_event(reference, history)) is not None
            and digest(event.data) == reference.event_hash
        ),
    ),
)
"""What must hold before a failure is told; the first that does not is the fault."""


def verify_failure(
    record: TraceRecord, history: History
) -> tuple[Failure | None, ReferenceFault | None]:
    """Give the failure a record points to, or the fault; neither if it points to none."""
    reference = record.failure_ref
    if reference is None:
        return None, None
    if isinstance(history, ReferenceFault):
        return None, history
    for fault, holds in FAILURE_CHECKS:
        if not holds(record, reference, history):
            return None, fault
    event = _failure_event(reference, history)
    failure = None if event is None else failure_of(event)
    return failure, None if failure else ReferenceFault.EVENT_UNAVAILABLE


def failure_status(record: TraceRecord, failure: Failure | None) -> ContentStatus | None:
    """Say whether a failure could be told; None if there is none to tell."""
    if record.failure_ref is None:
        return None
    return ContentStatus.AVAILABLE if failure else ContentStatus.REFERENCE_UNAVAILABLE
