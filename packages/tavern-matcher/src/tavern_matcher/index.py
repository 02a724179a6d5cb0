"""Books made ready for scanning: entries in visiting order, keys prepared, decorators split.

Owns everything that can be said before a message is seen. Must not know messages or state.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, getSortedEntries.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from attrs import field, frozen

from tavern_format import (
    BookSpelling,
    Diagnostic,
    Entry,
    Severity,
    WorldBook,
    split_decorators,
)
from tavern_matcher.decision import EntryId
from tavern_matcher.features import entry_diagnostics
from tavern_matcher.keys import Key, KeyKind, read_key
from tavern_matcher.settings import CharacterStrategy, MatchSettings, setting_diagnostics

_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_LAST_ARRAY_INDEX = 2**32 - 2


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


@frozen(kw_only=True)
class IndexedEntry:
    """An entry as the scan meets it."""

    identity: EntryId
    entry: Entry
    content: str = field(repr=False)
    """Without decorators."""
    decorators: tuple[str, ...]
    keys: tuple[Key, ...]
    secondary_keys: tuple[Key, ...]
    case_sensitive: bool
    whole_words: bool
    path: str
    """JSON pointer to the entry in the books that were given to `compile_index`."""

    @property
    def title(self) -> str:
        """What the book calls the entry, for people."""
        return self.entry.comment or self.entry.name

    def read_key(self, written: str, text: str) -> Key:
        """Make another key of this entry ready: one whose macros were expanded."""
        return read_key(
            written, text, case_sensitive=self.case_sensitive, whole_words=self.whole_words
        )


@frozen(kw_only=True, eq=False)
class Index:
    """What `compile_index` makes and `match` takes. Build it again when a book changes."""

    entries: tuple[IndexedEntry, ...] = field(repr=False)
    """In visiting order."""
    settings: MatchSettings
    diagnostics: tuple[Diagnostic, ...] = ()
    """About settings and books; every result of `match` repeats them."""


def compile_index(books: Sequence[NamedBook], settings: MatchSettings | None = None) -> Index:
    """Prepare books for scanning; without settings, those of SillyTavern's code hold.

    The order of the books is SillyTavern's order of selection. Paths of the diagnostics lead into
    `books`: `/books/<place>/entries/<place>/<attribute>`. Raises ValueError when two books have
    one name.
    """
    settings = settings or MatchSettings()
    repeated = [name for name, count in Counter(book.name for book in books).items() if count > 1]
    if repeated:
        raise ValueError(f"two books have one name: {repeated[0]}")
    entries = tuple(
        _sorted_by_strategy(
            [(named, _index_book(named, place, settings)) for place, named in enumerate(books)],
            settings.character_strategy,
        )
    )
    found = (*setting_diagnostics(settings), *_diagnostics(entries, settings))
    return Index(entries=entries, settings=settings, diagnostics=found)


def _index_book(named: NamedBook, place: int, settings: MatchSettings) -> list[IndexedEntry]:
    return [
        _index_entry(named.name, index, entry, f"/books/{place}/entries/{index}", settings)
        for index, entry in _visited(named.book)
    ]


def _visited(book: WorldBook) -> list[tuple[int, Entry]]:
    """List entries in the order of a JavaScript object's keys: whole numbers first, ascending."""
    entries = list(enumerate(book.entries))
    if book.spelling is not BookSpelling.WORLD_INFO:
        return entries
    return sorted(entries, key=lambda item: _object_key_rank(item[1]))


def _object_key_rank(entry: Entry) -> tuple[bool, int]:
    key = "" if entry.origin is None else str(entry.origin.key)
    number = int(key) if _ARRAY_INDEX.fullmatch(key) else _LAST_ARRAY_INDEX + 1
    return (number > _LAST_ARRAY_INDEX, min(number, _LAST_ARRAY_INDEX + 1))


def _index_entry(
    book: str, index: int, entry: Entry, path: str, settings: MatchSettings
) -> IndexedEntry:
    own_case, own_words = entry.case_sensitive, entry.match_whole_words
    case = settings.case_sensitive if own_case is None else own_case
    words = settings.match_whole_words if own_words is None else own_words
    keys, secondary = (
        tuple(read_key(key, key, case_sensitive=case, whole_words=words) for key in written)
        for written in (entry.keys, entry.secondary_keys)
    )
    decorated = split_decorators(entry.content)
    return IndexedEntry(
        identity=EntryId(book=book, index=index, uid=entry.uid),
        entry=entry,
        content=decorated.content,
        decorators=decorated.decorators,
        keys=keys,
        secondary_keys=secondary if entry.selective else (),
        case_sensitive=case,
        whole_words=words,
        path=path,
    )


def _sorted_by_strategy(
    books: Sequence[tuple[NamedBook, list[IndexedEntry]]], strategy: CharacterStrategy
) -> Iterator[IndexedEntry]:
    """Chat and persona books come first, then the others as the strategy says."""
    of = {
        source: [entry for named, entries in books if named.source is source for entry in entries]
        for source in BookSource
    }
    yield from _by_order(of[BookSource.CHAT])
    yield from _by_order(of[BookSource.PERSONA])
    if strategy is CharacterStrategy.EVENLY:
        yield from _by_order([*of[BookSource.GLOBAL], *of[BookSource.CHARACTER]])
        return
    sources = [BookSource.CHARACTER, BookSource.GLOBAL]
    if strategy is CharacterStrategy.GLOBAL_FIRST:
        sources.reverse()
    for source in sources:
        yield from _by_order(of[source])


def _by_order(entries: Iterable[IndexedEntry]) -> list[IndexedEntry]:
    return sorted(entries, key=lambda indexed: -indexed.entry.order)


def _diagnostics(entries: Sequence[IndexedEntry], settings: MatchSettings) -> Iterator[Diagnostic]:
    for indexed in entries:
        label = label_of(indexed)
        yield from entry_diagnostics(indexed.entry, label, indexed.path)
        yield from _key_diagnostics(indexed, label, settings)
    yield from _duplicates(entries)


def label_of(indexed: IndexedEntry) -> str:
    """Name an entry in a message without any text of it but its uid."""
    identity = indexed.identity
    name = f"#{identity.index}" if identity.uid is None else str(identity.uid)
    return f'Entry {name} of book "{identity.book}"'


_KEY_REMARKS = {
    (KeyKind.REGEX, False): (
        "REGEX_KEY_NOT_EXECUTED",
        "has a regular expression key; such keys are not executed yet and count as not found",
    ),
    (KeyKind.BLANK, True): (
        "KEY_BLANK_MATCHES_EVERYTHING",
        "has a key of white space only, which SillyTavern finds in every text",
    ),
    (KeyKind.BLANK, False): (
        "KEY_BLANK_IGNORED",
        "has a key of white space only, which is never found; in SillyTavern it always is",
    ),
}
"""Kind of key and whether the profile lets blank keys match: code and remark."""


def _key_diagnostics(
    indexed: IndexedEntry, label: str, settings: MatchSettings
) -> Iterator[Diagnostic]:
    if not indexed.entry.enabled:
        return
    for attribute, keys in (("keys", indexed.keys), ("secondary_keys", indexed.secondary_keys)):
        for place, key in enumerate(keys):
            blank = key.kind is KeyKind.BLANK and settings.rules.blank_key_matches
            if (key.kind, blank) in _KEY_REMARKS:
                code, remark = _KEY_REMARKS[key.kind, blank]
                path = f"{indexed.path}/{attribute}/{place}"
                yield Diagnostic(code, Severity.WARNING, path, f"{label} {remark}.")


def _duplicates(entries: Sequence[IndexedEntry]) -> Iterator[Diagnostic]:
    uses = Counter((indexed.identity.book, str(indexed.identity.uid)) for indexed in entries)
    for indexed in entries:
        identity = indexed.identity
        if identity.uid is not None and uses[identity.book, str(identity.uid)] > 1:
            remark = "shares its uid; SillyTavern would keep one, here each is decided"
            message = f"{label_of(indexed)} {remark}."
            path = f"{indexed.path}/uid"
            yield Diagnostic("ENTRY_UID_REPEATED", Severity.WARNING, path, message)
