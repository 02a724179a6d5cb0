"""Documents of the host's HTTP interface: capabilities, index, one record in full, audits.

Owns their shape, as plain JSON values that any writer takes. Must not know HTTP, nor decide
anything: what is proven is in a `Verification`.

Source: the plugin contract, sections D6, D7, D9 and D10.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from tavern_trace._json import thaw
from tavern_trace.codec import record_to_json
from tavern_trace.fault import Found
from tavern_trace.legacy import LegacyRecord, legacy_to_json
from tavern_trace.retention import MAX_RECORDS, StoreLimits, TraceStore
from tavern_trace.schema import SOURCE_MAPPING, TraceRecord
from tavern_trace.verify import Verification

API_VERSION = 3
CONTRACT = "prompt-trace-primitives"
STORAGE_KIND = "bounded-assembly-references"
AUTHORITY = "What a request held is what the host itself logged as its request header."
_NOT_IN_INDEX = frozenset(
    {"sections", "contexts", "nativeSourceRefs", "systemMessages", "audit", "changes", "draws"}
)


def storage_document(limits: StoreLimits) -> dict[str, Any]:
    """Say how much is kept."""
    return {
        "kind": STORAGE_KIND,
        "maxRecords": MAX_RECORDS,
        "maxRecordBytes": limits.record_bytes,
        "maxTotalBytes": limits.total_bytes,
    }


def capabilities_document(limits: StoreLimits) -> dict[str, Any]:
    """Say what this interface can do: `GET /v3/capabilities`."""
    return {
        "ok": True,
        "apiVersion": API_VERSION,
        "contract": CONTRACT,
        "sourceMapping": SOURCE_MAPPING,
        "historicalAssemblies": True,
        "composerRegistry": False,
        "officialSections": True,
        "arbitraryMessageDepth": False,
        "storage": storage_document(limits),
    }


def index_row(record: TraceRecord) -> dict[str, Any]:
    """Give what the index says of a record: all but its parts, audit, changes and draws."""
    row: dict[str, Any] = thaw(record_to_json(record, without=_NOT_IN_INDEX))
    if record.capture_id:
        row["legacyCaptureId"] = record.capture_id
    return row | {"sectionCount": len(record.sections)}


def index_document(
    store: TraceStore, session_id: str, legacy: Iterable[LegacyRecord] = ()
) -> dict[str, Any]:
    """List a session's records by the time they began: `GET /v3/sessions/:id/assemblies`.

    Of two legacy records of one id the later counts, and neither if a record has the same capture
    id: turn, step and attempt do not identify anything.
    """
    records = store.records(session_id)
    names = ((record.id, record.capture_id) for record in records)
    captured = {name for pair in names for name in pair if name is not None}
    rows = {
        one.id: (one.recorded_at_ms, _legacy_row(one))
        for one in legacy
        if one.session_id == session_id and one.capture_id not in captured
    }
    timed = [*rows.values(), *((record.recorded_at_ms, index_row(record)) for record in records)]
    return {
        "ok": True,
        "sessionId": session_id,
        "records": [row for _, row in sorted(timed, key=lambda pair: pair[0])],
        "storage": storage_document(store.limits),
    }


def _legacy_row(one: LegacyRecord) -> dict[str, Any]:
    document = legacy_to_json(one)
    hidden = _NOT_IN_INDEX - ({"audit"} if one.audit_only else set())
    row = {key: item for key, item in document.items() if key not in hidden}
    if one.capture_id:
        row["legacyCaptureId"] = one.capture_id
    return row | {"sectionCount": len(document.get("sections") or ())}


def detail_document(record: TraceRecord, verification: Verification) -> dict[str, Any]:
    """Give one record with what was proven of it: `GET /v3/sessions/:id/assemblies/:recordId`.

    The only document with texts: it is for the one who asked, and never stored.
    """
    document: dict[str, Any] = thaw(record_to_json(record))
    for key, found in (("sections", verification.sections), ("contexts", verification.contexts)):
        for part, one in zip(document.get(key, ()), found, strict=True):
            part.update(_part_verdict(one))
    document["contentStatus"] = verification.content_status.value
    document |= _failure_verdict(verification)
    if verification.system_messages is not None:
        document["systemMessages"] = list(verification.system_messages)
    if verification.request_content_status is not None:
        document["requestContentStatus"] = verification.request_content_status.value
    if verification.fault is not None:
        document["referenceError"] = verification.fault.value
    return {"ok": True, "record": document}


def _part_verdict(found: Found) -> dict[str, Any]:
    if found.fault is None:
        return {"text": found.text, "contentStatus": "available"}
    return {"contentStatus": "reference-unavailable", "referenceError": found.fault.value}


def _failure_verdict(verification: Verification) -> dict[str, Any]:
    if verification.failure_status is None:
        return {}
    verdict: dict[str, Any] = {"failureStatus": verification.failure_status.value}
    if verification.failure is not None:
        failure = verification.failure
        return verdict | {"failure": {"code": failure.code, "message": failure.message}}
    fault = verification.failure_fault
    return verdict | {"failureReferenceError": fault.value if fault else None}


def legacy_detail_document(record: LegacyRecord) -> dict[str, Any]:
    """Give one legacy record as it was stored; texts in it are labelled as legacy."""
    return {"ok": True, "record": legacy_to_json(record)}


def audits_document(
    store: TraceStore, session_id: str, legacy: Sequence[LegacyRecord] = ()
) -> dict[str, Any]:
    """List a session's audits, oldest first: `GET /v1/traces`."""
    records = store.records(session_id)
    present = {record.capture_id for record in records}
    old = [
        one.audit
        for one in legacy
        if one.audit_only and one.session_id == session_id and one.capture_id not in present
    ]
    audits = [record.audit for record in records if record.audit and record.audit.get("id")]
    return {
        "ok": True,
        "sessionId": session_id,
        "records": [thaw(audit) for audit in (*old, *audits)],
        "storage": storage_document(store.limits),
        "authority": AUTHORITY,
    }
