"""Area `dsh_tavern/matcher_vectors`: the JavaScript plugin's own policy, profile `dsh-tavern`.

One book against one text. Compared are who is accepted, in rank order, and who is rejected, in the
book's order, each with reason, score, keys found, keys refused, token cost, probability and roll;
the budget; and the projection: texts with their side of the prompt, diagnostics, and one decision
for each entry. `_REASONS` and `_CODES` give our names for the plugin's.

The plugin names an entry `<key>@<place>`; ours knows both. It notes a roll of 0 or the number it
was given where it needs none, at 0 % and 100 %: there ours draws nothing, and the number that was
given is filled in here. Not compared: the English of a refused key.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import frozen

from tavern_compiler import LoreEntry, lore_entries
from tavern_compiler.lore import SIDES, lore_diagnostics, side_of
from tavern_format import BookSpelling, Entry, Position, WorldBook, parse_world_book
from tavern_matcher import (
    BookSource,
    Decision,
    EntryId,
    MatchProfile,
    MatchResult,
    MatchSettings,
    NamedBook,
    Reason,
    ScanContext,
    ScanMessage,
    match,
)
from tests.conformance._cases import Case
from tests.conformance._finders import match_with_both
from tests.conformance._findings import Findings

Fields = Mapping[str, Any]

_BOOK = "b1"
_LOGICS = ("and_any", "not_all", "not_any", "and_all")
_POSITIONS = (
    "before_character_definition", "after_character_definition", "before_author_note",
    "after_author_note", "at_depth", "before_example_messages", "after_example_messages", "outlet",
)  # fmt: skip
_OPTIONS: Mapping[str, str] = {
    "caseSensitive": "case_sensitive",
    "matchWholeWords": "match_whole_words",
    "useGroupScoring": "use_group_scoring",
    "allowUnsafeRegex": "regex_keys",
}
_IN_CONTEXT = frozenset({"tokenBudget", "groupRolls", "probabilityRolls", "vectorMatches"})
_REASONS: Mapping[Reason, str] = {
    Reason.DISABLED: "disabled",
    Reason.CONSTANT: "constant",
    Reason.VECTOR_MATCH: "vector-match",
    Reason.VECTOR_MATCH_REQUIRED: "external-vector-match-required",
    Reason.PRIMARY_KEY_MATCH: "primary-key-match",
    Reason.MALFORMED: "invalid-entry",
    Reason.GROUP_SCORE: "inclusion-group-loser",
    Reason.GROUP_LOSER: "inclusion-group-loser",
    Reason.PROBABILITY_ZERO: "probability-failed",
    Reason.PROBABILITY_FAILED: "probability-failed",
    Reason.BUDGET_EXCEEDED: "budget-exceeded",
    **dict.fromkeys(
        (
            Reason.PRIMARY_KEY_MISS, Reason.NO_KEYS, Reason.NOTHING_SCANNED, Reason.REGEX_DISABLED,
            Reason.REGEX_INVALID,
        ),
        "primary-key-miss",
    ),
}  # fmt: skip
_CODES: Mapping[str, str] = {
    "REGEX_KEY_DISABLED": "WORLD_BOOK_REGEX_DISABLED",
    "REGEX_KEY_TOO_LONG": "WORLD_BOOK_REGEX_TOO_LONG",
    "ENTRY_UID_REPEATED": "duplicate-uid",
}
_KEY_CODES: Mapping[str, str] = {
    "REGEX_KEY_DISABLED": "unsafe-regex-disabled",
    "REGEX_KEY_TOO_LONG": "regex-too-long",
    "REGEX_KEY_UNKNOWN_FLAGS": "unsupported-regex-flags",
    "REGEX_KEY_INVALID": "invalid-regex",
}
_KEY_SETS = {"keys": "primary", "secondary_keys": "secondary"}
_AFTER_CHANCE = frozenset({Reason.BUDGET_EXCEEDED, Reason.PROBABILITY_FAILED})


def check(case: Case, findings: Findings) -> None:
    """Compare one call."""
    fields = case.fields
    unknown = fields["options"].keys() - _OPTIONS.keys() - _IN_CONTEXT
    findings.require("options", not unknown, f"unknown options {sorted(unknown)}")
    run = _run(fields)
    findings.same("accepted", [run.row(one) for one in run.accepted()], fields["accepted"])
    expected = [_without_words(row) for row in fields["rejected"]]
    findings.same("rejected", [run.row(one) for one in run.rejected()], expected)
    findings.same("budget", run.budget(), fields["budget"])
    projected = fields["projection"]
    findings.same("projection/loreEntries", run.lore(), projected["loreEntries"])
    findings.same("projection/diagnostics", run.codes(), projected["diagnostics"])
    findings.same("projection/decisions", run.decisions(), projected["decisions"])


def _without_words(row: Fields) -> Fields:
    keys = [{name: one[name] for name in one if name != "error"} for one in row["invalidKeys"]]
    return {**row, "invalidKeys": keys}


@frozen
class _Run:
    """One call and its result, in the plugin's words."""

    options: Fields
    book: WorldBook
    result: MatchResult

    def entry(self, identity: EntryId) -> Entry:
        return self.book.entries[identity.index]

    def accepted(self) -> list[Decision]:
        by_id = {one.entry: one for one in self.result.decisions}
        return [by_id[one.entry] for one in self.result.activated]

    def rejected(self) -> list[Decision]:
        found = [one for one in self.result.decisions if not one.fired]
        return sorted(found, key=lambda one: one.entry.index)

    def row(self, decision: Decision) -> dict[str, Any]:
        """Write one candidate."""
        entry = self.entry(decision.entry)
        row = {
            "uid": entry.uid,
            "key": f"{entry.origin.key if entry.origin else entry.uid}@{decision.entry.index}",
            "reason": self.reason(decision),
            "score": self.score(decision),
            "primaryMatches": [hit.key for hit in decision.primary_matches],
            "secondaryMatches": [hit.key for hit in decision.secondary_matches],
            "invalidKeys": list(self.refused_keys(decision)),
        }
        if decision.tokens is not None:
            row["tokenCost"] = decision.tokens
        if self.had_chance(decision):
            row |= {"probability": entry.probability, "probabilityRoll": self.roll(decision)}
        return row

    def reason(self, decision: Decision) -> str:
        logic = "" if decision.logic is None else _LOGICS[decision.logic]
        secondary = {
            Reason.SECONDARY_KEYS_MATCH: f"secondary-{logic}-match",
            Reason.SECONDARY_KEYS_MISS: f"secondary-{logic}-miss",
        }
        return secondary.get(decision.reason) or _REASONS[decision.reason]

    def score(self, decision: Decision) -> int:
        """Count the keys as the plugin does; what needs no key scores one at least."""
        primary, secondary = len(decision.primary_matches), len(decision.secondary_matches)
        cause = decision.cause or decision.reason
        if cause in (Reason.CONSTANT, Reason.VECTOR_MATCH):
            return max(1, primary)
        adds = cause is Reason.SECONDARY_KEYS_MATCH and self.reason(decision).startswith(
            "secondary-and"
        )
        return primary + secondary * adds

    def refused_keys(self, decision: Decision) -> Iterator[dict[str, Any]]:
        prefix = f"/books/0/entries/{decision.entry.index}/"
        for found in self.result.diagnostics:
            attribute, _, place = found.path.removeprefix(prefix).partition("/")
            if found.code in _KEY_CODES and found.path.startswith(prefix):
                keys = getattr(self.entry(decision.entry), attribute)
                yield {
                    "key": keys[int(place)],
                    "code": _KEY_CODES[found.code],
                    "set": _KEY_SETS[attribute],
                }

    def had_chance(self, decision: Decision) -> bool:
        reasons = (Reason.PROBABILITY_ZERO, *_AFTER_CHANCE)
        return decision.fired or decision.reason in reasons

    def roll(self, decision: Decision) -> float:
        if decision.draw is not None and decision.draw.purpose.startswith("chance/"):
            return decision.draw.value
        return _given_roll(self.options, self.entry(decision.entry), decision.entry.index)

    def budget(self) -> dict[str, Any]:
        used = self.result.budget
        limit = used.limit_tokens
        remaining = None if limit is None else limit - used.used_tokens
        return {"limit": limit, "used": used.used_tokens, "remaining": remaining}

    def lore(self) -> list[dict[str, Any]]:
        return [
            {
                "resourceId": one.book,
                "id": one.qualified_id,
                "uid": None if one.uid is None else int(one.uid),
                "content": one.content,
                "position": side,
            }
            for one in self.lore_entries()
            if (side := side_of(one)) is not None
        ]

    def lore_entries(self) -> tuple[LoreEntry, ...]:
        return lore_entries(self.result.placement)

    def codes(self) -> list[str]:
        """List the diagnostics that the plugin has, too."""
        ours = [_CODES[one.code] for one in self.result.diagnostics if one.code in _CODES]
        lore = lore_diagnostics(enumerate(self.lore_entries()))
        return [*dict.fromkeys(ours), *(one.code for one in lore)]

    def decisions(self) -> list[dict[str, Any]]:
        """Write the decisions: the rejected first."""
        return [self.decision(one) for one in (*self.rejected(), *self.accepted())]

    def decision(self, decision: Decision) -> dict[str, Any]:
        entry = self.entry(decision.entry)
        side, exact = (None, True) if entry.position is None else SIDES[entry.position]
        placed = decision.fired and side is not None
        skipped = decision.fired and entry.position is Position.OUTLET
        chance = self.had_chance(decision)
        return {
            "resourceId": decision.entry.book,
            "entryId": entry.uid,
            "entryName": decision.title,
            "decision": "included" if placed else "rejected",
            "reason": "outlet-unsupported" if skipped else self.reason(decision),
            "primaryKeys": list(decision.keys),
            "secondaryKeys": list(entry.secondary_keys),
            "primaryMatches": [hit.key for hit in decision.primary_matches],
            "secondaryMatches": [hit.key for hit in decision.secondary_matches],
            "secondaryLogic": None if decision.logic is None else _LOGICS[decision.logic],
            "groupName": entry.group or None,
            "groupWeight": entry.group_weight,
            "groupOverride": entry.group_override,
            "probability": entry.probability,
            "probabilityRoll": self.roll(decision) if chance else None,
            "tokenCost": decision.tokens,
            "requestedPosition": (None if entry.position is None else _POSITIONS[entry.position]),
            "appliedPosition": side if placed else None,
            "approximatePosition": skipped or not exact,
        }


def _run(fields: Fields) -> _Run:
    options = fields["options"]
    book = parse_world_book(json.dumps(fields["book"]).encode()).value
    settings = MatchSettings(
        profile=MatchProfile.DSH_TAVERN,
        **{_OPTIONS[name]: options[name] for name in _OPTIONS if name in options},
    )
    embedded = book.spelling is BookSpelling.CHARACTER_BOOK
    source = BookSource.CHARACTER if embedded else BookSource.GLOBAL
    context = ScanContext(
        messages=(ScanMessage(identity="0", text=fields["text"]),),
        budget_tokens=options.get("tokenBudget"),
        vector_matches=tuple(_vector_matches(options, book)),
    )
    _, result = match_with_both(
        [NamedBook(name=_BOOK, book=book, source=source)],
        settings,
        lambda index: match(index, context, dice=_dice(options, book)),
    )
    return _Run(options, book, result)


def _vector_matches(options: Fields, book: WorldBook) -> Iterator[EntryId]:
    given = options.get("vectorMatches", {})
    for at, entry in enumerate(book.entries):
        if given.get(str(entry.uid)):
            yield EntryId(book=_BOOK, index=at, uid=entry.uid)


def _dice(options: Fields, book: WorldBook) -> Callable[[str], float]:
    """Serve the rolls of a call by what they are for; those that are not given are 0."""
    by_name = {
        f"{_BOOK}#{at}": _given_roll(options, entry, at) for at, entry in enumerate(book.entries)
    }

    def draw(purpose: str) -> float:
        kind, _, name = purpose.split("/", 2)
        if kind == "chance":
            return by_name[name]
        return float(options.get("groupRolls", {}).get(name, 0))

    return draw


def _given_roll(options: Fields, entry: Entry, at: int) -> float:
    """Look a roll up as the plugin does: by the name of the entry, then by its uid."""
    rolls = options.get("probabilityRolls", {})
    key = f"{entry.origin.key if entry.origin else entry.uid}@{at}"
    return float(rolls.get(key, rolls.get(str(entry.uid), 0)))
