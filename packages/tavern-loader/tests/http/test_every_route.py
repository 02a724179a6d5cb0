"""What holds of every row of the route table, beside its own answers."""

import re

import pytest

from tavern_loader.adapters.http.route import Route
from tavern_loader.adapters.http.table import ROUTES
from tests.http_contract import name_of
from tests.http_scene import Client, HttpScene

READ = [route for route in ROUTES if not route.changes]


def target_of(route: Route) -> str:
    """Fill in the parameters that a route needs."""
    path = re.sub(r"{\w+}", "x-1", route.path)
    needed = [f"{one.name}=s-1" for one in route.query if one.required]
    return path + ("?" + "&".join(needed) if needed else "")


@pytest.mark.parametrize("route", [route for route in ROUTES if "{" in route.path], ids=name_of)
@pytest.mark.parametrize("value", ["..", "%2e%2e%2f%2e%2e", "a%00b", "a%5cb", "%ff", "a" * 201])
def test_no_parameter_leads_out_of_the_stores(client: Client, route: Route, value: str) -> None:
    target = target_of(route).replace("x-1", value)
    reply = client.send(route.method, target, data=None if route.body is None else b"{}")
    assert reply.status in (400, 404)
    assert reply.json["ok"] is False


@pytest.mark.parametrize("route", READ, ids=name_of)
def test_reading_writes_nothing(scene: HttpScene, route: Route) -> None:
    before = {path: path.read_bytes() for path in scene.folder.rglob("*") if path.is_file()}
    scene.client.get(target_of(route))
    after = {path: path.read_bytes() for path in scene.folder.rglob("*") if path.is_file()}
    assert after == before
