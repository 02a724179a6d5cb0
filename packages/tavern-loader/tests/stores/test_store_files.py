import json
import os
from pathlib import Path
from typing import Any

import pytest

from tavern_loader.adapters.json_file import DAMAGED_FOLDER
from tavern_loader.adapters.stores import storage_root
from tavern_loader.errors import (
    DamagedError,
    NotFoundError,
    RevisionConflictError,
    StoreError,
)
from tavern_loader.installation import Installation
from tavern_loader.store_ports import StateFile

USER = {"id": "ann", "name": "Ann", "description": ""}


def test_the_home_is_the_one_given_then_the_one_of_the_environment_then_the_usual(
    tmp_path: Path,
) -> None:
    environment = {"DSH_HOME": str(tmp_path)}
    assert storage_root(None, environment) == tmp_path / "pmp-dsh-tavern"
    assert storage_root("/other", environment) == Path("/other/pmp-dsh-tavern")
    usual = storage_root(None, {})
    assert usual == Path.home() / ".dsh" / "pmp-dsh-tavern"


def test_opening_and_reading_write_nothing(opened: Installation, root: Path) -> None:
    assert opened.stores.users.ids() == ()
    assert opened.stores.selections.read().document == {"schemaVersion": 2, "sessions": {}}
    assert not root.exists()


def test_a_document_is_found_by_its_id_with_the_revision_of_its_bytes(
    opened: Installation, root: Path
) -> None:
    kept = opened.stores.users.create("ann", USER)
    found = opened.stores.users.get("ann")
    assert found == kept
    assert found.document == USER
    assert json.loads((root / "users" / "ann.json").read_bytes()) == USER
    assert opened.stores.users.ids() == ("ann",)


def test_a_file_is_read_again_only_when_it_changed(opened: Installation, root: Path) -> None:
    opened.stores.users.create("ann", USER)
    first = opened.stores.users.get("ann")
    assert opened.stores.users.get("ann").document is first.document
    path = root / "users" / "ann.json"
    # Another process replaces the file.
    other = path.with_suffix(".other")
    other.write_text(json.dumps(USER | {"name": "Bo"}))
    other.replace(path)
    assert opened.stores.users.get("ann").document["name"] == "Bo"
    path.unlink()
    with pytest.raises(NotFoundError, match="USER_NOT_FOUND"):
        opened.stores.users.get("ann")


def test_an_id_in_use_is_refused(opened: Installation) -> None:
    opened.stores.users.create("ann", USER)
    with pytest.raises(StoreError, match="USER_ID_EXISTS"):
        opened.stores.users.create("ann", USER)


@pytest.mark.parametrize("document_id", ["", "../ann", "a/b", "a.b", "x" * 101, "ä", "a\n"])
def test_an_id_cannot_lead_out_of_the_folder(opened: Installation, document_id: str) -> None:
    with pytest.raises(NotFoundError, match="USER_ID_INVALID"):
        opened.stores.users.get(document_id)
    with pytest.raises(NotFoundError, match="USER_ID_INVALID"):
        opened.stores.users.create(document_id, USER)


def test_a_change_sees_what_is_kept_and_not_what_others_hold(opened: Installation) -> None:
    opened.stores.users.create("ann", USER)
    held = opened.stores.users.get("ann")

    def rename(document: dict[str, Any]) -> dict[str, Any]:
        document["name"] = "Ann B."
        return document

    after = opened.stores.users.change("ann", rename)
    assert (held.document["name"], after.document["name"]) == ("Ann", "Ann B.")
    assert opened.stores.users.get("ann") == after


def test_a_change_to_something_newer_than_the_caller_saw_is_refused(opened: Installation) -> None:
    seen = opened.stores.users.create("ann", USER).revision
    opened.stores.users.change("ann", lambda found: found | {"name": "B"}, expected=seen)
    with pytest.raises(RevisionConflictError, match="REVISION_CONFLICT"):
        opened.stores.users.change("ann", lambda found: found | {"name": "C"}, expected=seen)
    assert opened.stores.users.get("ann").document["name"] == "B"


def test_a_state_file_has_revisions_too(opened: Installation) -> None:
    file = opened.stores.preset_state
    seen = file.read().revision
    file.change(lambda state: state | {"selectedId": "a"}, expected=seen)
    with pytest.raises(RevisionConflictError):
        file.change(lambda state: state | {"selectedId": "b"}, expected=seen)
    assert file.read().document["selectedId"] == "a"


def test_a_change_that_changes_nothing_writes_nothing(opened: Installation, root: Path) -> None:
    opened.stores.preset_state.change(lambda state: state)
    assert not (root / "state.json").exists()


def test_a_change_that_fails_changes_nothing(opened: Installation) -> None:
    opened.stores.users.create("ann", USER)

    def fail(_: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        opened.stores.users.change("ann", fail)
    assert opened.stores.users.get("ann").document == USER


def test_blobs_are_kept_beside_documents(opened: Installation, root: Path) -> None:
    covers = opened.stores.character_covers
    assert covers.get("a") is None
    covers.put("a", b"\x89PNG")
    assert (covers.get("a"), (root / "character-artifacts" / "a.bin").exists()) == (
        b"\x89PNG",
        True,
    )
    assert (covers.delete("a"), covers.delete("a")) == (True, False)


STATES = {
    "state.json": ("preset_state", "PRESET_STATE"),
    "character-state.json": ("character_state", "CHARACTER_STATE"),
    "session-selections.json": ("selections", "SESSION_SELECTION"),
    "user-world-book-bindings.json": ("user_books", "USER_WORLD_BOOK_BINDING"),
    "resource-world-book-bindings.json": ("resource_books", "RESOURCE_WORLD_BOOK_BINDING"),
    "session-templates.json": ("templates", "SESSION_TEMPLATE"),
    "loader-extras.json": ("extras", "LOADER_EXTRAS"),
}


def state(opened: Installation, name: str) -> StateFile:
    found: StateFile = getattr(opened.stores, STATES[name][0])
    return found


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("data", [b"{", b"[]", b'{"schemaVersion": 99}', b'{"sessions": {}}'])
def test_a_damaged_state_file_is_reported_kept_aside_and_never_written_over(
    opened: Installation, root: Path, name: str, data: bytes
) -> None:
    root.mkdir()
    (root / name).write_bytes(data)
    for _ in range(2):
        with pytest.raises(DamagedError) as raised:
            state(opened, name).read()
    assert raised.value.code == f"{STATES[name][1]}_FILE_INVALID"
    assert raised.value.file == name
    with pytest.raises(DamagedError):
        state(opened, name).change(lambda found: found | {"x": 1})
    assert (root / name).read_bytes() == data
    (copy,) = (root / DAMAGED_FOLDER).iterdir()
    assert raised.value.kept_as == f"{DAMAGED_FOLDER}/{copy.name}"
    assert copy.read_bytes() == data
    # Once it is out of the way, everything goes on.
    (root / name).unlink()
    state(opened, name).change(lambda found: found | {"x": 1})


@pytest.mark.parametrize("name", STATES)
def test_a_state_file_that_is_too_large_is_not_even_read(
    opened: Installation, root: Path, name: str
) -> None:
    root.mkdir()
    with (root / name).open("wb") as stream:
        stream.truncate(17 * 1024 * 1024)
    with pytest.raises(StoreError) as raised:
        state(opened, name).read()
    assert raised.value.code == f"{STATES[name][1]}_FILE_TOO_LARGE"


def test_a_state_file_does_not_grow_over_its_limit(opened: Installation) -> None:
    file = opened.stores.templates
    before = file.read()
    with pytest.raises(StoreError, match="SESSION_TEMPLATE_STORAGE_LIMIT_REACHED"):
        file.change(lambda found: found | {"x": "x" * 600_000})
    assert file.read() == before


def test_a_damaged_document_is_reported_and_can_be_deleted(
    opened: Installation, root: Path
) -> None:
    opened.stores.users.create("ann", USER)
    path = root / "users" / "ann.json"
    path.write_bytes(b'{"id": "ann"')
    with pytest.raises(DamagedError, match="USER_DOCUMENT_INVALID"):
        opened.stores.users.get("ann")
    with pytest.raises(DamagedError):
        opened.stores.users.change("ann", lambda found: found)
    with pytest.raises(StoreError, match="USER_ID_EXISTS"):
        opened.stores.users.create("ann", USER)
    assert [found.name for found in (root / DAMAGED_FOLDER).iterdir()] == [
        "users.ann.json." + opened_digest(path)
    ]
    assert opened.stores.users.delete("ann")
    assert opened.stores.users.ids() == ()


def opened_digest(path: Path) -> str:
    from tavern_loader.adapters.atomic_json import digest

    return digest(path.read_bytes())[:8]


@pytest.mark.parametrize(
    ("folder", "document", "field"),
    [
        ("presets", {"schemaVersion": 1, "name": "x"}, "prompts"),
        ("presets", {"schemaVersion": 2, "name": "x", "prompts": []}, "schemaVersion"),
        ("presets", {"schemaVersion": True, "name": "x", "prompts": []}, "schemaVersion"),
        ("characters", {"schemaVersion": 1, "id": "a", "name": "x", "updatedAt": ""}, "source"),
        ("users", {"id": "a"}, "name"),
    ],
)
def test_a_document_of_another_shape_is_damaged(
    opened: Installation, root: Path, folder: str, document: dict[str, Any], field: str
) -> None:
    (root / folder).mkdir(parents=True)
    (root / folder / "a.json").write_text(json.dumps(document))
    store = getattr(opened.stores, folder)
    with pytest.raises(DamagedError, match=field):
        store.get("a")


def test_what_cannot_be_read_at_all_has_a_code(opened: Installation, root: Path) -> None:
    (root / "users" / "ann.json").mkdir(parents=True)
    with pytest.raises(StoreError, match="STORE_UNREADABLE"):
        opened.stores.users.get("ann")


def test_what_cannot_be_written_has_a_code(
    opened: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened.stores.exclusive():  # the lock is not what this is about
        monkeypatch.setattr(os, "open", refuse)
        with pytest.raises(StoreError, match=r"STORE_UNWRITABLE.*Permission denied"):
            opened.stores.users.create("ann", USER)
    assert opened.stores.users.ids() == ()


def refuse(*_: object, **__: object) -> int:
    raise PermissionError(13, "Permission denied")


def test_left_over_files_of_a_writer_that_died_are_no_documents(
    opened: Installation, root: Path
) -> None:
    opened.stores.users.create("ann", USER)
    (root / "users" / "ann.json.1.abc.tmp").write_bytes(b"half")
    (root / "users" / "not an id.json").write_bytes(b"{}")
    assert opened.stores.users.ids() == ("ann",)
