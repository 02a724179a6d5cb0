"""Reading the host's history: a session log as the host writes it, or an inspection it gives.

Owns the shapes of both. A snapshot is made of one of
- `{"meta": {"version", "id", "createdAt"}, "events": [{"seq", "type", "data"}]}`, what the host
  gives on inspection; `header` for `meta` is the same; `surface: {"nodes": [seq]}` may go along;
- a log file, one JSON object per line: the header, then the events. A run of `assistant/chunk`
  events may be packed into one row, which has `seq0` for `seq`.

Where a host says no surface it follows from the `surfaceOp` of the events: `append`, or
`{"op": "replace", "start", "end"}` with the numbers of the first and last event that give way.
Must not know what a trace looks for in a history.

Source: a session log and an inspection of DSH 0.1.0-rc.8; the host contract, sections 5 and 9.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from tavern_trace._json import EMPTY, JsonObject, as_text, as_whole, freeze, freeze_object, parse
from tavern_trace.errors import SchemaError
from tavern_trace.history import KEPT_TYPES, HistoryEvent, HistorySnapshot

PACKED_TYPES = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})
"""Rows of a log file that stand for a run of events, one more than their data has time gaps."""
_HEADER_KEYS = ("meta", "header", "session", "data")


def history_from_json(document: Mapping[str, Any]) -> HistorySnapshot:
    """Make a snapshot of an inspection. Raises SchemaError, HISTORY_UNREADABLE."""
    events = document.get("events")
    if not isinstance(events, list | tuple):
        raise _unreadable("there is no list of events")
    surface = document.get("surface")
    nodes = surface.get("nodes") if isinstance(surface, Mapping) else surface
    return _snapshot(_header(document), events, nodes)


def load_history(data: bytes) -> HistorySnapshot:
    """Read a session log: one JSON object per line, or an inspection as one JSON document.

    Raises SchemaError: HISTORY_UNREADABLE, and for a broken line NOT_UTF8, INVALID_JSON or
    NESTED_TOO_DEEP with its number as the path. A last line without an end may be broken: a host
    that was stopped while it wrote leaves one.
    """
    lines = _lines(data)
    rows = (_row(line) for line in lines)
    first = _first(next(lines, None))
    if first is None:
        return _whole(data)
    if "events" not in first:
        return _snapshot(_header(first), (row for row in rows if row is not None), None)
    if next(lines, None) is not None:
        raise _unreadable("an inspection stands alone")
    return history_from_json(first)


def extend_history(history: HistorySnapshot, events: Iterable[Any]) -> HistorySnapshot:
    """Give the history as it is after more events, in the host's own JSON.

    Those it has already change nothing. Costs what the new events cost: one snapshot may follow a
    session event by event. Raises SchemaError, HISTORY_UNREADABLE.
    """
    added: list[HistoryEvent] = []
    operations: list[tuple[object, int]] = []
    cut = history.cut
    for event in events:
        seq, last, kind = _place(event)
        if seq <= history.cut:
            continue
        cut = max(cut, last)
        if kind in KEPT_TYPES:
            added.append(HistoryEvent(seq=seq, type=kind, data=_shallow(event.get("data"))))
        if "surfaceOp" in event:
            operations.append((event["surfaceOp"], seq))
    known = history.events
    return evolve(
        history,
        events=tuple(sorted((*known, *added), key=lambda one: one.seq)) if added else known,
        cut=cut,
        surface=_shown_after(history.surface, operations) if operations else history.surface,
    )


# --- a log, line by line ---------------------------------------------------------------------


@frozen
class _Line:
    number: int
    """From 1."""
    data: bytes
    is_whole: bool
    """False: it has no end, so it is the last one and may be broken."""


def _lines(data: bytes) -> Iterator[_Line]:
    """Cut a log into its lines, one at a time: a log may be large."""
    number = start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        line = data[start:] if end < 0 else data[start:end]
        number += 1
        if line.strip():
            yield _Line(number, line, end >= 0)
        start += len(line) + 1


def _first(line: _Line | None) -> Mapping[str, Any] | None:
    """Read the first line; None if it is no JSON: perhaps one document stands on many lines."""
    if line is None:
        return None
    try:
        found = parse(line.data)
    except SchemaError:
        return None
    return _object(found)


def _row(line: _Line) -> Mapping[str, Any] | None:
    """Read one line; None if it was still being written."""
    try:
        found = parse(line.data)
    except SchemaError as fault:
        if line.is_whole:
            raise SchemaError(fault.code, "not JSON", path=f"line {line.number}") from None
        return None
    return _object(found)


def _object(found: object) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise _unreadable("a line is no object")
    return found


def _whole(data: bytes) -> HistorySnapshot:
    document = parse(data)
    if not isinstance(document, Mapping):
        raise _unreadable("it is no object")
    return history_from_json(document)


# --- headers and events ----------------------------------------------------------------------


def _header(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Find version, id and createdAt: in the object itself, or in one it holds."""
    held = (document.get(key) for key in _HEADER_KEYS)
    for header in (*held, document):
        if isinstance(header, Mapping) and isinstance(header.get("id"), str):
            return header
    raise _unreadable("there is no session header")


def _snapshot(header: Mapping[str, Any], rows: Iterable[Any], nodes: object) -> HistorySnapshot:
    version = as_whole(header.get("version"))
    if version is None:
        raise _unreadable("the session header has no version")
    empty = HistorySnapshot(
        session_id=header["id"],
        format_version=version,
        created_at=freeze(header.get("createdAt")),
    )
    history = extend_history(empty, rows)
    return evolve(history, surface=_numbers(nodes)) if isinstance(nodes, list | tuple) else history


def _numbers(nodes: Iterable[object]) -> tuple[int, ...]:
    return tuple(seq for seq in map(as_whole, nodes) if seq is not None)


def _place(row: object) -> tuple[int, int, str]:
    """Tell the first and last number and the type of an event, or of a packed run of them."""
    found = row if isinstance(row, Mapping) else {}
    kind = as_text(found.get("type"))
    packed = kind in PACKED_TYPES
    seq = as_whole(found.get("seq0" if packed else "seq"))
    if seq is None or kind is None:
        raise _unreadable("an event has no seq or type")
    data = found.get("data")
    gaps = data.get("dt") if packed and isinstance(data, Mapping) else None
    return seq, seq + (len(gaps) if isinstance(gaps, list | tuple) else 0), kind


def _shown_after(
    surface: tuple[int, ...] | None, operations: Iterable[tuple[object, int]]
) -> tuple[int, ...]:
    """Put events at the end of the surface or in the place of others; of unknown ones, nowhere."""
    shown = list(surface or ())
    for operation, seq in operations:
        if operation == "append":
            shown.append(seq)
            continue
        found = operation if isinstance(operation, Mapping) else {}
        first, last = found.get("start"), found.get("end")
        if first in shown and last in shown[shown.index(first) :]:
            shown[shown.index(first) : shown.index(last) + 1] = [seq]
    return tuple(shown)


def _shallow(data: object) -> JsonObject:
    """Freeze the data of an event; of one nested without measure nothing is kept.

    No text that a record points to is in such a one, and the others are still wanted.
    """
    try:
        return freeze_object(data) if isinstance(data, Mapping) else EMPTY
    except SchemaError:
        return EMPTY


def _unreadable(message: str) -> SchemaError:
    return SchemaError("HISTORY_UNREADABLE", message)
