"""Areas of SillyTavern's conversions of world books.

`charbook_to_wi`, `wi_to_charbook`, `wi_roundtrip`, `lorebook_convert` compare `recommended`
(`_phrases`), the declared types, the round trip, and the converted JSON, key for key. Key order
apart: no reader of entries sees it. Apart, too, from `extensions.tavern_format`, where we keep what
the other shape cannot hold, and SillyTavern drops; that nothing is lost is held by converting back,
which must give all that the input says. Where ids collide, SillyTavern loses entries: those it has
left must be among ours, but for the uid.

`charbook_to_wi` also holds every attribute of the entries as read against SillyTavern's converted
ones, by the rules of `_typed`.

`lorebook_convert`: two differences have a place of their own, `empty-keys` and
`force-activation`; see COMPATIBILITY.md. The name and `originalData` beside the entries are ours.
"""

import json
from collections.abc import Container
from typing import Any

from tavern_format import (
    BookSpelling,
    Diagnostic,
    Parsed,
    WorldBook,
    book_to_json,
    convert_world_book,
    dump_world_book,
    parse_world_book,
)
from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings, show
from tests.conformance._outcome import Outcome, attempt, require_types
from tests.conformance._phrases import View
from tests.conformance._recommended import check_recommended
from tests.conformance.formats_book import check_entries, entry_objects, json_or_none, parse

KEPT = "tavern_format"
BOOK_NAME = "Book"
"""The name of the world in the recorded conversions."""
_FOREIGN = {
    "novel": BookSpelling.NOVEL,
    "agnai": BookSpelling.AGNAI,
    "risu": BookSpelling.RISU,
}


def check_from_book(case: Case, findings: Findings) -> None:
    """Compare `convertCharacterBook`."""
    data = case.data()
    record = case.fields["oracles"]["st_convertCharacterBook"]
    outcome = _converted(data, BookSpelling.WORLD_INFO)
    document = json_or_none(data)
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
    check_entries(findings, parsed, theirs.values(), marked=False)


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
    said = outcome.says(".*(LOSS|LOST|DROPPED|KEPT|LEFT).*")
    return None if said else "a diagnostic must say what the conversion leaves behind"
