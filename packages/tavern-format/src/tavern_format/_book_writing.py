"""Writing and converting whole world books so that only edits show.

Owns the container: keys and numbers of entries, items that are none, edits a foreign spelling has
no place for. What a single entry becomes is in `book_conversion` and `_foreign_books`.

Source: SillyTavern 1.19.0, public/scripts/world-info.js (createWorldInfoEntry, importWorldInfo).
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import attrs

from tavern_format import _json_text as json_text
from tavern_format._book_reading import BOOK_SPEC, SPECS, book_from_json, inner_book
from tavern_format._book_remarks import remark_changes
from tavern_format._entry_spellings import ENTRY_SPECS, KEPT
from tavern_format._fields import ABSENT
from tavern_format._foreign_books import (
    container_key,
    detect_foreign,
    foreign_to_file,
    remark_conversion,
)
from tavern_format._json_text import JsonObject
from tavern_format._structure import Origin, Spec
from tavern_format.book_conversion import (
    SHARED,
    book_from_file,
    book_to_file,
    entry_to_book,
    entry_to_file,
    free_numbers,
    object_key,
)
from tavern_format.diagnostics import Diagnostic, Report, info, pointer
from tavern_format.errors import UnsupportedVersionError
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.world_book import BookSpelling, Entry, Unread, WorldBook

_Items = list[tuple[str | int | None, Any]]
"""Keys (None: still to be chosen) and values of a container."""


def dump_world_book(book: WorldBook, *, indent: int | None = None) -> bytes:
    """Write a book as JSON in its own spelling.

    Unedited books give the JSON they were read from. Entries of another spelling are converted; a
    new entry without a uid gets the smallest free number. Raises UnsupportedVersionError
    (WORLD_BOOK_SPELLING) for a foreign book that is new or whose edits its spelling has no place
    for: convert it.
    """
    return json_text.dump(book_to_json(book), indent=indent)


def book_to_json(book: WorldBook) -> JsonObject:
    """Give the book as a JSON object in its own spelling (see `dump_world_book`)."""
    outer: JsonObject = {} if book.origin is None else book.origin.raw
    if book.spelling not in ENTRY_SPECS and detect_foreign(outer) is not book.spelling:
        message = "new books are written for SillyTavern or for cards only; convert this one"
        raise UnsupportedVersionError("WORLD_BOOK_SPELLING", message, spec=book.spelling)
    inner = inner_book(outer)
    key = container_key(book.spelling)
    before = inner.get(key)
    items = _merge_unread(_encode_entries(book), book.unread)
    container = _pack(items, as_array=_is_array(book, before))
    head = BOOK_SPEC.encode(attrs.evolve(book, origin=Origin(BOOK_SPEC, inner, 0)))
    if book.origin is None:
        head = {name: value for name, value in head.items() if value not in (None, "", {})}
    same = _unchanged(before, container)
    if head is inner and same:
        return outer
    edited = {**head, key: before if same else container}
    return edited if inner is outer else {**outer, "data": edited}


def convert_world_book(
    book: WorldBook,
    spelling: BookSpelling,
    *,
    name: str = "",
    report: Report | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> WorldBook:
    """Convert a book to SillyTavern's file or to a card's `character_book`.

    `name` stands in where the book has none. What the target cannot hold is kept in `extensions`
    (and, in a file made from a `character_book`, in `originalData` as SillyTavern keeps it; of a
    foreign book the whole original, under `extensions.tavern_format`). An entry that the model
    will see otherwise, as SillyTavern's own conversion has it, gets a CONVERSION_CHANGED
    diagnostic; items that are no entries are kept with UNREAD_KEPT.
    Raises UnsupportedVersionError (WORLD_BOOK_SPELLING) for a target nobody can read back,
    LimitExceededError for more than `limits.entries`.
    """
    if spelling not in ENTRY_SPECS:
        message = "books are written for SillyTavern or for cards only"
        raise UnsupportedVersionError("WORLD_BOOK_SPELLING", message, spec=spelling)
    if book.spelling is spelling:
        return book
    remarks: Report = _drop if report is None else report
    foreign = book.spelling not in ENTRY_SPECS
    raw = _foreign_file(book, remarks) if foreign else book_to_json(book)
    entries = _entry_objects(raw)
    if book.spelling is BookSpelling.CHARACTER_BOOK:
        raw = book_to_file(inner_book(raw), entries, remarks)
    elif spelling is BookSpelling.CHARACTER_BOOK:
        raw = book_from_file(raw, entries, book.name or name)
    raw = _move_unread(raw, book, spelling, remarks)
    done = book_from_json(raw, remarks, limits, empty=spelling)
    if report is not None:
        place = pointer("", container_key(book.spelling))
        remark_changes(book.entries, done.entries, book.spelling, place, report)
    return done


def _foreign_file(book: WorldBook, report: Report) -> JsonObject:
    place = pointer("", container_key(book.spelling))
    entries: JsonObject = {}
    for at, entry in enumerate(book.entries):
        raw, beside = _foreign_entry(entry, book.spelling, at)
        remark_conversion(book.spelling, raw, pointer(place, at), report)
        entries[str(at)] = _file_entry(book.spelling, raw, beside, at)
    named = {} if book.name is None else {"name": book.name}
    told = {key: getattr(book, key) for key in SHARED if getattr(book, key) not in (None, "")}
    kept = {KEPT: {"original": dict(book.raw)}}
    return {"entries": entries, **named, **told, "extensions": kept}


_ATTRIBUTES = tuple(found.name for found in attrs.fields(Entry) if found.name != "origin")


def _foreign_entry(
    entry: Entry, spelling: BookSpelling, at: int
) -> tuple[JsonObject, Mapping[str, Any]]:
    """Write an entry in a foreign spelling; beside it, by attribute, what has no place there."""
    spec = SPECS[spelling]
    origin = entry.origin
    own = origin is not None and origin.spec.name == spec.name
    written = spec.encode(entry)
    if not own:  # a number is no part of the spelling: the index stands for it
        written = {key: value for key, value in written.items() if key != "id"}
    again = spec.decode(written, "", _drop, origin.key if own and origin is not None else at)
    beside = {
        name: getattr(entry, name)
        for name in _ATTRIBUTES
        if getattr(entry, name) != getattr(again, name)
    }
    if entry.uid is None:
        beside.pop("uid", None)
    return written, beside


def _file_entry(
    spelling: BookSpelling, raw: JsonObject, beside: Mapping[str, Any], at: int
) -> JsonObject:
    """Convert a foreign entry to SillyTavern's file, with the edits it had no place for."""
    converted = foreign_to_file(spelling, raw, at)
    edits = {name: value for name, value in beside.items() if name != "uid"}
    if not edits:
        return converted
    spec = ENTRY_SPECS[BookSpelling.WORLD_INFO]
    return spec.encode(attrs.evolve(spec.decode(converted, "", _drop, at), **edits))


def _drop(_: Diagnostic) -> None:
    """Ignore remarks nobody asked for."""


def _encode_entries(book: WorldBook) -> _Items:
    spec = SPECS[book.spelling]
    items: _Items = []
    for at, entry in enumerate(book.entries):
        origin = entry.origin
        own = origin is not None and origin.spec.name == spec.name
        key = origin.key if own and origin is not None else None
        if book.spelling not in ENTRY_SPECS:
            raw = _written_foreign(entry, book.spelling, at)
        else:
            raw = spec.encode(entry if own else _adopt(entry, spec, book.spelling, at))
        items.append((key, raw))
    return items if book.spelling not in ENTRY_SPECS else _numbered(items, book)


def _written_foreign(entry: Entry, spelling: BookSpelling, at: int) -> JsonObject:
    raw, beside = _foreign_entry(entry, spelling, at)
    if beside:
        message = f"this spelling has no place for {', '.join(beside)} (entry {at})"
        raise UnsupportedVersionError("WORLD_BOOK_SPELLING", message, spec=spelling)
    return raw


def _numbered(items: _Items, book: WorldBook) -> _Items:
    """Give each entry that has lost or never had a uid a free number; a `null` read stays."""
    name = "uid" if book.spelling is BookSpelling.WORLD_INFO else "id"
    nameless = [
        at
        for at, ((_, raw), entry) in enumerate(zip(items, book.entries, strict=True))
        if raw.get(name, ABSENT) is None and entry.raw.get(name, ABSENT) is not None
    ]
    if nameless:
        taken = {object_key(raw.get(name, at)) for at, (_, raw) in enumerate(items)}
        taken.update(str(key) for key, _ in items if key is not None)
        free = free_numbers(taken.union(str(item.key) for item in book.unread))
        for at in nameless:
            key, raw = items[at]
            items[at] = key, {**raw, name: next(free)}
    return items


def _adopt(entry: Entry, spec: Spec[Entry], spelling: BookSpelling, at: int) -> Entry:
    """Give an entry of the other spelling an origin in this one, so that nothing of it is lost."""
    if entry.origin is None:
        return entry
    source = BookSpelling(entry.origin.spec.name)
    if source not in ENTRY_SPECS:
        raw = {**_file_entry(source, *_foreign_entry(entry, source, at), at), "uid": None}
    else:
        raw = entry.origin.spec.encode(entry)
        raw = entry_to_file(raw, at) if source is BookSpelling.CHARACTER_BOOK else raw
    if spelling is BookSpelling.CHARACTER_BOOK:
        raw = entry_to_book(raw)
    return spec.decode(raw, "", _drop, at)


_UNREAD = "unread"
"""Key under `extensions.tavern_format` of a book, then one key for each spelling."""


def _move_unread(
    converted: JsonObject, book: WorldBook, spelling: BookSpelling, report: Report
) -> JsonObject:
    """Keep the items that are no entries in `extensions`; put back those kept earlier."""
    back = _kept_unread(book.extensions, spelling)
    bag = _object(converted.get("extensions"))
    kept = {key: value for key, value in _object(bag.get(KEPT)).items() if key != _UNREAD}
    if not book.unread and not back and len(kept) == len(_object(bag.get(KEPT))):
        return converted
    if book.unread:
        message = f"{len(book.unread)} items are no entries; they are kept in `extensions`"
        info(report, "UNREAD_KEPT", pointer("", container_key(book.spelling)), message)
        kept[_UNREAD] = {str(book.spelling): [_unread_to_json(item) for item in book.unread]}
    container = converted["entries"]
    as_array = isinstance(container, list)
    items: _Items = [(None, raw) for raw in container] if as_array else [*container.items()]
    outer = {key: value for key, value in bag.items() if key != KEPT}
    done = {key: value for key, value in converted.items() if key != "extensions"}
    if outer or kept:
        done["extensions"] = {**outer, KEPT: kept} if kept else outer
    return {**done, "entries": _pack(_merge_unread(items, back), as_array=as_array)}


def _unread_to_json(item: Unread) -> JsonObject:
    return {"index": item.index, "key": item.key, "value": item.value}


def _kept_unread(extensions: Mapping[str, Any], spelling: BookSpelling) -> list[Unread]:
    listed = _object(_object(extensions.get(KEPT)).get(_UNREAD)).get(spelling)
    return [
        Unread(item["index"], item["key"], item.get("value"))
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict)
        and type(item.get("index")) is int
        and isinstance(item.get("key"), str | int)
        and not isinstance(item.get("value"), dict)
    ]


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _merge_unread(items: _Items, unread: Sequence[Unread]) -> _Items:
    if not unread:
        return items
    taken = {key for key, _ in items}
    merged: _Items = []
    rest = iter(items)
    for item in sorted(unread, key=lambda item: item.index):
        merged += islice(rest, max(item.index - len(merged), 0))
        merged.append((None if item.key in taken else item.key, item.value))
    merged += rest
    return merged


def _is_array(book: WorldBook, before: object) -> bool:
    if isinstance(before, dict | list):
        return isinstance(before, list)
    return book.spelling is not BookSpelling.WORLD_INFO


def _pack(items: _Items, *, as_array: bool) -> JsonObject | list[Any]:
    if as_array:
        return [value for _, value in items]
    taken = {str(key) for key, _ in items if key is not None}
    free = free_numbers(taken)
    packed: JsonObject = {}
    for key, value in items:
        name = None if key is None else str(key)
        if name is None or name in packed:
            uid = value.get("uid") if isinstance(value, dict) else None
            own = None if uid is None else object_key(uid)
            name = str(next(free)) if own is None or own in taken else own
            taken.add(name)
        packed[name] = value
    return packed


def _unchanged(before: object, after: JsonObject | list[Any]) -> bool:
    """Compare by identity: entries nobody edited are the very objects that were read."""
    if isinstance(before, dict) and isinstance(after, dict):
        return list(before) == list(after) and all(map(_is, before.values(), after.values()))
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(_is, before, after))
    return False


def _is(left: object, right: object) -> bool:
    return left is right


def _entry_objects(raw: JsonObject) -> list[JsonObject]:
    container = inner_book(raw)["entries"]
    values = container.values() if isinstance(container, dict) else container
    return [value for value in values if isinstance(value, dict)]
