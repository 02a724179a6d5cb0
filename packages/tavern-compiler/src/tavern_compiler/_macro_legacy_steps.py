"""The replacements of the old engine before and behind names and fields.

Owns their order, which decides what they see of each other.

Source: SillyTavern 1.19.0, public/scripts/macros.js, variables.js, instruct-mode.js.
"""

import math
import re
from collections.abc import Callable, Iterator

from tavern_compiler._js_date_format import format_date
from tavern_compiler._js_json import plain_text, result_text
from tavern_compiler._js_random import SeededRandom, string_hash
from tavern_compiler._macro_legacy_scan import (
    Found,
    comment,
    in_line,
    listed,
    literal,
    name_and_value,
    named,
    to_brace,
    to_last_quote,
    two_in_line,
)
from tavern_compiler._macro_legacy_text import LegacyText, Step
from tavern_compiler._macro_rows_core import SEEDING_STEPS, comma_list, rolled
from tavern_compiler._macro_rows_state import (
    any_message,
    char_name,
    chat_range,
    group_names,
    last_index,
    last_text,
    of_char,
    of_user,
    swipe_count,
    swipe_number,
    user_name,
)
from tavern_compiler._macro_rows_time import idle_time, time_at, time_between
from tavern_compiler._macro_variables import MacroRefusal, Store
from tavern_compiler._text import trim, utf16_length
from tavern_compiler.macro_context import InstructTexts, MacroContext

_DIGITS = re.compile(r"[0-9]+")


def _context(name: str, read: Callable[[MacroContext], object], pattern: str = "") -> Step:
    return Step(name, named(pattern or name), lambda text, _: result_text(read(text.context)))


def _old(name: str, read: Callable[[MacroContext], str]) -> Step:
    return Step(name, literal(f"<{name}>"), lambda text, _: read(text.context), old_form=True)


def _roll(text: LegacyText, found: Found) -> str:
    formula = trim(found.groups[0])
    return rolled(f"1d{formula}" if _DIGITS.fullmatch(formula) else formula, text)


def _instruct(names: str, read: Callable[[InstructTexts], str]) -> Step:
    return _context(names, lambda at: read(at.host.instruct) if at.host.instruct else "", names)


def _system_prompt(text: LegacyText, _: Found) -> str:
    host = text.context.host
    if host.system_prompt is None:
        return ""
    own = text.field("system_prompt") if host.prefer_card_system_prompt else ""
    return own or host.system_prompt


def _change(
    name: str, action: Callable[[Store, tuple[str, ...]], object], *, empty: bool
) -> Iterator[Step]:
    for scope in ("", "global"):

        def give(text: LegacyText, found: Found, *, shared: bool = bool(scope)) -> str:
            key, value = found.groups
            action(text.run.store(shared=shared), (trim(key), value))
            return ""

        full = name.format(scope)
        yield Step(full, name_and_value(rf"\{{\{{{full}::", empty=empty), give)


def _read(name: str, action: Callable[[Store, str], object]) -> Iterator[Step]:
    for scope in ("", "global"):

        def give(text: LegacyText, found: Found, *, shared: bool = bool(scope)) -> str:
            return plain_text(action(text.run.store(shared=shared), trim(found.groups[0])))

        full = name.format(scope)
        yield Step(full, to_brace(rf"\{{\{{{full}::"), give)


def _value_of(store: Store, name: str) -> object:
    return store.get(name)


_VARIABLES = (
    *_change("set{}var", lambda store, args: store.set(*args), empty=True),
    *_change("add{}var", lambda store, args: store.add(*args), empty=False),
    *_read("inc{}var", lambda store, name: store.add(name, 1)),
    *_read("dec{}var", lambda store, name: store.add(name, -1)),
    *_read("get{}var", _value_of),
)

BEFORE: tuple[Step, ...] = (
    _old("USER", user_name),
    _old("BOT", char_name),
    _old("CHAR", char_name),
    _old("CHARIFNOTGROUP", group_names),
    _old("GROUP", group_names),
    Step("roll", to_brace(r"\{\{roll[ :]"), _roll),
    _instruct("instructStoryStringPrefix", lambda at: at.story_prefix),
    _instruct("instructStoryStringSuffix", lambda at: at.story_suffix),
    _instruct("instructInput|instructUserPrefix", lambda at: at.user_prefix),
    _instruct("instructUserSuffix", lambda at: at.user_suffix),
    _instruct("instructOutput|instructAssistantPrefix", lambda at: at.assistant_prefix),
    _instruct("instructSeparator|instructAssistantSuffix", lambda at: at.assistant_suffix),
    _instruct("instructSystemPrefix", lambda at: at.system_prefix),
    _instruct("instructSystemSuffix", lambda at: at.system_suffix),
    _instruct(
        "instructFirstOutput|instructFirstAssistantPrefix",
        lambda at: at.first_assistant_prefix or at.assistant_prefix,
    ),
    _instruct(
        "instructLastOutput|instructLastAssistantPrefix",
        lambda at: at.last_assistant_prefix or at.assistant_prefix,
    ),
    _instruct("instructStop", lambda at: at.stop),
    _instruct("instructUserFiller", lambda at: at.user_filler),
    _instruct("instructSystemInstructionPrefix", lambda at: at.system_instruction_prefix),
    _instruct(
        "instructFirstInput|instructFirstUserPrefix",
        lambda at: at.first_user_prefix or at.user_prefix,
    ),
    _instruct(
        "instructLastInput|instructLastUserPrefix",
        lambda at: at.last_user_prefix or at.user_prefix,
    ),
    Step("systemPrompt", named("systemPrompt"), _system_prompt),
    _context(
        "defaultSystemPrompt",
        lambda at: at.host.system_prompt,
        "defaultSystemPrompt|instructSystem|instructSystemPrompt",
    ),
    _context("chatSeparator", lambda at: at.host.example_separator),
    _context("chatStart", lambda at: at.host.chat_start),
    *(step for scope in (0, 1) for step in _VARIABLES[scope::2]),
    _context("newline", lambda _: "\n"),
    Step("trim", named("trim"), lambda _, __: ""),
    _context("noop", lambda _: ""),
    _context("input", lambda at: at.host.input_text),
)


def _list(found: Found) -> tuple[str, ...]:
    text = found.groups[0]
    return tuple(text.split("::")) if "::" in text else comma_list(text)


def _random(text: LegacyText, found: Found) -> str:
    items = _list(found)
    return items[math.floor(text.draw() * len(items))]


def _pick(text: LegacyText, found: Found) -> str:
    items = _list(found)
    text.step(SEEDING_STEPS)
    chat = text.context.chat
    offset = utf16_length(text.content[: found.start])
    chat_hash = plain_text(chat.id_hash) if chat.id_hash else str(string_hash(chat.id))
    seed = string_hash(f"{chat_hash}-{text.raw_hash}-{offset}")
    return items[math.floor(SeededRandom.of_number(seed).random() * len(items))]


def _swipe(context: MacroContext) -> str:
    number = swipe_number(context)
    return "NaN" if number is None else number


def _date_format(text: LegacyText, found: Found) -> str:
    try:
        return format_date(text.now(), found.groups[0])
    except ValueError as fault:
        raise MacroRefusal(str(fault)) from fault


def _date(name: str, pattern: str) -> Step:
    return Step(name, named(name), lambda text, _: format_date(text.now(), pattern))


AFTER: tuple[Step, ...] = (
    _context("maxPrompt", lambda at: at.host.context_tokens - at.host.response_tokens,
             "maxPrompt|maxPromptTokens"),
    _context("maxContext", lambda at: at.host.context_tokens, "maxContext|maxContextTokens"),
    _context("maxResponse", lambda at: at.host.response_tokens, "maxResponse|maxResponseTokens"),
    _context("lastMessage", lambda at: last_text(at, any_message)),
    _context("lastMessageId", lambda at: last_index(at, any_message)),
    _context("lastUserMessage", lambda at: last_text(at, of_user)),
    _context("lastCharMessage", lambda at: last_text(at, of_char)),
    _context("firstIncludedMessageId", lambda at: at.chat.first_included),
    _context("firstDisplayedMessageId", lambda at: at.chat.first_displayed),
    _context("lastSwipeId", swipe_count),
    _context("currentSwipeId", _swipe),
    _context("allChatRange", chat_range),
    Step("reverse", in_line(r"\{\{reverse:"), lambda _, found: found.groups[0][::-1]),
    Step("//", comment(r"\{\{//"), lambda _, __: ""),
    _date("time", "LT"),
    _date("date", "LL"),
    _date("weekday", "dddd"),
    _date("isotime", "HH:mm"),
    _date("isodate", "YYYY-MM-DD"),
    Step("datetimeformat", to_brace(r"\{\{datetimeformat +", empty=True),
          _date_format),
    Step("idleDuration", named("idle_duration"),
          lambda text, _: idle_time(text.now(), text.context)),
    Step("time", literal(r"\{\{time_UTC([-+][0-9]+)\}\}"),
          lambda text, found: time_at(text.now(), found.groups[0])),
    Step("outlet", in_line(r"\{\{outlet::"),
          lambda text, found: text.context.host.outlets.get(trim(found.groups[0]), "")),
    Step("timeDiff", two_in_line(r"\{\{timeDiff::"),
          lambda text, found: time_between(text.now(), *found.groups)),
    Step("banned", to_last_quote(r'\{\{banned "'), lambda _, __: ""),
    Step("random", listed("random"), _random),
    Step("pick", listed("pick"), _pick),
)  # fmt: skip
