"""What patterns find in the joined texts of one scan, and what that costs.

Owns the time that is left for all of them, and the results: no pattern is run twice on one text.
Must not know entries.
"""

from attrs import define, field

from tavern_matcher.bounded_regex import BoundedPattern
from tavern_matcher.joined_text import JoinedText

Span = tuple[int, int]
"""A match, as a range of the pattern's subject."""


@define(eq=False)
class PatternRuns:
    """Runs patterns until their time is used up."""

    left_s: float
    timed_out: set[BoundedPattern] = field(factory=set)
    """Patterns that were given up on some text."""
    _spans: dict[tuple[BoundedPattern, JoinedText], Span | None] = field(factory=dict)
    _given_up: set[tuple[BoundedPattern, JoinedText]] = field(factory=set)

    def matches(self, pattern: BoundedPattern, text: JoinedText) -> bool | None:
        """Whether a pattern matches; None where the time ran out, now or before."""
        asked = (pattern, text)
        if asked in self._given_up:
            return None
        if asked not in self._spans:
            done = pattern.search(text.subject(pattern.form), time_left_s=self.left_s)
            self.left_s -= done.spent_s
            if done.timed_out:
                self.timed_out.add(pattern)
                self._given_up.add(asked)
                return None
            self._spans[asked] = None if done.spans is None else done.spans[0]
        return self._spans[asked] is not None

    def span(self, pattern: BoundedPattern, text: JoinedText) -> Span | None:
        """Give where a pattern matched, if it was run on this text; it is not run again."""
        return self._spans.get((pattern, text))
