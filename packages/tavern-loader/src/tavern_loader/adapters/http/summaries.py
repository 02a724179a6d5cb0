"""Lines about stored resources, as pages list them.

Owns the keys of a line; reads documents leniently, since a newer program may have written them.

Source: the plugin contract, section F.
"""

from collections.abc import Mapping
from typing import Any

from tavern_loader.adapters.http.schema import BOOLEAN, TEXT, Schema, needed
from tavern_loader.domain.js_values import list_of, object_of, strings_of, text_of
from tavern_loader.ports import JsonObject

WHOLE: Schema = {"type": "integer"}
PRESET_LINE = needed(
    id=TEXT,
    name=TEXT,
    createdAt=TEXT,
    updatedAt=TEXT,
    sourceFormat=TEXT,
    promptCount=WHOLE,
    enabledPromptCount=WHOLE,
)
CHARACTER_LINE = needed(
    id=TEXT,
    name=TEXT,
    createdAt=TEXT,
    updatedAt=TEXT,
    sourceFormat=TEXT,
    sourceContainer=TEXT,
    tags={"type": "array", "items": TEXT},
    alternateGreetingCount=WHOLE,
    hasEmbeddedCharacterBook=BOOLEAN,
    warningCount=WHOLE,
    unsupportedFeatureCount=WHOLE,
)
WORLD_BOOK_LINE = needed(
    id=TEXT,
    name=TEXT,
    description=TEXT,
    createdAt=TEXT,
    updatedAt=TEXT,
    sourceFormat=TEXT,
    entryCount=WHOLE,
    enabledEntryCount=WHOLE,
    warningCount=WHOLE,
)


def preset_line(document_id: str, document: JsonObject) -> dict[str, Any]:
    """Give the line about a preset."""
    prompts = [object_of(one) for one in list_of(document.get("prompts"))]
    switched_on = [
        one for one in prompts if one.get("enabled") is True and one.get("marker") is not True
    ]
    return {
        **_head(document_id, document),
        "promptCount": len(prompts),
        "enabledPromptCount": len(switched_on),
    }


def character_line(document_id: str, document: JsonObject) -> dict[str, Any]:
    """Give the line about a character."""
    data = object_of(document.get("data"))
    compatibility = object_of(document.get("compatibility"))
    source = object_of(document.get("source"))
    return {
        **_head(document_id, document),
        "sourceContainer": text_of(source.get("container"), "unknown"),
        **_given(source, ("specVersion", "fileName", "byteLength", "sha256")),
        "tags": strings_of(data.get("tags")),
        "alternateGreetingCount": len(list_of(data.get("alternateGreetings"))),
        "hasEmbeddedCharacterBook": isinstance(data.get("characterBook"), Mapping),
        "warningCount": len(list_of(compatibility.get("warnings"))),
        "unsupportedFeatureCount": len(list_of(compatibility.get("unsupportedFeatures"))),
    }


def world_book_line(document_id: str, document: JsonObject) -> dict[str, Any]:
    """Give the line about a world book."""
    book = object_of(document.get("book"))
    entries = [object_of(one) for one in list_of(book.get("entries"))]
    remarks = [object_of(one) for one in list_of(book.get("diagnostics"))]
    return {
        **_head(document_id, document),
        "description": text_of(book.get("description")),
        **_given(object_of(document.get("source")), ("fileName", "byteLength", "sha256")),
        "entryCount": len(entries),
        "enabledEntryCount": sum(one.get("enabled") is True for one in entries),
        "warningCount": sum(one.get("severity") == "warning" for one in remarks),
    }


def _head(document_id: str, document: JsonObject) -> dict[str, Any]:
    source = object_of(document.get("source"))
    return {
        "id": document_id,
        "name": text_of(document.get("name")),
        "createdAt": text_of(document.get("createdAt")),
        "updatedAt": text_of(document.get("updatedAt")),
        "sourceFormat": text_of(source.get("format"), "unknown"),
    }


def _given(source: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: source[key] for key in keys if key in source}
