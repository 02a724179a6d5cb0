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
    UnsupportedVersionError,
    WorldBook,
    convert_world_book,
    dump_world_book,
    parse_world_book,
)
from tavern_format._book_writing import _pack
from tavern_format._entry_spellings import TEMPLATE
from tavern_format.book_conversion import book_to_file


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


AGNAI: dict[str, Any] = {
    "kind": "memory",
    "entries": [{"name": "E", "entry": "t", "keywords": ["a"], "weight": 5, "enabled": True}],
}
RISU: dict[str, Any] = {
    "type": "risu",
    "data": [{"key": "a, b ,", "secondkey": "", "insertorder": 9, "comment": "C", "content": "T"}],
}
NOVEL: dict[str, Any] = {
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


def converted(
    document: object, spelling: BookSpelling, **options: Any
) -> tuple[WorldBook, list[tuple[str, str, str]]]:
    found: list[Any] = []
    book = parse_world_book(encoded(document)).value
    done = convert_world_book(book, spelling, report=found.append, **options)
    return done, [(remark.code, remark.path, remark.message) for remark in found]


SETTINGS: dict[str, Any] = {
    "description": "d",
    "scan_depth": 3,
    "token_budget": 100,
    "recursive_scanning": True,
}


def test_settings_of_a_new_book_become_the_keys_of_a_character_book() -> None:
    book = WorldBook(entries=[Entry(uid=0, keys=("k",))], **SETTINGS)
    there = convert_world_book(book, BookSpelling.CHARACTER_BOOK, name="B")
    written = json.loads(dump_world_book(there))
    assert {key: written[key] for key in SETTINGS} == SETTINGS
    assert "extensions" not in written


def test_settings_of_a_file_come_home_to_its_top_level() -> None:
    file = {**file_of({"uid": 0, "key": []}), **SETTINGS, "token_budget": None}
    there, _ = converted(file, BookSpelling.CHARACTER_BOOK)
    edited = attrs.evolve(there, scan_depth=9)
    back = convert_world_book(edited, BookSpelling.WORLD_INFO).raw
    wanted = {**SETTINGS, "token_budget": None, "scan_depth": 9}
    assert {key: back[key] for key in SETTINGS} == wanted


def test_settings_of_a_character_book_can_be_read_and_edited_in_the_file() -> None:
    there, _ = converted({"entries": [BOOK_ENTRY], **SETTINGS}, BookSpelling.WORLD_INFO)
    assert (there.description, there.scan_depth) == ("d", 3)
    edited = attrs.evolve(there, scan_depth=8)
    back = convert_world_book(edited, BookSpelling.CHARACTER_BOOK)
    assert (back.scan_depth, back.description) == (8, "d")


@pytest.mark.parametrize("spelling", [BookSpelling.WORLD_INFO, BookSpelling.CHARACTER_BOOK])
def test_new_entries_get_free_numbers(spelling: BookSpelling) -> None:
    book = WorldBook(
        spelling=spelling, entries=[Entry(keys=("a",)), Entry(uid=0), Entry(keys=("b",))]
    )
    again = parse_world_book(dump_world_book(book)).value
    assert [entry.uid for entry in again.entries] == [1, 0, 2]
    target = (
        BookSpelling.CHARACTER_BOOK
        if spelling is BookSpelling.WORLD_INFO
        else BookSpelling.WORLD_INFO
    )
    assert [entry.uid for entry in convert_world_book(book, target).entries] == [1, 0, 2]


def test_a_uid_that_was_taken_away_is_replaced_and_a_null_that_was_read_stays() -> None:
    file = {"entries": {"0": {"uid": 0}, "x": {"uid": None}, "1": None}}
    book = parse_world_book(encoded(file)).value
    first, second = book.entries
    edited = attrs.evolve(book, entries=[first, attrs.evolve(first, uid=None), second])
    after = json.loads(dump_world_book(edited))["entries"]
    assert after == {"0": {"uid": 0}, "1": None, "2": {"uid": 2}, "x": {"uid": None}}


def test_twenty_thousand_entries_with_one_id_all_get_numbers() -> None:
    count = 20_000
    found: list[Any] = []
    done = book_to_file({"entries": []}, [{"id": 7}] * count, found.append)["entries"]
    assert {entry["uid"] for entry in done.values()} == set(range(count))
    assert [entry["uid"] for entry in done.values()][:3] == [7, 0, 1]
    assert len(found) == count - 1
    packed = _pack([(None, {"uid": 7})] * count, as_array=False)
    assert isinstance(packed, dict)
    assert sorted(map(int, packed)) == list(range(count))


def test_a_repeated_id_gets_a_number_that_no_later_entry_has() -> None:
    entries = [{**BOOK_ENTRY, "id": number} for number in (0, 0, 1)]
    there, remarked = converted({"entries": entries}, BookSpelling.WORLD_INFO)
    assert [entry.uid for entry in there.entries] == [0, 2, 1]
    assert [(code, path) for code, path, _ in remarked if code == "UID_CHANGED"] == [
        ("UID_CHANGED", "/entries/1/id")
    ]


def test_entries_as_deep_as_the_limit_are_converted() -> None:
    deep: Any = 0
    for _ in range(DEFAULT_LIMITS.json_depth_levels - 4):
        deep = [deep]
    there, _ = converted(file_of({"uid": 0, "key": [], "odd": deep}), BookSpelling.CHARACTER_BOOK)
    back = dump_world_book(convert_world_book(there, BookSpelling.WORLD_INFO))
    assert b'"odd":' + b"[" * (DEFAULT_LIMITS.json_depth_levels - 4) in back
    there, _ = converted({"entries": {"0": deep}}, BookSpelling.CHARACTER_BOOK)
    assert convert_world_book(there, BookSpelling.WORLD_INFO).unread == (Unread(0, "0", deep),)


@pytest.mark.parametrize(
    ("document", "target"),
    [
        ({"entries": {"0": None, "1": {"uid": 1}, "2": "t"}}, BookSpelling.CHARACTER_BOOK),
        ({"entries": [None, BOOK_ENTRY, "t", 5]}, BookSpelling.WORLD_INFO),
    ],
)
def test_items_that_are_no_entries_survive_a_conversion_and_come_home(
    document: dict[str, Any], target: BookSpelling
) -> None:
    book = parse_world_book(encoded(document)).value
    there, remarked = converted(document, target)
    assert there.unread == ()
    assert [(code, path) for code, path, _ in remarked if code == "UNREAD_KEPT"] == [
        ("UNREAD_KEPT", "/entries")
    ]
    back = convert_world_book(there, book.spelling)
    assert back.unread == book.unread
    again = convert_world_book(attrs.evolve(back, unread=()), target)
    assert convert_world_book(again, book.spelling).unread == ()


def test_a_book_without_entries_takes_on_the_spelling_too() -> None:
    there, _ = converted({"entries": {}, "name": "N"}, BookSpelling.CHARACTER_BOOK)
    assert (there.spelling, there.raw["entries"]) == (BookSpelling.CHARACTER_BOOK, [])
    back = convert_world_book(there, BookSpelling.WORLD_INFO)
    assert (back.spelling, back.raw["entries"]) == (BookSpelling.WORLD_INFO, {})


@pytest.mark.parametrize("original", [AGNAI, RISU, NOVEL], ids=["agnai", "risu", "novelai"])
def test_a_file_imported_from_elsewhere_becomes_a_character_book(original: dict[str, Any]) -> None:
    file = {**file_of(FULL), "originalData": original}
    there, _ = converted(file, BookSpelling.CHARACTER_BOOK, name="B")
    assert (there.spelling, there.entries[0].keys) == (
        BookSpelling.CHARACTER_BOOK,
        ("cat", "/d.g/i"),
    )
    assert there.extensions["tavern_format"]["world_info"]["originalData"] == original


def test_what_was_kept_wrongly_is_passed_over() -> None:
    kept = {
        "unread": {"world-info": [5, {"index": -1, "key": "7", "value": 1}, {"index": 0}, {}]},
        "world_info": {"entries": 5, "originalData": 6, "mark": 1},
    }
    book = {"entries": [BOOK_ENTRY], "extensions": {"tavern_format": kept}}
    there, _ = converted(book, BookSpelling.WORLD_INFO)
    assert [entry.uid for entry in there.entries] == [7]
    assert [(item.index, item.value) for item in there.unread] == [(0, 1)]
    assert (there.raw["mark"], there.raw["originalData"]) == (1, book)
    assert list(there.raw["entries"]) == ["0", "7"]


def test_what_a_conversion_changes_is_said_for_each_entry() -> None:
    plain = {**TEMPLATE, "uid": 0, "key": ["k"]}
    bare = {"uid": 2, "key": [], "keysecondary": ["s"], "group": "g"}
    odd = {**TEMPLATE, "uid": 1, "probability": None}
    _, remarked = converted(
        {"entries": {"0": plain, "x": bare, "1": odd}}, BookSpelling.CHARACTER_BOOK
    )
    prefix = "SillyTavern's conversion changes: "
    assert remarked == [
        (
            "CONVERSION_CHANGED",
            "/entries/x",
            f"{prefix}selective, position, use_group_scoring",
        ),
        ("CONVERSION_CHANGED", "/entries/1", f"{prefix}probability"),
    ]


def test_a_percentage_of_nothing_that_becomes_always_is_said() -> None:
    item = {**RISU["data"][0], "activationPercent": 0}
    _, remarked = converted({**RISU, "data": [item]}, BookSpelling.WORLD_INFO)
    assert ("CONVERSION_CHANGED", "/data/0") in [(code, path) for code, path, _ in remarked]


FOREIGN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (AGNAI, {"weight": 6}),
    (RISU, {"insertorder": 6}),
    (NOVEL, {}),
]


@pytest.mark.parametrize(("document", "changed"), FOREIGN)
def test_edits_a_foreign_spelling_has_a_place_for_are_written(
    document: dict[str, Any], changed: dict[str, Any]
) -> None:
    book = parse_world_book(encoded(document)).value
    entries = [attrs.evolve(book.entries[0], order=6, content="new")]
    after = parse_world_book(dump_world_book(attrs.evolve(book, entries=entries))).value
    assert (after.entries[0].order, after.entries[0].content) == (6, "new")
    assert {key: after.entries[0].raw[key] for key in changed} == changed


@pytest.mark.parametrize(("document", "_"), FOREIGN)
def test_edits_a_foreign_spelling_has_no_place_for_are_refused_and_converted(
    document: dict[str, Any], _: object
) -> None:
    book = parse_world_book(encoded(document)).value
    first = attrs.evolve(book.entries[0], position=Position.EM_TOP, sticky=3)
    edited = attrs.evolve(book, entries=[first, Entry(keys=("new",), depth=9)])
    with pytest.raises(UnsupportedVersionError, match="position, sticky") as refused:
        dump_world_book(edited)
    assert refused.value.code == "WORLD_BOOK_SPELLING"
    for target in (BookSpelling.WORLD_INFO, BookSpelling.CHARACTER_BOOK):
        done, new = convert_world_book(edited, target).entries
        assert (done.position, done.sticky) == (Position.EM_TOP, 3)
        assert (new.keys, new.depth) == (("new",), 9)
    adopted = parse_world_book(dump_world_book(WorldBook(entries=[Entry(uid=0), first]))).value
    assert [(entry.uid, entry.position) for entry in adopted.entries] == [
        (0, Position.BEFORE),
        (1, Position.EM_TOP),
    ]


def test_a_new_book_is_never_written_in_a_foreign_spelling() -> None:
    for book in (
        WorldBook(spelling=BookSpelling.AGNAI, entries=[Entry(uid=0, keys=("k",))]),
        attrs.evolve(parse_world_book(encoded(NOVEL)).value, spelling=BookSpelling.RISU),
    ):
        with pytest.raises(UnsupportedVersionError) as refused:
            dump_world_book(book)
        assert (refused.value.code, refused.value.spec) == ("WORLD_BOOK_SPELLING", book.spelling)
    new = WorldBook(spelling=BookSpelling.AGNAI, description="d", entries=[Entry(keys=("k",))])
    done = convert_world_book(new, BookSpelling.WORLD_INFO)
    assert (done.description, done.entries[0].keys) == ("d", ("k",))


def test_the_caller_bounds_a_conversion() -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, entries=1)
    with pytest.raises(LimitExceededError) as refused:
        converted(file_of({}, {}), BookSpelling.CHARACTER_BOOK, limits=limits)
    assert (refused.value.limit, refused.value.actual) == ("entries", 2)


def test_what_a_foreign_book_loses_is_told_without_names_of_the_file() -> None:
    item = {**RISU["data"][0], "mode": "normal", "secret name": 1, "my key": 2}
    _, remarked = converted({**RISU, "data": [item]}, BookSpelling.WORLD_INFO)
    assert remarked == [
        (
            "CONVERSION_LOSSY",
            "/data/0",
            "not converted: mode, 2 unknown keys; the original is kept",
        )
    ]
