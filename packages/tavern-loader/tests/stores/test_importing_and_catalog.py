import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tavern_format import CharacterCard, dump_card_charx, dump_card_png, parse_card
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import InputError, NotFoundError, StoreError
from tavern_loader.installation import Installation
from tavern_loader.service import making
from tavern_loader.service.catalog import Form
from tavern_loader.service.reading import SourceFile

Keep = Callable[[str], str]


def as_file(value: Any, name: str = "x.json") -> SourceFile:
    return SourceFile(name=name, data=json.dumps(value).encode())


# --- import ----------------------------------------------------------------------------------


def test_each_file_is_known_and_kept_as_what_it_is(
    opened: Installation, files: dict[str, SourceFile]
) -> None:
    told = {
        name: opened.importing.take(file) for name, file in files.items() if name != "plain-card"
    }
    assert {
        name: (file.detected, file.container, [(one.kind, one.name) for one in file.resources])
        for name, file in told.items()
    } == {
        "preset": ("chat-completion-preset", "text", [(Kind.PRESET, "Plain")]),
        "character": ("character-card", "text", [(Kind.CHARACTER, "Maren")]),
        "picture": ("character-card", "png", [(Kind.CHARACTER, "Nell")]),
        "world-book": ("world-book", "text", [(Kind.WORLD_BOOK, "River")]),
        "personas": ("personas", "text", [(Kind.USER, "Ann")]),
    }
    ids = {name: file.resources[0].id for name, file in told.items()}
    assert ids["world-book"].startswith("world-book-")
    assert len(ids["world-book"]) == len("world-book-") + 16
    assert ids["personas"].startswith("user-")


def test_a_picture_is_kept_without_its_card_and_the_card_without_its_picture(
    opened: Installation, root: Path, keep: Keep
) -> None:
    character = keep("picture")
    cover = (root / "character-artifacts" / f"{character}.bin").read_bytes()
    assert cover.startswith(b"\x89PNG")
    assert b"tEXt" not in cover
    source = opened.stores.characters.get(character).document["source"]
    assert (source["container"], source["pngKeyword"]) == ("png", "ccv3")


def test_an_archive_is_kept_whole_beside_its_card(opened: Installation) -> None:
    files = {"assets/icon/image/main.png": dump_card_png(CharacterCard()), "notes.txt": b"n"}
    data = dump_card_charx(CharacterCard(name="Otto"), files=files)
    file = SourceFile(name="Otto.charx", data=data)
    character = opened.importing.take(file).resources[0].id
    exported = opened.catalog.exported(Kind.CHARACTER, character, Form.ORIGINAL)
    assert (exported.name, exported.data) == ("Otto.charx", data)
    assert opened.catalog.delete(Kind.CHARACTER, character)
    assert opened.stores.character_originals.get(character) is None


def test_a_book_of_another_application_is_converted(opened: Installation) -> None:
    risu = {"type": "risu", "data": [{"key": "boat", "content": "C", "insertorder": 5}]}
    told = opened.importing.take(as_file(risu, "Boats.json"))
    document = opened.stores.world_books.get(told.resources[0].id).document
    assert document["book"]["entries"][0]["keys"] == ["boat"]
    assert document["book"]["source"]["format"] == "sillytavern-world-info"
    assert document["name"] == "Boats"


def test_a_user_that_was_handed_out_comes_back_whole(opened: Installation) -> None:
    user = opened.importing.new_user("Ann", "A courier.")
    opened.stores.users.change(user.id, lambda held: {**held, "avatar": {"kind": "x"}})
    exported = opened.catalog.exported(Kind.USER, user.id)
    assert json.loads(exported.data) == {
        "format": "pmp-dsh-tavern",
        "version": 1,
        "resourceType": "user",
        "data": {"name": "Ann", "description": "A courier.", "avatar": {"kind": "x"}},
    }
    again = opened.importing.take(SourceFile(name="Ann.json", data=exported.data))
    assert again.detected == "user"
    found = opened.stores.users.get(again.resources[0].id).document
    assert {key: value for key, value in found.items() if key != "id"} == {
        "name": "Ann",
        "description": "A courier.",
        "avatar": {"kind": "x"},
    }


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY_INPUT"),
        (b'{"name":', "JSON_TRUNCATED"),
        (b'{"name": 1} x', "JSON_SYNTAX"),
        (b"[" * 100_000, "LIMIT_EXCEEDED"),
        (b"[]", "NOT_KEPT"),
        (b"hello", "NOT_KEPT"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_reason(
    opened: Installation, data: bytes, code: str
) -> None:
    with pytest.raises(InputError) as raised:
        opened.importing.take(SourceFile(name="x.json", data=data))
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"user_name": "U", "character_name": "C", "chat_metadata": {}}, "NOT_KEPT"),
        ({"hello": 1}, "NOT_KEPT"),
        (
            {"format": "pmp-dsh-tavern", "version": 1, "resourceType": "other", "data": {}},
            "NOT_KEPT",
        ),
        (
            {"format": "pmp-dsh-tavern", "version": 1, "resourceType": "user", "data": {}},
            "NOT_USABLE",
        ),
        ({"spec": "chara_card_v2", "data": []}, "DATA_TYPE"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_reason(
    opened: Installation, root: Path, value: Any, code: str
) -> None:
    with pytest.raises(InputError) as raised:
        opened.importing.take(as_file(value))
    assert (raised.value.code, raised.value.file) == (code, "x.json")
    assert not root.exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("preset", "PRESET_ARTIFACT_TOO_LARGE"),
        ("character", "ARTIFACT_TOO_LARGE"),
        ("world-book", "WORLD_BOOK_ARTIFACT_TOO_LARGE"),
    ],
)
def test_a_file_that_is_too_large_for_its_kind_is_refused(
    opened: Installation, files: dict[str, SourceFile], name: str, code: str
) -> None:
    _, limit = making._LIMITS[Kind(name)]
    padded = SourceFile(name="x.json", data=files[name].data.ljust(limit + 1))
    with pytest.raises(InputError) as raised:
        opened.importing.take(padded)
    assert raised.value.code == code
    fitting = SourceFile(name="x.json", data=files[name].data.ljust(limit))
    assert opened.importing.take(fitting).resources


def test_a_card_whose_document_would_be_too_large_leaves_nothing(
    opened: Installation, root: Path
) -> None:
    card = CharacterCard(name="Big", description="x" * (9 * 1024 * 1024))
    file = SourceFile(name="Big.png", data=dump_card_png(card))
    with pytest.raises(StoreError, match="CHARACTER_DOCUMENT_TOO_LARGE"):
        opened.importing.take(file)
    assert list((root / "character-artifacts").iterdir()) == []
    assert opened.stores.characters.ids() == ()


def test_a_new_character_joins_the_users_own_order(opened: Installation, keep: Keep) -> None:
    opened.stores.character_state.change(
        lambda state: {**state, "characterSortMode": "custom", "characterOrder": ["a"]}
    )
    character = keep("character")
    order = opened.stores.character_state.read().document["characterOrder"]
    assert order == ["a", character]


# --- list and find ---------------------------------------------------------------------------


def test_a_listing_is_sorted_by_name_and_tells_of_damage(
    opened: Installation, root: Path, keep: Keep
) -> None:
    first, second = keep("plain-card"), keep("character")
    damaged = keep("picture")
    (root / "characters" / f"{damaged}.json").write_bytes(b"")
    listing = opened.catalog.listing(Kind.CHARACTER)
    assert [(one.name, one.id, one.amount) for one in listing.summaries] == [
        ("Maren", second, 2),
        ("Otto", first, 1),
    ]
    assert [(one.source, one.diagnostic.code) for one in listing.problems] == [
        (damaged, "CHARACTER_DOCUMENT_INVALID")
    ]


def test_a_resource_is_found_by_id_name_or_the_beginning_of_its_id(
    opened: Installation, keep: Keep
) -> None:
    character, book = keep("character"), keep("world-book")
    for reference in (character, character[:8], "Maren", "maren"):
        assert opened.catalog.find(reference) == (Kind.CHARACTER, character)
    assert opened.catalog.find("River", Kind.WORLD_BOOK) == (Kind.WORLD_BOOK, book)
    for reference, kind in (("nobody", None), (character[:3], None), ("Maren", Kind.PRESET)):
        with pytest.raises(NotFoundError, match="RESOURCE_NOT_FOUND"):
            opened.catalog.find(reference, kind)
    keep("character")
    with pytest.raises(NotFoundError, match="RESOURCE_AMBIGUOUS"):
        opened.catalog.find("Maren")


# --- export ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["preset", "character", "world-book", "plain-card"])
def test_what_nobody_edited_is_handed_out_as_it_came(
    opened: Installation, files: dict[str, SourceFile], keep: Keep, name: str
) -> None:
    resource = keep(name)
    kind = Kind.CHARACTER if name == "plain-card" else Kind(name)
    exported = opened.catalog.exported(kind, resource)
    assert json.loads(exported.data) == json.loads(files[name].data)
    assert exported.media_type == "application/json"


def test_a_character_with_a_picture_is_handed_out_in_it(
    opened: Installation, files: dict[str, SourceFile], keep: Keep
) -> None:
    character = keep("picture")
    exported = opened.catalog.exported(Kind.CHARACTER, character)
    assert (exported.name, exported.media_type) == ("Nell.png", "image/png")
    before, after = parse_card(files["picture"].data).value, parse_card(exported.data).value
    assert after.raw == before.raw
    as_json = opened.catalog.exported(Kind.CHARACTER, character, Form.JSON)
    assert json.loads(as_json.data) == before.raw


def test_a_card_for_older_readers_has_no_text_for_newer_ones(
    opened: Installation, keep: Keep
) -> None:
    exported = opened.catalog.exported(Kind.CHARACTER, keep("character"), Form.PNG)
    assert (exported.data.count(b"tEXtchara"), exported.data.count(b"tEXtccv3")) == (1, 0)


def test_forms_a_resource_does_not_have_are_refused(opened: Installation, keep: Keep) -> None:
    with pytest.raises(ValueError, match="json only"):
        opened.catalog.exported(Kind.PRESET, keep("preset"), Form.PNG)
    with pytest.raises(StoreError, match="CHARACTER_ORIGINAL_NOT_FOUND"):
        opened.catalog.exported(Kind.CHARACTER, keep("character"), Form.ORIGINAL)


# --- edit and delete -------------------------------------------------------------------------


def test_an_edit_is_kept_with_its_time(opened: Installation, clock: Any, keep: Keep) -> None:
    character = keep("character")
    clock.at_ms += 1000
    after = opened.catalog.edit(Kind.CHARACTER, character, {"name": "Nora"})
    assert (after.document["name"], after.document["updatedAt"]) == (
        "Nora",
        "2026-01-02T03:04:06.006Z",
    )
    user = keep("personas")
    assert opened.catalog.edit(Kind.USER, user, {"description": "D"}).document == {
        "id": user,
        "name": "Ann",
        "description": "D",
    }


@pytest.mark.parametrize(
    "patch",
    [
        {"id": "x"},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 201},
        {"description": "x" * 100_001},
    ],
)
def test_a_user_cannot_become_what_the_plugin_refuses(
    opened: Installation, keep: Keep, patch: dict[str, Any]
) -> None:
    user = keep("personas")
    with pytest.raises(ValueError, match=r"."):
        opened.catalog.edit(Kind.USER, user, patch)
    assert opened.stores.users.get(user).document["name"] == "Ann"


def test_an_edited_card_must_fit(opened: Installation, keep: Keep) -> None:
    character = keep("character")
    with pytest.raises(StoreError, match="CHARACTER_DOCUMENT_TOO_LARGE"):
        opened.catalog.edit(Kind.CHARACTER, character, {"description": "x" * 9_000_000})
    big = {"entries": [{"content": "x" * (4 * 1024 * 1024)}]}
    with pytest.raises(StoreError, match="CHARACTER_WORLD_BOOK_TOO_LARGE"):
        opened.catalog.replace_embedded_book(character, big)


def test_a_deleted_resource_is_gone_from_everything_that_named_it(
    opened: Installation, keep: Keep
) -> None:
    preset, character, book = keep("preset"), keep("character"), keep("world-book")
    user = keep("personas")
    opened.catalog.select_preset(preset)
    opened.binding.bind_books(Owner.USER, user, [book])
    opened.binding.bind_books(Owner.CHARACTER, character, [book])
    bound = Selection(
        preset_id=preset, character_id=character, user_id=user, world_book_ids=(book,)
    )
    opened.library.set_selection("s", bound)
    for kind, one in (
        (Kind.WORLD_BOOK, book),
        (Kind.CHARACTER, character),
        (Kind.PRESET, preset),
        (Kind.USER, user),
    ):
        assert opened.catalog.delete(kind, one)
        assert not opened.catalog.delete(kind, one)
    assert opened.library.selection("s") == Selection()
    assert opened.stores.preset_state.read().document["selectedId"] is None
    assert opened.stores.user_books.read().document["bindings"] == {}
    assert opened.stores.resource_books.read().document["bindings"] == {
        "preset": {},
        "character": {},
    }
    (missing,) = opened.stores.character_state.read().document["missingCharacters"]
    assert (missing["id"], missing["name"], len(missing["sha256"])) == (character, "Maren", 64)


def test_an_archive_that_is_no_card_is_refused(opened: Installation) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("readme.txt", "x")
    with pytest.raises(InputError):
        opened.importing.take(SourceFile(name="x.zip", data=data.getvalue()))
