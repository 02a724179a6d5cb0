"""Sizes, hashes and the JSON text they are taken of, to the byte as JavaScript makes them.

A host written in JavaScript and this package must agree on every hash, so numbers, key order and
broken surrogate pairs follow `JSON.stringify` and Node's UTF-8. Must not know what is hashed.

Source: ECMAScript 2024, Number::toString, SerializeJSONProperty, QuoteJSONString,
OrdinaryOwnPropertyKeys; the plugin contract, section D1.
"""

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from attrs import frozen

from tavern_trace.errors import TraceError

MAX_DEPTH = 10_000
"""Levels of arrays and objects; a value that holds itself passes any limit."""
MAX_SAFE_INTEGER = 2**53 - 1
_LAST_ARRAY_INDEX = 2**32 - 2
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_NEEDS_ESCAPE = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')
_UNLIKE_PYTHON = tuple(
    # Numbers that JavaScript writes otherwise, and keys that sort first or were no texts. What
    # looks like one inside a string only costs time. One search each: together they are slower.
    re.compile(pattern)
    for pattern in (
        r"\.0(?![^,\]}])",
        r"e[+-][0-9]+(?![^,\]}])",
        r"[0-9]{16}(?![^,\]}])",
        r'"(?:[0-9-][^"]*|true|false|null|NaN|Infinity)":',
    )
)
_NO_NUMBERS = ("NaN", "Infinity")
_SHORT_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
}  # fmt: skip
_FIRST_EXPONENT = 21
"""From 1e21 on JavaScript writes an exponent."""
_LAST_ZEROS = -6
"""Below 1e-6 it does so, too."""


@frozen(kw_only=True)
class Counts:
    """The size of a text in three units."""

    chars: int
    """Code points; a surrogate pair is one."""
    utf16: int
    """UTF-16 code units: JavaScript's length."""
    utf8_bytes: int
    """Bytes in UTF-8 as Node encodes: half a surrogate pair takes three."""


def counts(text: str) -> Counts:
    """Measure a text.

    >>> counts("a🦊")
    Counts(chars=2, utf16=3, utf8_bytes=5)
    """
    joined = _join_surrogates(text)
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return Counts(chars=len(joined), utf16=units, utf8_bytes=len(_to_utf8(text)))


def digest(value: object) -> str:
    """SHA-256 as lower-case hex: of a string itself, of anything else its JSON text.

    Raises what `json_stringify` raises.

    >>> digest("") == digest("") != digest([])
    True
    """
    text = value if isinstance(value, str) else json_stringify(value)
    return sha256(_to_utf8(text)).hexdigest()


def json_stringify(value: object) -> str:
    r"""Write a value as `JSON.stringify` does: compact, whole-number keys first, `1.0` as `1`.

    Takes None, bool, int, float, str, list, tuple and mappings with string keys. Numbers are
    doubles, as in JavaScript: 2**53 + 1 loses its last digit, NaN and infinities become null.
    Raises TypeError for any other value or key, and TraceError (VALUE_TOO_DEEP) beyond MAX_DEPTH.

    >>> json_stringify({"b": 1.0, "2": -0.0, "1": "\ud83e"})
    '{"1":"\\ud83e","2":0,"b":1}'
    """
    text = _quick(value)
    return _exact(value) if text is None else text


def encode_json(value: object) -> bytes:
    """Encode what `json_stringify` writes as UTF-8; raises what it raises."""
    return json_stringify(value).encode()


def _quick(value: object) -> str | None:
    """Let Python's own writer do it; None where its text could differ from JavaScript's."""
    try:
        text = json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), check_circular=False, default=_plain
        )
        text.encode()  # fails on half a surrogate pair
    except (RecursionError, ValueError):
        return None
    alike = not any(pattern.search(text) for pattern in _UNLIKE_PYTHON)
    return text if alike and not any(word in text for word in _NO_NUMBERS) else None


def _plain(value: object) -> dict[object, object]:
    """Make a dict of any other mapping, for Python's writer."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON text")


def _exact(value: object) -> str:
    """Write by JavaScript's own rules, one value after the other."""
    pieces: list[str] = []
    pending: list[object] = [value]
    depth = 0
    while pending:
        item = pending.pop()
        if isinstance(item, _Mark):
            pieces.append(item.text)
            depth += item.change
        elif isinstance(item, list | tuple | Mapping):
            if depth >= MAX_DEPTH:
                raise TraceError("VALUE_TOO_DEEP", f"more than {MAX_DEPTH} levels")
            pending.extend(reversed([*_members(item)]))
        else:
            pieces.append(_scalar(item))
    return "".join(pieces)


class _Mark:
    """A piece of finished text among the values that are still to be written."""

    __slots__ = ("change", "text")

    def __init__(self, text: str, change: int = 0) -> None:
        self.text = text
        self.change = change


_COMMA = _Mark(",")


def _members(
    container: list[object] | tuple[object, ...] | Mapping[object, object],
) -> Iterator[object]:
    """Take one level apart, brackets and commas included."""
    is_object = isinstance(container, Mapping)
    yield _Mark("{" if is_object else "[", 1)
    if isinstance(container, Mapping):
        for place, key in enumerate(_own_keys(container)):
            if place:
                yield _COMMA
            yield _Mark(f"{_quote(key)}:")
            yield container[key]
    else:
        for place, item in enumerate(container):
            if place:
                yield _COMMA
            yield item
    yield _Mark("}" if is_object else "]", -1)


def _own_keys(container: Mapping[object, object]) -> list[str]:
    """List keys as JavaScript does: array indices ascending, then the others as they came."""
    keys = []
    for key in container:
        if not isinstance(key, str):
            raise TypeError(f"a key is {type(key).__name__}, not str")
        keys.append(key)
    return sorted(keys, key=_key_rank)


def _key_rank(key: str) -> int:
    number = int(key) if _ARRAY_INDEX.fullmatch(key) else _LAST_ARRAY_INDEX + 1
    return min(number, _LAST_ARRAY_INDEX + 1)


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return _quote(value)
    raise TypeError(f"{type(value).__name__} has no JSON text")


class _Decimal(NamedTuple):
    digits: str
    """Without zeros at the ends."""
    point: int
    """How many digits stand before the decimal point."""


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER:
        return str(int(value))
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if number - number != 0:  # NaN and the infinities
        return "null"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    return sign + _positive(_decimal(repr(abs(number))))


def _decimal(text: str) -> _Decimal:
    """Take Python's shortest text of a positive number apart: JavaScript has the same digits."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    lost = len(whole + fraction) - len(digits)
    return _Decimal(digits.rstrip("0"), len(whole) - lost + int(exponent or 0))


def _positive(number: _Decimal) -> str:
    digits, point = number
    if _LAST_ZEROS < point <= 0:
        return f"0.{'0' * -point}{digits}"
    if 0 < point <= _FIRST_EXPONENT:
        whole, fraction = digits[:point].ljust(point, "0"), digits[point:]
        return f"{whole}.{fraction}" if fraction else whole
    mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{mantissa}e{point - 1:+d}"


def _quote(text: str) -> str:
    return f'"{_NEEDS_ESCAPE.sub(_escape, _join_surrogates(text))}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return _SHORT_ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _join_surrogates(text: str) -> str:
    """Make each pair of surrogates the one character it stands for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _to_utf8(text: str) -> bytes:
    """Encode as Node does: half a surrogate pair becomes U+FFFD."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "replace").encode()
