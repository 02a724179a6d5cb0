"""Backyard's values as JavaScript takes them: what is empty, what is text, which macros it has.

Knows nothing of archives or of cards.

Source: SillyTavern 1.19.0, src/byaf.js (replaceMacros); ECMAScript 2024, ToBoolean, ToString,
WhiteSpace.
"""

import re
from typing import Any

from tavern_format._json_text import JS_DECIMAL_LIMIT
from tavern_format._kinds import js_number_text

JS_BLANKS = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What `trim` takes away; Python's `strip` takes other characters."""

_MACROS = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), replacement)
    for pattern, replacement in (
        (r"#\{user\}:", "{{user}}:"),
        (r"#\{character\}:", "{{char}}:"),
        (r"\{character\}(?!\})", "{{char}}"),
        (r"\{user\}(?!\})", "{{user}}"),
    )
)
"""In this order: the second pair must not see what is already doubled."""
_TEXT_DEPTH = 32


def is_truthy(value: object) -> bool:
    """Tell whether JavaScript takes a JSON value for true: empty arrays and objects are."""
    return isinstance(value, list | dict) or bool(value)


def either(*values: Any) -> Any:  # noqa: ANN401
    """Give the first value that is not empty, as it is; an empty string where none is."""
    return next(filter(is_truthy, values), "")


def member(value: object, key: str) -> Any:  # noqa: ANN401
    """Give a member of an object; None for anything that has none."""
    return value.get(key) if isinstance(value, dict) else None


def items(value: object, key: str) -> list[Any]:
    """Give a member that is a list; an empty list for any other."""
    found = member(value, key)
    return found if isinstance(found, list) else []


def first_text(scenario: object) -> Any:  # noqa: ANN401
    """Give the text of a scenario's first message; the format allows only one."""
    return member(next(iter(items(scenario, "firstMessages")), None), "text")


def rewrite_macros(value: object) -> str:
    """Write a text with SillyTavern's macros in place of Backyard's; empty for an empty value.

    >>> rewrite_macros("#{user}: hi, {character} {{char}}")
    '{{user}}: hi, {{char}} {{char}}'
    """
    text = _text(value) if is_truthy(value) else ""
    for pattern, replacement in _MACROS:
        text = pattern.sub(replacement, text)
    return text


def _text(value: object, depth: int = 0) -> str:
    """Do what JavaScript's String() does; lists are joined by commas, holes and null are empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return js_number_text(value) if abs(value) < JS_DECIMAL_LIMIT else str(value)
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list) and depth < _TEXT_DEPTH:
        return ",".join("" if item is None else _text(item, depth + 1) for item in value)
    return "" if depth else "null"
