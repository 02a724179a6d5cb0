"""Areas `wi-*` of `public_reports`: what people reported about world books that fire wrongly.

The input is a book, or several, and some messages, oldest first, without speakers. Entries are
given in part: what is missing has the value that SillyTavern gives to a new entry, but for
`selectiveLogic`, which one report wants absent. `budget_tokens` is the budget itself; `roll`,
`rolls` and `cases` are the random numbers, by group, by kind of draw, or for all draws.

`expected` holds in profile `st-1.19`, unless it has a part `safe` or `strict_st`: each of these
holds in its own profile. Every key of it is one demand (`_DEMANDS`); one that nobody knows is a
failure. Reasons are those of the decisions, as they are written; a diagnostic is named in lower
case with dashes there, in upper case with underscores here.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from attrs import frozen

from tavern_format import parse_world_book
from tavern_matcher import (
    BookSource,
    Decision,
    Index,
    MatchProfile,
    MatchResult,
    MatchSettings,
    NamedBook,
    ScanContext,
    ScanMessage,
    ScanState,
    explain,
    match,
)
from tests.conformance._cases import Case
from tests.conformance._finders import match_with_both
from tests.conformance._findings import Findings

Fields = Mapping[str, Any]

_TEMPLATE: Fields = {
    "key": [], "keysecondary": [], "comment": "", "content": "", "constant": False,
    "vectorized": False, "selective": True, "addMemo": False, "order": 100, "position": 0,
    "disable": False, "ignoreBudget": False, "excludeRecursion": False, "preventRecursion": False,
    "delayUntilRecursion": 0, "probability": 100, "useProbability": True, "depth": 4,
    "outletName": "", "group": "", "groupOverride": False, "groupWeight": 100, "scanDepth": None,
    "caseSensitive": None, "matchWholeWords": None, "useGroupScoring": None, "automationId": "",
    "role": 0, "sticky": None, "cooldown": None, "delay": None, "triggers": [],
}  # fmt: skip
_SETTINGS = {
    "recursive": "recursive",
    "scan_depth": "scan_depth_messages",
    "min_activations": "min_activations",
}
_INPUT = {
    *_SETTINGS, "entries", "books", "character_book", "keys", "messages", "budget_tokens", "roll",
    "rolls", "cases",
}  # fmt: skip
_ONE_BOOK = "book"
_PROFILES = {"strict_st": MatchProfile.ST_1_19, "safe": MatchProfile.SAFE}
# Longer than any of the patterns can be searched without a limit.
_LONG_RUN = "a" * 64 + "! "
_SLOWEST_BOUNDED_MS = 1000


@frozen
class Scan:
    """One match of a report."""

    index: Index
    result: MatchResult
    wall_ms: float

    def active(self) -> list[Any]:
        """List who fired in the order of the books, as the reports name entries."""
        fired = {one.entry for one in self.result.activated}
        return [self.name(one) for one in self.decisions() if one.entry in fired]

    def decisions(self) -> list[Decision]:
        """List all decisions in the order of the books."""
        return sorted(self.result.decisions, key=lambda one: (one.entry.book, one.entry.index))

    def name(self, decision: Decision) -> Any:
        """Name an entry by its uid, with its book where there are several."""
        entry = decision.entry
        return entry.uid if entry.book == _ONE_BOOK else f"{entry.book}.{entry.uid}"

    def named(self, name: str) -> Decision:
        """Find a decision."""
        return next(one for one in self.result.decisions if str(self.name(one)) == name)

    def codes(self) -> set[str]:
        """Give the codes of all diagnostics."""
        return {found.code for found in self.result.diagnostics}


def check(case: Case, findings: Findings) -> None:
    """Compare one report."""
    given = case.fields["input"]
    findings.require("input", given.keys() <= _INPUT, f"unknown keys in {sorted(given)}")
    for profile, expected in _expectations(case.fields["expected"]):
        for key, value in expected.items():
            place = f"{profile}/{key}"
            demand = _DEMANDS.get(key)
            if demand is None:
                findings.add(place, "nobody knows how to compare this")
            else:
                for fault in demand(given, profile, value):
                    findings.add(place, fault)


def _expectations(expected: Fields) -> Iterator[tuple[MatchProfile, Fields]]:
    split = {name: expected[name] for name in _PROFILES if name in expected}
    rest = {name: value for name, value in expected.items() if name not in _PROFILES}
    if rest or not split:
        yield MatchProfile.ST_1_19, rest
    for name, part in split.items():
        yield _PROFILES[name], part if isinstance(part, Mapping) else {"active": part}


def _scan(given: Fields, profile: MatchProfile, **edits: Any) -> Scan:
    given = {**given, **edits}
    settings = MatchSettings(
        profile=profile,
        budget_percent=100,
        **{_SETTINGS[name]: given[name] for name in _SETTINGS if name in given},
    )
    texts = given.get("messages", ())
    context = ScanContext(
        messages=tuple(ScanMessage(identity=str(at), text=text) for at, text in enumerate(texts)),
        budget_tokens=given.get("budget_tokens"),
    )
    wall_s: list[float] = []

    def scan(index: Index) -> MatchResult:
        start = perf_counter()
        result = match(index, context, dice=_dice(given), count_tokens=_quarter)
        wall_s.append(perf_counter() - start)
        return result

    index, result = match_with_both(_books(given), settings, scan)
    return Scan(index, result, max(wall_s) * 1e3)


def _books(given: Fields) -> list[NamedBook]:
    if "character_book" in given:
        data = json.dumps(given["character_book"]).encode()
        read = parse_world_book(data).value
        return [NamedBook(name=_ONE_BOOK, book=read, source=BookSource.CHARACTER)]
    entries = given.get("entries") or [
        {"uid": uid, "key": [key]} for uid, key in enumerate(given.get("keys", ()))
    ]
    books = given.get("books") or {_ONE_BOOK: entries}
    return [NamedBook(name=name, book=_book(found)) for name, found in books.items()]


def _book(entries: Sequence[Fields]) -> Any:
    document = {"entries": {str(one["uid"]): {**_TEMPLATE, **one} for one in entries}}
    return parse_world_book(json.dumps(document).encode()).value


def _quarter(text: str) -> int:
    return -(-len(text) // 4)


def _dice(given: Fields) -> Callable[[str], float]:
    """Serve numbers by group, by kind, or one for all; a draw without a number is an error."""
    rolls = given.get("rolls", {})

    def draw(purpose: str) -> float:
        kind, _, name = purpose.split("/", 2)
        wanted = (name, {"chance": "probability"}.get(kind, kind))
        found = [rolls[word] for word in wanted if word in rolls]
        return float(found[0] if found else given["roll"])

    return draw


# --- demands ------------------------------------------------------------------------------------

Demand = Callable[[Fields, MatchProfile, Any], Iterator[str]]
"""Input, profile, expected value; says what is wrong."""


def _active(given: Fields, profile: MatchProfile, expected: Any) -> Iterator[str]:
    active = _scan(given, profile).active()
    if active != expected:
        yield f"{active}, not {expected}"


def _active_per_case(given: Fields, profile: MatchProfile, expected: Any) -> Iterator[str]:
    active = [_scan(given, profile, **edits).active() for edits in given["cases"]]
    if active != expected:
        yield f"{active}, not {expected}"


def _with_free_first(given: Fields, profile: MatchProfile, expected: Fields) -> Iterator[str]:
    first, *others = given["entries"]
    edited = {**given, "entries": [{**first, "ignoreBudget": True}, *others]}
    return _active(edited, profile, expected["active"])


def _reject(given: Fields, profile: MatchProfile, expected: Mapping[str, str]) -> Iterator[str]:
    scan = _scan(given, profile)
    for name, reason in expected.items():
        found = scan.named(name)
        if found.fired or found.reason.value != reason:
            yield f"{name}: {found.reason.value}, not {reason}"
        if not explain(found):
            yield f"{name}: nothing to say"


def _diagnostic(given: Fields, profile: MatchProfile, expected: str) -> Iterator[str]:
    wanted = expected.upper().replace("-", "_")
    codes = _scan(given, profile).codes()
    if wanted not in codes:
        yield f"no {wanted} in {sorted(codes)}"


_WIDENED = re.compile(r"min-activations sweep, depth (\d+)")


def _explain(given: Fields, profile: MatchProfile, expected: str) -> Iterator[str]:
    """Look for a kind of hit, or for the loop and depth, in the decision about the first entry."""
    decision = _scan(given, profile).decisions()[0]
    widened = _WIDENED.fullmatch(expected)
    if widened:
        found = (decision.state, decision.scan_depth_messages)
        if found != (ScanState.MIN_ACTIVATIONS, int(widened[1])):
            yield f"state and depth {found}"
    elif expected not in {hit.kind.value for hit in decision.matches}:
        yield f"{decision.matches}, not {expected}"
    if not explain(decision):
        yield "nothing to say"


def _wall(given: Fields, profile: MatchProfile, expected: float) -> Iterator[str]:
    wall_ms = _scan(given, profile).wall_ms
    if wall_ms > expected:
        yield f"took {wall_ms:.0f} ms, not {expected}"


def _accepted(given: Fields, profile: MatchProfile, expected: Any) -> Iterator[str]:
    """Take a key for accepted when it is run: its decision is made, or ran out of time."""
    if expected != ["all three"]:
        yield f"nobody knows how to compare {expected!r}"
    scan = _scan(given, profile, messages=[_LONG_RUN])
    refused = {"regex-untranslatable", "regex-invalid", "regex-disabled"}
    for decision in scan.decisions():
        if decision.reason.value in refused:
            yield f"{decision.keys}: {decision.reason.value}"


def _bounded(given: Fields, profile: MatchProfile, expected: object) -> Iterator[str]:
    wall_ms = _scan(given, profile, messages=[_LONG_RUN]).wall_ms
    if (wall_ms < _SLOWEST_BOUNDED_MS) is not expected:
        yield f"took {wall_ms:.0f} ms"


_DEMANDS: Mapping[str, Demand] = {
    "active": _active,
    "active_per_case": _active_per_case,
    "with_ignoreBudget_on_0": _with_free_first,
    "reject": _reject,
    "diagnostic": _diagnostic,
    "explain": _explain,
    "wall_ms_max": _wall,
    "accepted_for_evaluation": _accepted,
    "bounded": _bounded,
}
