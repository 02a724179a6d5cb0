"""Stored world books: from a book to the document, to the book again, and edits.

Owns the normal form of a book that the document shows; its entries are in `world_book_fields`. A
document whose entries nobody edited is the book as it came. Must not know files or matching.

Source: the plugin contract, sections A9, B1, B2 and F.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from tavern_format import Parsed, WorldBook, parse_world_book
from tavern_loader.domain.documents import DOCUMENT_SCHEMA, JsonObject
from tavern_loader.domain.js_values import (
    file_name_of,
    list_of,
    object_of,
    text_of,
    whole_of,
)
from tavern_loader.domain.world_book_fields import (
    CHARACTER_BOOK,
    WORLD_INFO,
    Entry,
    missing_keys,
    read_entry,
    write_entry,
)
from tavern_loader.domain.world_book_limits import require_structure

DOCUMENT_KIND = "world-book-document"
SETTINGS = {
    "scanDepth": "scan_depth",
    "tokenBudget": "token_budget",
    "recursiveScanning": "recursive_scanning",
}


@frozen(kw_only=True)
class BookOrigin:
    """Where a book came from."""

    file_name: str
    sha256: str
    byte_length: int


def new_world_book(
    raw: JsonObject, origin: BookOrigin, *, document_id: str, name: str, now: str
) -> dict[str, Any]:
    """Make the document of a book, as SillyTavern's file or a card has it, imported at `now`.

    Raises ValueError for what is no book, StoreError for one over a limit.
    """
    require_structure(raw)
    book = book_of_raw(raw, text_of(raw.get("name")) or name)
    return {
        "schemaVersion": DOCUMENT_SCHEMA,
        "kind": DOCUMENT_KIND,
        "id": document_id,
        "name": book["name"],
        "createdAt": now,
        "updatedAt": now,
        "source": {
            "format": book["source"]["format"],
            "fileName": file_name_of(origin.file_name, "world-book.json"),
            "byteLength": origin.byte_length,
            "sha256": origin.sha256,
        },
        "book": book,
    }


def world_book_of(document: JsonObject) -> Parsed[WorldBook]:
    """Give the book that a document stands for.

    Raises FormatError for a document that holds no usable book.
    """
    return parse_world_book(json.dumps(exported_world_book(document)).encode())


def exported_world_book(document: JsonObject) -> dict[str, Any]:
    """Give the book in its own spelling: as it came, with the edits of the document."""
    book = object_of(document.get("book"))
    source = object_of(book.get("source"))
    raw = dict(object_of(source.get("raw")))
    form = form_of(book)
    name = book.get("name")
    if text_of(raw.get("name")) and isinstance(name, str):  # else the document's is made up
        raw["name"] = name
    if text_of(book.get("description")) != text_of(raw.get("description")):
        raw["description"] = text_of(book.get("description"))
    settings = object_of(book.get("settings"))
    for ours, key in SETTINGS.items():
        if settings.get(ours) != _settings(raw).get(ours):
            raw.pop(key, None)
            raw.update({key: settings[ours]} if settings.get(ours) is not None else {})
    entries = [(key_of(entry), _raw_entry(entry, form, at)) for at, entry in _entries(book)]
    raw["entries"] = (
        [entry for _, entry in entries] if form == CHARACTER_BOOK else _keyed(entries, raw)
    )
    return raw


# --- reading ---------------------------------------------------------------------------------


def book_of_raw(raw: JsonObject, name: str) -> dict[str, Any]:
    """Give a book in the plugin's form."""
    form = CHARACTER_BOOK if isinstance(raw.get("entries"), list) else WORLD_INFO
    remarks: list[dict[str, str]] = []
    entries = [*_read_entries(raw, form, remarks)]
    return {
        "schemaVersion": DOCUMENT_SCHEMA,
        "kind": "world-book",
        "name": name,
        "description": text_of(raw.get("description")),
        "settings": {**_settings(raw), "extensions": dict(object_of(raw.get("extensions")))},
        "entries": entries,
        "source": {
            "format": form,
            "entryContainer": "array" if form == CHARACTER_BOOK else "object-map",
            "raw": dict(raw),
        },
        "diagnostics": remarks,
    }


def _settings(raw: JsonObject) -> dict[str, Any]:
    found = {
        "scanDepth": whole_of(raw.get("scan_depth"), 0),
        "tokenBudget": whole_of(raw.get("token_budget"), 0),
        "recursiveScanning": raw.get("recursive_scanning"),
    }
    if not isinstance(found["recursiveScanning"], bool):
        del found["recursiveScanning"]
    return {name: value for name, value in found.items() if value is not None}


def _read_entries(raw: JsonObject, form: str, remarks: list[dict[str, str]]) -> Iterator[Entry]:
    seen: set[tuple[type, str]] = set()
    for index, (key, found) in enumerate(_items(raw)):
        place = f"$.entries[{index}]" if form == CHARACTER_BOOK else f"$.entries[{key!r}]"

        def remark(code: str, path: str, message: str, place: str = place) -> None:
            remarks.append(
                {"severity": "warning", "code": code, "path": f"{place}{path}", "message": message}
            )

        if not isinstance(found, Mapping):
            remark("invalid-entry", "", "This is no entry; it is kept.")
            remarks[-1]["severity"] = "error"
            continue
        for name in missing_keys(found) if form == CHARACTER_BOOK else ():
            remark("missing-required-field", f".{name}", "The usual value stands in for it.")
        uid = _uid(found.get("id" if form == CHARACTER_BOOK else "uid"), index, key, form)
        if (type(uid), str(uid)) in seen:
            remark("duplicate-uid", "", "Another entry has the same uid.")
        seen.add((type(uid), str(uid)))
        source = {"key": key, "index": index, "raw": dict(found)}
        yield {"uid": uid, **read_entry(found, form, index, remark), "source": source}


def _uid(value: object, index: int, key: str, form: str) -> int | str:
    number = whole_of(value, 0)
    if number is not None:
        return number
    if isinstance(value, str) and value:
        return value
    return index if form == CHARACTER_BOOK else key


def _items(raw: JsonObject) -> list[tuple[str, Any]]:
    """List the items of a book with their keys, in the order of a JavaScript object."""
    container = raw.get("entries")
    if not isinstance(container, Mapping):
        return [(str(at), item) for at, item in enumerate(list_of(container))]
    return sorted(container.items(), key=lambda item: _rank(str(item[0])))


_MAX_ARRAY_INDEX = 2**32 - 2


def _rank(key: str) -> tuple[int, int]:
    """Whole numbers come first, by size; all others stay as they come."""
    is_index = key.isascii() and key.isdecimal() and (key == "0" or key[0] != "0")
    return (0, int(key)) if is_index and int(key) <= _MAX_ARRAY_INDEX else (1, 0)


# --- writing ---------------------------------------------------------------------------------


def _entries(book: JsonObject) -> Iterator[tuple[int, Entry]]:
    for at, entry in enumerate(list_of(book.get("entries"))):
        if isinstance(entry, dict):
            yield at, entry


def form_of(book: JsonObject) -> str:
    """Tell the spelling of a book."""
    is_card = object_of(book.get("source")).get("format") == CHARACTER_BOOK
    return CHARACTER_BOOK if is_card else WORLD_INFO


def key_of(entry: Entry) -> str:
    """Give the key that an entry had in its book."""
    return text_of(object_of(entry.get("source")).get("key"))


def _raw_entry(entry: Entry, form: str, at: int) -> Entry:
    source = object_of(entry.get("source"))
    raw = object_of(source.get("raw"))
    index = whole_of(source.get("index"), 0)
    done = write_entry(entry, raw, form, at if index is None else index)
    key = "id" if form == CHARACTER_BOOK else "uid"
    if entry.get("uid") != _uid(raw.get(key), at if index is None else index, key_of(entry), form):
        done[key] = entry.get("uid")
    return done


def _keyed(entries: Sequence[tuple[str, Entry]], raw: JsonObject) -> dict[str, Any]:
    """Put entries under their keys, and the items that are none back beside them."""
    keyed: dict[str, Any] = {}
    for at, (key, entry) in enumerate(entries):
        name = key or str(entry.get("uid", at))
        keyed[name if name not in keyed else f"{name}-{at}"] = entry
    others = {
        key: item
        for key, item in object_of(raw.get("entries")).items()
        if not isinstance(item, Mapping)
    }
    before = list(object_of(raw.get("entries")))
    rank = {key: at for at, key in enumerate(before)}
    joined = {**others, **keyed}
    return {key: joined[key] for key in sorted(joined, key=lambda key: rank.get(key, len(rank)))}
