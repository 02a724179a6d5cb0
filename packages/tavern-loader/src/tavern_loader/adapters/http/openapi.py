"""The published description of the API, made of the route table.

Owns what the table does not say of itself: the walls, which every route has. Must not know
handlers.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tavern_loader._version import __version__
from tavern_loader.adapters.http.faults import Shape
from tavern_loader.adapters.http.route import PATH_PARAMETERS, Parameter, Route
from tavern_loader.adapters.http.schema import Schema, needed

ABOUT = (
    "Resources, bindings and settings of tavern-loader (v1), and the records of what was sent to"
    " the model (v3). Callers must be on the same machine. A change needs `Origin` to be the origin"
    " that serves the API, and `Content-Type: application/json` with or without a body. Every"
    " answer is `no-store`. If-Match with the ETag of a document makes a change conditional."
)
_FALSE: Schema = {"type": "boolean", "enum": [False]}
_TEXT: Schema = {"type": "string"}
ERRORS: Mapping[Shape, Schema] = {
    Shape.FLAT: needed(ok=_FALSE, error=_TEXT, code=_TEXT),
    Shape.NESTED: needed(ok=_FALSE, error=needed(code=_TEXT, message=_TEXT)),
}
_WALLS: Mapping[str, str] = {
    "403": "TAVERN_API_REMOTE_FORBIDDEN, TAVERN_API_HOST_FORBIDDEN",
    "414": "TAVERN_API_TARGET_TOO_LONG",
    "431": "TAVERN_API_HEADERS_TOO_LARGE",
    "503": "TAVERN_API_TIMEOUT, STORE_BUSY",
}


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """Make the OpenAPI 3.1 document of a table."""
    table = list(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        operation = _operation(route)
        if route.success.gives is not None:
            made = operation["responses"][str(route.success.status)]
            made["links"] = _links(table, *route.success.gives)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "tavern-loader", "version": __version__, "description": ABOUT},
        "servers": [{"url": "/pmp-dsh-tavern/api"}],
        "paths": paths,
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _identity(route),
        "summary": route.summary,
        "tags": [route.family.name],
        "parameters": [
            *(
                _parameter(PATH_PARAMETERS[name], "path")
                for name in re.findall(r"{(\w+)}", route.path)
            ),
            *(_parameter(parameter, "query") for parameter in route.query),
        ],
        "responses": _responses(route),
    }
    if route.body is not None:
        schema = route.body.schema or {"type": "string", "format": "binary"}
        operation["requestBody"] = {
            "required": True,
            "description": f"At most {route.body.limit_bytes} bytes.",
            "content": {media: {"schema": schema} for media in route.body.media_types},
        }
    if route.takes_revision:
        operation["parameters"].append(
            {
                "name": "If-Match",
                "in": "header",
                "schema": {"type": "string", "pattern": '^("sha256-[0-9a-f]{64}"|\\*)$'},
                "description": "The ETag the document must still have.",
            }
        )
    return operation


def _links(routes: Iterable[Route], name: str, place: str) -> dict[str, Any]:
    """Say which routes take what another has made."""
    return {
        _identity(route): {
            "operationId": _identity(route),
            "parameters": {name: f"$response.body#{place}"},
        }
        for route in routes
        if f"{{{name}}}" in route.path
    }


def _identity(route: Route) -> str:
    words = re.findall(r"[A-Za-z0-9]+", route.path)
    return route.method.lower() + "".join(word[0].upper() + word[1:] for word in words)


def _parameter(parameter: Parameter, place: str) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": place,
        "required": parameter.required,
        "schema": parameter.schema,
        "description": parameter.about,
    }


def _responses(route: Route) -> dict[str, Any]:
    found = {str(route.success.status): _success(route)}
    for status, codes in _errors(route).items():
        shape = _shape(route, status)
        found[status] = {
            "description": ", ".join(codes),
            "content": {"application/json": {"schema": shape}},
        }
    return dict(sorted(found.items()))


def _success(route: Route) -> dict[str, Any]:
    content: Schema = route.success.schema or {"type": "string", "format": "binary"}
    answer: dict[str, Any] = {
        "description": "Done.",
        "content": {route.success.media_type: {"schema": content}},
    }
    if route.success.has_etag:
        answer["headers"] = {"ETag": {"required": True, "schema": {"type": "string"}}}
    return answer


def _errors(route: Route) -> dict[str, list[str]]:
    """List status and codes of everything that can go wrong."""
    codes: dict[str, list[str]] = {status: [text] for status, text in _WALLS.items()}
    codes["500"] = [route.family.broken]
    if route.changes:
        codes["403"].append("TAVERN_API_ORIGIN_FORBIDDEN")
        codes["415"] = ["TAVERN_API_CONTENT_TYPE_REQUIRED"]
        codes["502"] = ["HOST_GONE, HOST_TIMEOUT: the host could not be asked or told"]
    if route.body is not None:
        codes["408"] = ["TAVERN_API_TIMEOUT"]
        codes["413"] = [route.too_large]
    if route.body is not None or route.query or "{" in route.path:
        codes["400"] = [route.family.invalid]
    if route.takes_revision:
        codes["412"] = ["REVISION_CONFLICT"]
    for status, code in route.errors:
        codes.setdefault(str(status), []).append(code)
    return codes


def _shape(route: Route, status: str) -> Schema:
    """Give the form of an error: the walls speak for themselves."""
    if status in _WALLS and status != "503":
        return ERRORS[Shape.FLAT]
    if status in ("408", "415"):
        return ERRORS[Shape.FLAT]
    return ERRORS[route.family.shape]
