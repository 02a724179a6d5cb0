import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tavern_loader.domain import session_selections
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.selection import (
    BindingSource,
    CharacterChoice,
    LoreChannel,
    Selection,
    join_books,
)
from tavern_loader.domain.session_selections import (
    MAX_SESSIONS,
    find,
    migrated,
    require_session_id,
    selection_to_json,
    with_channel,
    with_selection,
    without_resource,
    without_sessions,
)
from tavern_loader.errors import StoreError

CASES = json.loads((Path(__file__).parents[1] / "cases" / "session_selections.json").read_text())
NO_EXTRAS: dict[str, Any] = {"schemaVersion": 1}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_selection_is_read_and_written_back(case: dict[str, Any]) -> None:
    session_selections.check(case["document"])
    before = deepcopy(case["document"])
    selection = find(case["document"], NO_EXTRAS, "s")
    assert selection is not None
    assert selection_to_json(selection) == case["written"]
    after = with_selection(case["document"], "s", selection, "T1")
    assert after == {
        "schemaVersion": 2,
        "sessions": {
            "s": {**case.get("record", {}), "selection": case["written"], "updatedAt": "T1"}
        },
    }
    assert case["document"] == before
    assert find(after, NO_EXTRAS, "s") == selection


def test_a_session_that_was_never_seen_has_none() -> None:
    assert find({"schemaVersion": 2, "sessions": {}}, NO_EXTRAS, "s") is None


def test_sessions_the_change_is_not_about_stay_as_they_are() -> None:
    odd = {"selection": {"presetId": 5, "later": 1}, "updatedAt": 3}
    document = {"schemaVersion": 2, "later": 1, "sessions": {"odd id!": odd, "s": odd}}
    after = with_selection(document, "t", Selection(), "T1")
    assert (after["later"], after["sessions"]["odd id!"], after["sessions"]["s"]) == (1, odd, odd)


def test_all_sessions_of_the_first_version_move_together() -> None:
    first = {"schemaVersion": 1, "sessions": {"a": {"presetId": "p"}, "b": {}}}
    moved = migrated(first, "T1")
    assert moved["schemaVersion"] == 2
    assert [record["updatedAt"] for record in moved["sessions"].values()] == ["T1", "T1"]
    assert moved["sessions"]["a"]["selection"]["presetId"] == "p"


def test_one_session_too_many_is_refused_and_none_is_thrown_out() -> None:
    full = {
        "schemaVersion": 2,
        "sessions": {f"s{number}": {"selection": {}} for number in range(MAX_SESSIONS)},
    }
    with pytest.raises(StoreError, match="SESSION_SELECTION_LIMIT_REACHED"):
        with_selection(full, "new", Selection(), "T1")
    assert len(with_selection(full, "s0", Selection(), "T1")["sessions"]) == MAX_SESSIONS


@pytest.mark.parametrize("session_id", ["", ".a", "a b", "a" * 201, "ä", "a/b"])
def test_what_cannot_be_the_id_of_a_session_is_refused(session_id: str) -> None:
    with pytest.raises(ValueError, match="session id"):
        require_session_id(session_id)


BOUND = Selection(
    preset_id="x",
    character_id="x",
    user_id="x",
    world_book_ids=("x", "y"),
    character=CharacterChoice(greeting_index=1),
)


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (Kind.PRESET, {"preset_id": None}),
        (Kind.CHARACTER, {"character_id": None, "character": CharacterChoice()}),
        (Kind.USER, {"user_id": None}),
        (Kind.WORLD_BOOK, {"world_book_ids": ("y",)}),
    ],
)
def test_a_deleted_resource_is_unbound_from_every_session(kind: Kind, left: dict[str, Any]) -> None:
    import attrs

    document = with_selection({"schemaVersion": 2, "sessions": {}}, "s", BOUND, "T0")
    document = with_selection(document, "t", Selection(preset_id="other"), "T0")
    after = without_resource(document, kind, "x", "T1")
    assert find(after, NO_EXTRAS, "s") == attrs.evolve(BOUND, **left)
    assert after["sessions"]["s"]["updatedAt"] == "T1"
    assert after["sessions"]["t"] == document["sessions"]["t"]


def test_a_session_can_be_forgotten() -> None:
    document = with_selection({"schemaVersion": 2, "sessions": {}}, "s", BOUND, "T0")
    assert without_sessions(document, {"s"}) == {"schemaVersion": 2, "sessions": {}}
    assert without_sessions(document, {"t"}) is document


def test_a_lore_channel_takes_place_only_where_it_is_not_the_usual_one() -> None:
    extras = with_channel({"schemaVersion": 1, "own": 1}, "sessions", "s", LoreChannel.LATE)
    assert extras == {
        "schemaVersion": 1,
        "own": 1,
        "sessions": {"s": {"loreChannel": "late"}},
    }
    assert session_selections.channel_of(extras, "sessions", "s") is LoreChannel.LATE
    assert session_selections.channel_of(extras, "templates", "s") is LoreChannel.SYSTEM
    usual = with_channel(extras, "sessions", "s", LoreChannel.SYSTEM)
    assert usual == {"schemaVersion": 1, "own": 1, "sessions": {}}


def test_books_are_joined_in_the_contracts_order() -> None:
    joined = join_books(("a", "b"), ("b", "c"), ("c", "d", "a"), ("e", "d"))
    assert joined.effective == ("a", "b", "c", "d", "e")
    assert joined.duplicates == ("b", "c", "a", "d")
    assert joined.sources("a") == (BindingSource.SESSION, BindingSource.PRESET)
    assert joined.sources("e") == (BindingSource.CHARACTER,)
