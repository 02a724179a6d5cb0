"""Areas of world books: reading, SillyTavern's conversions, and its lists inside entries.

All areas compare `recommended` (`_phrases`), the declared types, and every attribute of every
entry with what the rules of `_typed` make of the JSON value in SillyTavern's own result (or, where
that is the input itself, of the input), odd values and FIELD_TYPE diagnostics included.

`wi_import`, `issues_wi`: also the round trip, the number of entries SillyTavern loads, and the
JSON it gives back (its integer-like keys come in another order, so the order is not compared).
`wi_add_missing`, `wi_template`: attributes only; ours are typed, so nothing is added to the JSON.
An empty filter of characters is no filter.
`charbook_to_wi`, `wi_to_charbook`, `wi_roundtrip`, `lorebook_convert`: the converted JSON, key for
key (key order apart: objects of entries have none), without `extensions.tavern_format`, where we
keep what the other shape cannot hold, and which SillyTavern drops; that nothing is lost is held by
converting back, which must give all that the input says. Where ids collide, SillyTavern loses entries: those it
has left must be among ours, but for the uid. (`add_memo` is not compared: a card's book has no
place for it, SillyTavern derives it.)
`lorebook_convert`: two differences have a place of their own, `empty-keys` and
`force-activation`; see COMPATIBILITY.md.
"""

import json
from collections.abc import Container, Iterable
from typing import Any

from tavern_format import (
    DEFAULT_LIMITS,
    BookSpelling,
    CharacterFilter,
    Diagnostic,
    Entry,
    Limits,
    Parsed,
    WorldBook,
    book_to_json,
    convert_world_book,
    dump_world_book,
    parse_world_book,
)

from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings, javascript_numbers, show
from tests.conformance._outcome import Outcome, attempt, require_types
from tests.conformance._phrases import View
from tests.conformance._recommended import check_recommended
from tests.conformance._typed import ENTRY_ROWS, read

KEPT = "tavern_format"
BOOK_NAME = "Book"
"""The name of the world in the recorded conversions."""
_FOREIGN = {
    "novel": BookSpelling.NOVEL,
    "agnai": BookSpelling.AGNAI,
    "risu": BookSpelling.RISU,
}


def parse(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Outcome:
    """Parse a book."""
    return attempt(lambda: parse_world_book(data, limits=limits))


def check_import(case: Case, findings: Findings) -> None:
    """Compare a file as SillyTavern's server imports it."""
    data = case.data()
    outcome = parse(data)
    record = case.fields["oracles"]["st_http"]
    document = _json_or_none(data)
    view = View(
        outcome,
        record["status"] == 200,  # noqa: PLR2004 - HTTP
        document=document,
        data=data,
        again=lambda limits: parse(data, limits),
    )
    check_recommended(findings, case.recommended, view)
    if not outcome.accepted:
        return
    book: WorldBook = outcome.value
    require_types(findings, book)
    findings.same("round-trip", json_of(dump_world_book(book)), document)
    check_entries(findings, outcome, entry_objects(document))
    if "loaded_entry_count" in record:
        count = len(book.entries) + len(book.unread)
        findings.same("st/loaded_entry_count", count, record["loaded_entry_count"])
    if isinstance(record.get("get"), dict):
        ours = javascript_numbers(json_of(dump_world_book(book)))
        findings.same("st/get", ours, record["get"], ordered=False)


def _json_or_none(data: bytes) -> Any:
    try:
        return json_of(data)
    except (ValueError, RecursionError):
        return None


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
    return "" if entry.origin is None else str(entry.origin.key).replace("~", "~0").replace("/", "~1")


def _remarked(outcome: Outcome, key: str, ends: str) -> bool:
    wanted = f"/entries/{key}{ends}"
    return any(
        found.code == "FIELD_TYPE" and found.path == wanted for found in outcome.diagnostics
    )


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


def check_from_book(case: Case, findings: Findings) -> None:
    """Compare `convertCharacterBook`."""
    data = case.data()
    record = case.fields["oracles"]["st_convertCharacterBook"]
    outcome = _converted(data, BookSpelling.WORLD_INFO)
    document = _json_or_none(data)
    checks = {
        "by values": lambda: _count_fault(outcome.value, document),
        "keeps both": lambda: _count_fault(outcome.value, document),
        "enabled by default": lambda: "SillyTavern's way is followed: disabled",
    }
    view = View(outcome, "error" not in record, document=document, data=data, checks=checks)
    check_recommended(findings, case.recommended, view)
    if not outcome.accepted:
        return
    parsed = parse(data)
    require_types(findings, parsed.value)
    findings.same("round-trip", json_of(dump_world_book(parsed.value)), document)
    collide = record.get("entry_count", 0) < len(entry_objects(document))
    but = ("id",) if collide else ()
    _check_back(findings, outcome.value, BookSpelling.CHARACTER_BOOK, document, but)
    if "error" in record:
        return
    theirs = record["entries"]
    ours = without_kept(book_to_json(outcome.value))
    if collide:
        _check_survivors(findings, ours["entries"], theirs)
        return
    findings.same("st", _keyed(ours["entries"]), theirs, ordered=False)
    if "originalData" in ours:
        findings.same("st/originalData", ours["originalData"], document)
    check_entries(findings, parsed, theirs.values(), marked=False, but=("add_memo",))


def _converted(data: bytes, spelling: BookSpelling) -> Outcome:
    """Parse and convert; the diagnostics of both."""

    def convert() -> Parsed[WorldBook]:
        parsed = parse_world_book(data)
        remarks: list[Diagnostic] = []
        book = convert_world_book(parsed.value, spelling, name=BOOK_NAME, report=remarks.append)
        return Parsed(book, (*parsed.diagnostics, *remarks))

    return attempt(convert)


def _count_fault(book: WorldBook, document: Any) -> str | None:
    wanted = len(entry_objects(document))
    return None if len(book.entries) == wanted else f"{len(book.entries)} entries, not {wanted}"


def _check_back(
    findings: Findings,
    book: WorldBook,
    spelling: BookSpelling,
    document: Any,
    but: Container[str] = (),
) -> None:
    """Convert back: whatever the input's entries say, they say again.

    More may stand beside it: values SillyTavern fills in on either way. Ids that collide, an
    `extensions` that is no object, and `null` inside it, which SillyTavern reads as nothing said,
    need not come back.
    """
    back = entry_objects(book_to_json(convert_world_book(book, spelling, name=BOOK_NAME)))
    before = entry_objects(document)
    if len(back) != len(before):
        findings.add("there-and-back", f"{len(back)} entries, not {len(before)}")
        return
    for at, (ours, theirs) in enumerate(zip(back, before, strict=True)):
        place = f"there-and-back/{at}"
        for key, value in theirs.items():
            mine = ours.get(key, "<absent>")
            if key == "extensions":
                _check_bag_back(findings, place, mine, value)
            elif key not in but:
                findings.same(f"{place}/{key}", mine, value, ordered=False)


def _check_bag_back(findings: Findings, place: str, ours: Any, theirs: Any) -> None:
    if not isinstance(theirs, dict):
        return
    said = {name: value for name, value in theirs.items() if value is not None}
    kept = {name: ours[name] for name in said if isinstance(ours, dict) and name in ours}
    findings.same(f"{place}/extensions", kept, said, ordered=False)


def without_kept(document: Any) -> Any:
    """Drop what we keep for the way back, and an `extensions` that holds nothing else."""
    if isinstance(document, list):
        return [without_kept(item) for item in document]
    if not isinstance(document, dict):
        return document
    kept = {key: without_kept(value) for key, value in document.items() if key != "extensions"}
    if "extensions" in document:
        bag = document["extensions"]
        if isinstance(bag, dict):
            bag = {key: value for key, value in bag.items() if key != KEPT}
        kept["extensions"] = bag
    return {key: kept[key] for key in document}


def _keyed(container: Any) -> Any:
    """An empty book may be read as an array; SillyTavern's is an object."""
    return container if isinstance(container, dict) else dict(enumerate(container))


def _check_survivors(findings: Findings, ours: Any, theirs: Any) -> None:
    """Find each entry that SillyTavern has left among ours, but for its uid."""
    plain = [_without_uid(entry) for entry in ours.values()]
    for key, entry in theirs.items():
        there = _without_uid(entry) in plain
        findings.require(f"st/{key}", there, f"not among ours: {show(entry)}")


def _without_uid(entry: Any) -> Any:
    return {key: value for key, value in entry.items() if key != "uid"}


def check_to_book(case: Case, findings: Findings) -> None:
    """Compare `convertWorldInfoToCharacterBook`."""
    data = b'{"entries":' + case.data() + b"}"
    record = case.fields["oracles"]["st_convertWorldInfoToCharacterBook"]
    outcome = _converted(data, BookSpelling.CHARACTER_BOOK)
    document = json_of(data)
    view = View(outcome, "error" not in record, document=document, data=data)
    check_recommended(findings, case.recommended, view)
    if not outcome.accepted:
        return
    require_types(findings, outcome.value)
    _check_back(findings, outcome.value, BookSpelling.WORLD_INFO, document)
    if "book" in record:
        ours = without_kept(book_to_json(outcome.value))
        findings.same("st", ours, record["book"], ordered=False)


def check_round_trip(case: Case, findings: Findings) -> None:
    """Compare a file converted to a card's book, and SillyTavern's book converted back."""
    record = case.fields["oracles"]["st_roundtrip"]
    data = b'{"entries":' + case.data() + b"}"
    outcome = _converted(data, BookSpelling.CHARACTER_BOOK)
    check_recommended(findings, case.recommended, View(outcome, "error" not in record, data=data))
    if not outcome.accepted:
        return
    ours = without_kept(book_to_json(outcome.value))
    findings.same("st/book", ours, record["book"], ordered=False)
    _check_back(findings, outcome.value, BookSpelling.WORLD_INFO, json_of(data))
    theirs = _converted(json.dumps(record["book"]).encode(), BookSpelling.WORLD_INFO)
    back = without_kept(book_to_json(theirs.value))
    findings.same("st/back", back["entries"], record["back"], ordered=False)


def check_foreign(case: Case, findings: Findings) -> None:
    """Compare a book of another application."""
    data = case.data()
    record = case.fields["oracles"]["st_import_convert"]
    outcome = _converted(data, BookSpelling.WORLD_INFO)
    parsed = parse(data)
    checks = {
        "no empty key": lambda: _empty_key_fault(parsed.value),
        "constant": lambda: None if parsed.value.entries[0].constant else "must be constant",
        "says what is lost": lambda: _lossy_fault(outcome),
    }
    view = View(outcome, "error" not in record, data=data, checks=checks)
    check_recommended(findings, case.recommended, view)
    if not outcome.accepted:
        return
    require_types(findings, parsed.value)
    findings.same("round-trip", json_of(dump_world_book(parsed.value)), json_of(data))
    if "passthrough" in record:
        findings.same("st/spelling", parsed.value.spelling, BookSpelling.WORLD_INFO)
        return
    spellings = {_FOREIGN[name]: name for name in record if name in _FOREIGN}
    if findings.require("st/spelling", parsed.value.spelling in spellings, "another spelling"):
        name = spellings[parsed.value.spelling]
        ours = _keyed(without_kept(book_to_json(outcome.value)["entries"]))
        _check_foreign_entries(findings, name, ours, record[name]["entries"])


def _check_foreign_entries(findings: Findings, name: str, ours: Any, theirs: Any) -> None:
    """Compare entries; the two intended differences get places of their own."""
    expected = {}
    for key, entry in theirs.items():
        mine = ours.get(key, {})
        cleared = {
            field: [word for word in entry.get(field, ()) if word]
            for field in ("key", "keysecondary")
            if isinstance(entry.get(field), list) and "" in entry[field]
        }
        if any(mine.get(field) == words for field, words in cleared.items()):
            findings.add("empty-keys", f"{key}: without the empty keys of {show(entry['key'])}")
            entry = {**entry, **cleared}  # noqa: PLW2901
        if name == "novel" and mine.get("constant") is True and entry.get("constant") is False:
            findings.add("force-activation", f"{key}: constant")
            entry = {**entry, "constant": True}  # noqa: PLW2901
        expected[key] = entry
    findings.same(f"st/{name}", ours, expected, ordered=False)


def _empty_key_fault(book: WorldBook) -> str | None:
    empty = any("" in (*entry.keys, *entry.secondary_keys) for entry in book.entries)
    return "an empty key is left" if empty else None


def _lossy_fault(outcome: Outcome) -> str | None:
    said = outcome.says(".*(LOSS|LOST|LOSSY|DROPPED|KEPT).*")
    return None if said else "a diagnostic must say what the conversion leaves behind"
