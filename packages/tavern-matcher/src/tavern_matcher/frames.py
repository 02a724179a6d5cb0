"""What is kept of a scan: one frame a loop, and from the frames the fate of each entry.

Owns the record. It is written in bulk while the scan runs and read one by one only when somebody
asks, since most decisions are never looked at. Must not decide anything.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from attrs import define, field, frozen

from tavern_matcher.budget import Outcome
from tavern_matcher.decision import Draw, EntryId, Reason, ScanState
from tavern_matcher.groups import Removal
from tavern_matcher.scan_entry import ScanEntry


class Sight(NamedTuple):
    """What could be seen in a loop, apart from what an entry itself says."""

    state: ScanState
    skew: int
    """Messages by which the search was widened."""
    blocks: int
    """Blocks of recursion that were there."""


@frozen(kw_only=True)
class ScanLoop:
    """What happened in one loop of a scan."""

    number: int
    """From 1."""
    state: ScanState
    next_state: ScanState
    activated_count: int
    """How many of `MatchResult.activated` had fired at its end: the first ones."""
    delay_level: float | str
    """Recursion delay level that was open."""
    overflowed: bool
    _found: Sequence[ScanEntry] = field(alias="found", repr=False, eq=False)
    _successful: Sequence[ScanEntry] = field(alias="successful", repr=False, eq=False)

    @property
    def found(self) -> tuple[EntryId, ...]:
        """Candidates that were left by the inclusion groups."""
        return tuple(entry.identity for entry in self._found)

    @property
    def successful(self) -> tuple[EntryId, ...]:
        """Those of them that were not out for good, also where the budget had no room."""
        return tuple(entry.identity for entry in self._successful)


@define(eq=False)
class Frame:
    """The record of one loop."""

    number: int
    sight: Sight
    judged: list[tuple[Iterable[int], Reason]] = field(factory=list)
    """Numbers of entries and what was found about them."""
    forced: dict[str, list[int]] = field(factory=dict)
    """By key: the entries that a forced candidate stands for."""
    removed: list[Removal] = field(factory=list)
    won: list[Removal] = field(factory=list)
    """Winners of groups, each with the group and the draw."""
    outcomes: list[Outcome] = field(factory=list)
    replaced: list[int] = field(factory=list)

    def numbers(self, entry: ScanEntry) -> Sequence[int]:
        """Give the place of a candidate; a forced one stands for all of its identity."""
        return (entry.number,) if entry.number >= 0 else self.forced.get(entry.key, ())


@define
class Fate:
    """What became of one entry in the last loop that dealt with it."""

    reason: Reason
    loop: int
    sight: Sight
    cause: Reason | None = None
    """Why it was a candidate, if it was."""
    removal: Removal | None = None
    """The removal, or for a winner of a group, the group and the draw."""
    outcome: Outcome | None = None

    @property
    def draw(self) -> Draw | None:
        """The random number that decided."""
        if self.outcome is not None and self.outcome.draw is not None:
            return self.outcome.draw
        return None if self.removal is None else self.removal.draw


def fates_of(frames: Sequence[Frame]) -> dict[int, Fate]:
    """Follow every entry through all loops."""
    fates: dict[int, Fate] = {}
    verdicts: dict[int, tuple[Reason, Sight]] = {}
    lost: dict[tuple[int, str], Fate] = {}
    for frame in frames:
        for number, reason in _judged(frame):
            verdicts[number] = (reason, frame.sight)
            # Recursion shuts it out; what the messages said about it is worth more.
            if reason is not Reason.EXCLUDED_FROM_RECURSION or number not in fates:
                fates[number] = Fate(reason, frame.number, frame.sight)
        steps: list[Removal | Outcome] = [*frame.won, *frame.removed, *frame.outcomes]
        for step in steps:
            for number in frame.numbers(step.entry):
                fate = _next_fate(fates.get(number), verdicts[number], step, frame)
                fates[number] = _as_lost(lost, number, fate)
        for number in frame.replaced:
            fates[number] = Fate(Reason.REPLACED, frame.number, frame.sight)
    _hold_while_widening(fates, frames)
    return fates


def _hold_while_widening(fates: Mapping[int, Fate], frames: Sequence[Frame]) -> None:
    """Let what was found about an entry hold for the messages behind that changed nothing of it."""
    ends: dict[int, Frame] = {}
    end: Frame | None = None
    for frame in reversed(frames):
        end = (end or frame) if frame.sight.state is ScanState.MIN_ACTIVATIONS else None
        if end is not None:
            ends[frame.number] = end
    for fate in fates.values():
        if fate.cause is None and fate.loop in ends and fate.reason is not Reason.REPLACED:
            fate.loop, fate.sight = ends[fate.loop].number, ends[fate.loop].sight


def _as_lost(lost: dict[tuple[int, str], Fate], number: int, fate: Fate) -> Fate:
    """Give the loss itself: who lost a group meets its winner again in every later loop."""
    if fate.removal is None or not fate.removal.reason:
        return fate
    group = (number, fate.removal.group)
    if fate.reason is not Reason.GROUP_ACTIVE:
        lost[group] = fate
    return lost.get(group, fate)


def _judged(frame: Frame) -> Iterator[tuple[int, Reason]]:
    return ((number, reason) for numbers, reason in frame.judged for number in numbers)


def _next_fate(
    before: Fate | None, verdict: tuple[Reason, Sight], step: Removal | Outcome, frame: Frame
) -> Fate:
    cause, sight = verdict
    fate = Fate(step.reason or cause, frame.number, sight, cause=cause)
    if isinstance(step, Outcome):
        fate.outcome = step
        if before is not None and before.loop == frame.number:
            fate.removal = before.removal
    else:
        fate.removal = step
    return fate
