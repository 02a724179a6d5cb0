"""Decisions made on demand: most are never read, and a scan only keeps what they are made from.

Owns turning a fate, or the lack of one, into a `Decision`. Must not change what was decided.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import overload

import attrs
from attrs import define, field

from tavern_format import Position, SelectiveLogic
from tavern_matcher._js import to_number, to_text
from tavern_matcher.candidates import Judge, Stage
from tavern_matcher.decision import Decision, EntryId, KeyMatch, Reason, ScanState
from tavern_matcher.frames import Fate, fates_of
from tavern_matcher.index import Index
from tavern_matcher.keys import Key, KeyKind
from tavern_matcher.placement import Activated, position_of
from tavern_matcher.reach import View
from tavern_matcher.scan import Scan
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.scan_text import NO_TEXT

_LARGE = 10**15


@define(eq=False, repr=False)
class Decisions(Sequence[Decision]):
    """One decision for every entry of the index, in the order of visiting; made when asked for.

    Equal to any sequence of equal decisions.
    """

    _index: Index
    judge: Judge
    """What judged in this scan."""
    _scan: Scan | None
    """None: SillyTavern's scan ended without a result."""
    _placed: Callable[[], Mapping[tuple[str, int], Activated]]
    """Gives what was activated, by book and place."""
    _limit: int | None = None
    _followed: Mapping[int, Fate] | None = None
    _made: dict[int, Decision] = field(factory=dict)

    def __len__(self) -> int:
        return len(self._index.entries)

    @overload
    def __getitem__(self, index: int) -> Decision: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Decision, ...]: ...
    def __getitem__(self, index: int | slice) -> Decision | tuple[Decision, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self))))
        number = range(len(self))[index]
        if number not in self._made:
            self._made[number] = self._make(self._index.entries[number])
        return self._made[number]

    def __iter__(self) -> Iterator[Decision]:
        return (self[at] for at in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(map(_equal, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<Decisions: {len(self)} entries>"

    def of(self, entry: EntryId) -> Decision:
        """Give the decision about one entry. Raises LookupError if the index has none."""
        return self[self._index.find(entry).number]

    def as_if(self, entry: ScanEntry, reason: Reason) -> Decision:
        """Give the decision about an entry as if a test before the loop had decided."""
        return self._decision(entry, reason, ScanState.INITIAL)

    def _make(self, entry: ScanEntry) -> Decision:
        scan = self._scan
        if scan is None or not scan.loops:
            return self._decision(entry, Reason.SCAN_ABORTED, ScanState.INITIAL)
        fate = self._fates().get(entry.number)
        if fate is not None:
            return self._of_fate(entry, fate)
        last = scan.loops[-1]
        reason = scan.watch.closed.get(entry.number) or self.judge.closes(entry)
        if reason is not None:
            return self._decision(entry, reason, ScanState.INITIAL)
        reason = self.judge.judge(entry, Stage(last.state, last.delay_level))
        if reason is Reason.EXCLUDED_FROM_RECURSION:
            # No text holds its keys, so it is not recursion that holds it back.
            reason = self.judge.judge(entry, Stage(ScanState.INITIAL, 0))
        cause = reason if reason.fires else None
        made = self._decision(entry, Reason.SCAN_ENDED if cause else reason, last.state)
        return attrs.evolve(made, cause=cause, loop=last.number, state=last.state)

    def _fates(self) -> Mapping[int, Fate]:
        if self._followed is None:
            self._followed = fates_of(() if self._scan is None else self._scan.frames)
        return self._followed

    def _decision(
        self, entry: ScanEntry, reason: Reason, state: ScanState, view: View | None = None
    ) -> Decision:
        view = view or self.judge.haystack.view(entry, state)
        secondary = entry.secondary_keys if entry.conduct.selective else ()
        logic = entry.conduct.logic
        return Decision(
            entry=entry.identity,
            title=entry.title,
            reason=reason,
            keys=tuple(key.written for key in entry.keys),
            secondary_keys=tuple(key.written for key in secondary),
            logic=SelectiveLogic(logic) if secondary and logic >= 0 else None,
            scan_depth_messages=view.slots,
            scanned_messages=min(view.slots, len(self.judge.context.messages)),
            facts=self._facts(entry, reason),
            position=position_of(entry),
            budget_tokens=self._limit,
        )

    def _of_fate(self, entry: ScanEntry, fate: Fate) -> Decision:
        state = fate.sight.state
        view = self.judge.haystack.view_at(entry, *fate.sight)
        outcome, draw = fate.outcome, fate.draw
        before = outcome.before_tokens if outcome else None
        tokens = outcome.tokens if outcome else None
        return attrs.evolve(
            self._decision(entry, fate.reason, state, view),
            matches=tuple(self._matches(entry, view)),
            cause=None if fate.reason.fires else fate.cause,
            loop=fate.loop,
            state=state,
            group=fate.removal.group if fate.removal else "",
            group_share=fate.removal.share if fate.removal else None,
            draw=draw,
            threshold=entry.conduct.probability if outcome and outcome.draw else None,
            tokens=tokens,
            budget_before_tokens=before,
            budget_after_tokens=None if before is None or tokens is None else before + tokens,
            applied_position=self._applied(entry) if fate.reason.fires else None,
        )

    def _applied(self, entry: ScanEntry) -> Position | None:
        """Say where the text of a firing entry stands."""
        found = self._placed().get((entry.book, entry.index))
        if found is None or not found.text:
            return None
        outlet = found.position is Position.OUTLET
        return None if outlet and not found.outlet_name else found.position

    def _facts(self, entry: ScanEntry, reason: Reason) -> tuple[str, ...]:
        """Keep what `explain` says about the gates."""
        context, conduct = self.judge.context, entry.conduct
        if reason is Reason.TRIGGER_MISMATCH:
            return (context.trigger, *map(to_text, conduct.triggers))
        if reason is Reason.DELAYED:
            return (_shown(to_number(conduct.delay)), str(len(context.messages)))
        if reason is Reason.WAITS_FOR_RECURSION:
            return (_shown(to_number(conduct.delay_level)),)
        return ()

    def _matches(self, entry: ScanEntry, view: View) -> Iterator[KeyMatch]:
        secondary = entry.secondary_keys if entry.conduct.selective else ()
        for keys, is_secondary in ((entry.keys, False), (secondary, True)):
            for written in keys:
                key = self.judge.ready(entry, written)
                found = self._match(key, view, is_secondary=is_secondary)
                if found is not None:
                    yield attrs.evolve(found, key=written.written)

    def _match(self, key: Key, view: View, *, is_secondary: bool) -> KeyMatch | None:
        haystack = self.judge.haystack
        if key.kind is KeyKind.NEVER:
            return None
        if key.kind is KeyKind.REGEX:
            span = haystack.regex_span(key, view)
            return None if span is None else span[0].describe(key, span[1], secondary=is_secondary)
        passages = tuple(haystack.passages(view))
        if key.kind is KeyKind.BLANK:
            if not self.judge.rules.blank_key_matches:
                return None
            return (passages or (NO_TEXT,))[0].find(key, secondary=is_secondary)
        if key.joined:
            joined = haystack.joined(view, marked=True)
            return joined.find(key, secondary=is_secondary)
        hits = (passage.find(key, secondary=is_secondary) for passage in passages)
        return next((hit for hit in hits if hit is not None), None)


def _shown(number: float) -> str:
    """Write a number for people; one of a file may be too large for any format."""
    return f"{number:g}" if abs(number) < _LARGE else "very many"


def _equal(left: object, right: object) -> bool:
    return left == right
