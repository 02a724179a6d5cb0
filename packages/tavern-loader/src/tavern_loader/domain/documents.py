"""The kinds of stored resources: what every document of a kind has, and a line about one.

Owns checks on shapes and the two small state files beside presets and characters. What a document
of a kind means is in `preset_document`, `character_document`, `world_book_document` and
`user_document`. Must not know files.

Source: the plugin contract, section F.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from attrs import frozen

from tavern_loader.domain.js_values import list_of, object_of, require, text_of

DOCUMENT_SCHEMA = 1
MAX_ORDERED_CHARACTERS = 4096
MAX_MISSING_CHARACTERS = 4096

JsonObject = Mapping[str, Any]


class Kind(StrEnum):
    """What is kept as documents."""

    PRESET = "preset"
    CHARACTER = "character"
    WORLD_BOOK = "world-book"
    USER = "user"

    @property
    def code(self) -> str:
        """What codes about this kind begin with."""
        return self.name


@frozen(kw_only=True)
class Summary:
    """One line about a document."""

    kind: Kind
    id: str
    name: str
    format: str
    """What it was made from."""
    updated_at: str = ""
    amount: int | None = None
    """Of prompts, greetings or entries; None where there is nothing to count."""


def check_document(kind: Kind, document: JsonObject) -> None:
    """Refuse what is no document of a kind. Raises ValueError, which names the field."""
    for name, expected in _FIELDS[kind].items():
        require(expected(document.get(name)), f"{name} is missing or of another kind")
    if kind is Kind.WORLD_BOOK:
        book = object_of(document.get("book"))
        is_book = book.get("kind") == "world-book" and _is_list(book.get("entries"))
        require(is_book, "book is of another kind")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_schema(value: object) -> bool:
    return value == DOCUMENT_SCHEMA and not isinstance(value, bool)


_FIELDS: Mapping[Kind, Mapping[str, Callable[[object], bool]]] = {
    Kind.PRESET: {"schemaVersion": _is_schema, "name": _is_text, "prompts": _is_list},
    Kind.CHARACTER: {
        "schemaVersion": _is_schema,
        "id": _is_text,
        "name": _is_text,
        "updatedAt": _is_text,
        "source": _is_object,
        "data": _is_object,
    },
    Kind.WORLD_BOOK: {
        "schemaVersion": _is_schema,
        "kind": lambda value: value == "world-book-document",
        "id": _is_text,
        "name": _is_text,
        "createdAt": _is_text,
        "updatedAt": _is_text,
        "source": _is_object,
        "book": _is_object,
    },
    Kind.USER: {"id": _is_text, "name": _is_text},
}


def summary(kind: Kind, document_id: str, document: JsonObject) -> Summary:
    """Say in one line what a document is."""
    source = object_of(document.get("source"))
    return Summary(
        kind=kind,
        id=document_id,
        name=text_of(document.get("name")),
        format=text_of(source.get("format")),
        updated_at=text_of(document.get("updatedAt")),
        amount=_AMOUNTS[kind](document),
    )


def _count(value: object) -> int:
    return len(list_of(value))


_AMOUNTS: Mapping[Kind, Callable[[JsonObject], int | None]] = {
    Kind.PRESET: lambda document: _count(document.get("prompts")),
    Kind.CHARACTER: lambda document: (
        1 + _count(object_of(document.get("data")).get("alternateGreetings"))
    ),
    Kind.WORLD_BOOK: lambda document: _count(object_of(document.get("book")).get("entries")),
    Kind.USER: lambda _: None,
}


EMPTY_PRESET_STATE: JsonObject = {"schemaVersion": DOCUMENT_SCHEMA, "selectedId": None}
EMPTY_CHARACTER_STATE: JsonObject = {
    "schemaVersion": DOCUMENT_SCHEMA,
    "selectedBySessionId": {},
    "characterSortMode": "updated",
    "characterOrder": [],
    "missingCharacters": [],
}


def check_schema(document: JsonObject, *known: int) -> None:
    """Refuse a file of a version that is not known. Raises ValueError."""
    version = document.get("schemaVersion")
    is_known = version in known and not isinstance(version, bool)
    require(is_known, "its schemaVersion is not known here")


def check_preset_state(document: JsonObject) -> None:
    """Refuse what is no state of the presets. Raises ValueError."""
    check_schema(document, DOCUMENT_SCHEMA)


def check_character_state(document: JsonObject) -> None:
    """Refuse what is no state of the characters. Raises ValueError."""
    check_schema(document, DOCUMENT_SCHEMA)
    require(_is_object(document.get("selectedBySessionId")), "selectedBySessionId is no object")


def with_character(state: dict[str, Any], character_id: str) -> dict[str, Any]:
    """Add a new character to the user's own order, if there is one."""
    order = list_of(state.get("characterOrder"))
    is_full = len(order) >= MAX_ORDERED_CHARACTERS
    if state.get("characterSortMode") != "custom" or is_full or character_id in order:
        return state
    return {**state, "characterOrder": [*order, character_id]}


def without_character(state: dict[str, Any], missing: JsonObject) -> dict[str, Any]:
    """Take a deleted character out, and remember it for an import of the same card.

    `missing` is `{id, name, sha256?}`. The oldest of more than 4,096 is forgotten.
    """
    gone = missing["id"]
    chosen = object_of(state.get("selectedBySessionId"))
    known = list_of(state.get("missingCharacters"))
    kept = [one for one in known if object_of(one).get("id") != gone]
    return {
        **state,
        "selectedBySessionId": {
            session_id: one
            for session_id, one in chosen.items()
            if object_of(one).get("characterCardId") != gone
        },
        "characterOrder": [one for one in list_of(state.get("characterOrder")) if one != gone],
        "missingCharacters": [*kept, missing][-MAX_MISSING_CHARACTERS:],
    }
