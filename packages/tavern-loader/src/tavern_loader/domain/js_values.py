"""JSON values as the plugin's JavaScript takes them: which value counts as text, number, id.

Owns the small judgements that all stored documents share. Must not know any document.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

MAX_SAFE_INTEGER = 2**53 - 1
MAX_NUMBER = 1.7976931348623157e308
MAX_ID_CHARS = 200
MAX_NAME_UTF16 = 200
MAX_FILE_NAME_UTF16 = 255
_EMPTY: Mapping[str, Any] = {}


def text_of(value: object, default: str = "") -> str:
    """Take a string; anything else is the default."""
    return value if isinstance(value, str) else default


def object_of(value: object) -> Mapping[str, Any]:
    """Take an object; anything else is an empty one."""
    return value if isinstance(value, Mapping) else _EMPTY


def list_of(value: object) -> Sequence[Any]:
    """Take an array; anything else is an empty one."""
    return value if isinstance(value, list | tuple) else ()


def strings_of(value: object) -> list[str]:
    """Take the strings of an array; anything else has none."""
    return [item for item in list_of(value) if isinstance(item, str)]


def number_of(value: object) -> float | int | None:
    """Take a finite number; JavaScript has no other, and a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Compared, not converted: a whole number may be too large to become a float.
    return value if -MAX_NUMBER <= value <= MAX_NUMBER else None


def whole_of(value: object, least: int) -> int | None:
    """Take a whole number that JavaScript holds exactly, from `least` on."""
    number = number_of(value)
    if number is None or number != int(number) or not least <= number <= MAX_SAFE_INTEGER:
        return None
    return int(number)


def id_of(value: object) -> str | None:
    """Take what may be the id of a resource: a string of 1 to 200 characters."""
    return value if isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARS else None


def ids_of(value: object, limit: int) -> tuple[str, ...]:
    """Take the ids of a list, each once, at most `limit`."""
    found = (id_of(item) for item in list_of(value))
    return tuple(dict.fromkeys(item for item in found if item is not None))[:limit]


def clipped(text: str, limit_utf16: int) -> str:
    """Cut a text after so many UTF-16 units, never inside a character.

    >>> clipped("a🌧b", 2)
    'a'
    """
    taken = 0
    for place, char in enumerate(text):
        taken += 2 if char > "\uffff" else 1
        if taken > limit_utf16:
            return text[:place]
    return text


def require(holds: object, reason: str) -> None:
    """Raise ValueError with a reason unless something holds."""
    if not holds:
        raise ValueError(reason)


def name_of(value: object, default: str) -> str:
    """Take the name of a resource, trimmed, at most 200 units; the default for a blank one."""
    name = text_of(value).strip()
    return clipped(name, MAX_NAME_UTF16) if name else default


def file_name_of(value: str, default: str) -> str:
    """Take a file name without control characters, at most 255 units."""
    name = "".join(char for char in value if char >= " " and char != "\x7f").strip()
    return clipped(name, MAX_FILE_NAME_UTF16) if name else default


def iso_time(at_ms: int) -> str:
    """Write a time as JavaScript's `toISOString` does.

    >>> iso_time(0)
    '1970-01-01T00:00:00.000Z'
    """
    seconds, rest_ms = divmod(at_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ms:03d}Z"
