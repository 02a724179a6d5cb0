"""What is refused because there would be too much of it, or because somebody else is writing."""

import json

import pytest
from filelock import FileLock

from tavern_loader.adapters.atomic_json import LOCK_FILE
from tests.http_scene import Client, HttpScene


def test_a_card_whose_document_would_be_too_large_is_refused(client: Client) -> None:
    data = {"name": "Odo", "description": "d" * 9_000_000, "first_mes": "x"}
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    reply = client.send("POST", "/v1/characters/import", data=json.dumps(card).encode())
    assert reply.error == (413, "CHARACTER_DOCUMENT_TOO_LARGE")
    assert client.get("/v1/characters").json["characters"] == []


def test_templates_that_would_be_too_large_together_are_refused(client: Client) -> None:
    selection = {"kept": "k" * 60_000}
    statuses = []
    for number in range(9):
        content = {"name": f"n{number}", "sourceSessionId": "s-1"}
        made = client.post("/v1/session-templates", content).json["template"]["id"]
        reply = client.patch(f"/v1/session-templates/{made}", {"selection": selection})
        statuses.append(reply.status)
    assert statuses == [200] * 8 + [413]
    assert reply.error == (413, "SESSION_TEMPLATE_STORAGE_LIMIT_REACHED")


def test_one_session_too_many_is_refused(scene: HttpScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tavern_loader.domain.session_selections.MAX_SESSIONS", 2)
    client = scene.client
    book = client.post("/v1/world-books", {"name": "B"}).json["worldBook"]["id"]
    replies = [
        client.post("/v1/world-book-selection", {"sessionId": f"s-{n}", "worldBookIds": [book]})
        for n in range(3)
    ]
    assert [one.status for one in replies] == [200, 200, 409]
    assert replies[2].error == (409, "SESSION_SELECTION_LIMIT_REACHED")
    source = {"mode": "current", "sessionId": "s-0"}
    body = {"targetSessionId": "s-9", "source": source}
    applied = client.post("/v1/session-configurations/apply", body)
    assert applied.error == (409, "SESSION_SELECTION_LIMIT_REACHED")


@pytest.mark.parametrize(
    ("name", "make", "owners", "code"),
    [
        ("MAX_USERS", ("/v1/users", "user"), "users", "USER"),
        ("MAX_RESOURCES", ("/v1/presets", "preset"), "presets", "RESOURCE"),
        ("MAX_RESOURCES", ("/v1/characters", "character"), "characters", "RESOURCE"),
    ],
)
def test_books_of_one_owner_too_many_are_refused(  # noqa: PLR0913 - a row of the table
    scene: HttpScene,
    monkeypatch: pytest.MonkeyPatch,
    *,
    name: str,
    make: tuple[str, str],
    owners: str,
    code: str,
) -> None:
    monkeypatch.setattr(f"tavern_loader.domain.bindings.{name}", 1)
    client = scene.client
    book = client.post("/v1/world-books", {"name": "B"}).json["worldBook"]["id"]
    target, key = make
    ids = [client.post(target, {"name": "n"}).json[key]["id"] for _ in range(2)]
    first, second = (
        client.put(f"/v1/{owners}/{one}/world-books", {"worldBookIds": [book]}) for one in ids
    )
    assert first.status == 200
    assert second.error == (409, f"{code}_WORLD_BOOK_BINDING_LIMIT_REACHED")


@pytest.mark.parametrize(
    ("file", "kept", "size_bytes", "code"),
    [
        (
            "user-world-book-bindings.json",
            {"bindings": {}},
            2 * 1024 * 1024,
            "USER_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED",
        ),
        (
            "resource-world-book-bindings.json",
            {"bindings": {"preset": {}, "character": {}}},
            4 * 1024 * 1024,
            "RESOURCE_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED",
        ),
        (
            "session-selections.json",
            {"sessions": {}},
            4 * 1024 * 1024,
            "SESSION_SELECTION_STORAGE_LIMIT_REACHED",
        ),
    ],
)
def test_a_file_that_is_full_takes_no_more(
    scene: HttpScene, file: str, kept: dict[str, object], size_bytes: int, code: str
) -> None:
    version = 2 if "sessions" in kept else 1
    full = json.dumps({"schemaVersion": version, **kept, "filling": "f" * (size_bytes - 120)})
    (scene.folder / file).write_text(full, encoding="utf-8")
    client = scene.client
    book = client.post("/v1/world-books", {"name": "B"}).json["worldBook"]["id"]
    user = client.post("/v1/users", {"name": "Ilse"}).json["user"]["id"]
    preset = client.post("/v1/presets", {"name": "P"}).json["preset"]["id"]
    books = {"worldBookIds": [book]}
    replies = {
        "USER": client.put(f"/v1/users/{user}/world-books", books),
        "RESOURCE": client.put(f"/v1/presets/{preset}/world-books", books),
        "SESSION": client.post("/v1/world-book-selection", {"sessionId": "s-1", **books}),
    }
    for name, reply in replies.items():
        if code.startswith(name):
            assert reply.error == (413, code)
        else:
            assert reply.status == 200
    assert (scene.folder / file).read_text("utf-8") == full


def test_while_another_process_writes_a_change_is_refused_and_a_read_is_not(
    scene: HttpScene,
) -> None:
    scene.client.post("/v1/users", {"name": "Ilse"})
    scene.installation.storage.lock._file.timeout = 0.05
    with FileLock(scene.folder / LOCK_FILE):
        assert scene.client.post("/v1/users", {"name": "Aya"}).error == (503, "STORE_BUSY")
        assert len(scene.client.get("/v1/users").json["users"]) == 1
        source = {"mode": "current", "sessionId": "s-1"}
        looked_at = scene.client.post("/v1/session-configurations/preview", {"source": source})
        assert looked_at.status == 200
    assert scene.client.post("/v1/users", {"name": "Aya"}).status == 201


def test_a_folder_that_cannot_be_written_is_said_without_its_path(
    scene: HttpScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tavern_loader.adapters.atomic_json._write_new", full)
    reply = scene.client.post("/v1/users", {"name": "Ilse"})
    assert reply.error == (500, "STORE_UNWRITABLE")
    assert str(scene.folder).encode() not in reply.body
    assert scene.client.get("/v1/users").json["users"] == []
