"""Books made ready for scanning: entries in visiting order, every key in one table.

Owns everything that can be said before a message is seen. Must not know messages or state.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, getSortedEntries.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from attrs import field, frozen

from tavern_format import Diagnostic
from tavern_matcher._js import to_number, truthy
from tavern_matcher.book_order import NamedBook, by_strategy, check_names, loaded, visited
from tavern_matcher.decision import EntryId
from tavern_matcher.entry_fields import Fields, book_fields
from tavern_matcher.finder import FinderKind
from tavern_matcher.key_table import KeyTable, TableBuilder
from tavern_matcher.keys import KeyReader
from tavern_matcher.remarks import index_diagnostics, remarks_when_fired
from tavern_matcher.scan_cache import ScanCache
from tavern_matcher.scan_entry import EntryReader, ScanEntry
from tavern_matcher.settings import MatchSettings
from tavern_matcher.survey import Survey


@frozen(kw_only=True, eq=False)
class Index:
    """What `compile_index` makes and `match` takes. Build it again when a book changes."""

    entries: tuple[ScanEntry, ...] = field(repr=False)
    """In visiting order."""
    settings: MatchSettings
    diagnostics: tuple[Diagnostic, ...] = ()
    """About settings and books; every result of `match` repeats them."""
    broken: ScanEntry | None = field(default=None, repr=False)
    """An entry that makes every scan find nothing, in a profile that follows SillyTavern there."""
    table: KeyTable = field(repr=False)
    reader: EntryReader = field(repr=False)
    cache: ScanCache = field(repr=False)
    """What was found in texts that were seen before; changes no result."""
    survey: Survey = field(repr=False)
    max_own_depth: float
    delay_levels: tuple[float | str, ...]
    """Recursion delay levels that occur, lowest first."""
    levels_ascend: bool = field(repr=False)
    """All of them are numbers; texts are compared with each other as texts."""
    books: tuple[str, ...]
    remarks_when_fired: Mapping[int, tuple[Diagnostic, ...]] = field(repr=False)
    _numbers: dict[tuple[str, int], int] = field(factory=dict, init=False, repr=False)
    """Of the entries, by book and place; made when one is first asked for."""

    @property
    def order(self) -> tuple[EntryId, ...]:
        """All entries in the order in which they are visited."""
        return tuple(entry.identity for entry in self.entries)

    def waiting_for(self, level: float | str) -> Iterable[int]:
        """Give whom the opening of a recursion level can let in, by number."""
        delayed = self.survey.delayed
        return delayed.get(level, ()) if self.levels_ascend else chain(*delayed.values())

    def hash_of(self, entry: EntryId) -> int:
        """Give SillyTavern's identity hash of an entry, as stored timed effects hold it.

        Raises LookupError for an entry that is not in the index.
        """
        return self.find(entry).hash

    def find(self, entry: EntryId) -> ScanEntry:
        """Give an entry by its identity. Raises LookupError if it is not in the index."""
        if not self._numbers:
            # Of a book that is used twice, the entry that is visited first counts.
            places = {(one.book, one.index): one.number for one in reversed(self.entries)}
            self._numbers.update(places)
        number = self._numbers.get((entry.book, entry.index))
        if number is None:
            raise LookupError(f"no entry {entry.index} of a book {entry.book} in this index")
        return self.entries[number]


def compile_index(
    books: Sequence[NamedBook],
    settings: MatchSettings | None = None,
    *,
    finder: FinderKind = FinderKind.AUTO,
    cache: ScanCache | None = None,
) -> Index:
    """Prepare books for scanning; without settings, those of SillyTavern's code hold.

    The order of the books is SillyTavern's order of selection; the same book may be bound more
    than once. Paths of the diagnostics lead into `books` by attributes and places:
    `/books/0/entries/3/keys/0`, or `/books/0/unread/1` for an item that is no entry. `finder`
    chooses what searches texts, `cache` how much is kept of them; neither changes a result.

    Raises:
        ValueError: two different books have one name, or the automaton is asked for and missing.
    """
    settings = settings or MatchSettings()
    check_names(books)
    reader = EntryReader(
        settings, KeyReader(settings.rules, settings.runs_regex, settings.regex_limits)
    )
    read = [
        (named, list(_read_book(named, place, reader)))
        for place, named in loaded(books, settings.rules)
    ]
    entries = tuple(by_strategy(read, settings.character_strategy))
    for number, entry in enumerate(entries):
        entry.number = number
    names_repeat = len({entry.key for entry in entries}) < len(entries)
    if not settings.rules.uid_is_identity:
        _tell_apart(entries)
    table = _table(entries, finder)
    levels = _delay_levels(entries)
    survey = Survey(settings)
    for entry in entries:
        survey.look_at(entry)
    return Index(
        entries=entries,
        settings=settings,
        diagnostics=tuple(index_diagnostics(entries, settings, names_repeat=names_repeat)),
        broken=_broken(entries) if settings.rules.broken_entry_ends_scan else None,
        table=table,
        reader=reader,
        cache=ScanCache() if cache is None else cache,
        survey=survey,
        max_own_depth=max((one for one in survey.own_depths.values() if one > 0), default=0),
        delay_levels=levels,
        levels_ascend=not any(isinstance(one, str) for one in levels),
        remarks_when_fired=remarks_when_fired(entries),
        books=tuple(dict.fromkeys(named.name for named, _ in read)),
    )


def _read_book(named: NamedBook, place: int, reader: EntryReader) -> Iterator[ScanEntry]:
    rules = reader.settings.rules
    fields = book_fields(named.book, raw=rules.reads_fields_raw)
    depth = named.book.scan_depth
    for index, entry, value in visited(named.book):
        held = _item_fields(value) if entry is None else fields[index]
        found = reader.read(named.name, index, place, entry, held)
        if entry is None:
            at = index - len(named.book.entries)
            found.unread = (at, named.book.unread[at].key)
        if not rules.own_scan_depth:
            found.own_depth = None
        if rules.book_scan_depth:
            found.own_depth = rules.max_messages if depth is None else depth
        yield found


def _item_fields(value: object) -> Fields:
    """Take apart what is no entry, as JavaScript spreads it into an object."""
    if isinstance(value, str | list):
        return {str(at): item for at, item in enumerate(value)}
    return {"content": None} if value is None else {}


def _broken(entries: Sequence[ScanEntry]) -> ScanEntry | None:
    """Find the first entry that ends every scan; nearly every content is a text."""
    odd = (entry for entry in entries if type(entry.fields.get("content")) is not str)
    return next(filter(_is_broken, odd), None)


def _is_broken(entry: ScanEntry) -> bool:
    content = entry.fields.get("content")
    if entry.entry is None:
        return "content" in entry.fields
    return not isinstance(content, str) and bool(content or isinstance(content, list | dict))


def _tell_apart(entries: Sequence[ScanEntry]) -> None:
    """Give entries with one uid names of their own."""
    uses = Counter(entry.key for entry in entries)
    seen: Counter[str] = Counter()
    for entry in entries:
        name = entry.key
        seen[name] += 1
        if entry.uid is None or (uses[name] > 1 and seen[name] > 1):
            entry.key = f"{name}#{entry.index}"


def _table(entries: Sequence[ScanEntry], finder: FinderKind) -> KeyTable:
    builder = TableBuilder()
    for entry in entries:
        if entry.enabled:
            builder.add(entry)
    return builder.build(finder)


def _delay_levels(entries: Sequence[ScanEntry]) -> tuple[float | str, ...]:
    delayed = (entry for entry in entries if truthy(entry.fields.get("delayUntilRecursion")))
    return tuple(sorted(dict.fromkeys(one.conduct.delay_level for one in delayed), key=to_number))
