"""Finding very many texts in one pass over another: one small interface, two ways to do it.

`build_finder` takes the Aho-Corasick automaton of the `ahocorasick_rs` wheel where there is one,
and a table of beginnings in plain Python elsewhere; both give the same occurrences. Must not know
what is looked for, or why.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from types import ModuleType
from typing import Protocol

from attrs import frozen

_automaton: ModuleType | None
try:
    import ahocorasick_rs as _automaton
except ImportError:  # no wheel for this platform
    _automaton = None

_DENSE_CHARS = 4096
"""Up to here a table of all steps is built, which is half as large again in speed; it would be tens
of MiB for thousands of needles."""

Occurrence = tuple[int, int, int]
"""Number of the needle, start and end in code points."""


class FinderKind(StrEnum):
    """Which of the two does the work."""

    AUTO = "auto"
    """The automaton where it is installed."""
    AUTOMATON = "automaton"
    PYTHON = "python"


class Finder(Protocol):
    """Finds all needles in a text."""

    def occurrences(self, text: str) -> Iterable[Occurrence]:
        """Give every occurrence of every needle, overlapping ones too, in no order."""


def build_finder(needles: Sequence[str], kind: FinderKind = FinderKind.AUTO) -> Finder:
    """Make ready for a set of needles; their numbers are their places in the sequence.

    No needle may be empty or hold half a surrogate pair. Raises ValueError if the automaton is
    asked for and not installed.
    """
    if not needles:
        return NothingFinder()
    if kind is FinderKind.PYTHON:
        return PythonFinder(needles)
    if _automaton is not None:
        return AutomatonFinder(needles, _automaton)
    if kind is FinderKind.AUTOMATON:
        raise ValueError("the automaton needs the distribution ahocorasick-rs")
    return PythonFinder(needles)


@frozen
class NothingFinder:
    """Looks for nothing."""

    def occurrences(self, text: str) -> Iterable[Occurrence]:  # noqa: ARG002 - as in the protocol
        """Give nothing."""
        return ()


class AutomatonFinder:
    """An Aho-Corasick automaton: the cost grows with the text and the hits, not the needles."""

    def __init__(self, needles: Sequence[str], module: ModuleType) -> None:
        """Build the automaton with the module of the wheel."""
        dense = sum(map(len, needles)) <= _DENSE_CHARS
        kind = module.Implementation.DFA if dense else None
        self._automaton = module.AhoCorasick(
            list(needles), store_patterns=False, implementation=kind
        )

    def occurrences(self, text: str) -> Iterable[Occurrence]:
        """Give every occurrence."""
        found: Iterable[Occurrence] = self._automaton.find_matches_as_indexes(
            text, overlapping=True
        )
        return found


class PythonFinder:
    """Looks at the beginnings that a text has, and then only for needles that begin so."""

    _GRAM = 4

    def __init__(self, needles: Sequence[str]) -> None:
        """Sort the needles by their first four code points; shorter ones by all they have."""
        self._by_gram: dict[int, dict[str, list[int]]] = {}
        self._needles = tuple(needles)
        for number, needle in enumerate(needles):
            gram = needle[: self._GRAM]
            self._by_gram.setdefault(len(gram), {}).setdefault(gram, []).append(number)

    def occurrences(self, text: str) -> Iterable[Occurrence]:
        """Give every occurrence."""
        for size, table in self._by_gram.items():
            grams = {text[at : at + size] for at in range(len(text) - size + 1)}
            for gram in table.keys() & grams:
                for number in table[gram]:
                    yield from self._each(text, number)

    def _each(self, text: str, number: int) -> Iterable[Occurrence]:
        needle = self._needles[number]
        start = text.find(needle)
        while start >= 0:
            yield number, start, start + len(needle)
            start = text.find(needle, start + 1)
