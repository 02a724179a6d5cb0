"""Errors of the host link: the numbers of JSON-RPC and our exceptions, in both directions.

No message holds text of a resource: a fault inside is told by the name of its class only.
"""

from collections.abc import Mapping
from typing import Any

from tavern_loader.errors import CancelledError, HostError, LoaderError, ParametersError

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_PARAMETERS = -32602
INTERNAL_ERROR = -32603
LOADER_ERROR = -32000
CANCELLED = -32800


class UnknownMethodError(LoaderError):
    """The other side asks for something that is not there."""

    def __init__(self, method: str) -> None:
        """Keep the name that was asked for."""
        super().__init__("METHOD_NOT_FOUND", "there is no such method")
        self.method = method


_NUMBERS: Mapping[type[Exception], int] = {
    CancelledError: CANCELLED,
    ParametersError: INVALID_PARAMETERS,
    UnknownMethodError: METHOD_NOT_FOUND,
}


def error_object(error: Exception) -> dict[str, Any]:
    """Describe an error for the other side."""
    if not isinstance(error, LoaderError):
        data = {"code": "INTERNAL_ERROR", "class": type(error).__name__}
        return {"code": INTERNAL_ERROR, "message": "a fault inside Tavern", "data": data}
    facts = {name: value for name, value in vars(error).items() if _is_plain(value)}
    del facts["message"]
    number = _NUMBERS.get(type(error), LOADER_ERROR)
    return {"code": number, "message": error.message, "data": facts}


def unreadable(reason: str) -> dict[str, Any]:
    """Describe a message that could not be read."""
    data = {"code": reason}
    return {"code": PARSE_ERROR, "message": "the message cannot be read", "data": data}


def host_error(error: object) -> HostError:
    """Make our error of what the bridge says."""
    said: Mapping[str, Any] = error if isinstance(error, dict) else {}
    data = said.get("data")
    code = data.get("code") if isinstance(data, dict) else None
    message = str(said.get("message", "the host refused"))
    return HostError(code if isinstance(code, str) else "HOST_REFUSED", message)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
