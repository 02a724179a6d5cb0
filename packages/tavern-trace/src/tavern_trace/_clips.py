"""Cutting what an audit takes over: kinds, lengths and counts, as tables of one line per field.

Owns the limits. Must not know what an audit is made of.

Source: the plugin contract, section D8 ("Clips").
"""

from collections.abc import Callable, Mapping

from tavern_trace._json import FrozenObject, Json, JsonObject, as_array, as_text, as_whole, freeze
from tavern_trace.hashing import json_stringify

Clip = Callable[[Json], Json]

NAME_UTF16 = 200
MESSAGE_UTF16 = 320
KEY_UTF16 = 160
SHORT_UTF16 = 120
ELLIPSIS = "…"


def clipped(text: str, limit_utf16: int) -> str:
    """Cut a text behind so many UTF-16 units, and say so with an ellipsis.

    >>> clipped("lantern", 4)
    'lant…'
    """
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * limit_utf16:
        return text
    return units[: 2 * limit_utf16].decode("utf-16-le", "surrogatepass") + ELLIPSIS


def text(limit_utf16: int) -> Clip:
    """Take a text or number as a text; nothing is empty."""
    return lambda value: clipped(_as_string(value), limit_utf16)


def text_or_null(limit_utf16: int) -> Clip:
    """Take a text or number as a text; nothing stays nothing."""
    return lambda value: None if value is None else clipped(_as_string(value), limit_utf16)


def name_or_null(value: Json) -> Json:
    """Take a text that is not empty."""
    found = as_text(value)
    return clipped(found, NAME_UTF16) if found else None


def _as_string(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json_stringify(value)


def texts(limit: int) -> Clip:
    """Take the texts of an array, the first so many."""
    return lambda value: tuple(
        clipped(item, KEY_UTF16) for item in as_array(value) if isinstance(item, str)
    )[:limit]


def whole_or_null(value: Json) -> Json:
    """Take a whole number."""
    return as_whole(value)


def whole_or_zero(value: Json) -> Json:
    """Take a whole number, or 0."""
    return as_whole(value) or 0


def number_or_null(value: Json) -> Json:
    """Take a finite number."""
    found = isinstance(value, int | float) and not isinstance(value, bool)
    return value if found and json_stringify(value) != "null" else None


def number_or_zero(value: Json) -> Json:
    """Take a finite number, or 0."""
    return number_or_null(value) or 0


def is_true(value: Json) -> Json:
    """Take true; anything else is false."""
    return value is True


def one_of(*known: str, other: Json = None) -> Clip:
    """Take one of some texts."""
    return lambda value: value if value in known else other


def wholes(last: int) -> Clip:
    """Take the whole numbers of an array, the last so many."""
    return lambda value: tuple(item for item in as_array(value) if as_whole(item) is not None)[
        -last:
    ]


def taken(
    value: JsonObject, rows: Mapping[str, Clip], aliases: Mapping[str, str] | None = None
) -> JsonObject:
    """Take an object field by field; what is missing is what its clip makes of nothing."""
    names = aliases or {}
    return FrozenObject(
        {
            key: clip(freeze(value.get(key, value.get(names.get(key, key)))))
            for key, clip in rows.items()
        }
    )
