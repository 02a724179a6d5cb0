"""The loop of one scan: find candidates, thin them, let them in, decide whether to go on.

Owns the state machine. How an entry is judged, how groups thin candidates and how the budget is
spent is in `candidates`, `groups` and `budget`; what is kept of each loop is in `frames`.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, checkWorldInfo.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field

from tavern_matcher.budget import Outcome, Purse
from tavern_matcher.candidates import Judge, Stage
from tavern_matcher.decision import Reason, ScanState
from tavern_matcher.draws import Drawer
from tavern_matcher.frames import Frame, ScanLoop, Sight
from tavern_matcher.groups import GroupFilter
from tavern_matcher.index import Index
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.touch import Watch


@define(eq=False)
class Scan:
    """One scan on its way."""

    index: Index
    judge: Judge
    watch: Watch
    drawer: Drawer
    purses: Mapping[str, Purse] = field(factory=dict)
    """By book; one for all under the empty name where books are not apart."""
    activated: dict[str, ScanEntry] = field(factory=dict)
    loops: list[ScanLoop] = field(factory=list)
    frames: list[Frame] = field(factory=list)
    _verdicts: dict[int, Reason] = field(factory=dict)
    _positive: set[int] = field(factory=set)
    _recursion_text: str = ""
    _levels: list[float | str] = field(factory=list)
    _level: float | str = 0
    _called_now: frozenset[int] = frozenset()
    _stage: Stage | None = None
    """In which entries were judged last."""

    def run(self) -> None:
        """Go through all loops. Raises DiceMissingError and ScanAbortedError."""
        most = self.judge.settings.max_recursion_steps
        self._levels = list(self.index.delay_levels)
        self._level = self._levels.pop(0) if self._levels else 0
        self._called_now = frozenset(self._called())
        self.watch.start(self._called_now)
        state = ScanState.INITIAL
        while state is not ScanState.NONE and not 0 < most <= len(self.loops):
            state = self._loop(state)

    def _called(self) -> Iterable[int]:
        """Give the entries that need no key in this scan."""
        yield from self.judge.timed.sticky
        yield from self.judge.assumed
        if self.judge.forced:
            yield from (one.number for one in self.index.entries if one.key in self.judge.forced)

    def _loop(self, state: ScanState) -> ScanState:
        haystack = self.watch.haystack
        sight = Sight(state, haystack.skew, len(haystack.blocks))
        frame = Frame(len(self.loops) + 1, sight)
        self.frames.append(frame)
        self._judge_fresh(Stage(state, self._level), frame)
        found: list[ScanEntry] = []
        for name, candidates in self._by_purse(self._candidates(frame)):
            left = self._thin(candidates, frame)
            outcomes = self.purses[name].spend(left, self._recursion_text)
            self._record(outcomes, self.purses[name], frame)
            found += left
        failed = [purse.failed for purse in self.purses.values() if purse.failed]
        successful = [one for one in found if not any(id(one) in out for out in failed)]
        following = self._go_on(state, successful)
        self.loops.append(
            ScanLoop(
                number=frame.number,
                state=state,
                next_state=following,
                activated_count=len(self.activated),
                delay_level=self._level,
                overflowed=self.overflowed,
                found=found,
                successful=successful,
            )
        )
        return following

    @property
    def overflowed(self) -> bool:
        """Whether a text did not fit the budget."""
        return any(purse.overflowed for purse in self.purses.values())

    def _judge_fresh(self, stage: Stage, frame: Frame) -> None:
        before, self._stage = self._stage, stage
        if before is None or before.state is not stage.state:
            self.watch.all_fresh()
        elif before.level != stage.level:
            self.watch.renew(self.index.waiting_for(stage.level))
        fresh = self.watch.take_fresh()
        # What needs its key only, and has it, is a candidate: most of what a large book lets fire.
        sure = fresh & self.watch.hit & self.index.survey.simple - self._called_now
        self._set_verdict(sure, Reason.PRIMARY_KEY_MATCH, frame)
        for number in sorted(fresh - sure):
            reason = self.judge.judge(self.index.entries[number], stage)
            self._set_verdict((number,), reason, frame)

    def _set_verdict(self, numbers: Iterable[int], reason: Reason, frame: Frame) -> None:
        frame.judged.append((numbers, reason))
        self._verdicts.update(dict.fromkeys(numbers, reason))
        if reason.fires:
            self._positive.update(numbers)
        else:
            self._positive.difference_update(numbers)

    def _candidates(self, frame: Frame) -> list[ScanEntry]:
        """Sticky ones first, then in the order of visiting; forced ones lead the others."""
        entries, activated = self.index.entries, self.activated
        numbers = sorted(self._positive)
        chosen = [entries[number] for number in numbers]
        repeated = [entry.number for entry in chosen if entry.key in activated]
        if repeated:
            frame.replaced += repeated
            self._forget(repeated)
            chosen = [entry for entry in chosen if entry.key not in activated]
        if self.judge.forced:
            chosen = self._with_forced(chosen, frame)
        sticky = self.judge.timed.sticky
        if sticky:
            chosen.sort(key=lambda entry: entry.number not in sticky)
        return chosen

    def _with_forced(self, chosen: Sequence[ScanEntry], frame: Frame) -> list[ScanEntry]:
        forced: list[ScanEntry] = []
        others: list[ScanEntry] = []
        for entry in chosen:
            if self._verdicts[entry.number] is not Reason.FORCED:
                others.append(entry)
                continue
            if entry.key not in frame.forced:
                forced.append(self.judge.forced[entry.key])
            frame.forced.setdefault(entry.key, []).append(entry.number)
        return [*forced, *others]

    def _forget(self, numbers: Sequence[int]) -> None:
        self.watch.settle(numbers)
        self._positive.difference_update(numbers)

    def _by_purse(self, candidates: list[ScanEntry]) -> Iterable[tuple[str, list[ScanEntry]]]:
        if not self.judge.rules.books_apart:
            return [("", candidates)]
        parts: dict[str, list[ScanEntry]] = {}
        for entry in candidates:
            parts.setdefault(entry.book, []).append(entry)
        return parts.items()

    def _thin(self, candidates: list[ScanEntry], frame: Frame) -> list[ScanEntry]:
        if not any(one.conduct.group for one in candidates):
            return candidates
        judge = self.judge
        groups = GroupFilter(
            judge.rules,
            judge.settings.use_group_scoring,
            judge.timed,
            lambda entry: judge.score(entry, frame.sight.state),
            lambda kind, name: self.drawer.draw(kind, name, frame.number),
            [one.conduct.group for one in self.activated.values()],
        )
        left = groups.filter(candidates)
        frame.removed, frame.won = groups.removed, groups.won
        return left

    def _record(self, outcomes: Sequence[Outcome], purse: Purse, frame: Frame) -> None:
        frame.outcomes += outcomes
        activated = self.activated
        done: list[int] = []
        for outcome in outcomes:
            entry = outcome.entry
            if outcome.reason is None:
                replaced = activated.get(entry.key)
                if replaced is not None:
                    frame.replaced.append(replaced.number)
                activated[entry.key] = entry
                if entry.number >= 0:
                    done.append(entry.number)
                else:
                    done += frame.numbers(entry)
            elif id(entry) in purse.failed and entry.number >= 0:
                done.append(entry.number)
        self._forget(done)

    def _go_on(self, state: ScanState, successful: Sequence[ScanEntry]) -> ScanState:
        """Decide what the next loop is for, and hand it the texts of this one."""
        if not self.judge.rules.loops:
            return ScanState.NONE
        feeding = [one for one in successful if not one.conduct.prevent_recursion]
        following = self._next(state, feeding)
        if following is not ScanState.NONE:
            self._feed(feeding)
        return following

    def _next(self, state: ScanState, feeding: Sequence[ScanEntry]) -> ScanState:
        settings = self.judge.settings
        going = self.judge.rules.smaller_may_follow or not self.overflowed
        after_widening = state is ScanState.MIN_ACTIVATIONS and self.watch.haystack.blocks
        if settings.recursive and going and (feeding or after_widening):
            return ScanState.RECURSION
        too_few = len(self.activated) < settings.min_activations
        if going and too_few and not self._is_too_deep():
            self.watch.widen()
            return ScanState.MIN_ACTIVATIONS
        if self._levels:
            self._level = self._levels.pop(0)
            return ScanState.RECURSION
        return ScanState.NONE

    def _is_too_deep(self) -> bool:
        depth = self.watch.haystack.depth
        most = self.judge.settings.min_activations_depth_max_messages
        return 0 < most < depth or depth > len(self.judge.context.messages)

    def _feed(self, feeding: Sequence[ScanEntry]) -> None:
        parts = [(entry.identity.qualified, self.content_of(entry)) for entry in feeding]
        text = "\n".join(content for _, content in parts)
        if text:
            self.watch.add_block(parts)
            self._recursion_text = f"{text}\n{self._recursion_text}"

    def content_of(self, entry: ScanEntry) -> str:
        """Give an entry's text as it is now: expanded once it came before the budget."""
        name = entry.book if self.judge.rules.books_apart else ""
        return self.purses[name].content_of(entry)
