import json
from typing import Any

import attrs
import pytest

from tavern_format import (
    DEFAULT_LIMITS,
    BookSpelling,
    CharacterFilter,
    Entry,
    LimitExceededError,
    MalformedResourceError,
    Position,
    Role,
    SelectiveLogic,
    Severity,
    Unread,
    WorldBook,
    convert_world_book,
    dump_world_book,
    parse_world_book,
)
from tavern_format._entry_spellings import TEMPLATE


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


def file_of(*entries: object) -> dict[str, Any]:
    return {"entries": {str(at): entry for at, entry in enumerate(entries)}}


def remarks(data: bytes) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in parse_world_book(data).diagnostics]


FULL = {
    **TEMPLATE,
    "uid": 3,
    "key": ["cat", "/d.g/i"],
    "keysecondary": ["tail"],
    "selectiveLogic": 3,
    "position": 4,
    "role": 2,
    "disable": True,
    "sticky": 2,
    "caseSensitive": True,
    "characterFilter": {"isExclude": True, "names": ["Ada"], "tags": ["t"]},
    "unknown": {"kept": [None]},
}


def test_a_full_entry_is_read_into_named_fields() -> None:
    (entry,) = parse_world_book(encoded(file_of(FULL))).value.entries
    assert entry == Entry(
        uid=3,
        keys=("cat", "/d.g/i"),
        secondary_keys=("tail",),
        selective_logic=SelectiveLogic.AND_ALL,
        position=Position.AT_DEPTH,
        role=Role.ASSISTANT,
        enabled=False,
        sticky=2,
        case_sensitive=True,
        character_filter=CharacterFilter(is_exclude=True, names=("Ada",), tags=("t",)),
    )
    assert entry.raw["unknown"] == {"kept": [None]}


def test_the_model_has_the_defaults_of_the_new_entry_template() -> None:
    (entry,) = parse_world_book(encoded(file_of({"uid": 0, **TEMPLATE}))).value.entries
    assert entry == Entry(uid=0)
    assert len(TEMPLATE) == 39


def test_an_edit_changes_its_key_and_nothing_else() -> None:
    odd = {"uid": 1, "order": None}
    before = {"name": "B", "entries": {"7": FULL, "x": odd, "": None}, "top": [1]}
    book = parse_world_book(encoded(before)).value
    edited = [attrs.evolve(book.entries[0], order=5, enabled=True), book.entries[1]]
    after = json.loads(dump_world_book(attrs.evolve(book, entries=edited)))
    full = {**FULL, "order": 5, "disable": False}
    assert after == {**before, "entries": {"7": full, "x": odd, "": None}}
    assert list(after["entries"]["7"]) == list(FULL)


def test_added_and_removed_entries_show_in_the_file() -> None:
    book = parse_world_book(encoded({"entries": {"0": {"uid": 0}, "1": {"uid": 1}}})).value
    entries = [book.entries[1], Entry(uid=0, keys=("new",)), Entry(keys=("nameless",))]
    after = json.loads(dump_world_book(attrs.evolve(book, entries=entries)))
    assert list(after["entries"]) == ["1", "0", "2"]
    assert after["entries"]["0"] == {**TEMPLATE, "uid": 0, "key": ["new"]}


@pytest.mark.parametrize(
    ("key", "value", "attribute", "read_as", "reported"),
    [
        ("order", "7", "order", 7, True),
        ("order", None, "order", 0, False),
        ("order", "seven", "order", 0, True),
        ("key", "cat", "keys", (), True),
        ("key", ["a", 5, None], "keys", ("a", "5"), True),
        ("disable", 1, "enabled", False, True),
        ("disable", "1", "enabled", False, True),
        ("disable", "true", "enabled", True, True),
        ("constant", "false", "constant", True, True),
        ("constant", [], "constant", True, True),
        ("constant", None, "constant", False, False),
        ("position", 9, "position", None, True),
        ("position", True, "position", None, True),
        ("position", None, "position", None, False),
        ("delayUntilRecursion", True, "delay_until_recursion", 1, False),
        ("probability", None, "probability", None, False),
        ("sticky", "2", "sticky", 2, True),
        ("caseSensitive", 0, "case_sensitive", False, True),
        ("content", 5, "content", "5", True),
        ("content", {"a": 1}, "content", "", True),
        ("characterFilter", [], "character_filter", None, True),
        ("uid", [1], "uid", None, True),
    ],
)
def test_a_wrong_type_is_read_as_sillytavern_reads_it_and_stays_in_the_file(
    key: str,
    value: object,
    attribute: str,
    read_as: object,
    reported: bool,  # noqa: FBT001
) -> None:
    data = encoded(file_of({"uid": 0, "key": [], key: value}))
    parsed = parse_world_book(data)
    entry = parsed.value.entries[0]
    found = getattr(entry, attribute)
    assert (found, type(found)) == (read_as, type(read_as))
    typed = [remark.path for remark in parsed.diagnostics if remark.code == "FIELD_TYPE"]
    assert typed == ([f"/entries/0/{key}"] if reported else [])
    assert json.loads(dump_world_book(parsed.value)) == json.loads(data)


def test_a_missing_uid_is_the_key_of_the_entry() -> None:
    book = parse_world_book(encoded({"entries": {"5": {}, "x": {}}})).value
    assert [entry.uid for entry in book.entries] == [5, "x"]


def test_items_that_are_no_entries_are_reported_kept_and_written_back() -> None:
    before = {"entries": {"0": None, "1": {"uid": 1, "key": []}, "2": "text"}}
    parsed = parse_world_book(encoded(before))
    assert parsed.value.unread == (Unread(0, "0", None), Unread(2, "2", "text"))
    assert [(found.code, found.severity, found.path) for found in parsed.diagnostics] == [
        ("ENTRY_TYPE", Severity.ERROR, "/entries/0"),
        ("ENTRY_TYPE", Severity.ERROR, "/entries/2"),
    ]
    edited = attrs.evolve(parsed.value, entries=[attrs.evolve(parsed.value.entries[0], order=1)])
    after = json.loads(dump_world_book(edited))["entries"]
    assert after == {"0": None, "1": {"uid": 1, "key": [], "order": 1}, "2": "text"}


def test_surprises_are_remarked() -> None:
    assert remarks(encoded(file_of({"uid": 1}, {"uid": 1, "key": []}))) == [
        ("KEYS_MISSING", "/entries/0"),
        ("UID_REPEATED", "/entries/1"),
    ]
    inner = {"keys": [], "extensions": {"excludeRecursion": True}}
    assert remarks(encoded({"entries": [inner]})) == [
        ("ENABLED_MISSING", "/entries/0"),
        ("EXTENSION_UNMAPPED", "/entries/0/extensions/excludeRecursion"),
    ]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([], ""),
        (5, ""),
        ({"name": "x"}, ""),
        ({"entries": None}, "/entries"),
        ({"entries": 5}, "/entries"),
        ({"kind": "memory"}, "/entries"),
        ({"type": "risu"}, "/data"),
    ],
)
def test_what_is_no_book_is_refused_with_the_place(document: object, path: str) -> None:
    with pytest.raises(MalformedResourceError) as refused:
        parse_world_book(encoded(document))
    assert (refused.value.code, refused.value.path) == ("WORLD_BOOK_SHAPE", path)


def test_too_many_entries_are_refused_by_name() -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, entries=1)
    with pytest.raises(LimitExceededError) as refused:
        parse_world_book(encoded(file_of({}, {})), limits=limits)
    assert (refused.value.limit, refused.value.actual) == ("entries", 2)


def test_default_limits_take_ten_thousand_full_entries() -> None:
    data = encoded(file_of(*({**FULL, "uid": at} for at in range(10_000))))
    book = parse_world_book(data).value
    assert (len(book.entries), book.entries[9_999].uid) == (10_000, 9_999)


BOOK_ENTRY = {
    "id": 7,
    "keys": ["k"],
    "secondary_keys": ["s"],
    "name": "n",
    "comment": "c",
    "content": "text",
    "enabled": True,
    "insertion_order": 10,
    "position": "before_char",
    "priority": 3,
    "use_regex": False,
    "extensions": {"depth": 2, "role": 1, "probability": None, "foreign": [1]},
}


def test_a_stand_alone_character_book_is_recognised_and_read() -> None:
    parsed = parse_world_book(encoded({"name": "W", "entries": [BOOK_ENTRY], "scan_depth": 3}))
    book = parsed.value
    assert (book.spelling, book.name, book.scan_depth) == (BookSpelling.CHARACTER_BOOK, "W", 3)
    (entry,) = book.entries
    assert (entry.uid, entry.keys, entry.order, entry.position) == (7, ("k",), 10, Position.BEFORE)
    assert (entry.depth, entry.role, entry.probability, entry.selective) == (
        2,
        Role.USER,
        100,
        False,
    )
    assert (entry.name, entry.priority, entry.use_regex) == ("n", 3, False)


def test_a_v3_lorebook_file_is_read_and_written_in_its_envelope() -> None:
    before = {"spec": "lorebook_v3", "data": {"entries": [BOOK_ENTRY], "name": "W"}}
    book = parse_world_book(encoded(before)).value
    edited = attrs.evolve(book, entries=[attrs.evolve(book.entries[0], position=Position.EM_TOP)])
    after = json.loads(dump_world_book(edited))
    entry = after["data"]["entries"][0]
    assert (entry["position"], entry["extensions"]["position"]) == ("after_char", 5)
    assert json.loads(dump_world_book(book)) == before


def test_entries_of_the_other_spelling_are_converted_when_written() -> None:
    book = parse_world_book(encoded({"entries": [BOOK_ENTRY]})).value
    target = WorldBook(entries=[*book.entries, Entry(uid=1, keys=("new",))])
    after = json.loads(dump_world_book(target))["entries"]
    assert (after["7"]["key"], after["7"]["order"], after["1"]["key"]) == (["k"], 10, ["new"])
    assert after["7"]["extensions"]["foreign"] == [1]


AGNAI = {
    "kind": "memory",
    "entries": [{"name": "E", "entry": "t", "keywords": ["a"], "weight": 5, "enabled": True}],
}
RISU = {
    "type": "risu",
    "data": [{"key": "a, b ,", "secondkey": "", "insertorder": 9, "comment": "C", "content": "T"}],
}
NOVEL = {
    "lorebookVersion": 5,
    "entries": [{"text": "T", "displayName": "D", "keys": ["a"], "forceActivation": True}],
}


@pytest.mark.parametrize(
    ("document", "spelling", "keys", "order", "constant"),
    [
        (AGNAI, BookSpelling.AGNAI, ("a",), 5, False),
        (RISU, BookSpelling.RISU, ("a", "b"), 9, False),
        (NOVEL, BookSpelling.NOVEL, ("a",), 0, True),
    ],
)
def test_foreign_books_are_read_where_they_stand_and_converted(
    document: dict[str, Any],
    spelling: BookSpelling,
    keys: tuple[str, ...],
    order: int,
    constant: bool,  # noqa: FBT001
) -> None:
    book = parse_world_book(encoded(document)).value
    assert book.spelling is spelling
    assert json.loads(dump_world_book(book)) == document
    for target in (BookSpelling.WORLD_INFO, BookSpelling.CHARACTER_BOOK):
        (entry,) = convert_world_book(book, target).entries
        assert (entry.keys, entry.order, entry.constant) == (keys, order, constant)


def test_converting_there_and_back_gives_every_entry_again() -> None:
    odd = {"uid": 9, "key": ["k"], "role": None, "useGroupScoring": None, "position": None}
    book = parse_world_book(encoded(file_of(FULL, odd))).value
    there = convert_world_book(book, BookSpelling.CHARACTER_BOOK, name="B")
    back = convert_world_book(there, BookSpelling.WORLD_INFO)
    for before, after in zip(book.entries, back.entries, strict=True):
        assert {key: after.raw.get(key) for key in before.raw} == dict(before.raw)


def test_keys_of_the_whole_book_survive_both_conversions() -> None:
    file = {**file_of({"uid": 0, "key": []}), "name": "N", "foo": [1], "extensions": {"x": 2}}
    there = convert_world_book(parse_world_book(encoded(file)).value, BookSpelling.CHARACTER_BOOK)
    back = convert_world_book(there, BookSpelling.WORLD_INFO).raw
    assert (back["foo"], back["name"]) == ([1], "N")
    book = {"entries": [BOOK_ENTRY], "scan_depth": 3, "zzz": 1, "extensions": {"y": 1}}
    there = convert_world_book(parse_world_book(encoded(book)).value, BookSpelling.WORLD_INFO)
    back = convert_world_book(there, BookSpelling.CHARACTER_BOOK, name="B").raw
    assert (back["scan_depth"], back["zzz"], back["extensions"]) == (3, 1, {"y": 1})


def test_an_edit_between_two_conversions_wins_over_what_was_kept() -> None:
    book = parse_world_book(encoded(file_of({"uid": 0, "key": [], "useGroupScoring": None}))).value
    there = convert_world_book(book, BookSpelling.CHARACTER_BOOK, name="B")
    edited = attrs.evolve(there, entries=[attrs.evolve(there.entries[0], use_group_scoring=True)])
    (entry,) = convert_world_book(edited, BookSpelling.WORLD_INFO).entries
    assert entry.use_group_scoring is True


def test_entries_with_one_id_both_survive_the_conversion() -> None:
    twins = [{**BOOK_ENTRY, "content": "first"}, {**BOOK_ENTRY, "content": "second"}]
    book = parse_world_book(encoded({"entries": twins})).value
    found: list[Any] = []
    converted = convert_world_book(book, BookSpelling.WORLD_INFO, report=found.append)
    assert [entry.content for entry in converted.entries] == ["first", "second"]
    assert [remark.code for remark in found] == ["UID_CHANGED"]


def test_entries_behave_as_a_tuple() -> None:
    entries = parse_world_book(encoded(file_of({"uid": 0}, {"uid": 1}))).value.entries
    assert [entry.uid for entry in reversed(entries)] == [1, 0]
    assert entries == tuple(entries)
    assert entries[0:1] == (entries[0],)
    assert hash(entries[0].keys) == hash(())
