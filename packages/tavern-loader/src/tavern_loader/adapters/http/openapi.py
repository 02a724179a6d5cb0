"""The published description of the API, made of the route table.

Owns what the table does not say of itself: the walls, which every route has. Must not know
handlers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from tavern_loader._version import __version__
from tavern_loader.adapters.http.faults import Shape
from tavern_loader.adapters.http.route import Parameter, Route
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
_NOTES: Mapping[int, str] = {502: ": the host could not be asked or told"}


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
            *(_parameter(parameter, "path") for parameter in route.path_parameters),
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
    for status, errors in groupby(route.all_errors, key=lambda error: error[0]):
        codes = [code for _, code in errors]
        found[str(status)] = {
            "description": ", ".join(codes) + _NOTES.get(status, ""),
            "content": {"application/json": {"schema": _error_schema(route, status, codes)}},
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


def _error_schema(route: Route, status: int, codes: Sequence[str]) -> Schema:
    """Give the form of an error: the walls speak for themselves, in one way for all families."""
    is_wall = status < 500 and any(code.startswith("TAVERN_API_") for code in codes)  # noqa: PLR2004 - HTTP
    return ERRORS[Shape.FLAT if is_wall else route.family.shape]
