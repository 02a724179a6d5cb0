"""How a JSON value is read into an attribute, stated once more and apart from the packages.

One table each for cards and for entries; `expected` gives the value an attribute must have, and
whether the JSON value was odd, which must be a FIELD_TYPE diagnostic.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import frozen

Reading = tuple[Any, bool]
Rule = Callable[[Any], Reading]

_SAFE_INTEGER = 2**53


def _number_in(text: str) -> float | int | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if number != number or abs(number) == float("inf"):  # noqa: PLR0124
        return None
    return int(number) if number.is_integer() and abs(number) < _SAFE_INTEGER else number


def _number_text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(number)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def text(value: Any) -> Reading:
    """A text; `null` and 0 are empty, another number its digits."""
    if isinstance(value, str):
        return value, False
    if value is None:
        return "", False
    return (_number_text(value) if _is_number(value) and value else ""), True


def texts(*, split: bool = False, numbers: bool = False, single: bool = False) -> Rule:
    """A list of texts; other items go. A bare text is split at commas, taken alone, or nothing."""

    def rule(value: Any) -> Reading:
        if value is None:
            return (), False
        if isinstance(value, str):
            parts = tuple(filter(None, (part.strip() for part in value.split(","))))
            return (value,) if single else parts if split else (), True
        if not isinstance(value, list):
            return (), True
        kept = tuple(
            item if isinstance(item, str) else _number_text(item)
            for item in value
            if isinstance(item, str) or (numbers and _is_number(item))
        )
        return kept, not all(isinstance(item, str) for item in value)

    return rule


def number(default: float | None, *, digits_are_usual: bool = False) -> Rule:
    """A number; `null` is the default, digits in a text their number."""

    def rule(value: Any) -> Reading:
        if value is None:
            return default, False
        if isinstance(value, bool):
            return int(value), True
        if _is_number(value):
            return value, False
        found = _number_in(value) if isinstance(value, str) else None
        if found is None:
            return default, True
        return found, not digits_are_usual

    return rule


def truthy(value: object) -> bool:
    """JavaScript's idea of true."""
    return True if isinstance(value, list | dict) else bool(value)


def flag(value: Any) -> Reading:
    """A switch; anything else by JavaScript's idea of true."""
    return truthy(value), not isinstance(value, bool) and value is not None


def or_none(rule: Rule) -> Rule:
    """Read `null` as None."""
    return lambda value: (None, False) if value is None else rule(value)


def mapping(value: Any) -> Reading:
    """An object; `null` and JavaScript's empty array are empty ones."""
    if isinstance(value, dict):
        return value, False
    return {}, value is not None and value != []


def choice(last: int, default: int | None) -> Rule:
    """A number from 0 to `last`; anything else is the default."""

    def rule(value: Any) -> Reading:
        if value is None:
            return default, False
        known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= last
        return (value, False) if known else (default, True)

    return rule


def level(value: Any) -> Reading:
    """A level of recursion; a switch counts as 0 or 1."""
    return (int(value), False) if isinstance(value, bool) else number(0)(value)


def enabled(value: Any) -> Reading:
    """`disable`, inverted. Other values disable where JavaScript's `== true` holds."""
    if isinstance(value, bool) or value is None:
        return not value, False
    loose = _number_in(value) if isinstance(value, str) else value
    return not (_is_number(loose) and loose == 1), True


@frozen
class Row:
    """One attribute and where its value stands."""

    attribute: str
    path: tuple[str, ...]
    rule: Rule
    default: Any = None
    """JSON value that an absent key stands for."""


def value_at(document: Any, path: tuple[str, ...], default: Any) -> Any:
    """Follow keys through objects; the default where one is missing."""
    node = document
    for key in path:
        if not isinstance(node, Mapping) or key not in node:
            return default
        node = node[key]
    return node


def read(rows: tuple[Row, ...], document: Any) -> Iterator[tuple[Row, Any, bool]]:
    """Give for each row the value it must have and whether the JSON value is odd."""
    for row in rows:
        value, odd = row.rule(value_at(document, row.path, row.default))
        yield row, value, odd


_TEXT_KEYS = {
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "greeting": "first_mes",
    "message_examples": "mes_example",
    "creator_notes": "creator_notes",
    "system_prompt": "system_prompt",
    "post_history_instructions": "post_history_instructions",
    "creator": "creator",
    "character_version": "character_version",
    "nickname": "nickname",
}
_TALKATIVENESS = or_none(number(None, digits_are_usual=True))

CARD_ROWS = (
    *(Row(name, ("data", key), text) for name, key in _TEXT_KEYS.items()),
    Row("alternate_greetings", ("data", "alternate_greetings"), texts()),
    Row("group_only_greetings", ("data", "group_only_greetings"), texts()),
    Row("tags", ("data", "tags"), texts(split=True)),
    Row("source", ("data", "source"), texts(single=True)),
    Row("creator_notes_multilingual", ("data", "creator_notes_multilingual"), mapping),
    Row("creation_date", ("data", "creation_date"), number(None)),
    Row("modification_date", ("data", "modification_date"), number(None)),
    Row("extensions", ("data", "extensions"), mapping),
    Row("talkativeness", ("data", "extensions", "talkativeness"), _TALKATIVENESS),
    Row("favorite", ("data", "extensions", "fav"), flag),
    Row("world", ("data", "extensions", "world"), text),
)
"""Cards of version 2 and 3."""
DEPTH_PROMPT_ROWS = (
    Row("prompt", ("prompt",), text),
    Row("depth", ("depth",), number(4)),
    Row("role", ("role",), text, "system"),
)
V1_ROWS = (
    *(
        Row(name, (_TEXT_KEYS[name],), text)
        for name in (
            *("description", "personality", "scenario"),
            *("greeting", "message_examples", "creator"),
        )
    ),
    Row("tags", ("tags",), texts(split=True)),
    Row("talkativeness", ("talkativeness",), _TALKATIVENESS),
    Row("favorite", ("fav",), flag),
)
"""Cards of version 1."""

_FLAGS = {
    "constant": "constant",
    "vectorized": "vectorized",
    "add_memo": "addMemo",
    "ignore_budget": "ignoreBudget",
    "exclude_recursion": "excludeRecursion",
    "prevent_recursion": "preventRecursion",
    "match_persona_description": "matchPersonaDescription",
    "match_character_description": "matchCharacterDescription",
    "match_character_personality": "matchCharacterPersonality",
    "match_character_depth_prompt": "matchCharacterDepthPrompt",
    "match_scenario": "matchScenario",
    "match_creator_notes": "matchCreatorNotes",
    "group_override": "groupOverride",
}
_TEXTS = {
    "comment": "comment",
    "content": "content",
    "outlet_name": "outletName",
    "group": "group",
    "automation_id": "automationId",
}
_OPTIONAL_NUMBERS = {"scan_depth": "scanDepth"} | {
    key: key for key in ("sticky", "cooldown", "delay")
}
_OPTIONAL_FLAGS = {
    "case_sensitive": "caseSensitive",
    "match_whole_words": "matchWholeWords",
    "use_group_scoring": "useGroupScoring",
}

ENTRY_ROWS = (
    Row("keys", ("key",), texts(numbers=True)),
    Row("secondary_keys", ("keysecondary",), texts(numbers=True)),
    *(Row(name, (key,), text) for name, key in _TEXTS.items()),
    *(Row(name, (key,), flag) for name, key in _FLAGS.items()),
    Row("selective", ("selective",), flag, default=True),
    Row("selective_logic", ("selectiveLogic",), choice(3, 0)),
    Row("order", ("order",), number(0), 100),
    Row("position", ("position",), choice(7, None), 0),
    Row("enabled", ("disable",), enabled),
    Row("delay_until_recursion", ("delayUntilRecursion",), level),
    Row("probability", ("probability",), number(None), 100),
    Row("use_probability", ("useProbability",), flag, default=True),
    Row("depth", ("depth",), number(4), 4),
    Row("group_weight", ("groupWeight",), number(None), 100),
    *(Row(name, (key,), number(None)) for name, key in _OPTIONAL_NUMBERS.items()),
    *(Row(name, (key,), or_none(flag)) for name, key in _OPTIONAL_FLAGS.items()),
    Row("role", ("role",), choice(2, 0)),
    Row("triggers", ("triggers",), texts(split=True)),
)
"""Entries in SillyTavern's file; an absent key reads as in its new-entry template."""
