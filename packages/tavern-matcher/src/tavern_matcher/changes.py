"""What removes an obstacle from an entry's way: one row of `CHANGES` a reason.

Owns the wording, and the search for keys where the scan did not look: further back, in another
case, inside words. Must not change what was given, nor ask what comes after.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from math import ceil, floor, isnan

import attrs
from attrs import frozen

from tavern_matcher._js import to_number
from tavern_matcher.candidates import Judge
from tavern_matcher.decision import Decision, Reason, ScanState
from tavern_matcher.keys import Key, KeyKind
from tavern_matcher.scan_entry import ScanEntry


class ChangeKind(StrEnum):
    """What is changed. The values are stable."""

    ENTRY_SWITCH = "entry-switch"
    GENERATION = "generation"
    CHARACTER = "character"
    CHAT_LENGTH = "chat-length"
    RECURSION = "recursion"
    DECORATOR = "decorator"
    KEYS = "keys"
    SCAN_DEPTH = "scan-depth"
    CASE = "case"
    WHOLE_WORDS = "whole-words"
    TEXT = "text"
    SECONDARY_KEYS = "secondary-keys"
    REGEX = "regex"
    VECTORS = "vectors"
    GROUP = "group"
    PROBABILITY = "probability"
    BUDGET = "budget"
    BOOK = "book"


@frozen(kw_only=True)
class Change:
    """One change that removes an obstacle."""

    kind: ChangeKind
    sentence: str
    """What to do, in English."""
    value: float | str | None = None
    """The smallest value that does it, where there is one: messages, percent, tokens, a key."""


Maker = Callable[[ScanEntry, Decision, Judge], Iterator[Change]]


def _one(kind: ChangeKind, sentence: str) -> Maker:
    def make(entry: ScanEntry, decision: Decision, judge: Judge) -> Iterator[Change]:  # noqa: ARG001
        yield Change(kind=kind, sentence=sentence)

    return make


def _of_delay(entry: ScanEntry, _: Decision, judge: Judge) -> Iterator[Change]:
    wanted = to_number(entry.conduct.delay)
    sentence = f"Wait until the chat has {wanted:g} messages; it has {judge.timed.length_messages}."
    yield Change(kind=ChangeKind.CHAT_LENGTH, sentence=sentence, value=wanted)


def _of_cooldown(entry: ScanEntry, _: Decision, judge: Judge) -> Iterator[Change]:
    record = judge.timed.records["cooldown"].get(entry.key)
    end = None if record is None else record.end_messages
    until = "its cooldown is over" if end is None else f"the chat has {end:g} messages"
    yield Change(kind=ChangeKind.CHAT_LENGTH, sentence=f"Wait until {until}.", value=end)


def _of_trigger(entry: ScanEntry, _: Decision, judge: Judge) -> Iterator[Change]:  # noqa: ARG001
    for trigger in entry.conduct.triggers:
        sentence = f"Start a {trigger} generation."
        yield Change(kind=ChangeKind.GENERATION, sentence=sentence, value=str(trigger))


def _of_miss(entry: ScanEntry, _: Decision, judge: Judge) -> Iterator[Change]:
    """Look for the keys where the scan did not look."""
    keys = [judge.ready(entry, key) for key in entry.keys]
    plain = [key for key in keys if key.needle and key.kind is not KeyKind.REGEX]
    deeper = [place for key in plain if (place := _nearest(key, judge)) is not None]
    if deeper:
        depth = min(deeper) + 1
        which = "the newest" if depth == 1 else "an older"
        sentence = f"Raise the scan depth to {depth}: {which} message has one of its keys."
        yield Change(kind=ChangeKind.SCAN_DEPTH, sentence=sentence, value=depth)
    view = judge.haystack.view(entry, ScanState.RECURSION)
    for kind, loosen, what in _LOOSER:
        for key in plain:
            looser = loosen(key)
            if looser is not None and judge.haystack.found(looser, view):
                sentence = f"{what}: “{key.written}” is found then."
                yield Change(kind=kind, sentence=sentence, value=key.written)
                break
    if keys:
        sentence = "Let one of its keys occur in the text that is searched."
        yield Change(kind=ChangeKind.TEXT, sentence=sentence, value=keys[0].written)


def _nearest(key: Key, judge: Judge) -> int | None:
    """Give the place of the newest message that holds a key, whatever the depth."""
    messages = judge.haystack.texts.messages
    return next((place for place, text in enumerate(messages) if text.holds(key)), None)


def _without_case(key: Key) -> Key | None:
    if not key.case_sensitive:
        return None
    return attrs.evolve(key, needle=key.needle.lower(), case_sensitive=False)


def _inside_words(key: Key) -> Key | None:
    return attrs.evolve(key, kind=KeyKind.SUBSTRING) if key.whole_word else None


_LOOSER: tuple[tuple[ChangeKind, Callable[[Key], Key | None], str], ...] = (
    (ChangeKind.CASE, _without_case, "Let the case of letters not count"),
    (ChangeKind.WHOLE_WORDS, _inside_words, "Do not ask for whole words"),
)


def _of_secondary(_: ScanEntry, decision: Decision, judge: Judge) -> Iterator[Change]:  # noqa: ARG001
    found = {match.key for match in decision.secondary_matches}
    for key in decision.secondary_keys:
        there = "is" if key in found else "is not"
        sentence = f"Change the text or the logic: the secondary key “{key}” {there} there."
        yield Change(kind=ChangeKind.SECONDARY_KEYS, sentence=sentence, value=key)


def _of_chance(entry: ScanEntry, decision: Decision, judge: Judge) -> Iterator[Change]:
    now, needed = entry.conduct.probability, 100
    if decision.draw is not None:
        # Whole percent, as SillyTavern's editor has them; some profiles want more than the draw.
        rolled = decision.draw.value * 100
        needed = ceil(rolled) if judge.rules.chance_at_equal else floor(rolled) + 1
    sentence = f"Raise its probability from {now:g} % to {needed} %, or be luckier."
    if isnan(now):
        sentence = f"Give it a probability: {needed} %."
    yield Change(kind=ChangeKind.PROBABILITY, sentence=sentence, value=needed)


def _of_budget(_: ScanEntry, decision: Decision, judge: Judge) -> Iterator[Change]:  # noqa: ARG001
    needed = decision.budget_after_tokens
    value = None if needed is None else needed + 1
    amount = "" if value is None else f" to {value} tokens"
    sentence = f"Raise the budget{amount}, let the entry ignore it, or give it a higher order."
    yield Change(kind=ChangeKind.BUDGET, sentence=sentence, value=value)


def _of_level(entry: ScanEntry, _: Decision, judge: Judge) -> Iterator[Change]:
    level = entry.conduct.delay_level
    needs = "" if judge.settings.recursive else " and switch recursion on"
    sentence = f"Let another entry fire first{needs}: it waits for recursion at level {level}."
    yield Change(kind=ChangeKind.RECURSION, sentence=sentence, value=level)


def _in_group(sentence: str) -> Maker:
    def make(entry: ScanEntry, decision: Decision, judge: Judge) -> Iterator[Change]:  # noqa: ARG001
        told = sentence.format(f"the inclusion group “{decision.group}”")
        yield Change(kind=ChangeKind.GROUP, sentence=told)

    return make


def _of_group(entry: ScanEntry, decision: Decision, _: Judge) -> Iterator[Change]:
    name = decision.group
    if decision.group_share is None:
        sentence = f"Let it win the inclusion group “{name}”: by an override and a higher order."
        yield Change(kind=ChangeKind.GROUP, sentence=sentence)
        return
    start, end = decision.group_share
    weight = to_number(entry.conduct.group_weight)
    sentence = (
        f"Let it win the inclusion group “{name}”: raise its weight of {weight:g}, which wins"
        f" {(end - start) * 100:.3g} % of the draws, give it an override, or be luckier."
    )
    yield Change(kind=ChangeKind.GROUP, sentence=sentence, value=weight)


_REGEX = _one(ChangeKind.REGEX, "Write its regular expression in another way, or as plain text.")
_WRITE_KEYS = _one(ChangeKind.KEYS, "Give it a key, or make it constant.")
CHANGES: Mapping[Reason, Maker] = {
    Reason.DISABLED: _one(ChangeKind.ENTRY_SWITCH, "Switch the entry on."),
    Reason.TRIGGER_MISMATCH: _of_trigger,
    Reason.CHARACTER_FILTERED: _one(
        ChangeKind.CHARACTER, "Open a character that its filter lets in, or change the filter."
    ),
    Reason.DELAYED: _of_delay,
    Reason.COOLDOWN: _of_cooldown,
    Reason.WAITS_FOR_RECURSION: _of_level,
    Reason.EXCLUDED_FROM_RECURSION: _one(
        ChangeKind.RECURSION, "Let it take part in recursion, or name its key in a message."
    ),
    Reason.DECORATOR_DONT_ACTIVATE: _one(
        ChangeKind.DECORATOR, "Take @@dont_activate off its content."
    ),
    Reason.VECTOR_MATCH_REQUIRED: _one(
        ChangeKind.VECTORS, "Let the search by meaning find it, or do not mark it for that."
    ),
    Reason.NO_KEYS: _WRITE_KEYS,
    Reason.NOTHING_SCANNED: _of_miss,
    Reason.PRIMARY_KEY_MISS: _of_miss,
    Reason.SECONDARY_KEYS_MISS: _of_secondary,
    Reason.REGEX_TIMEOUT: _REGEX,
    Reason.REGEX_UNTRANSLATABLE: _REGEX,
    Reason.REGEX_INVALID: _REGEX,
    Reason.REGEX_DISABLED: _one(ChangeKind.REGEX, "Switch regular expression keys on."),
    Reason.SCAN_ENDED: _one(ChangeKind.RECURSION, "Allow more recursion steps, or more budget."),
    Reason.GROUP_STICKY: _in_group("Wait until no other member of {} is sticky, or leave it."),
    Reason.GROUP_TIMED: _in_group("Wait until its own cooldown or delay is over, or leave {}."),
    Reason.GROUP_SCORE: _in_group("Let as many of its keys occur as of the best member of {}."),
    Reason.GROUP_ACTIVE: _in_group("Let it be found before the member of {} that fired."),
    Reason.GROUP_LOSER: _of_group,
    Reason.GROUP_COLLATERAL: _in_group(
        "Let no member of {} lose another group, too, or scan in the profile `safe`."
    ),
    Reason.PROBABILITY_FAILED: _of_chance,
    Reason.PROBABILITY_ZERO: _of_chance,
    Reason.BUDGET_EXCEEDED: _of_budget,
    Reason.AFTER_BUDGET_OVERFLOW: _of_budget,
    Reason.REPLACED: _one(ChangeKind.BOOK, "Give the entry a uid of its own."),
    Reason.MALFORMED: _one(ChangeKind.BOOK, "Write an entry in its place."),
    Reason.SCAN_ABORTED: _one(ChangeKind.BOOK, "Repair the entry that ends the scan."),
}
"""How to get rid of each reason. A reason without a row stands for something that fires."""
