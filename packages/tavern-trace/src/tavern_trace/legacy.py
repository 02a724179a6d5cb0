"""Documents of earlier versions, read and never written.

Owns two readers: the audits of the first version (`tavern-traces.json`) and the records of schema 3
(`tavern-assemblies.json`), which hold texts. Those texts are given back as they were stored and
labelled: nothing proves them. Must not know how they are shown.

Source: the plugin contract, section D9.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from tavern_trace._json import (
    EMPTY,
    JsonObject,
    as_object,
    as_text,
    as_whole,
    freeze_object,
    parse,
    thaw,
)
from tavern_trace.errors import SchemaError, StoreTooLargeError
from tavern_trace.hashing import encode_json
from tavern_trace.retention import MAX_READ_BYTES, MAX_RECORDS, MIB, is_session_id
from tavern_trace.schema import ContentStatus
from tavern_trace.status import RecordStatus

AUDIT_FILE_VERSION = 1
LEGACY_SCHEMA_VERSION = 3
LEGACY_BODY_STORAGE = "legacy-record"
"""Label of a record whose texts are its own copy, proven by nothing."""
MAX_AUDIT_FILE_BYTES = 16 * MIB
"""A larger file of audits counts as empty, as it did for its own writer."""
MAX_SESSIONS = 128
MAX_AUDITS_PER_SESSION = 128
MAX_AUDIT_BYTES = 64 * 1024
_ID_PREFIX = "legacy:"


@frozen(kw_only=True)
class LegacyRecord:
    """A record of an earlier version."""

    id: str
    """`legacy:` and the audit's own id, or the id of schema 3."""
    session_id: str
    recorded_at_ms: int
    status: str
    content_status: str
    audit: JsonObject = field(default=EMPTY, repr=False)
    audit_only: bool
    """True: an audit of the first version. False: a record of schema 3."""
    document: JsonObject = field(default=EMPTY, repr=False)
    """Of schema 3, as stored, texts included."""

    @property
    def capture_id(self) -> str | None:
        """What a newer record of the same capture has, too; None: nothing can be told the same."""
        return as_text(self.audit.get("captureId")) or None


def load_legacy_audits(data: bytes) -> tuple[LegacyRecord, ...]:
    """Read a file of audits, sessions in order of their last change, the newest 128 of each 128.

    What is no audit, or larger than 64 KiB, is left out. A file of more than 16 MiB counts as
    empty. Raises SchemaError: NOT_UTF8, INVALID_JSON, NESTED_TOO_DEEP, WRONG_SCHEMA.
    """
    if len(data) > MAX_AUDIT_FILE_BYTES:
        return ()
    document = _document(data, AUDIT_FILE_VERSION)
    sessions = document.get("sessions")
    if not isinstance(sessions, Mapping):
        raise SchemaError("WRONG_SCHEMA", "no object", path="/sessions")
    buckets = [
        (_updated_at(bucket), session_id, bucket)
        for session_id, bucket in sessions.items()
        if is_session_id(session_id) and isinstance(bucket, Mapping)
    ]
    buckets.sort(key=lambda bucket: bucket[0])
    return tuple(
        one
        for _, session_id, bucket in buckets[-MAX_SESSIONS:]
        for one in [*_audits(session_id, bucket)][-MAX_AUDITS_PER_SESSION:]
    )


def _updated_at(bucket: Mapping[str, Any]) -> float:
    found = bucket.get("updatedAt")
    return found if isinstance(found, int | float) else 0


def _audits(session_id: str, bucket: Mapping[str, Any]) -> Iterator[LegacyRecord]:
    listed = bucket.get("records")
    for audit in map(_frozen, listed if isinstance(listed, list) else ()):
        if _is_audit(audit):
            yield LegacyRecord(
                id=f"{_ID_PREFIX}{audit['id']}",
                session_id=session_id,
                recorded_at_ms=as_whole(audit.get("recordedAt")) or 0,
                status=RecordStatus.LEGACY_METADATA_ONLY.value,
                content_status=ContentStatus.LEGACY_METADATA_ONLY.value,
                audit=audit,
                audit_only=True,
            )


def _frozen(found: object) -> JsonObject:
    """Freeze an object; what is none, or is nested without measure, is as good as empty."""
    try:
        return freeze_object(found) if isinstance(found, Mapping) else EMPTY
    except SchemaError:
        return EMPTY


def _is_audit(found: JsonObject) -> bool:
    numbers = [as_whole(found.get(key)) for key in ("turn", "step", "attempt")]
    if not isinstance(found.get("id"), str) or None in numbers:
        return False
    return len(encode_json(found)) <= MAX_AUDIT_BYTES


def load_legacy_assemblies(data: bytes) -> tuple[LegacyRecord, ...]:
    """Read a file of schema 3, the newest 256 records of it.

    Raises StoreTooLargeError, and SchemaError: NOT_UTF8, INVALID_JSON, NESTED_TOO_DEEP,
    WRONG_SCHEMA.
    """
    if len(data) > MAX_READ_BYTES:
        raise StoreTooLargeError(actual_bytes=len(data), limit_bytes=MAX_READ_BYTES)
    records = _document(data, LEGACY_SCHEMA_VERSION).get("records")
    if not isinstance(records, list):
        raise SchemaError("WRONG_SCHEMA", "no list", path="/records")
    rows = [row for row in map(_frozen, records) if _is_schema_3(row)]
    return tuple(_schema_3(row) for row in rows[-MAX_RECORDS:])


def _is_schema_3(row: JsonObject) -> bool:
    named = isinstance(row.get("id"), str) and row["id"] != ""
    return (
        row.get("schemaVersion") == LEGACY_SCHEMA_VERSION
        and named
        and is_session_id(row.get("sessionId"))
    )


def _schema_3(row: JsonObject) -> LegacyRecord:
    return LegacyRecord(
        id=as_text(row["id"]) or "",
        session_id=as_text(row["sessionId"]) or "",
        recorded_at_ms=as_whole(row.get("recordedAt")) or 0,
        status=as_text(row.get("status")) or "",
        content_status=as_text(row.get("contentStatus")) or "",
        audit=as_object(row.get("audit")),
        audit_only=False,
        document=row,
    )


def _document(data: bytes, version: int) -> Mapping[str, Any]:
    document = parse(data)
    if not isinstance(document, Mapping) or document.get("schemaVersion") != version:
        raise SchemaError("WRONG_SCHEMA", f"no document of schema {version}")
    return document


def legacy_to_json(record: LegacyRecord) -> dict[str, Any]:
    """Give a legacy record in the shape of the present interface."""
    if not record.audit_only:
        stored: dict[str, Any] = thaw(record.document)
        return stored | {"bodyStorage": LEGACY_BODY_STORAGE}
    audit: dict[str, Any] = thaw(record.audit)
    return {
        "schemaVersion": LEGACY_SCHEMA_VERSION,
        "id": record.id,
        "sessionId": record.session_id,
        "turn": audit["turn"],
        "step": audit["step"],
        "attempt": audit["attempt"],
        "recordedAt": record.recorded_at_ms,
        "status": record.status,
        "contentStatus": record.content_status,
        "audit": audit,
    }
