"""How large a world book may be, and how deep.

Owns the limits and their codes. Must not know what a book means.

Source: the plugin contract, section B2.
"""

from collections.abc import Mapping

from tavern_loader.domain.documents import JsonObject
from tavern_loader.domain.js_values import list_of, object_of, require
from tavern_loader.errors import StoreError

MAX_ENTRIES = 10_000
MAX_RUNTIME_ENTRIES = 10_000
MAX_DEPTH = 32
MAX_STRING_CHARS = 1024 * 1024
MAX_KEY_CHARS = 1024
MAX_NODES = 1_000_000
"""The plugin stops at 100,000, which 2,040 full entries pass; it promises 10,000."""


def require_structure(raw: JsonObject) -> None:
    """Refuse what is no book, and one over a limit, before any of it is looked at closely.

    Raises ValueError, and StoreError with the contract's codes.
    """
    entries = raw.get("entries")
    require(isinstance(entries, Mapping | list), "a world book has entries")
    _limit("ENTRY", len(object_of(entries) or list_of(entries)), MAX_ENTRIES, "entries")
    pending: list[tuple[object, int]] = [(raw, 0)]
    nodes = 0
    while pending:
        value, depth = pending.pop()
        nodes += 1
        _limit("NODE", nodes, MAX_NODES, "JSON values")
        _limit("DEPTH", depth, MAX_DEPTH, "levels")
        if isinstance(value, str):
            _limit("STRING", len(value), MAX_STRING_CHARS, "characters in one text")
        elif isinstance(value, list):
            pending.extend((item, depth + 1) for item in value)
        elif isinstance(value, Mapping):
            _limit("KEY", max(map(len, value), default=0), MAX_KEY_CHARS, "characters in one key")
            pending.extend((item, depth + 1) for item in value.values())


def _limit(name: str, actual: int, most: int, unit: str) -> None:
    if actual > most:
        message = f"a world book has at most {most} {unit}"
        raise StoreError(f"WORLD_BOOK_{name}_LIMIT", message)
