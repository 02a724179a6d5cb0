"""Fired world book entries as the compiler takes them, and which side of a prompt each goes to.

Owns the mapping of SillyTavern's eight positions to the two sides that a list of sections has.
Must not know how an entry came to fire.

Source: the plugin contract, sections A8 and B6.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from attrs import field, frozen

from tavern_compiler._text import trim, utf8_length
from tavern_format import Diagnostic, Position, Severity
from tavern_matcher import Activated, Placement

MAX_LORE_ENTRIES = 4096
"""How many fired entries are considered at all."""


class LoreSide(StrEnum):
    """The two places for lore: around the character's definition."""

    BEFORE = "before"
    AFTER = "after"


class LoreChannel(StrEnum):
    """Which group of parts the lore stands in."""

    SYSTEM = "system"
    """Among the others, where the preset wants it."""
    LATE = "late"
    """In a group of its own, `Profile.late_parts`, that a host can place behind the chat: what
    changes with every message then leaves the text in front as it was."""


@frozen(kw_only=True)
class LoreEntry:
    """One fired entry."""

    book: str
    """Id of the book."""
    uid: str | None = None
    """Id of the entry in its book."""
    content: str = field(repr=False)
    """Without decorators, macros not expanded."""
    text: str | None = field(default=None, repr=False)
    """What stands in the part, if its macros have run already; None: those of `content` run."""
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
    only near it. A text that the scan has rewritten stands as it is; macros of others run in the
    compile, in the order of the parts.
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
        text=one.text if one.text != one.expanded else None,
        position=one.position,
        order=one.order,
    )


def ranked(lore: Sequence[LoreEntry], *, by_order: bool) -> Sequence[int]:
    """List the places of entries from the one that stays longest; of equal order the first."""
    places = range(len(lore))
    return sorted(places, key=lambda place: -lore[place].order) if by_order else places


def candidate_count(lore: Sequence[LoreEntry], places: Sequence[int], limit_bytes: int) -> int:
    """Count the entries, from the first ranked on, that are looked at: so many bytes of content."""
    used = 0
    for count, place in enumerate(places[:MAX_LORE_ENTRIES]):
        used += utf8_length(lore[place].content)
        if used > limit_bytes:
            return count
    return min(len(places), MAX_LORE_ENTRIES)


def side_of(entry: LoreEntry, *, stray: LoreSide | None = None) -> LoreSide | None:
    """Say where an entry goes; None: nowhere. `stray` is for one without a known position."""
    return stray if entry.position is None else SIDES[entry.position][0]


def lore_diagnostics(
    lore: Iterable[NumberedLore], *, stray: LoreSide | None = None
) -> Iterator[Diagnostic]:
    """Name every entry that does not stand where its book wants it."""
    for place, entry in lore:
        found = _remark(entry, stray)
        if found is not None:
            code, severity, message = found
            label = f'Entry {entry.uid} of book "{entry.book}"'
            yield Diagnostic(code, severity, f"/lore/{place}", f"{label} {message}")


def _remark(entry: LoreEntry, stray: LoreSide | None) -> tuple[str, Severity, str] | None:
    if not trim(entry.content):
        message = "has no text and is not in the prompt."
        return "WORLD_BOOK_EMPTY_CONTENT_SKIPPED", Severity.INFO, message
    side, exact = (stray, False) if entry.position is None else SIDES[entry.position]
    wish = "no known position" if entry.position is None else f"position {entry.position.name}"
    if side is not None:
        message = f"asks for {wish} and stands {side} the character."
        return None if exact else ("WORLD_BOOK_POSITION_APPROXIMATED", Severity.WARNING, message)
    if entry.position is None:
        message = "has no known position and is not in the prompt."
        return "POSITION_NOT_PLACED", Severity.WARNING, message
    message = "is for an outlet; there are none here, so it is not in the prompt."
    return "WORLD_BOOK_OUTLET_SKIPPED", Severity.INFO, message
