"""JSON values as JavaScript reads, writes and turns them into text.

Owns `JSON.parse`, `JSON.stringify`, `String(value)` and `Number(value)` of JSON values. Numbers
read are floats. Must not know variables.

Source: ECMA-262.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping

from tavern_compiler._js_number import number_text, to_number

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_LARGEST_INDEX = 2**32 - 2
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class NestedTooDeepError(ValueError):
    """A value is nested beyond what can be read or written."""


def parse_json(text: str) -> object:
    """Read a JSON text. Raises ValueError where it is none, or nested beyond reason."""
    try:
        return json.loads(text, parse_int=float, parse_constant=_refuse)
    except RecursionError:
        message = "nested too deep"
        raise NestedTooDeepError(message) from None


def _refuse(name: str) -> None:
    raise ValueError(name)


def array_index(key: str) -> int | None:
    """Read a property name as an index of an array; None where it is an ordinary name."""
    if not _INDEX.fullmatch(key):
        return None
    index = int(key)
    return index if index <= _LARGEST_INDEX else None


def json_text(value: object) -> str:
    """Write JSON: no blanks, whole-number keys first, what JSON has no number for as null.

    Raises NestedTooDeepError where the value is nested beyond reason.
    """
    try:
        return "".join(_pieces(value))
    except RecursionError:
        message = "nested too deep"
        raise NestedTooDeepError(message) from None


def _pieces(value: object) -> Iterator[str]:
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        yield _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    elif isinstance(value, Mapping):
        yield "{"
        for at, key in enumerate(_ordered(value)):
            yield from ("," if at else "", *_pieces(key), ":", *_pieces(value[key]))
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for at, item in enumerate(value):
            yield from ("," if at else "", *_pieces(item))
        yield "]"
    elif isinstance(value, float) and not math.isfinite(value):
        yield "null"
    else:
        yield plain_text(value)


def _ordered(value: Mapping[str, object]) -> list[str]:
    whole = {key: index for key in value if (index := array_index(key)) is not None}
    return [*sorted(whole, key=whole.__getitem__), *(key for key in value if key not in whole)]


def plain_text(value: object) -> str:
    """Turn a value into text as `String` does."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(float(value))
    if isinstance(value, list | tuple):
        return ",".join("" if item is None else plain_text(item) for item in value)
    return "[object Object]"


def value_number(value: object) -> float:
    """Turn a value into a number as `Number` does."""
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    return to_number(plain_text(value))


def result_text(value: object) -> str:
    """Turn a macro's result into text: nothing is "", lists and objects are JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping | list | tuple):
        return json_text(value)
    return plain_text(value)
