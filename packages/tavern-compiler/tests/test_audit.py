"""What an audit says of a compile: every id and reason, and no text."""

import json
from typing import Any

from attrs import evolve

from tavern_compiler import (
    BookRef,
    CompileInput,
    LoreEntry,
    ResourceRef,
    SourceKind,
    User,
    audit_to_json,
    compile_profile,
)
from tavern_format import CharacterCard, Entry, Position, WorldBook, parse_preset
from tavern_matcher import NamedBook, ScanContext, ScanMessage, compile_index, match

PRESET = b"""{"temperature": 1, "openai_max_tokens": 300, "stop": ["#"], "prompts": [
  {"identifier": "main", "content": "Play {{char}}.", "enabled": true},
  {"identifier": "charDescription", "marker": true, "enabled": true}]}"""
LORE = (
    LoreEntry(book="b", uid="1", content="Dragons sleep."),
    LoreEntry(book="b", uid="2", content="Rain.", position=Position.AFTER),
)
GIVEN = CompileInput(
    preset=parse_preset(PRESET).value,
    character=CharacterCard(name="Aria", description="A fox."),
    lore=LORE,
)
BODIES = ("Play", "fox", "Dragons", "Rain", "courier", "Secret", "Hey")


def audited(max_decisions: int | None = None) -> dict[str, Any]:
    books = [
        NamedBook(
            name="river",
            book=WorldBook(
                entries=(
                    Entry(uid=1, comment="miss", keys=("nothing",), content="Secret"),
                    Entry(uid=2, comment="hit", keys=("storm",), content="Dragons"),
                    Entry(uid=3, constant=True, position=Position.AT_DEPTH, content="Rain"),
                )
            ),
        ),
        NamedBook(name="own", book=WorldBook(entries=(Entry(uid=1, content="Secret"),))),
    ]
    context = ScanContext(messages=(ScanMessage(identity="1", text="A storm. Hey"),))
    found = match(compile_index(books), context, dice=lambda _: 0)
    given = evolve(
        GIVEN,
        lore=(),
        match=found,
        user=User(name="Bo", description="A courier."),
        resources={
            SourceKind.PRESET: ResourceRef(id="p1", revision="r1", name="Default"),
            SourceKind.USER: ResourceRef(id="u1"),
        },
        books={
            "river": BookRef(id="wb1", name="River", revision="r2", bindings=("session", "preset")),
            "own": BookRef(id="c1-book", embedded=True, bindings=("character",)),
        },
    )
    return audit_to_json(compile_profile(given).audit, max_decisions=max_decisions)


def test_audit_keeps_every_id_and_no_text() -> None:
    audit = audited()
    assert audit["resources"] == {
        "preset": {"id": "p1", "name": "Default", "revision": "r1"},
        "characterCard": None,
        "user": {"id": "u1", "name": "", "revision": None},
        "worldBooks": [
            {
                "id": "wb1", "name": "River", "kind": "standalone-world-book", "revision": "r2",
                "bindingSources": ["session", "preset"], "entryCount": 3, "matchedEntryCount": 2,
                "activeEntryIds": ["wb1:2", "wb1:3"],
            },
            {
                "id": "c1-book", "name": "", "kind": "embedded-character-book", "revision": None,
                "bindingSources": ["character"], "entryCount": 1, "matchedEntryCount": 0,
                "activeEntryIds": [],
            },
        ],
    }  # fmt: skip
    assert audit["activeLoreEntries"] == ["wb1:2", "wb1:3"]
    assert audit["composition"]["section"] == {"name": "pmp-dsh-tavern:profile", "order": 10}
    assert audit["composition"]["callConfigFields"] == ["temperature", "maxTokens", "stop"]
    written = json.dumps(audit)
    assert [body for body in BODIES if body in written] == []


def test_audit_says_of_each_part_what_it_is_made_of() -> None:
    part = audited()["composition"]["parts"][0]
    assert part == {
        "name": "pmp-dsh-tavern:part:0000:preset:prompts_0_content",
        "characters": 10, "utf16Units": 10, "utf8Bytes": 10,
        "textHash": "c21bd93161c75dcd554f8a8a26b03bb95fecf12ea31e022b643b3191de01fff8",
        "provenance": "section-contributors",
        "sources": [
            {
                "kind": "preset", "resourceId": "p1", "resourceRevision": "r1",
                "field": "prompts/0/content", "relationship": "input", "characters": 14,
                "utf16Units": 14, "utf8Bytes": 14, "textHash": part["sources"][0]["textHash"],
                "identifier": "main", "role": "system",
            }
        ],
    }  # fmt: skip


def test_audit_gives_the_reason_for_every_entry_those_that_fired_first() -> None:
    river, own = audited()["worldBooks"]["resources"]
    keys = ("entryId", "decision", "reason", "requestedPosition", "appliedPosition")
    rows = [
        [*(one[key] for key in keys), one["approximatePosition"]]
        for one in (*river["decisions"], *own["decisions"])
    ]
    assert rows == [
        ["2", "included", "primary-key-match", "before_character_definition", "before", False],
        ["3", "included", "constant", "at_depth", "after", True],
        ["1", "rejected", "primary-key-miss", "before_character_definition", None, False],
        ["1", "rejected", "no-keys", "before_character_definition", None, False],
    ]
    assert river["decisions"][0]["primaryMatches"] == ["storm"]
    assert river["budget"] == {"limit": None, "used": 0, "remaining": None}
    short = [one["decisions"] for one in audited(1)["worldBooks"]["resources"]]
    assert short == [river["decisions"][:1], []]


def test_audit_of_plain_lore_names_its_books() -> None:
    audit = compile_profile(GIVEN).audit
    (book,) = audit.books
    assert (book.book, book.entry_count, book.active_ids, audit.budget) == (
        BookRef(id="b", name="b"), 0, ("b:1", "b:2"), None,
    )  # fmt: skip


def test_entry_that_fired_and_is_not_in_the_prompt_is_rejected() -> None:
    entries = (
        Entry(uid=1, constant=True, content="Rain." * 9, position=Position.BEFORE),
        Entry(uid=2, constant=True, content="Lore.", position=Position.OUTLET, outlet_name="o"),
    )
    index = compile_index([NamedBook(name="b", book=WorldBook(entries=entries))])
    given = CompileInput(match=match(index, ScanContext()), max_profile_bytes=9)
    (book,) = audit_to_json(compile_profile(given).audit)["worldBooks"]["resources"]
    assert [(one["entryId"], one["decision"], one["reason"]) for one in book["decisions"]] == [
        ("1", "rejected", "constant"), ("2", "rejected", "outlet-unsupported"),
    ]  # fmt: skip
