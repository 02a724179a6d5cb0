"""A smaller case with the same fault: drop and simplify for as long as it still disagrees.

Greedy and bounded: every accepted step makes the case smaller, and the number of tries is limited.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from tests.oracle._generator import SETTINGS, TEMPLATE

Json = dict[str, Any]
Disagrees = Callable[[Json], bool]

MOST_TRIES = 1500

_PLAIN: Mapping[str, Any] = {
    "settings": SETTINGS,
    "scan_data": {},
    "trigger": "normal",
    "dry_run": False,
    "random": 0.5,
    "tokenizer": "len4",
    "max_context": 10_000,
    "character": {"name": "Char", "avatar": "Char.png", "tags": []},
    "extension_prompts": {},
    "forced": [],
    "regex_scripts": [],
    "timed_state_before": {"sticky": {}, "cooldown": {}},
    "author_note_active": False,
    "author_note": "",
}
"""What a case has where nothing is of interest."""
_UNTOLD = frozenset({"id", "note", "chat_length", "user_name"})
_SHORTEST_CUT_CHARS = 2


def shrink(case: Json, disagrees: Disagrees) -> Json:
    """Make a case that disagrees as small as a few rounds of tries can."""
    tries = 0
    shrunk = True
    while shrunk and tries < MOST_TRIES:
        shrunk = False
        for smaller in _smaller(case):
            tries += 1
            if tries >= MOST_TRIES:
                break
            if disagrees(smaller):
                case, shrunk = smaller, True
                break
    return case


def telling(case: Json) -> Json:
    """Leave out what is as in every case: for a person to read."""
    books = [
        {**book, "entries": [_telling_entry(entry) for entry in book["entries"]]}
        for book in case["books"]
    ]
    rest = {
        name: value for name, value in case.items() if name not in _PLAIN or _PLAIN[name] != value
    }
    shown = {**rest, "books": books}
    if "settings" in rest:
        settings = case["settings"]
        shown["settings"] = {
            name: settings[name] for name in settings if settings[name] != SETTINGS.get(name)
        }
    return {name: value for name, value in shown.items() if name not in _UNTOLD}


def _telling_entry(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    told = {name: value for name, value in entry.items() if TEMPLATE.get(name, entry) != value}
    absent = [name for name in TEMPLATE if name not in entry]
    return {**told, "(absent)": absent} if absent else told


def _smaller(case: Json) -> Iterator[Json]:
    """Give smaller cases, the boldest first."""
    yield from _plainer(case, _PLAIN)
    for settings in _plainer(case["settings"], SETTINGS):
        yield {**case, "settings": settings}
    for chat in _smaller_chat(case["chat"]):
        yield {**case, "chat": chat, "chat_length": len(chat)}
    for books in _smaller_books(case["books"]):
        yield {**case, "books": books}
    for place in ("scan_data", "extension_prompts", "timed_state_before", "random"):
        for value in _smaller_value(case[place]):
            if value != []:
                yield {**case, place: value}


def _plainer(value: Json, plain: Mapping[str, Any]) -> Iterator[Json]:
    """Set one key to what it is where nothing is of interest."""
    for name, wanted in plain.items():
        if value.get(name, wanted) != wanted:
            yield {**value, name: deepcopy(wanted)}


def _smaller_chat(chat: Sequence[Json]) -> Iterator[list[Json]]:
    yield from _shorter(chat)
    for at, message in enumerate(chat):
        for text in _shorter_text(message["text"]):
            yield _with(chat, at, {**message, "text": text})


def _smaller_books(books: Sequence[Json]) -> Iterator[list[Json]]:
    yield from (fewer for fewer in _shorter(books) if fewer)
    for at, book in enumerate(books):
        for smaller in _smaller_book(book):
            yield _with(books, at, smaller)


def _smaller_book(book: Json) -> Iterator[Json]:
    entries = book["entries"]
    keys = book.get("entry_keys")
    for place in reversed(range(len(entries))):
        smaller = {**book, "entries": entries[:place] + entries[place + 1 :]}
        yield smaller if keys is None else {
            **smaller, "entry_keys": keys[:place] + keys[place + 1 :]
        }  # fmt: skip
    if book["source"] != "global":
        yield {**book, "source": "global"}
    for at, entry in enumerate(entries):
        if isinstance(entry, dict):
            for smaller_entry in _smaller_entry(entry):
                yield {**book, "entries": _with(entries, at, smaller_entry)}


def _smaller_entry(entry: Json) -> Iterator[Json]:
    yield from _plainer(entry, TEMPLATE)
    for name in TEMPLATE.keys() - entry.keys():
        yield {**entry, name: deepcopy(TEMPLATE[name])}
    for name in entry.keys() - TEMPLATE.keys() - {"uid"}:
        yield {other: value for other, value in entry.items() if other != name}
    for name in ("key", "keysecondary", "content", "group"):
        for value in _smaller_value(entry.get(name)):
            yield {**entry, name: value}


def _smaller_value(value: Any) -> Iterator[Any]:
    """Make any JSON value smaller."""
    if isinstance(value, str):
        yield from _shorter_text(value)
    elif isinstance(value, list):
        yield from _shorter(value)
        for at, item in enumerate(value):
            for smaller in _smaller_value(item):
                yield _with(value, at, smaller)
    elif isinstance(value, dict):
        for name in value:
            if name not in ("sticky", "cooldown"):
                yield {other: kept for other, kept in value.items() if other != name}
        for name, item in value.items():
            for smaller in _smaller_value(item):
                yield {**value, name: smaller}


def _shorter(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Keep one half, or the other, then drop single items."""
    half = len(items) // 2
    if half:
        yield list(items[:half])
        yield list(items[half:])
    for at in range(len(items)):
        yield [*items[:at], *items[at + 1 :]]


def _shorter_text(text: str) -> Iterator[str]:
    half = len(text) // 2
    if half >= _SHORTEST_CUT_CHARS:
        yield text[:half]
        yield text[half:]
    for at in range(len(text)):
        yield text[:at] + text[at + 1 :]


def _with(items: Sequence[Any], at: int, item: Any) -> list[Any]:
    return [*items[:at], item, *items[at + 1 :]]
