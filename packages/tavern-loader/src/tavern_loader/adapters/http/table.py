"""Every route of the API, in the order of its description."""

from tavern_loader.adapters.http import (
    routes_cast,
    routes_characters,
    routes_configurations,
    routes_presets,
    routes_rp,
    routes_settings,
    routes_templates,
    routes_traces,
    routes_users,
    routes_world_books,
)
from tavern_loader.adapters.http.faults import COMMON
from tavern_loader.adapters.http.openapi import describe
from tavern_loader.adapters.http.route import Route, Success
from tavern_loader.adapters.http.schema import TEXT, needed
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call, json_answer


def _describe(_: HttpServices, __: Call) -> Answer:
    return json_answer(200, describe(ROUTES))


ROUTES: tuple[Route, ...] = (
    *routes_presets.ROUTES,
    *routes_cast.ROUTES,
    *routes_characters.ROUTES,
    *routes_world_books.ROUTES,
    *routes_users.ROUTES,
    *routes_templates.ROUTES,
    *routes_configurations.ROUTES,
    *routes_settings.ROUTES,
    *routes_rp.ROUTES,
    *routes_traces.ROUTES,
    Route(
        method="GET",
        path="/openapi.json",
        summary="Read this description",
        family=COMMON,
        handle=_describe,
        success=Success(schema=needed(openapi=TEXT)),
    ),
)
