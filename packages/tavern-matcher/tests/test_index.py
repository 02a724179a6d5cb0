"""In which order entries are visited, and what is said about books before any message is seen."""

import json

import pytest

from tavern_format import Entry, Position, Role, WorldBook, parse_world_book
from tavern_matcher import (
    SHIPPED_SETTINGS,
    Activated,
    BookSource,
    CharacterStrategy,
    DepthBlock,
    EntryId,
    MatchProfile,
    MatchSettings,
    NamedBook,
    Reason,
    ScanContext,
    compile_index,
    match,
)

CHARACTER, GLOBAL, CHAT, PERSONA = (
    BookSource.CHARACTER,
    BookSource.GLOBAL,
    BookSource.CHAT,
    BookSource.PERSONA,
)


def constant(uid: int, order: float = 100, **more: object) -> Entry:
    return Entry(uid=uid, constant=True, content=f"text {uid}", order=order, **more)  # type: ignore[arg-type]


def visited(books: list[NamedBook], settings: MatchSettings | None = None) -> list[str]:
    result = match(compile_index(books, settings), ScanContext())
    return [decision.entry.qualified for decision in result.decisions]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (CharacterStrategy.EVENLY, ["ch:1", "p:1", "g:2", "c:2", "g:1", "c:1"]),
        (CharacterStrategy.CHARACTER_FIRST, ["ch:1", "p:1", "c:2", "c:1", "g:2", "g:1"]),
        (CharacterStrategy.GLOBAL_FIRST, ["ch:1", "p:1", "g:2", "g:1", "c:2", "c:1"]),
    ],
)
def test_strategy_orders_books(strategy: CharacterStrategy, expected: list[str]) -> None:
    pair = WorldBook(entries=(constant(1, 10), constant(2, 50)))
    single = WorldBook(entries=(constant(1, 1),))
    books = [
        NamedBook(name="g", book=pair, source=GLOBAL),
        NamedBook(name="c", book=pair, source=CHARACTER),
        NamedBook(name="p", book=single, source=PERSONA),
        NamedBook(name="ch", book=single, source=CHAT),
    ]
    assert visited(books, MatchSettings(character_strategy=strategy)) == expected


def test_entries_of_a_file_come_as_javascript_orders_its_keys() -> None:
    keys = ("b", "10", "9", "01", "4294967295")
    document = {"entries": {key: {"uid": key, "key": [], "content": "x"} for key in keys}}
    book = parse_world_book(json.dumps(document).encode()).value
    assert visited([NamedBook(name="w", book=book)]) == [
        "w:9", "w:10", "w:b", "w:01", "w:4294967295",
    ]  # fmt: skip


def test_entries_with_one_uid_are_named_and_one_replaces_the_other() -> None:
    book = WorldBook(entries=(constant(1), constant(1), constant(2)))
    index = compile_index([NamedBook(name="w", book=book)])
    assert [(found.code, found.path) for found in index.diagnostics] == [
        ("ENTRY_UID_REPEATED", "/books/0/entries/0/uid"),
        ("ENTRY_UID_REPEATED", "/books/0/entries/1/uid"),
    ]
    result = match(index, ScanContext())
    assert [one.entry.index for one in result.activated] == [1, 2]
    assert [one.reason for one in result.decisions] == [
        Reason.REPLACED,
        Reason.CONSTANT,
        Reason.CONSTANT,
    ]


def test_one_book_bound_twice_is_loaded_once_unless_both_are_global() -> None:
    named = NamedBook(name="w", book=WorldBook(entries=(constant(1),)), source=CHARACTER)
    other = NamedBook(name="w", book=named.book, source=GLOBAL)
    assert visited([named, other]) == ["w:1"]
    assert visited([other, other]) == ["w:1", "w:1"]
    assert visited([other, other], MatchSettings(profile=MatchProfile.SAFE)) == ["w:1"]


def test_two_books_of_one_name_are_refused() -> None:
    books = [NamedBook(name="w", book=WorldBook()), NamedBook(name="w", book=WorldBook())]
    with pytest.raises(ValueError, match="two books have one name: w"):
        compile_index(books)


def test_entry_without_a_uid_goes_by_its_place() -> None:
    assert EntryId(book="w", index=3).qualified == "w:3"


def test_overflow_alert_is_said_to_do_nothing() -> None:
    index = compile_index([], MatchSettings(overflow_alert=True))
    assert [(found.code, found.path) for found in index.diagnostics] == [
        ("SETTING_NOT_EXECUTED", "/settings/overflow_alert")
    ]


def test_defaults_of_the_code_and_of_an_installation() -> None:
    assert compile_index([]).settings == MatchSettings()
    assert MatchSettings(recursive=True, match_whole_words=True) == SHIPPED_SETTINGS


def test_lower_order_stands_first_and_of_equal_order_the_later() -> None:
    book = WorldBook(entries=(constant(1, 50), constant(2, 10), constant(3, 50)))
    placement = match(compile_index([NamedBook(name="w", book=book)]), ScanContext()).placement
    assert [one.content for one in placement.before] == ["text 2", "text 3", "text 1"]


def test_positions_have_buckets_of_their_own() -> None:
    positions = (
        Position.BEFORE, Position.AFTER, Position.AN_TOP, Position.AN_BOTTOM,
        Position.EM_TOP, Position.EM_BOTTOM, None, Position.OUTLET,
    )  # fmt: skip
    entries = tuple(constant(uid, position=position) for uid, position in enumerate(positions))
    index = compile_index([NamedBook(name="w", book=WorldBook(entries=entries))])
    found = match(index, ScanContext()).placement
    buckets = (
        found.before, found.after, found.an_top, found.an_bottom, found.em_top, found.em_bottom,
    )  # fmt: skip
    assert [[one.entry.uid for one in bucket] for bucket in buckets] == [
        [0],
        [1],
        [2],
        [3],
        [4],
        [5],
    ]
    # Without a position, or for an outlet without a name: placed nowhere.
    assert [one.entry.uid for one in found.unplaced] == [7, 6]


def test_depth_blocks_join_by_depth_and_role() -> None:
    entries = (
        constant(1, 10, position=Position.AT_DEPTH, depth=2),
        constant(2, 30, position=Position.AT_DEPTH, depth=2),
        constant(3, 20, position=Position.AT_DEPTH, depth=2, role=Role.USER),
        constant(4, 5, position=Position.AT_DEPTH, depth=0),
    )
    index = compile_index([NamedBook(name="w", book=WorldBook(entries=entries))])
    result = match(index, ScanContext())
    by_uid = {one.entry.uid: one for one in result.activated}
    assert result.placement.at_depth == (
        DepthBlock(depth=2, role=Role.SYSTEM, texts=(by_uid[1], by_uid[2])),
        DepthBlock(depth=2, role=Role.USER, texts=(by_uid[3],)),
        DepthBlock(depth=0, role=Role.SYSTEM, texts=(by_uid[4],)),
    )


def test_outlets_descend() -> None:
    entries = tuple(
        constant(uid, order, position=Position.OUTLET, outlet_name=name)
        for uid, order, name in ((1, 10, "a"), (2, 30, "a"), (3, 20, "b"))
    )
    index = compile_index([NamedBook(name="w", book=WorldBook(entries=entries))])
    outlets = match(index, ScanContext()).placement.outlets
    assert {name: [one.entry.uid for one in texts] for name, texts in outlets.items()} == {
        "a": [2, 1],
        "b": [3],
    }


def test_entry_without_a_text_fires_and_is_not_placed() -> None:
    book = WorldBook(entries=(Entry(uid=1, constant=True),))
    result = match(compile_index([NamedBook(name="w", book=book)]), ScanContext())
    assert result.activated == (Activated(entry=EntryId(book="w", index=0, uid=1), content=""),)
    assert result.placement.before == ()


def test_decorators_are_not_part_of_the_text() -> None:
    book = WorldBook(entries=(Entry(content="@@activate\n@@depth 1\nbody"),))
    (one,) = match(compile_index([NamedBook(name="w", book=book)]), ScanContext()).activated
    assert one.content == "body"
