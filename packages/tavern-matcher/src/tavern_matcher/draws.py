"""Random numbers of one scan, and a dice that a whole session can be repeated with.

Owns the purposes and the record of what was drawn. No random source is read: numbers come from the
dice that is given, and `SeededDice` works its numbers out.
"""

from collections.abc import Callable, Iterable, Mapping

from attrs import define, evolve, field, frozen

from tavern_matcher._js_json import string_hash
from tavern_matcher.decision import Draw
from tavern_matcher.errors import DiceMissingError

Dice = Callable[[str], float]
"""Draws a number in [0, 1); told what for."""

_BITS = 2.0**53


@define(eq=False)
class Drawer:
    """Draws for one scan and keeps every number."""

    dice: Dice | None
    default_zero: bool
    """Without dice every number is 0."""
    drawn: list[Draw] = field(factory=list)

    def draw(self, kind: str, name: str, loop: int) -> Draw:
        """Draw a number; raises DiceMissingError without dice."""
        purpose = f"{kind}/{loop}/{name}"
        if self.dice is None and not self.default_zero:
            raise DiceMissingError(purpose)
        value = 0.0 if self.dice is None else self.dice(purpose)
        if not 0 <= value < 1:
            raise ValueError(f"a dice must draw from 0 to below 1: {value!r} for {purpose}")
        draw = Draw(purpose=purpose, value=value)
        self.drawn.append(draw)
        return draw


@frozen
class SeededDice:
    """A dice whose numbers follow from a seed, a scan and the purpose alone.

    One seed repeats a whole session, when each scan has a name of its own. A number does not
    depend on the ones before it: another entry in a book changes no other entry's luck.

    >>> dice = SeededDice("chat 7").for_scan("12")
    >>> dice("chance/1/River#0") == SeededDice("chat 7").for_scan("12")("chance/1/River#0")
    True
    """

    seed: str
    scan: str = ""

    def for_scan(self, scan: str) -> "SeededDice":
        """Give the dice of one scan: name it by something that stays, such as a message."""
        return evolve(self, scan=scan)

    def __call__(self, purpose: str) -> float:
        """Draw a number in [0, 1)."""
        text = f"{self.seed}\x00{self.scan}\x00{purpose}"
        # Hashed twice: texts that differ in their last character only are far apart, then.
        return string_hash(f"{string_hash(text)}\x00{text}") / _BITS


@frozen
class RecordedDice:
    """A dice that gives again what was drawn once, by purpose; anything else is refused."""

    draws: Mapping[str, float]

    @classmethod
    def of(cls, draws: Iterable[Draw]) -> "RecordedDice":
        """Take the record of a `MatchResult`."""
        return cls({draw.purpose: draw.value for draw in draws})

    def __call__(self, purpose: str) -> float:
        """Give the number that was drawn; raises DiceMissingError for a new purpose."""
        if purpose not in self.draws:
            raise DiceMissingError(purpose)
        return self.draws[purpose]
