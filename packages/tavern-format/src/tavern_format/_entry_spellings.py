"""The attributes of a world-book entry in every spelling: one table each.

`ROWS` is the heart: attribute, key in SillyTavern's file, place in `character_book`, and what each
side writes where the other says nothing. Reading, writing and both conversions (`book_conversion`)
are derived from it. The foreign spellings cover what SillyTavern imports.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, newWorldInfoEntryDefinition,
convertCharacterBook, convertWorldInfoToCharacterBook, convertAgnaiMemoryBook, convertRisuLorebook,
convertNovelLorebook.
"""

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from attrs import frozen

from tavern_format._fields import ABSENT, Column, Fetch, Field, Kind, Misfit, value_at
from tavern_format._json_text import JsonObject
from tavern_format._kinds import (
    FLAG,
    MAPPING,
    NUMBER,
    TEXT,
    choice,
    js_truthy,
    negated,
    nested,
    number,
    number_of,
    optional,
    texts,
)
from tavern_format._structure import Spec
from tavern_format.world_book import (
    BookSpelling,
    CharacterFilter,
    Entry,
    Position,
    Role,
    SelectiveLogic,
)

KEPT = "tavern_format"
"""Key inside `extensions` that holds what the other spelling has no place for."""


def _read_disable(value: object) -> bool:
    """JavaScript's `value == true`: 1 and "1" disable an entry, "true" does not."""
    if value is None:
        return False
    loose = number_of(value) if isinstance(value, str) else value
    raise Misfit(isinstance(loose, int | float) and loose == 1, "true or false")


def _read_level(value: object) -> float:
    """`delayUntilRecursion` is a level or a switch: `true` is level 1."""
    return int(value) if isinstance(value, bool) else number(0).read(value)


def _read_uid(_: object) -> None:
    raise Misfit(None, "a number or a string")


KEYS = texts(numbers=True)
TRIGGERS = texts(split=True)
UID = Kind(frozenset({int, float, str, type(None)}), _read_uid)
LEVEL = Kind(
    frozenset({int, float}), _read_level, plain=lambda value: value is None or type(value) is bool
)
DISABLE = negated(Kind(frozenset(), _read_disable))
POSITION = choice({int(place): place for place in Position}, None, "a position from 0 to 7")
LOGIC = choice(
    {int(logic): logic for logic in SelectiveLogic}, SelectiveLogic.AND_ANY, "a logic from 0 to 3"
)
ROLE = choice({int(role): role for role in Role}, Role.SYSTEM, "a role from 0 to 2")
OPTIONAL_NUMBER = optional(NUMBER)
OPTIONAL_FLAG = optional(FLAG)

FILTER_SPEC = Spec(
    "character-filter",
    CharacterFilter,
    (
        Field("is_exclude", ("isExclude",), FLAG, default=False),
        Field("names", ("names",), texts(), default=[]),
        Field("tags", ("tags",), texts(), default=[]),
    ),
)


@frozen
class Row:
    """One attribute in both of SillyTavern's spellings."""

    attribute: str
    file_key: str
    """Key in SillyTavern's file; empty where that has none (then it is kept in `extensions`)."""
    kind: Kind
    template: Any
    """What SillyTavern's new-entry template holds; how an absent key of the file reads."""
    book_path: tuple[str, ...] = ()
    """Place in `character_book`; empty where that has none (then it is kept in `extensions`)."""
    from_book: Any = ABSENT
    """Written to the file where the book says nothing; ABSENT: the value is copied as it is."""
    to_book: Any = ABSENT
    """Written to the book where the file says nothing or `null`; ABSENT: copied as it is."""

    @property
    def file_place(self) -> tuple[str, ...]:
        """Where the attribute lives in SillyTavern's file."""
        return (
            (self.file_key,)
            if self.file_key
            else ("extensions", KEPT, "character_book", self.attribute)
        )

    @property
    def book_place(self) -> tuple[str, ...]:
        """Where the attribute lives in `character_book`."""
        return self.book_path or ("extensions", KEPT, "world_info", self.file_key)


def _extra(  # noqa: PLR0913, PLR0917 - one column of the table each
    attribute: str,
    file_key: str,
    kind: Kind,
    template: object,
    name: str,
    from_book: object,
    to_book: object,
) -> Row:
    return Row(attribute, file_key, kind, template, ("extensions", name), from_book, to_book)


def _flag(attribute: str, file_key: str, name: str) -> Row:
    return _extra(attribute, file_key, FLAG, False, name, False, False)


def _switch(attribute: str, file_key: str, to_book: object) -> Row:
    return _extra(attribute, file_key, OPTIONAL_FLAG, None, attribute, None, to_book)


def _effect(attribute: str, file_key: str) -> Row:
    return _extra(attribute, file_key, OPTIONAL_NUMBER, None, attribute, None, None)


def _label(attribute: str, file_key: str) -> Row:
    return _extra(attribute, file_key, TEXT, "", attribute, "", "")


ROWS: tuple[Row, ...] = (
    Row("uid", "uid", UID, None, ("id",)),
    Row("keys", "key", KEYS, [], ("keys",)),
    Row("secondary_keys", "keysecondary", KEYS, [], ("secondary_keys",), []),
    Row("comment", "comment", TEXT, "", ("comment",), ""),
    Row("content", "content", TEXT, "", ("content",)),
    Row("constant", "constant", FLAG, False, ("constant",), False),
    _flag("vectorized", "vectorized", "vectorized"),
    Row("selective", "selective", FLAG, True, ("selective",), False),
    _extra("selective_logic", "selectiveLogic", LOGIC, 0, "selectiveLogic", 0, 0),
    Row("add_memo", "addMemo", FLAG, False),
    Row("order", "order", number(0), 100, ("insertion_order",)),
    _extra("position", "position", POSITION, 0, "position", None, ABSENT),
    Row("enabled", "disable", DISABLE, False, ("enabled",)),
    _flag("ignore_budget", "ignoreBudget", "ignore_budget"),
    _extra(
        "exclude_recursion", "excludeRecursion", FLAG, False, "exclude_recursion", False, ABSENT
    ),
    _flag("prevent_recursion", "preventRecursion", "prevent_recursion"),
    _flag("match_persona_description", "matchPersonaDescription", "match_persona_description"),
    _flag(
        "match_character_description", "matchCharacterDescription", "match_character_description"
    ),
    _flag(
        "match_character_personality", "matchCharacterPersonality", "match_character_personality"
    ),
    _flag(
        "match_character_depth_prompt", "matchCharacterDepthPrompt", "match_character_depth_prompt"
    ),
    _flag("match_scenario", "matchScenario", "match_scenario"),
    _flag("match_creator_notes", "matchCreatorNotes", "match_creator_notes"),
    _extra(
        "delay_until_recursion",
        "delayUntilRecursion",
        LEVEL,
        0,
        "delay_until_recursion",
        from_book=False,
        to_book=False,
    ),
    _extra("probability", "probability", OPTIONAL_NUMBER, 100, "probability", 100, None),
    _extra("use_probability", "useProbability", FLAG, True, "useProbability", True, False),
    _extra("depth", "depth", number(4), 4, "depth", 4, 4),
    _label("outlet_name", "outletName"),
    _label("group", "group"),
    _flag("group_override", "groupOverride", "group_override"),
    _extra("group_weight", "groupWeight", OPTIONAL_NUMBER, 100, "group_weight", 100, None),
    _effect("scan_depth", "scanDepth"),
    _switch("case_sensitive", "caseSensitive", None),
    _switch("match_whole_words", "matchWholeWords", None),
    _switch("use_group_scoring", "useGroupScoring", False),
    _label("automation_id", "automationId"),
    _extra("role", "role", ROLE, 0, "role", 0, 0),
    _effect("sticky", "sticky"),
    _effect("cooldown", "cooldown"),
    _effect("delay", "delay"),
    _extra("triggers", "triggers", TRIGGERS, [], "triggers", [], []),
    _extra("display_index", "displayIndex", OPTIONAL_NUMBER, None, "display_index", None, ABSENT),
    Row("character_filter", "characterFilter", nested(FILTER_SPEC), None),
    Row("extensions", "extensions", MAPPING, None, ("extensions",)),
    Row("name", "", TEXT, "", ("name",)),
    Row("priority", "", OPTIONAL_NUMBER, None, ("priority",)),
    Row("use_regex", "", OPTIONAL_FLAG, None, ("use_regex",)),
)

_NOT_IN_TEMPLATE = {"display_index", "character_filter", "extensions"}

TEMPLATE: JsonObject = {
    row.file_key: row.template
    for row in ROWS
    if row.file_key and row.attribute not in {"uid", *_NOT_IN_TEMPLATE}
}
"""SillyTavern's new-entry template: 39 keys."""


def _uid_or_key(name: str) -> Fetch:
    def fetch(objects: Sequence[JsonObject], keys: Sequence[str | int]) -> Column:
        column = list(map(dict.get, objects, repeat(name), repeat(ABSENT)))
        if ABSENT not in column:
            return column
        return [
            _key_as_uid(key) if uid is ABSENT else uid
            for uid, key in zip(column, keys, strict=True)
        ]

    return fetch


def _key_as_uid(key: str | int) -> str | int:
    return int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else key


def _fetch_book_position(objects: Sequence[JsonObject], _: Sequence[str | int]) -> Column:
    return [book_position(raw) for raw in objects]


def book_position(raw: JsonObject) -> Any:  # noqa: ANN401
    """Give the position number of a `character_book` entry: `extensions.position` comes first."""
    extensions = raw.get("extensions")
    exact = extensions.get("position") if isinstance(extensions, dict) else None
    return (0 if raw.get("position") == "before_char" else 1) if exact is None else exact


def _store_book_position(target: JsonObject, value: Any) -> None:  # noqa: ANN401
    extensions = target.get("extensions")
    target["extensions"] = {
        **(extensions if isinstance(extensions, dict) else {}),
        "position": value,
    }
    target["position"] = "before_char" if value == 0 else "after_char"


def _fetch_add_memo(objects: Sequence[JsonObject], _: Sequence[str | int]) -> Column:
    """A `character_book` has no such key: SillyTavern shows a memo where there is a comment."""
    kept = [value_at(raw, ("extensions", KEPT, "world_info", "addMemo")) for raw in objects]
    return [
        js_truthy(raw.get("comment")) if value is ABSENT else value
        for raw, value in zip(objects, kept, strict=True)
    ]


def _file_field(row: Row) -> Field:
    fetch = _uid_or_key("uid") if row.attribute == "uid" else None
    sparse = not row.file_key or row.attribute in _NOT_IN_TEMPLATE
    return Field(row.attribute, row.file_place, row.kind, row.template, fetch=fetch, sparse=sparse)


def _book_field(row: Row) -> Field:
    if row.attribute == "uid":
        return Field("uid", ("id",), row.kind, fetch=_uid_or_key("id"))
    if row.attribute == "position":
        return Field(
            "position",
            row.book_place,
            row.kind,
            fetch=_fetch_book_position,
            store=_store_book_position,
        )
    if row.attribute == "add_memo":
        return Field(
            "add_memo", row.book_place, FLAG, default=False, fetch=_fetch_add_memo, sparse=True
        )
    if row.attribute == "enabled":
        return Field("enabled", ("enabled",), FLAG, default=False)
    copied = row.from_book is ABSENT
    return Field(
        row.attribute,
        row.book_place,
        row.kind,
        row.template if copied else row.from_book,
        null_is_absent=not copied,
        sparse=not row.book_path or not row.file_key or row.attribute == "display_index",
    )


ENTRY_SPECS: dict[BookSpelling, Spec[Entry]] = {
    BookSpelling.WORLD_INFO: Spec("world-info", Entry, tuple(map(_file_field, ROWS))),
    BookSpelling.CHARACTER_BOOK: Spec("character-book", Entry, tuple(map(_book_field, ROWS))),
}
