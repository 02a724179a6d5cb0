"""Where the texts of fired entries go: buckets by position, in SillyTavern's order.

Owns the order inside a bucket. Must not know where a host puts a bucket.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, the end of checkWorldInfo.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import Factory, field, frozen

from tavern_format import Position, Role
from tavern_matcher._js import (
    UNDEFINED,
    comparable,
    nullish,
    sort_descending,
    strict_key,
    to_number,
    to_text,
)
from tavern_matcher.decision import EntryId
from tavern_matcher.scan_entry import ScanEntry

K = TypeVar("K")
_EXAMPLES = frozenset({Position.EM_TOP, Position.EM_BOTTOM})
DEFAULT_DEPTH = 4
_NUMBERS = (int, float)
_POSITIONS: Mapping[float, Position] = {int(one): one for one in Position}
_ROLES: Mapping[float, Role] = {int(one): one for one in Role}

Rewrite = Callable[[str, float | None], str]
"""Rewrites a text before it is placed; told its depth where it goes to one that is a number."""


_STORED_ROLE = Factory(lambda one: int(one.role), takes_self=True)


@frozen(kw_only=True)
class Activated:
    """An entry that fired, with what is needed to place it."""

    entry: EntryId
    content: str = field(repr=False)
    """Without decorators, macros not expanded; may be empty."""
    position: Position | None = Position.BEFORE
    order: float = field(default=100, eq=comparable)
    depth: float | str | None = field(default=DEFAULT_DEPTH, eq=comparable)
    """None where the entry has none; a text where the book has one, which is no number's equal."""
    role: Role = Role.SYSTEM
    """Who says it at a depth; the system where the book has no role that there is."""
    stored_role: object = field(default=_STORED_ROLE, repr=False, hash=False)
    """The role as the book has it: SillyTavern keeps the blocks of a depth apart by it."""
    outlet_name: str = ""
    expanded: str = field(default="", repr=False)
    """The content with its macros expanded: what recursion searches and the budget counts."""
    text: str = field(default="", repr=False)
    """What is placed: expanded and rewritten. Empty: nothing is placed."""


@frozen(kw_only=True)
class DepthBlock:
    """Texts that go into the chat together."""

    depth: float | str | None = field(eq=comparable)
    """Messages from the end; None for the block of an entry without a depth, which means 4."""
    role: Role
    stored_role: object = field(default=_STORED_ROLE, repr=False, hash=False)
    """As in `Activated`; in a block without a role that there is, SillyTavern sends nothing."""
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
    em_order: tuple[Activated, ...] = ()
    """Those of both in one sequence, as SillyTavern keeps them."""
    at_depth: tuple[DepthBlock, ...] = ()
    """The block with the highest order first."""
    outlets: Mapping[str, tuple[Activated, ...]] = field(factory=dict)
    unplaced: tuple[Activated, ...] = ()
    """Without a known position, or for an outlet without a name: SillyTavern drops these."""

    def author_note(self, note: str) -> str:
        """Put an author's note between its lore, as it is sent in a turn in which it is due."""
        top, bottom = ("\n".join(one.text for one in texts) for texts in self._around_note)
        return f"{top}\n{note}\n{bottom}".removeprefix("\n").removesuffix("\n")

    @property
    def _around_note(self) -> tuple[tuple[Activated, ...], tuple[Activated, ...]]:
        return self.an_top, self.an_bottom


def activated_of(entry: ScanEntry, expanded: str, rewrite: Rewrite | None) -> Activated:
    """Describe an entry that fired."""
    get = entry.fields.get
    position = position_of(entry)
    depth = get("depth", UNDEFINED)
    placed_depth = DEFAULT_DEPTH if nullish(depth) else _depth(depth)
    text = expanded
    if rewrite is not None:
        counts = position is Position.AT_DEPTH and not isinstance(placed_depth, str | bool)
        text = rewrite(expanded, to_number(placed_depth) if counts else None)
    name = get("outletName")
    role = 0 if nullish(get("role")) else get("role")
    return Activated(
        entry=entry.identity,
        content=entry.content,
        position=position,
        order=entry.order,
        depth=None if nullish(depth) else placed_depth,
        role=_role(role),
        stored_role=role,
        outlet_name=to_text(name) if name else "",
        expanded=expanded,
        text=text,
    )


def position_of(entry: ScanEntry) -> Position | None:
    """Say where an entry asks to stand; None for anything but SillyTavern's eight numbers."""
    written: Any = entry.fields.get("position")
    return _POSITIONS.get(written) if type(written) in _NUMBERS else None


def _role(written: object) -> Role:
    """Read a role as SillyTavern does when it sends the block: as a number."""
    return _ROLES.get(to_number(written), Role.SYSTEM)


def _depth(value: object) -> float | str:
    if isinstance(value, str | bool):
        return value
    number = float(to_number(value))
    return int(number) if number.is_integer() else number


def place(activated: Sequence[Activated], *, as_fired: bool = False) -> Placement:
    """Put fired entries, given in the order in which they fired, into their buckets.

    `as_fired` keeps that order inside each bucket; else the order of the entries decides.
    """
    # Sorted first: where orders are no numbers, it matters who takes part in the sorting.
    sort = [(one.order, one) for one in activated]
    every = activated[::-1] if as_fired else sort_descending(sort)
    ascending = [one for one in every if one.text][::-1]
    at = _group(ascending, lambda one: one.position)
    outlets = at.get(Position.OUTLET, ())[::-1]
    return Placement(
        before=at.get(Position.BEFORE, ()),
        after=at.get(Position.AFTER, ()),
        an_top=at.get(Position.AN_TOP, ()),
        an_bottom=at.get(Position.AN_BOTTOM, ()),
        em_top=at.get(Position.EM_TOP, ()),
        em_bottom=at.get(Position.EM_BOTTOM, ()),
        em_order=tuple(one for one in ascending if one.position in _EXAMPLES),
        at_depth=_depth_blocks(at.get(Position.AT_DEPTH, ())[::-1]),
        outlets=_group([one for one in outlets if one.outlet_name], lambda one: one.outlet_name),
        unplaced=tuple(
            one
            for one in ascending
            if one.position is None or (one.position is Position.OUTLET and not one.outlet_name)
        ),
    )


def _depth_blocks(descending: Sequence[Activated]) -> tuple[DepthBlock, ...]:
    """Join texts of one depth and role; one without a depth joins a block of 4, but opens none."""
    blocks: list[tuple[Activated, list[Activated]]] = []
    open_blocks: dict[Hashable, list[Activated]] = {}
    for one in descending:
        depth = DEFAULT_DEPTH if one.depth is None else one.depth
        key = strict_key(depth), strict_key(one.stored_role)
        texts = open_blocks.get(key)
        if texts is None:
            blocks.append((one, texts := []))
            if one.depth is not None:
                open_blocks[key] = texts
        texts.append(one)
    return tuple(
        DepthBlock(
            depth=first.depth,
            role=first.role,
            stored_role=first.stored_role,
            texts=tuple(reversed(texts)),
        )
        for first, texts in blocks
    )


def _group(
    items: Iterable[Activated], key: Callable[[Activated], K]
) -> dict[K, tuple[Activated, ...]]:
    """Group by a key, groups in the order in which their first member comes."""
    groups: dict[K, list[Activated]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return {name: tuple(members) for name, members in groups.items()}
