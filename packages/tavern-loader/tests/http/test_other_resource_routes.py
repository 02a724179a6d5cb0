"""World books and users over HTTP, and which of them a session has."""

import hashlib
import json
from typing import Any

import pytest

from tests.http_scene import CARD, WORLD, Client, HttpScene

WRONG_BOOK = (400, "INVALID_WORLD_BOOK_REQUEST")
NO_BOOK = (404, "WORLD_BOOK_NOT_FOUND")
WRONG_USER = (400, "INVALID_USER_REQUEST")
NO_USER = (404, "USER_NOT_FOUND")


def book(client: Client, data: bytes = WORLD, filename: str = "River.json") -> dict[str, Any]:
    reply = client.send("POST", f"/v1/world-books/import?filename={filename}", data=data)
    assert reply.status == 201, reply.json
    document: dict[str, Any] = reply.json["worldBook"]
    return document


def user(client: Client, **content: Any) -> dict[str, Any]:
    reply = client.post("/v1/users", {"name": "Ilse", **content})
    assert reply.status == 201, reply.json
    document: dict[str, Any] = reply.json["user"]
    return document


def test_a_book_is_imported_listed_read_and_saved(client: Client) -> None:
    document = book(client)
    target = f"/v1/world-books/{document['id']}"
    assert document["id"].startswith("world-book-")
    assert client.get(target).json == {"ok": True, "worldBook": document}
    [line] = client.get("/v1/world-books").json["worldBooks"]
    entries = document["book"]["entries"]
    assert line == {
        "id": document["id"],
        "name": document["name"],
        "description": document["book"]["description"],
        "createdAt": document["createdAt"],
        "updatedAt": document["updatedAt"],
        "sourceFormat": "sillytavern-world-info",
        "fileName": "River.json",
        "byteLength": len(WORLD),
        "sha256": hashlib.sha256(WORLD).hexdigest(),
        "entryCount": len(entries),
        "enabledEntryCount": sum(one["enabled"] for one in entries),
        "warningCount": 0,
    }
    saved = client.get(target + "/json")
    assert saved.json["entries"] == json.loads(WORLD)["entries"]
    assert saved.headers["etag"] == f'"sha256-{hashlib.sha256(saved.body).hexdigest()}"'


@pytest.mark.parametrize("data", [b"", b"{", b"[]", CARD, b'{"entries": 7}', b"\xff"])
def test_what_is_no_book_is_not_imported(client: Client, data: bytes) -> None:
    reply = client.send("POST", "/v1/world-books/import", data=data)
    assert reply.status == 400
    assert sorted(reply.json["error"]) == ["code", "message"]
    assert client.get("/v1/world-books").json["worldBooks"] == []


def test_a_book_that_is_too_large_is_not_read(client: Client) -> None:
    headers = {"content-length": str(4 * 1024 * 1024 + 1)}
    reply = client.send("POST", "/v1/world-books/import", pieces=[], headers=headers)
    assert reply.error == (413, "WORLD_BOOK_ARTIFACT_TOO_LARGE")


def test_a_new_book_has_no_entries(client: Client) -> None:
    reply = client.post("/v1/world-books", {"name": "Harbour"})
    assert reply.status == 201
    assert (reply.json["worldBook"]["name"], reply.json["worldBook"]["book"]["entries"]) == (
        "Harbour",
        [],
    )
    untitled = client.post("/v1/world-books", {}).json["worldBook"]["name"]
    assert untitled == "Untitled world book"
    assert client.post("/v1/world-books", {"name": []}).error == WRONG_BOOK


def test_a_book_is_edited_on_the_revision_that_was_seen(client: Client) -> None:
    document = book(client)
    target = f"/v1/world-books/{document['id']}"
    seen = client.get(target).headers["etag"]
    entries = [{**document["book"]["entries"][0], "content": "changed"}]
    edit = {"book": {"name": "Estuary", "entries": entries}}
    reply = client.patch(target, edit, headers={"if-match": seen})
    assert reply.json["worldBook"]["name"] == "Estuary"
    assert [one["content"] for one in reply.json["worldBook"]["book"]["entries"]] == ["changed"]
    late = client.patch(target, {"name": "x"}, headers={"if-match": seen})
    assert late.error == (412, "REVISION_CONFLICT")


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"name": 7},
        {"description": []},
        {"entries": {}},
        {"entries": [7]},
        {"entries": [{"uid": 0, "position": "moon"}]},
    ],
)
def test_an_edit_of_another_form_is_refused(client: Client, content: Any) -> None:
    target = f"/v1/world-books/{book(client)['id']}"
    before = client.get(target).json
    assert client.patch(target, content).error == WRONG_BOOK
    assert client.get(target).json == before


def test_a_deleted_book_is_gone_everywhere(client: Client) -> None:
    book_id = book(client)["id"]
    owner = user(client)["id"]
    client.post("/v1/world-book-selection", {"sessionId": "s-1", "worldBookIds": [book_id]})
    client.put(f"/v1/users/{owner}/world-books", {"worldBookIds": [book_id]})
    assert client.delete(f"/v1/world-books/{book_id}").json == {"ok": True}
    assert client.get("/v1/world-book-selection?sessionId=s-1").json["worldBooks"] == []
    bound = client.get(f"/v1/users/{owner}/world-books").json["binding"]
    assert bound == {"userId": owner, "worldBookIds": []}
    for reply in (
        client.get(f"/v1/world-books/{book_id}"),
        client.get(f"/v1/world-books/{book_id}/json"),
        client.patch(f"/v1/world-books/{book_id}", {"name": "x"}),
        client.delete(f"/v1/world-books/{book_id}"),
    ):
        assert reply.error == NO_BOOK


def test_a_session_gets_books_in_order_and_once(scene: HttpScene) -> None:
    client = scene.client
    first, second = book(client)["id"], book(client, filename="Other.json")["id"]
    body = {"sessionId": "s-1", "worldBookIds": [second, first, second]}
    reply = client.post("/v1/world-book-selection", body)
    assert reply.json["selection"] == {"worldBookIds": [second, first]}
    assert [one["id"] for one in reply.json["worldBooks"]] == [second, first]
    (scene.folder / "world-books" / f"{first}.json").unlink()
    lines = client.get("/v1/world-book-selection?sessionId=s-1").json["worldBooks"]
    assert lines[1] == {"id": first, "missing": True}


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"sessionId": "s-1"}, WRONG_BOOK),
        ({"worldBookIds": []}, WRONG_BOOK),
        ({"sessionId": "s-1", "worldBookIds": ["gone"]}, NO_BOOK),
        ({"sessionId": "s-1", "worldBookIds": ["a/b"]}, WRONG_BOOK),
        ({"sessionId": "s-1", "worldBookIds": ["a"] * 101}, WRONG_BOOK),
        ({"sessionId": "s/1", "worldBookIds": []}, WRONG_BOOK),
    ],
)
def test_books_that_cannot_be_bound_are_refused(
    client: Client, content: Any, error: tuple[int, str]
) -> None:
    assert client.post("/v1/world-book-selection", content).error == error


def test_a_user_is_made_listed_read_changed_and_deleted(client: Client) -> None:
    made = user(client, description="A map maker.")
    target = f"/v1/users/{made['id']}"
    assert made == {"id": made["id"], "name": "Ilse", "description": "A map maker."}
    user(client, name="Aya", id="own-id")
    assert [one["name"] for one in client.get("/v1/users").json["users"]] == ["Aya", "Ilse"]
    seen = client.get(target).headers["etag"]
    reply = client.patch(target, {"description": ""}, headers={"if-match": seen})
    assert reply.json["user"] == {**made, "description": ""}
    late = client.patch(target, {"name": "x"}, headers={"if-match": seen})
    assert late.error == (412, "REVISION_CONFLICT")
    stale = client.delete(target, headers={"if-match": seen})
    assert stale.error == (412, "REVISION_CONFLICT")
    assert client.delete(target).json == {"ok": True}
    for gone in (client.get(target), client.patch(target, {"name": "x"}), client.delete(target)):
        assert gone.error == NO_USER


def test_an_id_is_given_once(client: Client) -> None:
    user(client, id="own-id")
    again = client.post("/v1/users", {"name": "Aya", "id": "own-id"})
    assert again.error == (409, "USER_ID_EXISTS")


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"name": ""},
        {"name": "  "},
        {"name": "a\nb"},
        {"name": "a\x7fb"},
        {"name": "n" * 201},
        {"name": 7},
        {"name": "Ilse", "description": "d" * 100_001},
        {"name": "Ilse", "description": None},
        {"name": "Ilse", "id": "a/b"},
        {"name": "Ilse", "more": 1},
        [],
    ],
)
def test_what_is_no_user_is_refused(client: Client, content: Any) -> None:
    assert client.post("/v1/users", content).error == WRONG_USER
    assert client.get("/v1/users").json["users"] == []


def test_a_description_may_be_long(client: Client) -> None:
    assert len(user(client, description="d" * 100_000)["description"]) == 100_000


def test_a_body_about_a_user_that_is_too_large_is_not_read(client: Client) -> None:
    headers = {"content-length": str(256 * 1024 + 1)}
    reply = client.send("POST", "/v1/users", pieces=[], headers=headers)
    assert reply.error == (413, "USER_BODY_TOO_LARGE")


def test_a_session_gets_a_user(client: Client) -> None:
    made = user(client)
    reply = client.post("/v1/user-selection", {"sessionId": "s-1", "userId": made["id"]})
    answer = {"ok": True, "selection": {"userId": made["id"]}, "user": made}
    assert reply.json == answer
    assert client.get("/v1/user-selection?sessionId=s-1").json == answer
    none = client.post("/v1/user-selection", {"sessionId": "s-1", "userId": None})
    assert none.json == {"ok": True, "selection": None, "user": None}
    for content, error in (
        ({"sessionId": "s-1"}, WRONG_USER),
        ({"userId": None}, WRONG_USER),
        ({"sessionId": "s-1", "userId": "gone"}, NO_USER),
        ({"sessionId": "s-1", "userId": 7}, WRONG_USER),
    ):
        assert client.post("/v1/user-selection", content).error == error
    assert client.get("/v1/user-selection").error == WRONG_USER


def test_half_a_surrogate_pair_in_a_name_comes_back(client: Client) -> None:
    reply = client.send("POST", "/v1/users", data=b'{"name": "a\\ud800"}')
    assert reply.json["user"]["name"] == "a\ud800"
    listed = client.get("/v1/users")
    assert b'"name":"a\\ud800"' in listed.body
