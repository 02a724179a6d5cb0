"""Needles that end in very many others: one pass over a text would find all of them at each place.

Owns telling them apart, and looking for one of them by itself. A book of a thousand keys, each a
letter longer than the one before, would else give a thousand hits for each letter of a long run.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_MOST = 24
"""Needles that may end at one place; books that people write are far below that."""
_NO_WORD = re.compile("[^A-Za-z0-9_]")


def deep_needles(needles: Iterable[str]) -> frozenset[str]:
    """Give the needles that end in more than so many others.

    >>> len(deep_needles("a" * length for length in range(1, 100)))
    75
    """
    known = set(needles)
    # As many can only end at one place as there are lengths.
    if len({len(needle) for needle in known}) <= _MOST:
        return frozenset()
    deep: set[str] = set()
    ends: list[str] = []
    for backwards in sorted(needle[::-1] for needle in known):
        while ends and not backwards.startswith(ends[-1]):
            ends.pop()
        ends.append(backwards)
        if len(ends) > _MOST:
            deep.add(backwards[::-1])
    return frozenset(deep)


class Single(NamedTuple):
    """A needle that is looked for by itself."""

    needle: str
    number: int
    exact: bool
    """Its case counts."""

    def places(self, text: str) -> Iterator[int]:
        """Give its first place, and then those at which a word begins, one in each word."""
        start = text.find(self.needle)
        while start >= 0:
            yield start
            word_end = _NO_WORD.search(text, start)
            start = -1 if word_end is None else text.find(self.needle, word_end.end())
