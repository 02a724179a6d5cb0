from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from tavern_loader.domain import bindings
from tavern_loader.domain.bindings import RESOURCE_FILE, USER_FILE, Owner, with_books, without_book
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.selection import CharacterChoice, LoreChannel, Selection
from tavern_loader.domain.templates import Template, check, with_template
from tavern_loader.errors import NotFoundError, StoreError
from tavern_loader.installation import Installation
from tavern_loader.service.binding import Wish
from tavern_loader.service.templates import ConfigurationError

Keep = Callable[[str], str]


# --- bindings --------------------------------------------------------------------------------


def test_the_two_files_have_the_contracts_shape() -> None:
    users = with_books(dict(bindings.EMPTY_USER_BOOKS), Owner.USER, "u", ["b", "c", "b"], "T1")
    assert users == {
        "schemaVersion": 1,
        "bindings": {"u": {"worldBookIds": ["b", "c"], "updatedAt": "T1"}},
    }
    resources = with_books(dict(bindings.EMPTY_RESOURCE_BOOKS), Owner.CHARACTER, "c", ["b"], "T1")
    assert resources == {
        "schemaVersion": 1,
        "bindings": {
            "preset": {},
            "character": {"c": {"worldBookIds": ["b"], "updatedAt": "T1"}},
        },
    }
    assert bindings.books_of(resources, Owner.CHARACTER, "c") == ("b",)
    assert bindings.books_of(resources, Owner.PRESET, "c") == ()


def test_no_books_take_no_place_and_unknown_keys_stay() -> None:
    document = {
        "schemaVersion": 1,
        "later": 1,
        "bindings": {"u": {"worldBookIds": ["b"], "mood": 1}, "v": 5},
    }
    bound = with_books(document, Owner.USER, "u", ["c"], "T1")
    assert bound["bindings"]["u"] == {"worldBookIds": ["c"], "mood": 1, "updatedAt": "T1"}
    assert (bound["later"], bound["bindings"]["v"]) == (1, 5)
    assert with_books(bound, Owner.USER, "u", [], "T2")["bindings"] == {"v": 5}


def test_a_deleted_book_leaves_every_list() -> None:
    document = dict(bindings.EMPTY_RESOURCE_BOOKS)
    for owner in RESOURCE_FILE:
        document = with_books(document, owner, "x", ["b", "c"], "T0")
    document = with_books(document, Owner.PRESET, "only", ["b"], "T0")
    after = without_book(document, RESOURCE_FILE, "b", "T1")
    assert after["bindings"] == {
        "preset": {"x": {"worldBookIds": ["c"], "updatedAt": "T1"}},
        "character": {"x": {"worldBookIds": ["c"], "updatedAt": "T1"}},
    }
    users = with_books(dict(bindings.EMPTY_USER_BOOKS), Owner.USER, "preset", ["b"], "T0")
    assert without_book(users, USER_FILE, "b", "T1")["bindings"] == {}


def test_lists_and_owners_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    document = dict(bindings.EMPTY_USER_BOOKS)
    with pytest.raises(ValueError, match="at most 100"):
        with_books(document, Owner.USER, "u", [f"b{number}" for number in range(101)], "T0")
    with pytest.raises(ValueError, match="letters"):
        with_books(document, Owner.USER, "u", ["a.b"], "T0")
    assert (bindings.MAX_USERS, bindings.MAX_RESOURCES) == (2048, 4096)
    monkeypatch.setattr(bindings, "MAX_USERS", 1)
    document = with_books(document, Owner.USER, "u", ["b"], "T0")
    with pytest.raises(StoreError, match="USER_WORLD_BOOK_BINDING_LIMIT_REACHED"):
        with_books(document, Owner.USER, "v", ["b"], "T0")


def test_only_what_is_there_can_be_bound(opened: Installation, keep: Keep) -> None:
    user, book = keep("personas"), keep("world-book")
    assert opened.binding.bind_books(Owner.USER, user, [book]) == (book,)
    with pytest.raises(NotFoundError, match="WORLD_BOOK_NOT_FOUND"):
        opened.binding.bind_books(Owner.USER, user, ["gone"])
    with pytest.raises(NotFoundError, match="USER_NOT_FOUND"):
        opened.binding.bind_books(Owner.USER, "gone", [book])
    for wish in (
        Wish(preset_id="gone"),
        Wish(character_id="gone"),
        Wish(user_id="gone"),
        Wish(world_book_ids=("gone",)),
    ):
        with pytest.raises(NotFoundError):
            opened.binding.bind_session("s", wish)
    assert not opened.library.has_selection("s")


def test_a_wish_changes_what_it_names_and_nothing_else(opened: Installation, keep: Keep) -> None:
    preset, character, book = keep("preset"), keep("character"), keep("world-book")
    bound = opened.binding.bind_session(
        "s",
        Wish(
            preset_id=preset,
            character_id=character,
            world_book_ids=(book, book),
            greeting_index=1,
            lore_channel=LoreChannel.LATE,
        ),
    )
    assert bound == Selection(
        preset_id=preset,
        character_id=character,
        world_book_ids=(book,),
        character=CharacterChoice(greeting_index=1),
        lore_channel=LoreChannel.LATE,
    )
    assert opened.binding.bind_session("s", Wish(preset_id="")) == evolve(bound, preset_id=None)
    other = keep("plain-card")
    changed = opened.binding.bind_session("s", Wish(character_id=other, world_book_ids=()))
    assert changed == Selection(character_id=other, lore_channel=LoreChannel.LATE)


def test_a_greeting_must_be_there(opened: Installation, keep: Keep) -> None:
    character = keep("character")
    with pytest.raises(ValueError, match="without a character"):
        opened.binding.bind_session("s", Wish(greeting_index=1))
    for index in (2, -1):
        with pytest.raises(ValueError, match="from 0 to 1"):
            opened.binding.bind_session("s", Wish(character_id=character, greeting_index=index))


def test_a_default_of_a_preset_alone_is_the_chosen_preset(
    opened: Installation, root: Path, keep: Keep
) -> None:
    preset = keep("preset")
    opened.binding.bind_default(Wish(preset_id=preset))
    assert opened.stores.preset_state.read().document == {"schemaVersion": 1, "selectedId": preset}
    assert not (root / "session-templates.json").exists()
    assert opened.library.ensure_selection("s") == Selection(preset_id=preset)


def test_a_default_of_more_is_a_chosen_template(opened: Installation, keep: Keep) -> None:
    preset, character = keep("preset"), keep("character")
    opened.library.ensure_selection("before")
    opened.binding.bind_default(Wish(preset_id=preset, character_id=character))
    opened.binding.bind_default(Wish(lore_channel=LoreChannel.LATE))
    wanted = Selection(preset_id=preset, character_id=character, lore_channel=LoreChannel.LATE)
    assert opened.library.ensure_selection("s") == wanted
    assert opened.library.selection("before") == Selection()
    (template,) = opened.templates.all()
    assert (template.name, template.selection) == ("Default", wanted)
    assert opened.stores.preset_state.read().document["selectedId"] == preset


# --- templates -------------------------------------------------------------------------------


def test_the_file_of_templates_has_the_contracts_shape(opened: Installation) -> None:
    kept = opened.templates.save("  Evening ", Selection(preset_id="p"), choose=False)
    assert opened.stores.templates.read().document == {
        "schemaVersion": 1,
        "selectedId": None,
        "templates": [
            {
                "id": kept.id,
                "name": "Evening",
                "selection": {
                    "presetId": "p",
                    "characterCardId": None,
                    "userId": None,
                    "worldBookIds": [],
                    "character": {},
                    "rp": {
                        "active": False,
                        "source": None,
                        "followSuppressed": False,
                        "sandboxBefore": None,
                    },
                },
                "createdAt": "2026-01-02T03:04:05.006Z",
                "updatedAt": "2026-01-02T03:04:05.006Z",
            }
        ],
    }
    assert opened.templates.selected() is None


def test_a_template_is_changed_chosen_and_deleted(opened: Installation) -> None:
    first = opened.templates.save("A", Selection(lore_channel=LoreChannel.LATE))
    second = opened.templates.save("B", Selection())
    assert opened.templates.selected() == second
    opened.templates.choose(first.id)
    changed = opened.templates.change(first.id, name="C")
    assert opened.templates.all() == (changed, second)
    assert changed.selection.lore_channel is LoreChannel.LATE
    opened.templates.delete(first.id)
    assert (opened.templates.all(), opened.templates.selected()) == ((second,), None)
    assert opened.stores.extras.read().document["templates"] == {}
    for refused in (opened.templates.get, opened.templates.choose, opened.templates.delete):
        with pytest.raises(NotFoundError, match="SESSION_TEMPLATE_NOT_FOUND"):
            refused(first.id)


@pytest.mark.parametrize("name", ["", "  ", "x" * 121, "猫" * 120 + "x"])
def test_a_name_must_be_one(opened: Installation, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        opened.templates.save(name, Selection())


def test_the_number_of_templates_is_limited() -> None:
    template = Template(id="t", name="T", selection=Selection(), created_at="", updated_at="")
    document = {"templates": [{"id": f"x{number}"} for number in range(100)]}
    with pytest.raises(StoreError, match="SESSION_TEMPLATE_LIMIT_REACHED"):
        with_template(document, template)
    with pytest.raises(ValueError, match="id"):
        with_template({}, evolve(template, id="-"))


@pytest.mark.parametrize(
    "templates",
    [None, [{"id": "a", "name": "A"}, {"id": "a", "name": "B"}], [{"id": "-", "name": "A"}]],
)
def test_a_file_with_wrong_templates_is_refused(templates: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        check({"schemaVersion": 1, "templates": templates})


def test_a_preview_says_what_is_there_and_what_is_wrong(opened: Installation, keep: Keep) -> None:
    character = keep("character")
    chosen = Selection(
        preset_id="gone",
        character_id=character,
        user_id="gone",
        world_book_ids=("gone",),
        character=CharacterChoice(greeting_index=9),
    )
    preview = opened.templates.preview(chosen)
    assert [(one.kind, one.name, one.missing) for one in preview.contents] == [
        (Kind.PRESET, "gone", True),
        (Kind.CHARACTER, "Maren", False),
        (Kind.USER, "gone", True),
        (Kind.WORLD_BOOK, "gone", True),
    ]
    assert [(fault.code, fault.field) for fault in preview.faults] == [
        ("SESSION_CONFIGURATION_PRESET_MISSING", "presetId"),
        ("SESSION_CONFIGURATION_CHARACTER_MISSING_OR_INVALID", "characterCardId"),
        ("SESSION_CONFIGURATION_USER_MISSING", "userId"),
        ("SESSION_CONFIGURATION_WORLD_BOOK_MISSING", "worldBookIds"),
    ]
    with pytest.raises(ConfigurationError, match="SESSION_CONFIGURATION_UNAVAILABLE") as raised:
        opened.templates.apply("s", chosen)
    assert raised.value.faults == preview.faults
    assert not opened.library.has_selection("s")


def test_a_configuration_is_given_to_a_session_as_a_whole(opened: Installation, keep: Keep) -> None:
    chosen = Selection(character_id=keep("character"), lore_channel=LoreChannel.LATE)
    opened.library.set_selection("s", Selection(preset_id="p"))
    assert opened.templates.apply("s", chosen) == opened.library.selection("s") == chosen
