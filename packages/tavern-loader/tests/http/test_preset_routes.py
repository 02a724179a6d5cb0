"""Presets over HTTP, and what is active."""

import json
from typing import Any

import pytest

from tests.http_scene import CARD, PRESET, WORLD, Client, HttpScene, Reply

FERRY = PRESET.decode()
TRANSFERRED_USER = {
    "format": "pmp-dsh-tavern",
    "version": 1,
    "resourceType": "user",
    "data": {"name": "Ilse"},
}
INVALID = (400, "INVALID_PRESET_REQUEST")
NOT_FOUND = (404, "PRESET_NOT_FOUND")


def imported(client: Client, content: str = FERRY, name: str = "Ferry") -> dict[str, Any]:
    reply = client.post("/v1/import", {"content": content, "name": name})
    assert reply.status == 201, reply.json
    preset: dict[str, Any] = reply.json["preset"]
    return preset


def test_an_empty_library_lists_nothing(client: Client) -> None:
    assert client.get("/v1/presets").json == {"ok": True, "presets": [], "selectedId": None}


def test_a_preset_is_imported_listed_read_and_exported(client: Client) -> None:
    preset = imported(client)
    assert preset["name"] == "Ferry"
    reply = client.get(f"/v1/presets/{preset['id']}")
    assert reply.json == {"ok": True, "preset": preset}
    assert reply.headers["etag"].startswith('"sha256-')
    [line] = client.get("/v1/presets").json["presets"]
    assert line == {
        "id": preset["id"],
        "name": "Ferry",
        "createdAt": preset["createdAt"],
        "updatedAt": preset["updatedAt"],
        "sourceFormat": "sillytavern-chat-completion",
        "promptCount": len(preset["prompts"]),
        "enabledPromptCount": sum(
            one["enabled"] and not one["marker"] for one in preset["prompts"]
        ),
    }
    export = client.get(f"/v1/presets/{preset['id']}/export")
    assert export.headers["content-disposition"] == "attachment; filename*=UTF-8''Ferry.json"
    assert export.headers["content-type"] == "application/json; charset=utf-8"
    assert export.json == json.loads(FERRY)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"content": 7},
        {"content": "{"},
        {"content": "[]"},
        {"content": "a\ud800b"},
        {"content": CARD.decode()},
        {"content": WORLD.decode()},
        {"content": json.dumps(TRANSFERRED_USER)},
    ],
)
def test_what_is_no_preset_is_not_imported(client: Client, content: Any) -> None:
    reply = client.send("POST", "/v1/import", data=json.dumps(content).encode())
    assert reply.status == 400
    assert sorted(reply.json) == ["code", "error", "ok"]
    assert client.get("/v1/presets").json["presets"] == []
    assert client.get("/v1/users").json["users"] == []


def test_a_new_preset_has_one_empty_prompt(client: Client) -> None:
    reply = client.post("/v1/presets", {"name": "Mine"})
    assert reply.status == 201
    assert [one["content"] for one in reply.json["preset"]["prompts"]] == [""]
    assert client.post("/v1/presets", {}).json["preset"]["name"] == "Untitled preset"


def test_a_preset_is_edited_on_the_revision_that_was_seen(client: Client) -> None:
    preset = imported(client)
    target = f"/v1/presets/{preset['id']}"
    seen = client.get(target).headers["etag"]
    reply = client.put(target, {"name": "Barge"}, headers={"if-match": seen})
    assert (reply.status, reply.json["preset"]["name"]) == (200, "Barge")
    assert reply.headers["etag"] == client.get(target).headers["etag"] != seen
    late = client.put(target, {"name": "Raft"}, headers={"if-match": seen})
    assert late.error == (412, "REVISION_CONFLICT")
    assert client.get(target).json["preset"]["name"] == "Barge"
    assert client.put(target, {"name": "Raft"}, headers={"if-match": "*"}).status == 200
    assert client.put(target, {"name": "Skiff"}).json["preset"]["name"] == "Skiff"


@pytest.mark.parametrize("tag", ['"abc"', "x", '"sha256-12"', '"sha256-a", "sha256-b"', "W/*", ""])
def test_a_tag_that_is_no_revision_never_matches(client: Client, tag: str) -> None:
    target = f"/v1/presets/{imported(client)['id']}"
    reply = client.put(target, {"name": "Raft"}, headers={"if-match": tag})
    assert reply.error == (412, "REVISION_CONFLICT")
    assert client.put("/v1/presets/gone", {}, headers={"if-match": tag}).error == NOT_FOUND


def test_two_conditions_are_not_taken_for_none(client: Client) -> None:
    target = f"/v1/presets/{imported(client)['id']}"
    seen = client.get(target).headers["etag"]
    for first, second in ((seen, '"sha256-0"'), ('"sha256-0"', '"sha256-1"'), ("*", seen)):
        tags = [("if-match", first), ("if-match", second)]
        reply = client.put(target, {"name": "Raft"}, more_headers=tags)
        assert reply.error == (412, "REVISION_CONFLICT")


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"systemPromptMode": "instead"},
        {"sampling": []},
        {"prompts": {}},
        {"prompts": [7]},
    ],
)
def test_an_edit_of_another_form_is_refused(client: Client, content: Any) -> None:
    target = f"/v1/presets/{imported(client)['id']}"
    before = client.get(target).json
    assert client.put(target, content).error == INVALID
    assert client.get(target).json == before


def test_a_deleted_preset_is_gone_everywhere(client: Client) -> None:
    preset_id = imported(client)["id"]
    client.post("/v1/select", {"id": preset_id})
    client.post("/v1/select", {"id": preset_id, "sessionId": "s-1"})
    assert client.delete(f"/v1/presets/{preset_id}").json == {"ok": True}
    assert client.get("/v1/presets").json == {"ok": True, "presets": [], "selectedId": None}
    assert client.get("/v1/presets?sessionId=s-1").json["selectedId"] is None
    assert client.get(f"/v1/presets/{preset_id}").error == NOT_FOUND
    assert client.delete(f"/v1/presets/{preset_id}").error == NOT_FOUND


def test_a_preset_is_selected_for_new_sessions_or_for_one(client: Client) -> None:
    first, second = imported(client)["id"], imported(client, name="Barge")["id"]
    reply = client.post("/v1/select", {"id": first})
    assert reply.json == {"ok": True, "selected": {"id": first, "name": "Ferry"}}
    chosen = client.post("/v1/select", {"id": second, "sessionId": "s-1"})
    assert chosen.json["selected"] == {"id": second, "name": "Barge"}
    assert client.get("/v1/presets").json["selectedId"] == first
    assert client.get("/v1/presets?sessionId=s-1").json["selectedId"] == second
    assert client.get("/v1/presets?sessionId=s-2").json["selectedId"] == first
    none = client.post("/v1/select", {"id": None, "sessionId": "s-1"})
    assert none.json == {"ok": True, "selected": None}
    assert client.get("/v1/presets?sessionId=s-1").json["selectedId"] is None


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({}, INVALID),
        ({"id": 7}, INVALID),
        ({"id": "../state"}, INVALID),
        ({"id": "gone"}, NOT_FOUND),
        ({"id": "gone", "sessionId": "s-1"}, NOT_FOUND),
        ({"id": None, "sessionId": "a/b"}, INVALID),
    ],
)
def test_what_cannot_be_selected_is_refused(
    client: Client, content: Any, error: tuple[int, str]
) -> None:
    assert client.post("/v1/select", content).error == error


def test_scripts_of_a_preset_are_replaced_whole(client: Client) -> None:
    target = f"/v1/presets/{imported(client)['id']}/regex-scripts"
    assert client.get(target).json == {"ok": True, "regexScripts": []}
    scripts = [{"scriptName": "a", "findRegex": "/x/g", "own": {"kept": True}}, {"id": "b"}]
    reply = client.put(target, {"regexScripts": scripts})
    assert reply.json == {"ok": True, "regexScripts": scripts}
    assert client.get(target).json["regexScripts"] == scripts
    wrongs: tuple[object, ...] = ({}, {"regexScripts": {}}, {"regexScripts": ["x"]})
    for wrong in wrongs:
        assert client.put(target, wrong).error == INVALID


def _book(client: Client, name: str) -> str:
    made: str = client.post("/v1/world-books", {"name": name}).json["worldBook"]["id"]
    return made


def test_books_of_a_preset_are_replaced_whole_and_once(client: Client) -> None:
    preset_id = imported(client)["id"]
    target = f"/v1/presets/{preset_id}/world-books"
    first, second = _book(client, "One"), _book(client, "Two")
    assert client.get(target).json == {
        "ok": True,
        "binding": {"presetId": preset_id, "worldBookIds": []},
    }
    reply = client.put(target, {"worldBookIds": [second, first, second]})
    assert reply.json["binding"]["worldBookIds"] == [second, first]
    client.delete(f"/v1/world-books/{second}")
    assert client.get(target).json["binding"]["worldBookIds"] == [first]
    assert client.put(target, {"worldBookIds": ["gone"]}).error == (404, "WORLD_BOOK_NOT_FOUND")
    assert client.get("/v1/presets/gone/world-books").error == NOT_FOUND
    assert client.put("/v1/presets/gone/world-books", {"worldBookIds": []}).error == NOT_FOUND


@pytest.mark.parametrize(
    "content",
    [{}, {"worldBookIds": "x"}, {"worldBookIds": [7]}, {"worldBookIds": [], "more": 1}],
)
def test_books_of_another_form_are_refused(client: Client, content: Any) -> None:
    target = f"/v1/presets/{imported(client)['id']}/world-books"
    assert client.put(target, content).error == INVALID


def test_more_than_a_hundred_books_are_refused(client: Client) -> None:
    target = f"/v1/presets/{imported(client)['id']}/world-books"
    assert client.put(target, {"worldBookIds": ["a"] * 101}).error == INVALID


@pytest.mark.parametrize(
    "preset_id",
    ["..", "%2e%2e", "a%2fb", "a%5cb", "%00", "a.json", "a" * 101, "a%0a", "%F0%9F%98%80", "con:"],
)
def test_an_id_cannot_lead_anywhere(client: Client, preset_id: str) -> None:
    for reply in (
        client.get(f"/v1/presets/{preset_id}"),
        client.put(f"/v1/presets/{preset_id}", {"name": "x"}),
        client.delete(f"/v1/presets/{preset_id}"),
        client.get(f"/v1/presets/{preset_id}/export"),
    ):
        assert reply.error in (INVALID, (404, "NOT_FOUND"))


def active(client: Client, query: str = "") -> Reply:
    return client.get("/v1/active" + query)


def test_active_says_what_would_be_sent_without_its_text(client: Client) -> None:
    preset = imported(client)
    client.post("/v1/select", {"id": preset["id"]})
    reply = active(client)
    assert sorted(reply.json) == [
        "audit",
        "callConfig",
        "diagnostics",
        "ok",
        "resources",
        "selected",
        "selection",
        "sessionSelection",
        "worldBookSelection",
    ]
    assert reply.json["selected"]["id"] == preset["id"]
    assert reply.json["resources"]["preset"]["name"] == "Ferry"
    for prompt in preset["prompts"]:
        assert len(prompt["content"]) < 20 or prompt["content"].encode() not in reply.body


def test_active_of_a_session_is_about_that_session(client: Client) -> None:
    preset_id = imported(client)["id"]
    client.post("/v1/select", {"id": preset_id, "sessionId": "s-1"})
    assert active(client, "?sessionId=s-1").json["selection"]["presetId"] == preset_id
    assert active(client, "?sessionId=s-2").json["selected"] is None
    assert active(client, "?sessionId=a/b").error == INVALID


def test_a_profile_that_is_too_large_says_by_how_much(client: Client) -> None:
    prompts = [{"identifier": "main", "role": "system", "content": "x" * 600_000}]
    order = [{"character_id": 100_001, "order": [{"identifier": "main", "enabled": True}]}]
    content = json.dumps({"prompts": prompts, "prompt_order": order})
    client.post("/v1/select", {"id": imported(client, content)["id"]})
    reply = active(client)
    assert reply.error == (413, "TAVERN_PROFILE_TOO_LARGE")
    assert (reply.json["actualBytes"], reply.json["maxBytes"]) == (600_000, 524_288)


def test_damaged_documents_do_not_hide_the_others(scene: HttpScene) -> None:
    preset_id = imported(scene.client)["id"]
    damaged = scene.folder / "presets" / "damaged.json"
    damaged.write_bytes(b"{")
    assert [one["id"] for one in scene.client.get("/v1/presets").json["presets"]] == [preset_id]
    reply = scene.client.get("/v1/presets/damaged")
    assert reply.error == (500, "PRESET_DOCUMENT_INVALID")
    assert damaged.read_bytes() == b"{"
    assert scene.client.delete("/v1/presets/damaged").json == {"ok": True}
