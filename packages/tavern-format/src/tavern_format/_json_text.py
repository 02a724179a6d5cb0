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
from typing import Any, NoReturn, TypeAlias

from tavern_format.diagnostics import Report, info, pointer, warn
from tavern_format.errors import FormatError, LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits

JsonObject = dict[str, Any]
BytesLike: TypeAlias = bytes | bytearray | memoryview

JS_DECIMAL_LIMIT = 1e21
"""From here on JavaScript writes numbers with an exponent."""

_BOM = b"\xef\xbb\xbf"
_UTF16_32_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_STRUCTURE = b'"[]{}'
_NOT_STRUCTURE = bytes(byte for byte in range(256) if byte not in _STRUCTURE)
_HEAD_BYTES = 1 << 17
_WINDOW_BYTES = 1 << 20
"""Nesting is looked at piece by piece: of a whole text there may be millions of strings."""
_HIDDEN_LEVELS = 2
"""What taking out `[]` and `{}` can hide of the depth."""
_REPEATS_LISTED = 100
_NUMBER = re.compile(
    r'"(?:[^"\\]|\\.)*+"|(?P<number>-?(?:NaN|Infinity|[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+))'
)
_INT_DIGITS = 4_300
_SURROGATE = re.compile("[\ud800-\udfff]")
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_size(data: BytesLike, limits: Limits) -> None:
    """Refuse an input over `input_bytes`, and anything that is not bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        message = f"bytes are needed, not {type(data).__name__}"
        raise TypeError(message)
    size_bytes = data.nbytes if isinstance(data, memoryview) else len(data)
    _require("input_bytes", size_bytes, limits.input_bytes, "bytes")


def as_bytes(data: BytesLike, limits: Limits) -> bytes:
    """Give an input of any bytes-like type as `bytes`, without a copy where it is; checked first.

    Raises as `check_size`: TypeError, and LimitExceededError (`input_bytes`).
    """
    check_size(data, limits)
    return data if type(data) is bytes else bytes(data)


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
    repeated: list[tuple[JsonObject, list[str]]] = []

    def pairs(members: list[tuple[str, Any]]) -> JsonObject:
        found = dict(members)
        if len(found) != len(members):
            repeated.append((found, _repeats(members)))
        return found

    document = _read(_decoder(pairs), text)
    _report_repeats(document, repeated, report, path)
    return document


def _report_repeats(
    document: object, repeated: list[tuple[JsonObject, list[str]]], report: Report, path: str
) -> None:
    """Find the place of each object with a repeated key: only now is the whole tree known.

    At most `_REPEATS_LISTED` are told one by one, in document order; the rest, and those in a value
    that a later one replaced, are one more diagnostic.
    """
    keys = {id(found): names for found, names in repeated}
    left = _REPEATS_LISTED
    pending: list[tuple[object, _Step | None]] = [(document, None)]
    while pending and left:
        node, step = pending.pop()
        listed = keys.get(id(node), [])[:left]
        left -= len(listed)
        for key in listed:
            message = "a key occurs twice in one object; the last one wins"
            warn(report, "JSON_KEY_REPEATED", _place(path, (step, key)), message)
        pending.extend((child, (step, token)) for token, child in reversed(members(node)))
    more = sum(map(len, keys.values())) - (_REPEATS_LISTED - left)
    if more:
        message = f"{more} more times a key occurs twice in one object"
        warn(report, "JSON_KEY_REPEATED", path, message)


_Step: TypeAlias = tuple["_Step | None", str | int]
"""A token behind the step to its container: pointers are made of the few that are reported."""


def _place(path: str, step: "_Step | None") -> str:
    tokens: list[str | int] = []
    while step is not None:
        step, token = step
        tokens.append(token)
    return pointer(path, *reversed(tokens))


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

    Both are first counted too high, brackets and commas in strings among them. A node takes two
    bytes with its separator, so a short text needs no count. Only the nesting is looked at again
    without the strings.
    """
    if len(data) > 2 * limits.json_nodes:
        nodes = data.count(b",") + _openers(data) + 1
        _require("json_nodes", nodes, limits.json_nodes, "values")
    maximum = limits.json_depth_levels
    # Counting all brackets of a large book costs as much as looking at its nesting.
    if _openers(data[:_HEAD_BYTES]) > maximum or _openers(data) > maximum:
        _check_depth(data, maximum)


def _openers(data: bytes) -> int:
    return data.count(b"[") + data.count(b"{")


def _check_depth(data: bytes, maximum: int) -> None:
    """Follow the nesting outside of strings, a window of the text at a time.

    Escaped quotes go first; from then on each quote begins or ends a string.
    """
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    depth = inside = 0
    for at in range(0, len(data), _WINDOW_BYTES):
        window = data[at : at + _WINDOW_BYTES]
        runs = window.translate(None, _NOT_STRUCTURE).replace(b'""', b"").split(b'"')
        brackets = b"".join(runs[inside::2])
        inside = (inside + len(runs) - 1) % 2
        few = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if depth + _deepest(few) + _HIDDEN_LEVELS > maximum:
            _require("json_depth_levels", depth + _deepest(brackets), maximum, "levels")
        depth += 2 * _openers(few) - len(few)
        if depth < 0:  # more was closed than opened: the parser goes no further than that
            return


def _deepest(brackets: bytes) -> int:
    return max(accumulate(map(_STEP.__getitem__, brackets), initial=0))


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
