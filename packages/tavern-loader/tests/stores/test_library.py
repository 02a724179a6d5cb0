import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from tavern_compiler import SourceKind, SystemPromptMode, User
from tavern_format import Severity
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.rp_mode import RpSource, RpState
from tavern_loader.domain.selection import (
    BindingSource,
    CharacterChoice,
    LoreChannel,
    Selection,
)
from tavern_loader.errors import DamagedError, StoreError
from tavern_loader.installation import Installation, open_installation
from tavern_loader.service.reading import SourceFile
from tavern_loader.service.resolved import Resolved
from tavern_matcher import ScanContext, ScanMessage, match
from tavern_trace import digest

Keep = Callable[[str], str]


def codes(resolved: Resolved) -> list[tuple[str, str]]:
    return [(one.source, one.diagnostic.code) for one in resolved.diagnostics]


# --- freeze ----------------------------------------------------------------------------------


def test_a_new_session_begins_with_the_chosen_preset(opened: Installation, keep: Keep) -> None:
    preset = keep("preset")
    opened.catalog.select_preset(preset)
    assert opened.library.ensure_selection("s") == Selection(preset_id=preset)
    opened.catalog.select_preset(None)
    assert opened.library.selection("s") == Selection(preset_id=preset)
    assert opened.library.ensure_selection("t") == Selection()


def test_a_chosen_template_stands_before_the_chosen_preset(
    opened: Installation, keep: Keep
) -> None:
    opened.catalog.select_preset(keep("preset"))
    wanted = Selection(character_id=keep("character"), lore_channel=LoreChannel.LATE)
    opened.templates.save("Mine", wanted)
    assert opened.library.ensure_selection("s") == wanted
    opened.templates.choose(None)
    assert opened.library.selection("t").character_id is None


def test_a_child_begins_with_what_its_parent_has_at_that_moment(opened: Installation) -> None:
    first = Selection(
        preset_id="p",
        character=CharacterChoice(greeting_index=1),
        character_id="c",
        rp=RpState(active=True, source=RpSource.COMMAND),
        lore_channel=LoreChannel.LATE,
        unknown={"later": 1},
    )
    opened.library.set_selection("parent", first)
    assert opened.library.ensure_selection("child", "parent") == first
    opened.library.set_selection("parent", Selection())
    assert opened.library.ensure_selection("child", "parent") == first
    assert opened.library.ensure_selection("grandchild", "child") == first


def test_a_child_of_an_unknown_parent_begins_with_the_defaults(opened: Installation) -> None:
    assert opened.library.ensure_selection("child", "gone") == Selection()
    assert opened.library.has_selection("child")
    assert not opened.library.has_selection("gone")


def test_looking_at_a_selection_freezes_nothing(opened: Installation, root: Path) -> None:
    assert opened.library.selection("s") == Selection()
    assert not opened.library.has_selection("s")
    assert not root.exists()


def test_selections_outlive_the_process(opened: Installation, root: Path) -> None:
    bound = Selection(user_id="u", lore_channel=LoreChannel.LATE)
    opened.library.set_selection("s", bound)
    assert open_installation(root).library.selection("s") == bound


def test_sessions_frozen_at_the_same_time_lose_nothing(opened: Installation) -> None:
    opened.library.set_selection("parent", Selection(preset_id="p"))

    def freeze(start: int) -> None:
        for number in range(start, 60, 4):
            opened.library.ensure_selection(f"s{number}", "parent")

    threads = [threading.Thread(target=freeze, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {opened.library.selection(f"s{number}").preset_id for number in range(60)} == {"p"}


def test_a_change_that_is_refused_leaves_the_selection(opened: Installation) -> None:
    opened.library.set_selection("s", Selection(preset_id="p"))

    def refuse(_: Selection) -> Selection:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        opened.library.change_selection("s", refuse)
    changed = opened.library.change_selection("s", lambda held: evolve(held, user_id="u"))
    assert opened.library.selection("s") == changed == Selection(preset_id="p", user_id="u")


def test_a_forgotten_session_begins_anew(opened: Installation) -> None:
    for name in ("s", "t"):
        bound = Selection(preset_id="p", lore_channel=LoreChannel.LATE)
        opened.library.set_selection(name, bound)
    opened.library.forget_sessions(["s", "unknown"])
    assert opened.library.session_ids() == ("t",)
    assert opened.stores.extras.read().document["sessions"] == {"t": {"loreChannel": "late"}}


def test_with_damaged_selections_nothing_is_bound_by_guess(
    opened: Installation, root: Path
) -> None:
    opened.library.set_selection("s", Selection(rp=RpState(active=True)))
    path = root / "session-selections.json"
    path.write_bytes(path.read_bytes()[:-20])
    for ask in (opened.library.ensure_selection, opened.library.selection):
        with pytest.raises(DamagedError, match="SESSION_SELECTION_FILE_INVALID"):
            ask("s")
    with pytest.raises(DamagedError):
        opened.library.set_selection("t", Selection())


# --- resolve ---------------------------------------------------------------------------------


def test_a_selection_of_nothing_is_empty(opened: Installation) -> None:
    found = opened.library.resolve(Selection())
    assert (found.preset, found.character, found.user, found.books) == (None, None, None, ())
    assert (found.diagnostics, found.index.entries) == ((), ())
    assert found.documents == {
        "preset": None,
        "characterCard": None,
        "user": None,
        "worldBooks": [],
    }


def test_everything_that_is_bound_is_found(opened: Installation, keep: Keep) -> None:
    preset, character, book = keep("preset"), keep("character"), keep("world-book")
    user = keep("personas")
    chosen = Selection(
        preset_id=preset,
        character_id=character,
        user_id=user,
        world_book_ids=(book,),
        character=CharacterChoice(greeting_index=1, prefer_system_prompt=False),
        lore_channel=LoreChannel.LATE,
    )
    found = opened.library.resolve(chosen)
    assert found.preset is not None
    assert found.character is not None
    assert [prompt.identifier for prompt in found.preset.prompts] == ["main", "worldInfoBefore"]
    assert found.character.name == "Maren"
    assert found.user == User(name="Ann", description="A courier.")
    assert (found.options.greeting_index, found.options.prefer_system_prompt) == (1, False)
    assert found.lore_channel is LoreChannel.LATE
    assert found.system_prompt_mode is SystemPromptMode.APPEND
    embedded = f"character:{character}:embedded-world-book"
    assert [(one.id, one.kind, one.sources) for one in found.books] == [
        (book, "standalone-world-book", (BindingSource.SESSION,)),
        (embedded, "embedded-character-book", ()),
    ]
    assert found.references[SourceKind.PRESET].id == preset
    document = opened.stores.presets.get(preset).document
    assert found.references[SourceKind.PRESET].revision == digest(document)
    assert found.documents == {
        "preset": {"id": preset, "name": "Plain", "updatedAt": "2026-01-02T03:04:05.006Z"},
        "characterCard": {
            "id": character,
            "name": "Maren",
            "updatedAt": "2026-01-02T03:04:05.006Z",
        },
        "user": {"id": user, "name": "Ann", "description": "A courier."},
        "worldBooks": [
            {
                "id": book,
                "name": "River",
                "kind": "standalone-world-book",
                "updatedAt": "2026-01-02T03:04:05.006Z",
                "bindingSources": ["session"],
                "format": "sillytavern-world-info",
                "entryCount": 1,
            },
            {
                "id": embedded,
                "name": "River",
                "kind": "embedded-character-book",
                "ownerCharacterId": character,
                "format": "character-book-v2",
                "entryCount": 0,
            },
        ],
    }
    context = ScanContext(messages=(ScanMessage(identity="m", text="a ferry"),))
    fired = match(found.index, context).activated
    assert [one.entry.qualified for one in fired] == [f"{book}:0"]


def test_books_come_from_session_user_preset_and_character(
    opened: Installation, keep: Keep
) -> None:
    books = [opened.importing.take(many(count)).resources[0].id for count in (1, 2, 3, 4)]
    preset, character, user = keep("preset"), keep("character"), keep("personas")
    opened.binding.bind_books(Owner.USER, user, [books[1], books[0]])
    opened.binding.bind_books(Owner.PRESET, preset, [books[2]])
    opened.binding.bind_books(Owner.CHARACTER, character, [books[3], books[1]])
    chosen = Selection(
        preset_id=preset, character_id=character, user_id=user, world_book_ids=(books[0],)
    )
    found = opened.library.resolve(chosen)
    assert found.world_books.effective == tuple(books)
    assert found.world_books.duplicates == (books[0], books[1])
    assert [one.sources for one in found.books[:4]] == [
        (BindingSource.SESSION, BindingSource.USER),
        (BindingSource.USER, BindingSource.CHARACTER),
        (BindingSource.PRESET,),
        (BindingSource.CHARACTER,),
    ]
    # The matcher visits them in this order, too.
    assert list(dict.fromkeys(entry.book for entry in found.index.order)) == books


def test_what_is_missing_or_damaged_is_told_and_the_rest_works(
    opened: Installation, root: Path, keep: Keep
) -> None:
    damaged, character = keep("world-book"), keep("character")
    (root / "world-books" / f"{damaged}.json").write_bytes(b"{")
    chosen = Selection(
        preset_id="gone",
        character_id=character,
        user_id="gone",
        world_book_ids=("gone", damaged, "not an id"),
        character=CharacterChoice(greeting_index=7),
    )
    found = opened.library.resolve(chosen)
    assert found.character is not None
    assert codes(found) == [
        ("gone", "PRESET_NOT_FOUND"),
        (character, "CHARACTER_GREETING_MISSING"),
        ("gone", "user-not-found"),
        ("gone", "WORLD_BOOK_NOT_FOUND"),
        (damaged, "WORLD_BOOK_DOCUMENT_INVALID"),
        ("not an id", "WORLD_BOOK_NOT_FOUND"),
    ]
    lost = opened.library.resolve(Selection(character_id="gone", user_id="../x"))
    assert codes(lost) == [
        ("gone", "character-card-not-found"),
        ("../x", "invalid-user-selection"),
    ]
    assert {one.diagnostic.severity for one in lost.diagnostics} == {Severity.WARNING}


def test_a_document_without_a_usable_resource_is_told(opened: Installation, keep: Keep) -> None:
    book = keep("world-book")

    def empty(document: dict[str, object]) -> dict[str, object]:
        return {**document, "data": {}, "source": {"raw": {"spec": "chara_card_v3"}}}

    character = keep("plain-card")
    opened.stores.characters.change(character, empty)
    found = opened.library.resolve(Selection(character_id=character, world_book_ids=(book,)))
    assert codes(found) == [(character, "CHARACTER_DOCUMENT_INVALID")]
    assert [one.id for one in found.books] == [book]


def test_damaged_bindings_are_told_and_bind_nothing(
    opened: Installation, root: Path, keep: Keep
) -> None:
    user = keep("personas")
    (root / "user-world-book-bindings.json").write_bytes(b"[]")
    found = opened.library.resolve(Selection(user_id=user))
    assert codes(found) == [(user, "USER_WORLD_BOOK_BINDING_FILE_INVALID")]
    assert found.user is not None


def many(count: int) -> SourceFile:
    entries = {str(at): {"uid": at, "key": ["k"]} for at in range(count)}
    return SourceFile(name=f"{count}.json", data=json.dumps({"entries": entries}).encode())


def test_whole_books_are_left_out_when_there_are_too_many_entries(
    opened: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tavern_loader.domain.world_book_limits import MAX_RUNTIME_ENTRIES
    from tavern_loader.service import bound_books

    assert MAX_RUNTIME_ENTRIES == 10_000
    monkeypatch.setattr(bound_books, "MAX_RUNTIME_ENTRIES", 10)
    ids = [opened.importing.take(many(count)).resources[0].id for count in (6, 5, 4, 11)]
    found = opened.library.resolve(Selection(world_book_ids=tuple(ids)))
    assert [one.id for one in found.books] == [ids[0], ids[2]]
    assert codes(found) == [
        (ids[1], "WORLD_BOOK_RUNTIME_TOTAL_LIMIT"),
        (ids[3], "WORLD_BOOK_RUNTIME_ENTRY_LIMIT"),
    ]


def test_the_index_is_the_same_until_a_book_changes(
    opened: Installation, keep: Keep, files: dict[str, SourceFile]
) -> None:
    book = keep("world-book")
    chosen = Selection(world_book_ids=(book,))
    first = opened.library.resolve(chosen)
    again = opened.library.resolve(evolve(chosen, preset_id="gone"))
    assert again.index is first.index
    assert again.books[0].named.book is first.books[0].named.book
    opened.catalog.edit(Kind.WORLD_BOOK, book, {"description": "x"})
    assert opened.library.resolve(chosen).index is not first.index
    other = opened.importing.take(files["world-book"]).resources[0].id
    assert opened.library.resolve(Selection(world_book_ids=(other,))).index is not first.index


def test_a_book_that_is_bound_and_in_the_card_is_used_once(opened: Installation) -> None:
    entry = {"keys": ["ferry"], "content": "Slow.", "enabled": True, "insertion_order": 5}
    inside = {"entries": [entry], "extensions": {}}
    card = {"spec": "chara_card_v2", "data": {"name": "M", "character_book": inside}}
    files = [
        SourceFile(name=f"{at}.json", data=json.dumps(value).encode())
        for at, value in enumerate((card, inside))
    ]
    character, book = (opened.importing.take(file).resources[0].id for file in files)
    found = opened.library.resolve(Selection(character_id=character, world_book_ids=(book,)))
    assert [one.id for one in found.books] == [book]
    assert codes(found)[-1] == (f"character:{character}:embedded-world-book", "BOOK_REPEATED")
    alone = opened.library.resolve(Selection(character_id=character))
    assert [one.kind for one in alone.books] == ["embedded-character-book"]


def test_a_full_store_of_selections_is_an_error_and_not_a_loss(
    opened: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tavern_loader.domain import session_selections

    monkeypatch.setattr(session_selections, "MAX_SESSIONS", 2)
    opened.library.ensure_selection("a")
    opened.library.ensure_selection("b")
    with pytest.raises(StoreError, match="SESSION_SELECTION_LIMIT_REACHED"):
        opened.library.ensure_selection("c")
    assert opened.library.has_selection("a")
    assert not opened.library.has_selection("c")
