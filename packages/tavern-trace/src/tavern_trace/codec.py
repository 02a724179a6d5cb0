"""Records as JSON, and back: the tables of their spelling, with JavaScript's names.

Owns the order and names of the keys. Nothing that must not be stored comes in: `redaction` has its
turn first. Must not know the document that records are kept in (`retention`).

Source: the plugin contract, sections A3, D2, D3.
"""

from collections.abc import Mapping
from typing import Any

from tavern_trace._json import Json, parse
from tavern_trace._tables import (
    Presence,
    Read,
    Row,
    Table,
    Write,
    choice,
    constant,
    each,
    items,
    nullable,
    read_flag,
    read_json,
    read_mapping,
    read_number,
    read_object,
    read_text,
    read_whole,
    same,
    structure,
    unless_none,
    write_object,
)
from tavern_trace.errors import SchemaError
from tavern_trace.hashing import encode_json
from tavern_trace.redaction import TEXT_STATUS, strip_bodies
from tavern_trace.schema import (
    BODY_STORAGE,
    CAPTURE_STAGE,
    SCHEMA_VERSION,
    SOURCE_MAPPING,
    Changes,
    ContentStatus,
    Delivery,
    Draw,
    FailureRef,
    Part,
    Privacy,
    Reference,
    SessionRef,
    Source,
    TraceRecord,
    Utf16Range,
)
from tavern_trace.status import RecordStatus

_USUAL, _OPTIONAL, _FILLED = Presence.USUAL, Presence.OPTIONAL, Presence.FILLED

FAILED_LAYOUT = (
    *("schemaVersion", "id", "sessionId", "turn", "step", "attempt", "bodyStorage"),
    *("sourceTextStored", "recordedAt", "status", "contentStatus", "entersModelHistory"),
)
"""A request of which nothing was assembled."""
OMITTED_LAYOUT = (
    *("schemaVersion", "id", "sessionId", "turn", "step", "attempt", "recordedAt", "status"),
    *("contentStatus", "bodyStorage", "sourceTextStored"),
)
"""A record of which only the identity is left."""


def _text(key: str, attribute: str, presence: Presence = Presence.REQUIRED) -> Row:
    read = nullable(read_text) if presence in (_OPTIONAL, _USUAL) else read_text
    return Row(key, attribute, read, same, presence)


def _whole(key: str, attribute: str, presence: Presence = Presence.REQUIRED) -> Row:
    read = read_whole if presence is Presence.REQUIRED else nullable(read_whole)
    return Row(key, attribute, read, same, presence)


def _optional(key: str, attribute: str, table: Table[Any]) -> Row:
    read, write = structure(table)
    return Row(key, attribute, nullable(read), unless_none(write), _OPTIONAL)


def _texts(key: str, attribute: str) -> Row:
    return Row(key, attribute, items(read_text), same, _USUAL)


_SIZE_ROWS = (
    _whole("characters", "chars"),
    _whole("utf16Units", "utf16"),
    _whole("utf8Bytes", "utf8_bytes"),
)

RANGE = Table(Utf16Range, (_whole("startUtf16", "start_utf16"), _whole("endUtf16", "end_utf16")))
REFERENCE = Table(
    Reference,
    (
        _text("kind", "kind"),
        _whole("eventSeq", "event_seq"),
        _text("eventType", "event_type"),
        _text("messageId", "message_id", _OPTIONAL),
        _text("messageHash", "message_hash", _OPTIONAL),
        _text("textHash", "text_hash"),
        _whole("sourceSectionIndex", "source_section_index", _OPTIONAL),
        _text("sourceSectionName", "source_section_name", _OPTIONAL),
        _optional("range", "range", RANGE),
    ),
)
SESSION_REF = Table(
    SessionRef,
    (
        _text("sessionId", "session_id"),
        _whole("sessionFormatVersion", "format_version"),
        Row("sessionCreatedAt", "created_at", read_json, same),
        _whole("logCutSeq", "log_cut_seq"),
    ),
)
_READ_SESSION, _WRITE_SESSION = structure(SESSION_REF)
FAILURE_REF = Table(
    FailureRef,
    (
        _whole("eventSeq", "event_seq"),
        _text("eventType", "event_type"),
        _text("eventHash", "event_hash"),
        Row("sessionRef", "session", _READ_SESSION, _WRITE_SESSION),
    ),
)
SOURCE = Table(
    Source,
    (
        _text("kind", "kind"),
        _text("resourceId", "resource_id", _USUAL),
        _text("resourceRevision", "resource_revision", _USUAL),
        Row("field", "field", read_text, same, _USUAL),
        Row("relationship", "relationship", read_text, same, _USUAL),
        *_SIZE_ROWS,
        _text("identifier", "identifier", _OPTIONAL),
        _text("role", "role", _OPTIONAL),
        _text("entryId", "entry_id", _OPTIONAL),
        _text("qualifiedEntryId", "qualified_entry_id", _OPTIONAL),
        _text("hash", "text_hash"),
        constant("textStatus", TEXT_STATUS),
    ),
)
_READ_SOURCE, _WRITE_SOURCE = structure(SOURCE)
PART = Table(
    Part,
    (
        _text("name", "name"),
        _whole("index", "index"),
        *_SIZE_ROWS,
        _text("hash", "text_hash"),
        Row("provenance", "provenance", read_text, same, _USUAL),
        Row("sources", "sources", items(_READ_SOURCE), each(_WRITE_SOURCE), _USUAL),
        _whole("offsetUtf16", "offset_utf16", _OPTIONAL),
        _optional("reference", "reference", REFERENCE),
    ),
)
_READ_PART, _WRITE_PART = structure(PART)
DELIVERY = Table(
    Delivery,
    (
        Row("stage", "stage", read_text, same, _USUAL),
        _whole("logCutSeq", "log_cut_seq", _USUAL),
        _whole("sessionVersion", "session_version", _USUAL),
        _texts("systemHashes", "system_hashes"),
        Row("assemblyVerified", "assembly_verified", read_flag, same, _USUAL),
        _whole("systemMessageIndex", "system_message_index", _USUAL),
        _text("provider", "provider", _OPTIONAL),
        _text("model", "model", _OPTIONAL),
        _texts("toolNames", "tool_names"),
        Row("historyVerified", "history_verified", read_flag, same, _USUAL),
    ),
)
CHANGES = Table(
    Changes,
    (
        _text("previousId", "previous_id"),
        _whole("commonPrefixUtf16", "common_prefix_utf16"),
        _texts("added", "added"),
        _texts("removed", "removed"),
        _texts("changed", "changed"),
    ),
)
DRAW = Table(Draw, (_text("purpose", "purpose"), Row("value", "value", read_number, same)))


def _arrays(read: Read, write: Write) -> tuple[Read, Write]:
    return items(read), each(write)


_READ_REFERENCE, _WRITE_REFERENCE = structure(REFERENCE)

RECORD = Table(
    TraceRecord,
    (
        constant("schemaVersion", SCHEMA_VERSION),
        _text("id", "id"),
        _text("sessionId", "session_id"),
        _whole("turn", "turn"),
        _whole("step", "step"),
        _whole("attempt", "attempt"),
        _whole("recordedAt", "recorded_at_ms"),
        Row("status", "status", choice(RecordStatus), same),
        Row("contentStatus", "content_status", choice(ContentStatus), same),
        constant("bodyStorage", BODY_STORAGE),
        constant("sourceTextStored", value=False),
        constant("sourceMapping", SOURCE_MAPPING, _USUAL),
        Row("audit", "audit", nullable(read_mapping), same, _OPTIONAL),
        Row("selection", "selection", read_mapping, same, _USUAL),
        Row("sections", "sections", *_arrays(_READ_PART, _WRITE_PART), _USUAL),
        Row("contexts", "contexts", *_arrays(_READ_PART, _WRITE_PART), _USUAL),
        constant("captureStage", CAPTURE_STAGE, _USUAL),
        constant("entersModelHistory", value=False, presence=_USUAL),
        _text("assemblyHash", "assembly_hash", _OPTIONAL),
        Row("parameters", "parameters", nullable(read_mapping), same, _OPTIONAL),
        _optional("delivery", "delivery", DELIVERY),
        _optional("sessionRef", "session_ref", SESSION_REF),
        Row(
            "systemMessageRefs",
            "system_message_refs",
            nullable(items(nullable(_READ_REFERENCE))),
            unless_none(each(unless_none(_WRITE_REFERENCE))),
            _OPTIONAL,
        ),
        _optional("failureRef", "failure_ref", FAILURE_REF),
        Row("failureStatus", "failure_status", None, same, _OPTIONAL),
        _text("legacyCaptureId", "legacy_capture_id", _OPTIONAL),
        _text("compilerFingerprint", "compiler_fingerprint", _OPTIONAL),
        _optional("changes", "changes", CHANGES),
        Row("draws", "draws", *_arrays(*structure(DRAW)), _FILLED),
        Row("privacy", "privacy", nullable(choice(Privacy)), same, _OPTIONAL),
    ),
)


def record_from_json(document: Mapping[str, Any]) -> TraceRecord:
    """Make a record of its JSON; texts that must not be stored are left behind.

    Raises SchemaError: WRONG_SCHEMA, FIELD_INVALID with the path, NESTED_TOO_DEEP.
    """
    version = document.get("schemaVersion")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise SchemaError("WRONG_SCHEMA", f"no record of schema {SCHEMA_VERSION}")
    return read_object(RECORD, strip_bodies(document))


def record_to_json(
    record: TraceRecord, *, without: frozenset[str] = frozenset()
) -> dict[str, Json]:
    """Make the JSON of a record: keys in the order in which they came, else the schema's."""
    return write_object(RECORD, record, without=without)


def load_record(data: bytes) -> TraceRecord:
    """Read one record. Raises what `record_from_json` raises, NOT_UTF8 and INVALID_JSON."""
    document = parse(data)
    if not isinstance(document, Mapping):
        raise SchemaError("WRONG_SCHEMA", f"no record of schema {SCHEMA_VERSION}")
    return record_from_json(document)


def dump_record(record: TraceRecord) -> bytes:
    """Write one record as compact JSON, to the byte as JavaScript would.

    Unknown fields are written, bodies in them are not.
    """
    return encode_json(strip_bodies(record_to_json(record)))
