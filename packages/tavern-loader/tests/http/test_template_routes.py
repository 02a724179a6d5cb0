"""Session templates, and taking over a whole configuration."""

import json
from typing import Any

import pytest

from tests.http_scene import CARD, PRESET, WORLD, Client, HttpScene

INVALID = (400, "INVALID_SESSION_TEMPLATE_REQUEST")
NOT_FOUND = (404, "SESSION_TEMPLATE_NOT_FOUND")


@pytest.fixture
def bound(client: Client) -> dict[str, str]:
    """Bind one of each kind to session s-1; gives the ids by the name of their field."""
    preset = client.post("/v1/import", {"content": PRESET.decode(), "name": "Ferry"}).json
    card = client.send("POST", "/v1/characters/import", data=CARD).json
    world = client.send("POST", "/v1/world-books/import", data=WORLD).json
    person = client.post("/v1/users", {"name": "Ilse"}).json
    ids = {
        "presetId": preset["preset"]["id"],
        "characterCardId": card["character"]["id"],
        "worldBookId": world["worldBook"]["id"],
        "userId": person["user"]["id"],
    }
    client.post("/v1/select", {"id": ids["presetId"], "sessionId": "s-1"})
    client.post(
        "/v1/character-selection",
        {"sessionId": "s-1", "characterCardId": ids["characterCardId"]},
    )
    client.post(
        "/v1/world-book-selection", {"sessionId": "s-1", "worldBookIds": [ids["worldBookId"]]}
    )
    client.post("/v1/user-selection", {"sessionId": "s-1", "userId": ids["userId"]})
    return ids


def template(client: Client, name: str = "Night", session: str = "s-1") -> dict[str, Any]:
    reply = client.post("/v1/session-templates", {"name": name, "sourceSessionId": session})
    assert reply.status == 201, reply.json
    made: dict[str, Any] = reply.json["template"]
    return made


def test_a_template_keeps_what_a_session_has(client: Client, bound: dict[str, str]) -> None:
    made = template(client, "  Night  ")
    assert made["name"] == "Night"
    assert made["selection"] == {
        "presetId": bound["presetId"],
        "characterCardId": bound["characterCardId"],
        "userId": bound["userId"],
        "worldBookIds": [bound["worldBookId"]],
        "character": {
            "greetingIndex": 0,
            "preferCharacterSystemPrompt": True,
            "preferCharacterPostHistory": True,
        },
        "rp": {
            "active": True,
            "source": "character-follow",
            "followSuppressed": False,
            "sandboxBefore": None,
        },
    }
    looked_at = client.get(f"/v1/session-templates/{made['id']}").json
    assert looked_at["template"] == made
    assert looked_at["diagnostics"] == []
    assert looked_at["contents"]["preset"] == {
        "id": bound["presetId"],
        "name": "Ferry",
        "missing": False,
    }
    assert looked_at["contents"]["worldBooks"][0]["id"] == bound["worldBookId"]
    listed = client.get("/v1/session-templates").json
    assert (listed["selectedId"], [one["name"] for one in listed["templates"]]) == (
        None,
        ["Night"],
    )


def test_a_chosen_template_is_what_new_sessions_begin_with(
    client: Client, bound: dict[str, str]
) -> None:
    made = template(client)
    reply = client.post("/v1/session-templates/select", {"id": made["id"]})
    assert reply.json == {"ok": True, "selectedId": made["id"], "template": made}
    assert client.get("/v1/session-templates").json["selectedId"] == made["id"]
    new = client.get("/v1/character-selection?sessionId=brand-new").json
    assert new["selection"]["characterCardId"] == bound["characterCardId"]
    none = client.post("/v1/session-templates/select", {"id": None})
    assert none.json == {"ok": True, "selectedId": None, "template": None}
    assert client.post("/v1/session-templates/select", {"id": "gone"}).error == NOT_FOUND
    assert client.post("/v1/session-templates/select", {}).error == INVALID


def test_a_template_is_renamed_refilled_and_deleted(client: Client, bound: dict[str, str]) -> None:
    target = f"/v1/session-templates/{template(client)['id']}"
    renamed = client.patch(target, {"name": "Day"}).json["template"]
    assert (renamed["name"], renamed["selection"]["presetId"]) == ("Day", bound["presetId"])
    emptied = client.patch(target, {"sourceSessionId": "nothing-bound"}).json["template"]
    assert emptied["selection"]["presetId"] is None
    given = client.patch(target, {"selection": {"presetId": "gone"}}).json
    assert given["template"]["selection"]["presetId"] == "gone"
    assert [one["code"] for one in given["diagnostics"]] == ["SESSION_CONFIGURATION_PRESET_MISSING"]
    assert client.delete(target).json == {"ok": True}
    for gone in (client.get(target), client.patch(target, {"name": "x"}), client.delete(target)):
        assert gone.error == NOT_FOUND


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"name": "Night"},
        {"sourceSessionId": "s-1"},
        {"name": "", "sourceSessionId": "s-1"},
        {"name": "  ", "sourceSessionId": "s-1"},
        {"name": "n" * 121, "sourceSessionId": "s-1"},
        {"name": "名" * 161, "sourceSessionId": "s-1"},
        {"name": "Night", "sourceSessionId": "a/b"},
        {"name": 7, "sourceSessionId": "s-1"},
    ],
)
def test_what_is_no_template_is_refused(client: Client, content: Any) -> None:
    assert client.post("/v1/session-templates", content).error == INVALID


@pytest.mark.parametrize(
    "content",
    [
        {"more": 1},
        {"selection": {}, "sourceSessionId": "s-1"},
        {"selection": 7},
        {"name": None},
        {"sourceSessionId": ""},
    ],
)
def test_a_change_of_another_form_is_refused(
    client: Client, bound: dict[str, str], content: Any
) -> None:
    assert bound
    target = f"/v1/session-templates/{template(client)['id']}"
    assert client.patch(target, content).error == INVALID


def test_a_template_may_have_any_id_that_the_plugin_gives(scene: HttpScene) -> None:
    template(scene.client)
    file = scene.folder / "session-templates.json"
    document = json.loads(file.read_bytes())
    document["templates"][0]["id"] = "night.2:b"
    file.write_text(json.dumps(document), encoding="utf-8")
    client = scene.client
    assert client.get("/v1/session-templates/night.2:b").json["template"]["name"] == "Night"
    assert client.post("/v1/session-templates/select", {"id": "night.2:b"}).status == 200
    source = {"mode": "template", "templateId": "night.2:b"}
    assert client.post("/v1/session-configurations/preview", {"source": source}).status == 200
    assert client.delete("/v1/session-templates/night.2:b").status == 200


def test_there_are_a_hundred_templates_at_most(scene: HttpScene) -> None:
    for number in range(100):
        template(scene.client, f"n{number}")
    reply = scene.client.post("/v1/session-templates", {"name": "more", "sourceSessionId": "s-1"})
    assert reply.error == (409, "SESSION_TEMPLATE_LIMIT_REACHED")
    assert len(scene.client.get("/v1/session-templates").json["templates"]) == 100


def test_a_body_about_a_template_that_is_too_large_is_not_read(client: Client) -> None:
    headers = {"content-length": str(64 * 1024 + 1)}
    reply = client.send("POST", "/v1/session-templates", pieces=[], headers=headers)
    assert reply.error == (413, "SESSION_TEMPLATE_BODY_TOO_LARGE")


def test_a_configuration_is_looked_at_and_taken_over_whole(
    client: Client, bound: dict[str, str]
) -> None:
    current = {"mode": "current", "sessionId": "s-1"}
    preview = client.post("/v1/session-configurations/preview", {"source": current}).json
    assert preview["available"] is True
    assert preview["selection"]["userId"] == bound["userId"]
    assert preview["diagnostics"] == []
    body = {"targetSessionId": "s-2", "source": current}
    applied = client.post("/v1/session-configurations/apply", body).json
    assert applied == {"ok": True, "selection": preview["selection"], "diagnostics": []}
    for kind in ("user", "character", "world-book"):
        one, two = (
            client.get(f"/v1/{kind}-selection?sessionId={session}").json
            for session in ("s-1", "s-2")
        )
        assert one == two
    assert client.get("/v1/rp-mode?sessionId=s-2").json["rp"]["active"] is True


def test_a_configuration_that_lacks_something_changes_nothing(
    client: Client, bound: dict[str, str]
) -> None:
    made = template(client)
    client.delete(f"/v1/users/{bound['userId']}")
    client.delete(f"/v1/world-books/{bound['worldBookId']}")
    source = {"mode": "template", "templateId": made["id"]}
    preview = client.post("/v1/session-configurations/preview", {"source": source}).json
    codes = ["SESSION_CONFIGURATION_USER_MISSING", "SESSION_CONFIGURATION_WORLD_BOOK_MISSING"]
    assert preview["available"] is False
    assert [one["code"] for one in preview["diagnostics"]] == codes
    body = {"targetSessionId": "s-2", "source": source}
    reply = client.post("/v1/session-configurations/apply", body)
    assert reply.error == (409, "SESSION_CONFIGURATION_UNAVAILABLE")
    assert [one["code"] for one in reply.json["error"]["diagnostics"]] == codes
    assert client.get("/v1/presets?sessionId=s-2").json["selectedId"] is None
    assert client.get("/v1/rp-mode?sessionId=s-2").json["rp"]["active"] is False


@pytest.mark.parametrize("route", ["preview", "apply"])
@pytest.mark.parametrize(
    ("source", "error"),
    [
        (None, INVALID),
        ({}, INVALID),
        ({"mode": "other"}, INVALID),
        ({"mode": "current"}, INVALID),
        ({"mode": "current", "sessionId": ""}, INVALID),
        ({"mode": "current", "templateId": "x"}, INVALID),
        ({"mode": "template"}, INVALID),
        ({"mode": "template", "templateId": "gone"}, NOT_FOUND),
    ],
)
def test_a_source_that_is_none_is_refused(
    client: Client, route: str, source: Any, error: tuple[int, str]
) -> None:
    content = {"targetSessionId": "s-2", "source": source}
    assert client.post(f"/v1/session-configurations/{route}", content).error == error


def test_taking_over_needs_a_target(client: Client) -> None:
    content = {"source": {"mode": "current", "sessionId": "s-1"}}
    assert client.post("/v1/session-configurations/apply", content).error == INVALID
