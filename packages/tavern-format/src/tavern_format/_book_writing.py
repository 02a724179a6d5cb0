"""Writing and converting whole world books so that only edits show."""

from collections.abc import Sequence
from typing import Any

import attrs

from tavern_format import _json_text as json_text
from tavern_format._book_reading import BOOK_SPEC, SPECS, book_from_json, inner_book
from tavern_format._entry_spellings import ENTRY_SPECS, KEPT
from tavern_format._foreign_books import container_key, foreign_to_file, remark_conversion
from tavern_format._json_text import JsonObject
from tavern_format._structure import Origin, Spec
from tavern_format.book_conversion import (
    book_from_file,
    book_to_file,
    entry_to_book,
    entry_to_file,
)
from tavern_format.diagnostics import Diagnostic, Report, pointer
from tavern_format.errors import UnsupportedVersionError
from tavern_format.limits import DEFAULT_LIMITS
from tavern_format.world_book import BookSpelling, Entry, Unread, WorldBook


def dump_world_book(book: WorldBook, *, indent: int | None = None) -> bytes:
    """Write a book as JSON in its own spelling.

    Unedited books give the JSON they were read from. Entries of another spelling are converted.
    """
    return json_text.dump(book_to_json(book), indent=indent)


def book_to_json(book: WorldBook) -> JsonObject:
    """Give the book as a JSON object in its own spelling (see `dump_world_book`)."""
    outer: JsonObject = {} if book.origin is None else book.origin.raw
    inner = inner_book(outer)
    key = container_key(book.spelling)
    spec = SPECS[book.spelling]
    before = inner.get(key)
    items = _merge_unread(_encode_entries(book.entries, spec, book.spelling), book.unread)
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
    book: WorldBook, spelling: BookSpelling, *, name: str = "", report: Report | None = None
) -> WorldBook:
    """Convert a book to SillyTavern's file or to a card's `character_book`.

    `name` stands in where the book has none. What the target cannot hold is kept in `extensions`
    (and, in a file made from a `character_book`, in `originalData` as SillyTavern keeps it; of a
    foreign book the whole original, under `extensions.tavern_format`).
    Raises UnsupportedVersionError (WORLD_BOOK_SPELLING) for a target nobody can read back.
    """
    if spelling not in ENTRY_SPECS:
        message = "books are written for SillyTavern or for cards only"
        raise UnsupportedVersionError("WORLD_BOOK_SPELLING", message, spec=spelling)
    if book.spelling is spelling:
        return book
    remarks: Report = report or _drop
    raw = book_to_json(book)
    entries = _entry_objects(raw, book.spelling)
    if book.spelling is BookSpelling.CHARACTER_BOOK:
        converted = book_to_file(inner_book(raw), entries, remarks)
    elif book.spelling is BookSpelling.WORLD_INFO:
        converted = book_from_file(raw, entries, book.name or name)
    else:
        converted = _foreign_file(book, entries, remarks)
        if spelling is BookSpelling.CHARACTER_BOOK:
            items = converted["entries"].values()
            converted = book_from_file(converted, items, book.name or name)
    return book_from_json(converted, remarks, DEFAULT_LIMITS)


def _foreign_file(book: WorldBook, entries: Sequence[JsonObject], report: Report) -> JsonObject:
    place = pointer("", container_key(book.spelling))
    for at, raw in enumerate(entries):
        remark_conversion(book.spelling, raw, pointer(place, at), report)
    converted = [foreign_to_file(book.spelling, raw, at) for at, raw in enumerate(entries)]
    named = {} if book.name is None else {"name": book.name}
    return {
        "entries": {str(at): raw for at, raw in enumerate(converted)},
        **named,
        "extensions": {KEPT: {"original": dict(book.raw)}},
    }


def _drop(_: Diagnostic) -> None:
    """Ignore remarks nobody asked for."""


def _encode_entries(
    entries: Sequence[Entry], spec: Spec[Entry], spelling: BookSpelling
) -> list[tuple[str | int | None, JsonObject]]:
    items: list[tuple[str | int | None, JsonObject]] = []
    for at, entry in enumerate(entries):
        origin = entry.origin
        own = origin is not None and origin.spec.name == spec.name
        key = origin.key if own and origin is not None else None
        items.append((key, spec.encode(entry if own else _adopt(entry, spec, spelling, at))))
    return items


def _adopt(entry: Entry, spec: Spec[Entry], spelling: BookSpelling, at: int) -> Entry:
    """Give an entry of the other spelling an origin in this one, so that nothing of it is lost."""
    if entry.origin is None or spelling not in ENTRY_SPECS:
        return entry
    raw = entry.origin.spec.encode(entry)
    source = entry.origin.spec.name
    if source == BookSpelling.CHARACTER_BOOK:
        raw = entry_to_file(raw, at)
    elif source != BookSpelling.WORLD_INFO:
        raw = foreign_to_file(BookSpelling(source), raw, at)
    if spelling is BookSpelling.CHARACTER_BOOK:
        raw = entry_to_book(raw)
    return spec.decode(raw, "", _drop, at)


def _merge_unread(
    items: list[tuple[str | int | None, JsonObject]], unread: Sequence[Unread]
) -> list[tuple[str | int | None, Any]]:
    merged: list[tuple[str | int | None, Any]] = list(items)
    for item in unread:
        merged.insert(min(item.index, len(merged)), (item.key, item.value))
    return merged


def _is_array(book: WorldBook, before: object) -> bool:
    if isinstance(before, dict | list):
        return isinstance(before, list)
    return book.spelling is not BookSpelling.WORLD_INFO


def _pack(
    items: Sequence[tuple[str | int | None, Any]], *, as_array: bool
) -> JsonObject | list[Any]:
    if as_array:
        return [value for _, value in items]
    taken = {str(key) for key, _ in items if key is not None}
    packed: JsonObject = {}
    for key, value in items:
        own = None if key is None or str(key) in packed else str(key)
        packed[_free_key(value, taken | packed.keys()) if own is None else own] = value
    return packed


def _free_key(value: object, taken: set[str]) -> str:
    uid = value.get("uid") if isinstance(value, dict) else None
    if uid is not None and str(uid) not in taken:
        return str(uid)
    return str(next(number for number in range(len(taken) + 1) if str(number) not in taken))


def _unchanged(before: object, after: JsonObject | list[Any]) -> bool:
    """Compare by identity: entries nobody edited are the very objects that were read."""
    if isinstance(before, dict) and isinstance(after, dict):
        return list(before) == list(after) and all(map(_is, before.values(), after.values()))
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(_is, before, after))
    return False


def _is(left: object, right: object) -> bool:
    return left is right


def _entry_objects(raw: JsonObject, spelling: BookSpelling) -> list[JsonObject]:
    container = inner_book(raw)[container_key(spelling)]
    values = container.values() if isinstance(container, dict) else container
    return [value for value in values if isinstance(value, dict)]
