"""Reading and writing whole world books.

Recognises the spelling, reads every entry through its table, reports what a person should know, and
writes a book back so that only edits show. The rules of a single entry are in `_entry_spellings`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from tavern_format import _json_text as json_text
from tavern_format._entry_spellings import ENTRY_SPECS
from tavern_format._foreign_books import (
    FOREIGN_SPECS,
    container_key,
    detect_foreign,
    foreign_to_file,
)
from tavern_format._json_text import JsonObject
from tavern_format._kinds import FLAG, MAPPING, NUMBER, TEXT, optional
from tavern_format._structure import Field, Origin, Spec, json_type
from tavern_format.book_conversion import (
    book_from_file,
    book_to_file,
    entry_to_book,
    entry_to_file,
)
from tavern_format.diagnostics import Diagnostic, Parsed, Report, error, info, pointer, warn
from tavern_format.errors import LimitExceededError, MalformedResourceError, UnsupportedVersionError
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.png_chunks import PNG_SIGNATURE, read_naidata
from tavern_format.world_book import BookSpelling, Entry, Unread, WorldBook

_SPECS: dict[BookSpelling, Spec[Entry]] = {**ENTRY_SPECS, **FOREIGN_SPECS}
_BOOK_SPEC = Spec(
    "world-book",
    WorldBook,
    (
        Field("name", ("name",), optional(TEXT)),
        Field("description", ("description",), TEXT, default=""),
        Field("scan_depth", ("scan_depth",), optional(NUMBER)),
        Field("token_budget", ("token_budget",), optional(NUMBER)),
        Field("recursive_scanning", ("recursive_scanning",), optional(FLAG)),
        Field("extensions", ("extensions",), MAPPING, default={}),
    ),
)
_UNMAPPED = {
    "excludeRecursion", "preventRecursion", "delayUntilRecursion", "displayIndex", "groupOverride",
    "groupWeight", "scanDepth", "caseSensitive", "matchWholeWords", "useGroupScoring",
    "automationId", "outletName", "ignoreBudget",
}
"""Spellings that other tools write into `extensions` and SillyTavern does not read."""


def parse_world_book(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[WorldBook]:
    """Parse a world book in any known spelling: JSON, or a NovelAI lorebook PNG.

    Entries come in the order of the file. Raises MalformedResourceError (JSON_*, EMPTY_INPUT,
    ENCODING_NOT_UTF8, WORLD_BOOK_SHAPE), CarrierError (PNG_*) and LimitExceededError.
    Source: SillyTavern 1.19.0, public/scripts/world-info.js, importWorldInfo.
    """
    json_text.check_size(data, limits)
    found: list[Diagnostic] = []
    if data[:8] == PNG_SIGNATURE:
        payload = read_naidata(data, limits, found.append)
        if payload is None:
            message = "the PNG holds no NovelAI lorebook"
            raise MalformedResourceError("WORLD_BOOK_SHAPE", message)
        data = payload
    document = json_text.load(data, limits, found.append)
    book = book_from_json(document, found.append, limits)
    return Parsed(book, tuple(found))


def dump_world_book(book: WorldBook, *, indent: int | None = None) -> bytes:
    """Write a book as JSON in its own spelling.

    Unedited books give the JSON they were read from. Entries of another spelling are converted.
    """
    return json_text.dump(book_to_json(book), indent=indent)


def book_from_json(
    document: object, report: Report, limits: Limits, *, path: str = ""
) -> WorldBook:
    """Read a book from parsed JSON; `path` is its place in the document. Raises as the parser."""
    outer = _require_object(document, path)
    spelling, inner, inside = _recognise(outer, path)
    key = container_key(spelling)
    container = _container(inner, key, spelling, inside, report)
    items = list(container.items() if isinstance(container, dict) else enumerate(container))
    if len(items) > limits.entries:
        raise LimitExceededError(
            limit="entries", actual=len(items), maximum=limits.entries, unit="entries"
        )
    place = pointer(inside, key)
    entries, unread = _read_items(items, spelling, place, report)
    book = _BOOK_SPEC.decode(inner, inside, report)
    return attrs.evolve(
        book,
        entries=entries,
        spelling=spelling,
        unread=unread,
        origin=Origin(_BOOK_SPEC, outer, 0),
    )


def book_to_json(book: WorldBook) -> JsonObject:
    """Give the book as a JSON object in its own spelling (see `dump_world_book`)."""
    outer: JsonObject = {} if book.origin is None else book.origin.raw
    inner = _inner(outer)
    key = container_key(book.spelling)
    spec = _SPECS[book.spelling]
    before = inner.get(key)
    items = _merge_unread(_encode_entries(book.entries, spec, book.spelling), book.unread)
    container = _pack(items, as_array=_is_array(book, before))
    head = _BOOK_SPEC.encode(attrs.evolve(book, origin=Origin(_BOOK_SPEC, inner, 0)))
    if book.origin is None:
        head = {name: value for name, value in head.items() if value not in (None, "", {})}
    if _unchanged(before, container):
        container = before
    if head is inner and container is before:
        return outer
    edited = {**head, key: container}
    return edited if inner is outer else {**outer, "data": edited}


def convert_world_book(
    book: WorldBook, spelling: BookSpelling, *, name: str = "", report: Report | None = None
) -> WorldBook:
    """Convert a book to SillyTavern's file or to a card's `character_book`.

    `name` stands in where the book has none. What the target cannot hold is kept in `extensions`
    (and, in a file made from a `character_book`, in `originalData` as SillyTavern keeps it).
    Raises UnsupportedVersionError (WORLD_BOOK_SPELLING) for a target nobody can read back.
    """
    if spelling not in ENTRY_SPECS:
        message = "books are written for SillyTavern or for cards only"
        raise UnsupportedVersionError("WORLD_BOOK_SPELLING", message, spec=spelling)
    if book.spelling is spelling:
        return book
    remarks: Report = report or _drop
    raw = book_to_json(book)
    entries = [raw_entry for raw_entry in _entry_objects(raw, book.spelling)]
    if book.spelling is BookSpelling.CHARACTER_BOOK:
        converted = book_to_file(_inner(raw), entries, remarks)
    elif book.spelling is BookSpelling.WORLD_INFO:
        converted = book_from_file(raw, entries, book.name or name)
    else:
        converted = _foreign_file(book, entries)
        if spelling is BookSpelling.CHARACTER_BOOK:
            items = converted["entries"].values()
            converted = book_from_file(converted, items, book.name or name)
    return book_from_json(converted, remarks, DEFAULT_LIMITS)


def _foreign_file(book: WorldBook, entries: Sequence[JsonObject]) -> JsonObject:
    converted = [foreign_to_file(book.spelling, raw, at) for at, raw in enumerate(entries)]
    named = {} if book.name is None else {"name": book.name}
    return {
        "entries": {str(at): raw for at, raw in enumerate(converted)},
        **named,
        "originalData": dict(book.raw),
    }


def _drop(_: Diagnostic) -> None:
    """Ignore remarks nobody asked for."""


def _require_object(document: object, path: str) -> JsonObject:
    if isinstance(document, dict):
        return document
    message = f"a world book is an object, not {json_type(document)}"
    if isinstance(document, list):
        message += " (a bare list of entries is no book: put it under `entries`)"
    raise MalformedResourceError("WORLD_BOOK_SHAPE", message, path=path)


def _recognise(outer: JsonObject, path: str) -> tuple[BookSpelling, JsonObject, str]:
    foreign = detect_foreign(outer)
    if foreign is not None:
        return foreign, outer, path
    inner = _inner(outer)
    inside = path if inner is outer else pointer(path, "data")
    if "entries" not in inner:
        message = "no `entries`"
        if "character_book" in _object(outer.get("data")):
            message += " (this is a character card; its book is inside the card)"
        raise MalformedResourceError("WORLD_BOOK_SHAPE", message, path=inside)
    return _spelling_of(inner["entries"]), inner, inside


def _inner(outer: JsonObject) -> JsonObject:
    """Step into the `data` of a stand-alone V3 lorebook."""
    inner = outer.get("data")
    wrapped = "entries" not in outer and isinstance(inner, dict) and "entries" in inner
    return inner if wrapped and isinstance(inner, dict) else outer


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _spelling_of(entries: object) -> BookSpelling:
    """Tell the two spellings apart by what the entries call their keys."""
    items = entries.values() if isinstance(entries, dict) else entries
    if isinstance(entries, dict | list):
        for item in items:  # type: ignore[attr-defined]
            if isinstance(item, dict):
                book_like = "keys" in item or ("insertion_order" in item or "enabled" in item)
                return (
                    BookSpelling.CHARACTER_BOOK
                    if book_like and "key" not in item and "uid" not in item
                    else BookSpelling.WORLD_INFO
                )
    return BookSpelling.WORLD_INFO


def _container(
    inner: JsonObject, key: str, spelling: BookSpelling, path: str, report: Report
) -> JsonObject | list[Any]:
    container = inner.get(key)
    if not isinstance(container, dict | list):
        message = f"`{key}` must be an object or an array, not {json_type(container)}"
        raise MalformedResourceError("WORLD_BOOK_SHAPE", message, path=pointer(path, key))
    if isinstance(container, dict) and spelling is not BookSpelling.WORLD_INFO:
        message = "the entries are an object where an array belongs; its values were read in order"
        warn(report, "ENTRIES_SHAPE", pointer(path, key), message)
    return container


def _read_items(
    items: Sequence[tuple[str | int, Any]], spelling: BookSpelling, path: str, report: Report
) -> tuple[Sequence[Entry], tuple[Unread, ...]]:
    good = [(key, raw) for key, raw in items if isinstance(raw, dict)]
    unread: tuple[Unread, ...] = ()
    if len(good) != len(items):
        unread = tuple(
            Unread(at, key, raw) for at, (key, raw) in enumerate(items) if not isinstance(raw, dict)
        )
        for item in unread:
            message = f"{json_type(item.value)} is no entry; it is kept but takes no part"
            error(report, "ENTRY_TYPE", pointer(path, item.key), message)
    keys = [key for key, _ in good]
    objects = [raw for _, raw in good]
    entries = _SPECS[spelling].decode_all(objects, lambda at: pointer(path, keys[at]), report, keys)
    _remark(objects, keys, spelling, path, report)
    return entries, unread


def _remark(
    objects: Sequence[JsonObject],
    keys: Sequence[str | int],
    spelling: BookSpelling,
    path: str,
    report: Report,
) -> None:
    """Report what is allowed but surprises people."""
    if spelling not in ENTRY_SPECS:
        return
    is_file = spelling is BookSpelling.WORLD_INFO
    key_name, uid_name = ("key", "uid") if is_file else ("keys", "id")
    for at, raw in enumerate(objects):
        if key_name not in raw:
            message = f"no `{key_name}`: only a constant entry can fire without keys"
            info(report, "KEYS_MISSING", pointer(path, keys[at]), message)
    _remark_repeated([raw.get(uid_name) for raw in objects], keys, path, report)
    if is_file:
        return
    for at, raw in enumerate(objects):
        place = pointer(path, keys[at])
        if "enabled" not in raw:
            message = "no `enabled`: SillyTavern imports the entry switched off"
            warn(report, "ENABLED_MISSING", place, message)
        for name in sorted(_UNMAPPED.intersection(_object(raw.get("extensions")))):
            message = "SillyTavern does not read this spelling"
            info(report, "EXTENSION_UNMAPPED", pointer(place, "extensions", name), message)


def _remark_repeated(
    uids: Sequence[object], keys: Sequence[str | int], path: str, report: Report
) -> None:
    texts = [uid if isinstance(uid, str) else repr(uid) for uid in uids if uid is not None]
    if len(set(texts)) == len(texts):
        return
    counts = Counter(texts)
    seen: set[str] = set()
    for at, uid in enumerate(uids):
        text = uid if isinstance(uid, str) else repr(uid)
        if uid is not None and counts[text] > 1 and text in seen:
            message = "another entry has the same id; SillyTavern confuses the two"
            warn(report, "UID_REPEATED", pointer(path, keys[at]), message)
        seen.add(text)


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
        name = str(key) if key is not None and str(key) not in packed else None
        packed[name or _free_key(value, taken | packed.keys())] = value
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
    container = _inner(raw)[container_key(spelling)]
    values = container.values() if isinstance(container, dict) else container
    return [value for value in values if isinstance(value, dict)]
