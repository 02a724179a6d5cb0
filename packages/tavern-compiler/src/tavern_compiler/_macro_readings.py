"""What texts were read as, kept so that a prompt is not read again in every turn.

Owns the bound of what is kept. Must not know what becomes of a macro: a reading is never changed.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from attrs import define, field

from tavern_compiler._macro_nodes import Node
from tavern_compiler._macro_parser import parse, plain_names

MAX_TEXTS: Final = 4096
MAX_CHARS: Final = 1024 * 1024
"""Code points of all texts together: when there are more, all are forgotten."""


class Reading(NamedTuple):
    """The macros of one text."""

    nodes: list[Node]
    token_count: int
    is_plain: bool
    """Whether all of them are names and nothing else, so that none can be a tag."""


@define(eq=False)
class Readings:
    """Readings by text. With or without them every result is the same; threads may share one."""

    _known: dict[str, Reading] = field(factory=dict, init=False, repr=False)
    _chars: int = field(default=0, init=False, repr=False)

    def of(self, text: str, step: Callable[[int], None]) -> Reading:
        """Read a text; `step` is told how many tokens it has, whether or not it was read before."""
        known = self._known.get(text)
        if known is not None:
            step(known.token_count)
            return known
        made = _read(text, step)
        if len(self._known) >= MAX_TEXTS or self._chars + len(text) > MAX_CHARS:
            self._known.clear()
            self._chars = 0
        if len(text) <= MAX_CHARS:
            self._known[text] = made
            self._chars += len(text)
        return made


def _read(text: str, step: Callable[[int], None]) -> Reading:
    plain = plain_names(text)
    if plain is not None:
        step(plain[1])
        return Reading(*plain, is_plain=True)
    counts: list[int] = []

    def count(tokens: int) -> None:
        counts.append(tokens)
        step(tokens)

    return Reading(parse(text, count), sum(counts), is_plain=False)
