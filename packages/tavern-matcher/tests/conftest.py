"""What most tests of the matcher need: a scan of a few entries in one call."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tavern_format import Entry, WorldBook, parse_world_book
from tavern_matcher import (
    MatchResult,
    MatchSettings,
    NamedBook,
    ScanContext,
    ScanMessage,
    compile_index,
    match,
)

Scan = Callable[..., MatchResult]


@pytest.fixture
def scan() -> Scan:
    """Give a function: entries and texts (newest last) in, the result out.

    Entries are models, or JSON objects as in SillyTavern's file. What is not known goes to `match`.
    """

    def run(
        entries: Sequence[Entry] | Sequence[dict[str, Any]] | WorldBook,
        *texts: str,
        settings: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        **more: Any,
    ) -> MatchResult:
        named = NamedBook(name="b", book=book_of(entries))
        index = compile_index(
            [named], MatchSettings(**{"include_names": False, **(settings or {})})
        )
        messages = tuple(
            ScanMessage(identity=str(number), text=text) for number, text in enumerate(texts)
        )
        given = ScanContext(messages=messages, **(context or {}))
        more.setdefault("dice", lambda _: 0.5)
        return match(index, given, **more)

    return run


def book_of(entries: Sequence[Entry] | Sequence[dict[str, Any]] | WorldBook) -> WorldBook:
    if isinstance(entries, WorldBook):
        return entries
    if all(isinstance(entry, Entry) for entry in entries):
        return WorldBook(entries=tuple(entries))  # type: ignore[arg-type]
    import json

    document = {"entries": {str(at): entry for at, entry in enumerate(entries)}}
    return parse_world_book(json.dumps(document).encode()).value


@pytest.fixture
def fired() -> Callable[[MatchResult], list[object]]:
    """Give a function that lists the uids of what fired, in order."""
    return lambda result: [one.entry.uid for one in result.activated]
