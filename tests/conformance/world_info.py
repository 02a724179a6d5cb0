"""Area `world_info`: one scan of SillyTavern 1.19.0 per case, in profile `st-1.19`.

A case is turned into books, settings, context, state, dice, token counter and macros by
`_scan_input`, matched once, and everything that the record holds is compared: who was activated and
in which order, the texts of every position, depth blocks, author's note, outlets, the timed state
afterwards, the number of draws, the budget, every loop, the visiting order, the identity hashes and
the contents. A scan that threw in SillyTavern must be aborted here.

`prompt_order` is worked out from the order of the activated entries: the placed texts show whether
the matcher keeps to it. A scan that SillyTavern loses without noticing (an entry that is `null`)
has an empty result there and a named abort here.

Not compared: the words of such an error, which are those of a JavaScript engine; and the order of
keys in `outlets`, `hashes` and `contents`, which nothing reads. The order of stored timed effects
is compared: they are handled in it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any

from attrs import field, frozen

from tavern_compiler import ScriptCall, ScriptLists, apply_regex_scripts
from tavern_format import Placement as ScriptPlace
from tavern_format import Position, parse_regex_scripts
from tavern_matcher import (
    Activated,
    EntryId,
    Index,
    MatchProfile,
    MatchResult,
    Placement,
    Rewrite,
    ScanLoop,
    match,
    state_from_json,
    state_to_json,
)
from tests.conformance._cases import Case
from tests.conformance._finders import match_with_both
from tests.conformance._findings import Findings
from tests.conformance._scan_input import (
    TOKENIZERS,
    Macros,
    ServedDice,
    books_of,
    context_of,
    settings_of,
)

Fields = Mapping[str, Any]

_FINDS_NOTHING = "ENTRY_UNREADABLE"
"""The one end of a scan that SillyTavern does not notice."""
UNORDERED = frozenset({"outlets", "hashes", "contents"})
NOT_COMPARED = frozenset({"error_message"})


def check(case: Case, findings: Findings) -> None:
    """Compare one scan."""
    expected = case.fields["expected"]
    ours = record_of(case.fields)
    for name in sorted((expected.keys() | ours.keys()) - NOT_COMPARED):
        if name not in ours:
            findings.add(name, f"absent, not {expected[name]!r}"[:300])
        elif name not in expected:
            findings.add(name, f"{ours[name]!r}, not absent"[:300])
        else:
            findings.same(name, ours[name], expected[name], ordered=name not in UNORDERED)


def record_of(fields: Fields) -> dict[str, Any]:
    """Match a case, and write the result as the recording program wrote its own."""
    settings = settings_of(fields["settings"], MatchProfile.ST_1_19)
    dice = ServedDice(fields.get("random", 0.5))

    def scan(index: Index) -> MatchResult:
        dice.start()
        return match(
            index,
            context_of(fields),
            state_from_json(fields.get("timed_state_before")),
            dice=dice,
            count_tokens=TOKENIZERS[fields.get("tokenizer", "len4")],
            expand=Macros.of(fields).expand,
            rewrite=_rewrite(fields.get("regex_scripts") or ()),
        )

    index, result = match_with_both(books_of(fields["books"]), settings, scan)
    state = {"timed_state_after": state_to_json(result.state)}
    if result.aborted not in (None, _FINDS_NOTHING):
        return {"error": "TypeError", **state}
    writer = _Writer(index, result)
    return {
        **writer.activated(),
        **_texts(result.placement),
        **_note(fields, result),
        **writer.course(),
        **state,
        "random_draws": dice.drawn_count,
    }


@frozen
class _Writer:
    """Writes what concerns entries, each under SillyTavern's name: `world`, and `uid` as it is."""

    index: Index
    result: MatchResult
    names: Mapping[tuple[str, int], tuple[list[Any], str]] = field(init=False)

    @names.default
    def _name_all(self) -> Mapping[tuple[str, int], tuple[list[Any], str]]:
        return {
            (one.identity.book, one.identity.index): (
                [one.fields.get("world", one.book), one.fields.get("uid")],
                one.key,
            )
            for one in self.index.entries
        }

    def activated(self) -> dict[str, Any]:
        """Say who fired, and in which order the texts are put together."""
        fired = self.result.activated
        return {
            "activated": self._ids(one.entry for one in fired),
            "prompt_order": self._ids(one.entry for one in _ranked(fired)),
            "contents": {self._text(one.entry): one.expanded for one in fired},
        }

    def course(self) -> dict[str, Any]:
        """Say how the scan went; a scan without entries leaves no trace."""
        used, order = self.result.budget, self.index.order
        if not self.result.loops:
            return {"budget": None, "loops": []}
        return {
            "budget": {"limit": used.limit_tokens, "overflowed": used.overflowed},
            "loops": [self._loop(loop) for loop in self.result.loops],
            "sorted_order": self._ids(order),
            "hashes": {self._text(entry): self.index.hash_of(entry) for entry in order},
        }

    def _loop(self, loop: ScanLoop) -> dict[str, Any]:
        fired = self.result.activated[: loop.activated_count]
        return {
            "loop": loop.number,
            "state": int(loop.state),
            "next": int(loop.next_state),
            "found": self._ids(loop.found),
            "successful": self._ids(loop.successful),
            "activated_after": self._ids(one.entry for one in fired),
            "recursion_level": loop.delay_level,
            "overflowed": loop.overflowed,
        }

    def _ids(self, entries: Iterable[EntryId]) -> list[list[Any]]:
        return [self.names[entry.book, entry.index][0] for entry in entries]

    def _text(self, entry: EntryId) -> str:
        return self.names[entry.book, entry.index][1]


def _texts(place: Placement) -> dict[str, Any]:
    blocks = [
        {"depth": block.depth, "role": block.stored_role, "entries": _in(block.texts)}
        for block in place.at_depth
    ]
    record: dict[str, Any] = {
        "before": "\n".join(_in(place.before)),
        "after": "\n".join(_in(place.after)),
        "depth": blocks,
        "an_top": _in(place.an_top),
        "an_bottom": _in(place.an_bottom),
        "em_top": _in(place.em_top),
        "em_bottom": _in(place.em_bottom),
        "outlets": {name: _in(placed) for name, placed in place.outlets.items()},
    }
    if place.em_order:
        record["em_order"] = [
            ["top" if one.position is Position.EM_TOP else "bottom", one.text]
            for one in place.em_order
        ]
    return record


def _note(fields: Fields, result: MatchResult) -> dict[str, Any]:
    """Give the author's note of a turn in which it is due; without entries nobody touches it."""
    if not fields.get("author_note_active"):
        return {}
    note = fields.get("author_note", "")
    return {"author_note_after": result.placement.author_note(note) if result.loops else None}


def _ranked(fired: Sequence[Activated]) -> list[Activated]:
    """Sort as JavaScript does with `other.order - one.order`: no number is equal to everything."""

    def compare(one: Activated, other: Activated) -> int:
        return (other.order - one.order > 0) - (other.order - one.order < 0)

    return sorted(fired, key=cmp_to_key(compare))


def _in(placed: Sequence[Activated]) -> list[str]:
    return [one.text for one in placed]


def _rewrite(scripts: Sequence[Fields]) -> Rewrite | None:
    """Run the scripts on each placed text."""
    if not scripts:
        return None
    parsed = parse_regex_scripts(json.dumps(list(scripts)).encode()).value.scripts
    lists = ScriptLists(shared=parsed)

    def rewrite(text: str, depth: float | None) -> str:
        call = ScriptCall(placement=ScriptPlace.WORLD_INFO, for_prompt=True, depth=depth)
        return apply_regex_scripts(text, lists, call).text

    return rewrite
