"""The host's own history of a session, as far as a trace looks at it.

Owns the snapshot value and what its messages mean. It is shaped by what a history has (a surface of
messages, system messages, headers with a system text), not by the host's version. Must not know
records, nor how a history is read (`history_reading`).

Source: the host contract, sections 5 and 9; the plugin contract, sections D1 and D3.
"""

from collections.abc import Mapping

from attrs import field, frozen

from tavern_trace._json import Json, JsonObject, as_array, as_object, as_text
from tavern_trace.hashing import digest

SYSTEM_MESSAGE = "system/message"
USER_MESSAGE = "user/message"
REQUEST_HEADER = "request/header"
TURN_END = "turn/end"
ASSISTANT_ATTEMPT = "assistant/attempt"
KEPT_TYPES = frozenset({SYSTEM_MESSAGE, USER_MESSAGE, REQUEST_HEADER, TURN_END, ASSISTANT_ATTEMPT})
"""Events that a trace may look at; all others only count."""
_CONTEXT_PLUGIN = "@deepseek-ai/dsh-system-prompt"


@frozen(kw_only=True)
class HistoryEvent:
    """One event of a session."""

    seq: int
    type: str
    data: JsonObject = field(repr=False)

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
    """Those that a trace may look at, in the order of their numbers."""
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
