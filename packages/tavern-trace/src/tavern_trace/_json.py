"""JSON as values that cannot be changed: read from bytes, frozen, and made plain again.

Must not know what a document means. Follows what JavaScript's `JSON.parse` takes: no NaN, no byte
order mark; half surrogate pairs stay as they are escaped.
"""

import json
from collections.abc import Mapping
from typing import Any, NoReturn, TypeAlias

from tavern_trace.errors import SchemaError

Json: TypeAlias = "bool | int | float | str | tuple[Json, ...] | Mapping[str, Json] | None"
"""A JSON value: arrays are tuples, objects are mappings."""
JsonObject: TypeAlias = Mapping[str, Json]

MAX_NESTING = 100
"""Levels of a document that is kept: known ones have ten; Python's own stack ends near 1,000."""
_SAFE_DIGITS = 15


class FrozenObject(dict[str, Json]):
    """A JSON object that cannot be changed, but copied, pickled and written like any other."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("an object of a record cannot be changed")

    __setitem__ = __delitem__ = clear = pop = popitem = _refuse
    setdefault = update = __ior__ = _refuse

    def __reduce__(self) -> tuple[type["FrozenObject"], tuple[dict[str, Json]]]:
        """Copy and pickle by content: the usual way would set the items one by one."""
        return FrozenObject, (dict(self),)


EMPTY: JsonObject = FrozenObject()


def parse(data: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Read JSON bytes into plain values.

    Raises SchemaError: NOT_UTF8, INVALID_JSON, NESTED_TOO_DEEP.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as fault:
        raise SchemaError("NOT_UTF8", f"byte {fault.start} is not UTF-8") from None
    return parse_text(text)


def parse_text(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Read one JSON text; raises what `parse` raises."""
    try:
        return json.loads(text, parse_int=whole, parse_constant=refuse_constant)
    except json.JSONDecodeError as fault:
        place = f"not JSON at line {fault.lineno} column {fault.colno}"
        message = place if text.strip() else "it is empty"
        raise SchemaError("INVALID_JSON", message) from None
    except ValueError:
        raise SchemaError("INVALID_JSON", "it holds NaN or Infinity") from None
    except RecursionError:
        raise SchemaError("NESTED_TOO_DEEP", "the nesting has no end") from None


def whole(digits: str) -> float:
    """Read a whole number; beyond 2^53 it is a double, as in JavaScript."""
    return int(digits) if len(digits) <= _SAFE_DIGITS else float(digits)


def refuse_constant(_: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python would read; raises ValueError."""
    raise ValueError


def freeze(value: object, path: str = "", depth: int = 0) -> Json:
    """Make a JSON value one that cannot be changed; a frozen one may be given again.

    Raises SchemaError NESTED_TOO_DEEP, and TypeError for what is no JSON value.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, FrozenObject):
        return value  # what is in it was frozen before it
    if depth >= MAX_NESTING:
        raise SchemaError("NESTED_TOO_DEEP", f"more than {MAX_NESTING} levels", path=path)
    if isinstance(value, Mapping):
        members = {_key(key): freeze(item, path, depth + 1) for key, item in value.items()}
        return FrozenObject(members)
    if isinstance(value, list | tuple):
        return tuple([freeze(item, path, depth + 1) for item in value])
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key is {type(key).__name__}, not str")
    return key


def freeze_object(value: Mapping[str, object], path: str = "") -> JsonObject:
    """Freeze an object; raises what `freeze` raises."""
    frozen = freeze(value, path)
    return frozen if isinstance(frozen, Mapping) else EMPTY


def thaw(value: Json) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Make plain dicts and lists of a frozen value, new ones at every level."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value


def as_object(value: object) -> JsonObject:
    """Give an object back, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else EMPTY


def as_array(value: object) -> tuple[Json, ...]:
    """Give an array back, and an empty one for anything else."""
    return value if isinstance(value, tuple) else ()


def as_text(value: object) -> str | None:
    """Give a text back, and None for anything else."""
    return value if isinstance(value, str) else None


def as_whole(value: object) -> int | None:
    """Give a whole number back, and None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
