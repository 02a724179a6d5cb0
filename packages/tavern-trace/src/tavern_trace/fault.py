"""Why a text cannot be had, and what stands for a history that there is not.

Owns the closed set of faults. Must not know how they are found.

Source: the plugin contract, section D6.
"""

from enum import StrEnum

from attrs import field, frozen

from tavern_trace.history import HistorySnapshot


class ReferenceFault(StrEnum):
    """Why a text cannot be had. The values are stable."""

    HISTORY_UNAVAILABLE = "history-unavailable"
    """The host has no history of the session, or cannot be asked."""
    HISTORY_READ_FAILED = "history-read-failed"
    FORMAT_MISMATCH = "format-mismatch"
    """The session's log has another format now."""
    SESSION_MISMATCH = "session-mismatch"
    """It is another session."""
    CUT_UNAVAILABLE = "cut-unavailable"
    """The history ends before the request."""
    EVENT_UNAVAILABLE = "event-unavailable"
    IDENTITY_MISMATCH = "identity-mismatch"
    """There is an event, but of something else."""
    HASH_MISMATCH = "hash-mismatch"
    """The text has changed."""
    RANGE_MISMATCH = "range-mismatch"
    UNVERIFIED = "unverified"
    """The record has no reference: nothing was proven when it was made."""


HISTORY_FAULTS = frozenset({ReferenceFault.HISTORY_UNAVAILABLE, ReferenceFault.HISTORY_READ_FAILED})
"""What may stand in for a history that there is not."""

History = HistorySnapshot | ReferenceFault


@frozen(kw_only=True)
class Found:
    """What became of one reference: a text, or a fault."""

    text: str | None = field(default=None, repr=False)
    fault: ReferenceFault | None = None
