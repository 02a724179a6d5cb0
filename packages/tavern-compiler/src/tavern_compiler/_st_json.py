"""Reading of captured documents: bounded JSON, and values that may be anything.

Must not know which document it reads.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from tavern_compiler.errors import CompilerError
from tavern_format import Diagnostic, Severity

MAX_BYTES = 64 * 1024 * 1024
"""A captured prompt of a million tokens has a few megabytes."""

MAX_LEVELS = 200
"""Objects and arrays inside each other; a captured prompt has about ten levels."""

Report = Callable[[Diagnostic], None]


def read_object(data: bytes, what: str) -> dict[str, Any]:
    """Read one JSON object; of equal keys the last counts.

    Raises CompilerError: SNAPSHOT_TOO_LARGE, SNAPSHOT_JSON, SNAPSHOT_SHAPE.
    """
    if len(data) > MAX_BYTES:
        message = f"{what} has {len(data)} bytes, {MAX_BYTES} are allowed"
        raise CompilerError("SNAPSHOT_TOO_LARGE", message)
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError) as fault:
        message = f"{what} is no JSON text, or nested too deeply"
        raise CompilerError("SNAPSHOT_JSON", message) from fault
    if _is_deeper(document, MAX_LEVELS):
        raise CompilerError("SNAPSHOT_JSON", f"{what} has more than {MAX_LEVELS} levels")
    if not isinstance(document, dict):
        message = f"{what} is an object, not a list or a plain value"
        raise CompilerError("SNAPSHOT_SHAPE", message)
    return document


def _is_deeper(document: object, levels: int) -> bool:
    """Tell whether a document has more levels, without a stack of Python's own."""
    pending = [(document, 1)]
    while pending:
        value, level = pending.pop()
        if not isinstance(value, dict | list):
            continue
        if level > levels:
            return True
        inner = value.values() if isinstance(value, dict) else value
        pending += [(item, level + 1) for item in inner]
    return False


def _refuse(name: str) -> NoReturn:
    message = f"{name} is no JSON number"
    raise ValueError(message)


def write_object(document: Mapping[str, Any]) -> bytes:
    """Write JSON without spaces; half a surrogate pair is written as an escape."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def text_of(holder: Mapping[str, Any], key: str, path: str, report: Report) -> str:
    """Read a text; nothing is empty, and another type is reported and empty."""
    value = holder.get(key)
    if isinstance(value, str):
        return value
    if value is not None:
        report(odd(f"{path}/{key}", "a string"))
    return ""


def number_of(holder: Mapping[str, Any], key: str, default: float) -> float:
    """Read a number that `int` can take; another value is the default."""
    value = holder.get(key)
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value if plain and value is not None and abs(value) < 2**53 else default


def object_of(holder: Mapping[str, Any], key: str, path: str, report: Report) -> Mapping[str, Any]:
    """Read an object; nothing is an empty one, and another type is reported."""
    value = holder.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        report(odd(f"{path}/{key}", "an object"))
    return {}


def objects_of(
    holder: Mapping[str, Any], key: str, path: str, report: Report
) -> list[tuple[int, Mapping[str, Any]]]:
    """Read the objects of a list, with their places; anything else is reported and left out."""
    value = holder.get(key)
    if isinstance(value, list):
        return objects_in(value, f"{path}/{key}", report)
    if value is not None:
        report(odd(f"{path}/{key}", "an array"))
    return []


def objects_in(items: list[Any], path: str, report: Report) -> list[tuple[int, Mapping[str, Any]]]:
    """Choose the objects of a list, with their places; anything else is reported."""
    found: list[tuple[int, Mapping[str, Any]]] = []
    for at, item in enumerate(items):
        if isinstance(item, dict):
            found.append((at, item))
        else:
            report(odd(f"{path}/{at}", "an object"))
    return found


def odd(path: str, wanted: str) -> Diagnostic:
    """Say that a value is of another type, and takes no part."""
    message = f"{wanted} is needed here; the value is kept and takes no part"
    return Diagnostic("SNAPSHOT_VALUE", Severity.WARNING, path, message)
