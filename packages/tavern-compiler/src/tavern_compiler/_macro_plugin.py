"""The plugin's own macros: five passes over the whole text, each replacing what it finds.

Owns that reader: a macro ends at the first pair of braces behind it, whatever is inside, so nested
ones are cut. A macro it does not know is removed, and braces that are left are broken up. Places
are those in the text as the pass found it. Must not know where a text comes from.

Source: the plugin contract, section A7.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from attrs import frozen

from tavern_compiler._js_json import plain_text
from tavern_compiler._js_number import number_text, to_number
from tavern_compiler._macro_run import LimitRefusal, Run, Span
from tavern_compiler._macro_variables import MacroRefusal
from tavern_compiler._text import JS_WHITE_SPACE, trim
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.macro_fields import field_text

_PASSES = 5
_MOST_DICE = 100
_HIGHEST_DRAW = 0.999999
_BLANK = f"[{JS_WHITE_SPACE}]*"
_FLAGS = re.IGNORECASE | re.ASCII | re.DOTALL


def _slot(names: str) -> re.Pattern[str]:
    return re.compile(rf"\{{\{{{_BLANK}(?P<name>{names}){_BLANK}\}}\}}", _FLAGS)


_PERSONA = _slot("persona")
_FIELDS = _slot("description|personality|scenario|mesExamples")
_ATTRIBUTES = {"mesexamples": "message_examples"}
_FIELD_NAMES = {"mesexamples": "messageExample"}
"""Names in parts, where they differ."""


@frozen
class _Call:
    """One macro of one pass."""

    run: Run
    context: MacroContext
    groups: tuple[str, ...]

    def draw(self, name: str) -> float:
        return min(self.run.draw(name), _HIGHEST_DRAW)


def _message(context: MacroContext, *, of_user: bool) -> str:
    found = (
        one.text
        for one in reversed(context.chat.messages)
        if one.is_user is of_user and not one.is_system
    )
    return next(found, "")


def _set(call: _Call) -> str:
    name, value = call.groups
    call.run.store(shared=False).set(trim(name), value)
    return ""


def _get(call: _Call) -> str:
    # Not `Store.get`: the plugin's variables are texts, and no text becomes a number.
    return plain_text(call.run.store(shared=False).values.get(trim(call.groups[0]), ""))


def _random(call: _Call) -> str:
    items = [item for item in map(trim, call.groups[0].split(",")) if item]
    return items[math.floor(call.draw("random") * len(items))] if items else ""


def _roll(call: _Call) -> str:
    count, sides = (to_number(group) for group in call.groups[:2])
    total = to_number(call.groups[2] or "0")
    for _ in range(int(min(count, _MOST_DICE))):
        total += 1 + _floor(call.draw("roll") * max(sides, 1))
    return number_text(total)


def _floor(number: float) -> float:
    return float(math.floor(number)) if math.isfinite(number) else number


class _Made(NamedTuple):
    """A macro and what is said of it."""

    name: str
    span: Span
    field: str | None = None
    drew: bool = False


_Give = Callable[[_Call], str]
_FORMS: tuple[tuple[str, str, _Give], ...] = (
    ("//", "//.*", lambda _: ""),
    ("setvar", "setvar::([^:]+)::(.*)", _set),
    ("getvar", "getvar::(.+)", _get),
    ("user", "user", lambda call: call.context.user),
    ("char", "char", lambda call: call.context.char),
    ("lastUserMessage", "lastUserMessage", lambda call: _message(call.context, of_user=True)),
    ("lastCharMessage", "lastCharMessage", lambda call: _message(call.context, of_user=False)),
    ("trim", "trim", lambda _: ""),
    ("random", "random::(.+)", _random),
    ("roll", rf"roll[{JS_WHITE_SPACE}]+([0-9]+)d([0-9]+)([+-][0-9]+)?", _roll),
)
_TABLE: Mapping[str, tuple[str, re.Pattern[str], _Give]] = {
    name.lower(): (name, re.compile(pattern, _FLAGS), give) for name, pattern, give in _FORMS
}
"""What a body begins with, in lower case, to the name, the whole body, and what it gives."""
_HEAD = re.compile("//|[a-z]+", _FLAGS)


def expand_plugin(run: Run, context: MacroContext, text: str) -> str:
    """Expand a text as the plugin does, and trim it."""
    if "{" in text or "}" in text:
        text = _with_fields(run, context, text)
        for _ in range(_PASSES):
            if "{{" not in text or run.exhausted:
                break
            text = _passed(run, context, text)
        text = text.replace("{{", "{ {").replace("}}", "} }")
    return trim(text)


def _passed(run: Run, context: MacroContext, text: str) -> str:
    """Do one pass. Searched by hand: a pattern takes quadratic time where no brace closes."""
    pieces: list[str] = []
    copied = 0
    while (start := text.find("{{", copied)) >= 0 and (end := text.find("}}", start + 2)) >= 0:
        pieces += (text[copied:start], _replaced(run, context, text[start + 2 : end], start))
        copied = end + 2
    return "".join((*pieces, text[copied:]))


def _with_fields(run: Run, context: MacroContext, text: str) -> str:
    """Put in the persona, once, and the fields of the card; they are expanded with the text.

    A field that only the persona asks for is put in, and is not said to be the text's.
    """
    if not context.card:
        return text
    shown = False
    asked = {found["name"].lower() for found in _FIELDS.finditer(text)}

    def persona(found: re.Match[str]) -> str:
        nonlocal shown
        value = "" if shown else field_text(context, "persona")
        shown = True
        return _given(run, _Made(found["name"], found.span(), field="persona"), value)

    def card(found: re.Match[str]) -> str:
        name = found["name"].lower()
        value = field_text(context, _ATTRIBUTES.get(name, name))
        field = _FIELD_NAMES.get(name, name) if name in asked else None
        return _given(run, _Made(found["name"], found.span(), field=field), value)

    return _FIELDS.sub(card, _PERSONA.sub(persona, text))


def _given(run: Run, made: _Made, value: str) -> str:
    """Count and note a value; beyond a limit the macro stays."""
    try:
        run.step(1)
        run.spend(len(value))
    except LimitRefusal as refusal:
        return _kept(run, made, refusal)
    run.note(made.name, made.span, result=value, drew=made.drew, field=made.field)
    return value


def _replaced(run: Run, context: MacroContext, inside: str, start: int) -> str:
    body = trim(inside)
    run.span = span = (start, start + len(inside) + 4)
    found = _row(body)
    if found is None:
        message = f"A macro at characters {span[0]}-{span[1]} is unknown to the plugin and removed."
        run.tell("MACRO_REMOVED", message)
        return _given(run, _Made(body.partition(":")[0], span), "")
    name, groups, give = found
    made = _Made(name, span)
    if name in run.without:
        return _kept(run, made, MacroRefusal("it is left out"), inside)
    drawn = run.drawn
    try:
        value = give(_Call(run, context, groups))
    except MacroRefusal as refusal:
        return _kept(run, made, refusal, inside)
    return _given(run, made._replace(drew=run.drawn > drawn), value)


def _kept(run: Run, made: _Made, refusal: MacroRefusal, inside: str | None = None) -> str:
    """Leave a macro broken up, so that no later pass takes it for one."""
    run.refuse(made.name, made.span, refusal)
    return f"{{ {{{made.name if inside is None else inside}}} }}"


def _row(body: str) -> tuple[str, tuple[str, ...], _Give] | None:
    head = _HEAD.match(body)
    row = _TABLE.get(head[0].lower()) if head else None
    if row is None:
        return None
    name, pattern, give = row
    found = pattern.fullmatch(body)
    return None if found is None else (name, found.groups(), give)
