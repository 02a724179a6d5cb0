"""What the command line prints: lines of text and JSON values, made of records.

Owns the words and columns. Texts of a session are shown only where they were asked for. Must not
know files or streams.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from tavern_trace._columns import clean, printable, table
from tavern_trace._json import EMPTY, Json, as_array, as_object, as_text, thaw
from tavern_trace.api import detail_document
from tavern_trace.codec import record_to_json
from tavern_trace.fault import Found
from tavern_trace.legacy import LegacyRecord, legacy_to_json
from tavern_trace.schema import Changes, ContentStatus, Part, TraceRecord
from tavern_trace.trace_file import TraceFile
from tavern_trace.verify import Verification

_SHORT = 8
_HASH = 12
_LEGACY = "legacy, proven by nothing"
INDEX_HEAD = ("ID", "TURN", "TRY", "PARTS", "BEGAN (UTC)", "STATUS", "CONTENT", "SESSION")
PART_HEAD = ("#", "UTF-16", "SHA-256", "TEXT AT", "NAME", "SOURCES")
DECISION_HEAD = ("ENTRY", "DECISION", "REASON", "MATCHES", "NAME")


def moment(at_ms: int) -> str:
    """Write a time; one that no calendar has as its number."""
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, tz=UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return str(at_ms)


def index_lines(found: TraceFile, cells: int) -> Iterator[str]:
    """List all records of a file."""
    rows = [
        *(_legacy_row(one) for one in found.legacy),
        *(_index_row(record) for record in found.records),
    ]
    if rows:
        yield from table(INDEX_HEAD, rows, cells)
    else:
        yield "no records"
    for remark in found.remarks:
        yield clean(f"{remark.code} {remark.row} {remark.message}")


def _index_row(record: TraceRecord) -> Sequence[object]:
    return (
        record.id[:_SHORT],
        f"{record.turn}.{record.step}",
        record.attempt,
        len(record.sections) + len(record.contexts),
        moment(record.recorded_at_ms),
        record.status.value,
        record.content_status.value,
        record.session_id,
    )


def _legacy_row(one: LegacyRecord) -> Sequence[object]:
    found = one.audit if one.audit_only else one.document
    sections = len(as_array(one.document.get("sections")))
    label = one.content_status if one.audit_only else f"{one.content_status} ({_LEGACY})"
    turn = f"{found.get('turn')}.{found.get('step')}"
    began = moment(one.recorded_at_ms)
    tried = found.get("attempt") or 0
    return one.id[:16], turn, tried, sections, began, one.status, label, one.session_id


def record_lines(
    record: TraceRecord, cells: int, verification: Verification | None = None
) -> Iterator[str]:
    """Show one record: its parts with their sources, then what the audit says."""
    yield f"record   {clean(record.id)}"
    yield f"session  {clean(record.session_id)}"
    place = f"turn {record.turn}  step {record.step}  attempt {record.attempt}"
    yield f"request  {place}  {moment(record.recorded_at_ms)}"
    content = verification.content_status if verification else record.content_status
    yield f"status   {record.status.value}  content {content.value}"
    yield from _delivery_lines(record)
    yield from _parts_lines("sections", record.sections, cells)
    yield from _parts_lines("contexts", record.contexts, cells)
    if record.changes is not None:
        yield ""
        yield from changes_lines(record.changes)
    yield from _audit_lines(record, cells)
    for draw in record.draws:
        yield f"drawn    {draw.value}  {clean(draw.purpose)}"


def _delivery_lines(record: TraceRecord) -> Iterator[str]:
    found = record.delivery
    if found is None:
        yield "sent     nobody saw it"
        return
    proven = "verified" if found.assembly_verified else "NOT verified"
    logged = "in the history" if found.history_verified else "NOT in the history"
    model = f"{found.provider or '?'}/{found.model or '?'}"
    yield f"sent     {clean(model)}, {len(found.tool_names)} tools, system text {proven}, {logged}"


def _parts_lines(title: str, parts: Sequence[Part], cells: int) -> Iterator[str]:
    if parts:
        yield ""
        yield f"{title}:"
        rows = [_part_row(part) for part in parts]
        yield from table(PART_HEAD, rows, cells)


def _part_row(part: Part) -> Sequence[object]:
    sources = ", ".join(f"{one.kind} {one.resource_id} {one.field}" for one in part.sources)
    return part.index, part.utf16, part.text_hash[:_HASH], _place(part), part.name, sources or "-"


def _place(part: Part) -> str:
    found = part.reference
    if found is None:
        return "-"
    if found.range is None:
        return f"event {found.event_seq}"
    return f"event {found.event_seq} {found.range.start_utf16}..{found.range.end_utf16}"


def _audit_lines(record: TraceRecord, cells: int) -> Iterator[str]:
    audit = record.audit or EMPTY
    for book in map(as_object, as_array(audit.get("worldBooks"))):
        resource = as_object(book.get("resource"))
        yield ""
        yield clean(f"world book {resource.get('name')} ({resource.get('id')}):")
        rows = [_decision_row(one) for one in as_array(book.get("decisions"))]
        yield from table(DECISION_HEAD, rows, cells)
    remarks = [as_object(one) for one in as_array(audit.get("diagnostics"))]
    if remarks:
        yield ""
    for one in remarks:
        yield clean(f"{one.get('severity')} {one.get('code')}: {one.get('message')}")


def _decision_row(value: Json) -> Sequence[object]:
    found = as_object(value)
    matches = (*as_array(found.get("primaryMatches")), *as_array(found.get("secondaryMatches")))
    return (
        as_text(found.get("entryId")) or "-",
        as_text(found.get("decision")) or "-",
        as_text(found.get("reason")) or "-",
        ", ".join(map(str, matches)) or "-",
        as_text(found.get("entryName")) or "-",
    )


# --- verification ----------------------------------------------------------------------------

VERDICT_HEAD = ("ID", "TURN", "TRY", "SECTIONS", "CONTEXTS", "CONTENT", "REASON")


def is_proven(record: TraceRecord, found: Verification) -> bool:
    """Tell whether every text of a record was recovered."""
    whole = found.content_status is ContentStatus.AVAILABLE
    request = found.request_content_status is None and bool(record.system_message_refs)
    return whole and request and found.failure_fault is None


def verdict_lines(
    results: Sequence[tuple[TraceRecord, Verification]], cells: int, *, texts: bool
) -> Iterator[str]:
    """Say what a history proves of each record, and of each part that it does not."""
    rows = [_verdict_row(record, found) for record, found in results]
    yield from table(VERDICT_HEAD, rows, cells)
    for record, found in results:
        pairs = _pairs(record, found)
        for part, one in pairs:
            if one.fault is not None and found.fault is None:
                yield clean(f"{record.id[:_SHORT]} {part.name}: {one.fault.value}")
        if found.failure_fault is not None:
            yield f"{record.id[:_SHORT]} failure: {found.failure_fault.value}"
        for part, one in pairs if texts else ():
            if one.text is not None:
                yield from ("", clean(f"--- {record.id[:_SHORT]} {part.name}"))
                yield from map(printable, one.text.splitlines())


def _pairs(record: TraceRecord, found: Verification) -> list[tuple[Part, Found]]:
    parts = (*record.sections, *record.contexts)
    return list(zip(parts, (*found.sections, *found.contexts), strict=True))


def _verdict_row(record: TraceRecord, found: Verification) -> Sequence[object]:
    return (
        record.id[:_SHORT],
        f"{record.turn}.{record.step}",
        record.attempt,
        _share(found.sections),
        _share(found.contexts),
        found.content_status.value,
        found.fault.value if found.fault else "-",
    )


def _share(found: Sequence[Found]) -> str:
    return f"{sum(one.fault is None for one in found)}/{len(found)}"


def verdict_json(
    results: Iterable[tuple[TraceRecord, Verification]], *, texts: bool
) -> list[dict[str, Any]]:
    """Give the detail document of each record; texts only where they were asked for."""
    records: list[dict[str, Any]] = [
        detail_document(record, found)["record"] for record, found in results
    ]
    return records if texts else [_without_texts(record) for record in records]


def _without_texts(record: dict[str, Any]) -> dict[str, Any]:
    bare = {key: item for key, item in record.items() if key not in ("systemMessages", "failure")}
    for key in ("sections", "contexts"):
        if key in bare:
            bare[key] = [{k: v for k, v in part.items() if k != "text"} for part in bare[key]]
    return bare


# --- differences -----------------------------------------------------------------------------


def changes_lines(changes: Changes) -> Iterator[str]:
    """Say what differs from an earlier record."""
    since = clean(changes.previous_id[:_SHORT])
    yield f"since {since}: the first {changes.common_prefix_utf16} UTF-16 units are equal"
    for sign, names in (
        ("+", changes.added), ("-", changes.removed), ("~", changes.changed)
    ):  # fmt: skip
        for name in names:
            yield f"{sign} {clean(name)}"
    if not (changes.added or changes.removed or changes.changed):
        yield "the parts are the same"


def changes_json(changes: Changes) -> dict[str, Any]:
    """Give what differs as JSON."""
    return {
        "previousId": changes.previous_id,
        "commonPrefixUtf16": changes.common_prefix_utf16,
        "added": list(changes.added),
        "removed": list(changes.removed),
        "changed": list(changes.changed),
    }


def file_json(found: TraceFile, records: Iterable[TraceRecord]) -> dict[str, Any]:
    """Give records as JSON, as they are stored; legacy texts keep their label."""
    return {
        "kind": found.kind,
        "records": [thaw(record_to_json(record)) for record in records],
        "legacy": [legacy_to_json(one) for one in found.legacy],
        "remarks": [
            {"code": one.code, "row": one.row, "message": one.message} for one in found.remarks
        ],
    }
