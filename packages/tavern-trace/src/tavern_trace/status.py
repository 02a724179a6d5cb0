"""Which statuses there are, and how events move from one to the next: two tables, no code path.

Owns the statuses of records and of their audits. Every pair of status and event has a result: a
status that no row names stays as it is. Must not know what else a record holds.

Source: the plugin contract, sections D4 and D8.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

MAX_PENDING_SESSIONS = 128
"""More sessions than this wait for a request: the oldest is given up."""


class RecordStatus(StrEnum):
    """What became of a request. The values are stable."""

    ASSEMBLED = "assembled"
    REQUEST_OBSERVED = "request-observed"
    REQUEST_FAILED_BEFORE_OBSERVATION = "request-failed-before-observation"
    ASSEMBLY_OR_PREPARATION_FAILED = "assembly-or-preparation-failed"
    REQUEST_UNCONFIRMED = "request-unconfirmed"
    SUPERSEDED_UNCONFIRMED = "superseded-unconfirmed"
    UNLOADED_UNCONFIRMED = "unloaded-unconfirmed"
    LEGACY_METADATA_ONLY = "legacy-metadata-only"

    @property
    def is_pending(self) -> bool:
        """Whether an event can still change it."""
        return self is RecordStatus.ASSEMBLED


class AuditStatus(StrEnum):
    """How an audit is aligned with the host's request header. The values are stable."""

    AWAITING_HEADER = "awaiting-header"
    HEADER_OBSERVED = "header-observed"
    HEADER_REUSED_OR_OBSERVED = "header-reused-or-observed"
    REQUEST_NOT_CONFIRMED = "request-not-confirmed"
    REQUEST_ERROR = "request-error"
    SUPERSEDED_UNCONFIRMED = "superseded-unconfirmed"


class TraceEvent(StrEnum):
    """What happens to a request."""

    HEADER_LOGGED = "header-logged"
    """The host logged a request header."""
    STREAM_STARTED = "stream-started"
    """The request was seen on its way to the model."""
    REQUEST_FAILED = "request-failed"
    MESSAGE_LOGGED = "message-logged"
    """An answer is in the log."""
    TURN_ENDED = "turn-ended"
    SUPERSEDED = "superseded"
    """The next request of the session began, or too many sessions wait."""
    UNLOADED = "unloaded"
    """The plugin ends."""


_S, _A, _E = RecordStatus, AuditStatus, TraceEvent

RECORD_TRANSITIONS: Mapping[tuple[RecordStatus, TraceEvent], RecordStatus] = MappingProxyType(
    {
        (_S.ASSEMBLED, _E.STREAM_STARTED): _S.REQUEST_OBSERVED,
        (_S.ASSEMBLED, _E.REQUEST_FAILED): _S.REQUEST_FAILED_BEFORE_OBSERVATION,
        (_S.ASSEMBLED, _E.MESSAGE_LOGGED): _S.REQUEST_UNCONFIRMED,
        (_S.ASSEMBLED, _E.TURN_ENDED): _S.REQUEST_UNCONFIRMED,
        (_S.ASSEMBLED, _E.SUPERSEDED): _S.SUPERSEDED_UNCONFIRMED,
        (_S.ASSEMBLED, _E.UNLOADED): _S.UNLOADED_UNCONFIRMED,
    }
)
AUDIT_TRANSITIONS: Mapping[tuple[AuditStatus, TraceEvent], AuditStatus] = MappingProxyType(
    {
        (_A.AWAITING_HEADER, _E.HEADER_LOGGED): _A.HEADER_OBSERVED,
        (_A.AWAITING_HEADER, _E.REQUEST_FAILED): _A.REQUEST_ERROR,
        (_A.AWAITING_HEADER, _E.MESSAGE_LOGGED): _A.HEADER_REUSED_OR_OBSERVED,
        (_A.AWAITING_HEADER, _E.TURN_ENDED): _A.REQUEST_NOT_CONFIRMED,
        (_A.AWAITING_HEADER, _E.SUPERSEDED): _A.SUPERSEDED_UNCONFIRMED,
    }
)

_Status = TypeVar("_Status", RecordStatus, AuditStatus)


def _next(
    table: Mapping[tuple[_Status, TraceEvent], _Status], status: _Status, event: TraceEvent
) -> _Status:
    return table.get((status, event), status)


def next_status(status: RecordStatus, event: TraceEvent) -> RecordStatus:
    """Give the status of a record after an event; a final one stays.

    >>> next_status(RecordStatus.ASSEMBLED, TraceEvent.UNLOADED).value
    'unloaded-unconfirmed'
    """
    return _next(RECORD_TRANSITIONS, status, event)


def next_audit_status(status: AuditStatus, event: TraceEvent) -> AuditStatus:
    """Give the status of an audit after an event; a final one stays."""
    return _next(AUDIT_TRANSITIONS, status, event)
