"""The plugin's own form of a world book entry, one row a field, for both spellings.

Owns the table: where a field stands in SillyTavern's file and in a card's book, and how it is
written back so that only edits show. Must not know books or documents.

Source: the plugin contract, section B1.
"""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from tavern_loader.domain.js_values import object_of, strings_of
from tavern_loader.domain.world_book_values import (
    ABSENT,
    AFTER,
    ANY,
    BEFORE,
    LOGIC,
    MAX_PROBABILITY,
    NO,
    OFF_SWITCH,
    POSITIONS,
    ROLE,
    TEXT,
    TEXTS,
    UNSET,
    YES,
    Reading,
    Remark,
    count,
    number,
)

WORLD_INFO = "sillytavern-world-info"
CHARACTER_BOOK = "character-book-v2"

Entry = dict[str, Any]


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


@frozen
class Row:
    """One field."""

    path: tuple[str, ...] = field(converter=_split)
    """In the plugin's form: a name, or a name inside an object."""
    world: str
    """Key in SillyTavern's file."""
    card: str
    """Key in a card's book."""
    reading: Reading
    card_reading: Reading | None = None
    """Where it is another one in a card's book."""
    extended: bool = field(default=False, kw_only=True)
    """Whether a card's book has it under `extensions`."""

    def key(self, form: str) -> str:
        """Give the key in a spelling."""
        return self.card if form == CHARACTER_BOOK else self.world

    def reading_in(self, form: str) -> Reading:
        """Give the reading in a spelling."""
        return (self.card_reading if form == CHARACTER_BOOK else None) or self.reading


def _more(path: str, world: str, card: str, reading: Reading, other: Reading | None = None) -> Row:
    return Row(path, world, card, reading, other, extended=True)


_POSITION = _more("position", "position", "position", BEFORE, AFTER)
_COMMENT = Row("comment", "comment", "comment", TEXT)
_PLACE = _more("displayIndex", "displayIndex", "display_index", number(0))
_SOURCES = {
    "personaDescription": "match_persona_description",
    "characterDescription": "match_character_description",
    "characterPersonality": "match_character_personality",
    "characterDepthPrompt": "match_character_depth_prompt",
    "scenario": "match_scenario",
    "creatorNotes": "match_creator_notes",
}
ROWS: tuple[Row, ...] = (
    Row("keys", "key", "keys", TEXTS),
    Row("secondaryKeys", "keysecondary", "secondary_keys", TEXTS),
    _COMMENT,
    Row("content", "content", "content", TEXT),
    Row("enabled", "disable", "enabled", OFF_SWITCH, NO),
    Row("constant", "constant", "constant", NO),
    Row("selective", "selective", "selective", YES, NO),
    _more("vectorized", "vectorized", "vectorized", NO),
    Row("insertionOrder", "order", "insertion_order", number(100)),
    _POSITION,
    _more("depth", "depth", "depth", count(4)),
    _more("role", "role", "role", ROLE),
    _more("selectiveLogic", "selectiveLogic", "selectiveLogic", LOGIC),
    _more("probability", "probability", "probability", number(100, 0, MAX_PROBABILITY)),
    _more("useProbability", "useProbability", "useProbability", YES),
    _more("scanDepth", "scanDepth", "scan_depth", count(None)),
    _more("caseSensitive", "caseSensitive", "case_sensitive", UNSET),
    _more("matchWholeWords", "matchWholeWords", "match_whole_words", UNSET),
    _more("useGroupScoring", "useGroupScoring", "use_group_scoring", UNSET),
    _PLACE,
    _more("outletName", "outletName", "outlet_name", TEXT),
    _more("group.name", "group", "group", TEXT),
    _more("group.override", "groupOverride", "group_override", NO),
    _more("group.weight", "groupWeight", "group_weight", number(100, 0)),
    _more("recursion.exclude", "excludeRecursion", "exclude_recursion", NO),
    _more("recursion.prevent", "preventRecursion", "prevent_recursion", NO),
    _more("recursion.delayUntil", "delayUntilRecursion", "delay_until_recursion", ANY),
    _more("effects.sticky", "sticky", "sticky", count(None)),
    _more("effects.cooldown", "cooldown", "cooldown", count(None)),
    _more("effects.delay", "delay", "delay", count(None)),
    _more("automationId", "automationId", "automation_id", TEXT),
    _more("ignoreBudget", "ignoreBudget", "ignore_budget", NO),
    *(
        _more(f"matchSources.{name}", f"match{name[0].upper()}{name[1:]}", card, NO)
        for name, card in _SOURCES.items()
    ),
    _more("triggers", "triggers", "triggers", TEXTS),
)
"""In the order of the plugin's form."""


@frozen
class _Column:
    """A row in one spelling: looked up once, not for each of many entries."""

    row: Row
    key: str
    reading: Reading
    usual: object
    """What an entry with this very value is no different from; ABSENT: it is always read."""
    elsewhere: str
    """Key under `extensions`; empty if it is never there."""


def _column(row: Row, form: str) -> _Column:
    reading = row.reading_in(form)
    usual = reading.usual
    says_itself = reading.take(usual, "", _unheard) == usual and not isinstance(usual, list)
    return _Column(
        row=row,
        key=row.key(form),
        reading=reading,
        usual=usual if says_itself and row is not _POSITION else ABSENT,
        elsewhere=row.card if row.extended else "",
    )


def _unheard(_code: str, _path: str, _message: str) -> None:
    """Ignore remarks on what is only compared."""


_COLUMNS: Mapping[str, tuple[_Column, ...]] = {
    form: tuple(_column(row, form) for row in ROWS) for form in (WORLD_INFO, CHARACTER_BOOK)
}


def _usual_entry(form: str) -> Entry:
    """Make an entry of which nothing is said."""
    entry: Entry = {}
    for column in _COLUMNS[form]:
        _set(entry, column.row.path, column.reading.usual)
    return entry


def _set(entry: Entry, path: tuple[str, ...], value: object) -> None:
    if len(path) > 1:
        entry = entry.setdefault(path[0], {})
    entry[path[-1]] = value


_USUAL: Mapping[str, Entry] = {form: _usual_entry(form) for form in _COLUMNS}
"""Copied for each entry, with the lists and objects in it."""


def read_entry(raw: Mapping[str, Any], form: str, index: int, remark: Remark) -> Entry:
    """Give an entry in the plugin's form, without its uid and source; `remark` hears of oddities.

    Paths begin at the entry.
    """
    entry: Entry = {
        name: value.copy() if isinstance(value, dict | list) else value
        for name, value in _USUAL[form].items()
    }
    entry["displayIndex"] = index  # where an entry is shown, if nothing says so
    extensions = object_of(raw.get("extensions"))
    for column in _COLUMNS[form]:
        found = raw.get(column.key, ABSENT)
        row = column.row
        if column.elsewhere in extensions or row is _COMMENT:
            found = _found(raw, extensions, row, form, found)
        # Most of what SillyTavern writes is what it takes for nothing said.
        if found is not ABSENT and (found is not column.usual or row is _PLACE):
            _set(entry, row.path, column.reading.take(found, f".{column.key}", remark))
    entry["characterFilter"] = _character_filter(raw)
    entry["extensions"] = dict(extensions)
    return entry


def write_entry(entry: Mapping[str, Any], raw: Mapping[str, Any], form: str, index: int) -> Entry:
    """Copy the entry as it came, and put in the fields that say something else."""
    before = read_entry(raw, form, index, _unheard)
    if before.items() <= entry.items():
        return dict(raw)
    done = dict(raw)
    extensions = dict(object_of(raw.get("extensions")))
    for row in ROWS:
        value = _get(entry, row.path)
        if value is ABSENT or value == _get(before, row.path):
            continue
        written = row.reading_in(form).write(value)
        if form != CHARACTER_BOOK or not row.extended:
            done[row.key(form)] = written
            continue
        extensions[row.card] = written
        if row is _POSITION:
            done["position"] = "before_char" if value == POSITIONS[0] else "after_char"
        else:
            done.pop(row.card, None)  # a value beside `extensions` would win
    if extensions != object_of(raw.get("extensions")):
        done["extensions"] = extensions
    return done


def missing_keys(raw: Mapping[str, Any]) -> list[str]:
    """Name the keys that an entry of a card's book must have and has not."""
    needed = ("keys", "content", "extensions", "enabled", "insertion_order")
    return [name for name in needed if name not in raw]


def _found(
    raw: Mapping[str, Any], extensions: Mapping[str, Any], row: Row, form: str, own: object
) -> object:
    """Look for a value in its other places, too."""
    if row is _COMMENT:
        return raw.get("name", ABSENT) if own is ABSENT else own
    extended = extensions.get(row.card, ABSENT)
    if row is _POSITION and form == CHARACTER_BOOK:
        # A card's book itself names two of the eight positions; the exact one is in `extensions`.
        own, extended = extended, own
    return extended if own is ABSENT else own


def _character_filter(raw: Mapping[str, Any]) -> Entry | None:
    found = raw.get("characterFilter", raw.get("character_filter"))
    if not isinstance(found, Mapping):
        return None
    return {
        "isExclude": found.get("isExclude") is True,
        "names": strings_of(found.get("names")),
        "tags": strings_of(found.get("tags")),
        "raw": dict(found),
    }


def _get(entry: Mapping[str, Any], path: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    found: Any = entry
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return ABSENT
        found = found[name]
    return found
