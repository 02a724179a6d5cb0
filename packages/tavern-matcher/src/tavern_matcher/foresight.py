"""What would stop an entry next, if what stops it now were gone: the scan is run again as if.

Owns these further scans: first as if the entry passed all its own tests, then without its groups,
its budget, its chance, one obstacle less each time. Must not say anything about them.
"""

from collections.abc import Callable, Iterator, Mapping

import attrs
from attrs import frozen

from tavern_matcher._js import UNDEFINED
from tavern_matcher.conduct import Conduct
from tavern_matcher.context import ScanContext
from tavern_matcher.decision import Decision, Reason
from tavern_matcher.draws import Dice
from tavern_matcher.errors import DiceMissingError
from tavern_matcher.groups import split_groups
from tavern_matcher.index import Index
from tavern_matcher.match import Means, scan_once
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.state import MatchState

_LAST = frozenset({Reason.SCAN_ABORTED, Reason.MALFORMED, Reason.REPLACED})
"""Behind these there is nothing to see."""
Without = Callable[[Conduct], Conduct]


def _without_group(conduct: Conduct) -> Conduct:
    return attrs.evolve(conduct, group="")


def _without_chance(conduct: Conduct) -> Conduct:
    return attrs.evolve(conduct, rolls=False)


def _without_budget(conduct: Conduct) -> Conduct:
    return attrs.evolve(conduct, ignore_budget=True)


def _without_tests(conduct: Conduct) -> Conduct:
    return attrs.evolve(conduct, delay=UNDEFINED, delay_level=0, exclude_recursion=False)


_TAKEN_AWAY: Mapping[Reason, Without] = {
    Reason.GROUP_STICKY: _without_group,
    Reason.GROUP_TIMED: _without_group,
    Reason.GROUP_SCORE: _without_group,
    Reason.GROUP_ACTIVE: _without_group,
    Reason.GROUP_LOSER: _without_group,
    Reason.GROUP_COLLATERAL: _without_group,
    Reason.PROBABILITY_FAILED: _without_chance,
    Reason.PROBABILITY_ZERO: _without_chance,
    Reason.BUDGET_EXCEEDED: _without_budget,
    Reason.AFTER_BUDGET_OVERFLOW: _without_budget,
}
"""What takes such a reason away; the others are tests of the entry itself."""


@frozen
class Foresight:
    """Looks behind the obstacles of one entry."""

    index: Index
    context: ScanContext
    entry: ScanEntry
    state: MatchState
    means: Means

    def after(self, decision: Decision) -> Iterator[tuple[Decision, bool]]:
        """Give the decisions that would come one behind the other, until the entry would fire.

        True beside one: only a draw can tell, and the dice has none for it.
        """
        conduct = _without_tests(self.entry.conduct)
        seen: set[Reason] = set()
        while decision.reason not in seen | _LAST:
            seen.add(decision.reason)
            conduct = _TAKEN_AWAY.get(decision.reason, _without_tests)(conduct)
            decision, is_open = self._as_if(conduct)
            if decision.fired:
                return
            yield decision, is_open

    def _as_if(self, conduct: Conduct) -> tuple[Decision, bool]:
        entry = attrs.evolve(self.entry)
        entry.conduct = conduct
        number = entry.number
        entries = self.index.entries
        index = attrs.evolve(self.index, entries=(*entries[:number], entry, *entries[number + 1 :]))
        means = attrs.evolve(self.means, dice=self._dice(entry))
        try:
            result = scan_once(index, self.context, self._awake, means, frozenset({number}))
        except DiceMissingError as missing:
            return _undecided(entry, missing.purpose), True
        return result.decisions[number], False

    @property
    def _awake(self) -> MatchState:
        """The state without a cooldown of the entry, which its groups would look at."""
        cooldown = {
            name: record for name, record in self.state.cooldown.items() if name != self.entry.key
        }
        return attrs.evolve(self.state, cooldown=cooldown)

    def _dice(self, entry: ScanEntry) -> Dice | None:
        """Give dice that take others to be lucky where no number is known."""
        given, rules = self.means.dice, self.index.settings.rules
        if given is None and rules.missing_dice_rolls_zero:
            return None
        group = entry.conduct.group
        own = {("chance", f"{entry.book}#{entry.index}")}
        own.update(("group", name) for name in split_groups(str(group), rules))

        def draw(purpose: str) -> float:
            try:
                return _no_dice(purpose) if given is None else given(purpose)
            except DiceMissingError:
                kind, _, name = purpose.split("/", 2)
                if (kind, name) in own:
                    raise
                return 0.0

        return draw


def _no_dice(purpose: str) -> float:
    raise DiceMissingError(purpose)


def _undecided(entry: ScanEntry, purpose: str) -> Decision:
    kind, _, name = purpose.split("/", 2)
    in_group = kind == "group"
    return Decision(
        entry=entry.identity,
        title=entry.title,
        reason=Reason.GROUP_LOSER if in_group else Reason.PROBABILITY_FAILED,
        cause=Reason.PRIMARY_KEY_MATCH,
        group=name if in_group else "",
        threshold=None if in_group else entry.conduct.probability,
    )
