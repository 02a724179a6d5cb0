"""What is searched for an entry: depth, names, further sources."""

import pytest

from tavern_format import Entry, WorldBook
from tavern_matcher import (
    KeyMatch,
    MatchSettings,
    NamedBook,
    PlaceKind,
    ScanContext,
    ScanMessage,
    ScanSources,
    compile_index,
    match,
)

MESSAGES = tuple(
    ScanMessage(identity=str(number), speaker="Ann", text=f"word{number}") for number in range(4)
)
FLAGS = [
    ("match_persona_description", "persona_description"),
    ("match_character_description", "character_description"),
    ("match_character_personality", "character_personality"),
    ("match_character_depth_prompt", "character_depth_prompt"),
    ("match_scenario", "scenario"),
    ("match_creator_notes", "creator_notes"),
]


def hits(
    entry: Entry, context: ScanContext, settings: MatchSettings | None = None
) -> tuple[KeyMatch, ...]:
    books = [NamedBook(name="b", book=WorldBook(entries=(entry,)))]
    (decision,) = match(compile_index(books, settings), context).decisions
    return decision.matches


@pytest.mark.parametrize(
    ("own", "setting", "seen"),
    [
        (None, 2, ["3", "2"]),
        (None, 1, ["3"]),
        (None, 0, []),
        (3, 1, ["3", "2", "1"]),
        (0, 4, []),
        (-1, 4, []),
        (2.9, 1, ["3", "2"]),
        (99, 1, ["3", "2", "1", "0"]),
        (float("inf"), 1, ["3", "2", "1", "0"]),
        (float("nan"), 4, []),
        (10**400, 1, ["3", "2", "1", "0"]),
    ],
)
def test_newest_messages_are_searched(own: float | None, setting: int, seen: list[str]) -> None:
    keys = tuple(f"word{number}" for number in (3, 2, 1, 0))
    found = hits(
        Entry(keys=keys, scan_depth=own),
        ScanContext(messages=MESSAGES),
        MatchSettings(scan_depth_messages=setting),
    )
    assert [hit.place for hit in found] == seen


def test_hit_is_the_one_in_the_newest_message() -> None:
    messages = (*MESSAGES, ScanMessage(identity="new", text="word3"))
    assert [hit.place for hit in hits(Entry(keys=("word3",)), ScanContext(messages=messages))] == [
        "new"
    ]


def test_key_does_not_reach_over_two_messages() -> None:
    messages = (ScanMessage(identity="1", text="old"), ScanMessage(identity="2", text="cat"))
    for key in ("old\ncat", "cat\nold", "catold"):
        assert hits(Entry(keys=(key,)), ScanContext(messages=messages)) == ()


def test_name_is_searched_with_its_message() -> None:
    context = ScanContext(messages=(ScanMessage(identity="1", speaker="Ann Lee", text="hi Lee"),))
    (hit,) = hits(Entry(keys=("lee: hi",)), context)
    assert (hit.in_speaker, hit.start_chars, hit.end_chars) == (True, 4, 11)
    (hit,) = hits(Entry(keys=("hi lee",)), context)
    assert (hit.in_speaker, hit.start_chars, hit.end_chars) == (False, 0, 6)


def test_name_is_not_searched_when_asked_so() -> None:
    context = ScanContext(messages=(ScanMessage(identity="1", speaker="Ann", text="hi"),))
    assert hits(Entry(keys=("ann",)), context, MatchSettings(include_names=False)) == ()


@pytest.mark.parametrize(("flag", "source"), FLAGS)
def test_source_is_searched_for_entries_that_ask_for_it(flag: str, source: str) -> None:
    context = ScanContext(sources=ScanSources(**{source: "by the mill"}))
    assert hits(Entry(keys=("mill",)), context) == ()
    (hit,) = hits(Entry(keys=("mill",), **{flag: True}), context)  # type: ignore[arg-type]
    assert (hit.place, hit.place_kind, hit.start_chars) == (source, PlaceKind.SOURCE, 7)


def test_injected_text_is_searched_for_all_entries() -> None:
    context = ScanContext(injected=("", "the mill"))
    (hit,) = hits(Entry(keys=("mill",)), context)
    assert (hit.place, hit.place_kind) == ("1", PlaceKind.INJECTED)


def test_depth_of_nothing_closes_sources_too() -> None:
    context = ScanContext(messages=MESSAGES, injected=("the mill",))
    assert hits(Entry(keys=("mill",), scan_depth=0), context) == ()
