"""Messages of the host link as lines: JSON-RPC 2.0, UTF-8, one message a line.

Owns the size limit and what becomes of a line that is no message. Must not know a thread, a
method or a session.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from attrs import frozen

from tavern_loader.errors import LoaderError

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Of one line, its end included, in either direction."""

_SEPARATORS = (",", ":")
_HEAD_BYTES = 64
_ID_IN_HEAD = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d{1,15}),"method":')
"""How the bridge begins a call: enough to answer one that cannot be read."""


class MessageTooLargeError(LoaderError):
    """A message does not fit in a line."""

    def __init__(self, actual_bytes: int) -> None:
        """Keep the sizes."""
        message = f"a message of {actual_bytes} bytes is over the limit of {MAX_LINE_BYTES}"
        super().__init__("MESSAGE_TOO_LARGE", message)
        self.actual_bytes = actual_bytes
        self.max_bytes = MAX_LINE_BYTES


@frozen(kw_only=True)
class BadLine:
    """A line that is no message."""

    reason: str
    """UPPER_SNAKE."""
    call_id: int | None
    """Of the call that waits for an answer, if the beginning of the line shows one."""


def encode_line(message: Mapping[str, Any]) -> bytes:
    """Write a message as a line; raises MessageTooLargeError, and ValueError for NaN."""
    text = json.dumps(message, ensure_ascii=False, separators=_SEPARATORS, allow_nan=False)
    try:
        line = text.encode() + b"\n"
    except UnicodeEncodeError:
        # Half of a surrogate pair: JSON can say it, UTF-8 cannot.
        line = json.dumps(message, separators=_SEPARATORS, allow_nan=False).encode() + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise MessageTooLargeError(len(line))
    return line


def decode_line(line: bytes) -> Mapping[str, Any] | BadLine:
    """Read one line."""
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        return _bad("MESSAGE_TOO_DEEP" if deep else "MESSAGE_NOT_JSON", line)
    if not _is_message(message):
        return _bad("MESSAGE_INVALID", line)
    valid: Mapping[str, Any] = message
    return valid


def read_line(stream: BinaryIO) -> bytes | BadLine | None:
    """Take the next line from a stream; None at its end, where a broken last line is dropped."""
    line = stream.readline(MAX_LINE_BYTES + 1)
    if line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
        return line
    head = line[:_HEAD_BYTES]
    while line and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE_BYTES)
    return _bad("MESSAGE_TOO_LARGE", head) if line else None


def _is_message(value: object) -> bool:
    """Look at what everything else relies on: kinds of `id` and `method`."""
    if not isinstance(value, dict):
        return False
    number, method = value.get("id"), value.get("method", "")
    plain = number is None or (isinstance(number, int | str) and not isinstance(number, bool))
    return plain and isinstance(method, str)


def _bad(reason: str, head: bytes) -> BadLine:
    found = _ID_IN_HEAD.match(head)
    return BadLine(reason=reason, call_id=int(found[1]) if found else None)
