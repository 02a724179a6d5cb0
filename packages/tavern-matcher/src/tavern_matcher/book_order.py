"""Which books are used, and in which order their entries are visited.

Owns loading order, double loading, sorting by strategy. Must not know keys or messages.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, getSortedEntries, getCharacterLore,
getChatLore, getPersonaLore.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from math import isnan
from typing import TypeVar

from attrs import frozen

from tavern_format import BookSpelling, Entry, WorldBook
from tavern_matcher._js import object_key_rank, sort_descending
from tavern_matcher.rules import Rules
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.settings import CharacterStrategy

T = TypeVar("T")


class BookSource(StrEnum):
    """Why a book is active; it decides when its entries are visited."""

    GLOBAL = "global"
    CHARACTER = "character"
    CHAT = "chat"
    PERSONA = "persona"


@frozen(kw_only=True)
class NamedBook:
    """A book and the name under which its entries are known."""

    name: str
    book: WorldBook
    source: BookSource = BookSource.GLOBAL


_YIELDS_TO: Mapping[BookSource, frozenset[BookSource]] = {
    BookSource.GLOBAL: frozenset(),
    BookSource.CHARACTER: frozenset({BookSource.GLOBAL, BookSource.CHAT, BookSource.PERSONA}),
    BookSource.CHAT: frozenset({BookSource.GLOBAL}),
    BookSource.PERSONA: frozenset({BookSource.GLOBAL, BookSource.CHAT}),
}
"""As what a book is not loaded if it is bound as one of these, too."""


def check_names(books: Sequence[NamedBook]) -> None:
    """Refuse two different books of one name; one book can be bound more than once."""
    known: dict[str, WorldBook] = {}
    for named in books:
        if known.setdefault(named.name, named.book) is not named.book:
            raise ValueError(f"two books have one name: {named.name}")


def loaded(books: Sequence[NamedBook], rules: Rules) -> Iterator[tuple[int, NamedBook]]:
    """Give the books that are used, each with its place in what was given."""
    bound: dict[str, set[BookSource]] = {}
    for named in books:
        bound.setdefault(named.name, set()).add(named.source)
    seen: set[tuple[str, BookSource]] = set()
    for place, named in enumerate(books):
        twice = (named.name, named.source) in seen and (
            named.source is not BookSource.GLOBAL or not rules.loads_book_twice
        )
        seen.add((named.name, named.source))
        if not twice and not _YIELDS_TO[named.source] & bound[named.name]:
            yield place, named


def visited(book: WorldBook) -> Iterator[tuple[int, Entry | None, object]]:
    """Give the items of a book in the order of a JavaScript object's keys.

    Each with its place: items that are no entries count on from the end of the entries, and come
    without an entry but as the value they are.
    """
    entries = list(book.entries)
    count = len(entries)
    places = list(range(count))
    for at, unread in enumerate(book.unread):
        places.insert(min(unread.index, len(places)), count + at)
    if book.spelling is BookSpelling.WORLD_INFO:
        keys = [_object_key(entry) for entry in entries]
        keys += [str(unread.key) for unread in book.unread]
        ranks = list(map(object_key_rank, keys))
        places.sort(key=ranks.__getitem__)
    for place in places:
        if place < count:
            yield place, entries[place], None
        else:
            yield place, None, book.unread[place - count].value


def _object_key(entry: Entry) -> str:
    return "" if entry.origin is None else str(entry.origin.key)


def by_strategy(
    books: Sequence[tuple[NamedBook, list[ScanEntry]]], strategy: CharacterStrategy
) -> Iterator[ScanEntry]:
    """Chat and persona books come first, then the others as the strategy says."""
    of = {
        source: [entry for named, entries in books if named.source is source for entry in entries]
        for source in BookSource
    }
    yield from by_order(of[BookSource.CHAT])
    yield from by_order(of[BookSource.PERSONA])
    if strategy is CharacterStrategy.EVENLY:
        yield from by_order([*of[BookSource.GLOBAL], *of[BookSource.CHARACTER]])
        return
    sources = [BookSource.CHARACTER, BookSource.GLOBAL]
    if strategy is CharacterStrategy.GLOBAL_FIRST:
        sources.reverse()
    for source in sources:
        yield from by_order(of[source])


def by_order(entries: Sequence[ScanEntry]) -> list[ScanEntry]:
    """Sort by order, highest first; equal ones stay as they come."""
    if any(isnan(entry.order) for entry in entries):
        return sort_descending([(entry.order, entry) for entry in entries])
    return sorted(entries, key=lambda entry: -entry.order)
