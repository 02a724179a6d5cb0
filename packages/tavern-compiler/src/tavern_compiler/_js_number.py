"""Numbers as JavaScript reads and writes them.

Owns `Number(text)`, `String(number)` and rounding. Must not know what a number stands for.

Source: ECMA-262, StringToNumber and Number::toString.
"""

import math
import re

from tavern_compiler._text import trim

_DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_PREFIXED = re.compile(r"0(?:[xX]([0-9a-fA-F]+)|[oO]([0-7]+)|[bB]([01]+))")
_BASES = (16, 8, 2)
_SAFE_INTEGER = 2**53
_PLAIN_EXPONENT = 21
"""From this many digits before the point on, a number is written with an exponent."""
_SMALLEST_EXPONENT = -6


def to_number(text: str) -> float:
    """Read a text as `Number` does: blanks around do not count, "" is 0, no number is NaN.

    >>> to_number(" 0x1F "), to_number("5.")
    (31.0, 5.0)
    """
    text = trim(text)
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text):
        return float(text)
    found = _PREFIXED.fullmatch(text)
    if found is None:
        return math.nan
    digits = next(group for group in found.groups() if group)
    return _as_float(int(digits, _BASES[found.groups().index(digits)]))


def _as_float(whole: int) -> float:
    try:
        return float(whole)
    except OverflowError:
        return math.inf


def number_text(number: float) -> str:
    """Write a number as `String` does: shortest digits, exponent from 1e21 and below 1e-6.

    >>> number_text(5.0), number_text(1e21), number_text(1e-7)
    ('5', '1e+21', '1e-7')
    """
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    return sign + _digits(abs(number))


def _digits(number: float) -> str:
    mantissa, _, exponent = f"{number!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= _PLAIN_EXPONENT:
        return digits + "0" * (point - count)
    if 0 < point <= _PLAIN_EXPONENT:
        return f"{digits[:point]}.{digits[point:]}"
    if _SMALLEST_EXPONENT < point <= 0:
        return f"0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{rest}e{point - 1:+d}"


def stored_number(number: float) -> float:
    """Give a whole number as an int, so that JSON writes it without a point."""
    if number.is_integer() and abs(number) < _SAFE_INTEGER:
        return int(number)
    return number


def round_half_up(number: float) -> int:
    """Round as `Math.round` does: halves go up."""
    return math.floor(number + 0.5)
