"""JSON in and out, bounded and strict, the same on every Python version.

Knows nothing of any resource. What differs from `json.loads(bytes)`: only UTF-8 (a leading byte
order mark is a diagnostic), no NaN or Infinity in any spelling, repeated keys are a diagnostic (the
last one wins, as in JavaScript), nesting and size are bounded before parsing, and every refusal
names the byte. Lone surrogates survive: JavaScript writes them, so files hold them.
"""

import json
import re
from collections.abc import Callable
from itertools import accumulate
from math import isfinite
from typing import Any, NoReturn

from tavern_format.diagnostics import Report, info, pointer, warn
from tavern_format.errors import FormatError, LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits

JsonObject = dict[str, Any]

JS_DECIMAL_LIMIT = 1e21
"""From here on JavaScript writes numbers with an exponent."""

_BOM = b"\xef\xbb\xbf"
_UTF16_32_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_STRUCTURE = b'"[]{}'
_NOT_STRUCTURE = bytes(byte for byte in range(256) if byte not in _STRUCTURE)
_STRING = re.compile(rb'"[^"]*"')
_NUMBER = re.compile(
    r'"(?:[^"\\]|\\.)*+"|(?P<number>-?(?:NaN|Infinity|[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+))'
)
_INT_DIGITS = 4_300
_SURROGATE = re.compile("[\ud800-\udfff]")
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_size(data: bytes, limits: Limits) -> None:
    """Refuse an input over `input_bytes`, and anything that is not bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        message = f"bytes are needed, not {type(data).__name__}"
        raise TypeError(message)
    _require("input_bytes", len(data), limits.input_bytes, "bytes")


def load(data: bytes, limits: Limits, report: Report, *, path: str = "") -> Any:  # noqa: ANN401
    """Parse one JSON document.

    `path` prefixes the pointers of the diagnostics. Raises MalformedResourceError (EMPTY_INPUT,
    ENCODING_NOT_UTF8, JSON_SYNTAX, JSON_TRUNCATED, JSON_NUMBER) and LimitExceededError.
    """
    _require("json_bytes", len(data), limits.json_bytes, "bytes")
    text = decode(data, report, path=path)
    if not text or text.isspace():
        raise MalformedResourceError("EMPTY_INPUT", "the document is empty", offset_bytes=0)
    _check_nesting(data, limits)
    document = _parse(text, report, path)
    if len(text) > limits.string_chars:
        _check_strings(document, limits)
    return document


def decode(data: bytes, report: Report, *, path: str = "") -> str:
    """Decode UTF-8: a byte order mark is dropped, bad bytes become U+FFFD, both with a diagnostic.

    SillyTavern replaces bad bytes without a word. UTF-16 and UTF-32 are refused: replacing would
    leave nothing of them.
    """
    if data.startswith(_UTF16_32_MARKS) or data[1:2] == b"\x00" or data[:1] == b"\x00":
        message = "the text is not UTF-8 (it looks like UTF-16 or UTF-32)"
        raise MalformedResourceError("ENCODING_NOT_UTF8", message, offset_bytes=0)
    body = bytes(data)
    if body.startswith(_BOM):
        info(report, "BYTE_ORDER_MARK", path, "a leading byte order mark was dropped")
        body = body[len(_BOM) :]
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as fault:
        offset = fault.start + len(data) - len(body)
        message = f"bytes that are not UTF-8 were read as U+FFFD, the first at byte {offset}"
        warn(report, "ENCODING_REPLACED", path, message)
        return body.decode("utf-8", "replace")


def dump(document: object, *, indent: int | None = None) -> bytes:
    """Write JSON as UTF-8: key order kept, non-ASCII text as it is, lone surrogates as escapes.

    A document too deep for Python's indenting writer is written compactly.
    """
    separators = (",", ":") if indent is None else (",", ": ")
    try:
        text = json.dumps(
            document, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
        )
    except RecursionError:
        if indent is None:
            raise
        return dump(document)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8")


def load_leniently(data: bytes) -> Any:  # noqa: ANN401
    """Parse JSON with the default limits and no remarks; None for anything that is not JSON."""
    try:
        return load(data, DEFAULT_LIMITS, lambda _: None)
    except FormatError:
        return None


def with_javascript_numbers(document: Any) -> Any:  # noqa: ANN401
    """Copy a document with whole floats as whole numbers: JavaScript writes 1.0 as `1`."""
    if isinstance(document, float):
        whole = document.is_integer() and abs(document) < JS_DECIMAL_LIMIT
        return int(document) if whole else document
    if not isinstance(document, dict | list):
        return document
    top: Any = type(document)()
    pending = [(document, top)]
    while pending:
        source, target = pending.pop()
        items = source.items() if isinstance(source, dict) else enumerate(source)
        for key, value in items:
            copied = value
            if isinstance(value, dict | list):
                copied = type(value)()
                pending.append((value, copied))
            elif isinstance(value, float):
                copied = with_javascript_numbers(value)
            if isinstance(target, dict):
                target[key] = copied
            else:
                target.append(copied)
    return top


def _parse(text: str, report: Report, path: str) -> Any:  # noqa: ANN401
    try:
        return _read(_DECODER, text)
    except _RepeatedKeyError:
        return _parse_with_repeats(text, report, path)


def _read(decoder: json.JSONDecoder, text: str) -> Any:  # noqa: ANN401
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as fault:
        raise _syntax(text, fault) from None
    except RecursionError:
        message = "nested too deeply for the calling program's remaining stack"
        raise MalformedResourceError("JSON_DEPTH", message) from None
    except ValueError as fault:  # ours, or CPython's: it reads no integer of over 4,300 digits
        message = str(fault) if isinstance(fault, _NumberError) else "a number has too many digits"
        offset = _offset_of_bad_number(text)
        raise MalformedResourceError("JSON_NUMBER", message, offset_bytes=offset) from None


def _parse_with_repeats(text: str, report: Report, path: str) -> Any:  # noqa: ANN401
    """Parse again what holds a key twice in one object, this time noting where."""
    repeated: list[tuple[JsonObject, str]] = []

    def pairs(members: list[tuple[str, Any]]) -> JsonObject:
        found = dict(members)
        if len(found) != len(members):
            repeated.extend((found, key) for key in _repeats(members))
        return found

    document = _read(_decoder(pairs), text)
    _report_repeats(document, repeated, report, path)
    return document


def _report_repeats(
    document: object, repeated: list[tuple[JsonObject, str]], report: Report, path: str
) -> None:
    """Find the place of each object with a repeated key: only now is the whole tree known."""
    keys: dict[int, list[str]] = {}
    for found, key in repeated:
        keys.setdefault(id(found), []).append(key)
    pending = [(document, path)]
    while pending:
        node, where = pending.pop()
        for key in keys.get(id(node), ()):
            message = "a key occurs twice in one object; the last one wins"
            warn(report, "JSON_KEY_REPEATED", pointer(where, key), message)
        pending.extend((child, pointer(where, token)) for token, child in members(node))


def members(node: object) -> list[tuple[str | int, Any]]:
    """List the children of a JSON value that are arrays or objects, with key or index."""
    if isinstance(node, dict):
        return [(key, child) for key, child in node.items() if isinstance(child, dict | list)]
    if isinstance(node, list):
        return [(at, child) for at, child in enumerate(node) if isinstance(child, dict | list)]
    return []


class _NumberError(ValueError):
    """A number JavaScript could only hold as Infinity or NaN."""


def _float(literal: str) -> float:
    number = float(literal)
    if not isfinite(number):
        message = "a number is too large for JSON readers (it would become Infinity)"
        raise _NumberError(message)
    return number


def _constant(name: str) -> NoReturn:
    message = f"{name} is not JSON"
    raise _NumberError(message)


class _RepeatedKeyError(Exception):
    """A key stands twice in one object: rare enough to begin again."""


def _unique(members: list[tuple[str, Any]]) -> JsonObject:
    found = dict(members)
    if len(found) != len(members):
        raise _RepeatedKeyError
    return found


def _decoder(pairs: Callable[[list[tuple[str, Any]]], JsonObject]) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=pairs, parse_float=_float, parse_constant=_constant)


_DECODER = _decoder(_unique)


def _offset_of_bad_number(text: str) -> int | None:
    for found in _NUMBER.finditer(text):
        literal = found["number"]
        if literal is None:
            continue
        digits = sum(map(str.isdigit, literal))
        if digits == 0 or digits > _INT_DIGITS or not isfinite(float(literal)):
            return _byte_offset(text, found.start())
    return None


def _byte_offset(text: str, offset_chars: int) -> int:
    return len(text[:offset_chars].encode("utf-8", "surrogatepass"))


def _repeats(members: list[tuple[str, Any]]) -> list[str]:
    seen: set[str] = set()
    return [key for key, _ in members if key in seen or seen.add(key)]  # type: ignore[func-returns-value]


def _syntax(text: str, fault: json.JSONDecodeError) -> MalformedResourceError:
    offset = _byte_offset(text, fault.pos)
    if fault.msg.startswith("Unterminated") or fault.pos >= len(text.rstrip()):
        message = "the JSON text ends early"
        return MalformedResourceError("JSON_TRUNCATED", message, offset_bytes=offset)
    return MalformedResourceError("JSON_SYNTAX", f"not JSON: {fault.msg}", offset_bytes=offset)


def _check_nesting(data: bytes, limits: Limits) -> None:
    """Bound nesting and node count on the bytes alone, before a parser recurses.

    Strings are taken out first (they may hold brackets): escaped quotes go, everything but quotes
    and brackets goes, then the quoted runs. A node takes two bytes with its separator, so a short
    text needs no count.
    """
    if len(data) <= limits.json_nodes and _openers(data) <= limits.json_depth_levels:
        return
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if len(data) > 2 * limits.json_nodes:
        bare = _STRING.sub(b"", data)
        nodes = bare.count(b",") + _openers(bare) + 1
        _require("json_nodes", nodes, limits.json_nodes, "values")
    marks = data.translate(None, _NOT_STRUCTURE).replace(b'""', b"")
    brackets = _STRING.sub(b"", marks).replace(b'"', b"")
    shallower = brackets.replace(b"[]", b"").replace(b"{}", b"")  # by two levels at the most
    if _depth(shallower) + 2 <= limits.json_depth_levels:
        return
    depth = _depth(brackets)
    _require("json_depth_levels", depth, limits.json_depth_levels, "levels")


def _openers(data: bytes) -> int:
    return data.count(b"[") + data.count(b"{")


def _depth(brackets: bytes) -> int:
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def _check_strings(document: object, limits: Limits) -> None:
    pending = [document]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            _require("string_chars", len(node), limits.string_chars, "characters")
        elif isinstance(node, dict):
            pending.extend(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def _require(limit: str, actual: int, maximum: int, unit: str) -> None:
    if actual > maximum:
        raise LimitExceededError(limit=limit, actual=actual, maximum=maximum, unit=unit)
