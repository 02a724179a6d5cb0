"""Who may talk to the API, and in what form: checked before a byte of a body is read.

Owns the checks on peer, host, origin, media type and sizes of heads. They stand alone: a host may
put no fence before a plugin's routes. Not a login: a program of the same machine may do all.

Source: the plugin contract, section E3.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from attrs import field, frozen

from tavern_loader.adapters.http.faults import ApiError

ALWAYS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
"""Headers of every answer."""
MAX_TARGET_BYTES = 8 * 1024
MAX_HEADERS_BYTES = 32 * 1024
MAX_HEADERS = 100
LOOPBACK_NAMES = frozenset({"localhost", "::1"})
_AUTHORITY = re.compile(
    r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::(?P<port>\d{1,5}))?"
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def _lowered(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


@frozen(kw_only=True)
class Security:
    """What the owner of the machine opened."""

    allowed_hosts: frozenset[str] = field(factory=frozenset, converter=_lowered)
    """Host names beside the loopback ones, without port."""
    allow_remote_clients: bool = False


@frozen(kw_only=True)
class Head:
    """A request without its body."""

    method: str
    target_bytes: int
    headers: Sequence[tuple[str, str]] = field(repr=False)
    """Names in lower case, in their order."""
    peer: str | None
    """Address the connection comes from."""

    def values(self, name: str) -> list[str]:
        """List the values of a header."""
        return [value for key, value in self.headers if key == name]

    def one(self, name: str) -> str | None:
        """Give a header that came exactly once."""
        values = self.values(name)
        return values[0] if len(values) == 1 else None


def check_sizes(head: Head) -> None:
    """Refuse a head that is too long. Raises ApiError (414, 431)."""
    if head.target_bytes > MAX_TARGET_BYTES:
        raise ApiError(414, "TAVERN_API_TARGET_TOO_LONG", "the address is too long")
    size = sum(len(name) + len(value) for name, value in head.headers)
    if len(head.headers) > MAX_HEADERS or size > MAX_HEADERS_BYTES:
        raise ApiError(431, "TAVERN_API_HEADERS_TOO_LARGE", "the headers are too large")


def check_caller(head: Head, security: Security) -> None:
    """Refuse a caller from elsewhere. Raises ApiError (403)."""
    if not security.allow_remote_clients and not _is_loopback(head.peer):
        raise ApiError(403, "TAVERN_API_REMOTE_FORBIDDEN", "only this machine may use the API")
    host = _split(head.one("host"))
    if host is None or not (_is_loopback_name(host[0]) or host[0] in security.allowed_hosts):
        message = "the API is not served under this host name"
        raise ApiError(403, "TAVERN_API_HOST_FORBIDDEN", message)


def check_origin(head: Head) -> None:
    """Refuse a change that a foreign page may have sent. Raises ApiError (403)."""
    if "cross-site" in head.values("sec-fetch-site") or not _is_same_origin(head):
        message = "changes must come from the origin that serves the API"
        raise ApiError(403, "TAVERN_API_ORIGIN_FORBIDDEN", message)


def check_media_type(head: Head, media_types: Sequence[str]) -> None:
    """Refuse a change in a form that a page may send without asking. Raises ApiError (415)."""
    media_type = (head.one("content-type") or "").partition(";")[0].strip().lower()
    if media_type not in media_types:
        message = f"the content type must be {' or '.join(media_types)}"
        raise ApiError(415, "TAVERN_API_CONTENT_TYPE_REQUIRED", message)


def _is_loopback(address: str | None) -> bool:
    try:
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback


def _is_loopback_name(name: str) -> bool:
    if name in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.IPv4Address(name).is_loopback
    except ValueError:
        return False


def _split(authority: str | None) -> tuple[str, str] | None:
    """Give name and port of an authority, the port empty if there is none."""
    found = _AUTHORITY.fullmatch((authority or "").strip(" \t").lower())
    if found is None:
        return None
    return found["v6"] or found["name"], found["port"] or ""


def _is_same_origin(head: Head) -> bool:
    origin, host = head.one("origin"), _split(head.one("host"))
    if origin is None or host is None:
        return False
    try:
        parsed = urlsplit(origin.strip())
    except ValueError:
        return False
    has_more = parsed.path or parsed.query or parsed.fragment
    default = _DEFAULT_PORTS.get(parsed.scheme)
    mine = _split(parsed.netloc)
    if default is None or has_more or mine is None:
        return False
    return (mine[0], mine[1] or default) == (host[0], host[1] or default)
