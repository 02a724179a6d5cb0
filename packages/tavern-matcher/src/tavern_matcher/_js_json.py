"""The identity hash of an entry: SillyTavern's text hash over its JSON.

Owns the writing of JSON as `JSON.stringify` does, and the hash. Stored timed effects hold such
hashes, so every digit counts.

Source: SillyTavern 1.19.0, public/scripts/utils.js, getStringHash; public/scripts/world-info.js,
getSortedEntries.
"""

import json
import math
import re
from collections.abc import Mapping

from tavern_matcher._js import UNDEFINED, number_text, object_key_rank, to_number

_MASK = 0xFFFFFFFF
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIGITS = re.compile("[0-9]+")


def string_hash(text: str) -> int:
    """Hash a text by its UTF-16 units to 53 bits.

    >>> string_hash("lantern")
    2518879951497208
    """
    first, second = 0xDEADBEEF, 0x41C6CE57
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        first = ((first ^ unit) * 2654435761) & _MASK
        second = ((second ^ unit) * 1597334677) & _MASK
    first = ((first ^ (first >> 16)) * 2246822507 ^ (second ^ (second >> 13)) * 3266489909) & _MASK
    second = ((second ^ (second >> 16)) * 2246822507 ^ (first ^ (first >> 13)) * 3266489909) & _MASK
    return 4294967296 * (2097151 & second) + first


def stringify(value: object) -> str:
    """Write a JSON value without spaces, keys as a JavaScript object lists them."""
    if isinstance(value, str):
        return _SURROGATE.sub(_escape, json.dumps(value, ensure_ascii=False))
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        number = to_number(value)
        return number_text(number) if math.isfinite(number) else "null"
    if isinstance(value, Mapping):
        members = (
            f"{stringify(key)}:{stringify(value[key])}"
            for key in _ordered(value)
            if value[key] is not UNDEFINED
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(stringify, value)) + "]"
    return "null"


def _ordered(value: Mapping[str, object]) -> list[str]:
    keys = list(value)
    return sorted(keys, key=object_key_rank) if any(map(_DIGITS.fullmatch, keys)) else keys


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
