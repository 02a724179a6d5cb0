"""The document a store is kept in: written, read whole, or opened for what is asked of it.

Owns the form of the document and what becomes of odd rows. Must not know files: bytes come in and
go out.

Source: the plugin contract, section D7.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, TypeGuard

from tavern_trace._json import EMPTY, parse, refuse_constant, whole
from tavern_trace.codec import load_record, record_from_json, record_to_json
from tavern_trace.errors import SchemaError, StoreTooLargeError
from tavern_trace.hashing import encode_json
from tavern_trace.redaction import NEVER_STORED, is_stripped, strip_bodies
from tavern_trace.retention import (
    HEAD,
    MAX_READ_BYTES,
    TAIL,
    StoredRow,
    StoreLimits,
    StoreRemark,
    TraceStore,
    bounded,
    is_session_id,
    itself,
    kept_rows,
)
from tavern_trace.schema import SCHEMA_VERSION, TraceRecord

_SUSPECT = re.compile(
    # A name that is never stored, the second status in a row, or a name spelled with escapes.
    rf'"(?:{"|".join(sorted(NEVER_STORED))})"\s*:'
    r'|"contentStatus".*?"contentStatus"'
    r"|\\u00[2-7]",
    re.DOTALL,
)
_DECODER = json.JSONDecoder(parse_int=whole, parse_constant=refuse_constant)


def dump_store(store: TraceStore) -> bytes:
    """Write the whole document, compact, rows in the order of the store."""
    return HEAD + b",".join(row.data for row in store.rows) + TAIL


def load_store(data: bytes, limits: StoreLimits | None = None) -> TraceStore:
    """Read a document that `dump_store` or the plugin's JavaScript wrote.

    Raises StoreTooLargeError, and SchemaError for what is no such document: NOT_UTF8, INVALID_JSON,
    NESTED_TOO_DEEP, WRONG_SCHEMA. Single rows are never the reason: the remarks tell of them.
    """
    _check_size(data)
    document = parse(data)
    if not isinstance(document, Mapping) or document.get("schemaVersion") != SCHEMA_VERSION:
        raise SchemaError("WRONG_SCHEMA", f"no store of schema {SCHEMA_VERSION}")
    if not isinstance(document.get("records"), list):
        raise SchemaError("WRONG_SCHEMA", "no list", path="/records")
    limits = limits or StoreLimits()
    rows, remarks = [], []
    for at, found in enumerate(document["records"]):
        row, remark = _read_row(at, found, limits)
        rows += [row] if row else []
        remarks += [remark] if remark else []
    return _store(rows, remarks, limits)


def open_store(data: bytes, limits: StoreLimits | None = None) -> TraceStore:
    """Read a document for what will be asked of it: about three times as fast as `load_store`.

    A row is read when its record is asked for, so no remark tells of one that cannot be; until
    then it keeps its bytes. Rows that hold what is never stored are read at once, as `load_store`
    does, and so is a document of another layout than `dump_store` writes. Raises what `load_store`
    raises.
    """
    _check_size(data)
    limits = limits or StoreLimits()
    rows, remarks = [], []
    try:
        for at, (found, text) in enumerate(_texts(data)):
            row, remark = _opened(found, text, limits), None
            if row is None:
                row, remark = _read_row(at, found, limits)
            rows += [row] if row else []
            remarks += [remark] if remark else []
    except (ValueError, RecursionError):
        return load_store(data, limits)
    return _store(rows, remarks, limits)


def _check_size(data: bytes) -> None:
    if len(data) > MAX_READ_BYTES:
        raise StoreTooLargeError(actual_bytes=len(data), limit_bytes=MAX_READ_BYTES)


def _store(rows: list[StoredRow], remarks: list[StoreRemark], limits: StoreLimits) -> TraceStore:
    kept = kept_rows(rows, limits)
    if len(kept) < len(rows):
        remarks.append(StoreRemark(code="ROWS_EVICTED", row=len(rows) - len(kept)))
    return TraceStore(limits=limits, rows=kept, remarks=tuple(remarks))


# --- rows that are read ----------------------------------------------------------------------


def _read_row(
    at: int, found: object, limits: StoreLimits
) -> tuple[StoredRow | None, StoreRemark | None]:
    if not _is_named(found):
        return None, StoreRemark(code="ROW_INVALID", row=at)
    try:
        record = record_from_json(found)
    except SchemaError as fault:
        return _unread(at, found, fault.inside("records", str(at)), limits)
    row = bounded(record, limits, encode_json(record_to_json(record)))
    if row.record is not record:
        return row, StoreRemark(code="ROW_OMITTED", row=at)
    return row, None


def _is_named(found: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a row is one of this schema, under an id and a session."""
    row = found if isinstance(found, Mapping) else EMPTY
    identity, version = row.get("id"), row.get("schemaVersion")
    is_ours = version == SCHEMA_VERSION and isinstance(identity, str) and identity != ""
    return is_ours and is_session_id(row.get("sessionId"))


def _unread(
    at: int, row: Mapping[str, Any], fault: SchemaError, limits: StoreLimits
) -> tuple[StoredRow | None, StoreRemark]:
    """Keep a row that this version cannot read, unless it cannot be kept either."""
    try:
        data = encode_json(strip_bodies(row))
    except SchemaError:
        data = b""
    if not 0 < len(data) <= limits.one_row_bytes:
        return None, StoreRemark(code="ROW_INVALID", row=at, message=str(fault))
    kept = StoredRow(
        id=row["id"], session_id=row["sessionId"], data=data, read=partial(itself, None)
    )
    return kept, StoreRemark(code="ROW_UNREADABLE", row=at, message=str(fault))


# --- rows that keep their bytes --------------------------------------------------------------


def _texts(data: bytes) -> Iterator[tuple[object, str]]:
    """Give each row with its own text. Raises ValueError for another layout than `dump_store`'s."""
    text = data.decode()
    at, end = len(HEAD), len(text) - len(TAIL)
    if not (text.startswith(HEAD.decode()) and text.endswith(TAIL.decode())):
        raise ValueError
    if at == end:
        return
    while True:
        found, after = _DECODER.raw_decode(text, at)
        yield found, text[at:after]
        if after == end:
            return
        if text[after : after + 1] != ",":  # nothing: the row went on into what should follow it
            raise ValueError
        at = after + 1


def _opened(found: object, text: str, limits: StoreLimits) -> StoredRow | None:
    """Keep a row unread; None if its text holds what is never stored, or is too much."""
    if not _is_named(found) or not is_stripped(found) or _SUSPECT.search(text):
        return None
    data = text.encode()
    if len(data) > limits.one_row_bytes:
        return None
    read = partial(_record_of, data)
    return StoredRow(id=found["id"], session_id=found["sessionId"], data=data, read=read)


def _record_of(data: bytes) -> TraceRecord | None:
    try:
        return load_record(data)
    except SchemaError:
        return None
