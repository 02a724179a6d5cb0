"""How far an entry sees, and how far away each needle is.

Owns the two values, and the comparison of them. Must not know texts or keys.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoBuffer.get.
"""

import math
from collections.abc import Sequence

from attrs import define, field, frozen


@frozen
class View:
    """What one entry sees in one state of the scan."""

    depth: float
    sources: tuple[str, ...]
    with_blocks: bool
    blocks: int
    """Blocks of recursion that are there."""

    @property
    def slots(self) -> int:
        """How many messages, as JavaScript's `slice` takes the depth."""
        return 0 if math.isnan(self.depth) else int(self.depth)


@define
class Reach:
    """Where a kind of hit is: how far back in the messages, in which sources, in the rest."""

    depth: dict[int, int] = field(factory=dict)
    sources: dict[str, frozenset[int]] = field(factory=dict)
    injected: frozenset[int] = frozenset()
    blocks: set[int] = field(factory=set)

    def add(self, first: int, hits: Sequence[tuple[int, ...]]) -> None:
        """Add messages, newest first, all further back than those that are there."""
        places: dict[int, int] = {}
        for place, numbers in reversed(list(enumerate(hits, first))):
            if numbers:
                places.update(dict.fromkeys(numbers, place))
        self.depth = places | self.depth

    def sees(self, number: int, view: View) -> bool:
        """Whether a view of the texts takes in a needle."""
        place = self.depth.get(number)
        # Of a depth that is no whole number, only whole messages count.
        if place is not None and place + 1 <= view.depth:
            return True
        if number in self.injected or (view.with_blocks and number in self.blocks):
            return True
        return any(number in self.sources.get(name, ()) for name in view.sources)
