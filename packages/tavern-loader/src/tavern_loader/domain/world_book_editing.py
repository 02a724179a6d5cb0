"""Edits of stored world books: which entry is meant, what may change, what a new one begins as.

Owns the matching of edited entries to kept ones. Must not know files or matching of keys.

Source: the plugin contract, section F.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tavern_loader.domain.documents import JsonObject
from tavern_loader.domain.js_values import list_of, object_of, require, text_of, whole_of
from tavern_loader.domain.world_book_document import (
    SETTINGS,
    book_of_raw,
    exported_world_book,
    form_of,
    key_of,
)
from tavern_loader.domain.world_book_fields import CHARACTER_BOOK, WORLD_INFO, Entry, read_entry
from tavern_loader.domain.world_book_limits import require_structure
from tavern_loader.domain.world_book_values import POSITIONS

_EDITABLE = (
    "keys",
    "secondaryKeys",
    "comment",
    "content",
    "enabled",
    "constant",
    "selective",
    "insertionOrder",
    "position",
    "selectiveLogic",
    "probability",
    "useProbability",
    "caseSensitive",
    "matchWholeWords",
)
_NEW_RAW: Mapping[str, JsonObject] = {
    WORLD_INFO: {
        "key": [], "keysecondary": [], "comment": "", "content": "", "disable": False,
        "constant": False, "selective": False, "order": 100, "position": 1, "probability": 100,
        "useProbability": True,
    },
    CHARACTER_BOOK: {
        "keys": [], "secondary_keys": [], "comment": "", "content": "", "enabled": True,
        "constant": False, "selective": False, "insertion_order": 100, "position": "after_char",
        "extensions": {"position": 1, "probability": 100, "useProbability": True},
    },
}  # fmt: skip
"""What a new entry begins as."""


def edited_world_book(document: dict[str, Any], patch: JsonObject, now: str) -> dict[str, Any]:
    """Change a book, in the plugin's form and in its own spelling alike.

    `patch` is a book, or an object with one under `book`: name, description, settings, entries;
    what it leaves out stays. Entries are known by uid and key. Raises ValueError for a value of
    another kind, StoreError for a book over a limit.
    """
    given = object_of(patch["book"]) if isinstance(patch.get("book"), Mapping) else patch
    book = dict(object_of(document.get("book")))
    for name in ("name", "description"):
        if name in given:
            require(isinstance(given[name], str), f"{name} is no text")
            book[name] = given[name]
    if "settings" in given:
        wanted = object_of(given["settings"])
        chosen = {name: wanted[name] for name in SETTINGS if name in wanted}
        book["settings"] = {**object_of(book.get("settings")), **chosen}
    form = form_of(book)
    if "entries" in given:
        require(isinstance(given["entries"], list), "entries is no list")
        book["entries"] = [*_edited_entries(list_of(book.get("entries")), given["entries"], form)]
    raw = exported_world_book({**document, "book": book})
    # A file that had no name of its own does not get one from the document's.
    raw.update({"name": book["name"]} if "name" in given else {})
    require_structure(raw)
    done = book_of_raw(raw, text_of(book.get("name")))
    return {
        **document,
        "name": done["name"] or document["name"],
        "updatedAt": now,
        "book": done,
    }


def _edited_entries(held: Sequence[Entry], given: Sequence[object], form: str) -> Iterator[Entry]:
    left = list(held)
    uids = [number for entry in held if (number := whole_of(entry.get("uid"), 0)) is not None]
    fresh = max(uids, default=-1) + 1
    for at, wanted in enumerate(given):
        require(isinstance(wanted, Mapping), f"entry {at} is no object")
        patch = object_of(wanted)
        entry = _take(left, patch)
        if entry is None:
            entry = _new_entry(patch, fresh, form)
            fresh += 1
        position = patch.get("position", entry.get("position"))
        require(position in POSITIONS, f"the position of entry {at} is not known")
        yield {**entry, **{name: patch[name] for name in _EDITABLE if name in patch}}


def _take(left: list[Entry], patch: JsonObject) -> Entry | None:
    """Find the entry that a patch is about, by uid and key, else by its uid."""
    for same in (
        lambda entry: (entry.get("uid"), key_of(entry)) == (patch.get("uid"), key_of(dict(patch))),
        lambda entry: "uid" in patch and entry.get("uid") == patch["uid"],
    ):
        for at, entry in enumerate(left):
            if same(entry):
                return left.pop(at)
    return None


def _new_entry(patch: JsonObject, fresh: int, form: str) -> Entry:
    uid = patch.get("uid")
    is_own = (isinstance(uid, str) and uid) or whole_of(uid, 0) is not None
    raw = {"id" if form == CHARACTER_BOOK else "uid": uid if is_own else fresh, **_NEW_RAW[form]}
    number = fresh
    source = {"key": f"entry-{number}", "index": number, "raw": raw}
    entry = read_entry(raw, form, number, lambda _code, _path, _message: None)
    return {"uid": uid if is_own else fresh, **entry, "source": source}
