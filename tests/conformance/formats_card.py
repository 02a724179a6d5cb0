"""Areas `card_json`, `card_yaml`, `issues_cards`: cards as text, and what every carrier shares.

Compared, for each input:

- `recommended`: accepted or refused, with the code, place and diagnostic it names (`_phrases`).
- Round trip: `dump_card(parse_card(x))` is the input's JSON, key order and numbers included, and
  parsing it again gives an equal card (not so of YAML: its keys mean less in JSON). The input is
  read by Python's own json (PyYAML, or `_png_reference`), with the last of repeated keys and U+FFFD
  for bad bytes.
- Types: no attribute, at any depth, holds a value of another type than declared.
- Attributes: each against the rule of `_typed` for the input's value; the values that are odd
  by that rule are exactly those with a FIELD_TYPE diagnostic.
- SillyTavern (`st_import`): the card it stored against ours. Of a V2 or V3 card, every key; of
  other cards, the attributes. Its file name is `safe_file_name` of our name.

Not compared: `chat`, `create_date`, `fav` and `avatar`, which SillyTavern sets anew; the copies of
`data` at the top level, which it writes; `json_data` and RisuAI's two picture lists, which it
takes out; of V1 cards `talkativeness` 0.5 for none or 0, and the empty extensions, which it fills
in; how `st_validator` and other libraries judge the input, for which we have no counterpart; the
stored text of generated inputs, whose exact card only the recording program knows.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
import yaml

from tavern_format import (
    DEFAULT_LIMITS,
    CardCarrier,
    CardSpec,
    CharacterCard,
    FormatError,
    Limits,
    card_to_json,
    dump_card,
    parse_card,
    safe_file_name,
)
from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings, javascript_numbers
from tests.conformance._outcome import Outcome, attempt, require_types
from tests.conformance._phrases import View
from tests.conformance._png_reference import card_texts, preferred
from tests.conformance._recommended import check_recommended
from tests.conformance._typed import CARD_ROWS, DEPTH_PROMPT_ROWS, V1_ROWS, Row, read

Checks = dict[str, Callable[[], str | None]]

_IN_DATA = (CardSpec.V2, CardSpec.V3)
_SET_ANEW = {"chat", "create_date", "fav", "avatar", "json_data"}
_MIRRORS = {
    "name", "description", "personality", "scenario", "first_mes", "mes_example", "tags",
    "talkativeness",
}  # fmt: skip
_RISU_LISTS = ("emotions", "additionalAssets")
_FILE_NAME_BYTES = 255


def check(case: Case, findings: Findings) -> None:
    """Compare a card in JSON, YAML or PNG."""
    data = case.data()
    outcome = parse(case, data)
    document = reference_document(case, data)
    check_outcome(case, findings, outcome, document)


def parse(case: Case, data: bytes, limits: Limits = DEFAULT_LIMITS) -> Outcome:
    """Parse as the kind of file that the case says it is."""
    carrier = CardCarrier(case.fields["format"])
    return attempt(lambda: parse_card(data, carrier=carrier, limits=limits))


def reference_document(case: Case, data: bytes) -> Any:
    """Read the card's JSON without our code; None where it cannot be read."""
    read_as = {"json": json_of, "yaml": yaml.safe_load, "png": _best_document}
    try:
        return read_as[case.fields["format"]](data)
    except (ValueError, RecursionError, yaml.YAMLError):
        return None


def _best_document(data: bytes) -> Any:
    documents = (text.document() for text in preferred(card_texts(data)))
    return next((found for found in documents if _is_card(found)), None)


def _is_card(document: Any) -> bool:
    marks = {"spec", "data", "name", "char_name"}
    return isinstance(document, dict) and not marks.isdisjoint(document)


def check_outcome(
    case: Case,
    findings: Findings,
    outcome: Outcome,
    document: Any,
    further: Checks | None = None,
) -> None:
    """Compare what came of a card, whatever carried it; `further` adds the carrier's demands."""
    card = outcome.value
    data = case.data()
    checks = {**_checks(card, document), **(further or {})} if outcome.accepted else {}
    view = View(
        outcome=outcome,
        sillytavern_accepts=sillytavern_accepts(case),
        document=document,
        data=data,
        again=partial(parse, case, data),
        checks={**(further or {}), **checks},
    )
    check_recommended(findings, case.recommended, view)
    if not outcome.accepted:
        return
    require_types(findings, card)
    check_round_trip(findings, card, document)
    check_attributes(findings, outcome, document)
    stored = (case.oracle("st_import") or {}).get("stored_chara_json")
    if stored is not None and "input_gen" not in case.fields:
        check_stored(findings, card, json.loads(stored))


def sillytavern_accepts(case: Case) -> bool | None:
    """Tell whether SillyTavern took the content.

    A card it recognised and then failed to save, for want of a file name, counts as taken.
    """
    record = case.oracle("st_import")
    if record is None or "status" not in record:
        return None
    began = any(line.startswith("Importing from") for line in record.get("log", ()))
    saved = record["status"] == 200 and "error" not in record["body"]
    return saved or (record["status"] == 400 and began)


def _checks(card: CharacterCard, document: Any) -> Checks:
    def by_shape() -> str | None:
        body = document.get("data", document)
        same = card.description == body.get("description", "")
        return None if same else "must be read by its shape"

    def escaped() -> str | None:
        text = dump_card(card).decode("utf-8")
        return None if json.loads(text) == document else "half a pair must be kept as an escape"

    def file_name() -> str | None:
        size = len(safe_file_name(card.name).encode())
        kept = card.name == document["name"]
        fits = kept and size <= _FILE_NAME_BYTES < len(card.name.encode())
        return None if fits else "the name must be kept and only the file name cut"

    def by_values() -> str | None:
        values = document["data"]["character_book"]["entries"].values()
        read = 0 if card.character_book is None else len(card.character_book.entries)
        return None if read == len(values) else f"{read} entries were read, not {len(values)}"

    return {
        "by shape": by_shape,
        "by values": by_values,
        "escaped": escaped,
        "file name is limited": file_name,
    }


def check_round_trip(findings: Findings, card: CharacterCard, document: Any) -> None:
    """Write the card, read it again."""
    written = dump_card(card)
    findings.same("round-trip", json_of(written), document)
    if card.carrier is CardCarrier.YAML:
        return
    again = attempt(lambda: parse_card(written, carrier=CardCarrier.JSON))
    if findings.require("reparse", again.accepted, again.summary()):
        same = as_plain(again.value) == as_plain(card)
        findings.require("reparse", same, "parsing what was written gives another card")


def as_plain(card: CharacterCard) -> Any:
    """Give the card's attributes apart from what carried it."""
    apart = ("carrier", "files", "picture", "origin")
    names = (found.name for found in attrs.fields(CharacterCard))
    return {name: getattr(card, name) for name in names if name not in apart}


def check_attributes(findings: Findings, outcome: Outcome, document: Any) -> None:
    """Hold the attributes against the input's own values."""
    card: CharacterCard = outcome.value
    odd = set(_attribute_faults(findings, card, document))
    rows = CARD_ROWS if card.spec in _IN_DATA else V1_ROWS
    known = {_pointer(row) for row in rows} | _depth_prompt_places()
    marked = {
        found.path
        for found in outcome.diagnostics
        if found.code == "FIELD_TYPE" and found.path in known
    }
    findings.same("FIELD_TYPE", sorted(marked), sorted(odd))


def _attribute_faults(findings: Findings, card: CharacterCard, document: Any) -> Iterator[str]:
    """Compare attribute by attribute; yield the pointers of odd values."""
    if card.spec not in (*_IN_DATA, CardSpec.V1):
        return
    rows = CARD_ROWS if card.spec in _IN_DATA else V1_ROWS
    for row, value, odd in read(rows, document):
        findings.same(f"attribute/{row.attribute}", getattr(card, row.attribute), value)
        if odd:
            yield _pointer(row)
    raw = card.extensions.get("depth_prompt")
    if card.depth_prompt is not None and isinstance(raw, dict):
        for row, value, odd in read(DEPTH_PROMPT_ROWS, raw):
            place = f"attribute/depth_prompt/{row.attribute}"
            findings.same(place, getattr(card.depth_prompt, row.attribute), value)
            if odd:
                yield f"/data/extensions/depth_prompt/{row.path[0]}"


def _pointer(row: Row) -> str:
    return "".join(f"/{key}" for key in row.path)


def _depth_prompt_places() -> set[str]:
    return {f"/data/extensions/depth_prompt/{row.path[0]}" for row in DEPTH_PROMPT_ROWS}


def check_stored(findings: Findings, card: CharacterCard, stored: Any) -> None:
    """Hold a card against the one that SillyTavern stored."""
    if card.spec in _IN_DATA:
        ours = card_to_json(card)
        kept = {key: value for key, value in ours.items() if key not in _SET_ANEW | _MIRRORS}
        theirs = {key: stored[key] for key in kept if key in stored}
        findings.same("st", _comparable(kept), _comparable(theirs), ordered=False)
        if not ours["data"].get("name"):
            findings.same("st/name", safe_file_name(card.name), stored["name"])
        return
    findings.same("st/name", safe_file_name(card.name), stored["name"])
    for row, value, _ in read(CARD_ROWS, stored):
        filled_in = row.attribute in ("extensions", "favorite") or (
            row.attribute == "talkativeness" and not card.talkativeness and value == 0.5
        )
        if not filled_in:
            findings.same(f"st/{row.attribute}", getattr(card, row.attribute), value)


def _comparable(document: Any) -> Any:
    """Drop what SillyTavern sets anew inside `data`; round integers as it does."""
    data = document.get("data")
    if not isinstance(data, dict):
        return document
    extensions = data.get("extensions")
    if not isinstance(extensions, list):
        bag = dict(extensions) if isinstance(extensions, dict) else {}
        bag.pop("fav", None)
        if isinstance(bag.get("risuai"), dict):
            risu = bag["risuai"].items()
            bag["risuai"] = {key: value for key, value in risu if key not in _RISU_LISTS}
        data = {**data, "extensions": bag}
    return javascript_numbers({**document, "data": data})


def refuses(call: Callable[[], object]) -> bool:
    """Tell whether a call raises the package's own error."""
    try:
        call()
    except FormatError:
        return True
    return False
