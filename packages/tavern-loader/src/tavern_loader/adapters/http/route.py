"""What a route is: one row that serves dispatch, checks and the published description.

Must not know ASGI.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from tavern_loader.adapters.http.faults import ApiError, Family
from tavern_loader.adapters.http.schema import ID_PATTERN, SESSION_PATTERN, Schema, faults
from tavern_loader.adapters.http.wire import Answer, Call, read_json

if TYPE_CHECKING:
    from tavern_loader.adapters.http.services import HttpServices

KIB = 1024
MIB = 1024 * KIB
JSON_ONLY = ("application/json",)
JSON_ANSWER = "application/json"

Error = tuple[int, str]
"""Status and code."""
ALWAYS_POSSIBLE: tuple[Error, ...] = (
    (403, "TAVERN_API_REMOTE_FORBIDDEN"),
    (403, "TAVERN_API_HOST_FORBIDDEN"),
    (414, "TAVERN_API_TARGET_TOO_LONG"),
    (431, "TAVERN_API_HEADERS_TOO_LARGE"),
    (503, "TAVERN_API_TIMEOUT"),
)
OF_CHANGES: tuple[Error, ...] = (
    (403, "TAVERN_API_ORIGIN_FORBIDDEN"),
    (415, "TAVERN_API_CONTENT_TYPE_REQUIRED"),
)
SLOW_BODY: Error = (408, "TAVERN_API_TIMEOUT")
CONFLICT: Error = (412, "REVISION_CONFLICT")
BUSY: Error = (503, "STORE_BUSY")
NO_HOST: tuple[Error, ...] = ((502, "HOST_GONE"), (502, "HOST_TIMEOUT"))
"""The host could not be asked or told."""


@frozen(kw_only=True)
class Parameter:
    """A parameter of a path or a query."""

    name: str
    schema: Schema
    about: str
    required: bool = False
    code: str | None = None
    """Of a value of another form, if not the family's."""


SESSION = Parameter(
    name="sessionId",
    schema={"type": "string", "pattern": SESSION_PATTERN},
    about="A session of the host.",
    required=True,
)
WHILE_RUNNING = Parameter(
    name="whileRunning",
    schema={"type": "string", "enum": ["allow"]},
    about="`allow` makes the change although a session that it concerns is running.",
)
FILE_NAME = Parameter(
    name="filename",
    schema={"type": "string", "maxLength": 1024},
    about="Name of the file; a resource without a name is named after it.",
)
_RECORD_PATTERN = r"^[A-Za-z0-9._:-]{1,200}$"
PATH_PARAMETERS: Mapping[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        *(
            Parameter(
                name=name,
                schema={"type": "string", "pattern": pattern},
                about=f"Id of the {what}.",
                required=True,
            )
            for name, what, pattern in (
                ("presetId", "preset", ID_PATTERN),
                ("characterId", "character", ID_PATTERN),
                ("worldBookId", "world book", ID_PATTERN),
                ("userId", "user", ID_PATTERN),
                # Not the name of a file: the plugin allows more.
                ("templateId", "session template", SESSION_PATTERN),
            )
        ),
        evolve(SESSION, code="PROMPT_SESSION_INVALID"),
        Parameter(
            name="recordId",
            schema={"type": "string", "pattern": _RECORD_PATTERN},
            about="Id of a record of the index.",
            required=True,
        ),
    )
}


@frozen(kw_only=True)
class Body:
    """What a route takes."""

    limit_bytes: int
    schema: Schema | None = None
    """None: bytes, which the use case reads."""
    media_types: tuple[str, ...] = JSON_ONLY
    too_large: str | None = None
    """Code of a body over the limit, if not the family's."""


@frozen(kw_only=True)
class Success:
    """The answer of a request that worked."""

    schema: Schema | None = None
    """None for bytes."""
    status: int = 200
    media_type: str = JSON_ANSWER
    has_etag: bool = False
    gives: tuple[str, str] | None = None
    """The path parameter that a made resource is the value of, and where in the answer it is."""


@frozen(kw_only=True)
class Route:
    """One method of one path."""

    method: str
    path: str
    """Below the root of the API; parameters in braces."""
    summary: str
    family: Family
    handle: "Callable[[HttpServices, Call], Answer]" = field(repr=False)
    success: Success
    body: Body | None = None
    query: tuple[Parameter, ...] = ()
    errors: tuple[Error, ...] = ()
    """What can go wrong beyond what every request risks."""
    takes_revision: bool = False
    """Whether If-Match is understood."""
    asks_host: bool = False
    """Whether the host must be asked or told."""
    keeps_nothing: bool = False
    """Whether a method that could change what is kept does not."""

    @property
    def changes(self) -> bool:
        """Whether the walls for changes apply."""
        return self.method not in ("GET", "HEAD", "OPTIONS")

    @property
    def keeps(self) -> bool:
        """Whether it changes what is kept."""
        return self.changes and not self.keeps_nothing

    @property
    def media_types(self) -> tuple[str, ...]:
        """The media types of a request that changes something."""
        return JSON_ONLY if self.body is None else self.body.media_types

    @property
    def too_large(self) -> str:
        """The code of a body over the limit."""
        return (self.body and self.body.too_large) or self.family.too_large

    @property
    def path_parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the path, in their order."""
        return tuple(PATH_PARAMETERS[name] for name in re.findall(r"{(\w+)}", self.path))

    @property
    def all_errors(self) -> tuple[Error, ...]:
        """Everything that can go wrong, by status."""
        parameters = (*self.path_parameters, *self.query)
        codes = [one.code or self.family.invalid for one in parameters]
        codes += [self.family.invalid] if self.body is not None else []
        found = (
            *ALWAYS_POSSIBLE,
            *(OF_CHANGES if self.changes else ()),
            *((400, code) for code in codes),
            *((SLOW_BODY, (413, self.too_large)) if self.body else ()),
            *((CONFLICT,) if self.takes_revision else ()),
            (500, self.family.broken),
            *(NO_HOST if self.asks_host else ()),
            *((BUSY,) if self.keeps else ()),
            *self.errors,
        )
        return tuple(sorted(dict.fromkeys(found), key=lambda one: one[0]))


def checked_query(route: Route, given: Mapping[str, str]) -> Mapping[str, str]:
    """Take the parameters that a route knows. Raises ApiError (400) for what is wrong with them."""
    known: dict[str, str] = {}
    for parameter in route.query:
        value = given.get(parameter.name, "")
        # As in the API this one stands in for, an empty parameter is none.
        if value:
            _check(route, parameter, value)
            known[parameter.name] = value
        elif parameter.required:
            raise ApiError(400, route.family.invalid, f"{parameter.name} is needed")
    return known


def checked_path(route: Route, given: Mapping[str, str]) -> Mapping[str, str]:
    """Check the parameters of the path. Raises ApiError (400)."""
    for parameter in route.path_parameters:
        _check(route, parameter, given[parameter.name])
    return given


def checked_body(route: Route, data: bytes) -> object:
    """Read and check a body. Raises ApiError (400)."""
    if route.body is None:
        return None
    if route.body.schema is None:
        return data
    value = read_json(data, route.family.invalid)
    wrong = next(faults(route.body.schema, value), None)
    if wrong is not None:
        raise ApiError(400, route.family.invalid, wrong)
    return value


def _check(route: Route, parameter: Parameter, value: str) -> None:
    wrong = next(faults(parameter.schema, value, parameter.name), None)
    if wrong is not None:
        raise ApiError(400, parameter.code or route.family.invalid, wrong)
