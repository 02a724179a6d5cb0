"""All plain needles of an index, and which entries wait for them.

Owns the numbers of the needles and the postings (needle to entries). Must not know messages, depths
or decisions.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import define, field, frozen

from tavern_matcher._text import has_space
from tavern_matcher.finder import FinderKind
from tavern_matcher.keys import Key, KeyKind
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.text_search import TextSearch


@define(eq=False)
class Postings:
    """By needle: numbers of the entries that wait for it."""

    _entries: dict[int, int | list[int]] = field(factory=dict, init=False, repr=False)
    """A bare number where it is one entry, as nearly always: a list for each would cost more to
    make, and to look after, than all else in an index."""

    def add(self, needle: int, entry: int) -> None:
        """Let another entry wait."""
        known = self._entries.setdefault(needle, entry)
        if isinstance(known, list):
            known.append(entry)
        elif known != entry:
            self._entries[needle] = [known, entry]

    def of(self, needle: int) -> Sequence[int]:
        """Give who waits for a needle."""
        found = self._entries.get(needle, ())
        return (found,) if isinstance(found, int) else found

    def touched(self, needles: Iterable[int]) -> Iterator[int]:
        """Give all who wait for one of the needles."""
        get = self._entries.get
        for needle in needles:
            found = get(needle)
            if isinstance(found, int):
                yield found
            elif found is not None:
                yield from found


@frozen(eq=False)
class KeyTable:
    """Needles by number, with what is needed to find them all in one text."""

    folded: dict[str, int]
    """In lower case: for keys whose case does not count, and literals of patterns."""
    exact: dict[str, int]
    primary: Postings
    """Entries with a primary key that is found anywhere."""
    primary_words: Postings
    """Entries with a primary key that must be a whole word."""
    literals: Postings
    """Entries with a primary pattern that can only match where this stands."""
    secondary: Postings
    """Entries with such a secondary key, of any kind."""
    search: TextSearch
    """Finds them."""
    _wants_word: bytearray

    def number(self, key: Key) -> int | None:
        """Give the number of a key's needle; None if the index does not know it."""
        return (self.exact if key.case_sensitive else self.folded).get(key.needle)

    def knows_words(self, number: int) -> bool:
        """Whether whole words were looked for when a needle was found."""
        return bool(self._wants_word[number])


class TableBuilder:
    """Gathers the keys of all entries."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._folded: dict[str, int] = {}
        self._exact: dict[str, int] = {}
        self._primary = Postings()
        self._primary_words = Postings()
        self._literals = Postings()
        self._secondary = Postings()
        self._wants_word = bytearray()

    def add(self, entry: ScanEntry) -> None:
        """Add the keys of an entry that can be found in one text alone."""
        plain_needle = entry.reader.keys.plain_needle
        case_sensitive = entry.case_sensitive
        for texts, primary in ((entry.key_texts, True), (entry.secondary_texts, False)):
            for at, text in enumerate(texts):
                needle = plain_needle(text, case_sensitive=case_sensitive)
                if needle is None:
                    self._add_special(entry, at, primary=primary)
                    continue
                number = self._number(needle, case_sensitive=case_sensitive)
                postings = self._primary if primary else self._secondary
                if entry.whole_words and not has_space(needle):
                    self._wants_word[number] = 1
                    postings = self._primary_words if primary else self._secondary
                postings.add(number, entry.number)

    def _add_special(self, entry: ScanEntry, at: int, *, primary: bool) -> None:
        """Add a key that is more than a text to look for, as far as a text says when to look."""
        entry.special = True
        key = (entry.keys if primary else entry.secondary_keys)[at]
        if not key.needle or key.joined or (key.dynamic and key.kind is KeyKind.REGEX):
            return
        number = self._number(key.needle, case_sensitive=key.case_sensitive)
        self._wants_word[number] |= key.whole_word
        # What has macros is looked for when they are expanded: it is only given a number.
        if not key.dynamic:
            (self._postings(key) if primary else self._secondary).add(number, entry.number)

    def _postings(self, key: Key) -> Postings:
        if key.kind is KeyKind.REGEX:
            return self._literals
        return self._primary_words if key.whole_word else self._primary

    def _number(self, needle: str, *, case_sensitive: bool) -> int:
        count = len(self._wants_word)
        number = (self._exact if case_sensitive else self._folded).setdefault(needle, count)
        if number == count:
            self._wants_word.append(0)
        return number

    def build(self, kind: FinderKind) -> KeyTable:
        """Make the table."""
        return KeyTable(
            self._folded,
            self._exact,
            self._primary,
            self._primary_words,
            self._literals,
            self._secondary,
            TextSearch(self._folded, self._exact, self._wants_word, kind),
            self._wants_word,
        )
