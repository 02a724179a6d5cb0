"""The list of characters: its order, the cards that are missing from it, and their return.

Owns three orders and the matching of a new card to one that was deleted. Must not know files.

Source: the plugin contract, section F.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from attrs import frozen

from tavern_loader.domain.documents import MAX_ORDERED_CHARACTERS, JsonObject
from tavern_loader.domain.js_values import ids_of, list_of, object_of, require, text_of


class SortMode(StrEnum):
    """How the list is ordered."""

    UPDATED = "updated"
    """The latest change first."""
    NAME = "name"
    CUSTOM = "custom"
    """As a person arranged it; new ones at the end."""


class Match(StrEnum):
    """How a new card was known for a missing one."""

    SHA256 = "sha256"
    NAME = "name"


@frozen(kw_only=True)
class Listed:
    """A character of the list."""

    id: str
    name: str
    updated_at: str = ""
    sha256: str | None = None
    """Of the file it came in."""


@frozen(kw_only=True)
class Missing:
    """A character that was deleted, and may still be meant somewhere."""

    id: str
    name: str
    sha256: str | None = None


def mode_of(state: JsonObject) -> SortMode:
    """Read the order in use."""
    found = state.get("characterSortMode")
    return next((mode for mode in SortMode if mode == found), SortMode.UPDATED)


def in_order(state: JsonObject, listed: Iterable[Listed]) -> tuple[Listed, ...]:
    """Put the characters into the order in use."""
    by_update = sorted(sorted(listed, key=_by_name), key=lambda one: one.updated_at, reverse=True)
    mode = mode_of(state)
    if mode is SortMode.NAME:
        return tuple(sorted(by_update, key=_by_name))
    if mode is SortMode.UPDATED:
        return tuple(by_update)
    places = {one: place for place, one in enumerate(_arranged(state))}
    return tuple(sorted(by_update, key=lambda one: places.get(one.id, len(places))))


def with_order(
    state: dict[str, Any], mode: SortMode, ids: Sequence[str] | None, listed: Iterable[Listed]
) -> dict[str, Any]:
    """Choose an order; `ids` arranges anew, and only for CUSTOM.

    Without ids, CUSTOM takes up the earlier arrangement, and begins with the list as it is if there
    was none. Raises ValueError unless ids names every character once.
    """
    shown = [one.id for one in in_order(state, listed)]
    if ids is not None:
        require(mode is SortMode.CUSTOM, "characterIds arranges the custom order only")
        require(len(ids) <= MAX_ORDERED_CHARACTERS, "characterIds names too many characters")
        is_whole = sorted(ids) == sorted(shown)
        require(is_whole, "characterIds must name every stored character exactly once")
    if mode is not SortMode.CUSTOM:
        return {**state, "characterSortMode": str(mode)}
    earlier = [one for one in _arranged(state) if one in shown]
    arranged = list(ids) if ids is not None else earlier
    added = [one for one in shown if one not in arranged]
    return {**state, "characterSortMode": str(mode), "characterOrder": [*arranged, *added]}


def missing_of(state: JsonObject) -> tuple[Missing, ...]:
    """List the missing characters, the latest last."""
    found = (object_of(one) for one in list_of(state.get("missingCharacters")))
    return tuple(
        Missing(
            id=text_of(one.get("id")),
            name=text_of(one.get("name")),
            sha256=text_of(one.get("sha256")) or None,
        )
        for one in found
        if text_of(one.get("id"))
    )


def without_missing(state: dict[str, Any], found_again: str) -> dict[str, Any]:
    """Forget that a character is missing."""
    known = list_of(state.get("missingCharacters"))
    kept = [one for one in known if object_of(one).get("id") != found_again]
    return {**state, "missingCharacters": kept}


def recovery_of(
    state: JsonObject, new: Listed, listed: Iterable[Listed]
) -> tuple[Missing, Match] | None:
    """Find the missing character that a new card stands for.

    The same file counts if one missing character came in it, else the same name if one missing and
    one present character have it. What is not unique is left to a person.
    """
    missing = missing_of(state)
    same_file = [one for one in missing if one.sha256 and one.sha256 == new.sha256]
    if len(same_file) == 1:
        return same_file[0], Match.SHA256
    if same_file:
        return None
    name = plain_name(new.name)
    same_name = [one for one in missing if plain_name(one.name) == name]
    bearers = [one for one in listed if plain_name(one.name) == name]
    is_unique = name and len(same_name) == 1 and [one.id for one in bearers] == [new.id]
    return (same_name[0], Match.NAME) if is_unique else None


def with_character_replaced(
    selection: Mapping[str, Any], previous_id: str, character_id: str
) -> dict[str, Any] | None:
    """Bind another character in a stored selection; None if it has not the previous one."""
    if selection.get("characterCardId") != previous_id:
        return None
    return {**selection, "characterCardId": character_id, "character": {"greetingIndex": 0}}


def plain_name(name: str) -> str:
    """Take from a name what does not tell two apart: case, width, blanks.

    >>> plain_name("  Old  MAREN ")
    'old maren'
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", name)).strip().casefold()


def _by_name(one: Listed) -> tuple[Any, ...]:
    """Order names without regard to case, and numbers in them by their size."""
    pieces = re.split(r"(\d{1,18})", plain_name(one.name))
    return (tuple((piece.isdecimal(), _rank(piece)) for piece in pieces if piece), one.id)


def _rank(piece: str) -> tuple[int, str]:
    return (int(piece), "") if piece.isdecimal() else (0, piece)


def _arranged(state: JsonObject) -> tuple[str, ...]:
    return ids_of(state.get("characterOrder"), MAX_ORDERED_CHARACTERS)
