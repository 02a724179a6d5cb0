"""Values as JavaScript takes them: what is true, what is a number, what a text looks like.

SillyTavern's scan never fills in or converts the fields of an entry, so what an absent field, a
`null` or a number written as text does is what JavaScript's operators make of it. Knows JSON
values only, as Python holds them, and `UNDEFINED` for a field that is not there.

Source: ECMAScript 2024, abstract operations ToBoolean, ToNumber, ToString.
"""

import math
import re
from collections.abc import Hashable
from enum import Enum
from functools import cmp_to_key
from typing import Any, Final, TypeVar

from tavern_matcher._text import trim

T = TypeVar("T")


class Undefined(Enum):
    """The type of UNDEFINED."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED
"""Stands for a field that is not there, which is not the same as `null`."""

NAN: Final = math.nan
# Made once: a union that is written where it is asked costs more than the question.
_OBJECTS = (list, dict)
_NUMBERS = (int, float)
_TEXTUAL = (str, list, dict)
_DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_PREFIXED = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_LAST_ARRAY_INDEX = 2**32 - 2
_EXACT_INTEGER = 2**53
_DECIMAL_LIMIT = 1e21
_SMALL_EXPONENT = -7


def nullish(value: object) -> bool:
    """Whether `??` would take the other side."""
    return value is None or value is UNDEFINED


def truthy(value: object) -> bool:
    """Whether `if` takes the value for true: empty arrays and objects are."""
    # Nearly every switch of a book is one of these; the rest is asked for thousands of times less.
    if value is False or value is None or value is UNDEFINED:
        return False
    if value is True or isinstance(value, _OBJECTS):
        return True
    return value == value and bool(value)  # noqa: PLR0124 - NaN is not itself, and not true


def to_number(value: object) -> float:
    """Give what `Number(value)` gives."""
    if isinstance(value, str):
        return _number_of_text(value)
    if isinstance(value, _NUMBERS):
        return _finite(value)
    if value is None:
        return 0
    return _number_of_text(to_text(value)) if isinstance(value, list) else NAN


def _finite(value: float) -> float:
    """JavaScript has no whole numbers beyond the range of a double."""
    try:
        return float(value) if abs(value) > _EXACT_INTEGER else value + 0
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _number_of_text(text: str) -> float:
    bare = trim(text)
    if not bare:
        return 0
    if _DECIMAL.fullmatch(bare):
        number = float(bare)
        return int(number) if abs(number) < _EXACT_INTEGER and number.is_integer() else number
    return _finite(int(bare, 0)) if _PREFIXED.fullmatch(bare) else NAN


def to_text(value: object) -> str:
    """Give what `String(value)` gives."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _NUMBERS):
        return number_text(value)
    if isinstance(value, list):
        return ",".join("" if nullish(item) else to_text(item) for item in value)
    if value is None:
        return "null"
    return "undefined" if value is UNDEFINED else "[object Object]"


def number_text(number: float) -> str:
    """Write a number as JavaScript does.

    >>> number_text(100.0), number_text(1e21), number_text(1.5e-7)
    ('100', '1e+21', '1.5e-7')
    """
    value = float(_finite(number))
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value.is_integer() and abs(value) < _DECIMAL_LIMIT:
        return _whole_text(value)
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        return mantissa
    power = int(exponent)
    if _SMALL_EXPONENT < power < 0:
        return f"{value:.{len(mantissa) - power}f}".rstrip("0")
    return f"{mantissa.removesuffix('.0')}e{power:+d}"


def _whole_text(value: float) -> str:
    """Digits beyond a double's precision are zeros in JavaScript, not what the binary says."""
    if abs(value) <= _EXACT_INTEGER:
        return str(int(value))
    exponent = int(f"{value:.16e}".partition("e")[2])
    shortest = f"{abs(value)!r}".partition("e")[0].removesuffix(".0")
    return "-" * (value < 0) + shortest.replace(".", "").ljust(exponent + 1, "0")


def add(left: object, right: object) -> Any:  # noqa: ANN401 - a text or a number
    """Give `left + right`: a text as soon as one side is one."""
    if isinstance(left, _TEXTUAL) or isinstance(right, _TEXTUAL):
        return to_text(left) + to_text(right)
    return to_number(left) + to_number(right)


def greater(left: float | str, right: float | str) -> bool:
    """Whether `left > right`: two texts are compared as texts."""
    if isinstance(left, str) and isinstance(right, str):
        return left.encode("utf-16-be", "surrogatepass") > right.encode(
            "utf-16-be", "surrogatepass"
        )
    return to_number(left) > to_number(right)


def is_number(value: object, wanted: int) -> bool:
    """Whether `value === wanted`: a text or a switch never is a number."""
    return type(value) in (int, float) and value == wanted


def strict_key(value: object) -> Hashable:
    """Give what is equal for two values exactly where `===` holds.

    A text or a switch never is a number, an object only itself, and no number not even that.

    >>> strict_key(1) == strict_key(1.0), strict_key(1) == strict_key(True)
    (True, False)
    """
    if isinstance(value, _OBJECTS):
        return object, id(value)
    # A new object is equal to nothing, as NaN.
    return (type(value) is bool, value) if value == value else object()  # noqa: PLR0124


def comparable(value: object) -> object:
    """Give what stands for a value where results are compared: no number is equal to itself, too.

    >>> comparable(float("nan")) == comparable(float("nan"))
    True
    """
    return value if value == value else str(value)  # noqa: PLR0124 - NaN is not itself


def object_key_rank(key: str) -> int:
    """Rank a key as a JavaScript object lists it: whole numbers first, ascending."""
    number = int(key) if _ARRAY_INDEX.fullmatch(key) else _LAST_ARRAY_INDEX + 1
    return min(number, _LAST_ARRAY_INDEX + 1)


def sort_descending(items: list[tuple[float, T]]) -> list[T]:
    """Sort by number, highest first, equal ones as they come; NaN is equal to everything."""
    if any(math.isnan(number) for number, _ in items):
        # No order at all: what comes out depends on how the sort goes about it, which is the same
        # merge sort with binary insertion in both languages.
        items = sorted(items, key=cmp_to_key(_compare))
    else:
        items = sorted(items, key=lambda item: -item[0])
    return [item for _, item in items]


def _compare(left: tuple[float, object], right: tuple[float, object]) -> int:
    difference = right[0] - left[0]
    return (difference > 0) - (difference < 0)
