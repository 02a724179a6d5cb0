"""The published description is that of the route table."""

import json

import pytest

from tavern_loader.adapters.http.openapi import describe
from tavern_loader.adapters.http.route import PATH_PARAMETERS, Route
from tavern_loader.adapters.http.table import ROUTES
from tests.http_scene import Client


def by_name(route: Route) -> str:
    return f"{route.method} {route.path}"


def test_it_is_served(client: Client) -> None:
    reply = client.get("/openapi.json")
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert reply.json == json.loads(json.dumps(describe(ROUTES)))


def test_every_route_is_described_under_a_name_of_its_own() -> None:
    paths = describe(ROUTES)["paths"]
    described = {
        f"{method.upper()} {path}": operation["operationId"]
        for path, operations in paths.items()
        for method, operation in operations.items()
    }
    assert list(described) == [by_name(route) for route in _grouped()]
    assert len(set(described.values())) == len(ROUTES)


def _grouped() -> list[Route]:
    """List the routes in the order of a description, which groups them by path."""
    paths = list(dict.fromkeys(route.path for route in ROUTES))
    return sorted(ROUTES, key=lambda route: paths.index(route.path))


@pytest.mark.parametrize("route", ROUTES, ids=by_name)
def test_a_route_says_what_can_go_wrong(route: Route) -> None:
    answers = describe([route])["paths"][route.path][route.method.lower()]["responses"]
    always = {"403", "414", "431", "500", "503", str(route.success.status)}
    assert always <= set(answers)
    assert ("415" in answers) == (route.method != "GET")
    assert ({"400", "408", "413"} <= set(answers)) == (route.body is not None)


def test_no_row_stands_twice_in_the_table() -> None:
    rows = [by_name(route) for route in ROUTES]
    assert sorted(set(rows)) == sorted(rows)


def test_every_parameter_of_a_path_is_known() -> None:
    names = {
        piece[1:-1] for route in ROUTES for piece in route.path.split("/") if piece.startswith("{")
    }
    assert names <= set(PATH_PARAMETERS)
