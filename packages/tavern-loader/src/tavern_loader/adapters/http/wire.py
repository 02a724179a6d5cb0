"""Requests and answers as values, and JSON as it goes over the wire.

Owns what a handler sees of a request. Must not know ASGI, routes or services.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from attrs import field, frozen

from tavern_loader.adapters.http.faults import ApiError

JSON_TYPE = "application/json; charset=utf-8"
MAX_DIGITS = 300
"""Of a whole number: JavaScript takes more for infinite."""
MAX_DEPTH = 200
"""Levels of nesting in a body; deeper than any resource that can be kept."""


@frozen(kw_only=True)
class Call:
    """One request after its checks."""

    path: Mapping[str, str] = field(factory=dict)
    """Parameters of the path, each of the form its name asks for."""
    query: Mapping[str, str] = field(factory=dict)
    """The parameters the route knows; the first of each name."""
    body: Any = field(default=None, repr=False)
    """The JSON value, or the bytes of a route that takes bytes."""
    revision: str | None = None
    """Of If-Match: what the caller takes the document to be."""

    @property
    def object(self) -> Mapping[str, Any]:
        """The body of a route whose schema asks for an object."""
        value: Mapping[str, Any] = self.body
        return value

    @property
    def ignores_running(self) -> bool:
        """Whether the caller wants the change although a session that it concerns runs."""
        return self.query.get("whileRunning") == "allow"


@frozen(kw_only=True)
class Answer:
    """What goes back."""

    status: int = 200
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(factory=dict)


def ok(status: int = 200, *, revision: str | None = None, **content: Any) -> Answer:  # noqa: ANN401
    """Answer with an object that says `ok`; a revision becomes its ETag."""
    headers = {} if revision is None else {"ETag": etag(revision)}
    return json_answer(status, {"ok": True, **content}, headers)


def json_answer(status: int, value: object, headers: Mapping[str, str] | None = None) -> Answer:
    """Answer with JSON."""
    return Answer(
        status=status,
        body=json_bytes(value),
        headers={"Content-Type": JSON_TYPE, **(headers or {})},
    )


def json_bytes(value: object) -> bytes:
    """Write JSON as JavaScript does: no blanks, UTF-8, half a surrogate pair as its escape."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def read_json(data: bytes, code: str) -> Any:  # noqa: ANN401
    """Read a body; an empty one is an empty object.

    Raises ApiError (400) with `code`, and without any of the body, for everything but JSON.
    """
    if not data:
        return {}
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except UnicodeDecodeError as error:
        raise ApiError(400, code, "the body is not UTF-8") from error
    except _NumberError as error:
        raise ApiError(400, code, "the body has a number that JSON cannot hold") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ApiError(400, code, f"the body is not JSON ({place})") from error
    except RecursionError as error:
        raise ApiError(400, code, "the body is nested too deeply") from error
    if not _is_shallow(value):
        raise ApiError(400, code, "the body is nested too deeply")
    return value


def etag(revision: str) -> str:
    """Give the ETag of a revision."""
    return f'"sha256-{revision}"'


def revision_of(if_match: Sequence[str]) -> str | None:
    """Read the If-Match headers; None without one and for `*`.

    A tag that is none of this API is given as it is, and so are several: they are no revision of
    anything.
    """
    tag = ", ".join(if_match).strip() if if_match else "*"
    if tag == "*":
        return None
    is_ours = tag.startswith(etag("")[:-1]) and tag.endswith('"')
    return tag[len(etag("")) - 1 : -1] if is_ours else tag


def attachment(name: str) -> Mapping[str, str]:
    """Give the header that lets a browser save an answer under a name."""
    cleaned = "".join(one for one in name if one.isprintable()).strip()[:255] or "download"
    quoted = "".join(_quoted(byte) for byte in cleaned.encode("utf-8", "replace"))
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quoted}"}


def _quoted(byte: int) -> str:
    """Write a byte of an extended header value, RFC 8187."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&+-.^_`|~"
    return chr(byte) if byte in plain else f"%{byte:02X}"


def _is_shallow(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        if not level:
            return True
        level = [
            item
            for one in level
            if isinstance(one, (dict, list))
            for item in (one.values() if isinstance(one, dict) else one)
        ]
    return not level


class _NumberError(ValueError):
    """Infinite, no number, or longer than any that JavaScript reads."""


def _no_number(_: str) -> NoReturn:
    raise _NumberError


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _whole(text: str) -> int:
    return int(text) if len(text) <= MAX_DIGITS else _no_number(text)
