"""Inclusion groups: of the candidates of one loop, which ones have to leave.

Owns the three steps (timed effects, scores, one winner) and SillyTavern's ways of removing. Must
not know keys: a score is asked for. Every removal keeps its reason.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, filterByInclusionGroups,
filterGroupsByTimedEffects, filterGroupsByScoring; the plugin contract, section B3.
"""

import re
from collections.abc import Callable, Iterable, Sequence
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


class Removal(NamedTuple):
    """Why a candidate left a group; without a reason, that it won one."""

    entry: ScanEntry
    reason: Reason | None
    group: str
    draw: Draw | None = None


def group_names(text: Any, rules: Rules) -> list[str]:  # noqa: ANN401 - whatever the book holds
    """Split the inclusion groups of an entry: as in SillyTavern, blanks before a comma stay.

    Raises ScanAbortedError where SillyTavern's scan ends.
    """
    if not isinstance(text, str):
        raise ScanAbortedError("GROUP_NOT_TEXT", "an inclusion group is no text")
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
    active_groups: Sequence[Any]
    """The group fields of entries that fired in earlier loops."""
    removed: list[Removal] = field(factory=list)
    won: list[Removal] = field(factory=list)
    _left: Members = field(factory=list)
    _sticky: set[str] = field(factory=set)

    def filter(self, candidates: Iterable[ScanEntry]) -> Members:
        """Give the candidates that stay, in their order."""
        self._left = list(candidates)
        groups = self._gather()
        steps = (self._by_timed_effects, self._by_score, self._one_winner)
        if self.rules.group_by_group:
            order = [(step, name) for name in groups for step in steps]
        else:
            order = [(step, name) for step in steps for name in groups]
        for step, name in order:
            members = groups[name]
            if not self.rules.losers_keep_competing:
                members[:] = [member for member in members if self._is_left(member)]
            step(name, members)
        return self._left

    def _gather(self) -> dict[str, Members]:
        groups: dict[str, Members] = {}
        for candidate in self._left:
            if candidate.conduct.group:
                for name in group_names(candidate.conduct.group, self.rules):
                    if self.rules.object_group_order and name in _OBJECT_NAMES:
                        raise ScanAbortedError("GROUP_NAME", "a group has the name of a method")
                    groups.setdefault(name, []).append(candidate)
        if self.rules.object_group_order:
            return {name: groups[name] for name in sorted(groups, key=object_key_rank)}
        return groups

    def _is_left(self, entry: ScanEntry) -> bool:
        return any(other is entry for other in self._left)

    def _remove(
        self, entry: ScanEntry, reason: Reason, group: str, draw: Draw | None = None
    ) -> None:
        for at, other in enumerate(self._left):
            if other is entry:
                del self._left[at]
                self.removed.append(Removal(entry, reason, group, draw))
                return
        if self.rules.double_removal_takes_last and self._left:
            self.removed.append(Removal(self._left.pop(), Reason.GROUP_COLLATERAL, group))

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
        if self._is_active(name):
            for member in members:
                self._remove(member, Reason.GROUP_ACTIVE, name)
            return
        if len(members) <= 1:
            return
        ranked = [(one.order, one) for one in members if one.conduct.group_override]
        if ranked:
            winner, draw = sort_descending(ranked)[0], None
        else:
            draw = self.draw("group", name)
            drawn = self._drawn(members, draw.value)
            if drawn is None:
                return
            winner = drawn
        self.won.append(Removal(winner, None, name, draw))
        for member in members:
            if member is not winner:
                self._remove(member, Reason.GROUP_LOSER, name, draw)

    def _is_active(self, name: str) -> bool:
        if self.rules.group_text_is_name:
            return any(text == name for text in self.active_groups)
        return any(name in group_names(text, self.rules) for text in self.active_groups if text)

    def _drawn(self, members: Members, value: float) -> ScanEntry | None:
        """Draw by weight: weights written as text are joined as texts, as in SillyTavern."""
        weights = [member.conduct.group_weight for member in members]
        if not self.rules.negative_weights:
            weights = [max(to_number(weight), 0) for weight in weights]
        total: Any = 0
        for weight in weights:
            total = add(total, weight)
        roll = value * to_number(total)
        if not self.rules.negative_weights and not to_number(total) > 0:
            return members[0]
        reached: Any = 0
        for member, weight in zip(members, weights, strict=True):
            reached = add(reached, weight)
            sum_so_far = to_number(reached)
            if roll < sum_so_far or (self.rules.draw_at_equal and roll == sum_so_far):
                return member
        return None
