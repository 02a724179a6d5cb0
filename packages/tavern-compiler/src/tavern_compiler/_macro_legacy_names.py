"""Names, card fields and macros of one call, in the old engine.

Owns their order. Must not know what comes before and behind them.

Source: SillyTavern 1.19.0, public/script.js (substituteParamsLegacy).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from attrs import evolve

from tavern_compiler._macro_legacy_scan import Finder, Found, named
from tavern_compiler._macro_legacy_text import LegacyText, Step
from tavern_compiler._macro_rows_state import char_name, group_names, user_name
from tavern_compiler.macro_context import HostFacts, MacroContext
from tavern_compiler.macro_fields import example_blocks

_Given = TypeVar("_Given")

_CARD: Mapping[str, Callable[[LegacyText], str]] = {
    "charPrompt": lambda text: text.field("system_prompt"),
    "charJailbreak": lambda text: text.field("post_history_instructions"),
    "charInstruction": lambda text: text.field("post_history_instructions"),
    "description": lambda text: text.field("description"),
    "personality": lambda text: text.field("personality"),
    "scenario": lambda text: text.field("scenario"),
    "persona": lambda text: text.field("persona"),
    "mesExamples": lambda text: _examples(text),  # noqa: PLW0108 - defined below
    "mesExamplesRaw": lambda text: text.field("message_examples"),
    "charVersion": lambda text: text.context.character_version,
    "char_version": lambda text: text.context.character_version,
    "charDepthPrompt": lambda text: text.field("depth_prompt"),
    "creatorNotes": lambda text: text.field("creator_notes"),
}
_NAMES: Mapping[str, Callable[[MacroContext], str]] = {
    "user": user_name,
    "char": char_name,
    "group": group_names,
    "charIfNotGroup": group_names,
    "groupNotMuted": lambda at: group_names(at, muted=False),
    "notChar": lambda at: _others(at),  # noqa: PLW0108 - defined below
    "model": lambda at: at.host.model,
}
_REGISTERED: Mapping[str, Callable[[HostFacts], str]] = {
    "isMobile": lambda at: "true" if at.is_mobile else "false",
    "lastGenerationType": lambda at: at.generation_type,
    "authorsNote": lambda at: at.authors_note,
    "charAuthorsNote": lambda at: at.char_authors_note,
    "defaultAuthorsNote": lambda at: at.default_authors_note,
    "reasoningPrefix": lambda at: at.reasoning_prefix,
    "reasoningSuffix": lambda at: at.reasoning_suffix,
    "reasoningSeparator": lambda at: at.reasoning_separator,
}


_FINDERS: Mapping[str, Finder] = {
    name: named(name) for name in ("original", *_CARD, *_NAMES, *_REGISTERED)
}


def environment_steps(text: LegacyText) -> Iterator[Step]:
    """List the steps of names, fields and macros of this call only, each name once."""
    context = text.context
    values: dict[str, Callable[[], str]] = {}
    if context.original is not None:
        values["original"] = lambda: _original(text)
    if context.card:
        values |= {name: _bound(read, text) for name, read in _CARD.items()}
    values |= {name: _bound(read, context) for name, read in _NAMES.items()}
    values |= {name: _bound(str, given) for name, given in context.dynamic.items()}
    values |= {name: _bound(read, context.host) for name, read in _REGISTERED.items()}
    for name, give in values.items():
        yield Step(name, _FINDERS.get(name) or named(re.escape(name)), _giving(give))


def _giving(give: Callable[[], str]) -> Callable[[LegacyText, Found], str]:
    return lambda _, __: give()


def _bound(read: Callable[[_Given], str], given: _Given) -> Callable[[], str]:
    return lambda: read(given)


def _original(text: LegacyText) -> str:
    shown, text.original = text.original, ""
    return shown or ""


def _others(context: MacroContext) -> str:
    user = user_name(context)
    if context.group is None:
        return user
    speaker = char_name(context)
    names = [one.name for one in context.group if one.name and one.name != speaker]
    return ", ".join((*names, user))


def _examples(text: LegacyText) -> str:
    host = text.context.host
    heading = "<START>\n"
    if host.text_completion and host.instruct is None:
        whole = evolve(text.context, original=None, dynamic={}, post_process=None)
        separator = text.whole(whole, host.example_separator)
        heading = f"{separator}\n" if host.example_separator else ""
    return example_blocks(text.field("message_examples"), heading)
