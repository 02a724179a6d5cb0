"""The HTTP API through the web server of the real host, and the life of a role-play with it."""

import json
import os
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.dsh._host import DRIVEN, Driven, Home, eventually
from tests.dsh._install import Toolbox
from tests.dsh._model import Model
from tests.dsh._web import API, Web
from tests.http_scene import PRESET

CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Maren",
        "description": "A ferry woman with a lantern.",
        "first_mes": "Get in, {{user}}.",
        "extensions": {},
    },
}
BOOK = {
    "name": "River",
    "entries": {
        "0": {"uid": 0, "key": ["chapel bell"], "content": "The chapel drowned long ago."},
        "1": {"uid": 1, "key": ["otter"], "content": "Otters are never seen at night."},
    },
}


@pytest.fixture(scope="module")
def host(
    toolbox: Toolbox, model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driven]:
    """Give a running host with the loader as it is installed."""
    home = Home(toolbox, tmp_path_factory.mktemp("http"), model)
    home.install(DRIVEN)
    home.add_driver()
    with home.driven() as running:
        yield running


@pytest.fixture(scope="module")
def web(host: Driven) -> Web:
    return Web.of(host)


@pytest.fixture(scope="module")
def ids(web: Web) -> dict[str, str]:
    """Import one of each kind; gives the ids."""
    card = web.send("POST", "/v1/characters/import?filename=Maren.json", json.dumps(CARD).encode())
    book = web.send("POST", "/v1/world-books/import?filename=River.json", json.dumps(BOOK).encode())
    preset = web.post("/v1/import", {"content": PRESET.decode(), "name": "Ferry"})
    user = web.post("/v1/users", {"name": "Ilse", "description": "She cannot swim."})
    assert [one.status for one in (card, book, preset, user)] == [201] * 4
    return {
        "character": card.json["character"]["id"],
        "book": book.json["worldBook"]["id"],
        "preset": preset.json["preset"]["id"],
        "user": user.json["user"]["id"],
    }


@pytest.fixture(scope="module")
def template(web: Web, ids: dict[str, str]) -> str:
    """Make a template that new sessions begin with; gives its id."""
    for target, body in (
        ("/v1/character-selection", {"characterCardId": ids["character"]}),
        ("/v1/world-book-selection", {"worldBookIds": [ids["book"]]}),
        ("/v1/user-selection", {"userId": ids["user"]}),
        ("/v1/select", {"id": ids["preset"]}),
    ):
        assert web.post(target, {**body, "sessionId": "set-up"}).status == 200
    made = web.post("/v1/session-templates", {"name": "Night", "sourceSessionId": "set-up"})
    template_id: str = made.json["template"]["id"]
    assert web.post("/v1/session-templates/select", {"id": template_id}).status == 200
    return template_id


def sandbox(host: Driven, session: str) -> Any:
    """Say where the log of a session says that its sandbox is."""
    return host.do("events", session=session, types=["sandbox/mode"])[-1]["data"]["mode"]


@pytest.mark.usefixtures("template")
def test_a_new_session_begins_with_the_template_and_its_record_is_proven(
    host: Driven, web: Web
) -> None:
    system = host.step(host.session("life"), "Is that the chapel bell?")
    assert "A ferry woman with a lantern." in system
    assert "The chapel drowned long ago." in system
    assert "Otters" not in system
    host.do("flush", session="life")
    index = web.get("/v3/sessions/life/assemblies").json
    [row] = index["records"]
    assert (row["status"], row["contentStatus"]) == ("request-observed", "reference-only")
    record = web.get(f"/v3/sessions/life/assemblies/{row['id']}").json["record"]
    assert record["contentStatus"] == "available"
    assert record["systemMessages"] == [system]
    lore = [one for one in record["sections"] if ":worldbook:" in one["name"]]
    assert [one["text"] for one in lore] == ["The chapel drowned long ago."]
    active = web.get("/v1/active?sessionId=life").json
    assert active["resources"]["characterCard"]["name"] == "Maren"
    assert web.get("/v1/traces?sessionId=life").json["records"][0]["turn"] == row["turn"]


@pytest.mark.usefixtures("template")
def test_a_bound_character_locks_its_session(host: Driven, web: Web) -> None:
    session = host.session("locked")
    eventually(lambda: sandbox(host, session) == "read-only")
    ended = host.say(session, 'look around\nTOOL bash {"command": "touch x", "description": "d"}')
    assert ended["kind"] != "completed"
    eventually(lambda: web.get(f"/v1/rp-alert?sessionId={session}").json["alert"])
    alert = web.get(f"/v1/rp-alert?sessionId={session}").json["alert"]
    assert (alert["toolName"], alert["sessionId"]) == ("bash", session)
    assert not (host.home.workspace / "x").exists()
    assert web.send("DELETE", f"/v1/rp-alert?sessionId={session}").json["alert"] == alert
    off = web.send(
        "PUT", "/v1/rp-mode", json.dumps({"sessionId": session, "active": False}).encode()
    )
    assert off.json["outcome"] == "committed"
    eventually(lambda: sandbox(host, session) == "workspace-write")


@pytest.mark.usefixtures("template")
def test_a_running_session_keeps_what_it_has(host: Driven, web: Web, ids: dict[str, str]) -> None:
    session = host.session("busy")
    running = host.begin("say", session=session, text="SLOW 1.5")
    body = {"sessionId": session, "userId": None}
    eventually(lambda: web.post("/v1/user-selection", body).status == 409)
    assert web.post("/v1/user-selection", body).error == (409, "USER_AGENT_RUNNING")
    deletion = web.send("DELETE", f"/v1/users/{ids['user']}")
    assert deletion.error == (409, "USER_AGENT_RUNNING")
    assert deletion.json["error"]["sessionIds"] == [session]
    assert running.result(30) == {"kind": "completed"}
    eventually(lambda: web.post("/v1/user-selection", body).status == 200)


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"host": "evil.example"}, (403, "TAVERN_API_HOST_FORBIDDEN")),
        ({"origin": "http://evil.example"}, (403, "TAVERN_API_ORIGIN_FORBIDDEN")),
        ({"sec_fetch_site": "cross-site"}, (403, "TAVERN_API_ORIGIN_FORBIDDEN")),
        ({"content_type": "text/plain"}, (415, "TAVERN_API_CONTENT_TYPE_REQUIRED")),
        ({"x_forwarded_for": "10.0.0.1"}, (400, "INVALID_USER_REQUEST")),
    ],
)
def test_the_walls_stand_behind_the_host_too(
    web: Web, headers: dict[str, str], error: tuple[int, str]
) -> None:
    reply = web.send("POST", "/v1/users", b"{}", **headers)
    assert reply.error == error
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("target", ["/v1/presets/..%2f..%2fstate", "/v1/users%00", "/v9/x", ""])
def test_paths_lead_nowhere_else(web: Web, target: str) -> None:
    reply = web.get(target)
    assert reply.status in (400, 404)
    assert reply.json["ok"] is False


def test_the_description_is_served(web: Web) -> None:
    assert web.get("/openapi.json").json["openapi"] == "3.1.0"


def test_a_large_card_goes_in_and_out_unchanged(web: Web) -> None:
    data = {**CARD["data"], "description": os.urandom(1024 * 1024).hex()}  # type: ignore[dict-item] # of a card
    card = {**CARD, "data": data}
    made = web.send("POST", "/v1/characters/import", json.dumps(card).encode())
    target = f"/v1/characters/{made.json['character']['id']}"
    assert web.get(target + "/json").json == card
    assert web.send("DELETE", target).status == 200


def test_a_body_over_the_limit_is_refused_without_waiting_for_it(web: Web) -> None:
    connection = HTTPConnection("127.0.0.1", web.port, timeout=20)
    connection.putrequest("POST", f"{API}/v1/users")
    for name, value in (
        ("origin", f"http://{web.own}"),
        ("content-type", "application/json"),
        ("content-length", str(10 * 1024 * 1024)),
    ):
        connection.putheader(name, value)
    connection.endheaders(b"{")
    answer = connection.getresponse()
    assert answer.status == 413
    assert json.loads(answer.read())["error"]["code"] == "USER_BODY_TOO_LARGE"
    connection.close()


def test_many_at_once_are_all_answered(web: Web) -> None:
    replies: list[int] = []

    def ask(number: int) -> None:
        target = "/v1/users" if number % 2 else "/v3/capabilities"
        replies.append(web.get(target).status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert replies == [200] * 40


def test_what_is_made_over_http_is_what_the_command_line_lists(host: Driven, web: Web) -> None:
    made: Any = web.post("/v1/users", {"name": "Through the web"}).json["user"]
    listed = host.home.loader("list", "--json", "--dsh-home", str(host.home.home))
    assert listed.code == 0, listed.errors
    assert made["id"] in listed.output
