"""Timed effects in one scan: which are running, which ended, which begin.

Owns the arithmetic of sticky, cooldown and delay. Must not know how an entry comes to fire. The
clock is the number of messages.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoTimedEffects.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, evolve, field

from tavern_matcher._js import UNDEFINED, to_number, to_text
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.state import EFFECTS, MatchState, TimedRecord


@define(eq=False)
class TimedEffects:
    """The effects of one scan."""

    length_messages: int
    entries: Sequence[ScanEntry] = field(repr=False)
    records: dict[str, dict[str, TimedRecord]]
    """By effect, then by the name of the entry."""
    by_hash_alone: bool
    sticky: frozenset[int] = frozenset()
    """Numbers of the entries that are sticky now."""
    cooldown: frozenset[int] = frozenset()
    _ended: list[ScanEntry] = field(factory=list)
    """Who stopped being sticky and begins to pause."""

    def is_sticky(self, entry: ScanEntry) -> bool:
        """Whether the entry is kept by an earlier scan."""
        return entry.number in self.sticky

    def is_cooling(self, entry: ScanEntry) -> bool:
        """Whether the entry pauses."""
        return entry.number in self.cooldown

    def is_delayed(self, entry: ScanEntry) -> bool:
        """Whether the chat is too short for the entry."""
        delay = entry.conduct.delay
        return delay is not UNDEFINED and self.length_messages < to_number(delay)

    def resume(self) -> None:
        """Read the stored records: drop what is over, and find out what is running.

        An ended sticky effect starts the cooldown of its entry, which is looked at right after.
        """
        if not any(self.records.values()):
            return
        self.sticky = self._resume("sticky")
        self.cooldown = self._resume("cooldown")

    def _resume(self, effect: str) -> frozenset[int]:
        running: set[int] = set()
        records = self.records[effect]
        for name, record in list(records.items()):
            over = self.length_messages >= record.end_messages
            if self.length_messages <= record.start_messages and not record.protected:
                del records[name]
                continue
            owners = self._owners(name, record)
            if not owners:
                if over:
                    del records[name]
            elif getattr(owners[0].conduct, effect) is UNDEFINED:
                del records[name]
            elif over:
                del records[name]
                self._end(effect, owners[0])
            else:
                running.update(owner.number for owner in owners)
        return frozenset(running | self._pending(effect))

    def _pending(self, effect: str) -> set[int]:
        """Give who began to pause because it is no longer sticky: it pauses at once."""
        return {entry.number for entry in self._ended} if effect == "cooldown" else set()

    def _end(self, effect: str, entry: ScanEntry) -> None:
        if effect == "sticky" and entry.conduct.cooldown is not UNDEFINED:
            record = self._record("cooldown", entry)
            self.records["cooldown"][entry.key] = evolve(record, protected=True)
            self._ended.extend(self._twins(entry))

    def _owners(self, name: str, record: TimedRecord) -> list[ScanEntry]:
        """Find the entries of a record: those with its hash.

        What is hashed holds book and uid, so a record nearly always names its entry; where it does
        not, every entry has to be hashed.
        """
        wanted = to_text(record.hash)
        named = [entry for entry in self.entries if entry.key == name]
        owners = [entry for entry in named if to_text(entry.hash) == wanted]
        if owners or not self.by_hash_alone:
            return owners
        return [entry for entry in self.entries if to_text(entry.hash) == wanted]

    def _twins(self, entry: ScanEntry) -> list[ScanEntry]:
        named = [other for other in self.entries if other.key == entry.key]
        return [other for other in named if other.hash == entry.hash]

    def after(self, activated: Iterable[ScanEntry]) -> MatchState:
        """Give the state for the next scan: with records for entries that fired.

        A record that is there already is not refreshed.
        """
        records = {effect: dict(found) for effect, found in self.records.items()}
        for entry in activated:
            for effect in EFFECTS if entry.conduct.lasts else ():
                known = records[effect]
                if getattr(entry.conduct, effect) is not UNDEFINED and entry.key not in known:
                    known[entry.key] = self._record(effect, entry)
        return MatchState(**records)

    def _record(self, effect: str, entry: ScanEntry) -> TimedRecord:
        lasts = to_number(getattr(entry.conduct, effect))
        return TimedRecord(
            hash=entry.hash if entry.number >= 0 else None,
            start_messages=self.length_messages,
            end_messages=self.length_messages + lasts,
        )


def timed_effects(
    state: MatchState, entries: Sequence[ScanEntry], length_messages: int, *, by_hash_alone: bool
) -> TimedEffects:
    """Take over a stored state; nothing of it is changed."""
    records: Mapping[str, Mapping[str, TimedRecord]] = {
        name: getattr(state, name) for name in EFFECTS
    }
    return TimedEffects(
        length_messages,
        entries,
        {name: dict(found) for name, found in records.items()},
        by_hash_alone,
    )
