"""What a file is, by its content alone: first the container, then the shape of the JSON inside.

`detect` looks no deeper than it must and never refuses a whole file for a detail; the parsers do.
The order of the table `SHAPES` matters where two shapes overlap; for the text-completion family
it is the order in which SillyTavern tries them.

Source: SillyTavern 1.19.0, public/scripts/preset-manager.js (master import),
public/scripts/world-info.js (importWorldInfo), src/endpoints/chats.js (import).
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from attrs import frozen

from tavern_format import _json_text as json_text
from tavern_format._json_text import JsonObject
from tavern_format._zip_directory import LOCAL_MARK
from tavern_format.errors import FormatError
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.png_chunks import PNG_SIGNATURE

_EMPTY_ZIP = b"PK\x05\x06"


class Container(StrEnum):
    """How the bytes are packed."""

    TEXT = "text"
    PNG = "png"
    ZIP = "zip"
    PICTURE = "picture"
    """JPEG, WebP or GIF, perhaps with an archive behind it."""


class ResourceKind(StrEnum):
    """Everything the package can tell apart."""

    CHARACTER_CARD = "character-card"
    WORLD_BOOK = "world-book"
    CHAT_COMPLETION_PRESET = "chat-completion-preset"
    PROMPT_EXPORT = "prompt-export"
    INSTRUCT = "instruct"
    CONTEXT = "context"
    SYSTEM_PROMPT = "sysprompt"
    TEXT_COMPLETION_PRESET = "text-completion-preset"
    REASONING = "reasoning"
    MASTER_PRESET = "master-preset"
    REGEX_SCRIPTS = "regex-scripts"
    CHAT = "chat"
    FOREIGN_CHAT = "foreign-chat"
    PERSONAS = "personas"
    QUICK_REPLIES = "quick-replies"
    GROUP = "group"
    UNKNOWN = "unknown"


@frozen
class Detection:
    """The verdict on a file."""

    kind: ResourceKind
    container: Container


def _has(*keys: str) -> Callable[[JsonObject], bool]:
    return lambda found: all(found.get(key, _ABSENT) is not _ABSENT for key in keys)


_ABSENT = object()


_GREETED = ("first_mes", "mes_example")
"""Keys of a card's top level that no other kind has."""
_DESCRIBED = ("description", "personality", "scenario", "greeting")
"""Keys of a card's top level that others have too; they make a card beside a name only."""


def _is_card(found: JsonObject) -> bool:
    """Know a card by marks of its own."""
    if "spec" in found:
        return not str(found["spec"]).startswith("lorebook")
    data = found.get("data")
    in_data = (
        isinstance(data, dict)
        and "entries" not in data
        and ("first_mes" in data or "description" in data)
    )
    greeting = "name" in found and not found.keys().isdisjoint(_GREETED)
    return in_data or greeting or "char_name" in found


def _is_described(found: JsonObject) -> bool:
    return "name" in found and not found.keys().isdisjoint(_DESCRIBED)


def _is_book(found: JsonObject) -> bool:
    data = found.get("data")
    inside = isinstance(data, dict) and "entries" in data
    marked = found.get("kind") == "memory" or found.get("type") == "risu"
    return "entries" in found or inside or marked or "lorebookVersion" in found


def _is_preset(found: JsonObject) -> bool:
    marks = ("prompts", "prompt_order", "chat_completion_source", "openai_max_context")
    named = not found.keys().isdisjoint(marks)
    sampling = "temperature" in found and "openai_max_tokens" in found
    return named or sampling


def _is_prompt_export(found: JsonObject) -> bool:
    data = found.get("data")
    return "version" in found and "type" in found and isinstance(data, dict) and "prompts" in data


def _is_foreign_chat(found: JsonObject) -> bool:
    marks = ("savedsettings", "histories", "data_visible", "messages")
    return not found.keys().isdisjoint(marks) or found.get("type") == "risuChat"


def _is_master(found: JsonObject) -> bool:
    return bool(master_sections(found))


Shape = Callable[[JsonObject], bool]
TEXT_COMPLETION_SHAPES: tuple[tuple[str, ResourceKind, Shape], ...] = (
    ("instruct", ResourceKind.INSTRUCT, _has("name", "input_sequence", "output_sequence")),
    ("context", ResourceKind.CONTEXT, _has("name", "story_string")),
    ("sysprompt", ResourceKind.SYSTEM_PROMPT, _has("name", "content")),
    ("preset", ResourceKind.TEXT_COMPLETION_PRESET, _has("temp", "top_k", "top_p", "rep_pen")),
    ("reasoning", ResourceKind.REASONING, _has("name", "prefix", "suffix", "separator")),
)
"""Section name in a master file, kind, shape; in the order SillyTavern tries them."""
MASTER_EXTRA = ("srw", _has("value", "show"))

SHAPES: tuple[tuple[ResourceKind, Shape], ...] = (
    (ResourceKind.CHAT, lambda found: "chat_metadata" in found or "mes" in found),
    (ResourceKind.REGEX_SCRIPTS, lambda found: "scriptName" in found or "findRegex" in found),
    (ResourceKind.PROMPT_EXPORT, _is_prompt_export),
    (ResourceKind.CHARACTER_CARD, _is_card),
    *((kind, shape) for _, kind, shape in TEXT_COMPLETION_SHAPES),
    (ResourceKind.PERSONAS, lambda found: "personas" in found),
    (ResourceKind.QUICK_REPLIES, lambda found: "qrList" in found or "quickReplySlots" in found),
    (ResourceKind.GROUP, _has("members", "chat_id")),
    (ResourceKind.WORLD_BOOK, _is_book),
    (ResourceKind.CHAT_COMPLETION_PRESET, _is_preset),
    (ResourceKind.CHARACTER_CARD, _is_described),
    (ResourceKind.FOREIGN_CHAT, _is_foreign_chat),
    (ResourceKind.MASTER_PRESET, _is_master),
    (ResourceKind.CHARACTER_CARD, lambda found: isinstance(found.get("name"), str)),
)

_PHRASES = {
    ResourceKind.WORLD_BOOK: "a world book",
    ResourceKind.CHAT_COMPLETION_PRESET: "a chat-completion preset",
    ResourceKind.PROMPT_EXPORT: "an export of prompts",
    ResourceKind.REGEX_SCRIPTS: "a regex script",
    ResourceKind.CHAT: "a chat",
    ResourceKind.FOREIGN_CHAT: "a chat of another application",
    ResourceKind.PERSONAS: "a backup of personas",
    ResourceKind.QUICK_REPLIES: "a set of quick replies",
    ResourceKind.GROUP: "a group",
    ResourceKind.CHARACTER_CARD: "a character card",
}


def detect(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Detection:
    """Say what a file is. UNKNOWN is an answer, not an error; nothing of the content is kept.

    A PNG counts as a character card unless it holds only a NovelAI lorebook, an archive as a
    character card (CHARX or BYAF). Raises LimitExceededError for an input over `input_bytes`.
    """
    data = json_text.as_bytes(data, limits)
    container = guess_container(data)
    if container is Container.PNG:
        only_book = (
            b"naidata" in data and b"chara" not in data.lower() and b"ccv3" not in data.lower()
        )
        kind = ResourceKind.WORLD_BOOK if only_book else ResourceKind.CHARACTER_CARD
        return Detection(kind, container)
    if container is not Container.TEXT:
        archive = LOCAL_MARK in data
        return Detection(
            ResourceKind.CHARACTER_CARD if archive else ResourceKind.UNKNOWN, container
        )
    return Detection(_detect_text(data, limits), container)


def guess_container(data: bytes) -> Container:
    """Tell the container by the first bytes."""
    if data[:8] == PNG_SIGNATURE:
        return Container.PNG
    if data[:4] in (LOCAL_MARK, _EMPTY_ZIP):
        return Container.ZIP
    webp = data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    if data[:3] == b"\xff\xd8\xff" or data[:4] == b"GIF8" or webp:
        return Container.PICTURE
    return Container.TEXT


def detect_document(document: object) -> ResourceKind:
    """Tell the kind of parsed JSON."""
    if isinstance(document, list):
        first = next((item for item in document if isinstance(item, dict)), {})
        kind = detect_document(first) if first else ResourceKind.UNKNOWN
        listed = (ResourceKind.REGEX_SCRIPTS,)
        return kind if kind in listed else ResourceKind.UNKNOWN
    if not isinstance(document, dict):
        return ResourceKind.UNKNOWN
    return next((kind for kind, shape in SHAPES if shape(document)), ResourceKind.UNKNOWN)


def master_sections(document: JsonObject) -> tuple[str, ...]:
    """List the valid sections of a master file, in SillyTavern's order."""
    shapes = [(name, shape) for name, _, shape in TEXT_COMPLETION_SHAPES] + [MASTER_EXTRA]
    return tuple(
        name
        for name, shape in shapes
        if isinstance(document.get(name), dict) and shape(document[name])
    )


def name_document(document: JsonObject) -> str | None:
    """Name what a parsed object is in words, for messages; None for cards and the unknown."""
    kind = detect_document(document)
    if kind in (ResourceKind.CHARACTER_CARD, ResourceKind.UNKNOWN):
        return None
    return _PHRASES.get(kind, f"a {kind} file")


def name_text(data: bytes) -> str | None:
    """Name what a text that is no single JSON document is; None for the unknown."""
    return _PHRASES[ResourceKind.CHAT] if _first_line_kind(data) is ResourceKind.CHAT else None


def _detect_text(data: bytes, limits: Limits) -> ResourceKind:
    document = _load(data, limits)
    if document is not None:
        return detect_document(document)
    if _first_line_kind(data) is ResourceKind.CHAT:
        return ResourceKind.CHAT
    head = data[:4096].lstrip()
    yaml = head[:1] not in (b"{", b"[", b"") and (b"\nname:" in b"\n" + head)
    return ResourceKind.CHARACTER_CARD if yaml else ResourceKind.UNKNOWN


def _first_line_kind(data: bytes) -> ResourceKind:
    line = data.lstrip().split(b"\n", 1)[0]
    document: Any = json_text.load_leniently(line) if line[:1] in (b"{", b"\xef") else None
    if isinstance(document, dict) and ("user_name" in document or "character_name" in document):
        return ResourceKind.CHAT
    return detect_document(document)


def _load(data: bytes, limits: Limits) -> Any:  # noqa: ANN401
    try:
        return json_text.load(data, limits, lambda _: None)
    except FormatError:
        return None
