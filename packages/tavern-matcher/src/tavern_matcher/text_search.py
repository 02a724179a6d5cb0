"""One pass over any number of texts that finds every needle in them.

Owns the folding of case, and the telling of hits apart: of needles whose case counts, of whole
words, of the texts that were joined for the pass. Must not know keys or entries.

A needle whose case counts is looked for in lower case with all others; where it is found, the
unchanged text says whether it is really there. Only the few whose lower case depends on what stands
around them are looked for in the unchanged text.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from tavern_matcher._text import growths, unfold
from tavern_matcher.finder import FinderKind, build_finder
from tavern_matcher.keys import MARK, STAND_IN, is_whole_word
from tavern_matcher.nested_needles import Single, deep_needles
from tavern_matcher.scan_cache import NO_HITS, ScanCache, TextHits

_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), STAND_IN)
_FOLDS_ODDLY = frozenset("\u0130\u03a3")
"""Capitals that grow in lower case, or whose lower case depends on what follows."""
_NONE = -1


class TextSearch:
    """Finds needles, each known by a number, in texts."""

    def __init__(
        self,
        folded: Mapping[str, int],
        exact: Mapping[str, int],
        wants_word: Sequence[int],
        kind: FinderKind,
    ) -> None:
        """Take needles in lower case, and others whose case counts.

        `wants_word` says by number whether it matters that a needle stands there as a whole word.
        """
        self._wants_word = wants_word
        cased: dict[str, list[tuple[str, int]]] = {}
        odd: dict[str, int] = {}
        for needle, number in exact.items():
            if _FOLDS_ODDLY.isdisjoint(needle):
                cased.setdefault(needle.lower(), []).append((needle, number))
            else:
                odd[needle] = number
        deep = deep_needles((*folded, *cased))
        self._singly = [
            *(Single(one, folded[one], exact=False) for one in folded if one in deep),
            *(Single(*row, exact=True) for one in cased if one in deep for row in cased[one]),
        ]
        needles = tuple(one for one in dict.fromkeys((*folded, *cased)) if one not in deep)
        self._numbers = tuple(folded.get(needle, _NONE) for needle in needles)
        self._cased = {at: cased[needle] for at, needle in enumerate(needles) if needle in cased}
        self._finder = build_finder(needles, kind)
        self._odd_numbers = tuple(odd.values())
        self._odd_finder = build_finder(tuple(odd), kind)

    def hits(self, texts: Sequence[str], cache: ScanCache | None) -> list[TextHits]:
        """Say of each text what it holds."""
        if not texts:
            return []
        known = {text: cache.get(self, text) for text in texts} if cache is not None else {}
        new = [text for text in dict.fromkeys(texts) if known.get(text) is None]
        found = dict(zip(new, self._search(new), strict=True))
        if cache is not None:
            for text, hits in found.items():
                cache.put(self, text, hits)
        return [found.get(text) or known[text] or NO_HITS for text in texts]

    def _search(self, texts: Sequence[str]) -> list[TextHits]:
        """Look for everything in everything."""
        if not texts:
            return []
        whole = [text if text.isascii() else _whole(text) for text in texts]
        folded = [text.lower() for text in whole]
        # A needle never holds the mark, and to either side of it a word ends.
        joined = MARK.join(folded)
        starts = [0, *accumulate(len(text) + 1 for text in folded)]
        tally = _Tally(self._wants_word)
        settled: set[tuple[int, int]] = set()
        grown = [growths(text) for text in whole] if self._cased else []
        for at, start, end in self._finder.occurrences(joined):
            which = bisect_right(starts, start) - 1
            if (which, at) in settled:
                continue
            number = self._numbers[at]
            is_settled = number == _NONE or tally.add(which, number, joined, start, end)
            if at in self._cased:
                place = unfold(grown[which], start - starts[which])
                is_settled &= self._add_cased(tally, which, whole[which], at, place)
            if is_settled:
                settled.add((which, at))
        for which, text in enumerate(whole if self._odd_numbers else ()):
            for at, start, end in self._odd_finder.occurrences(text):
                tally.add(which, self._odd_numbers[at], text, start, end)
        for one in self._singly:
            _add_single(tally, one, whole if one.exact else folded)
        return tally.hits(len(texts))

    def _add_cased(self, tally: "_Tally", which: int, text: str, at: int, place: int) -> bool:
        """Note which of the needles that only differ in case are there; True: all of them were."""
        settled = True
        for needle, number in self._cased[at]:
            is_there = text.startswith(needle, place)
            settled &= is_there and tally.add(which, number, text, place, place + len(needle))
        return settled


class _Tally:
    """Counts what each text holds."""

    def __init__(self, wants_word: Sequence[int]) -> None:
        self._wants_word = wants_word
        self._found: set[tuple[int, int]] = set()
        self._words: set[tuple[int, int]] = set()

    def add(self, which: int, number: int, text: str, start: int, end: int) -> bool:
        """Note a needle in one of the texts; True: no other place of it can say more."""
        hit = which, number
        self._found.add(hit)
        if not self._wants_word[number] or hit in self._words:
            return True
        if not is_whole_word(text, start, end):
            return False
        self._words.add(hit)
        return True

    def hits(self, count: int) -> list[TextHits]:
        """Give what was noted, text by text."""
        found, words = (_by_text(noted) for noted in (self._found, self._words))
        hits = [NO_HITS] * count
        for which, numbers in found.items():
            hits[which] = TextHits(tuple(numbers), tuple(words.get(which, ())))
        return hits


def _add_single(tally: _Tally, one: Single, texts: Sequence[str]) -> None:
    for which, text in enumerate(texts):
        for start in one.places(text):
            if tally.add(which, one.number, text, start, start + len(one.needle)):
                break


def _by_text(noted: set[tuple[int, int]]) -> dict[int, list[int]]:
    """Sort hits by text and number."""
    texts: dict[int, list[int]] = {}
    for which, number in sorted(noted):
        texts.setdefault(which, []).append(number)
    return texts


def _whole(text: str) -> str:
    """Replace halves of surrogate pairs, which no automaton takes; no needle holds one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(_SURROGATES)
    return text
