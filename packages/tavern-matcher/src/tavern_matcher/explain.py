"""A decision as one plain English sentence.

Owns the wording: one row of `SENTENCES` a reason. Sentences hold keys and titles from the book, so
they are for the person whose book it is, not for logs.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Protocol, overload

from tavern_format import SelectiveLogic
from tavern_matcher.decision import Decision, EntryId, KeyMatch, PlaceKind, Reason, ScanState
from tavern_matcher.keys import KeyKind

_SHOWN_KEYS = 5
_SHOWN_CHARS = 40


class HasDecisions(Protocol):
    """The result of a scan."""

    def decision(self, entry: EntryId) -> Decision:
        """Give the decision about one entry."""


@overload
def explain(subject: Decision) -> str: ...
@overload
def explain(subject: HasDecisions, entry: EntryId) -> str: ...
def explain(subject: Decision | HasDecisions, entry: EntryId | None = None) -> str:
    """Say in one English sentence what became of an entry and why.

    Takes a decision, or a result and the entry meant. Raises LookupError for an entry that the
    result knows nothing of, TypeError for a result without an entry.
    """
    if isinstance(subject, Decision):
        decision = subject
    elif entry is None:
        raise TypeError("explain(result, entry) needs the entry")
    else:
        decision = subject.decision(entry)
    verb = "fired" if decision.fired else "did not fire"
    return f"{with_verb(decision, verb)[:-1]}{_circumstances(decision)}."


def with_verb(decision: Decision, verb: str) -> str:
    """Say the reason of a decision after another verb, such as "would not fire"."""
    return f"{_subject(decision)} {verb} {SENTENCES[decision.reason](decision)}."


def _circumstances(decision: Decision) -> str:
    """Say what else a firing entry owes its place to."""
    if not decision.fired:
        return ""
    parts = []
    if decision.state is ScanState.MIN_ACTIVATIONS:
        depth = decision.scan_depth_messages
        parts.append(f"found when the search was widened to {_messages(depth)}")
    if decision.group:
        parts.append(f"it won its inclusion group {_quote(decision.group)}")
    if decision.threshold is not None:
        parts.append(f"its chance of {decision.threshold:g} % came up")
    return f"; {', and '.join(parts)}" if parts else ""


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def _subject(decision: Decision) -> str:
    if decision.title.strip():
        return _quote(decision.title)
    uid = decision.entry.uid
    if decision.reason is Reason.MALFORMED:
        return f"Item {uid}"
    return f"Entry #{decision.entry.index}" if uid is None else f"Entry {uid}"


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + '…'}”"


def _list(keys: Sequence[str]) -> str:
    shown = ", ".join(_quote(key) for key in keys[:_SHOWN_KEYS])
    more = len(keys) - _SHOWN_KEYS
    return f"{shown} and {more} more" if more > 0 else shown


_PLACES = {
    PlaceKind.MESSAGE: "message {}",
    PlaceKind.SOURCE: "the {}",
    PlaceKind.INJECTED: "injected text {}",
    PlaceKind.ENTRY: "the content of entry {}",
    PlaceKind.BETWEEN: "the joined texts",
}
_KINDS = {
    KeyKind.WHOLE_WORD: " as a whole word",
    KeyKind.PHRASE_SUBSTRING: ", where a key with white space need not be a whole word",
    KeyKind.BLANK: ", since a blank key matches every text",
    KeyKind.REGEX: " as a regular expression",
}


def _hit(match: KeyMatch) -> str:
    """Say where a key was found."""
    if match.kind is KeyKind.BLANK and not match.place:
        return f"{_quote(match.key)} is blank, and a blank key matches even where there is no text"
    name = match.place.replace("_", " ") if match.place_kind is PlaceKind.SOURCE else match.place
    place = _PLACES[match.place_kind].format(name)
    where = f"{place} (characters {match.start_chars}-{match.end_chars}"
    where += ", counted with the speaker's name)" if match.in_speaker else ")"
    return f"{_quote(match.key)} occurs in {where}{_KINDS.get(match.kind, '')}"


def _primary(decision: Decision) -> str:
    found = decision.primary_matches
    return f"because its key {_hit(found[0])}" if found else "because of its keys"


def _although(decision: Decision) -> str:
    """Say why it was about to fire."""
    found, cause = decision.primary_matches, decision.cause
    if found and cause in (Reason.PRIMARY_KEY_MATCH, Reason.SECONDARY_KEYS_MATCH, None):
        return f"although its key {_hit(found[0])}"
    return f"although {_CAUSES.get(cause, 'nothing else holds it back')}"


_CAUSES: Mapping[Reason | None, str] = {
    Reason.CONSTANT: "it is constant",
    Reason.STICKY: "it is sticky",
    Reason.FORCED: "it was forced",
    Reason.DECORATOR_ACTIVATE: "it has @@activate",
}


def _searched(decision: Decision) -> str:
    count = decision.scanned_messages
    if count == 0:
        return "in the text that was searched"
    return "in the newest message" if count == 1 else f"in the newest {count} messages"


def _miss(decision: Decision) -> str:
    keys = decision.keys
    if len(keys) == 1:
        return f"because its key {_quote(keys[0])} does not occur {_searched(decision)}"
    return f"because none of its keys ({_list(keys)}) occurs {_searched(decision)}"


_DEMANDS = {
    SelectiveLogic.AND_ANY: "at least one of the secondary keys",
    SelectiveLogic.NOT_ALL: "at least one of the secondary keys to be absent",
    SelectiveLogic.NOT_ANY: "none of the secondary keys",
    SelectiveLogic.AND_ALL: "all of the secondary keys",
}


def _secondary(decision: Decision) -> str:
    """Say what the logic asks for and which secondary keys were there."""
    if decision.logic is None:
        return "its secondary keys are joined by a logic that does not exist"
    found = [match.key for match in decision.secondary_matches]
    missing = [key for key in decision.secondary_keys if key not in found]
    there = f"{_list(found)} found" if found else ""
    absent = f"{_list(missing)} not found" if missing else ""
    listed = "; ".join(part for part in (there, absent) if part)
    return f"it wants {_DEMANDS[decision.logic]} ({listed})"


def _pattern(why: str) -> Callable[[Decision], str]:
    def sentence(decision: Decision) -> str:
        if decision.primary_matches:
            key = _hit(decision.primary_matches[0])
            return f"although its key {key}: a secondary regular expression key {why}"
        return f"because no key was found, and a regular expression key {why}"

    return sentence


def _group(why: str) -> Callable[[Decision], str]:
    return lambda one: f"{_although(one)}: in its inclusion group {_quote(one.group)} {why}"


def _drawn(decision: Decision) -> str:
    """Say what decided between the members: a draw, or an override."""
    taken = "another member was taken"
    if decision.draw is None:
        return taken
    share = decision.group_share
    wanted = "" if share is None else f", and it is taken from {share[0]:.3g} to {share[1]:.3g}"
    return f"{taken} (the draw was {decision.draw.value:.3g}{wanted})"


def _unlucky(decision: Decision) -> str:
    rolled = 0 if decision.draw is None else decision.draw.value * 100
    chance = decision.threshold or 0
    if isnan(chance):
        return f"{_although(decision)}: its probability is no number, and no draw is below that"
    told = "above" if rolled > chance else "not below"
    return f"{_although(decision)}: {rolled:g} was drawn, {told} its chance of {chance:g} %"


def _too_dear(decision: Decision) -> str:
    """Say what would be used with it: its own tokens may be counted together with others."""
    return (
        f"{_although(decision)}: with it {decision.budget_after_tokens} tokens would be used, which"
        f" uses up the budget of {decision.budget_tokens}"
    )


SENTENCES: Mapping[Reason, Callable[[Decision], str]] = {
    Reason.DECORATOR_ACTIVATE: lambda _: "because its content begins with @@activate",
    Reason.FORCED: lambda _: "because it was forced from outside",
    Reason.CONSTANT: lambda _: "because it is constant: it needs no key",
    Reason.STICKY: lambda _: "because it is sticky: it fired a short while ago",
    Reason.PRIMARY_KEY_MATCH: _primary,
    Reason.SECONDARY_KEYS_MATCH: lambda one: f"{_primary(one)}, and {_secondary(one)}",
    Reason.VECTOR_MATCH: lambda _: "because the search by meaning found it",
    Reason.DISABLED: lambda _: "because it is switched off",
    Reason.TRIGGER_MISMATCH: lambda one: (
        f"because it is limited to {', '.join(one.facts[1:])} generations"
        f" and this is a {one.facts[0]} one"
    ),
    Reason.CHARACTER_FILTERED: lambda _: "because its character filter shuts this character out",
    Reason.DELAYED: lambda one: (
        f"because it waits until the chat has {one.facts[0]} messages, and it has {one.facts[1]}"
    ),
    Reason.COOLDOWN: lambda _: "because it is on cooldown after it fired",
    Reason.WAITS_FOR_RECURSION: lambda one: (
        f"because it waits for recursion at level {one.facts[0]}, which was not reached"
    ),
    Reason.EXCLUDED_FROM_RECURSION: lambda _: (
        "because it is excluded from recursion, and no message made it fire"
    ),
    Reason.DECORATOR_DONT_ACTIVATE: lambda _: "because its content begins with @@dont_activate",
    Reason.VECTOR_MATCH_REQUIRED: lambda _: (
        "because it is for a search by meaning, which did not find it"
    ),
    Reason.NO_KEYS: lambda _: "because it has no key and is not constant",
    Reason.NOTHING_SCANNED: lambda one: (
        "because there is no text to search"
        if one.scan_depth_messages
        else "because its scan depth is 0, so nothing is searched for it"
    ),
    Reason.PRIMARY_KEY_MISS: _miss,
    Reason.SECONDARY_KEYS_MISS: lambda one: f"{_although(one)}: {_secondary(one)}",
    Reason.SCAN_ENDED: lambda _: (
        "because the scan ended before the texts of the entries that fired last were searched"
    ),
    Reason.REGEX_TIMEOUT: _pattern("took too long to search for"),
    Reason.REGEX_UNTRANSLATABLE: _pattern("cannot be run here"),
    Reason.REGEX_INVALID: _pattern("is none: JavaScript refuses it"),
    Reason.REGEX_DISABLED: _pattern("is not run, since such keys are switched off"),
    Reason.GROUP_STICKY: _group("another member is sticky"),
    Reason.GROUP_TIMED: _group("it pauses, by its cooldown or delay"),
    Reason.GROUP_SCORE: _group("another member had more keys found"),
    Reason.GROUP_ACTIVE: _group("another member fired before"),
    Reason.GROUP_LOSER: lambda one: _group(_drawn(one))(one),
    Reason.GROUP_COLLATERAL: _group(
        "somebody was removed twice, and SillyTavern takes the last candidate then"
    ),
    Reason.PROBABILITY_FAILED: _unlucky,
    Reason.PROBABILITY_ZERO: lambda _: "because its probability is 0 %",
    Reason.BUDGET_EXCEEDED: _too_dear,
    Reason.AFTER_BUDGET_OVERFLOW: lambda one: (
        f"{_although(one)}: an entry before it did not fit the budget of {one.budget_tokens} tokens"
    ),
    Reason.REPLACED: lambda _: (
        "because another entry with its book name and uid fired in its place"
    ),
    Reason.MALFORMED: lambda _: "because it is no entry at all",
    Reason.SCAN_ABORTED: lambda _: "because something in the books ends every scan in SillyTavern",
}
"""What follows "fired" or "did not fire"."""
