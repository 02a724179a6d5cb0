"""What is remarked about a card and kept with it: oddities, and what is only passed on.

Owns the codes and the names of macros that stand for nothing. Must not know how a card is kept.

Source: the plugin contract, section A9.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from tavern_compiler import MACROS
from tavern_format import CardSpec
from tavern_loader.domain.documents import JsonObject
from tavern_loader.domain.js_values import list_of, object_of, strings_of, text_of

PASSED_ON = frozenset(
    {
        "embedded-character-book-pass-through",
        "post-history-runtime-required",
        "depth-prompt-runtime-required",
    }
)
"""Kept remarks about what this loader does take care of: nobody needs to read them."""
_MACRO = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_NAME_END = re.compile(r"::|\s")


@frozen(kw_only=True)
class CardOrigin:
    """Where a card came from."""

    file_name: str
    sha256: str
    byte_length: int
    png_keywords: tuple[str, ...] = ()
    """Card texts of the PNG: `ccv3`, `chara`; empty for a card that came in no PNG."""


def compatibility_remarks(document: JsonObject) -> Iterator[tuple[str, str]]:
    """List the kept remarks, code and message, that say something about what is sent."""
    kept = object_of(document.get("compatibility"))
    for name in ("warnings", "unsupportedFeatures"):
        for found in map(object_of, list_of(kept.get(name))):
            code = text_of(found.get("code"))
            if code and code not in PASSED_ON:
                yield code, text_of(found.get("message"))


def compatibility(
    data: JsonObject, spec: CardSpec, version: str, origin: CardOrigin
) -> dict[str, Any]:
    """List everything about a card that is kept with it."""
    return {
        "warnings": [*_warnings(data, spec, version, origin)],
        "unsupportedFeatures": [*_unsupported(data)],
        "unknownMacroNames": unknown_macros(data),
    }


def _remark(code: str, message: str, path: str) -> dict[str, str]:
    return {"code": code, "message": message, "path": path}


def nameless(data: JsonObject) -> Iterator[dict[str, str]]:
    """Remark on a character without a name."""
    if not text_of(data.get("name")).strip():
        yield _remark("missing-name", "The character has no name.", "data.name")


def _warnings(
    data: JsonObject, spec: CardSpec, version: str, origin: CardOrigin
) -> Iterator[dict[str, str]]:
    if spec is CardSpec.V3 and version != "3.0" and not version.startswith("3.0."):
        message = "The card is of a newer version than 3.0; it may hold fields without a meaning."
        yield _remark("newer-v3-version", message, "spec_version")
    if spec is CardSpec.V3 and origin.png_keywords == ("chara",):
        message = "The PNG holds a V3 card in the text for older ones."
        yield _remark("v3-in-legacy-chunk", message, "png.chara")
    if len(origin.png_keywords) > 1:
        message = "The PNG holds two cards; the one for V3 was taken."
        yield _remark("png-v3-precedence", message, "png.ccv3")
    yield from nameless(data)


def _unsupported(data: JsonObject) -> Iterator[dict[str, str]]:
    if data["assets"]:
        message = "The assets of the card are kept, and never fetched."
        yield _remark("v3-assets-pass-through", message, "data.assets")
    if data["extensions"]:
        message = "The extensions of the card are kept; what has no meaning here does nothing."
        yield _remark("extensions-pass-through", message, "data.extensions")
    if data["characterBook"] is not None:
        message = "The book inside the card is scanned like a bound one."
        yield _remark("embedded-character-book-pass-through", message, "data.character_book")
    if data["postHistoryInstructions"]:
        message = "The instructions for behind the history go into the system prompt."
        yield _remark("post-history-runtime-required", message, "data.post_history_instructions")
    if isinstance(data["extensions"].get("depth_prompt"), Mapping):
        message = "The note for a depth goes into the system prompt."
        yield _remark("depth-prompt-runtime-required", message, "data.extensions.depth_prompt")


def _known_macros() -> frozenset[str]:
    return frozenset(name.lower() for macro in MACROS for name in (macro.name, *macro.aliases))


_FIELD_MACROS = frozenset({"original", "persona", "description", "personality", "scenario"})
_SCANNED = (
    "description",
    "personality",
    "scenario",
    "firstMessage",
    "messageExample",
    "systemPrompt",
    "postHistoryInstructions",
)


def unknown_macros(data: JsonObject) -> list[str]:
    """Name the macros of the card's texts that stand for nothing, sorted."""
    listed = (
        *strings_of(data.get("alternateGreetings")),
        *strings_of(data.get("groupOnlyGreetings")),
    )
    texts = (*(text_of(data.get(name)) for name in _SCANNED), *listed)
    found = {
        _NAME_END.split(body, maxsplit=1)[0].lower()
        for text in texts
        for body in _MACRO.findall(text)
        if not body.startswith("//")
    }
    return sorted(name for name in found - _known_macros() - _FIELD_MACROS if name)
