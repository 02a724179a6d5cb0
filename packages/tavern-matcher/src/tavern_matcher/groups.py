"""Inclusion groups: of the candidates of one loop, which ones have to leave.

Owns the three steps (timed effects, scores, one winner) and SillyTavern's ways of removing. Must
not know keys: a score is asked for. Every removal keeps its reason.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, filterByInclusionGroups,
filterGroupsByTimedEffects, filterGroupsByScoring; the plugin contract, section B3.
"""

import re
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from math import isfinite
from typing import Any, NamedTuple

from attrs import define, field

from tavern_matcher._js import add, object_key_rank, sort_descending, to_number
from tavern_matcher.decision import Draw, Reason
from tavern_matcher.errors import ScanAbortedError
from tavern_matcher.rules import Rules
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.timed import TimedEffects

_SEPARATOR = re.compile(
    "[,][\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*"
)
_OBJECT_NAMES = frozenset(
    {
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
        *("toLocaleString", "toString", "valueOf", "__proto__", "__defineGetter__"),
        *("__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
    }
)
"""What every JavaScript object has: as the name of a group it ends SillyTavern's scan."""

Members = list[ScanEntry]
Share = tuple[float, float]
"""Which draws take a member: from, and to; both from 0 to 1."""


class Removal(NamedTuple):
    """Why a candidate left a group; without a reason, that it won one."""

    entry: ScanEntry
    reason: Reason | None
    group: str
    draw: Draw | None = None
    share: Share | None = None


def group_names(entry: ScanEntry, rules: Rules) -> list[str]:
    """Give the inclusion groups of an entry. Raises ScanAbortedError where SillyTavern does."""
    text = entry.conduct.group
    if not isinstance(text, str):
        message = f"{entry.label} has an inclusion group that is no text"
        raise ScanAbortedError("GROUP_NOT_TEXT", message, f"{entry.path}/group")
    names = split_groups(text, rules)
    if rules.object_group_order and not _OBJECT_NAMES.isdisjoint(names):
        message = f"{entry.label} has an inclusion group with the name of a method"
        raise ScanAbortedError("GROUP_NAME", message, f"{entry.path}/group")
    return names


def split_groups(text: str, rules: Rules) -> list[str]:
    """Split a text into names: as in SillyTavern, blanks before a comma stay."""
    names = _SEPARATOR.split(text)
    if rules.trims_group_names:
        return list(dict.fromkeys(name.strip() for name in names if name.strip()))
    return [name for name in names if name]


@define(eq=False)
class GroupFilter:
    """One pass over the candidates of a loop."""

    rules: Rules
    use_scoring: bool
    timed: TimedEffects
    score: Callable[[ScanEntry], int]
    draw: Callable[[str, str], Draw]
    """Draws a number for a kind of purpose and a name."""
    active_groups: Iterable[Any]
    """The group fields of entries that fired in earlier loops."""
    removed: list[Removal] = field(factory=list)
    won: list[Removal] = field(factory=list)
    _left: dict[int, ScanEntry] = field(factory=dict)
    """By `id`, in their order."""
    _sticky: set[str] = field(factory=set)
    _active: frozenset[str] = field(init=False)
    """Names of the groups that an earlier loop has filled."""

    @_active.default
    def _active_names(self) -> frozenset[str]:
        texts = frozenset(text for text in self.active_groups if isinstance(text, str))
        if self.rules.group_text_is_name:
            return texts
        return frozenset(name for text in texts for name in split_groups(text, self.rules))

    def filter(self, candidates: Iterable[ScanEntry]) -> Members:
        """Give the candidates that stay, in their order."""
        self._left = {id(candidate): candidate for candidate in candidates}
        groups = self._gather()
        steps = (self._by_timed_effects, self._by_score, self._one_winner)
        if self.rules.group_by_group:
            order = [(step, name) for name in groups for step in steps]
        else:
            order = [(step, name) for step in steps for name in groups]
        for step, name in order:
            members = groups[name]
            if not self.rules.losers_keep_competing:
                members[:] = [member for member in members if id(member) in self._left]
            step(name, members)
        return list(self._left.values())

    def _gather(self) -> dict[str, Members]:
        groups: dict[str, Members] = {}
        for candidate in self._left.values():
            if candidate.conduct.group:
                for name in group_names(candidate, self.rules):
                    groups.setdefault(name, []).append(candidate)
        if self.rules.object_group_order:
            return {name: groups[name] for name in sorted(groups, key=object_key_rank)}
        return groups

    def _remove(self, entry: ScanEntry, reason: Reason, group: str) -> None:
        self._take_out(Removal(entry, reason, group))

    def _take_out(self, removal: Removal) -> None:
        if self._left.pop(id(removal.entry), None) is not None:
            self.removed.append(removal)
        elif self.rules.double_removal_takes_last and self._left:
            _, last = self._left.popitem()
            self.removed.append(Removal(last, Reason.GROUP_COLLATERAL, removal.group))

    def _by_timed_effects(self, name: str, members: Members) -> None:
        if not self.rules.timed_effects:
            return
        sticky = [member for member in members if self.timed.is_sticky(member)]
        if sticky:
            self._sticky.add(name)
            for member in members:
                if not self.timed.is_sticky(member):
                    self._remove(member, Reason.GROUP_STICKY, name)
        for member in [member for member in members if self.timed.is_cooling(member)]:
            if self.rules.cooldown_beats_sticky or not self.timed.is_sticky(member):
                self._remove(member, Reason.GROUP_TIMED, name)
        for member in [one for one in members if one.number >= 0 and self.timed.is_delayed(one)]:
            self._remove(member, Reason.GROUP_TIMED, name)

    def _by_score(self, name: str, members: Members) -> None:
        asked = self.use_scoring or any(one.conduct.use_group_scoring for one in members)
        if not asked or name in self._sticky or not members:
            return
        scores = [(member, self.score(member)) for member in members]
        best = max(score for _, score in scores)
        kept: Members = []
        for member, score in scores:
            own = member.conduct.use_group_scoring
            if score < best and (self.use_scoring if own is None else own):
                self._remove(member, Reason.GROUP_SCORE, name)
            else:
                kept.append(member)
        members[:] = kept

    def _one_winner(self, name: str, members: Members) -> None:
        if name in self._sticky:
            return
        if name in self._active:
            for member in members:
                self._remove(member, Reason.GROUP_ACTIVE, name)
            return
        if len(members) <= 1:
            return
        ranked = [(one.order, one) for one in members if one.conduct.group_override]
        draw: Draw | None = None
        shares: list[Share | None] = [None] * len(members)
        if ranked:
            winner: ScanEntry | None = sort_descending(ranked)[0]
        else:
            draw = self.draw("group", name)
            winner, shares = self._drawn(members, draw.value)
            if winner is None:
                return
        for member, share in zip(tuple(members), shares, strict=True):
            if member is winner:
                self.won.append(Removal(member, None, name, draw, share))
            else:
                self._take_out(Removal(member, Reason.GROUP_LOSER, name, draw, share))

    def _drawn(self, members: Members, value: float) -> tuple[ScanEntry | None, list[Share | None]]:
        """Draw by weight: weights written as text are joined as texts, as in SillyTavern."""
        weights = [member.conduct.group_weight for member in members]
        if not self.rules.negative_weights:
            weights = [max(to_number(weight), 0) for weight in weights]
        sums: list[Any] = list(accumulate(weights, add, initial=0))
        total = to_number(sums[-1])
        bounds = [to_number(reached) for reached in sums]
        shares = [_share(*pair, total) for pair in pairwise(bounds)]
        if not self.rules.negative_weights and not total > 0:
            return members[0], shares
        roll = value * total
        for member, reached in zip(members, bounds[1:], strict=True):
            if roll < reached or (self.rules.draw_at_equal and roll == reached):
                return member, shares
        return None, shares


def _share(start: float, end: float, total: float) -> Share | None:
    """Say which draws take a member; nothing can be said where weights are no numbers."""
    if not (isfinite(start) and isfinite(end) and isfinite(total) and total > 0):
        return None
    return start / total, end / total
