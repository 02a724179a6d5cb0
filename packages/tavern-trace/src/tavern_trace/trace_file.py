"""Telling what a file of traces is, by its content, and reading it.

Owns the kinds of files. Must not know how they are shown.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from tavern_trace._json import parse
from tavern_trace.codec import record_from_json
from tavern_trace.errors import SchemaError
from tavern_trace.legacy import (
    LEGACY_SCHEMA_VERSION,
    LegacyRecord,
    load_legacy_assemblies,
    load_legacy_audits,
)
from tavern_trace.retention import StoreLimits, StoreRemark
from tavern_trace.schema import SCHEMA_VERSION, TraceRecord
from tavern_trace.store_document import load_store

_LARGEST = StoreLimits(record_bytes=2**40, total_bytes=2**40)
"""Whoever looks at a file wants to see all of it."""


@frozen(kw_only=True)
class TraceFile:
    """What a file of traces holds."""

    kind: str
    records: tuple[TraceRecord, ...] = field(default=(), repr=False)
    legacy: tuple[LegacyRecord, ...] = field(default=(), repr=False)
    remarks: tuple[StoreRemark, ...] = ()


def read_trace_file(data: bytes) -> TraceFile:
    """Read a store, a single record, a detail document, or a file of an earlier version.

    Raises SchemaError and StoreTooLargeError.
    """
    document = parse(data)
    if not isinstance(document, Mapping):
        raise SchemaError("WRONG_SCHEMA", "it is no object")
    for belongs, read in _KINDS:
        if belongs(document):
            return read(document, data)
    raise SchemaError("WRONG_SCHEMA", "it is no file of traces")


def _store(_: Mapping[str, Any], data: bytes) -> TraceFile:
    store = load_store(data, _LARGEST)
    records = tuple(row.record for row in store.rows if row.record is not None)
    return TraceFile(kind="store", records=records, remarks=store.remarks)


def _record(document: Mapping[str, Any], _: bytes) -> TraceFile:
    return TraceFile(kind="record", records=(record_from_json(document),))


def _detail(document: Mapping[str, Any], _: bytes) -> TraceFile:
    try:
        record = record_from_json(document["record"])
    except SchemaError as fault:
        raise fault.inside("record") from None
    return TraceFile(kind="record", records=(record,))


_KINDS: tuple[
    tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any], bytes], TraceFile]], ...
] = (
    (lambda found: isinstance(found.get("record"), Mapping), _detail),
    (lambda found: found.get("schemaVersion") == SCHEMA_VERSION and "records" in found, _store),
    (lambda found: found.get("schemaVersion") == SCHEMA_VERSION, _record),
    (
        lambda found: "sessions" in found,
        lambda _, data: TraceFile(kind="audits", legacy=load_legacy_audits(data)),
    ),
    (
        lambda found: found.get("schemaVersion") == LEGACY_SCHEMA_VERSION and "records" in found,
        lambda _, data: TraceFile(kind="schema 3", legacy=load_legacy_assemblies(data)),
    ),
)
