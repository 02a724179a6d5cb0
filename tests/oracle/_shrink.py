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


def _smaller(case: Json) -> Iterator[Json]:
    """Give smaller cases, the boldest first."""
    for name, plain in _PLAIN.items():
        if name in case and case[name] != plain:
            yield {**case, name: deepcopy(plain)}
    for name, plain in SETTINGS.items():
        if case["settings"].get(name) != plain:
            yield {**case, "settings": {**case["settings"], name: plain}}
    for chat in _shorter(case["chat"], most_left=-1):
        yield {**case, "chat": chat, "chat_length": len(chat)}
    for at, message in enumerate(case["chat"]):
        for text in _shorter_text(message["text"]):
            chat = _with(case["chat"], at, {**message, "text": text})
            yield {**case, "chat": chat}
    for books in _smaller_books(case["books"]):
        yield {**case, "books": books}
    for place in ("scan_data", "extension_prompts", "timed_state_before"):
        for value in _smaller_value(case[place]):
            yield {**case, place: value}
    if isinstance(case["random"], list):
        for numbers in _shorter(case["random"], most_left=1):
            yield {**case, "random": numbers}


def _smaller_books(books: Sequence[Json]) -> Iterator[list[Json]]:
    yield from _shorter(books, most_left=1)
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
    for name, plain in TEMPLATE.items():
        if name not in entry:
            yield {**entry, name: deepcopy(plain)}
        elif entry[name] != plain:
            yield {**entry, name: deepcopy(plain)}
    for name in entry.keys() - TEMPLATE.keys() - {"uid"}:
        yield {other: value for other, value in entry.items() if other != name}
    for name in ("key", "keysecondary"):
        if isinstance(entry.get(name), list):
            for keys in _smaller_value(entry[name]):
                yield {**entry, name: keys}
    for name in ("content", "group"):
        if isinstance(entry.get(name), str):
            for text in _shorter_text(entry[name]):
                yield {**entry, name: text}


def _smaller_value(value: Any) -> Iterator[Any]:
    """Make any JSON value smaller."""
    if isinstance(value, str):
        yield from _shorter_text(value)
    elif isinstance(value, list):
        yield from _shorter(value, most_left=-1)
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


def _shorter(items: Sequence[Any], *, most_left: int) -> Iterator[list[Any]]:
    """Drop one half, the other, then single items; never fewer than `most_left` remain."""
    half = len(items) // 2
    candidates = [list(items[:half]), list(items[half:])] if half else []
    candidates += [[*items[:at], *items[at + 1 :]] for at in range(len(items))]
    for candidate in candidates:
        if most_left <= len(candidate) < len(items):
            yield candidate


def _shorter_text(text: str) -> Iterator[str]:
    half = len(text) // 2
    if half >= _SHORTEST_CUT_CHARS:
        yield text[:half]
        yield text[half:]
    for at in range(len(text)):
        yield text[:at] + text[at + 1 :]


def _with(items: Sequence[Any], at: int, item: Any) -> list[Any]:
    return [*items[:at], item, *items[at + 1 :]]
