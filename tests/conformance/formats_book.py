"""Areas of world books as they are read: `wi_import`, `issues_wi`, `wi_add_missing`, `wi_template`.

All compare `recommended` (`_phrases`), the declared types, and every attribute of every entry with
what the rules of `_typed` make of the JSON value in SillyTavern's own result (or, where that is
the input itself, of the input), odd values and FIELD_TYPE diagnostics included.

`wi_import`, `issues_wi`: also the round trip, the number of entries SillyTavern loads, and the
JSON it gives back (its integer-like keys come in another order, so the order is not compared; nor
is the free number it would take next, which we take only on writing).
`wi_add_missing`, `wi_template`: attributes only; ours are typed, so nothing is added to the JSON.
An empty filter of characters is no filter. Of the template, what a new entry is written as.
"""

from collections.abc import Container, Iterable
from typing import Any

from tavern_format import (
    DEFAULT_LIMITS,
    BookSpelling,
    CharacterFilter,
    Entry,
    Limits,
    WorldBook,
    book_to_json,
    convert_world_book,
    dump_world_book,
    parse_world_book,
)
from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings, javascript_numbers
from tests.conformance._outcome import Outcome, attempt, require_types
from tests.conformance._phrases import View
from tests.conformance._recommended import check_recommended
from tests.conformance._typed import ENTRY_ROWS, read


def parse(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Outcome:
    """Parse a book."""
    return attempt(lambda: parse_world_book(data, limits=limits))


def check_import(case: Case, findings: Findings) -> None:
    """Compare a file as SillyTavern's server imports it."""
    data = case.data()
    outcome = parse(data)
    record = case.fields["oracles"]["st_http"]
    document = json_or_none(data)
    view = View(
        outcome,
        record["status"] == 200,
        document=document,
        data=data,
        again=lambda limits: parse(data, limits),
        checks={"dialect": lambda: _dialect_fault(outcome.value)},
    )
    check_recommended(findings, case.recommended, view)
    if not outcome.accepted:
        return
    book: WorldBook = outcome.value
    require_types(findings, book)
    findings.same("round-trip", json_of(dump_world_book(book)), document)
    _check_import_entries(findings, outcome, document)
    if "loaded_entry_count" in record:
        count = len(book.entries) + len(book.unread)
        findings.same("st/loaded_entry_count", count, record["loaded_entry_count"])
    if isinstance(record.get("get"), dict):
        ours = javascript_numbers(json_of(dump_world_book(book)))
        findings.same("st/get", ours, record["get"], ordered=False)


def _check_import_entries(findings: Findings, outcome: Outcome, document: Any) -> None:
    """Compare entries; those of another spelling as they are in SillyTavern's file."""
    book: WorldBook = outcome.value
    if book.spelling is BookSpelling.WORLD_INFO:
        check_entries(findings, outcome, entry_objects(document))
        return
    converted = book_to_json(convert_world_book(book, BookSpelling.WORLD_INFO))
    entries = entry_objects(converted)
    check_entries(findings, outcome, entries, marked=False)


def json_or_none(data: bytes) -> Any:
    """Read JSON; None where there is none."""
    try:
        return json_of(data)
    except (ValueError, RecursionError):
        return None


def _dialect_fault(book: WorldBook) -> str | None:
    same = book.spelling is not BookSpelling.WORLD_INFO and any(e.keys for e in book.entries)
    return None if same else "must be recognised as another spelling, keys included"


def entry_objects(document: Any) -> list[Any]:
    """List the entries of a document that are objects."""
    container = document["entries"]
    values = container.values() if isinstance(container, dict) else container
    return [value for value in values if isinstance(value, dict)]


def check_entries(
    findings: Findings,
    outcome: Outcome,
    files: Iterable[Any],
    *,
    marked: bool = True,
    but: Container[str] = (),
) -> None:
    """Hold entries against entries in SillyTavern's file spelling, `but` for some attributes.

    `marked`: the input is that very JSON, so its odd values must have diagnostics.
    """
    entries: tuple[Entry, ...] = tuple(outcome.value.entries)
    listed = list(files)
    if not findings.require("entries", len(entries) == len(listed), f"{len(entries)} entries"):
        return
    for at, (entry, raw) in enumerate(zip(entries, listed, strict=True)):
        for row, value, odd in read(ENTRY_ROWS, raw):
            if row.attribute in but:
                continue
            place = f"entries/{at}/{row.attribute}"
            findings.same(place, getattr(entry, row.attribute), value)
            if marked:
                ends = f"/{row.path[-1]}"
                said = _remarked(outcome, _key_of(entry), ends)
                findings.require(f"FIELD_TYPE/{at}{ends}", said is odd, f"diagnostic: {said}")
        _check_filter(findings, f"entries/{at}", entry.character_filter, raw)


def _key_of(entry: Entry) -> str:
    return (
        "" if entry.origin is None else str(entry.origin.key).replace("~", "~0").replace("/", "~1")
    )


def _remarked(outcome: Outcome, key: str, ends: str) -> bool:
    wanted = f"/entries/{key}{ends}"
    return any(found.code == "FIELD_TYPE" and found.path == wanted for found in outcome.diagnostics)


def _check_filter(
    findings: Findings, place: str, ours: CharacterFilter | None, raw: dict[str, Any]
) -> None:
    theirs = raw.get("characterFilter")
    theirs = theirs if isinstance(theirs, dict) else {}
    found = ours or CharacterFilter()
    plain = {"isExclude": found.is_exclude, "names": found.names, "tags": found.tags}
    findings.same(
        f"{place}/character_filter",
        plain,
        {"isExclude": False, "names": (), "tags": (), **theirs},
    )


def check_added_fields(case: Case, findings: Findings) -> None:
    """Compare entries as SillyTavern completes them when it loads a book."""
    data = b'{"entries":' + case.data() + b"}"
    outcome = parse(data)
    record = case.fields["oracles"]["st_addMissingWorldInfoFields"]
    check_recommended(findings, case.recommended, View(outcome, "result" in record, data=data))
    if outcome.accepted:
        require_types(findings, outcome.value)
        check_entries(findings, outcome, record["result"], marked=False)


def check_template(case: Case, findings: Findings) -> None:
    """Compare one key of SillyTavern's new entry: what an absent key reads as, and what is written.

    The whole template is asked for all keys that the case's file has.
    """
    key, expected = case.fields["key"], case.fields["expected"]
    row = next((row for row in ENTRY_ROWS if row.path == (key,)), None)
    if row is None:
        findings.add("template", f"no attribute for {key}")
        return
    entry = parse(b'{"entries": {"0": {}}}').value.entries[0]
    wanted = row.rule(expected)[0]
    findings.same("template/read", getattr(entry, row.attribute), wanted)
    findings.same("template/new", getattr(Entry(), row.attribute), wanted)
    written = book_to_json(WorldBook(entries=(Entry(uid=0),)))["entries"]["0"]
    findings.same("template/written", written.get(key, "<absent>"), expected)
