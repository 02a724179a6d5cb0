"""Areas of PNG: `card_png`, `png_write`, `png_naidata`, `node_base64`.

`card_png`: all that `formats_card` compares (the input's JSON is found by `_png_reference`), and
the text that SillyTavern's reader chose (`st_read`) against our first `tEXt` payload, character by
character; where it found none, we found none it could read. Writing the card into its own picture
leaves every other chunk as it is, and gives the card again.

`png_write`: the whole file, byte for byte; where SillyTavern throws, we refuse.

`png_naidata`: the bytes of the text, read as Latin-1, as SillyTavern's `atob` does (we decode
UTF-8), and whether there is one at all. Why there is none is not compared: SillyTavern has one
answer for all reasons.

`node_base64`: the bytes.
"""

import json
from base64 import b64decode
from contextlib import suppress
from typing import Any

from tavern_format import (
    DEFAULT_LIMITS,
    CardCarrier,
    CardSpec,
    CharacterCard,
    FormatError,
    card_to_json,
    dump_card,
    dump_card_png,
    parse_card,
)
from tavern_format._base64 import decode_node
from tavern_format._card_writing import ccv3_of
from tavern_format.png_chunks import read_card_payloads, read_naidata, write_card_chunks
from tests.conformance import formats_card
from tests.conformance._cases import Case, encode, json_of
from tests.conformance._findings import Findings
from tests.conformance._outcome import Outcome
from tests.conformance._png_reference import asset_names, card_texts, chunks, preferred

_WHOLE = ("PNG_TRUNCATED", "PNG_CHUNK_LENGTH")
_NO_METADATA = "No PNG metadata."


def check_card(case: Case, findings: Findings) -> None:
    """Compare a card in a PNG."""
    data = case.data()
    outcome = formats_card.parse(case, data)
    document = formats_card.reference_document(case, data)
    further = _checks(outcome, data)
    formats_card.check_outcome(case, findings, outcome, document, further)
    _check_chosen_text(case, findings, data)
    if outcome.accepted and not any(map(outcome.says, _WHOLE)):
        _check_rewriting(findings, outcome, data)


def check_issue(case: Case, findings: Findings) -> None:
    """Compare a reported card: some come as PNG, the others as JSON."""
    (check_card if case.fields["format"] == "png" else formats_card.check)(case, findings)


def _checks(outcome: Outcome, data: bytes) -> formats_card.Checks:
    texts = card_texts(data)

    def chosen(keyword: str) -> str | None:
        first = next(
            (text.document() for text in preferred(texts) if text.keyword == keyword), None
        )
        same = first is not None and json_of(dump_card(outcome.value)) == first
        return None if same else f"the first {keyword} text must be taken"

    def first_wins() -> str | None:
        return chosen(preferred(texts)[0].keyword)

    def assets() -> str | None:
        named = set(outcome.value.files) == set(asset_names(data))
        return None if named and outcome.value.files else "the asset chunks must be among the files"

    return {
        "first wins": first_wins,
        "ccv3 wins": lambda: chosen("ccv3"),
        "asset chunks": assets,
    }


def _check_chosen_text(case: Case, findings: Findings, data: bytes) -> None:
    record = case.oracle("st_read")
    if record is None or not ("text" in record or record.get("message") == _NO_METADATA):
        return
    texts: list[str] = []
    with suppress(FormatError):
        payloads = read_card_payloads(data, DEFAULT_LIMITS, lambda _: None)
        texts = [
            payload.data.decode("utf-8", "replace")
            for payload in payloads
            if payload.chunk_type == "tEXt"
        ]
    findings.same("st_read", texts[:1], [record["text"]] if "text" in record else [])


def _check_rewriting(findings: Findings, outcome: Outcome, data: bytes) -> None:
    written = dump_card_png(outcome.value, picture=data)
    again = parse_card(written, carrier=CardCarrier.PNG).value
    same = _apart_from_spec(again) == _apart_from_spec(outcome.value)
    findings.require("rewriting", same, "another card is read from the picture written")
    in_data = outcome.value.spec in (CardSpec.V2, CardSpec.V3)
    chara = next(text for text in card_texts(written) if text.keyword == "chara").document()
    ours = card_to_json(outcome.value, outcome.value.spec if in_data else CardSpec.V2)
    findings.same("rewriting/chara", chara, ours)
    kept = [found for found in chunks(data) if not _is_card(*found)]
    left = [found for found in chunks(written) if not _is_card(*found)]
    findings.require("rewriting", left == kept, "other chunks of the picture changed")


def _apart_from_spec(card: CharacterCard) -> Any:
    """Give the attributes but for the specification: V3 is what a reader prefers."""
    return {**formats_card.as_plain(card), "spec": None, "spec_version": None}


def _is_card(kind: bytes, body: bytes) -> bool:
    keyword = body.partition(b"\0")[0].lower()
    return kind in (b"tEXt", b"zTXt", b"iTXt") and keyword in (b"chara", b"ccv3")


def check_writing(case: Case, findings: Findings) -> None:
    """Compare a PNG that a card text was written into."""
    record = case.fields["oracles"]["st_write"]
    picture = b64decode(record["input_png_b64"])
    ours = _written(picture, record["input_json_text"])
    if "st_error" in record:
        findings.require("st_error", ours is None, "written, where SillyTavern throws")
        return
    theirs = b64decode(record["output_b64"])
    same = ours == theirs
    findings.require("bytes", same, f"{_outline(ours)}\nnot {_outline(theirs)}")


def _written(picture: bytes, text: str) -> bytes | None:
    """Write a text into a picture; None where we refuse.

    A lone half of a surrogate pair is U+FFFD in `chara`, but `ccv3`, which is written anew from the
    text, can still spell it as an escape.
    """
    escaped = "".join(
        f"\\u{ord(letter):04x}" if "\ud800" <= letter <= "\udfff" else letter for letter in text
    )
    try:
        return write_card_chunks(picture, encode(text), ccv3_of(escaped.encode()))
    except ValueError:  # FormatError is one; so is the caller's empty text
        return None


def _outline(png: bytes | None) -> str:
    if png is None:
        return "refused"
    parts = (f"{kind.decode('latin-1')} {body[:40]!r}" for kind, body in chunks(png))
    return f"{len(png)} bytes: {', '.join(parts)}"


def check_naidata(case: Case, findings: Findings) -> None:
    """Compare a NovelAI lorebook in a PNG."""
    record = case.fields["oracles"]["st_extractDataFromPng"]
    findings.same("st", _naidata(b64decode(record["input_b64"])), record["result"])


def _naidata(png: bytes) -> Any:
    with suppress(ValueError):
        payload = read_naidata(png, DEFAULT_LIMITS, lambda _: None)
        return None if payload is None else json.loads(payload.decode("latin-1"))
    return None


def check_base64(case: Case, findings: Findings) -> None:
    """Compare one text as Node decodes it."""
    decoded = decode_node(case.fields["given"])
    findings.same("node", decoded.hex(), case.fields["expected"])
