"""What holds of every row of the route table."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from tavern_loader.adapters.http.api import Api
from tavern_loader.adapters.http.faults import Shape
from tavern_loader.adapters.http.route import Route
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.table import ROUTES
from tavern_loader.adapters.http.wire import Answer, Call
from tests.http_scene import Client, HttpScene, Reply

WITH_BODY = [route for route in ROUTES if route.body is not None]
READ = [route for route in ROUTES if not route.changes]
CHANGED = [route for route in ROUTES if route.changes]


def by_name(route: Route) -> str:
    return f"{route.method} {route.path}"


def target_of(route: Route) -> str:
    """Fill in the parameters that a route needs."""
    path = re.sub(r"{\w+}", "x-1", route.path)
    needed = [f"{one.name}=s-1" for one in route.query if one.required]
    return path + ("?" + "&".join(needed) if needed else "")


def is_written_as(shape: Shape, reply: Reply) -> bool:
    error = reply.json["error"]
    return isinstance(error, str if shape is Shape.FLAT else dict)


def broken(_: HttpServices, __: Call) -> Answer:
    raise RuntimeError("the text of a resource")


@pytest.fixture
def broken_api(tmp_path: Path) -> Iterator[tuple[Client, list[str]]]:
    """Give a client of an API of which every handler is broken, and what is complained of."""
    scene = HttpScene(tmp_path)
    complaints: list[str] = []
    rows = [evolve(route, handle=broken) for route in ROUTES]
    api = Api(rows, scene.services, complain=complaints.append)
    yield Client(api), complaints
    api.close()
    scene.api.close()


@pytest.mark.parametrize("route", READ, ids=by_name)
def test_a_defect_is_told_in_the_way_of_its_family(
    broken_api: tuple[Client, list[str]], route: Route
) -> None:
    client, complaints = broken_api
    reply = client.get(target_of(route))
    assert reply.error == (500, route.family.broken)
    assert is_written_as(route.family.shape, reply)
    assert b"the text of a resource" not in reply.body
    assert complaints == [f"{by_name(route)}: RuntimeError"]


@pytest.mark.parametrize("route", WITH_BODY, ids=by_name)
def test_a_body_over_the_limit_is_not_read(client: Client, route: Route) -> None:
    assert route.body is not None
    headers = {"content-length": str(route.body.limit_bytes + 1)}
    reply = client.send(route.method, target_of(route), pieces=[], headers=headers)
    assert reply.error == (413, route.too_large)
    assert is_written_as(route.family.shape, reply)


@pytest.mark.parametrize("route", WITH_BODY, ids=by_name)
def test_a_body_that_is_no_json_is_refused(client: Client, route: Route) -> None:
    reply = client.send(route.method, target_of(route), data=b'{"half": ')
    assert reply.status == 400
    assert is_written_as(route.family.shape, reply)


@pytest.mark.parametrize("route", CHANGED, ids=by_name)
def test_a_change_passes_all_walls(client: Client, route: Route) -> None:
    for headers, error in (
        ({"origin": "http://evil.example"}, (403, "TAVERN_API_ORIGIN_FORBIDDEN")),
        ({"origin": None}, (403, "TAVERN_API_ORIGIN_FORBIDDEN")),
        ({"content-type": "text/plain"}, (415, "TAVERN_API_CONTENT_TYPE_REQUIRED")),
    ):
        reply = client.send(route.method, target_of(route), data=b"{}", headers=headers)
        assert reply.error == error
        assert is_written_as(Shape.FLAT, reply)


@pytest.mark.parametrize("route", ROUTES, ids=by_name)
def test_no_route_is_served_under_another_name(client: Client, route: Route) -> None:
    reply = client.send(route.method, target_of(route), headers={"host": "evil.example"})
    assert reply.error == (403, "TAVERN_API_HOST_FORBIDDEN")


@pytest.mark.parametrize("route", [route for route in ROUTES if "{" in route.path], ids=by_name)
@pytest.mark.parametrize("value", ["..", "%2e%2e%2f%2e%2e", "a%00b", "a%5cb", "%ff", "a" * 201])
def test_no_parameter_leads_out_of_the_stores(client: Client, route: Route, value: str) -> None:
    target = target_of(route).replace("x-1", value)
    reply = client.send(route.method, target, data=None if route.body is None else b"{}")
    assert reply.status in (400, 404)
    assert reply.json["ok"] is False


@pytest.mark.parametrize("route", READ, ids=by_name)
def test_reading_writes_nothing(scene: HttpScene, route: Route) -> None:
    before = {path: path.read_bytes() for path in scene.folder.rglob("*") if path.is_file()}
    scene.client.get(target_of(route))
    after = {path: path.read_bytes() for path in scene.folder.rglob("*") if path.is_file()}
    assert after == before
