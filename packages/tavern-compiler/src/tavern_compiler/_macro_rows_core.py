"""Rows that work on text: utilities, `{{if}}`, chance.

Source: SillyTavern 1.19.0, public/scripts/macros/definitions/core-macros.js.
"""

import math
import re
from typing import Protocol

from tavern_compiler._js_number import number_text, to_number
from tavern_compiler._js_random import SeededRandom, string_hash
from tavern_compiler._macro_call import dedent
from tavern_compiler._macro_parser import parse
from tavern_compiler._macro_scopes import COMMENT, is_closing
from tavern_compiler._macro_shorthand import reads_false
from tavern_compiler._macro_source import ELSE_MARK
from tavern_compiler._macro_variables import MacroRefusal
from tavern_compiler._text import JS_WHITE_SPACE, trim
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.macro_table import Macro, MacroCall, Parameter, ValueType


class Roller(Protocol):
    """Who dice are rolled for."""

    def step(self, count: int) -> None:
        """Count steps against the limit."""

    def draw(self) -> float:
        """Draw from the dice."""


_NOT = re.compile(rf"[{JS_WHITE_SPACE}]*!")
_VARIABLE = re.compile(r"([.$])([a-zA-Z](?:[a-zA-Z0-9_-]*[a-zA-Z0-9_])?)")
_DICE = re.compile(r"([1-9][0-9]*)?d([1-9][0-9]*)([+-][0-9]+)?", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
_COMMA = re.compile(r"(?<!\\),")
_COUNT = Parameter("count", optional=True, types=(ValueType.INTEGER,))


def _repeated(character: str, call: MacroCall) -> str:
    count = to_number(call.args[0]) if call.args else 1.0
    if count < 0:
        message = "its count is below 0"
        raise MacroRefusal(message)
    call.spend(int(min(count, 1 << 30)))
    return character * int(count)


def _trim(call: MacroCall, _: MacroContext) -> str:
    # Without a text it is put back, and removed when everything else is done.
    return call.args[0] if call.scoped and call.args else "{{trim}}"


def _if(call: MacroCall, _: MacroContext) -> str:
    condition, content = call.args
    inverted = _NOT.match(condition)
    start = inverted.end() if inverted else 0
    condition = condition[start:]
    if inverted:
        start += len(condition) - len(condition.lstrip(JS_WHITE_SPACE))
        condition = condition.lstrip(JS_WHITE_SPACE)
    value = _condition(call, call.expand(condition, 0, start))
    holds = not (value == "" or reads_false(value))
    start, end = _branch(call, content, first=holds is not bool(inverted))
    shown = call.expand(content[start:end], 1, start)
    return shown if call.keeps_blanks else dedent(shown)


def _condition(call: MacroCall, text: str) -> str:
    """Read a variable or a macro that is named without braces."""
    variable = _VARIABLE.fullmatch(text)
    if variable:
        reader = "getvar" if variable[1] == "." else "getglobalvar"
        return call.expand(f"{{{{{reader}::{variable[2]}}}}}")
    row = call.find(text)
    return call.expand(f"{{{{{text}}}}}") if row and row.min_arguments == 0 else text


def _branch(call: MacroCall, content: str, *, first: bool) -> tuple[int, int]:
    """Give the span of one branch: up to the `{{else}}` of this `{{if}}`, or behind it."""
    depth = 0
    for node in parse(content, call.step):
        if node.variable is not None or not node.complete:
            continue
        if node.name == "if" and is_closing(content, node):
            depth -= 1
        elif node.name == "if" and len(node.arguments) == 1:
            depth += 1
        elif node.name == "else" and depth == 0:
            return (0, node.start) if first else (node.end or 0, len(content))
    return (0, len(content)) if first else (0, 0)


def _banned(_: MacroCall, __: MacroContext) -> str:
    return ""


def _roll(call: MacroCall, _: MacroContext) -> str:
    formula = call.args[0]
    return rolled(f"1d{formula}" if _DIGITS.fullmatch(formula) else formula, call)


def rolled(formula: str, call: Roller) -> str:
    """Roll dice: `[count]d<sides>[+-n]`; anything else gives nothing."""
    found = _DICE.fullmatch(formula)
    if found is None:
        return ""
    count = to_number(found[1] or "1")
    sides = to_number(found[2])
    total = to_number(found[3] or "0")
    call.step(int(min(count, 1 << 30)))
    for _ in range(int(count)):
        total += 1 + _floor(call.draw() * sides)
    return number_text(total)


def _floor(number: float) -> float:
    return float(math.floor(number)) if math.isfinite(number) else number


def _items(call: MacroCall) -> tuple[str, ...]:
    """Take a single item apart: at `::`, or else at commas that no backslash escapes."""
    if len(call.args) != 1:
        return call.args
    text = call.args[0]
    if "::" in text:
        return tuple(trim(item) for item in text.split("::"))
    return comma_list(text)


def comma_list(text: str) -> tuple[str, ...]:
    r"""Take a list apart at commas; `\,` is one that belongs to an item."""
    return tuple(trim(item).replace("\\,", ",") for item in _COMMA.split(text))


def _random(call: MacroCall, _: MacroContext) -> str:
    items = _items(call)
    return items[math.floor(call.draw() * len(items))] if items else ""


SEEDING_STEPS = 64
"""What making a seeded stream counts as: it takes as long as reading so many words."""


def _pick(call: MacroCall, context: MacroContext) -> str:
    items = _items(call)
    if not items:
        return ""
    call.step(SEEDING_STEPS)
    chat = context.chat
    chat_hash = string_hash(chat.id) if chat.id_hash is None else chat.id_hash
    seeds = [number_text(float(chat_hash)), str(call.text_hash), str(call.offset_utf16)]
    if chat.pick_seed:
        seeds.append(chat.pick_seed)
    draw = SeededRandom(str(string_hash("-".join(seeds)))).random()
    return items[math.floor(draw * len(items))]


def _outlet(call: MacroCall, context: MacroContext) -> str:
    return context.host.outlets.get(call.args[0], "")


CORE: tuple[Macro, ...] = (
    Macro(name="space", value=lambda call, _: _repeated(" ", call), parameters=(_COUNT,)),
    Macro(name="newline", value=lambda call, _: _repeated("\n", call), parameters=(_COUNT,)),
    Macro(name="noop", value=lambda _, __: ""),
    Macro(name="trim", value=_trim, parameters=(Parameter("content", optional=True),)),
    Macro(
        name="if",
        value=_if,
        parameters=(Parameter("condition"), Parameter("content")),
        lazy=True,
    ),
    Macro(name="else", value=lambda _, __: ELSE_MARK),
    Macro(name="reverse", value=lambda call, _: call.args[0][::-1],
          parameters=(Parameter("value"),)),
    Macro(name=COMMENT, value=lambda _, __: "", hidden_aliases=("comment",),
          parameters=(Parameter("comment"),)),
    Macro(name="roll", value=_roll, parameters=(Parameter("formula"),),
          returns=(ValueType.INTEGER,), draws=True),
    Macro(name="random", value=_random, takes_list=True, draws=True),
    Macro(name="pick", value=_pick, takes_list=True),
    Macro(name="banned", value=_banned, parameters=(Parameter("word"),)),
    Macro(name="outlet", value=_outlet, parameters=(Parameter("key"),)),
)  # fmt: skip
