"""Every route, with its success and each error that its description names.

The cells are those of the route table: an error that a row names, and no way to get it is known,
fails. They hold of the application and through the host's web server alike; what the host's cannot
show, such as a defect, only of the application.
"""

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

import pytest
from attrs import evolve
from filelock import FileLock

from tavern_loader.adapters.atomic_json import LOCK_FILE
from tavern_loader.adapters.http.api import Api, TimeLimits
from tavern_loader.adapters.http.faults import Shape
from tavern_loader.adapters.http.openapi import ERRORS
from tavern_loader.adapters.http.route import BUSY, NO_HOST, SLOW_BODY, Error, Route
from tavern_loader.adapters.http.schema import faults
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.table import ROUTES
from tavern_loader.adapters.http.wire import Answer, Call
from tavern_loader.errors import HostError
from tests.http_contract import REQUESTS, TEXTS, Furnished, Trial, furnish, name_of, trial_of
from tests.http_scene import SAFE_HEADERS, Client, HttpScene, Place, QuietHost, Reply
from tests.http_ways import way_to

Cell = tuple[Route, int, str]


def by_name(value: object) -> str:
    return name_of(value) if isinstance(value, Route) else str(value)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Furnished:
    return furnish(tmp_path_factory.mktemp("furnished"))


INNER: tuple[Error, ...] = (BUSY, SLOW_BODY, (503, "TAVERN_API_TIMEOUT"), *NO_HOST)


def _is_inner(route: Route, error: Error) -> bool:
    """Whether an error shows a fault on this side, or that something takes too long."""
    return error in INNER or error == (500, route.family.broken)


def _cells(*, inner: bool) -> list[Cell]:
    cells = [
        (route, *error)
        for route in ROUTES
        for error in route.all_errors
        if _is_inner(route, error) is inner
    ]
    # One after another, since the host then needs but one session that runs.
    return sorted(cells, key=lambda cell: cell[2].endswith("_AGENT_RUNNING"))


def assert_error(reply: Reply, route: Route, status: int, code: str) -> None:
    """Check code, form and headers of an error."""
    assert reply.error == (status, code)
    is_wall = code.startswith("TAVERN_API_") and status < 500
    shape = Shape.FLAT if is_wall else route.family.shape
    assert list(faults(ERRORS[shape], reply.json)) == []
    assert SAFE_HEADERS.items() <= reply.headers.items()
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert [text for text in TEXTS if text in reply.body] == []


@pytest.mark.parametrize("route", ROUTES, ids=by_name)
def test_a_good_request_gets_what_is_described(
    place: Place, furnished: Furnished, route: Route
) -> None:
    reply = trial_of(route, place, furnished).send()
    assert reply.status == route.success.status, reply.body
    assert reply.headers["content-type"].partition(";")[0] == route.success.media_type
    assert ("etag" in reply.headers) is route.success.has_etag
    if route.success.schema is not None:
        assert list(faults(route.success.schema, reply.json)) == []
    assert SAFE_HEADERS.items() <= reply.headers.items()


@pytest.mark.usefixtures("at_rest")
@pytest.mark.parametrize(("route", "status", "code"), _cells(inner=False), ids=by_name)
def test_an_error_is_as_described(
    place: Place, furnished: Furnished, route: Route, status: int, code: str
) -> None:
    trial = trial_of(route, place, furnished)
    reply = way_to(route, status, code)(trial.instead(code))
    assert_error(reply, route, status, code)


# --- what only the application can show -------------------------------------------------------


def _broken(_: HttpServices, __: Call) -> Answer:
    raise RuntimeError("the text of a resource")


def _variant(scene: HttpScene, route: Route, **changes: Any) -> Api:
    """Give an API of which one route is served in another way."""
    handle = changes.pop("handle", route.handle)
    rows = [evolve(row, handle=handle) if row is route else row for row in ROUTES]
    return Api(rows, scene.services, complain=scene.complaints.append, **changes)


def _defect(scene: HttpScene, trial: Trial) -> Reply:
    api = _variant(scene, trial.route, handle=_broken)
    reply = _through(api, trial).send()
    assert b"the text of a resource" not in reply.body
    assert scene.complaints == [f"{name_of(trial.route)}: RuntimeError"]
    return reply


def _long_work(scene: HttpScene, trial: Trial) -> Reply:
    goes_on = Event()

    def wait(_: HttpServices, __: Call) -> Answer:
        goes_on.wait(10)
        return Answer()

    api = _variant(scene, trial.route, handle=wait, limits=TimeLimits(work_s=0.01))
    try:
        return _through(api, trial).send()
    finally:
        goes_on.set()


def _slow_body(scene: HttpScene, trial: Trial) -> Reply:
    api = _variant(scene, trial.route, limits=TimeLimits(body_s=0.01))
    return _through(api, trial).send(pieces=[b"{", b"}"], pause_s=1)


def _busy(scene: HttpScene, trial: Trial) -> Reply:
    scene.installation.storage.lock._file.timeout = 0.01
    with FileLock(scene.folder / LOCK_FILE):
        return trial.send()


def _no_host(code: str) -> Callable[[HttpScene, Trial], Reply]:
    def fail(*_: object) -> None:
        raise HostError(code, "it does not answer")

    def way(scene: HttpScene, trial: Trial) -> Reply:
        scene.services.roleplay.on_sync({"id": "live", "header": {}}, [])
        with pytest.MonkeyPatch.context() as patch:
            for name in ("is_running", "sessions", "set_sandbox_mode", "lock_tools"):
                patch.setattr(QuietHost, name, fail)
            return trial.instead(code).send()

    return way


def _through(api: Api, trial: Trial) -> Trial:
    return evolve(trial, place=evolve(trial.place, client=Client(api)))


INNER_WAYS: Mapping[Error, Callable[[HttpScene, Trial], Reply]] = {
    BUSY: _busy,
    SLOW_BODY: _slow_body,
    (503, "TAVERN_API_TIMEOUT"): _long_work,
    **{error: _no_host(error[1]) for error in NO_HOST},
}


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize(("route", "status", "code"), _cells(inner=True), ids=by_name)
def test_a_fault_on_this_side_is_as_described(  # noqa: PLR0913 - a cell of the table
    scene: HttpScene,
    place: Place,
    furnished: Furnished,
    *,
    route: Route,
    status: int,
    code: str,
) -> None:
    way = INNER_WAYS.get((status, code), _defect)
    assert_error(way(scene, trial_of(route, place, furnished)), route, status, code)


def test_every_route_has_a_request_and_every_request_a_route() -> None:
    assert sorted(REQUESTS) == sorted(map(name_of, ROUTES))
