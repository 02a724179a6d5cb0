"""What would have to change for an entry to fire.

Owns the answer: everything that stands in an entry's way, and what would stand there next. What
removes an obstacle is in `changes`, the look ahead in `foresight`.
"""

from collections.abc import Iterator

from attrs import frozen

from tavern_matcher._js import greater
from tavern_matcher.budget import CountTokens
from tavern_matcher.candidates import Expand
from tavern_matcher.changes import CHANGES, Change
from tavern_matcher.context import ScanContext
from tavern_matcher.decision import Decision, EntryId, Reason, ScanState
from tavern_matcher.draws import Dice
from tavern_matcher.explain import explain, with_verb
from tavern_matcher.foresight import Foresight
from tavern_matcher.index import Index
from tavern_matcher.match import Means, scan_once
from tavern_matcher.result import MatchResult
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.state import MatchState


@frozen(kw_only=True)
class Obstacle:
    """One thing in the way of an entry."""

    reason: Reason
    sentence: str = ""
    """What it is, in English."""
    changes: tuple[Change, ...]
    """Any one of these removes it; the smallest first."""
    foreseen: bool = False
    """It is not met yet, but would be behind the others, with the same text and the same dice."""


@frozen(kw_only=True)
class WhatIf:
    """Why an entry fires or not, and what would make it fire."""

    decision: Decision
    sentence: str
    """What `explain` says."""
    obstacles: tuple[Obstacle, ...] = ()
    """All of them have to go, in the order in which a scan meets them; none for one that fires.

    Those that are `foreseen` come last: inclusion group, budget and chance, as they would turn out
    if the entry passed all its own tests in the first loop. A change that also changes the text,
    the order or another entry can make them turn out otherwise.
    """


def what_if(  # noqa: PLR0913 - what `match` takes
    index: Index,
    context: ScanContext,
    entry: EntryId,
    state: MatchState | None = None,
    *,
    dice: Dice | None = None,
    count_tokens: CountTokens | None = None,
    expand: Expand | None = None,
) -> WhatIf:
    """Say what would have to change for an entry to fire on this context.

    Takes what `match` takes. An entry that does not fire costs up to five scans: one as it is, and
    one for each obstacle that is taken away to see what is behind it.

    Raises:
        LookupError: the entry is not in the index.
        DiceMissingError: as `match`; a draw that only the look ahead needs is named instead.
    """
    found = index.find(entry)
    means = Means(dice, count_tokens, expand)
    result = scan_once(index, context, state or MatchState(), means)
    decision = result.decision(entry)
    obstacles: tuple[Obstacle, ...] = ()
    if not decision.fired:
        ahead = Foresight(index, context, found, state or MatchState(), means)
        obstacles = (*_met(found, decision, result), *_ahead(found, decision, result, ahead))
    return WhatIf(decision=decision, sentence=explain(decision), obstacles=obstacles)


def _met(entry: ScanEntry, decision: Decision, result: MatchResult) -> Iterator[Obstacle]:
    """Go on where a scan stops at the first reason."""
    for reason in dict.fromkeys((*_own_reasons(entry, decision, result), decision.reason)):
        if reason in CHANGES:
            same = reason is decision.reason
            told = decision if same else result.decisions.as_if(entry, reason)
            changes = tuple(CHANGES[reason](entry, told, result.decisions.judge))
            yield Obstacle(reason=reason, sentence=explain(told), changes=changes)


def _own_reasons(entry: ScanEntry, decision: Decision, result: MatchResult) -> Iterator[Reason]:
    """Give what the entry itself does not pass, in the order of the tests."""
    judge = result.decisions.judge
    if decision.reason is Reason.SCAN_ABORTED or entry.entry is None:
        return
    yield from judge.gates_closed(entry)
    if _waits(entry, result):
        yield Reason.WAITS_FOR_RECURSION
    if decision.reason is Reason.EXCLUDED_FROM_RECURSION:
        yield decision.reason
    early = judge.without_keys(entry)
    if early is None:
        early = judge.by_keys(entry, judge.haystack.view(entry, ScanState.RECURSION))
    if not early.fires:
        yield early


def _waits(entry: ScanEntry, result: MatchResult) -> bool:
    """Whether no loop reached the recursion level that an entry waits for."""
    judge, level = result.decisions.judge, entry.conduct.delay_level
    if not level or not judge.rules.loops or judge.timed.is_sticky(entry):
        return False
    return not any(
        loop.state is ScanState.RECURSION and not greater(level, loop.delay_level)
        for loop in result.loops
    )


def _ahead(
    entry: ScanEntry, decision: Decision, result: MatchResult, ahead: Foresight
) -> Iterator[Obstacle]:
    for told, is_open in ahead.after(decision):
        sentence = with_verb(told, "would still not fire")
        if is_open:
            what = f"the inclusion group “{told.group}”" if told.group else "its chance"
            sentence = f"Whether it would pass {what} is up to a draw, and no dice says which."
        changes = tuple(CHANGES[told.reason](entry, told, result.decisions.judge))
        yield Obstacle(reason=told.reason, sentence=sentence, changes=changes, foreseen=True)
