"""Chats: JSON Lines, one header and then one message a line.

A chat is read line by line, so that a file of any length streams (`read_chat_lines`); `parse_chat`
collects the lines into one value. A line that cannot be read is kept and reported, never dropped:
SillyTavern forgets it at the next save.

Source: SillyTavern 1.19.0, src/endpoints/chats.js (getChatData, import) and public/script.js.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs
from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._fields import Field, Kind, Misfit, json_type
from tavern_format._json_text import JsonObject
from tavern_format._kinds import ANYTHING, FLAG, MAPPING, NUMBER, TEXT, optional
from tavern_format._structure import Origin, Spec
from tavern_format.diagnostics import Parsed, Remarks, Report, error, pointer, warn
from tavern_format.errors import FormatError, LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits


@frozen(kw_only=True, weakref_slot=False)
class ChatHeader:
    """The first line of a chat."""

    user_name: str = ""
    """SillyTavern 1.19 writes "unused" here and below."""
    character_name: str = ""
    create_date: Any = None
    metadata: Mapping[str, Any] = field(factory=dict)
    """`chat_metadata`: integrity, note_prompt, variables, timedWorldInfo, ..."""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class ChatMessage:
    """One message."""

    name: str = ""
    """The speaker's name."""
    is_user: bool = False
    is_system: bool = False
    """True: hidden; shown to people, not sent."""
    text: str = ""
    """`mes`."""
    send_date: Any = None
    """ISO text, milliseconds, or a text for people, as the file has it."""
    swipes: tuple[str, ...] = ()
    """All alternative texts; empty where the message never had any."""
    swipe_id: float | None = None
    """Index of the chosen one, from 0."""
    swipe_info: tuple[Any, ...] = ()
    extra: Mapping[str, Any] = field(factory=dict)
    title: str = ""
    force_avatar: str = ""
    original_avatar: str = ""
    """Avatar file of the speaker, in group chats."""
    origin: Origin | None = field(default=None, repr=False, eq=False)


class LineKind(StrEnum):
    """What a line of a chat is."""

    HEADER = "header"
    MESSAGE = "message"
    UNREAD = "unread"


@frozen
class ChatLine:
    """One line that is not blank."""

    index: int
    """Number of the line in the file, from 0, blank lines counted."""
    kind: LineKind
    value: Any
    """The JSON object; of an unread line its text."""


@frozen(kw_only=True)
class Chat:
    """A whole chat, oldest message first."""

    header: ChatHeader | None = None
    messages: Sequence[ChatMessage] = ()
    unread: tuple[ChatLine, ...] = ()
    """Lines that are no message, kept for writing. `index` counts lines."""


def _unwrap(value: object) -> str | None:
    """Chub exports wrap texts as `{"message": ...}`."""
    inner = value.get("message") if isinstance(value, dict) else None
    return inner if isinstance(inner, str) else None


def _read_message_text(value: object) -> str:
    inner = _unwrap(value)
    if inner is not None:
        raise Misfit(inner, "a string")
    return TEXT.read(value)  # type: ignore[no-any-return]


def _read_swipes(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Misfit((), "an array of strings")
    texts = tuple(item if isinstance(item, str) else _unwrap(item) or "" for item in value)
    if all(isinstance(item, str) for item in value):
        return texts
    raise Misfit(texts, "an array of strings only")


def _read_list(value: object) -> tuple[Any, ...]:
    if isinstance(value, list):
        return tuple(value)
    if value is None:
        return ()
    raise Misfit((), "an array")


_HEADER_SPEC = Spec(
    "chat-header",
    ChatHeader,
    (
        Field("user_name", ("user_name",), TEXT, default=""),
        Field("character_name", ("character_name",), TEXT, default=""),
        Field("create_date", ("create_date",), ANYTHING),
        Field("metadata", ("chat_metadata",), MAPPING),
    ),
)
_MESSAGE_SPEC = Spec(
    "chat-message",
    ChatMessage,
    (
        Field("name", ("name",), TEXT, default=""),
        Field("is_user", ("is_user",), FLAG, default=False),
        Field("is_system", ("is_system",), FLAG, default=False),
        Field("text", ("mes",), Kind(TEXT.exact, _read_message_text), default=""),
        Field("send_date", ("send_date",), ANYTHING, sparse=True),
        Field("swipes", ("swipes",), Kind(frozenset(), _read_swipes, list), sparse=True),
        Field("swipe_id", ("swipe_id",), optional(NUMBER), sparse=True),
        Field("swipe_info", ("swipe_info",), Kind(frozenset(), _read_list, list), sparse=True),
        Field("extra", ("extra",), MAPPING),
        Field("title", ("title",), TEXT, default="", sparse=True),
        Field("force_avatar", ("force_avatar",), TEXT, default="", sparse=True),
        Field("original_avatar", ("original_avatar",), TEXT, default="", sparse=True),
    ),
)
_HEADER_MARKS = ("chat_metadata", "user_name", "character_name")


def parse_chat(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[Chat]:
    """Parse a SillyTavern chat (`.jsonl`).

    Pointers of diagnostics begin with the line number from 0: `/3/mes`. Raises
    MalformedResourceError (CHAT_NOT_FOUND, EMPTY_INPUT, ENCODING_NOT_UTF8) when the first line is
    neither a header nor a message, and LimitExceededError. For chats of other applications see
    `import_chat`.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    lines = list(read_chat_lines(data.split(b"\n"), found, limits=limits))
    if not lines:
        message = "the chat is empty"
        raise MalformedResourceError("EMPTY_INPUT", message, offset_bytes=0)
    return Parsed(_collect(lines, found), found.all())


def dump_chat(chat: Chat) -> bytes:
    """Write a chat: header, then messages; unread lines go back to where they were.

    Lines are joined by a line feed, with none at the end, as SillyTavern writes them.
    """
    lines: list[bytes] = []
    if chat.header is not None:
        lines.append(json_text.dump(_HEADER_SPEC.encode(chat.header)))
    lines.extend(json_text.dump(_MESSAGE_SPEC.encode(message)) for message in chat.messages)
    for line in chat.unread:
        text = line.value.encode("utf-8", "surrogatepass")
        lines.insert(min(line.index, len(lines)), text)
    return b"\n".join(lines)


def read_chat_lines(
    lines: Iterable[bytes], report: Report, *, limits: Limits = DEFAULT_LIMITS
) -> Iterator[ChatLine]:
    """Read a chat as a stream: `lines` is any iterable of lines, such as an open binary file.

    Lines end at line feeds only (never at U+2028 and its kind). Blank lines are passed over.
    Raises as `parse_chat`, while iterating.
    """
    started = False
    for index, line in enumerate(lines):
        if index >= limits.chat_messages:
            raise LimitExceededError(
                limit="chat_messages", actual=index + 1, maximum=limits.chat_messages, unit="lines"
            )
        text = line.strip()
        if not text:
            continue
        yield _read_line(text, index, report, limits, first=not started)
        started = True


def _read_line(line: bytes, index: int, report: Report, limits: Limits, *, first: bool) -> ChatLine:
    path = pointer("", index)
    try:
        document: Any = json_text.load(line, limits, report, path=path)
    except LimitExceededError:
        raise
    except FormatError as fault:
        if first:
            raise MalformedResourceError(fault.code, fault.message, path=path) from None
        message = f"line {index + 1} is no JSON ({fault.message}); it is kept but not used"
        error(report, "CHAT_LINE_UNREAD", path, message)
        return ChatLine(index, LineKind.UNREAD, line.decode("utf-8", "replace"))
    if isinstance(document, dict) and (not first or _starts_chat(document)):
        return ChatLine(index, _kind_of(document, path, report, first=first), document)
    if first:
        message = f"line {index + 1} is neither a chat header nor a message"
        raise MalformedResourceError("CHAT_NOT_FOUND", message, path=path)
    message = f"line {index + 1} is {json_type(document)}, no message; it is kept but not used"
    error(report, "CHAT_LINE_UNREAD", path, message)
    return ChatLine(index, LineKind.UNREAD, line.decode("utf-8", "replace"))


def _starts_chat(document: JsonObject) -> bool:
    """Follow SillyTavern's import: one of these keys makes a first line acceptable."""
    known = ("user_name", "name", "chat_metadata", "character_name", "mes")
    return not document.keys().isdisjoint(known) and "data" not in document


def _kind_of(document: JsonObject, path: str, report: Report, *, first: bool) -> LineKind:
    if not first:
        return LineKind.MESSAGE
    if "mes" not in document and not document.keys().isdisjoint(_HEADER_MARKS):
        return LineKind.HEADER
    message = "no header line: the chat starts with a message and has no metadata"
    warn(report, "CHAT_HEADER_MISSING", path, message)
    return LineKind.MESSAGE


def _collect(lines: Sequence[ChatLine], report: Report) -> Chat:
    header = None
    if lines[0].kind is LineKind.HEADER:
        header = _HEADER_SPEC.decode(lines[0].value, pointer("", lines[0].index), report)
    rows = [line for line in lines if line.kind is LineKind.MESSAGE]
    messages = _MESSAGE_SPEC.decode_all(
        [line.value for line in rows], lambda at: pointer("", rows[at].index), report
    )
    unread = tuple(
        attrs.evolve(line, index=at)
        for at, line in enumerate(lines)
        if line.kind is LineKind.UNREAD
    )
    return Chat(header=header, messages=messages, unread=unread)


def message_from_json(raw: JsonObject) -> ChatMessage:
    """Read one message object, as `read_chat_lines` yields it."""
    return _MESSAGE_SPEC.decode(raw, "", lambda _: None)


def header_from_json(raw: JsonObject) -> ChatHeader:
    """Read one header object, as `read_chat_lines` yields it."""
    return _HEADER_SPEC.decode(raw, "", lambda _: None)
