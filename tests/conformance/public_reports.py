"""Areas of `public_reports` that are about formats: `card`, `card-png`, `world-book`, `preset`.

The input is an object in Python's hands: it is written as JSON, into a PNG where the case says
which chunks, and parsed. Every key of `expected` is one demand (`_DEMANDS`; names of fields are
those of the card); a key nobody knows is a failure. Also: the round trip, and declared types. A
diagnostic is named in lower case with dashes there, in upper case with underscores here.

Presets that are to be run against a chat are in `public_projection`.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

from tavern_format import (
    DEFAULT_ORDER,
    BookSpelling,
    CardCarrier,
    CharacterCard,
    Diagnostic,
    book_to_json,
    complete_prompts,
    convert_world_book,
    dump_card,
    dump_preset,
    dump_world_book,
    parse_card,
    parse_preset,
    parse_world_book,
)
from tests.conformance._cases import Case, json_of, png_of, text_chunk
from tests.conformance._findings import Findings
from tests.conformance._outcome import Outcome, attempt, require_types
from tests.conformance._typed import CARD_ROWS, DEPTH_PROMPT_ROWS

Demand = Callable[[Outcome, Any, Any], str | None]
"""Outcome, input document, expected value; says what is wrong."""


def check_card(case: Case, findings: Findings) -> None:
    """Compare a card in JSON."""
    document = case.fields["input"]["card"]
    data = json.dumps(document).encode()
    outcome = attempt(lambda: parse_card(data, carrier=CardCarrier.JSON))
    _check_demands(case, findings, outcome, document, CARD_DEMANDS)
    if outcome.accepted:
        findings.same("round-trip", json_of(dump_card(outcome.value)), document)


def check_png(case: Case, findings: Findings) -> None:
    """Compare a card in a PNG with the chunks that the case lists."""
    given = case.fields["input"]
    before = [_chunk(*pair) for pair in given.get("png_text_chunks", ())]
    after = [_chunk(*pair) for pair in given.get("png_text_chunks_after_IDAT", ())]
    picture = png_of(*before, after=tuple(after))
    outcome = attempt(lambda: parse_card(picture, carrier=CardCarrier.PNG))
    findings.require("chunks", before or after, f"no chunks in {list(given)}")
    _check_demands(case, findings, outcome, {}, CARD_DEMANDS)


def _chunk(keyword: str, content: Any) -> bytes:
    plain = isinstance(content, str)
    text = content.encode() if plain else b64encode(json.dumps(content).encode())
    return text_chunk(keyword.encode(), text)


def check_book(case: Case, findings: Findings) -> None:
    """Compare a world book, as SillyTavern's file."""
    document = case.fields["input"]["book"]
    outcome = attempt(lambda: parse_world_book(json.dumps(document).encode()))
    _check_demands(case, findings, outcome, document, BOOK_DEMANDS)
    if outcome.accepted:
        findings.same("round-trip", json_of(dump_world_book(outcome.value)), document)


def check_preset(case: Case, findings: Findings) -> None:
    """Compare a preset by itself."""
    document = case.fields["input"]["preset"]
    outcome = attempt(lambda: parse_preset(json.dumps(document).encode()))
    _check_demands(case, findings, outcome, document, PRESET_DEMANDS)
    if outcome.accepted:
        findings.same("round-trip", json_of(dump_preset(outcome.value)), document)


def _check_demands(
    case: Case,
    findings: Findings,
    outcome: Outcome,
    document: Any,
    demands: Mapping[str, Demand],
) -> None:
    if outcome.accepted:
        require_types(findings, outcome.value)
    for key, expected in case.fields["expected"].items():
        demand = demands.get(key)
        if demand is None:
            findings.add(f"expected/{key}", "nobody knows how to compare this")
        elif key not in ("loads", "error") and not outcome.accepted:
            findings.add(f"expected/{key}", outcome.summary())
        else:
            fault = demand(outcome, document, expected)
            findings.require(f"expected/{key}", fault is None, f"{fault}\n{outcome.summary()}")


def _loads(outcome: Outcome, _: Any, expected: Any) -> str | None:
    return None if outcome.accepted is expected else f"loads: {outcome.accepted}"


def _diagnostic(outcome: Outcome, _: Any, expected: Any) -> str | None:
    wanted = str(expected).upper().replace("-", "_")
    return None if wanted in outcome.codes() else f"no {wanted}"


def _error(outcome: Outcome, _: Any, expected: Any) -> str | None:
    wanted = str(expected).upper().replace("-", "_")
    return None if outcome.error and outcome.error.code == wanted else f"not refused: {wanted}"


def _kept(outcome: Outcome, document: Any, expected: Any) -> str | None:
    """The round trip, which is checked in full besides."""
    same = json_of(dump_card(outcome.value)) == document
    return None if same and expected in (True, "identical") else "the text is not kept"


def _attribute(name: str) -> Demand:
    def demand(outcome: Outcome, _: Any, expected: Any) -> str | None:
        value: Any = outcome.value
        for part in name.split("."):
            value = getattr(value, part)
        found = list(value) if isinstance(value, tuple) else value
        return None if found == expected else f"{found!r}, not {expected!r}"

    return demand


def _book_entries(outcome: Outcome, _: Any, expected: Any) -> str | None:
    card: CharacterCard = outcome.value
    count = 0 if card.character_book is None else len(card.character_book.entries)
    wanted = expected if isinstance(expected, int) else len(expected)
    return None if count == wanted else f"{count} entries, not {wanted}"


CARD_DEMANDS: Mapping[str, Demand] = {
    "loads": _loads,
    "error": _error,
    "diagnostic": _diagnostic,
    "raw_preserved": _kept,
    "round_trip": _kept,
    "x_alt_preserved": _kept,
    "name": _attribute("name"),
    "world_book_entries": _book_entries,
    **{row.path[-1]: _attribute(row.attribute) for row in CARD_ROWS},
    **{
        f"depth_prompt.{row.path[-1]}": _attribute(f"depth_prompt.{row.attribute}")
        for row in DEPTH_PROMPT_ROWS
    },
}


def _file_entries(outcome: Outcome, document: Any, expected: Any) -> str | None:
    """Compare the keys that are named, of each entry of the book as SillyTavern's file."""
    book = convert_world_book(outcome.value, BookSpelling.WORLD_INFO)
    ours = list(book_to_json(book)["entries"].values())
    if len(ours) != len(expected):
        return f"{len(ours)} entries"
    for entry, wanted in zip(ours, expected, strict=True):
        named = {key: entry.get(key) for key in wanted}
        if named != wanted:
            return f"{named}, not {wanted}"
    kept = json_of(dump_world_book(outcome.value)) == document
    return None if kept else "the original is not kept"


BOOK_DEMANDS: Mapping[str, Demand] = {
    "loads": _loads,
    "error": _error,
    "diagnostic": _diagnostic,
    "entries": _file_entries,
}


def _order(_: Outcome, document: Any, expected: Any) -> str | None:
    if expected != "ST default order":
        return f"an unknown order {expected!r}"
    remarks: list[Diagnostic] = []
    done = complete_prompts(document, remarks.append)
    orders = [[(line["identifier"], line["enabled"]) for line in group["order"]]
              for group in done["prompt_order"]]  # fmt: skip
    return None if orders == [list(DEFAULT_ORDER)] else "another order"


PRESET_DEMANDS: Mapping[str, Demand] = {
    "loads": _loads,
    "error": _error,
    "diagnostic": _diagnostic,
    "order": _order,
}
