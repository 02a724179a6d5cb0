"""Between SillyTavern's world-info file and a card's `character_book`, both ways, losing nothing.

The keys SillyTavern knows get exactly the values SillyTavern writes (read off the one table in
`_entry_spellings`). What the other shape cannot hold, and SillyTavern drops, is kept inside the
entry's `extensions` under `tavern_format` and put back on the way home, unless the visible value
was edited meanwhile. Works on JSON objects: odd values go through as they are.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, convertCharacterBook,
convertWorldInfoToCharacterBook.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from itertools import count
from typing import Any

from tavern_format._entry_spellings import KEPT, ROWS, Row, book_position
from tavern_format._fields import ABSENT, value_at
from tavern_format._foreign_books import detect_foreign
from tavern_format._json_text import JsonObject
from tavern_format._kinds import js_truthy, number_of
from tavern_format.diagnostics import Report, info, pointer

_ROWS = {row.attribute: row for row in ROWS if row.file_key and row.book_path}
_COPIED = tuple(
    row for row in _ROWS.values() if row.attribute not in {"enabled", "position", "extensions"}
)
_BOOK_KEYS = {row.book_path[0] for row in _ROWS.values()} | {"use_regex", "position"}
_BOOK_EXTENSIONS = {row.book_path[1] for row in _ROWS.values() if len(row.book_path) > 1}
_FILE_KEYS = {row.file_key for row in _ROWS.values()} | {"addMemo"}
_FROM_FILE, _FROM_BOOK = "world_info", "character_book"
SHARED = ("description", "scan_depth", "token_budget", "recursive_scanning")
"""Keys of a `character_book` that a file keeps at its top level, where SillyTavern has none."""


def entry_to_book(raw: JsonObject) -> JsonObject:
    """Convert one entry of a world-info file; the result shares values with `raw`."""
    converted = _plain_to_book(raw)
    lost = _lost(raw, _plain_to_file(converted, 0), _FILE_KEYS)
    restored = _restore(converted, _FROM_BOOK, raw, lambda book: _plain_to_file(book, 0))
    return _keep(restored, _FROM_FILE, lost)


def entry_to_file(raw: JsonObject, index: int) -> JsonObject:
    """Convert the `index`-th entry of a `character_book`; the result shares values with `raw`."""
    converted = _plain_to_file(raw, index)
    lost = _lost(raw, _plain_to_book(converted), _BOOK_KEYS)
    restored = _restore(converted, _FROM_FILE, raw, _plain_to_book)
    return _keep(restored, _FROM_BOOK, lost)


def book_to_file(book: JsonObject, entries: Sequence[JsonObject], report: Report) -> JsonObject:
    """Convert a whole `character_book` as SillyTavern imports it, `originalData` included.

    Two entries with one id are both kept: the later one gets the smallest number no entry has and
    a UID_CHANGED diagnostic (SillyTavern loses the earlier).
    """
    done: dict[str, JsonObject] = {}
    converted = [entry_to_file(raw, index) for index, raw in enumerate(entries)]
    free = free_numbers({object_key(raw.get("uid")) for raw in converted})
    for index, raw in enumerate(converted):
        key = object_key(raw.get("uid"))
        if key not in done:
            done[key] = raw
            continue
        number = next(free)
        before = {"id": entries[index].get("id")}
        done[str(number)] = _keep({**raw, "uid": number}, _FROM_BOOK, before)
        message = "another entry has this id; the entry got a free one"
        info(report, "UID_CHANGED", pointer("/entries", index, "id"), message)
    named = {"name": book["name"]} if isinstance(book.get("name"), str) else {}
    shared = {key: book[key] for key in SHARED if key in book}
    bag = book.get("extensions")
    held = _kept(bag, _FROM_FILE) if isinstance(bag, dict) else {}
    kept = {key: value for key, value in held.items() if key not in _BOOK_LEVEL}
    return {"entries": done, **named, **shared, **kept, "originalData": book}


def book_from_file(book: JsonObject, entries: Iterable[JsonObject], name: str) -> JsonObject:
    """Convert a whole world-info file; book-level keys come back from `originalData`.

    `name` is the book's name, as SillyTavern takes the name of the world file; where it is empty,
    the name in `originalData` stays. What the file itself says of the keys in `SHARED` wins. The
    marks of a foreign `originalData` would make another book of this one: it is only kept.
    """
    original = book.get("originalData")
    foreign = isinstance(original, dict) and detect_foreign(original) is not None
    outer = original if isinstance(original, dict) and not foreign else {}
    done = {key: value for key, value in outer.items() if key != "entries"}
    done.update({key: book[key] for key in SHARED if key in book})
    lost = {key: value for key, value in book.items() if key not in _BOOK_LEVEL}
    if foreign:
        lost["originalData"] = original
    own = book.get("extensions")
    if own or lost:
        before = done.get("extensions")
        done["extensions"] = {
            **(before if isinstance(before, dict) else {}),
            **(own if isinstance(own, dict) else {}),
        }
    converted = [entry_to_book(raw) for raw in entries]
    return _keep(
        {**done, "entries": converted, "name": name or done.get("name", "")}, _FROM_FILE, lost
    )


_BOOK_LEVEL = {"entries", "name", "extensions", "originalData", *SHARED}
"""Keys of a file that have their own way into a `character_book`."""


def free_numbers(taken: AbstractSet[str]) -> Iterator[int]:
    """Give ever greater numbers that are not among the object keys in `taken`.

    `taken` may grow meanwhile: a number is looked up when it is asked for.
    """
    return (number for number in count() if str(number) not in taken)


def _plain_to_file(raw: JsonObject, index: int) -> JsonObject:
    """Do what SillyTavern does when it reads an embedded book."""
    done: JsonObject = {}
    for row in _COPIED:
        _put(done, (row.file_key,), _file_value(row, value_at(raw, row.book_path)))
    done["uid"] = raw.get("id", index)
    done["addMemo"] = js_truthy(raw.get("comment"))
    done["position"] = book_position(raw)
    done["disable"] = not js_truthy(raw.get("enabled"))
    done.setdefault("displayIndex", index)
    if done["displayIndex"] is None:
        done["displayIndex"] = index
    extensions = raw.get("extensions")
    done["extensions"] = {} if extensions is None else extensions
    return done


def _file_value(row: Row, value: object) -> object:
    if row.from_book is ABSENT:
        return value
    top_level = len(row.book_path) == 1 or row.attribute == "triggers"
    missing = value is ABSENT or (not js_truthy(value) if top_level else value is None)
    return copy(row.from_book) if missing else value


def _plain_to_book(raw: JsonObject) -> JsonObject:
    """Do what SillyTavern does when it stores a linked book in a card."""
    own = raw.get("extensions")
    position = raw.get("position", ABSENT)
    done: JsonObject = {"extensions": dict(_spread(own))}
    _put(done, ("extensions", "position"), position)
    for row in _COPIED:
        value = raw.get(row.file_key, ABSENT)
        nullish = value is ABSENT or value is None
        in_extensions = len(row.book_path) > 1
        chosen = row.to_book if nullish and row.to_book is not ABSENT else value
        _put(done, row.book_path, chosen if in_extensions else value)
    done["position"] = "before_char" if _loosely_zero(position) else "after_char"
    done["enabled"] = not js_truthy(raw.get("disable"))
    done["use_regex"] = True
    done["extensions"] = done.pop("extensions")  # last, where people look for it
    return done


def _loosely_zero(value: object) -> bool:
    """JavaScript's `value == 0`."""
    if isinstance(value, str):
        return not value.strip() or number_of(value) == 0
    return isinstance(value, int | float) and value == 0


def _spread(value: object) -> Iterable[tuple[str, Any]]:
    """JavaScript's `{...value}`: texts and arrays spread into numbered keys."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, str | list):
        return ((str(at), item) for at, item in enumerate(value))
    return ()


def _lost(raw: JsonObject, returned: JsonObject, known: set[str]) -> JsonObject:
    """List what a conversion and its way back would not give again."""
    lost = {
        key: value
        for key, value in raw.items()
        if key != "extensions"
        and (key not in known or not _same_json(returned.get(key, ABSENT), value))
    }
    own = raw.get("extensions", {})
    after = returned.get("extensions")
    if not isinstance(own, dict):
        lost["extensions"] = own
    elif isinstance(after, dict):
        changed = {
            key: value
            for key, value in own.items()
            if value is not None and key != KEPT and not _same_json(after.get(key, ABSENT), value)
        }
        lost.update({"extensions": changed} if changed else {})
    return lost


def _keep(converted: JsonObject, source: str, lost: JsonObject) -> JsonObject:
    """Put what the other shape cannot hold under `extensions`, unless that is no object."""
    bag = converted.get("extensions")
    if not lost or not isinstance(bag, dict):
        return converted
    present = bag.get(KEPT)
    sources: JsonObject = present if isinstance(present, dict) else {}
    kept = {**sources, source: {**_kept(bag, source), **lost}}
    return {**converted, "extensions": {**bag, KEPT: kept}}


def _restore(
    converted: JsonObject, source: str, raw: JsonObject, back: Callable[[JsonObject], JsonObject]
) -> JsonObject:
    """Put back what an earlier conversion the other way kept.

    A kept value comes back only if it converts to what `raw` shows now: else somebody edited the
    visible value since.
    """
    bag = converted.get("extensions")
    kept = _kept(bag, source) if isinstance(bag, dict) else {}
    if not isinstance(bag, dict) or not kept:
        return converted
    rest = {key: value for key, value in bag[KEPT].items() if key != source}
    outer = {key: value for key, value in bag.items() if key != KEPT}
    restored = {**converted, "extensions": {**outer, KEPT: rest} if rest else outer}
    for key, value in kept.items():
        if key == "extensions" and isinstance(value, dict):
            candidate = {**restored, key: {**restored["extensions"], **value}}
        else:
            candidate = {**restored, key: value}
        if _shows(back(candidate), back(restored), raw):
            restored = candidate
    return restored


def _shows(candidate: JsonObject, restored: JsonObject, raw: JsonObject) -> bool:
    """Tell whether all that `candidate` makes visible otherwise than `restored` stands in `raw`."""
    now, before, after = _flat(raw), _flat(restored), _flat(candidate)
    return all(
        _same_json(after.get(key, ABSENT), before.get(key, ABSENT))
        or _same_json(after.get(key, ABSENT), now.get(key, ABSENT))
        for key in after.keys() | before.keys()
    )


def _flat(raw: JsonObject) -> dict[tuple[str, ...], Any]:
    flat: dict[tuple[str, ...], Any] = {
        (key,): value for key, value in raw.items() if key != "extensions"
    }
    bag = raw.get("extensions")
    if isinstance(bag, dict):
        flat.update({("extensions", key): value for key, value in bag.items() if key != KEPT})
    return flat


def _kept(bag: Mapping[str, Any], source: str) -> JsonObject:
    kept = bag.get(KEPT)
    found = kept.get(source) if isinstance(kept, dict) else None
    return found if isinstance(found, dict) else {}


def _same_json(left: object, right: object) -> bool:
    """Compare as JSON: `true` is not 1, but 1 is 1.0. Takes any depth."""
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if one is other:
            continue
        if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
            pairs += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            pairs += zip(one, other, strict=True)
        elif not _same_scalar(one, other):
            return False
    return True


def _same_scalar(one: object, other: object) -> bool:
    scalar = not isinstance(one, dict | list) and not isinstance(other, dict | list)
    return scalar and isinstance(one, bool) is isinstance(other, bool) and one == other


def _put(target: JsonObject, path: tuple[str, ...], value: object) -> None:
    if value is ABSENT:
        if len(path) > 1:
            target[path[0]].pop(path[1], None)
        return
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value


def object_key(uid: object) -> str:
    """Spell a uid as JavaScript spells it as an object key."""
    if uid is None or isinstance(uid, bool):
        return {None: "null", True: "true", False: "false"}[uid]
    if isinstance(uid, float) and uid.is_integer():
        return str(int(uid))
    return str(uid)
