"""Good requests to every route of the HTTP API, and stores with some of everything for them.

Must not know how the API is reached.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from tavern_loader.adapters.http.route import Route
from tavern_loader.adapters.stored_bytes import TRACE_RECORDS
from tests.http_scene import CARD, PRESET, WORLD, Client, HttpScene, Place, Reply
from tests.trace_scenario import VECTORS

CASES = Path(__file__).parents[1] / "packages" / "tavern-loader" / "tests" / "cases"
REQUESTS: Mapping[str, Any] = json.loads((CASES / "http_requests.json").read_bytes())["requests"]
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
TEXTS = tuple(
    json.dumps(text, ensure_ascii=False)[1:-1].encode()
    for text in (
        json.loads(CARD)["data"]["description"],
        json.loads(CARD)["data"]["first_mes"],
        json.loads(WORLD)["entries"]["0"]["content"],
        next(one["content"] for one in json.loads(PRESET)["prompts"] if one.get("content")),
    )
)
"""Of the resources that are kept: no error repeats one."""


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


@frozen(kw_only=True)
class Furnished:
    """Stores with some of everything, all of it bound to one session."""

    folder: Path
    ids: Mapping[str, str]


def furnish(folder: Path) -> Furnished:
    """Fill the stores in a folder."""
    scene = HttpScene(folder)
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
        path = re.sub(r"{(\w+)}", lambda found: {**self.ids, **changes}[found[1]], self.route.path)
        asked = _filled(self.spec.get("query", ""), self.ids) if query is None else query
        return f"{path}?{asked}" if asked else path

    def send(self, target: str | None = None, **changes: Any) -> Reply:
        """Send the good request, with some changes."""
        body: dict[str, Any] = {}
        if "file" in self.spec:
            body["data"] = FILES[self.spec["file"]]
        elif "content" in self.spec:
            body["content"] = _filled(self.spec["content"], self.ids)
        return self.client.send(self.route.method, target or self.target, **{**body, **changes})

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


def trial_of(route: Route, place: Place, furnished: Furnished) -> Trial:
    """Fill the stores of a place, and give a good request to a route there."""
    shutil.rmtree(place.folder, ignore_errors=True)
    shutil.copytree(furnished.folder, place.folder, ignore=shutil.ignore_patterns("*.lock"))
    texts = {"presetText": PRESET.decode(), "cardText": CARD.decode(), "session": SESSION}
    return Trial(
        route=route,
        place=place,
        ids={**furnished.ids, **texts},
        spec=REQUESTS[name_of(route)],
    )
