"""Every route, with its success and each error that its description names.

The cells are those of the route table: an error that a row names, and no way to get it is known
here, fails. They hold of the application and through the host's web server alike; what the host's
cannot show, such as a defect, only of the application.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from attrs import evolve, field, frozen
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
from tavern_loader.adapters.stored_bytes import TRACE_RECORDS
from tavern_loader.errors import HostError
from tests.http_scene import CARD, PRESET, WORLD, Client, HttpScene, Place, Reply
from tests.trace_scenario import VECTORS

CASES = json.loads((Path(__file__).parents[1] / "cases" / "http_requests.json").read_bytes())
REQUESTS: Mapping[str, Any] = CASES["requests"]
MIB = 1024 * 1024
LARGE_CARD = json.dumps(
    {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {"name": "Odo", "description": "d" * 9 * MIB, "first_mes": "x"},
    }
).encode()
FILES = {"card": CARD, "world": WORLD, "large card": LARGE_CARD}
SESSION = "s-1"
Cell = tuple[Route, int, str]


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def by_name(value: object) -> str:
    return name_of(value) if isinstance(value, Route) else str(value)


@frozen(kw_only=True)
class Furnished:
    """Stores with some of everything, all of it bound to one session."""

    folder: Path
    ids: Mapping[str, str]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Furnished:
    scene = HttpScene(tmp_path_factory.mktemp("furnished"))
    client = scene.client
    books = [
        client.send("POST", "/v1/world-books/import", data=WORLD).json["worldBook"]["id"]
        for _ in range(2)
    ]
    ids = {
        "presetId": client.post("/v1/import", {"content": PRESET.decode()}).json["preset"]["id"],
        "characterId": _character(client, CARD),
        "otherCharacterId": client.post("/v1/characters", {"name": "Odo"}).json["character"]["id"],
        "worldBookId": books[0],
        "userId": client.post("/v1/users", {"name": "Ilse"}).json["user"]["id"],
    }
    for target, content in (
        ("/v1/select", {"id": ids["presetId"]}),
        ("/v1/character-selection", {"characterCardId": ids["characterId"]}),
        ("/v1/user-selection", {"userId": ids["userId"]}),
        ("/v1/world-book-selection", {"worldBookIds": [ids["worldBookId"]]}),
    ):
        assert client.post(target, {**content, "sessionId": SESSION}).status == 200
    made = client.post("/v1/session-templates", {"name": "Night", "sourceSessionId": SESSION})
    ids["templateId"] = made.json["template"]["id"]
    (scene.folder / TRACE_RECORDS).write_bytes((VECTORS / TRACE_RECORDS).read_bytes())
    index = client.get("/v3/sessions/session-demo/assemblies").json["records"]
    scene.api.close()
    return Furnished(
        folder=scene.folder,
        ids={**ids, "recordId": index[0]["id"], "sessionId": "session-demo"},
    )


def _character(client: Client, card: bytes) -> str:
    made: str = client.send("POST", "/v1/characters/import", data=card).json["character"]["id"]
    return made


@frozen(kw_only=True)
class Trial:
    """A route, and a good request to it."""

    route: Route
    place: Place
    ids: Mapping[str, str]
    spec: Mapping[str, Any] = field(factory=dict)

    @property
    def target(self) -> str:
        return self.target_with({})

    def target_with(self, changes: Mapping[str, str], query: str | None = None) -> str:
        """Give the target with other parameters of its path, or another query."""
        path = re.sub(
            r"{(\w+)}", lambda found: {**self.ids, **changes}[found[1]], self.route.path
        )
        asked = _filled(self.spec.get("query", ""), self.ids) if query is None else query
        return f"{path}?{asked}" if asked else path

    def send(self, target: str | None = None, **changes: Any) -> Reply:
        """Send the good request, with some changes."""
        body: dict[str, Any] = {}
        if "file" in self.spec:
            body["data"] = FILES[self.spec["file"]]
        elif "content" in self.spec:
            body["content"] = _filled(self.spec["content"], self.ids)
        return self.client.send(
            self.route.method, target or self.target, **{**body, **changes}
        )

    @property
    def client(self) -> Client:
        return self.place.client

    def instead(self, code: str) -> "Trial":
        """Give the request that gets an error, if one was written down."""
        return evolve(self, spec={**self.spec, **self.spec.get("else", {}).get(code, {})})

    def running(self) -> "Trial":
        """Let a session with all that is bound run, and ask about that one."""
        return evolve(self, ids={**self.ids, "session": self.place.occupy(SESSION)})


def _filled(value: Any, ids: Mapping[str, str]) -> Any:
    """Put ids in the places of their names."""
    if isinstance(value, str):
        return re.sub(r"{(\w+)}", lambda found: ids[found[1]], value)
    if isinstance(value, list):
        return [_filled(one, ids) for one in value]
    if isinstance(value, dict):
        return {key: _filled(one, ids) for key, one in value.items()}
    return value


def _trial(route: Route, place: Place, furnished: Furnished) -> Trial:
    shutil.rmtree(place.folder, ignore_errors=True)
    shutil.copytree(furnished.folder, place.folder, ignore=shutil.ignore_patterns("*.lock"))
    texts = {"presetText": PRESET.decode(), "cardText": CARD.decode(), "session": SESSION}
    return Trial(
        route=route,
        place=place,
        ids={**furnished.ids, **texts},
        spec=REQUESTS[name_of(route)],
    )


# --- ways to an error -------------------------------------------------------------------------

Way = Callable[[Trial], Reply]


def _with_headers(**headers: str) -> Way:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda trial: trial.send(headers=given)


def _long_target(trial: Trial) -> Reply:
    return trial.send(trial.target + ("&" if "?" in trial.target else "?") + "a=" + "b" * 9000)


def _many_headers(trial: Trial) -> Reply:
    return trial.send(more_headers=[(f"x-{number}", "b") for number in range(101)])


def _malformed(trial: Trial) -> Reply:
    """Send something of another form: the body, else a parameter."""
    route = trial.route
    if route.body is not None and route.body.schema is not None:
        return trial.send(data=b'{"half": ', content=None)
    if route.query:
        wrong = "f" * 1025 if route.query[0].name == "filename" else "a%2Fb"
        return trial.send(trial.target_with({}, f"{route.query[0].name}={wrong}"))
    return trial.send(trial.target_with({route.path_parameters[-1].name: "a%20b"}))


def _too_large(trial: Trial) -> Reply:
    assert trial.route.body is not None
    length = str(trial.route.body.limit_bytes + 1)
    return trial.send(pieces=[], headers={"content-length": length})


def _not_there(trial: Trial) -> Reply:
    """Ask for an id that is none; where a session says which, take away what it has."""
    last = trial.route.path_parameters[-1:]
    if last:
        return trial.send(trial.target_with({last[0].name: "gone"}))
    kind = trial.route.path.removeprefix("/v1/").removesuffix("-selection")
    (trial.place.folder / f"{kind}s" / f"{trial.ids[f'{kind}Id']}.json").unlink()
    return trial.send()


def _too_many_sessions(trial: Trial) -> Reply:
    sessions = {f"n-{number}": {"selection": {}, "updatedAt": "x"} for number in range(2048)}
    _write(trial, "session-selections.json", {"schemaVersion": 2, "sessions": sessions})
    return trial.send()


def _too_many_owners(trial: Trial) -> Reply:
    owners = {f"n-{number}": {"worldBookIds": ["a"], "updatedAt": "x"} for number in range(4096)}
    first = dict(list(owners.items())[:2048])
    _write(trial, "user-world-book-bindings.json", {"schemaVersion": 1, "bindings": first})
    bindings = {"preset": owners, "character": {}}
    _write(trial, "resource-world-book-bindings.json", {"schemaVersion": 1, "bindings": bindings})
    return trial.send()


def _too_many_templates(trial: Trial) -> Reply:
    kept = json.loads((trial.place.folder / "session-templates.json").read_bytes())
    more = [{**kept["templates"][0], "id": f"n-{number}"} for number in range(99)]
    _write(trial, "session-templates.json", {**kept, "templates": [*kept["templates"], *more]})
    return trial.send()


def _full(name: str, size_bytes: int) -> Way:
    """Fill a file up to its limit first."""

    def way(trial: Trial) -> Reply:
        path = trial.place.folder / name
        kept = json.loads(path.read_bytes()) if path.exists() else _EMPTY[name]
        # What is there already is changed, not added to.
        _write(trial, name, {**kept, **_EMPTY[name], "filling": "f" * (size_bytes - 150)})
        return trial.send()

    return way


_EMPTY: Mapping[str, Mapping[str, Any]] = {
    "session-selections.json": {"schemaVersion": 2, "sessions": {}},
    "user-world-book-bindings.json": {"schemaVersion": 1, "bindings": {}},
    "resource-world-book-bindings.json": {
        "schemaVersion": 1,
        "bindings": {"preset": {}, "character": {}},
    },
    "session-templates.json": {"schemaVersion": 1, "selectedId": None},
}


def _write(trial: Trial, name: str, document: object) -> None:
    (trial.place.folder / name).write_text(json.dumps(document), encoding="utf-8")


def _full_document(trial: Trial) -> Reply:
    """Let a card be as large as it may be first, where the request itself is not too large."""
    if trial.route.too_large == "CHARACTER_DOCUMENT_TOO_LARGE":
        return _too_large(trial)
    if trial.route.path_parameters:
        name = f"characters/{trial.ids['characterId']}.json"
        kept = json.loads((trial.place.folder / name).read_bytes())
        _write(trial, name, {**kept, "filling": ""})
        size = (trial.place.folder / name).stat().st_size
        _write(trial, name, {**kept, "filling": "f" * (16 * MIB - size)})
        book = {"entries": [{"keys": ["k"], "content": "c" * 10_000}]}
        return trial.send(content={"characterBook": book})
    return trial.send()


def _large_profile(trial: Trial) -> Reply:
    prompt = {"identifier": "main", "name": "Main", "role": "system", "content": "x" * 600_000}
    target = f"/v1/presets/{trial.ids['presetId']}"
    edited = trial.client.put(target, {"prompts": [{**prompt, "enabled": True}]})
    assert edited.status == 200
    return trial.send()


def _unavailable(trial: Trial) -> Reply:
    (trial.place.folder / "users" / f"{trial.ids['userId']}.json").unlink()
    return trial.send()


def _just_send(trial: Trial) -> Reply:
    return trial.send()


def _while_running(trial: Trial) -> Reply:
    return trial.running().send()


WAYS: Mapping[str, Way] = {
    "TAVERN_API_HOST_FORBIDDEN": _with_headers(host="evil.example"),
    "TAVERN_API_ORIGIN_FORBIDDEN": _with_headers(origin="http://evil.example"),
    "TAVERN_API_CONTENT_TYPE_REQUIRED": _with_headers(content_type="text/plain"),
    "TAVERN_API_REMOTE_FORBIDDEN": lambda trial: trial.send(peer="10.0.0.1"),
    "TAVERN_API_TARGET_TOO_LONG": _long_target,
    "TAVERN_API_HEADERS_TOO_LARGE": _many_headers,
    "REVISION_CONFLICT": _with_headers(if_match='"sha256-0"'),
    "PROMPT_SESSION_INVALID": lambda trial: trial.send(trial.target_with({"sessionId": "-x"})),
    "WRONG_KIND": _just_send,
    "USER_ID_EXISTS": _just_send,
    "SESSION_CONFIGURATION_UNAVAILABLE": _unavailable,
    "SESSION_SELECTION_LIMIT_REACHED": _too_many_sessions,
    "SESSION_SELECTION_STORAGE_LIMIT_REACHED": _full("session-selections.json", 4 * MIB),
    "USER_WORLD_BOOK_BINDING_LIMIT_REACHED": _too_many_owners,
    "USER_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED": _full(
        "user-world-book-bindings.json", 2 * MIB
    ),
    "RESOURCE_WORLD_BOOK_BINDING_LIMIT_REACHED": _too_many_owners,
    "RESOURCE_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED": _full(
        "resource-world-book-bindings.json", 4 * MIB
    ),
    "SESSION_TEMPLATE_LIMIT_REACHED": _too_many_templates,
    "SESSION_TEMPLATE_STORAGE_LIMIT_REACHED": _full("session-templates.json", MIB // 2),
    "CHARACTER_DOCUMENT_TOO_LARGE": _full_document,
    "TAVERN_PROFILE_TOO_LARGE": _large_profile,
}
"""By code; the other codes of a kind of fault have one way in common."""


def _way(route: Route, status: int, code: str) -> Way:
    if code in WAYS:
        return WAYS[code]
    if code.endswith("_AGENT_RUNNING"):
        return _while_running
    if status == 404:
        is_written_down = code in REQUESTS[name_of(route)].get("else", {})
        return _just_send if is_written_down else _not_there
    if (status, code) == (400, route.family.invalid):
        return _malformed
    assert (status, code) == (413, route.too_large), f"no way to {code} is known"
    return _too_large


INNER: tuple[Error, ...] = (BUSY, SLOW_BODY, (503, "TAVERN_API_TIMEOUT"), *NO_HOST)


def _is_inner(route: Route, error: Error) -> bool:
    """Whether an error shows a fault on this side, or that something takes too long."""
    return error in INNER or error == (500, route.family.broken)


def _cells(*, inner: bool) -> list[Cell]:
    return [
        (route, *error)
        for route in ROUTES
        for error in route.all_errors
        if _is_inner(route, error) is inner
    ]


def assert_error(reply: Reply, route: Route, status: int, code: str) -> None:
    """Check code, form and headers of an error."""
    assert reply.error == (status, code)
    is_wall = code.startswith("TAVERN_API_") and status < 500
    shape = Shape.FLAT if is_wall else route.family.shape
    assert list(faults(ERRORS[shape], reply.json)) == []
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("route", ROUTES, ids=by_name)
def test_a_good_request_gets_what_is_described(
    place: Place, furnished: Furnished, route: Route
) -> None:
    reply = _trial(route, place, furnished).send()
    assert reply.status == route.success.status, reply.body
    assert reply.headers["content-type"].partition(";")[0] == route.success.media_type
    assert ("etag" in reply.headers) is route.success.has_etag
    if route.success.schema is not None:
        assert list(faults(route.success.schema, reply.json)) == []
    assert {
        name: reply.headers[name]
        for name in ("cache-control", "x-content-type-options", "referrer-policy")
    } == {
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }


@pytest.mark.parametrize(("route", "status", "code"), _cells(inner=False), ids=by_name)
def test_an_error_is_as_described(
    place: Place, furnished: Furnished, route: Route, status: int, code: str
) -> None:
    trial = _trial(route, place, furnished)
    reply = _way(route, status, code)(trial.instead(code))
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
    def way(scene: HttpScene, trial: Trial) -> Reply:
        scene.host.fault = HostError(code, "it does not answer")
        return trial.send()

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
    assert_error(way(scene, _trial(route, place, furnished)), route, status, code)


def test_every_route_has_a_request_and_every_request_a_route() -> None:
    assert sorted(REQUESTS) == sorted(map(name_of, ROUTES))
