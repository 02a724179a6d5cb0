"""All matches of a compiled pattern in one text, in the order in which JavaScript finds them.

Owns the walk from match to match and what it is charged. Must not know who wrote the pattern, nor
read a clock: the `regex` module stops itself.

Source: ECMA-262, RegExp.prototype[@@replace] and AdvanceStringIndex.
"""

from typing import Any, Final

from attrs import define, field

FIRST_SLICE_S: Final = 50e-6
SLICE_S_PER_CHAR: Final = 4e-9
"""What an ordinary pattern needs for a text: a search is first tried for that long."""
GROWTH: Final = 8
_MATCH_S: Final = 2e-6
"""What finding and keeping one match takes: each one found earns that much time."""
_AGAIN_S: Final = 20e-6
"""How long the walk goes on at first where it had to be begun anew."""

Spans = tuple[tuple[int, int], ...]
"""Places of one match and of its groups in the subject, (-1, -1) for a group without part."""


@define
class Hunt:
    """One walk over the pieces of a text."""

    pattern: Any
    group_count: int
    first_only: bool
    left_s: float
    """Overtime that is left."""
    at: int = 0
    """Where the next match may begin."""
    found: list[Spans] = field(factory=list)
    timed_out: bool = False
    _spent_s: float = 0.0
    _earned_s: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be looked for."""
        return self.timed_out or (self.first_only and bool(self.found))

    @property
    def overtime_s(self) -> float:
        """Seconds that were allowed beyond those that text and matches earned."""
        return max(0.0, self._spent_s - self._earned_s)

    def sweep(self, subject: str, end: int, *, is_last: bool) -> None:
        """Find the matches up to `end`; where it is not the last one, none that touches it."""
        slice_s = FIRST_SLICE_S + max(0, end - self.at) * SLICE_S_PER_CHAR
        self._earned_s += slice_s
        while self.at <= end:
            allowed = min(slice_s, self._earned_s + self.left_s - self._spent_s)
            if allowed <= 0:
                self.timed_out = True
                return
            self._spent_s += allowed
            count = len(self.found)
            ran_out = False
            try:
                if self._walk(subject, end, allowed, is_last=is_last):
                    return
            except TimeoutError:
                ran_out = True
            finally:
                self._earned_s += (len(self.found) - count) * _MATCH_S
            if not ran_out:
                slice_s = _AGAIN_S
            elif len(self.found) == count:
                slice_s *= GROWTH

    def _walk(self, subject: str, end: int, allowed_s: float, *, is_last: bool) -> bool:
        """Go from match to match; False where the module's next one is not JavaScript's."""
        empty_at = -1
        for match in self.pattern.finditer(subject, self.at, end, timeout=allowed_s):
            spans: Spans = tuple(match.span(group) for group in range(self.group_count + 1))
            start, stop = spans[0]
            # After an empty match the module looks at the same place for one that is not.
            if start == empty_at:
                return False
            if stop == end and not is_last:
                return True
            self.found.append(spans)
            empty_at = start if start == stop else -1
            self.at = stop + (start == stop)
            if self.first_only:
                return True
        return True
