"""A decision as one plain English sentence.

Owns the wording: one row of `SENTENCES` a reason. Sentences hold keys and titles from the book, so
they are for the person whose book it is, not for logs.
"""

from collections.abc import Callable, Mapping, Sequence

from tavern_format import SelectiveLogic
from tavern_matcher.decision import Decision, KeyMatch, PlaceKind, Reason
from tavern_matcher.keys import KeyKind

_SHOWN_KEYS = 5
_SHOWN_CHARS = 40


def explain(decision: Decision) -> str:
    """Say in one English sentence what became of an entry and why."""
    verb = "fired" if decision.fired else "did not fire"
    return f"{_subject(decision)} {verb} {SENTENCES[decision.reason](decision)}."


def _subject(decision: Decision) -> str:
    if decision.title.strip():
        return _quote(decision.title)
    uid = decision.entry.uid
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
}
_KINDS = {
    KeyKind.WHOLE_WORD: " as a whole word",
    KeyKind.PHRASE_SUBSTRING: ", where a key with white space need not be a whole word",
    KeyKind.BLANK: ", since a blank key matches every text",
}


def _hit(match: KeyMatch) -> str:
    """Say where a key was found."""
    if not match.place:
        return f"{_quote(match.key)} is blank, and a blank key matches even where there is no text"
    name = match.place.replace("_", " ") if match.place_kind is PlaceKind.SOURCE else match.place
    place = _PLACES[match.place_kind].format(name)
    where = f"{place} (characters {match.start_chars}-{match.end_chars}"
    where += ", counted with the speaker's name)" if match.in_speaker else ")"
    return f"{_quote(match.key)} occurs in {where}{_KINDS.get(match.kind, '')}"


def _primary(decision: Decision) -> str:
    return f"because its key {_hit(decision.primary_matches[0])}"


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
    found = [match.key for match in decision.secondary_matches]
    missing = [key for key in decision.secondary_keys if key not in found]
    there = f"{_list(found)} found" if found else ""
    absent = f"{_list(missing)} not found" if missing else ""
    demand = _DEMANDS[decision.logic or SelectiveLogic.AND_ANY]
    return f"it wants {demand} ({'; '.join(part for part in (there, absent) if part)})"


def _regex(decision: Decision) -> str:
    if decision.matches:
        key = f"although its key {_hit(decision.primary_matches[0])}"
        return f"{key}: it hangs on a secondary regular expression key, {_NOT_RUN}"
    return f"because only a regular expression key could make it fire, {_NOT_RUN}"


_NOT_RUN = "and such keys are not executed yet"

SENTENCES: Mapping[Reason, Callable[[Decision], str]] = {
    Reason.DECORATOR_ACTIVATE: lambda _: "because its content begins with @@activate",
    Reason.CONSTANT: lambda _: "because it is constant: it needs no key",
    Reason.PRIMARY_KEY_MATCH: _primary,
    Reason.SECONDARY_KEYS_MATCH: lambda one: f"{_primary(one)}, and {_secondary(one)}",
    Reason.DISABLED: lambda _: "because it is switched off",
    Reason.TRIGGER_MISMATCH: lambda one: (
        f"because it is limited to {', '.join(one.facts[1:])} generations"
        f" and this is a {one.facts[0]} one"
    ),
    Reason.CHARACTER_FILTERED: lambda _: "because its character filter shuts this character out",
    Reason.DELAYED: lambda one: (
        f"because it waits until the chat has {one.facts[0]} messages, and it has {one.facts[1]}"
    ),
    Reason.WAITS_FOR_RECURSION: lambda _: (
        "because it waits for recursion, which is not executed yet"
    ),
    Reason.DECORATOR_DONT_ACTIVATE: lambda _: "because its content begins with @@dont_activate",
    Reason.NO_KEYS: lambda _: "because it has no key and is not constant",
    Reason.NOTHING_SCANNED: lambda one: (
        "because there is no text to search"
        if one.scan_depth_messages
        else "because its scan depth is 0, so nothing is searched for it"
    ),
    Reason.PRIMARY_KEY_MISS: _miss,
    Reason.SECONDARY_KEYS_MISS: lambda one: (
        f"although its key {_hit(one.primary_matches[0])}: {_secondary(one)}"
    ),
    Reason.REGEX_KEYS_NOT_EXECUTED: _regex,
    Reason.PROBABILITY_ZERO: lambda _: "because its probability is 0 %",
}
"""What follows "fired" or "did not fire"."""
