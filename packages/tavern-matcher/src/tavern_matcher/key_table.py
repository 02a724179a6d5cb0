"""All plain needles of an index, and which entries wait for them.

Owns the numbers of the needles and the postings (needle to entries). Must not know messages, depths
or decisions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat

from attrs import frozen

from tavern_matcher._text import has_space
from tavern_matcher.finder import FinderKind
from tavern_matcher.keys import Key, KeyKind
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.text_search import TextSearch

Postings = Mapping[int, Sequence[int]]
"""By needle: numbers of entries."""


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
        self._numbers: dict[tuple[str, bool], int] = {}
        self._primary: dict[int, list[int]] = {}
        self._primary_words: dict[int, list[int]] = {}
        self._literals: dict[int, list[int]] = {}
        self._secondary: dict[int, list[int]] = {}
        self._wants_word = bytearray()

    def add(self, entry: ScanEntry) -> None:
        """Add the keys of an entry that can be found in one text alone."""
        for texts, primary in ((entry.key_texts, True), (entry.secondary_texts, False)):
            for at, text in enumerate(texts):
                needle = entry.reader.keys.plain_needle(text, case_sensitive=entry.case_sensitive)
                if needle is None:
                    entry.special = True
                    key = (entry.keys if primary else entry.secondary_keys)[at]
                    if self._is_searched(key):
                        self._post(entry.number, key.needle, key, primary=primary)
                    continue
                number = self._number(needle, case_sensitive=entry.case_sensitive)
                postings = self._primary if primary else self._secondary
                if entry.whole_words and not has_space(needle):
                    self._wants_word[number] = 1
                    postings = self._primary_words if primary else self._secondary
                if number in postings:
                    postings[number].append(entry.number)
                else:
                    postings[number] = [entry.number]

    def _post(self, entry: int, needle: str, key: Key, *, primary: bool) -> None:
        number = self._number(needle, case_sensitive=key.case_sensitive)
        self._wants_word[number] |= key.whole_word
        postings = self._postings(key) if primary else self._secondary
        postings.setdefault(number, []).append(entry)

    def _postings(self, key: Key) -> dict[int, list[int]]:
        if key.kind is KeyKind.REGEX:
            return self._literals
        return self._primary_words if key.whole_word else self._primary

    def _is_searched(self, key: Key) -> bool:
        """Whether the needle says when to look; one with macros is only given a number."""
        if key.needle and not key.joined and key.dynamic and key.kind is not KeyKind.REGEX:
            number = self._number(key.needle, case_sensitive=key.case_sensitive)
            self._wants_word[number] |= key.whole_word
        return bool(key.needle) and not (key.joined or key.dynamic)

    def _number(self, needle: str, *, case_sensitive: bool) -> int:
        number = self._numbers.setdefault((needle, case_sensitive), len(self._numbers))
        if number == len(self._wants_word):
            self._wants_word.append(0)
        return number

    def build(self, kind: FinderKind) -> KeyTable:
        """Make the table."""
        folded, exact = (
            {needle: number for (needle, exact), number in self._numbers.items() if exact is wanted}
            for wanted in (False, True)
        )
        return KeyTable(
            folded,
            exact,
            self._primary,
            self._primary_words,
            self._literals,
            self._secondary,
            TextSearch(folded, exact, self._wants_word, kind),
            self._wants_word,
        )


def touched(postings: Postings, numbers: Iterable[int]) -> Iterator[int]:
    """Give all entries that wait for one of the needles."""
    return chain.from_iterable(map(postings.get, numbers, repeat(())))
