"""Area `e2e`: whole runs of SillyTavern's server, as far as the record holds their input.

By the fields that a record has:

- `input` (card JSON) with what was stored and exported: the stored card by `formats_card`'s
  rules; the `ccv3` text made of SillyTavern's own `chara` text; the JSON export written again by
  us with an indent of four, character by character.
- `input_b64` (PNG): the file name, and the order of chunks after writing a card into that picture.
- `world_file` and `chara`: the book inside the card is our conversion of that world file.

Any other record is about files that are not in the vectors, or about the server alone.
"""

import json
from base64 import b64decode
from typing import Any

from tavern_format import (
    BookSpelling,
    CardCarrier,
    book_to_json,
    convert_world_book,
    dump_card,
    dump_card_png,
    parse_card,
    parse_world_book,
    safe_file_name,
)
from tavern_format._card_writing import ccv3_of
from tests.conformance import formats_card
from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings, NotComparable
from tests.conformance._png_reference import chunks
from tests.conformance.formats_conversion import without_kept


def check(case: Case, findings: Findings) -> None:
    """Compare whatever the record allows."""
    record = case.fields["oracles"]["st_server"]
    checks = {"input": _check_import, "input_b64": _check_picture, "world_file": _check_world}
    wanted = [check for key, check in checks.items() if key in record]
    if not wanted:
        reason = "input not in the vectors"
        raise NotComparable(reason)
    for check_record in wanted:
        check_record(findings, record)


def _check_import(findings: Findings, record: Any) -> None:
    given = record["input"].encode()
    card = parse_card(given, carrier=CardCarrier.JSON).value
    findings.same("round-trip", json_of(dump_card(card)), json_of(given))
    stored = record["stored_chara"]
    formats_card.check_stored(findings, card, json.loads(stored))
    for chara, ccv3 in (("stored_chara", "stored_ccv3"), ("export_png_chara", "export_png_ccv3")):
        ours = ccv3_of(record[chara].encode()) or b""
        findings.same(f"st/{ccv3}", ours.decode(), record[ccv3])
    exported = parse_card(record["export_json"].encode(), carrier=CardCarrier.JSON).value
    findings.same("st/export_json", dump_card(exported, indent=4).decode(), record["export_json"])
    picture = dump_card_png(card)
    kinds = [_name(*found) for found in chunks(picture)][-2:]
    findings.same("st/export_png_chunks", [*kinds, "IEND"], record["export_png_chunks"][-3:])


def _check_picture(findings: Findings, record: Any) -> None:
    picture = b64decode(record["input_b64"])
    card = parse_card(picture, carrier=CardCarrier.PNG).value
    findings.same("st/name", safe_file_name(card.name), json.loads(record["body"])["file_name"])
    written = dump_card_png(card, picture=picture)
    ours = [*(_name(*found) for found in chunks(written)), "IEND"]
    findings.same("st/chunks", ours, record["chunks"])


def _name(kind: bytes, body: bytes) -> str:
    name = kind.decode("latin-1")
    keyword = body.partition(b"\0")[0].decode("latin-1")
    return f"{name}:{keyword}" if kind == b"tEXt" else name


def _check_world(findings: Findings, record: Any) -> None:
    theirs = json.loads(record["chara"])["data"]["character_book"]
    book = parse_world_book(record["world_file"].encode()).value
    converted = convert_world_book(book, BookSpelling.CHARACTER_BOOK, name=theirs["name"])
    findings.same("st/book", without_kept(book_to_json(converted)), theirs, ordered=False)
