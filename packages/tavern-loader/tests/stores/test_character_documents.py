import json
from typing import Any

import pytest

from tavern_format import CardSpec, parse_card
from tavern_loader.domain.character_document import (
    card_of,
    edited_character,
    exported_card,
    new_character,
    with_embedded_book,
)
from tavern_loader.domain.character_remarks import CardOrigin, compatibility_remarks
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.preset_editing import with_regex_scripts

V2: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Maren",
        "description": "Rows. {{odd::x}} {{USER}} {{// note}}",
        "first_mes": "Come aboard, {{foo}}.",
        "mes_example": "",
        "personality": "P",
        "scenario": "S",
        "creator_notes": "N",
        "system_prompt": "SP {{original}}",
        "post_history_instructions": "PHI",
        "alternate_greetings": ["Again {{bar}}"],
        "tags": ["river"],
        "creator": "C",
        "character_version": "1",
        "character_book": {"entries": []},
        "extensions": {"depth_prompt": {"prompt": "dp"}},
        "own": 1,
    },
    "outer": True,
}
ORIGIN = CardOrigin(file_name="Maren.json", sha256="0" * 64, byte_length=5)


def document(raw: dict[str, Any], origin: CardOrigin = ORIGIN) -> dict[str, Any]:
    card = parse_card(json.dumps(raw).encode()).value
    return new_character(card, origin, document_id="c", now="T0")


def test_a_card_in_the_plugins_form() -> None:
    made = document(V2)
    assert made == {
        "schemaVersion": 1,
        "id": "c",
        "name": "Maren",
        "createdAt": "T0",
        "updatedAt": "T0",
        "source": {
            "format": "sillytavern-v2",
            "container": "json",
            "specVersion": "2.0",
            "importedAt": "T0",
            "fileName": "Maren.json",
            "sha256": "0" * 64,
            "byteLength": 5,
            "raw": V2,
        },
        "data": {
            "name": "Maren",
            "nickname": "",
            "description": "Rows. {{odd::x}} {{USER}} {{// note}}",
            "personality": "P",
            "scenario": "S",
            "firstMessage": "Come aboard, {{foo}}.",
            "messageExample": "",
            "creatorNotes": "N",
            "systemPrompt": "SP {{original}}",
            "postHistoryInstructions": "PHI",
            "alternateGreetings": ["Again {{bar}}"],
            "groupOnlyGreetings": [],
            "tags": ["river"],
            "creator": "C",
            "characterVersion": "1",
            "characterBook": {"entries": []},
            "assets": [],
            "extensions": {"depth_prompt": {"prompt": "dp"}},
        },
        "compatibility": made["compatibility"],
    }
    kept = made["compatibility"]
    assert kept["unknownMacroNames"] == ["bar", "foo", "odd"]
    assert kept["warnings"] == []
    assert [one["code"] for one in kept["unsupportedFeatures"]] == [
        "extensions-pass-through",
        "embedded-character-book-pass-through",
        "post-history-runtime-required",
        "depth-prompt-runtime-required",
    ]
    # What this loader takes care of is not told at every step.
    assert [code for code, _ in compatibility_remarks(made)] == ["extensions-pass-through"]


V1: dict[str, Any] = {"name": "Otto", "description": "D", "first_mes": "Hi", "tags": None, "x": 5}
V3: dict[str, Any] = {
    **V2,
    "spec": "chara_card_v3",
    "spec_version": "3.1",
    "data": {**V2["data"], "nickname": "M", "assets": [{"type": "icon"}], "name": ""},
}
ODD: dict[str, Any] = {"name": "Otto", "description": 5, "first_mes": "Hi", "mes_example": ["x"]}


@pytest.mark.parametrize("raw", [V1, V2, V3, ODD])
def test_a_card_nobody_edited_comes_out_as_it_went_in(raw: dict[str, Any]) -> None:
    assert exported_card(document(raw)) == raw
    assert card_of(document(raw)).value.raw == raw


def test_each_specification_has_its_name() -> None:
    told = [document(raw)["source"] for raw in (V1, V2, V3)]
    assert [(source["format"], source.get("specVersion")) for source in told] == [
        ("sillytavern-v1", None),
        ("sillytavern-v2", "2.0"),
        ("character-card-v3", "3.1"),
    ]


def test_oddities_of_a_card_and_its_picture_are_remarked() -> None:
    both = CardOrigin(file_name="", sha256="", byte_length=1, png_keywords=("ccv3", "chara"))
    made = document(V3, both)
    assert [one["code"] for one in made["compatibility"]["warnings"]] == [
        "newer-v3-version",
        "png-v3-precedence",
        "missing-name",
    ]
    assert (made["name"], made["source"]["pngKeyword"]) == ("Imported character", "ccv3")
    old = CardOrigin(file_name="", sha256="", byte_length=1, png_keywords=("chara",))
    warned = document(V3, old)["compatibility"]["warnings"]
    assert "v3-in-legacy-chunk" in [one["code"] for one in warned]


def test_a_card_the_plugin_does_not_know_is_kept_as_v2_with_all_it_had() -> None:
    raw = {"char_name": "Bea", "char_persona": "Bakes.", "char_greeting": "Bread?", "own": 1}
    made = document(raw)
    assert made["source"]["format"] == "sillytavern-v2"
    kept = exported_card(made)
    assert (kept["spec"], kept["own"], kept["char_persona"]) == ("chara_card_v2", 1, "Bakes.")
    card = card_of(made).value
    assert (card.spec, card.name, card.description, card.greeting) == (
        CardSpec.V2,
        "Bea",
        "Bakes.",
        "Bread?",
    )


def test_an_edit_shows_in_the_document_and_in_the_card_and_nowhere_else() -> None:
    made = document(V2)
    after = edited_character(made, {"name": " Nell ", "tags": [], "description": "New."}, "T1")
    assert (after["name"], after["updatedAt"]) == ("Nell", "T1")
    expected = {**V2, "data": {**V2["data"], "name": " Nell ", "tags": [], "description": "New."}}
    assert after["source"]["raw"] == expected
    assert exported_card(after) == expected
    assert after["compatibility"]["unknownMacroNames"] == ["bar", "foo"]
    nameless = edited_character(after, {"name": ""}, "T2")
    assert [one["code"] for one in nameless["compatibility"]["warnings"]] == ["missing-name"]
    named = edited_character(nameless, {"name": "Nell"}, "T3")
    assert named["compatibility"]["warnings"] == []


def test_the_notes_of_an_old_card_are_edited_under_both_names() -> None:
    after = edited_character(document({**V1, "creatorcomment": "a"}), {"creatorNotes": "b"}, "T1")
    assert after["source"]["raw"]["creatorcomment"] == "b"
    assert card_of(after).value.creator_notes == "b"


def test_an_edit_made_by_hand_in_the_document_alone_counts() -> None:
    made = document(V2)
    made["data"]["description"] = "By hand."
    assert card_of(made).value.description == "By hand."


@pytest.mark.parametrize("patch", [{"id": "x"}, {"name": 1}, {"tags": "a"}, {"tags": [1]}])
def test_an_edit_of_another_kind_is_refused(patch: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        edited_character(document(V2), patch, "T1")


def test_the_book_inside_a_card_is_replaced_in_both_places() -> None:
    book = {"entries": [{"keys": ["k"], "content": "c", "enabled": True, "insertion_order": 1}]}
    after = with_embedded_book(document(V2), book, "T1")
    assert after["data"]["characterBook"] == book
    assert after["source"]["raw"]["data"]["character_book"] == book
    found = card_of(after).value.character_book
    assert found is not None
    assert [entry.content for entry in found.entries] == ["c"]
    with pytest.raises(ValueError, match="list of entries"):
        with_embedded_book(after, {"entries": {}}, "T2")


def test_scripts_of_a_card_are_part_of_its_extensions() -> None:
    after = with_regex_scripts(document(V2), Kind.CHARACTER, [{"scriptName": "s"}], "T1")
    assert exported_card(after)["data"]["extensions"] == {
        "depth_prompt": {"prompt": "dp"},
        "regex_scripts": [{"scriptName": "s"}],
    }
    old = with_regex_scripts(document(V1), Kind.CHARACTER, [{"scriptName": "s"}], "T1")
    assert exported_card(old)["extensions"] == {"regex_scripts": [{"scriptName": "s"}]}
