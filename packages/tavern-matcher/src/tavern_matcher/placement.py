"""Where the texts of fired entries go: buckets by position, in SillyTavern's order.

Owns the order inside a bucket. Must not know where a host puts a bucket.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, the end of checkWorldInfo.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from attrs import field, frozen

from tavern_format import Position, Role
from tavern_matcher.decision import EntryId

K = TypeVar("K")


@frozen(kw_only=True)
class Activated:
    """An entry that fired, with what is needed to place it."""

    entry: EntryId
    content: str = field(repr=False)
    """Without decorators, macros not expanded; may be empty."""
    position: Position | None = Position.BEFORE
    order: float = 100
    depth: float = 4
    role: Role = Role.SYSTEM
    outlet_name: str = ""


@frozen(kw_only=True)
class DepthBlock:
    """Texts that go into the chat together."""

    depth: float
    """Messages from the end."""
    role: Role
    texts: tuple[Activated, ...]


@frozen(kw_only=True)
class Placement:
    """Fired entries with a text, by position.

    Higher order stands later, and of equal order the one that fired later stands first; in
    outlets it is the other way round.
    """

    before: tuple[Activated, ...] = ()
    after: tuple[Activated, ...] = ()
    an_top: tuple[Activated, ...] = ()
    """Above the author's note."""
    an_bottom: tuple[Activated, ...] = ()
    em_top: tuple[Activated, ...] = ()
    """Before the example messages."""
    em_bottom: tuple[Activated, ...] = ()
    at_depth: tuple[DepthBlock, ...] = ()
    """The block with the highest order first."""
    outlets: Mapping[str, tuple[Activated, ...]] = field(factory=dict)
    unplaced: tuple[Activated, ...] = ()
    """Without a known position, or for an outlet without a name: SillyTavern drops these."""


def place(activated: Sequence[Activated]) -> Placement:
    """Put fired entries, given in the order in which they fired, into their buckets."""
    descending = sorted((one for one in activated if one.content), key=lambda one: -one.order)
    ascending = descending[::-1]

    def at(position: Position) -> tuple[Activated, ...]:
        return tuple(one for one in ascending if one.position is position)

    outlets = [one for one in descending if one.position is Position.OUTLET]
    return Placement(
        before=at(Position.BEFORE),
        after=at(Position.AFTER),
        an_top=at(Position.AN_TOP),
        an_bottom=at(Position.AN_BOTTOM),
        em_top=at(Position.EM_TOP),
        em_bottom=at(Position.EM_BOTTOM),
        at_depth=_depth_blocks([one for one in descending if one.position is Position.AT_DEPTH]),
        outlets=_group([one for one in outlets if one.outlet_name], lambda one: one.outlet_name),
        unplaced=tuple(
            one
            for one in ascending
            if one.position is None or (one.position is Position.OUTLET and not one.outlet_name)
        ),
    )


def _depth_blocks(descending: Sequence[Activated]) -> tuple[DepthBlock, ...]:
    groups = _group(descending, lambda one: (one.depth, one.role))
    return tuple(
        DepthBlock(depth=depth, role=role, texts=texts[::-1])
        for (depth, role), texts in groups.items()
    )


def _group(
    items: Iterable[Activated], key: Callable[[Activated], K]
) -> dict[K, tuple[Activated, ...]]:
    """Group by a key, groups in the order in which their first member comes."""
    groups: dict[K, list[Activated]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return {name: tuple(members) for name, members in groups.items()}
