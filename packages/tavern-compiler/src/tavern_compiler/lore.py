"""Fired world book entries as the compiler takes them, and which side of a prompt each goes to.

Owns the mapping of SillyTavern's eight positions to the two sides that a list of sections has.
Must not know how an entry came to fire.

Source: the plugin contract, sections A8 and B6.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from attrs import field, frozen

from tavern_format import Diagnostic, Position, Severity
from tavern_matcher import Activated, Placement


class LoreSide(StrEnum):
    """The two places for lore: around the character's definition."""

    BEFORE = "before"
    AFTER = "after"


@frozen(kw_only=True)
class LoreEntry:
    """One fired entry."""

    book: str
    """Id of the book."""
    uid: str | None = None
    """Id of the entry in its book."""
    content: str = field(repr=False)
    """Without decorators, macros not expanded."""
    position: Position | None = Position.BEFORE
    """Where the book wants it."""
    order: float = 100
    """Where not all lore fits, the highest stays."""

    @property
    def qualified_id(self) -> str:
        """`<book>:<uid>`."""
        return f"{self.book}:{self.uid}"


NumberedLore = tuple[int, LoreEntry]
"""An entry and its place in the input."""

SIDES: Mapping[Position, tuple[LoreSide | None, bool]] = {
    Position.BEFORE: (LoreSide.BEFORE, True),
    Position.AFTER: (LoreSide.AFTER, True),
    Position.AN_TOP: (LoreSide.BEFORE, False),
    Position.AN_BOTTOM: (LoreSide.AFTER, False),
    Position.EM_TOP: (LoreSide.BEFORE, False),
    Position.EM_BOTTOM: (LoreSide.AFTER, False),
    Position.AT_DEPTH: (LoreSide.AFTER, False),
    Position.OUTLET: (None, True),
}
"""Where a position goes, None for nowhere, and whether that is what the position means."""


def lore_entries(placement: Placement) -> tuple[LoreEntry, ...]:
    """Turn the matcher's buckets into the compiler's input.

    What belongs before comes first; on each side, what stands there exactly comes before what is
    only near it.
    """
    blocks = [one for block in placement.at_depth for one in block.texts]
    outlets = [one for texts in placement.outlets.values() for one in texts]
    buckets = (
        (*placement.before, *placement.an_top, *placement.em_top),
        (*placement.after, *placement.an_bottom, *placement.em_bottom, *blocks),
        (*outlets, *placement.unplaced),
    )
    return tuple(_entry(one) for bucket in buckets for one in bucket)


def _entry(one: Activated) -> LoreEntry:
    identity = one.entry
    uid = identity.qualified.removeprefix(f"{identity.book}:")
    return LoreEntry(
        book=identity.book,
        uid=uid,
        content=one.content,
        position=one.position,
        order=one.order,
    )


def highest(lore: tuple[LoreEntry, ...], count: int) -> tuple[NumberedLore, ...]:
    """Keep the entries of the highest order, in the sequence they have; of equal ones the first."""
    ranked = sorted(range(len(lore)), key=lambda place: -lore[place].order)
    return tuple((place, lore[place]) for place in sorted(ranked[:count]))


def side_of(entry: LoreEntry) -> LoreSide | None:
    """Say where an entry goes; None: nowhere."""
    return None if entry.position is None else SIDES[entry.position][0]


def lore_diagnostics(lore: Iterable[NumberedLore]) -> Iterator[Diagnostic]:
    """Name every entry that does not stand where its book wants it."""
    for place, entry in lore:
        path = f"/lore/{place}"
        label = f'Entry {entry.uid} of book "{entry.book}"'
        if entry.position is None:
            message = f"{label} has no known position and is not in the prompt."
            yield Diagnostic("POSITION_NOT_PLACED", Severity.WARNING, path, message)
            continue
        side, exact = SIDES[entry.position]
        position = entry.position.name
        if side is None:
            message = f"{label} is for an outlet; there are none here, so it is not in the prompt."
            yield Diagnostic("WORLD_BOOK_OUTLET_SKIPPED", Severity.WARNING, path, message)
        elif not exact:
            message = f"{label} asks for position {position} and stands {side} the character."
            yield Diagnostic("WORLD_BOOK_POSITION_APPROXIMATED", Severity.WARNING, path, message)
