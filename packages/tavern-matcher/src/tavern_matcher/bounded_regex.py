"""JavaScript regular expressions that cannot hang: compiled once, searched under a time limit.

Owns compiling a translated pattern and one bounded search. Must not know keys, messages or regex
scripts; both use it. No clock is read here: the `regex` module stops itself, and a search is
charged the time it was allowed, so that a caller can keep a limit over many searches.

The source of the figures: patterns that take exponential time stop on time; patterns that begin
anew at every place of a long run overshoot, which grows with the text, hence `text_chars`.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import regex
from attrs import field, frozen

from tavern_format import (
    InvalidPattern,
    JsRegexSource,
    SubjectForm,
    Untranslatable,
    from_subject,
    to_subject,
    translate,
)
from tavern_matcher._regex_hunt import FIRST_SLICE_S, GROWTH, SLICE_S_PER_CHAR, Hunt, Spans

_FLAGS: Final = {
    "ASCII": regex.ASCII,
    "DOTALL": regex.DOTALL,
    "IGNORECASE": regex.IGNORECASE,
    "MULTILINE": regex.MULTILINE,
    "VERSION0": regex.VERSION0,
}
_OVERRUN_S_PER_CHAR: Final = 2e-6
"""How much later than asked a search can stop that begins anew at every place of a long run.

Measured for `\\w+\\d` on 64 Ki letters, where it stops three times 40 to 50 ms late.
"""
_OVERLAP_CHARS: Final = 4096


@frozen(kw_only=True)
class RegexLimits:
    """How much regular expressions may cost."""

    search_s: float = 0.025
    """Seconds for one search."""
    match_s: float = 0.25
    """Seconds for all searches of one `match` together."""
    text_chars: int = 65_536
    """Longest text that is searched in one piece; longer ones are cut at line ends."""


@frozen(kw_only=True)
class RegexFault:
    """A pattern that cannot be run here, and why."""

    code: str
    """Stable, upper snake case."""
    reason: str
    offset: int = 0
    """Where in the pattern, in code points."""
    invalid: bool = False
    """JavaScript refuses it, too."""


@frozen(kw_only=True)
class RegexSearch:
    """What became of one search."""

    spans: Spans | None = None
    """Of the match; None: there is none."""
    timed_out: bool = False
    """Nobody knows whether there is a match."""
    spent_s: float = 0.0
    """Seconds that are charged for the search: at least as many as it took."""


@frozen(kw_only=True)
class RegexFinds:
    """What became of a search for all matches."""

    matches: tuple[Spans, ...] = ()
    """In their order; where the time ran out, those found by then."""
    timed_out: bool = False
    """There may be more matches."""
    in_pieces: bool = False
    """The text was longer than `RegexLimits.text_chars`: a match over a cut is not found whole."""
    overtime_s: float = 0.0
    """Seconds that are charged beyond those that any pattern may take for such a text and so many
    matches, which are a few for each MiB."""


@frozen(kw_only=True, eq=False)
class BoundedPattern:
    """A compiled pattern."""

    source: JsRegexSource
    form: SubjectForm
    """The form that a searched text must have."""
    group_count: int
    group_names: tuple[tuple[str, int], ...] = ()
    sticky: bool = False
    """A match must begin at the very start of the search."""
    global_: bool = False
    limits: RegexLimits = RegexLimits()
    _compiled: Any = field(alias="compiled", repr=False)

    def subject(self, text: str) -> str:
        """Bring a text into the form that `search` takes; `from_subject` undoes it."""
        return to_subject(text, self.form)

    def search(
        self, subject: str, *, start: int = 0, time_left_s: float | None = None
    ) -> RegexSearch:
        """Look for the first match that begins at `start` or later.

        The `regex` module is given `limits.search_s` seconds at most, and no more than
        `time_left_s`. Where it can stop late, the search is charged for that as well, and goes on
        only while `time_left_s` has room for it. A text longer than `limits.text_chars` is searched
        in pieces that end at line ends, and what would reach over such an end is not found.
        """
        left = math.inf if time_left_s is None else time_left_s
        spent = 0.0
        for begin, end in self._pieces(subject, start):
            allowed = min(self.limits.search_s, left) - spent
            found = self._search_piece(subject, (begin, end), allowed, left - spent)
            spent += found.spent_s
            if found.timed_out or found.spans is not None:
                return RegexSearch(spans=found.spans, timed_out=found.timed_out, spent_s=spent)
        return RegexSearch(spent_s=spent)

    def find_all(self, subject: str, *, time_left_s: float | None = None) -> RegexFinds:
        """Look for the matches that JavaScript's `replace` replaces: without the flag g the first.

        After an empty match the search goes on one character further. Takes no more overtime than
        `limits.match_s` and `time_left_s`; texts are cut as by `search`, but a match that touches
        a cut does not count. Raises ValueError for a pattern with the flag y, which scripts never
        have.
        """
        if self.sticky:
            message = "a sticky pattern finds one match at a time"
            raise ValueError(message)
        left = self.limits.match_s if time_left_s is None else min(self.limits.match_s, time_left_s)
        hunt = Hunt(
            pattern=self._compiled,
            group_count=self.group_count,
            first_only=not self.global_,
            left_s=left,
        )
        pieces = list(self._pieces(subject, 0))
        for begin, end in pieces:
            hunt.at = max(hunt.at, begin)
            hunt.sweep(subject, end, is_last=end == len(subject))
            if hunt.is_over:
                break
        return RegexFinds(
            matches=tuple(hunt.found),
            timed_out=hunt.timed_out,
            in_pieces=len(pieces) > 1,
            overtime_s=hunt.overtime_s,
        )

    def _pieces(self, subject: str, start: int) -> Iterator[tuple[int, int]]:
        """Cut a long text: after a line end where there is one, else with an overlap."""
        length = len(subject)
        most = self.limits.text_chars
        while length - start > most:
            cut = subject.rfind("\n", start + most // 2, start + most - 1) + 1
            if cut:
                # What follows the line end is left in sight, so that `$` does not hold there.
                yield start, cut + 1
                start = cut
            else:
                yield start, start + most
                start += most - min(_OVERLAP_CHARS, most // 4)
            if self.sticky:
                return
        yield start, length

    def _search_piece(
        self, subject: str, piece: tuple[int, int], limit_s: float, left_s: float
    ) -> RegexSearch:
        """Try for a short time first: what is charged is then near to what was needed."""
        seek = self._compiled.match if self.sticky else self._compiled.search
        length = piece[1] - piece[0]
        slice_s = FIRST_SLICE_S + length * SLICE_S_PER_CHAR
        overrun_s = length * _OVERRUN_S_PER_CHAR
        spent = 0.0
        while limit_s - spent > 0:
            allowed = min(slice_s, limit_s - spent)
            spent += allowed
            try:
                found = seek(subject, *piece, timeout=allowed)
            except TimeoutError:
                slice_s *= GROWTH
                if left_s - spent > overrun_s:
                    continue
                break
            spans = None if found is None else self._spans(found)
            return RegexSearch(spans=spans, spent_s=spent)
        return RegexSearch(timed_out=True, spent_s=spent + overrun_s)

    def _spans(self, found: Any) -> tuple[tuple[int, int], ...]:  # noqa: ANN401 - no public type
        return tuple(found.span(number) for number in range(self.group_count + 1))


def compile_bounded(
    source: JsRegexSource, limits: RegexLimits | None = None
) -> BoundedPattern | RegexFault:
    """Translate and compile a pattern, or say why it cannot be run.

    Never raises for what a pattern says; the translator bounds its length, its nesting and the
    size it compiles to.
    """
    done = translate(source)
    if isinstance(done, InvalidPattern | Untranslatable):
        invalid = isinstance(done, InvalidPattern)
        return RegexFault(code=done.code, reason=done.reason, offset=done.offset, invalid=invalid)
    flags = 0
    for name in done.flags:
        flags |= _FLAGS[name]
    try:
        compiled = regex.compile(done.pattern, flags)
    except (regex.error, RecursionError, MemoryError, OverflowError):
        return RegexFault(code="PATTERN_NOT_COMPILED", reason="the pattern is too much to compile")
    return BoundedPattern(
        source=source,
        form=done.subject,
        group_count=done.group_count,
        group_names=done.group_names,
        sticky=done.sticky,
        global_=done.global_,
        limits=limits or RegexLimits(),
        compiled=compiled,
    )


def plain_offset(subject: str, offset: int) -> int:
    """Translate a place in a subject to code points of the text it was made from."""
    return len(from_subject(subject[:offset]))
