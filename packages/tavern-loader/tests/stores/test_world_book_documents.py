import json
from pathlib import Path
from typing import Any

import pytest

from tavern_format import BookSpelling, Position
from tavern_loader.domain.world_book_document import (
    BookOrigin,
    exported_world_book,
    new_world_book,
    world_book_of,
)
from tavern_loader.domain.world_book_editing import edited_world_book
from tavern_loader.domain.world_book_fields import read_entry, write_entry
from tavern_loader.errors import StoreError

CASES = json.loads((Path(__file__).parents[1] / "cases" / "world_book_entries.json").read_text())
ORIGIN = BookOrigin(file_name="River.json", sha256="0" * 64, byte_length=12)
DEFAULTS: dict[str, Any] = {
    "keys": [],
    "secondaryKeys": [],
    "comment": "",
    "content": "",
    "enabled": True,
    "constant": False,
    "selective": True,
    "vectorized": False,
    "insertionOrder": 100,
    "position": "before_character_definition",
    "depth": 4,
    "role": "system",
    "selectiveLogic": "and_any",
    "probability": 100,
    "useProbability": True,
    "scanDepth": None,
    "caseSensitive": None,
    "matchWholeWords": None,
    "useGroupScoring": None,
    "displayIndex": 0,
    "outletName": "",
    "group": {"name": "", "override": False, "weight": 100},
    "recursion": {"exclude": False, "prevent": False, "delayUntil": False},
    "effects": {"sticky": None, "cooldown": None, "delay": None},
    "automationId": "",
    "ignoreBudget": False,
    "matchSources": {
        "personaDescription": False,
        "characterDescription": False,
        "characterPersonality": False,
        "characterDepthPrompt": False,
        "scenario": False,
        "creatorNotes": False,
    },
    "triggers": [],
    "characterFilter": None,
    "extensions": {},
}
"""Contract, B1: an entry of SillyTavern's file that says nothing."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_entry_in_the_plugins_form(case: dict[str, Any]) -> None:
    remarks: list[list[str]] = []
    entry = read_entry(
        case["raw"],
        case["form"],
        case["index"],
        lambda code, path, _: remarks.append([code, path]),
    )
    assert entry == DEFAULTS | case["differs"]
    assert list(entry) == list(DEFAULTS)
    assert remarks == case["remarks"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_entry_nobody_edited_is_written_as_it_came(case: dict[str, Any]) -> None:
    entry = read_entry(case["raw"], case["form"], case["index"], lambda *_: None)
    assert write_entry(entry, case["raw"], case["form"], case["index"]) == case["raw"]


def book(raw: dict[str, Any], name: str = "River") -> dict[str, Any]:
    return new_world_book(raw, ORIGIN, document_id="b", name=name, now="T0")


WORLD = {"entries": {"b": {"uid": 2, "key": ["x"]}, "10": {"uid": 1}, "9": {"key": ["y"]}, "a": 5}}


def test_the_document_of_a_file_has_the_contracts_shape() -> None:
    document = book({"name": "Own", "scan_depth": 3, "own": 1, **WORLD})
    assert {key: value for key, value in document.items() if key != "book"} == {
        "schemaVersion": 1,
        "kind": "world-book-document",
        "id": "b",
        "name": "Own",
        "createdAt": "T0",
        "updatedAt": "T0",
        "source": {
            "format": "sillytavern-world-info",
            "fileName": "River.json",
            "byteLength": 12,
            "sha256": "0" * 64,
        },
    }
    found = document["book"]
    assert {key: value for key, value in found.items() if key not in ("entries", "source")} == {
        "schemaVersion": 1,
        "kind": "world-book",
        "name": "Own",
        "description": "",
        "settings": {"scanDepth": 3, "extensions": {}},
        "diagnostics": [
            {
                "severity": "error",
                "code": "invalid-entry",
                "path": "$.entries['a']",
                "message": "This is no entry; it is kept.",
            }
        ],
    }
    # In the order of a JavaScript object: whole numbers first, by size.
    assert [(one["uid"], one["source"]["key"]) for one in found["entries"]] == [
        ("9", "9"),
        (1, "10"),
        (2, "b"),
    ]
    assert found["source"]["entryContainer"] == "object-map"


def test_a_cards_book_is_an_array_and_needs_more() -> None:
    document = book({"entries": [{"id": 4, "keys": ["k"]}, {"id": 4}]})
    found = document["book"]
    assert found["source"]["format"] == "character-book-v2"
    assert found["source"]["entryContainer"] == "array"
    assert [one["code"] for one in found["diagnostics"]] == [
        *["missing-required-field"] * 4,
        *["missing-required-field"] * 5,
        "duplicate-uid",
    ]


@pytest.mark.parametrize("raw", [WORLD, {"entries": [{"keys": ["k"], "x": [None]}], "y": 1}])
def test_a_book_nobody_edited_comes_out_as_it_went_in(raw: dict[str, Any]) -> None:
    exported = exported_world_book(book(raw))
    assert json.dumps(exported) == json.dumps(raw)


def test_an_edit_shows_in_the_document_and_in_the_book_and_nowhere_else() -> None:
    document = book({"own": 1, **WORLD})
    first = document["book"]["entries"][0]
    patch = {
        "book": {
            "description": "New",
            "settings": {"scanDepth": 5},
            "entries": [
                {**first, "content": "Fresh", "position": "at_depth"},
                *document["book"]["entries"][1:],
            ],
        }
    }
    after = edited_world_book(document, patch, "T1")
    assert (after["updatedAt"], after["createdAt"]) == ("T1", "T0")
    assert after["book"]["source"]["raw"] == exported_world_book(after)
    assert exported_world_book(after) == {
        "own": 1,
        "description": "New",
        "scan_depth": 5,
        "entries": {
            "b": {"uid": 2, "key": ["x"]},
            "10": {"uid": 1},
            "9": {"key": ["y"], "content": "Fresh", "position": 4},
            "a": 5,
        },
    }
    parsed = world_book_of(after).value
    assert parsed.spelling is BookSpelling.WORLD_INFO
    assert [entry.position for entry in parsed.entries if entry.content == "Fresh"] == [
        Position.AT_DEPTH
    ]


def test_entries_can_be_added_and_left_out() -> None:
    document = book(WORLD)
    kept = document["book"]["entries"][2]
    after = edited_world_book(
        document, {"entries": [kept, {"keys": ["n"], "content": "New"}]}, "T1"
    )
    assert exported_world_book(after)["entries"] == {
        "b": {"uid": 2, "key": ["x"]},
        "a": 5,
        "entry-3": {
            "uid": 3,
            "key": ["n"],
            "keysecondary": [],
            "comment": "",
            "content": "New",
            "disable": False,
            "constant": False,
            "selective": False,
            "order": 100,
            "position": 1,
            "probability": 100,
            "useProbability": True,
        },
    }


@pytest.mark.parametrize(
    "patch",
    [
        {"name": 1},
        {"entries": {}},
        {"entries": [1]},
        {"entries": [{"position": "somewhere"}]},
    ],
)
def test_an_edit_of_another_kind_is_refused(patch: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        edited_world_book(book(WORLD), patch, "T1")


def nested(levels: int) -> dict[str, Any]:
    value: Any = {}
    for _ in range(levels):
        value = {"x": value}
    return {"entries": {}, "deep": value}


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ({"entries": [{}] * 10_001}, "WORLD_BOOK_ENTRY_LIMIT"),
        ({"entries": {}, "x": [0] * 1_000_001}, "WORLD_BOOK_NODE_LIMIT"),
        (nested(32), "WORLD_BOOK_DEPTH_LIMIT"),
        ({"entries": {}, "x": "a" * (1024 * 1024 + 1)}, "WORLD_BOOK_STRING_LIMIT"),
        ({"entries": {}, "x" * 1025: 1}, "WORLD_BOOK_KEY_LIMIT"),
    ],
)
def test_a_book_over_a_limit_is_refused(raw: dict[str, Any], code: str) -> None:
    with pytest.raises(StoreError) as raised:
        book(raw)
    assert raised.value.code == code


def test_the_promised_number_of_full_entries_fits() -> None:
    entry = {f"field{number}": number for number in range(42)}
    document = book({"entries": [entry] * 10_000})
    assert len(document["book"]["entries"]) == 10_000


@pytest.mark.parametrize("raw", [{}, {"entries": 5}])
def test_what_has_no_entries_is_no_book(raw: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="entries"):
        book(raw)
