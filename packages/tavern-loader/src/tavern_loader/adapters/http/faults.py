"""What can go wrong with a request, and how each family of routes says it.

Owns status codes and the two shapes of an error. No message holds text of a resource or a body.

Source: the plugin contract, sections D10, E3 and F.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from attrs import frozen

from tavern_compiler import ProfileTooLargeError
from tavern_loader.domain.settings import SettingsError
from tavern_loader.errors import (
    HostError,
    InputError,
    LoaderError,
    NotFoundError,
    RevisionConflictError,
    SessionRunningError,
)


class Shape(Enum):
    """How an error is written."""

    FLAT = "flat"
    """`{ok: false, error: message, code}`"""
    NESTED = "nested"
    """`{ok: false, error: {code, message, ...}}`"""


@frozen(kw_only=True)
class Family:
    """Routes that speak of their errors in one way."""

    name: str
    shape: Shape
    invalid: str
    """Code of a request that cannot be understood."""
    broken: str
    """Code of a fault on this side."""
    too_large: str
    """Code of a body over the limit."""


def _family(name: str, shape: Shape, prefix: str, too_large: str = "") -> Family:
    return Family(
        name=name,
        shape=shape,
        invalid=f"INVALID_{prefix}_REQUEST",
        broken=f"{prefix}_API_ERROR",
        too_large=too_large or f"{prefix}_BODY_TOO_LARGE",
    )


PRESETS = _family("presets", Shape.FLAT, "PRESET")
SETTINGS = _family("settings", Shape.FLAT, "SETTINGS")
CHARACTERS = _family("characters", Shape.NESTED, "CHARACTER", "ARTIFACT_TOO_LARGE")
WORLD_BOOKS = _family("world books", Shape.NESTED, "WORLD_BOOK", "WORLD_BOOK_ARTIFACT_TOO_LARGE")
USERS = _family("users", Shape.NESTED, "USER")
TEMPLATES = _family("session templates", Shape.NESTED, "SESSION_TEMPLATE")
TRACES = Family(
    name="traces",
    shape=Shape.FLAT,
    invalid="INVALID_REQUEST",
    broken="TRACE_READ_FAILED",
    too_large="INVALID_REQUEST",
)
COMMON = Family(
    name="api",
    shape=Shape.FLAT,
    invalid="INVALID_REQUEST",
    broken="TAVERN_API_ERROR",
    too_large="TAVERN_API_BODY_TOO_LARGE",
)


class ApiError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Keep what the answer says; `details` stand beside code and message."""
        super().__init__(f"{code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details or {}
        self.headers = headers or {}


def error_body(shape: Shape, error: ApiError) -> dict[str, Any]:
    """Write an error as a family does."""
    if shape is Shape.FLAT:
        return {"ok": False, "error": error.message, "code": error.code, **error.details}
    details = {"code": error.code, "message": error.message, **error.details}
    return {"ok": False, "error": details}


def as_api_error(family: Family, error: Exception) -> ApiError | None:
    """Say what the fault of a use case means to a client; None for a defect of ours."""
    if type(error) is ValueError:  # a value that a use case does not take
        return ApiError(400, family.invalid, str(error))
    known = (say for kind, say in _MEANINGS if isinstance(error, kind))
    say = next(known, None)
    return None if say is None else say(family, error)


def defect(family: Family) -> ApiError:
    """Give the answer to a defect: a fixed text, since the true one may hold anything."""
    message = "Unable to read prompt data" if family is TRACES else "the request failed here"
    return ApiError(500, family.broken, message)


_MEANINGS: tuple[tuple[type[Exception], Callable[[Family, Any], ApiError]], ...] = (
    (ApiError, lambda _, error: error),
    (SettingsError, lambda family, error: ApiError(400, family.invalid, str(error))),
    (
        SessionRunningError,
        lambda _, error: ApiError(
            409, error.code, error.message, details={"sessionIds": list(error.session_ids)}
        ),
    ),
    (LoaderError, lambda _, error: ApiError(_status(error), error.code, error.message)),
    (
        ProfileTooLargeError,
        lambda _, error: ApiError(
            413,
            error.code,
            error.message,
            details={"actualBytes": error.actual_bytes, "maxBytes": error.limit_bytes},
        ),
    ),
)
_STATUS_BY_TYPE: tuple[tuple[type[LoaderError], int], ...] = (
    (NotFoundError, 404),
    (RevisionConflictError, 412),
    (HostError, 502),
)
_STATUS_BY_CODE: Mapping[str, int] = {
    "STORE_BUSY": 503,
    "STORE_UNREADABLE": 500,
    "STORE_UNWRITABLE": 500,
    "SESSION_CONFIGURATION_UNAVAILABLE": 409,
}
_STATUS_BY_END: tuple[tuple[str, int], ...] = (
    ("_NOT_FOUND", 404),
    ("_ID_EXISTS", 409),
    ("_LIMIT_REACHED", 409),
    ("_TOO_LARGE", 413),
)


def _status(error: LoaderError) -> int:
    for kind, status in _STATUS_BY_TYPE:
        if isinstance(error, kind):
            return status
    if error.code in _STATUS_BY_CODE:
        return _STATUS_BY_CODE[error.code]
    if error.code.endswith("_STORAGE_LIMIT_REACHED"):
        return 413
    by_end = next((status for end, status in _STATUS_BY_END if error.code.endswith(end)), None)
    if by_end is not None:
        return by_end
    is_input = isinstance(error, InputError) or error.code.startswith("INVALID_")
    return 400 if is_input else 500
