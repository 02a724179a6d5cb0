"""Every scan of the conformance run with both finders: the automaton and its fallback.

The two must give one result, whole decisions included, and every decision must have its sentence.
"""

from collections.abc import Callable, Sequence

from tavern_matcher import (
    FinderKind,
    Index,
    MatchResult,
    MatchSettings,
    NamedBook,
    compile_index,
    explain,
)

Match = Callable[[Index], MatchResult]
"""Matches what a case says; two calls must be alike."""


def match_with_both(
    books: Sequence[NamedBook], settings: MatchSettings, match: Match
) -> tuple[Index, MatchResult]:
    """Give index and result of the default finder; raises ValueError where the fallback differs.

    A scan in which a pattern ran out of time is not compared: which of them do is up to the clock.
    """
    index = compile_index(books, settings)
    result = match(index)
    other = match(compile_index(books, settings, finder=FinderKind.PYTHON))
    in_time = all(found.code != "REGEX_KEY_TIMEOUT" for found in result.diagnostics)
    if in_time and other != result:
        raise ValueError(f"the finders differ: {result!r}, and {other!r} without the automaton")
    for decision in result.decisions:
        explain(decision)
    return index, result
