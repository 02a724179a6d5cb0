"""One door for files of any kind: `detect`, then the parser of that kind.

The table below is the only place that pairs kinds with parsers and writers.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from tavern_format._book_reading import parse_world_book
from tavern_format._book_writing import dump_world_book
from tavern_format._card_reading import parse_card
from tavern_format._card_writing import dump_card
from tavern_format._preset_files import dump_preset, parse_preset
from tavern_format.chat import dump_chat, parse_chat
from tavern_format.detection import Detection, ResourceKind, detect
from tavern_format.diagnostics import Parsed
from tavern_format.errors import MalformedResourceError
from tavern_format.group import dump_group, parse_group
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.persona import dump_personas, parse_personas
from tavern_format.prompt_export import dump_prompt_export, parse_prompt_export
from tavern_format.quick_reply import dump_quick_replies, parse_quick_replies
from tavern_format.regex_script import dump_regex_scripts, parse_regex_scripts
from tavern_format.text_preset import dump_text_preset, parse_text_preset


@frozen
class Format:
    """The parser and the writer of one kind."""

    parse: Callable[..., Parsed[Any]]
    dump: Callable[..., bytes]


_TEXT_PRESET = Format(parse_text_preset, dump_text_preset)

FORMATS: dict[ResourceKind, Format] = {
    ResourceKind.CHARACTER_CARD: Format(parse_card, dump_card),
    ResourceKind.WORLD_BOOK: Format(parse_world_book, dump_world_book),
    ResourceKind.CHAT_COMPLETION_PRESET: Format(parse_preset, dump_preset),
    ResourceKind.PROMPT_EXPORT: Format(parse_prompt_export, dump_prompt_export),
    ResourceKind.INSTRUCT: _TEXT_PRESET,
    ResourceKind.CONTEXT: _TEXT_PRESET,
    ResourceKind.SYSTEM_PROMPT: _TEXT_PRESET,
    ResourceKind.TEXT_COMPLETION_PRESET: _TEXT_PRESET,
    ResourceKind.REASONING: _TEXT_PRESET,
    ResourceKind.MASTER_PRESET: _TEXT_PRESET,
    ResourceKind.REGEX_SCRIPTS: Format(parse_regex_scripts, dump_regex_scripts),
    ResourceKind.CHAT: Format(parse_chat, dump_chat),
    ResourceKind.PERSONAS: Format(parse_personas, dump_personas),
    ResourceKind.QUICK_REPLIES: Format(parse_quick_replies, dump_quick_replies),
    ResourceKind.GROUP: Format(parse_group, dump_group),
}
"""Every kind with one value to a file; chats of other applications need names: `import_chat`."""


def parse_resource(
    data: bytes, *, limits: Limits = DEFAULT_LIMITS
) -> tuple[Detection, Parsed[Any]]:
    """Detect what a file is and parse it.

    Text that is no known kind goes to the card parser for its error, which names what is wrong.
    Raises what the parsers raise; MalformedResourceError (FOREIGN_CHAT) for a chat of another
    application.
    """
    found = detect(data, limits=limits)
    if found.kind is ResourceKind.FOREIGN_CHAT:
        message = "a chat of another application: `import_chat` reads it, given two names"
        raise MalformedResourceError("FOREIGN_CHAT", message)
    known = FORMATS.get(found.kind, FORMATS[ResourceKind.CHARACTER_CARD])
    return found, known.parse(data, limits=limits)
