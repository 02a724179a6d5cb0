"""Characters over HTTP: the list, one of them, and which of them a session has."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tavern_format import parse_card
from tests.http_scene import CARD, WORLD, Client, HttpScene

INVALID = (400, "INVALID_CHARACTER_REQUEST")
NOT_FOUND = (404, "CHARACTER_NOT_FOUND")
PNG_CARD = Path("tests/vectors/formats")


def imported(client: Client, data: bytes = CARD, filename: str = "Maren.json") -> dict[str, Any]:
    reply = client.send("POST", f"/v1/characters/import?filename={filename}", data=data)
    assert reply.status == 201, reply.json
    answer: dict[str, Any] = reply.json
    return answer


def card(name: str, **more: Any) -> bytes:
    data = {"name": name, "description": "d", "first_mes": "hello", **more}
    return json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}).encode()


def named(client: Client, *names: str) -> list[str]:
    return [imported(client, card(name))["character"]["id"] for name in names]


def order(client: Client) -> list[str]:
    return [one["name"] for one in client.get("/v1/characters").json["characters"]]


def test_an_empty_list_says_its_order(client: Client) -> None:
    assert client.get("/v1/characters").json == {
        "ok": True,
        "characters": [],
        "sorting": {"mode": "updated"},
        "missingCharacters": [],
    }


def test_a_character_is_imported_listed_read_and_saved(client: Client) -> None:
    answer = imported(client)
    line = answer["character"]
    assert line["name"] == json.loads(CARD)["data"]["name"]
    assert line["sha256"] == hashlib.sha256(CARD).hexdigest()
    assert (line["fileName"], line["byteLength"]) == ("Maren.json", len(CARD))
    assert sorted(answer["compatibility"]) == [
        "unknownMacroNames",
        "unsupportedFeatures",
        "warnings",
    ]
    assert "recovery" not in answer
    assert client.get("/v1/characters").json["characters"] == [line]
    reply = client.get(f"/v1/characters/{line['id']}")
    assert reply.json["character"]["data"]["name"] == line["name"]
    assert reply.headers["etag"].startswith('"sha256-')
    saved = client.get(f"/v1/characters/{line['id']}/json")
    assert saved.json == json.loads(CARD)
    assert saved.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")


def test_a_character_is_saved_as_a_picture_that_carries_it(client: Client) -> None:
    character_id = imported(client)["character"]["id"]
    picture = client.get(f"/v1/characters/{character_id}/png")
    assert picture.headers["content-type"] == "image/png"
    assert parse_card(picture.body).value.name == json.loads(CARD)["data"]["name"]
    again = client.send(
        "POST",
        "/v1/characters/import?filename=Maren.png",
        data=picture.body,
        headers={"content-type": "image/png"},
    )
    assert again.json["character"]["sourceContainer"] == "png"
    own = client.get(f"/v1/characters/{again.json['character']['id']}/png")
    assert parse_card(own.body).value.name == json.loads(CARD)["data"]["name"]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/octet-stream", "image/png"]
)
def test_bytes_may_come_as_any_of_three_types(client: Client, content_type: str) -> None:
    headers = {"content-type": content_type}
    reply = client.send("POST", "/v1/characters/import", data=CARD, headers=headers)
    assert reply.json["character"]["fileName"] == "character"


@pytest.mark.parametrize(
    ("data", "status"),
    [(b"", 400), (b"{", 400), (b"\x89PNG\r\n\x1a\n", 400), (WORLD, 400), (b"[]", 400)],
)
def test_what_is_no_card_is_not_imported(client: Client, data: bytes, status: int) -> None:
    reply = client.send("POST", "/v1/characters/import", data=data)
    assert reply.status == status
    assert sorted(reply.json["error"]) == ["code", "message"]
    assert client.get("/v1/characters").json["characters"] == []
    assert client.get("/v1/world-books").json["worldBooks"] == []


def test_a_file_that_is_too_large_is_not_read(client: Client) -> None:
    headers = {"content-length": str(32 * 1024 * 1024 + 1)}
    reply = client.send("POST", "/v1/characters/import", pieces=[], headers=headers)
    assert reply.error == (413, "ARTIFACT_TOO_LARGE")


def test_a_file_name_is_only_a_name(client: Client) -> None:
    line = imported(client, filename="..%2f..%2fetc%2fpasswd%00%0d%0aX-A:%20b")["character"]
    assert "\r" not in line["fileName"]
    saved = client.get(f"/v1/characters/{line['id']}/json")
    assert "\r" not in saved.headers["content-disposition"]


def test_a_new_character_has_only_a_name(client: Client) -> None:
    reply = client.post("/v1/characters", {"name": "Odo"})
    assert (reply.status, reply.json["character"]["name"]) == (201, "Odo")
    document = client.get(f"/v1/characters/{reply.json['character']['id']}").json["character"]
    assert (document["data"]["description"], document["data"]["alternateGreetings"]) == ("", [])
    assert client.post("/v1/characters", {}).json["character"]["name"] == "Untitled character"
    assert client.post("/v1/characters", {"name": 7}).error == INVALID


def test_a_character_is_edited_on_the_revision_that_was_seen(client: Client) -> None:
    target = f"/v1/characters/{imported(client)['character']['id']}"
    seen = client.get(target).headers["etag"]
    edit = {"description": "new", "alternateGreetings": ["a", "b"], "tags": []}
    reply = client.patch(target, edit, headers={"if-match": seen})
    assert reply.json["character"]["data"]["description"] == "new"
    assert client.get(target + "/json").json["data"]["alternate_greetings"] == ["a", "b"]
    late = client.patch(target, {"name": "x"}, headers={"if-match": seen})
    assert late.error == (412, "REVISION_CONFLICT")


@pytest.mark.parametrize(
    "content",
    [
        {"id": "other"},
        {"name": 7},
        {"tags": "a"},
        {"tags": [1]},
        {"source": {}},
        [],
        {"extensions": {}},
    ],
)
def test_an_edit_of_another_form_is_refused(client: Client, content: Any) -> None:
    target = f"/v1/characters/{imported(client)['character']['id']}"
    before = client.get(target).json
    assert client.patch(target, content).error == INVALID
    assert client.get(target).json == before


def test_the_book_inside_a_card_is_replaced(client: Client) -> None:
    target = f"/v1/characters/{imported(client)['character']['id']}"
    book = {"name": "Inside", "entries": [{"keys": ["bell"], "content": "It rings.", "own": 1}]}
    reply = client.patch(target + "/world-book", {"characterBook": book})
    assert reply.json["character"]["data"]["characterBook"] == book
    assert client.get(target + "/json").json["data"]["character_book"] == book
    wrongs: tuple[object, ...] = (
        {},
        {"characterBook": {}},
        {"characterBook": {"entries": [7]}},
    )
    for wrong in wrongs:
        assert client.patch(target + "/world-book", wrong).error == INVALID
    too_large = client.send(
        "PATCH",
        target + "/world-book",
        pieces=[],
        headers={"content-length": str(4 * 1024 * 1024 + 1)},
    )
    assert too_large.error == (413, "CHARACTER_WORLD_BOOK_TOO_LARGE")


def test_scripts_and_books_of_a_character_are_replaced_whole(client: Client) -> None:
    character_id = imported(client)["character"]["id"]
    target = f"/v1/characters/{character_id}"
    scripts = [{"scriptName": "a"}]
    assert client.put(target + "/regex-scripts", {"regexScripts": scripts}).json == {
        "ok": True,
        "regexScripts": scripts,
    }
    assert client.get(target + "/regex-scripts").json["regexScripts"] == scripts
    book = client.post("/v1/world-books", {"name": "One"}).json["worldBook"]["id"]
    binding = {"characterCardId": character_id, "worldBookIds": [book]}
    reply = client.put(target + "/world-books", {"worldBookIds": [book]})
    assert reply.json == {"ok": True, "binding": binding}
    assert client.get(target + "/world-books").json == {"ok": True, "binding": binding}
    gone = client.put(target + "/world-books", {"worldBookIds": ["gone"]})
    assert gone.error == (404, "WORLD_BOOK_NOT_FOUND")


@pytest.mark.parametrize("suffix", ["", "/json", "/png", "/regex-scripts", "/world-books"])
def test_a_character_that_is_not_there_is_not_found(client: Client, suffix: str) -> None:
    assert client.get(f"/v1/characters/gone{suffix}").error == NOT_FOUND
    assert client.get(f"/v1/characters/..{suffix}").status in (400, 404)


def test_a_deleted_character_is_missing_and_comes_back_with_its_file(client: Client) -> None:
    first = imported(client)["character"]
    client.post("/v1/character-selection", {"sessionId": "s-1", "characterCardId": first["id"]})
    client.post("/v1/session-templates", {"name": "Night", "sourceSessionId": "s-1"})
    assert client.delete(f"/v1/characters/{first['id']}").json == {"ok": True}
    assert client.get(f"/v1/characters/{first['id']}").error == NOT_FOUND
    missing = client.get("/v1/characters").json["missingCharacters"]
    assert missing == [{"id": first["id"], "name": first["name"], "sha256": first["sha256"]}]
    selected = client.get("/v1/character-selection?sessionId=s-1").json
    assert selected == {"ok": True, "selection": None, "character": None}
    back = imported(client)
    assert back["recovery"] == {
        "previousId": first["id"],
        "characterId": back["character"]["id"],
        "match": "sha256",
        "restored": True,
        "relinkedPlaythroughCount": 0,
        "relinkedSessionCount": 0,
        "relinkedTemplateCount": 1,
    }
    assert client.get("/v1/characters").json["missingCharacters"] == []
    template = client.get("/v1/session-templates").json["templates"][0]
    assert template["selection"]["characterCardId"] == back["character"]["id"]
    assert template["diagnostics"] == []


def test_a_character_of_the_same_name_comes_back_only_if_it_is_the_only_one(
    client: Client,
) -> None:
    [first] = named(client, "Odo")
    client.delete(f"/v1/characters/{first}")
    again = imported(client, card(" ODO ", description="another file"))
    assert again["recovery"]["match"] == "name"
    two = named(client, "Ilse", "Ilse")
    for character_id in two:
        client.delete(f"/v1/characters/{character_id}")
    assert "recovery" not in imported(client, card("Ilse", description="another"))


def test_a_missing_character_is_relinked_by_hand(client: Client) -> None:
    first, second = named(client, "Odo", "Maren")
    client.post("/v1/character-selection", {"sessionId": "s-1", "characterCardId": first})
    client.post("/v1/session-templates", {"name": "Night", "sourceSessionId": "s-1"})
    client.delete(f"/v1/characters/{first}")
    body = {"previousCharacterId": first, "characterId": second}
    assert client.post("/v1/characters/relink", body).json == {
        "ok": True,
        "relinkedPlaythroughCount": 0,
        "relinkedSessionCount": 0,
        "relinkedTemplateCount": 1,
    }
    assert client.get("/v1/characters").json["missingCharacters"] == []
    gone = {"previousCharacterId": first, "characterId": "gone"}
    assert client.post("/v1/characters/relink", gone).error == NOT_FOUND
    for wrong in ({}, {**body, "more": 1}, {**body, "characterId": ""}):
        assert client.post("/v1/characters/relink", wrong).error == INVALID


def test_the_list_is_ordered_as_wanted(scene: HttpScene) -> None:
    client = scene.client
    ids = dict(zip("bac", named(client, "b10", "A", "b9"), strict=True))
    by_name = client.put("/v1/characters/order", {"mode": "name"}).json
    assert [one["name"] for one in by_name["characters"]] == ["A", "b9", "b10"]
    assert by_name["sorting"] == {"mode": "name"}
    arranged = [ids["b"], ids["c"], ids["a"]]
    client.put("/v1/characters/order", {"mode": "custom", "characterIds": arranged})
    assert order(client) == ["b10", "b9", "A"]
    client.put("/v1/characters/order", {"mode": "updated"})
    named(client, "new")
    client.put("/v1/characters/order", {"mode": "custom"})
    assert order(client) == ["b10", "b9", "A", "new"]
    named(client, "newer")
    assert order(client)[-1] == "newer"
    client.delete(f"/v1/characters/{ids['c']}")
    assert order(client) == ["b10", "A", "new", "newer"]
    state = json.loads((scene.folder / "character-state.json").read_bytes())
    assert state["characterSortMode"] == "custom"


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"mode": "random"},
        {"mode": "name", "characterIds": []},
        {"mode": "custom", "characterIds": ["gone"]},
        {"mode": "custom", "characterIds": []},
        {"mode": "custom", "characterIds": "x"},
        {"mode": "custom", "more": 1},
    ],
)
def test_an_order_that_is_none_is_refused(client: Client, content: Any) -> None:
    named(client, "Odo")
    before = client.get("/v1/characters").json
    assert client.put("/v1/characters/order", content).error == INVALID
    assert client.get("/v1/characters").json == before


def test_an_order_names_each_character_once(client: Client) -> None:
    [one, _] = named(client, "Odo", "Maren")
    content = {"mode": "custom", "characterIds": [one, one]}
    assert client.put("/v1/characters/order", content).error == INVALID


def test_a_session_gets_a_character_with_its_options(client: Client) -> None:
    character_id = imported(client, card("Odo", alternate_greetings=["x"]))["character"]["id"]
    body = {
        "sessionId": "s-1",
        "characterCardId": character_id,
        "character": {"greetingIndex": 1, "preferCharacterSystemPrompt": False},
    }
    answer = {
        "ok": True,
        "selection": {
            "characterCardId": character_id,
            "character": {
                "greetingIndex": 1,
                "preferCharacterSystemPrompt": False,
                "preferCharacterPostHistory": True,
            },
        },
        "character": {
            "id": character_id,
            "name": "Odo",
            "sourceFormat": "sillytavern-v2",
            "specVersion": "2.0",
        },
    }
    assert client.post("/v1/character-selection", body).json == answer
    assert client.get("/v1/character-selection?sessionId=s-1").json == answer
    # What is left out is default again.
    body = {"sessionId": "s-1", "characterCardId": character_id}
    chosen = client.post("/v1/character-selection", body).json["selection"]["character"]
    assert chosen == {
        "greetingIndex": 0,
        "preferCharacterSystemPrompt": True,
        "preferCharacterPostHistory": True,
    }
    none = client.post("/v1/character-selection", {"sessionId": "s-1", "characterCardId": None})
    assert none.json == {"ok": True, "selection": None, "character": None}


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"characterCardId": None}, INVALID),
        ({"sessionId": "s-1"}, INVALID),
        ({"sessionId": "", "characterCardId": None}, INVALID),
        ({"sessionId": "s-1", "characterCardId": "gone"}, NOT_FOUND),
        ({"sessionId": "s-1", "characterCardId": "a/b"}, INVALID),
        ({"sessionId": "s-1", "characterCardId": None, "character": []}, INVALID),
    ],
)
def test_what_cannot_be_bound_is_refused(
    client: Client, content: Any, error: tuple[int, str]
) -> None:
    assert client.post("/v1/character-selection", content).error == error


@pytest.mark.parametrize("index", [2, -1, 1.5, "1", True])
def test_a_greeting_that_is_not_there_is_refused(client: Client, index: Any) -> None:
    character_id = imported(client, card("Odo", alternate_greetings=["x"]))["character"]["id"]
    body = {
        "sessionId": "s-1",
        "characterCardId": character_id,
        "character": {"greetingIndex": index},
    }
    assert client.post("/v1/character-selection", body).error == INVALID


def test_binding_a_character_switches_rp_mode_on(client: Client) -> None:
    [character_id] = named(client, "Odo")
    client.post("/v1/character-selection", {"sessionId": "s-1", "characterCardId": character_id})
    rp = client.get("/v1/rp-mode?sessionId=s-1").json["rp"]
    assert (rp["active"], rp["source"]) == (True, "character-follow")
    client.post("/v1/character-selection", {"sessionId": "s-1", "characterCardId": None})
    assert client.get("/v1/rp-mode?sessionId=s-1").json["rp"]["active"] is False
