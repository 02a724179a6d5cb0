"""All plain needles of an index, which entries wait for them, and what one text holds of them.

Owns the numbers of the needles, the postings (needle to entries), and `TextHits`: a pure function
of table and text, kept in a bounded cache so that a text is searched once, however many scans see
it. Must not know messages, depths or decisions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from attrs import define, field, frozen

from tavern_matcher._text import has_space
from tavern_matcher.finder import Finder, FinderKind, build_finder
from tavern_matcher.keys import STAND_IN, Key, KeyKind, is_whole_word
from tavern_matcher.scan_entry import ScanEntry

_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), STAND_IN)


Postings = Mapping[int, Sequence[int]]
"""By needle: numbers of entries."""


class TextHits(NamedTuple):
    """What a text holds: numbers of needles, in ascending order."""

    found: tuple[int, ...] = ()
    """Anywhere in the text."""
    words: tuple[int, ...] = ()
    """Those of them that stand there as whole words; only of needles that some key wants so."""


NO_HITS = TextHits()


@define
class ScanCache:
    """Keeps what texts were found to hold. With or without it the results are the same.

    Bounded by the number of texts and by their length in all; the oldest ones leave first.
    """

    max_texts: int = 8192
    max_chars: int = 16 * 1024 * 1024
    _hits: dict[str, TextHits] = field(factory=dict, init=False, repr=False)
    _chars: int = field(default=0, init=False)

    def __len__(self) -> int:
        return len(self._hits)

    @property
    def size_chars(self) -> int:
        """Code points of all texts that are kept."""
        return self._chars

    def clear(self) -> None:
        """Forget everything."""
        self._hits.clear()
        self._chars = 0

    def get(self, text: str) -> TextHits | None:
        """Give what a text holds, if it is known."""
        return self._hits.get(text)

    def put(self, text: str, hits: TextHits) -> None:
        """Keep what a text holds."""
        if len(text) > self.max_chars:
            return
        self._hits[text] = hits
        self._chars += len(text)
        if len(self._hits) > self.max_texts or self._chars > self.max_chars:
            self._make_room()

    def _make_room(self) -> None:
        """Drop the oldest texts, a quarter at once: dropping one by one would cost at each text."""
        texts, chars = self.max_texts * 3 // 4, self.max_chars * 3 // 4
        for oldest in list(self._hits):
            if len(self._hits) <= texts and self._chars <= chars:
                return
            # Two threads may drop the same text.
            if self._hits.pop(oldest, None) is not None:
                self._chars -= len(oldest)


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
    _finders: tuple[tuple[tuple[int, ...], Finder], ...]
    """For lower-cased and for unchanged text: the numbers of the finder's needles, the finder."""
    _wants_word: bytearray

    def number(self, key: Key) -> int | None:
        """Give the number of a key's needle; None if the index does not know it."""
        return (self.exact if key.case_sensitive else self.folded).get(key.needle)

    def knows_words(self, number: int) -> bool:
        """Whether whole words were looked for when a needle was found."""
        return bool(self._wants_word[number])

    def hits(self, text: str, cache: ScanCache | None) -> TextHits:
        """Say what a text holds."""
        if not text:
            return NO_HITS
        known = None if cache is None else cache.get(text)
        if known is None:
            known = self._search(text)
            if cache is not None:
                cache.put(text, known)
        return known

    def _search(self, text: str) -> TextHits:
        text = text if text.isascii() else _whole(text)
        found: set[int] = set()
        words: set[int] = set()
        for searched, (numbers, finder) in zip((text.lower(), text), self._finders, strict=True):
            if numbers:
                self._collect(searched, numbers, finder, (found, words))
        return TextHits(tuple(sorted(found)), tuple(sorted(words))) if found else NO_HITS

    def _collect(
        self,
        text: str,
        numbers: tuple[int, ...],
        finder: Finder,
        hits: tuple[set[int], set[int]],
    ) -> None:
        found, words = hits
        wants_word = self._wants_word
        for at, start, end in finder.occurrences(text):
            number = numbers[at]
            found.add(number)
            if wants_word[number] and number not in words and is_whole_word(text, start, end):
                words.add(number)


def _whole(text: str) -> str:
    """Replace halves of surrogate pairs, which no automaton takes; no needle holds one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(_SURROGATES)
    return text


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
            tuple(
                (tuple(found.values()), build_finder(tuple(found), kind))
                for found in (folded, exact)
            ),
            self._wants_word,
        )


def touched(postings: Postings, numbers: Iterable[int]) -> Iterator[int]:
    """Give all entries that wait for one of the needles."""
    return chain.from_iterable(map(postings.get, numbers, repeat(())))
