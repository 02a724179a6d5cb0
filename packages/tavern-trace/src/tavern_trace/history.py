"""The host's own history of a session, as far as a trace looks at it.

Owns the snapshot value and how it is read from a session log. It is shaped by what a history has
(a surface of messages, system messages, headers with a system text), not by the host's version.
Must not know records.

A snapshot is made of one of
- `{"meta": {"version", "id", "createdAt"}, "events": [{"seq", "type", "data"}]}`, what the host
  gives on inspection; `header` for `meta` is the same; `surface: {"nodes": [seq]}` may go along;
- a log file, one JSON object per line: the header, then the events. Runs of chunks may be packed.

Source: the host contract, sections 5 and 9; the plugin contract, sections D1 and D3.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from tavern_trace._json import (
    EMPTY,
    Json,
    JsonObject,
    as_array,
    as_object,
    as_text,
    as_whole,
    freeze,
    freeze_object,
    parse_text,
)
from tavern_trace.errors import SchemaError
from tavern_trace.hashing import digest

SYSTEM_MESSAGE = "system/message"
USER_MESSAGE = "user/message"
REQUEST_HEADER = "request/header"
TURN_END = "turn/end"
ASSISTANT_ATTEMPT = "assistant/attempt"
KEPT_TYPES = frozenset({SYSTEM_MESSAGE, USER_MESSAGE, REQUEST_HEADER, TURN_END, ASSISTANT_ATTEMPT})
"""Events whose data a trace may look at; of all others only the number and type are kept."""
PACKED_TYPES = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})
"""Rows of a log file that stand for a run of events, one more than their data has time gaps."""
_CONTEXT_PLUGIN = "@deepseek-ai/dsh-system-prompt"
_HEADER_KEYS = ("meta", "header", "session", "data")


@frozen(kw_only=True)
class HistoryEvent:
    """One event of a session."""

    seq: int
    type: str
    data: JsonObject = field(repr=False)
    """Empty for events that a trace never looks at."""

    @property
    def message(self) -> JsonObject | None:
        """The message that the event appends; None if it is no system or user message."""
        if self.type == SYSTEM_MESSAGE:
            return as_object(self.data.get("message"))
        return self.data if self.type == USER_MESSAGE else None

    @property
    def header_system(self) -> str | None:
        """The system text of a request header, where the host logs it there."""
        if self.type != REQUEST_HEADER:
            return None
        return as_text(as_object(self.data.get("header")).get("system"))


@frozen(kw_only=True)
class HistorySnapshot:
    """A session at one moment."""

    session_id: str
    format_version: int
    created_at: Json
    """As the host writes it: a text or a number; None: the host does not say."""
    events: tuple[HistoryEvent, ...] = field(default=(), repr=False)
    """In the order of their numbers."""
    cut: int = -1
    """Number of the last event there is, looked at or not; -1: there is none."""
    surface: tuple[int, ...] | None = None
    """Numbers of the events whose messages the model is shown; None: the host does not say."""

    def latest(self, event_type: str) -> HistoryEvent | None:
        """Give the last event of a type."""
        return next((event for event in reversed(self.events) if event.type == event_type), None)

    def surface_events(self) -> tuple[HistoryEvent, ...]:
        """Give the events on the surface, in its order; nothing where the host does not say."""
        if not self.surface:
            return ()
        by_seq = {event.seq: event for event in self.events}
        return tuple(by_seq[seq] for seq in self.surface if seq in by_seq)


def message_text(message: Mapping[str, Json]) -> str:
    """Join the text blocks of a message, without anything between them."""
    blocks = (as_object(block) for block in as_array(message.get("content")))
    texts = (as_text(block.get("text")) for block in blocks if block.get("type") == "text")
    return "".join(text for text in texts if text is not None)


def message_hash(message: Mapping[str, Json]) -> str:
    """Hash the content blocks of a message; one without content has none."""
    content = message.get("content")
    return digest(() if content is None else content)


def is_context_snapshot(message: Mapping[str, Json]) -> bool:
    """Tell whether a user message is the host's snapshot of the runtime contexts."""
    source = as_object(message.get("source"))
    if source.get("form") != "snapshot":
        return False
    kind = source.get("kind")
    return kind == "runtime-context" or (
        kind == "plugin" and source.get("plugin") == _CONTEXT_PLUGIN
    )


def context_sections(message: Mapping[str, Json]) -> tuple[JsonObject, ...]:
    """List the named sections of a context snapshot."""
    listed = as_array(as_object(message.get("source")).get("sections"))
    return tuple(as_object(item) for item in listed)


# --- reading ---------------------------------------------------------------------------------


def history_from_json(document: Mapping[str, Any]) -> HistorySnapshot:
    """Make a snapshot of an inspection. Raises SchemaError, HISTORY_UNREADABLE."""
    events = document.get("events")
    if not isinstance(events, list | tuple):
        raise _unreadable("there is no list of events")
    surface = document.get("surface")
    nodes = surface.get("nodes") if isinstance(surface, Mapping) else surface
    return _snapshot(_header(document), events, nodes)


def load_history(data: bytes) -> HistorySnapshot:
    """Read a session log: one JSON document, or one JSON object per line.

    Raises SchemaError: NOT_UTF8, HISTORY_UNREADABLE, and for a broken line INVALID_JSON or
    NESTED_TOO_DEEP with its number as the path. A last line without an end may be broken: a host
    that was stopped while it wrote leaves one.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as fault:
        raise SchemaError("NOT_UTF8", f"byte {fault.start} is not UTF-8") from None
    lines = [(at, line) for at, line in enumerate(text.split("\n"), start=1) if line.strip()]
    rows = list(_rows(lines, complete=text.endswith("\n")))
    if not rows:
        return _whole(text)
    if len(rows) == 1 and "events" in rows[0]:
        return history_from_json(rows[0])
    return _snapshot(_header(rows[0]), rows[1:], None)


def _rows(lines: list[tuple[int, str]], *, complete: bool) -> Iterator[Mapping[str, Any]]:
    for at, line in lines:
        try:
            row = parse_text(line)
        except SchemaError as fault:
            if at == lines[0][0]:
                return  # not one object per line: perhaps one document on many
            if at == lines[-1][0] and not complete:
                return
            raise SchemaError(fault.code, "not JSON", path=f"line {at}") from None
        if not isinstance(row, Mapping):
            raise _unreadable("a line is no object")
        yield row


def _whole(text: str) -> HistorySnapshot:
    document = parse_text(text)
    if not isinstance(document, Mapping):
        raise _unreadable("it is no object")
    return history_from_json(document)


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
    events = []
    cut = -1
    for row in rows:
        event = _event(row)
        events.append(event)
        cut = max(cut, event.seq + _packed_more(row))
    surface = nodes if isinstance(nodes, list | tuple) else None
    return HistorySnapshot(
        session_id=header["id"],
        format_version=version,
        created_at=freeze(header.get("createdAt")),
        events=tuple(sorted(events, key=lambda event: event.seq)),
        cut=cut,
        surface=None if surface is None else tuple(seq for seq in surface if isinstance(seq, int)),
    )


def _event(row: object) -> HistoryEvent:
    found = row if isinstance(row, Mapping) else {}
    seq, kind, data = as_whole(found.get("seq")), as_text(found.get("type")), found.get("data")
    if seq is None or kind is None:
        raise _unreadable("an event has no seq or type")
    kept = data if kind in KEPT_TYPES and isinstance(data, Mapping) else {}
    return HistoryEvent(seq=seq, type=kind, data=_shallow(kept))


def _shallow(data: Mapping[str, Any]) -> JsonObject:
    """Freeze the data of an event; of one nested without measure nothing is kept.

    No text that a record points to is in such a one, and the others are still wanted.
    """
    try:
        return freeze_object(data)
    except SchemaError:
        return EMPTY


def _packed_more(row: Mapping[str, Any]) -> int:
    """Count the events that a packed row stands for besides its first."""
    data = row.get("data")
    if row.get("type") not in PACKED_TYPES or not isinstance(data, Mapping):
        return 0
    gaps = data.get("dt")
    return len(gaps) if isinstance(gaps, list) else 0


def _unreadable(message: str) -> SchemaError:
    return SchemaError("HISTORY_UNREADABLE", message)
