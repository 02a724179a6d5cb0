"""Absent and odd fields: what JavaScript makes of them, and what `safe` does instead."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from tavern_format import Entry, Position, WorldBook, parse_card, parse_world_book
from tavern_matcher import (
    BookSource,
    EntryId,
    ForcedEntry,
    MatchProfile,
    MatchResult,
    MatchSettings,
    NamedBook,
    Reason,
    ScanContext,
    compile_index,
    explain,
    match,
    state_to_json,
)
from tavern_matcher._js import to_number

Scan = Callable[..., MatchResult]
Fired = Callable[[MatchResult], list[object]]
CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases" / "profiles.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
@pytest.mark.parametrize("profile", ["st-1.19", "safe"])
def test_profile_decides(scan: Scan, fired: Fired, case: dict[str, Any], profile: str) -> None:
    result = scan(
        case["entries"],
        *case["messages"],
        settings={"profile": profile, **case.get("settings", {})},
        context={"budget_tokens": case.get("budget")},
        dice=lambda _: case.get("roll", 0.5),
        count_tokens=len,
    )
    assert (fired(result), result.aborted) == (case[profile], case.get(f"{profile} aborted"))


def book_of(*entries: object) -> WorldBook:
    document = {"entries": {str(at): entry for at, entry in enumerate(entries)}}
    return parse_world_book(json.dumps(document).encode()).value


GOOD = {"uid": 0, "key": ["key"], "content": "x", "position": 0, "order": 5}


def test_edit_of_an_entry_counts_and_the_rest_stays_as_it_was_read(scan: Scan) -> None:
    sparse = {"uid": 0, "key": ["key"], "keysecondary": ["no"], "content": "x"}
    book = book_of(sparse)
    (entry,) = book.entries
    # Without the field `selective`, secondary keys do not count; without `position`, no place.
    result = scan(book, "key")
    assert (len(result.activated), result.placement.before) == (1, ())
    edited = attrs.evolve(book, entries=(attrs.evolve(entry, content="y"),))
    assert [one.content for one in scan(edited, "key").activated] == []
    assert scan(edited, "key").decisions[0].reason is Reason.SECONDARY_KEYS_MISS
    untouched = attrs.evolve(book, entries=tuple(book.entries))
    assert scan(untouched, "key").placement.before == ()


def test_entries_of_a_card_are_read_as_sillytavern_converts_them(scan: Scan, fired: Fired) -> None:
    entries = [
        {"id": 0, "keys": ["gate"], "content": "lantern", "enabled": True, "insertion_order": 1},
        {
            "id": 1, "keys": ["lantern"], "content": "x", "enabled": True, "insertion_order": 2,
            "extensions": {"exclude_recursion": True},
        },
    ]  # fmt: skip
    card = {"spec": "chara_card_v2", "data": {"name": "A", "character_book": {"entries": entries}}}
    book = parse_card(json.dumps(card).encode()).value.character_book
    assert book is not None
    result = scan(book, "gate", settings={"recursive": True})
    assert fired(result) == [0]
    assert result.decisions[0].reason is Reason.EXCLUDED_FROM_RECURSION


def test_null_among_the_entries_silences_every_book() -> None:
    bad = NamedBook(name="bad", book=book_of(None))
    good = NamedBook(name="good", book=book_of(GOOD | {"constant": True}), source=BookSource.CHAT)
    exact = match(compile_index([bad, good]), ScanContext())
    assert (exact.activated, exact.aborted) == ((), "ENTRY_UNREADABLE")
    assert {one.reason for one in exact.decisions} == {Reason.SCAN_ABORTED}
    assert [(one.code, one.path) for one in exact.diagnostics] == [
        ("ENTRY_UNREADABLE", "/books/0/unread/0"),
        ("SCAN_ABORTED_ENTRY_UNREADABLE", "/books/0/unread/0"),
    ]
    safe = match(
        compile_index([bad, good], MatchSettings(profile=MatchProfile.SAFE)), ScanContext()
    )
    assert [one.entry.book for one in safe.activated] == ["good"]
    assert {one.reason for one in safe.decisions} == {Reason.CONSTANT, Reason.MALFORMED}


@pytest.mark.parametrize(
    ("items", "path", "name"),
    [
        ({"a": GOOD, "b/c": None, "7": "text"}, "/books/0/unread/1", '"7"'),
        ({"a": GOOD, "x" * 99: 5}, "/books/0/unread/0", '"' + "x" * 40 + '"'),
        ([GOOD, None], "/books/0/unread/0", "#1"),
    ],
)
def test_item_that_is_no_entry_is_named_as_in_its_file(
    scan: Scan, items: object, path: str, name: str
) -> None:
    book = parse_world_book(json.dumps({"entries": items}).encode()).value
    found = scan(book, "key", settings={"profile": "safe"}).diagnostics[0]
    assert (found.code, found.path) == ("ENTRY_UNREADABLE", path)
    assert found.message == f'Item {name} of book "b" is no entry and never fires.'
    place = int(path.rpartition("/")[2])
    assert str(book.unread[place].key)[:40] in found.message


def test_content_that_is_no_text_is_named(scan: Scan) -> None:
    (found,) = scan([GOOD, GOOD | {"uid": 7, "content": 5}], "key").diagnostics
    assert (found.code, found.path) == (
        "SCAN_ABORTED_ENTRY_UNREADABLE",
        "/books/0/entries/1/content",
    )
    assert 'Entry 7 of book "b" has a content that is no text' in found.message


def test_item_that_is_a_text_is_no_entry_and_does_no_harm(scan: Scan, fired: Fired) -> None:
    result = scan(book_of(GOOD, "text"), "key")
    assert fired(result) == [0]
    assert [(one.entry.index, one.reason) for one in result.decisions] == [
        (0, Reason.PRIMARY_KEY_MATCH),
        (1, Reason.MALFORMED),
    ]


def test_depth_block_of_an_entry_without_a_depth() -> None:
    def block(uid: int, order: int, **more: Any) -> dict[str, Any]:
        return {
            "uid": uid,
            "constant": True,
            "content": str(uid),
            "order": order,
            "position": 4,
        } | more

    book = book_of(
        block(0, 9, depth=4), block(1, 8), block(2, 7, depth="4"), block(3, 6, depth=None)
    )
    placed = match(compile_index([NamedBook(name="b", book=book)]), ScanContext()).placement
    assert [(one.depth, [text.entry.uid for text in one.texts]) for one in placed.at_depth] == [
        (4, [3, 1, 0]),
        ("4", [2]),
    ]


def test_forced_entry_fires_as_what_was_given(scan: Scan, fired: Fired) -> None:
    forced = ForcedEntry(book="b", entry=Entry(uid=1, content="@@note\ntold", order=500))
    entries = [GOOD | {"constant": True}, {"uid": 1, "key": ["no"], "content": "own"}]
    result = scan(entries, "-", context={"forced": (forced,)})
    assert fired(result) == [1, 0]
    assert [one.content for one in result.activated] == ["@@note\ntold", "x"]
    decision = result.decision(EntryId(book="b", index=1))
    assert (decision.reason, decision.applied_position) == (Reason.FORCED, Position.BEFORE)


@pytest.mark.parametrize(
    "changes", [{"disable": True}, {"triggers": ["swipe"]}, {"content": "@@dont_activate\nx"}]
)
def test_what_holds_back_a_forced_entry(
    scan: Scan, fired: Fired, changes: dict[str, object]
) -> None:
    forced = ForcedEntry(book="b", entry=Entry(uid=0, content="told"))
    assert fired(scan([GOOD | changes], "-", context={"forced": (forced,)})) == []


def test_author_note_stands_between_its_lore(scan: Scan) -> None:
    entries = [
        GOOD | {"constant": True, "uid": at, "position": 2 + at, "content": text}
        for at, text in enumerate(("above", "below"))
    ]
    placement = scan(entries).placement
    assert placement.author_note("note") == "above\nnote\nbelow"
    assert scan([]).placement.author_note("") == "\n"[:0] + ""


def test_plugin_profile_knows_no_loops_and_takes_rolls_of_zero(scan: Scan, fired: Fired) -> None:
    entries = [
        {"uid": 0, "key": ["start"], "content": "next", "probability": 1, "useProbability": True},
        {"uid": 1, "key": ["next"], "content": "x"},
        {"uid": 2, "key": ["/st.rt/"], "content": "x"},
        {"uid": 3, "key": ["meaning"], "content": "x", "vectorized": True},
        {"uid": 4, "key": ["start"], "content": "@@dont_activate\nx", "delay": 9, "sticky": 3},
    ]
    settings = {"profile": "dsh-tavern", "recursive": True}
    given = {"vector_matches": (EntryId(book="b", index=3),)}
    result = scan(entries, "start", settings=settings, context=given, dice=None)
    assert fired(result) == [0, 3, 4]
    assert [one.reason.value for one in result.decisions] == [
        "primary-key-match", "primary-key-miss", "regex-disabled", "vector-match",
        "primary-key-match",
    ]  # fmt: skip
    assert result.state.sticky == {}
    assert scan(entries, "meaning", settings=settings).decisions[3].reason is (
        Reason.VECTOR_MATCH_REQUIRED
    )


def test_role_of_a_depth_block_is_kept_as_it_is_written(scan: Scan) -> None:
    base = {"constant": True, "content": "x", "position": 4, "depth": 4}
    roles: tuple[Any, ...] = (7, "1", 1, True, None, 0, 7, [])
    entries = [base | {"uid": at, "role": role, "order": -at} for at, role in enumerate(roles)]
    result = scan(entries)
    assert hash(result) == hash(scan(entries))
    blocks = result.placement.at_depth
    assert [
        (repr(one.stored_role), one.role.name, [text.entry.uid for text in one.texts])
        for one in blocks
    ] == [
        ("7", "SYSTEM", [6, 0]),
        ("'1'", "USER", [1]),
        ("1", "USER", [2]),
        ("True", "USER", [3]),
        ("0", "SYSTEM", [5, 4]),
        ("[]", "SYSTEM", [7]),
    ]


@pytest.mark.parametrize("key", ["\n", "b\n"])
@pytest.mark.parametrize(("messages", "draws"), [(("c", "b"), 0), (("b\nc",), 0), (("b",), 1)])
def test_line_break_in_a_scored_key_is_found_between_messages(
    scan: Scan, messages: tuple[str, ...], draws: int, key: str
) -> None:
    plain = {"uid": 0, "key": ["b"], "content": "x", "position": 0, "group": "g"}
    better = {**plain, "uid": 1, "key": ["b", key]}
    result = scan([plain, better], *messages, settings={"use_group_scoring": True})
    assert len(result.draws) == draws


@pytest.mark.parametrize("depth", [0.5, "x", "nothing"])
def test_depth_below_one_sees_no_message_but_all_else(
    scan: Scan, fired: Fired, depth: object
) -> None:
    base = {"content": "x", "position": 0, "scanDepth": depth}
    entries = [
        base | {"uid": 0, "key": ["new"]},
        base | {"uid": 1, "key": ["told"]},
        base | {"uid": 2, "key": ["/told/"]},
    ]
    assert fired(scan(entries, "new", context={"injected": ("told",)})) == [1, 2]


@pytest.mark.parametrize(("depth", "count"), [(1.5, 0), (2.0, 1)])
def test_depth_is_cut_to_whole_messages(scan: Scan, depth: float, count: int) -> None:
    entry = {"uid": 0, "key": ["old"], "content": "x", "position": 0, "scanDepth": depth}
    assert len(scan([entry], "old", "new").activated) == count


@pytest.mark.parametrize("name", ["lore", "__proto__", "constructor"])
def test_outlet_may_have_any_name(scan: Scan, name: str) -> None:
    entry = {"uid": 0, "constant": True, "content": "x", "position": 7, "outletName": name}
    placement = scan([entry]).placement
    assert [one.text for one in placement.outlets[name]] == ["x"]


def test_plugin_places_the_highest_order_first(scan: Scan) -> None:
    entries = [
        {"uid": uid, "key": ["k"], "content": str(uid), "position": 0, "order": uid}
        for uid in range(3)
    ]

    def texts(profile: str) -> list[str]:
        placed = scan(entries, "k", settings={"profile": profile}).placement.before
        return [one.text for one in placed]

    assert texts("dsh-tavern") == ["2", "1", "0"]
    assert texts("safe") == ["0", "1", "2"]


_BEYOND_DOUBLES = (10**400, -(10**400), "0x" + "f" * 400, 10**30)


@pytest.mark.parametrize("profile", ["st-1.19", "safe", "dsh-tavern"])
@pytest.mark.parametrize("value", _BEYOND_DOUBLES, ids=("huge", "below", "hexadecimal", "large"))
@pytest.mark.parametrize(
    "field",
    [
        *("order", "depth", "probability", "groupWeight", "scanDepth", "sticky", "cooldown"),
        *("delay", "delayUntilRecursion", "uid", "position", "role", "selectiveLogic"),
    ],
)
def test_number_beyond_every_double_stops_nothing(
    scan: Scan, field: str, value: object, profile: str
) -> None:
    odd = GOOD | {"key": ["k"], "group": "g", "position": 4, field: value}
    rival = GOOD | {"uid": 1, "key": ["k"], "group": "g"}
    result = scan([odd, rival], "k", settings={"profile": profile})
    assert len(result.decisions) == 2
    assert [explain(one) for one in result.decisions]
    assert isinstance(result.placement.before, tuple)
    json.dumps(state_to_json(result.state), allow_nan=False)


def test_whole_number_beyond_a_double_is_written_as_javascript_writes_it(scan: Scan) -> None:
    entry = {"uid": 10**21, "constant": True, "content": "x", "position": 0, "sticky": 2}
    assert list(scan([entry]).state.sticky) == ["b.1e+21"]


@pytest.mark.parametrize(("number", "text"), [("0x20000000000001", 2**53), ("0b1", 1)])
def test_text_of_another_base_is_rounded_to_a_double(number: str, text: int) -> None:
    assert to_number(number) == text
