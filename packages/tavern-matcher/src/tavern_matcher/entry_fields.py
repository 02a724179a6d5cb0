"""An entry as SillyTavern's scan would hold it: a JSON object with the fields of its file.

Owns the way from the model to that object: the very object an untouched entry was read from, where
absent and odd fields matter, and one made from the attributes for every other entry. Must not know
what a field does.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, newWorldInfoEntryDefinition.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tavern_format import BookSpelling, CharacterFilter, Entry, WorldBook

Fields = Mapping[str, Any]

_COPIED = {
    "uid": "uid",
    "comment": "comment",
    "content": "content",
    "constant": "constant",
    "vectorized": "vectorized",
    "selective": "selective",
    "order": "order",
    "ignoreBudget": "ignore_budget",
    "excludeRecursion": "exclude_recursion",
    "preventRecursion": "prevent_recursion",
    "matchPersonaDescription": "match_persona_description",
    "matchCharacterDescription": "match_character_description",
    "matchCharacterPersonality": "match_character_personality",
    "matchCharacterDepthPrompt": "match_character_depth_prompt",
    "matchScenario": "match_scenario",
    "matchCreatorNotes": "match_creator_notes",
    "delayUntilRecursion": "delay_until_recursion",
    "probability": "probability",
    "useProbability": "use_probability",
    "depth": "depth",
    "outletName": "outlet_name",
    "group": "group",
    "groupOverride": "group_override",
    "groupWeight": "group_weight",
    "scanDepth": "scan_depth",
    "caseSensitive": "case_sensitive",
    "matchWholeWords": "match_whole_words",
    "useGroupScoring": "use_group_scoring",
    "automationId": "automation_id",
    "sticky": "sticky",
    "cooldown": "cooldown",
    "delay": "delay",
}
_KEYS = tuple(_COPIED)
_ATTRIBUTES = tuple(_COPIED.values())


def book_fields(book: WorldBook, *, raw: bool) -> list[Fields]:
    """Give the fields of every entry of a book, in the book's sequence.

    With `raw`, an entry of SillyTavern's own file that was not edited gives the object it was read
    from; what nobody wrote there is then not there. Else, and for every other entry, the fields
    are those of the model, all of them.
    """
    if not raw or book.spelling is not BookSpelling.WORLD_INFO:
        return [_of_model(entry) for entry in book.entries]
    edited = _edited(book.entries)
    return [
        _of_model(entry) if index in edited or entry.origin is None else entry.raw
        for index, entry in enumerate(book.entries)
    ]


def entry_fields(entry: Entry, *, raw: bool) -> Fields:
    """Give the fields of one entry that stands in no book."""
    as_read = raw and entry.origin is not None and not _edited((entry,))
    return entry.raw if as_read else _of_model(entry)


def _edited(entries: Sequence[Entry]) -> frozenset[int]:
    """Find the entries that no longer say what they were read from.

    A parser gives a sequence of its own kind; a tuple or list was put together by somebody.
    """
    if not isinstance(entries, tuple | list):
        return frozenset()
    read = [(index, one.origin) for index, one in enumerate(entries) if one.origin is not None]
    edited: set[int] = set()
    for spec in {id(origin.spec): origin.spec for _, origin in read}.values():
        mine = [(index, origin) for index, origin in read if origin.spec is spec]
        raws = [origin.raw for _, origin in mine]
        before = spec.decode_all(raws, _nowhere, _drop, [origin.key for _, origin in mine])
        edited.update(
            index for (index, _), old in zip(mine, before, strict=True) if old != entries[index]
        )
    return frozenset(edited)


def _nowhere(_: int) -> str:
    return ""


def _drop(_: object) -> None:
    """Take a remark that was made when the entry was first read."""


def _of_model(entry: Entry) -> Fields:
    fields: dict[str, Any] = dict(
        zip(_KEYS, (getattr(entry, name) for name in _ATTRIBUTES), strict=True)
    )
    fields["key"] = list(entry.keys)
    fields["keysecondary"] = list(entry.secondary_keys)
    fields["selectiveLogic"] = int(entry.selective_logic)
    fields["position"] = None if entry.position is None else int(entry.position)
    fields["disable"] = not entry.enabled
    fields["role"] = int(entry.role)
    fields["triggers"] = list(entry.triggers)
    if entry.character_filter is not None:
        fields["characterFilter"] = _of_filter(entry.character_filter)
    return fields


def _of_filter(found: CharacterFilter) -> dict[str, Any]:
    return {
        "isExclude": found.is_exclude,
        "names": list(found.names),
        "tags": list(found.tags),
    }
