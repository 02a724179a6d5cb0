"""The store of records as a value: what fits stays, the oldest go first.

Owns the limits and the order of eviction. Each row carries its own bytes: nothing is written
twice, and a row that this version cannot read is kept as it is. Must not know the document that
rows are kept in.

Source: the plugin contract, section D7.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from attrs import evolve, field, frozen

from tavern_trace._json import JsonObject, freeze_object
from tavern_trace._tables import Foreign
from tavern_trace.codec import OMITTED_LAYOUT, dump_record, record_from_json
from tavern_trace.redaction import redact
from tavern_trace.schema import SCHEMA_VERSION, ContentStatus, TraceRecord
from tavern_trace.status import RecordStatus

MIB = 1024 * 1024
MAX_RECORDS = 256
MAX_READ_BYTES = 32 * MIB
"""A larger file is refused, unread."""
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
HEAD = b'{"schemaVersion":4,"records":['
TAIL = b"]}"
_ENVELOPE_BYTES = len(HEAD) + len(TAIL)
_RESERVED_BYTES = 256
"""A single record leaves this much of the store to the document around it."""


@frozen
class SizeLimit:
    """One configurable limit."""

    default_bytes: int
    least_bytes: int
    most_bytes: int

    def of(self, value: object) -> int:
        """Take a setting: what is no number, or too small, is the default; too large, the most."""
        if isinstance(value, bool) or not isinstance(value, int) or value < self.least_bytes:
            return self.default_bytes
        return min(value, self.most_bytes)


RECORD_LIMIT = SizeLimit(2 * MIB, 4096, 4 * MIB)
TOTAL_LIMIT = SizeLimit(16 * MIB, 4096, 32 * MIB)


def _record_bytes(value: object) -> int:
    return RECORD_LIMIT.of(value)


def _total_bytes(value: object) -> int:
    return TOTAL_LIMIT.of(value)


@frozen(kw_only=True)
class StoreLimits:
    """How much a store may hold."""

    record_bytes: int = field(default=None, converter=_record_bytes)
    """One record; from 4,096, at most 4 MiB. A setting out of reach is brought back."""
    total_bytes: int = field(default=None, converter=_total_bytes)
    """The whole document; from 4,096, at most 32 MiB."""

    @property
    def one_row_bytes(self) -> int:
        """What one record may have in the end."""
        return min(self.record_bytes, self.total_bytes - _RESERVED_BYTES)


@frozen(kw_only=True)
class StoredRow:
    """One record with the bytes it is stored as."""

    id: str
    session_id: str
    data: bytes = field(repr=False)
    _read: Callable[[], TraceRecord | None] = field(repr=False, eq=False)

    @cached_property
    def record(self) -> TraceRecord | None:
        """Give the record, read when it is first asked for.

        None: this version cannot read it; it is kept, counted and evicted like any other.
        """
        return self._read()


@frozen(kw_only=True)
class StoreRemark:
    """What was odd about a stored document."""

    code: str
    """ROW_INVALID: no record, left out; ROW_UNREADABLE: kept unread; ROW_OMITTED: too large, only
    its identity is kept; ROWS_EVICTED: more than fits."""
    row: int
    """Place in the document, from 0; for ROWS_EVICTED, how many."""
    message: str = ""


@frozen(kw_only=True)
class TraceStore:
    """All records of all sessions, oldest first."""

    limits: StoreLimits = StoreLimits()
    rows: tuple[StoredRow, ...] = field(default=(), repr=False)
    remarks: tuple[StoreRemark, ...] = ()
    """Of the document it was read from."""

    @property
    def size_bytes(self) -> int:
        """Bytes of the document that `dump_store` gives."""
        return _size_bytes(self.rows)

    def records(self, session_id: str) -> tuple[TraceRecord, ...]:
        """List the readable records of a session by the time they began."""
        found = (row.record for row in self.rows if row.session_id == session_id)
        kept = [record for record in found if record is not None]
        return tuple(sorted(kept, key=lambda record: record.recorded_at_ms))

    def find(self, session_id: str, record_id: str) -> TraceRecord | None:
        """Give one readable record of a session, or None."""
        rows = (row for row in self.rows if (row.session_id, row.id) == (session_id, record_id))
        found = next(rows, None)
        return None if found is None else found.record


def is_session_id(value: object) -> bool:
    """Tell whether a value may name a session here."""
    return isinstance(value, str) and _SESSION_ID.fullmatch(value) is not None


# --- putting ---------------------------------------------------------------------------------


def put(store: TraceStore, record: TraceRecord) -> TraceStore:
    """Store a record as the newest; one of the same id and session gives way.

    An audit that is there already stays unless the new one was updated later. A record that is too
    large keeps its identity only. Raises ValueError for an id that cannot be stored.
    """
    if not is_session_id(record.session_id) or not record.id:
        raise ValueError("a record needs an id, and a session id of letters, digits and ._:-")
    previous = store.find(record.session_id, record.id)
    if previous is not None and previous.audit is not None:
        record = evolve(record, audit=_later_audit(previous.audit, record.audit))
    row = bounded(record, store.limits)
    others = (one for one in store.rows if not _same(one, row))
    return evolve(store, rows=kept_rows((*others, row), store.limits))


def put_audits(
    store: TraceStore, session_id: str, audits: Iterable[Mapping[str, Any]]
) -> TraceStore:
    """Store audits by their capture id, each in its record's place, or as a new record.

    Raises ValueError for a session id that cannot be stored, an audit without a capture id, or
    one without turn, step, attempt or time that has no record yet.
    """
    if not is_session_id(session_id):
        raise ValueError("no session id")
    rows = list(store.rows)
    for given in audits:
        audit = freeze_object(given)
        identity = audit.get("captureId")
        if not isinstance(identity, str) or not identity:
            raise ValueError("an audit needs a capture id")
        places = {(row.session_id, row.id): at for at, row in enumerate(rows)}
        at = places.get((session_id, identity))
        present = None if at is None else rows[at].record
        record = present or _record_of_audit(session_id, identity, audit)
        row = bounded(evolve(record, audit=audit), store.limits)
        if at is None:
            rows.append(row)
        else:
            rows[at] = row
    return evolve(store, rows=kept_rows(rows, store.limits))


def _record_of_audit(session_id: str, identity: str, audit: JsonObject) -> TraceRecord:
    numbers = {key: audit.get(key) for key in ("turn", "step", "attempt", "recordedAt")}
    if not all(isinstance(value, int) for value in numbers.values()):
        raise ValueError("an audit without a record needs turn, step, attempt and time")
    return record_from_json(
        {
            "schemaVersion": SCHEMA_VERSION,
            "id": identity,
            "sessionId": session_id,
            **numbers,
            "status": RecordStatus.ASSEMBLED.value,
            "contentStatus": ContentStatus.ASSEMBLY_UNAVAILABLE.value,
            "entersModelHistory": False,
        }
    )


def _later_audit(present: JsonObject, given: JsonObject | None) -> JsonObject:
    """An audit that was aligned must not give way to what it was before."""
    return given if given is not None and _updated(given) > _updated(present) else present


def _updated(audit: JsonObject) -> float:
    found = audit.get("updatedAt")
    return found if isinstance(found, int | float) else 0


def _same(one: StoredRow, other: StoredRow) -> bool:
    return (one.session_id, one.id) == (other.session_id, other.id)


def bounded(record: TraceRecord, limits: StoreLimits, data: bytes | None = None) -> StoredRow:
    """Make a row of a record; `data` is its JSON, if it is at hand and without bodies."""
    if data is None:
        record = redact(record)
        data = dump_record(record)
    if len(data) > limits.one_row_bytes:
        record = omitted(record)
        data = dump_record(record)
    return StoredRow(
        id=record.id, session_id=record.session_id, data=data, read=partial(itself, record)
    )


def itself(record: TraceRecord | None) -> TraceRecord | None:
    """Give a record that is known: a function of a module, so that a row can be pickled."""
    return record


def omitted(record: TraceRecord) -> TraceRecord:
    """Leave nothing of a record but its identity, status and time."""
    return TraceRecord(
        id=record.id,
        session_id=record.session_id,
        turn=record.turn,
        step=record.step,
        attempt=record.attempt,
        recorded_at_ms=record.recorded_at_ms,
        status=record.status,
        content_status=ContentStatus.OMITTED_SIZE_LIMIT,
        legacy_capture_id=record.capture_id or None,
        foreign=Foreign(layout=OMITTED_LAYOUT),
    )


def _size_bytes(rows: Sequence[StoredRow]) -> int:
    commas = max(len(rows) - 1, 0)
    return _ENVELOPE_BYTES + commas + sum(len(row.data) for row in rows)


def kept_rows(rows: Sequence[StoredRow], limits: StoreLimits) -> tuple[StoredRow, ...]:
    """Drop rows from the old end until number and size fit."""
    kept = list(rows[-MAX_RECORDS:])
    size = _size_bytes(kept)
    dropped = 0
    while dropped < len(kept) and size > limits.total_bytes:
        size -= len(kept[dropped].data) + 1
        dropped += 1
    return tuple(kept[dropped:])
