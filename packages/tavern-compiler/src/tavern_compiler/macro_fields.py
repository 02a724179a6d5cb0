"""The fields of the card, as macros take them from the context.

Owns which attribute stands behind which name, and what is done to a field before and after it is
expanded. Must not know when it is expanded.

Source: SillyTavern 1.19.0, public/script.js (getCharacterCardFields, baseChatReplace,
parseMesExamples).
"""

import re
from collections.abc import Callable, Mapping

from tavern_compiler._text import trim
from tavern_compiler.macro_context import HostFacts, MacroContext

_FIELDS: Mapping[str, Callable[[MacroContext], str]] = {
    "system_prompt": lambda at: at.system_prompt if at.host.prefer_card_system_prompt else "",
    "message_examples": lambda at: at.message_examples,
    "description": lambda at: at.description,
    "personality": lambda at: at.personality,
    "persona": lambda at: at.persona,
    "scenario": lambda at: at.scenario,
    "post_history_instructions": lambda at: (
        at.post_history_instructions if at.host.prefer_card_post_history else ""
    ),
    "depth_prompt": lambda at: at.depth_prompt,
    "creator_notes": lambda at: at.creator_notes,
    "greeting": lambda at: at.greeting,
}
_ALTERNATE = "alternate_greetings/"
_START = re.compile("<START>", re.IGNORECASE)
_LINE_BREAKS = re.compile(r"\n+")


def field_names(context: MacroContext) -> tuple[str, ...]:
    """List all fields in the order in which SillyTavern reads them."""
    greetings = range(len(context.alternate_greetings))
    return (*_FIELDS, *(f"{_ALTERNATE}{index}" for index in greetings))


def field_text(context: MacroContext, name: str) -> str:
    """Give a field, trimmed; `alternate_greetings/<n>` counts from 0."""
    if name.startswith(_ALTERNATE):
        return trim(context.alternate_greetings[int(name.removeprefix(_ALTERNATE))])
    return trim(_FIELDS[name](context))


def prepared(text: str, host: HostFacts) -> str:
    """Do what is done to a field after its macros are expanded."""
    if host.collapse_newlines:
        text = _LINE_BREAKS.sub("\n", text)
    return text.replace("\r", "")


def greeting_name(index: int, count: int) -> str | None:
    """Name the field of a greeting: 0 the first message, n the n-th of `count` others."""
    if index == 0:
        return "greeting"
    return f"{_ALTERNATE}{index - 1}" if 1 <= index <= count else None


def example_blocks(examples: str, heading: str) -> str:
    """Write each block of examples below a heading."""
    if not examples or examples == "<START>":
        return ""
    if not examples.startswith("<START>"):
        examples = f"<START>\n{trim(examples)}"
    blocks = _START.split(examples)[1:]
    return "".join(f"{heading}{trim(block)}\n" for block in blocks)
