"""Stored characters: from a card to the document, to the card again, and edits.

Owns the fields that the document shows beside the raw card. A card of
a kind the plugin does not know is kept as V2, with every key it had. Must not know files, or what
is sent.

Source: the plugin contract, sections A4, A9 and F.
"""

import json
from collections.abc import Mapping
from typing import Any

from tavern_format import CardSpec, CharacterCard, FormatError, Parsed, card_to_json, parse_card
from tavern_loader.domain.character_remarks import (
    CardOrigin,
    compatibility,
    nameless,
    unknown_macros,
)
from tavern_loader.domain.documents import DOCUMENT_SCHEMA, JsonObject
from tavern_loader.domain.js_values import (
    file_name_of,
    list_of,
    name_of,
    object_of,
    require,
    strings_of,
    text_of,
)

_FORMATS = {CardSpec.V1: "sillytavern-v1", CardSpec.V3: "character-card-v3"}
_V2_FORMAT = "sillytavern-v2"

TEXT_KEYS: Mapping[str, str] = {
    "name": "name",
    "nickname": "nickname",
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "firstMessage": "first_mes",
    "messageExample": "mes_example",
    "creatorNotes": "creator_notes",
    "systemPrompt": "system_prompt",
    "postHistoryInstructions": "post_history_instructions",
    "creator": "creator",
    "characterVersion": "character_version",
}
"""Name in the document, key in the card."""
LIST_KEYS: Mapping[str, str] = {
    "alternateGreetings": "alternate_greetings",
    "groupOnlyGreetings": "group_only_greetings",
    "tags": "tags",
}
EDITABLE = frozenset(TEXT_KEYS) | {"alternateGreetings", "tags"}


def new_character(
    card: CharacterCard, origin: CardOrigin, *, document_id: str, name: str = "", now: str
) -> dict[str, Any]:
    """Make the document of a card that was imported at `now`."""
    raw = _storable(card)
    spec = card.spec if card.spec in _FORMATS else CardSpec.V2
    data = _data(card, raw)
    in_png = bool(origin.png_keywords)
    version = text_of(raw.get("spec_version"), "3.0" if spec is CardSpec.V3 else "2.0")
    return {
        "schemaVersion": DOCUMENT_SCHEMA,
        "id": document_id,
        "name": name_of(name or data["name"], "Imported character"),
        "createdAt": now,
        "updatedAt": now,
        "source": {
            "format": _FORMATS.get(spec, _V2_FORMAT),
            "container": "png" if in_png else "json",
            **({} if spec is CardSpec.V1 else {"specVersion": version}),
            "importedAt": now,
            "fileName": file_name_of(origin.file_name, f"character.{'png' if in_png else 'json'}"),
            "sha256": origin.sha256,
            "byteLength": origin.byte_length,
            **({"pngKeyword": origin.png_keywords[0]} if in_png else {}),
            "raw": raw,
        },
        "data": data,
        "compatibility": compatibility(data, spec, version, origin),
    }


def card_of(document: JsonObject) -> Parsed[CharacterCard]:
    """Give the card that a document stands for.

    Raises FormatError for a document that holds no usable card.
    """
    return parse_card(json.dumps(exported_card(document)).encode())


def exported_card(document: JsonObject) -> dict[str, Any]:
    """Give the card as JSON: the raw one, with the edits of the document."""
    raw = dict(object_of(object_of(document.get("source")).get("raw")))
    data = object_of(document.get("data"))
    own = _data_root(raw)
    edits = {
        key: data[ours]
        for ours, key in {**TEXT_KEYS, **LIST_KEYS}.items()
        if ours in data and not _says(own, ours, key, data[ours])
    }
    if edits:
        as_read = _as_read(raw)
        edits = {key: value for key, value in edits.items() if as_read.get(key) != value}
    book = data.get("characterBook")
    if isinstance(book, Mapping) and book != own.get("character_book"):
        edits["character_book"] = book
    return _with_data(raw, edits)


def edited_character(document: dict[str, Any], patch: JsonObject, now: str) -> dict[str, Any]:
    """Change fields of a character, in the document and in its raw card alike.

    Raises ValueError for a field that cannot be edited, or a value of another kind.
    """
    data = dict(object_of(document.get("data")))
    for name, value in patch.items():
        require(name in EDITABLE, f"there is no field {name} to edit")
        is_text = isinstance(value, str)
        is_texts = isinstance(value, list) and strings_of(value) == value
        require(is_text if name in TEXT_KEYS else is_texts, f"{name} is of another kind")
        data[name] = value
    raw = exported_card({**document, "data": data})
    kept = object_of(document.get("compatibility"))
    warnings = [
        one for one in list_of(kept.get("warnings")) if object_of(one).get("code") != "missing-name"
    ]
    return {
        **document,
        "name": name_of(data.get("name"), "Imported character"),
        "updatedAt": now,
        "source": {**object_of(document.get("source")), "raw": raw},
        "data": data,
        "compatibility": {
            "unsupportedFeatures": [],
            **kept,
            "warnings": [*warnings, *nameless(data)],
            "unknownMacroNames": unknown_macros(data),
        },
    }


def with_embedded_book(document: dict[str, Any], book: JsonObject, now: str) -> dict[str, Any]:
    """Replace the book inside a card, in the document and in its raw card alike."""
    entries = book.get("entries")
    is_book = isinstance(entries, list) and all(isinstance(one, Mapping) for one in entries)
    require(is_book, "a character book has a list of entries that are objects")
    data = {**object_of(document.get("data")), "characterBook": dict(book)}
    source = object_of(document.get("source"))
    raw = exported_card({**document, "data": data})
    return {**document, "data": data, "updatedAt": now, "source": {**source, "raw": raw}}


# --- the card's own JSON ---------------------------------------------------------------------


def _storable(card: CharacterCard) -> dict[str, Any]:
    """Give a card in one of the three shapes that the plugin reads."""
    is_known = card.spec is CardSpec.V1 or (
        card.spec in (CardSpec.V2, CardSpec.V3) and isinstance(card.raw.get("data"), Mapping)
    )
    return dict(card_to_json(card) if is_known else card_to_json(card, CardSpec.V2))


def _data_root(raw: JsonObject) -> Mapping[str, Any]:
    data = raw.get("data")
    return data if isinstance(data, Mapping) else raw


def _with_data(raw: dict[str, Any], edits: Mapping[str, Any]) -> dict[str, Any]:
    if not edits:
        return raw
    if isinstance(raw.get("data"), Mapping):
        return {**raw, "data": {**raw["data"], **edits}}
    if "creator_notes" in edits and "creatorcomment" in raw:
        edits = {**edits, "creatorcomment": edits["creator_notes"]}
    return {**raw, **edits}


def _says(own: JsonObject, ours: str, key: str, value: object) -> bool:
    """Whether the card's own value, read leniently, is what the document shows."""
    if ours in LIST_KEYS:
        return strings_of(own.get(key)) == list(list_of(value))
    found = own.get(key)
    if ours == "creatorNotes" and found is None:
        found = own.get("creatorcomment")
    return text_of(found) == value


def _as_read(raw: JsonObject) -> Mapping[str, Any]:
    """Give what the document shows of a raw card nobody edited, by the keys of the card."""
    try:
        card = parse_card(json.dumps(raw).encode()).value
    except FormatError:
        return {}
    shown = _data(card, raw)
    return {key: shown[ours] for ours, key in {**TEXT_KEYS, **LIST_KEYS}.items()}


def _data(card: CharacterCard, raw: JsonObject) -> dict[str, Any]:
    own = _data_root(raw)
    book = own.get("character_book")
    return {
        "name": card.name,
        "nickname": card.nickname,
        "description": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "firstMessage": card.greeting,
        "messageExample": card.message_examples,
        "creatorNotes": card.creator_notes,
        "systemPrompt": card.system_prompt,
        "postHistoryInstructions": card.post_history_instructions,
        "alternateGreetings": list(card.alternate_greetings),
        "groupOnlyGreetings": list(card.group_only_greetings),
        "tags": list(card.tags),
        "creator": card.creator,
        "characterVersion": card.character_version,
        "characterBook": dict(book) if isinstance(book, Mapping) else None,
        "assets": list(list_of(own.get("assets"))),
        "extensions": dict(object_of(own.get("extensions"))),
    }
