"""What the command line prints of records and their differences, as lines of text and JSON values.

Owns the words and columns. No text of a session is here. Must not know files or streams, nor what a
history proves (`cli_verdict`).
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from tavern_trace._columns import clean, table
from tavern_trace._json import EMPTY, Json, as_array, as_object, as_text, thaw
from tavern_trace.codec import record_to_json
from tavern_trace.legacy import LegacyRecord, legacy_to_json
from tavern_trace.schema import Changes, Part, TraceRecord
from tavern_trace.trace_file import TraceFile

_SHORT = 8
"""So much of an id is shown, or more where ids begin alike."""
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
    shown = shown_ids(found.records)
    rows = [
        *(_legacy_row(one) for one in found.legacy),
        *(_index_row(record, name) for record, name in zip(found.records, shown, strict=True)),
    ]
    if rows:
        yield from table(INDEX_HEAD, rows, cells)
    else:
        yield "no records"
    for remark in found.remarks:
        yield clean(f"{remark.code} {remark.row} {remark.message}")


def shown_ids(records: Sequence[TraceRecord]) -> list[str]:
    """Cut ids short, all at one length that still tells them apart."""
    ids = {record.id for record in records}
    longest = max(map(len, ids), default=0)
    cuts = range(_SHORT, max(_SHORT, longest) + 1)
    cut = next(at for at in cuts if len({name[:at] for name in ids}) == len(ids))
    return [record.id[:cut] for record in records]


def _index_row(record: TraceRecord, name: str) -> Sequence[object]:
    return (
        name,
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


def record_lines(record: TraceRecord, cells: int) -> Iterator[str]:
    """Show one record: its parts with their sources, then what the audit says."""
    yield f"record   {clean(record.id)}"
    yield f"session  {clean(record.session_id)}"
    place = f"turn {record.turn}  step {record.step}  attempt {record.attempt}"
    yield f"request  {place}  {moment(record.recorded_at_ms)}"
    yield f"status   {record.status.value}  content {record.content_status.value}"
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
    told = ((one.kind, one.resource_id, one.field) for one in part.sources)
    sources = ", ".join(" ".join(filter(None, one)) for one in told)
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
