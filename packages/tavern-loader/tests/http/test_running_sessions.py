"""What cannot be changed while a session runs, and how to change it nevertheless."""

from collections.abc import Callable

import pytest
from attrs import frozen

from tavern_loader.errors import HostError
from tests.http_scene import CARD, PRESET, WORLD, Client, HttpScene, QuietHost, Reply

ALLOW = "whileRunning=allow"


@frozen
class Ids:
    """One resource of each kind, all bound to session s-1."""

    preset: str
    character: str
    book: str
    user: str
    template: str


@pytest.fixture
def ids(scene: HttpScene) -> Ids:
    client = scene.client
    preset = client.post("/v1/import", {"content": PRESET.decode()}).json["preset"]["id"]
    card = client.send("POST", "/v1/characters/import", data=CARD).json["character"]["id"]
    book = client.send("POST", "/v1/world-books/import", data=WORLD).json["worldBook"]["id"]
    user = client.post("/v1/users", {"name": "Ilse"}).json["user"]["id"]
    client.post("/v1/select", {"id": preset, "sessionId": "s-1"})
    client.post("/v1/character-selection", {"sessionId": "s-1", "characterCardId": card})
    client.post("/v1/user-selection", {"sessionId": "s-1", "userId": user})
    client.put(f"/v1/users/{user}/world-books", {"worldBookIds": [book]})
    source = {"name": "Night", "sourceSessionId": "s-1"}
    template = client.post("/v1/session-templates", source).json["template"]["id"]
    scene.host.running.add("s-1")
    return Ids(preset, card, book, user, template)


Act = Callable[[Client, Ids, str], Reply]

DIRECT: dict[str, tuple[str, dict[str, object]]] = {
    "PRESET": ("/v1/select", {"id": None}),
    "CHARACTER": ("/v1/character-selection", {"characterCardId": None}),
    "USER": ("/v1/user-selection", {"userId": None}),
    "WORLD_BOOK": ("/v1/world-book-selection", {"worldBookIds": []}),
}
INDIRECT: dict[str, tuple[str, Act]] = {
    "delete preset": ("PRESET", lambda c, i, q: c.delete(f"/v1/presets/{i.preset}?{q}")),
    "delete character": (
        "CHARACTER",
        lambda c, i, q: c.delete(f"/v1/characters/{i.character}?{q}"),
    ),
    "delete user": ("USER", lambda c, i, q: c.delete(f"/v1/users/{i.user}?{q}")),
    # The book counts because the user brings it.
    "delete book": ("WORLD_BOOK", lambda c, i, q: c.delete(f"/v1/world-books/{i.book}?{q}")),
    "books of preset": (
        "PRESET",
        lambda c, i, q: c.put(f"/v1/presets/{i.preset}/world-books?{q}", {"worldBookIds": []}),
    ),
    "books of character": (
        "CHARACTER",
        lambda c, i, q: c.put(
            f"/v1/characters/{i.character}/world-books?{q}", {"worldBookIds": []}
        ),
    ),
    "books of user": (
        "USER",
        lambda c, i, q: c.put(f"/v1/users/{i.user}/world-books?{q}", {"worldBookIds": []}),
    ),
    "take over": (
        "SESSION_CONFIGURATION",
        lambda c, i, q: c.post(
            f"/v1/session-configurations/apply?{q}",
            {
                "targetSessionId": "s-1",
                "source": {"mode": "template", "templateId": i.template},
            },
        ),
    ),
    "relink": (
        "CHARACTER",
        lambda c, i, q: c.post(
            f"/v1/characters/relink?{q}",
            {"previousCharacterId": i.character, "characterId": i.character},
        ),
    ),
}


@pytest.mark.parametrize("kind", DIRECT)
@pytest.mark.usefixtures("ids")
def test_a_running_session_keeps_what_it_has(scene: HttpScene, kind: str) -> None:
    target, body = DIRECT[kind]
    body = {**body, "sessionId": "s-1"}
    assert scene.client.post(target, body).error == (409, f"{kind}_AGENT_RUNNING")
    scene.host.running.clear()
    assert scene.client.post(target, body).status == 200


@pytest.mark.parametrize("way", INDIRECT)
def test_nor_is_it_changed_from_behind(scene: HttpScene, ids: Ids, way: str) -> None:
    kind, act = INDIRECT[way]
    reply = act(scene.client, ids, "")
    assert reply.error == (409, f"{kind}_AGENT_RUNNING")
    told = reply.json["error"] if isinstance(reply.json["error"], dict) else reply.json
    assert told["sessionIds"] == ["s-1"]
    assert act(scene.client, ids, "whileRunning=yes").status == 400


@pytest.mark.parametrize("way", INDIRECT)
def test_unless_the_caller_wants_it(scene: HttpScene, ids: Ids, way: str) -> None:
    assert INDIRECT[way][1](scene.client, ids, ALLOW).status == 200


@pytest.mark.parametrize("way", INDIRECT)
def test_another_running_session_holds_up_nothing(scene: HttpScene, ids: Ids, way: str) -> None:
    scene.host.running = {"s-2"}
    assert INDIRECT[way][1](scene.client, ids, "").status == 200


def test_edits_are_not_held_up(scene: HttpScene, ids: Ids) -> None:
    client = scene.client
    assert client.put(f"/v1/presets/{ids.preset}", {"name": "x"}).status == 200
    assert client.patch(f"/v1/characters/{ids.character}", {"name": "x"}).status == 200
    assert client.patch(f"/v1/world-books/{ids.book}", {"name": "x"}).status == 200
    assert client.patch(f"/v1/users/{ids.user}", {"name": "x"}).status == 200
    scripts: dict[str, list[object]] = {"regexScripts": []}
    assert client.put(f"/v1/presets/{ids.preset}/regex-scripts", scripts).status == 200


@pytest.mark.usefixtures("ids")
def test_a_host_that_cannot_be_asked_holds_up_a_change(
    scene: HttpScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_: object, __: str) -> bool:
        raise HostError("HOST_TIMEOUT", "the host did not answer")

    monkeypatch.setattr(QuietHost, "is_running", silent)
    body = {"sessionId": "s-1", "userId": None}
    assert scene.client.post("/v1/user-selection", body).error == (502, "HOST_TIMEOUT")
    assert scene.client.get("/v1/user-selection?sessionId=s-1").json["user"] is not None
