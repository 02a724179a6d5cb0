"""Recursion, delay levels and minimum activations: the loop of a scan."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tavern_format import Entry
from tavern_matcher import EntryId, MatchResult, PlaceKind, Reason, ScanState, explain

Scan = Callable[..., MatchResult]
Fired = Callable[[MatchResult], list[object]]
CHAIN = (
    Entry(uid=0, keys=("start",), content="then one"),
    Entry(uid=1, keys=("one",), content="then two"),
    Entry(uid=2, keys=("two",), content="the end"),
)
RECURSIVE = {"recursive": True}


def states(result: MatchResult) -> list[int]:
    return [int(loop.state) for loop in result.loops]


def test_each_loop_searches_what_fired_in_the_one_before(scan: Scan, fired: Fired) -> None:
    result = scan(CHAIN, "start", settings=RECURSIVE)
    assert (fired(result), states(result)) == ([0, 1, 2], [1, 2, 2, 2])
    assert [[one.uid for one in loop.found] for loop in result.loops] == [[0], [1], [2], []]
    assert [loop.activated_count for loop in result.loops] == [1, 2, 3, 3]
    last = result.decisions[2]
    assert (last.loop, last.state) == (3, ScanState.RECURSION)
    (hit,) = last.matches
    assert (hit.place_kind, hit.place, hit.start_chars, hit.end_chars) == (
        PlaceKind.ENTRY, "b:1", 5, 8,
    )  # fmt: skip
    assert explain(last) == (
        "Entry 2 fired because its key “two” occurs in the content of entry b:1 (characters 5-8)."
    )


def test_without_recursion_there_is_one_loop(scan: Scan, fired: Fired) -> None:
    result = scan(CHAIN, "start")
    assert (fired(result), states(result)) == ([0], [1])


@pytest.mark.parametrize(
    ("steps", "expected"), [(0, [0, 1, 2]), (1, [0]), (2, [0, 1]), (3, [0, 1, 2])]
)
def test_first_scan_counts_as_a_step(
    scan: Scan, fired: Fired, steps: int, expected: list[int]
) -> None:
    result = scan(CHAIN, "start", settings={**RECURSIVE, "max_recursion_steps": steps})
    assert fired(result) == expected


def test_key_in_a_text_that_no_loop_searched_is_told_apart(scan: Scan) -> None:
    result = scan(CHAIN, "start", settings={**RECURSIVE, "max_recursion_steps": 1})
    decision = result.decisions[1]
    assert (decision.reason, decision.cause) == (Reason.SCAN_ENDED, Reason.PRIMARY_KEY_MATCH)
    assert explain(decision) == (
        "Entry 1 did not fire because the scan ended before the texts of the entries that fired"
        " last were searched."
    )


@pytest.mark.parametrize(
    ("place", "changes", "expected"),
    [
        (0, {"prevent_recursion": True}, [0]),
        (1, {"exclude_recursion": True}, [0]),
        (1, {"scan_depth": 0}, [0]),
        (1, {"scan_depth": 1}, [0, 1, 2]),
    ],
)
def test_entries_can_stay_out_of_recursion(
    scan: Scan, fired: Fired, place: int, changes: dict[str, Any], expected: list[int]
) -> None:
    entries = list(CHAIN)
    entries[place] = attrs.evolve(entries[place], **changes)
    assert fired(scan(entries, "start", settings=RECURSIVE)) == expected


def test_entry_excluded_from_recursion_still_says_what_the_messages_lacked(scan: Scan) -> None:
    entries = (CHAIN[0], attrs.evolve(CHAIN[1], exclude_recursion=True))
    result = scan(entries, "start", settings=RECURSIVE)
    assert result.decisions[1].reason is Reason.EXCLUDED_FROM_RECURSION
    entries = (CHAIN[0], attrs.evolve(CHAIN[1], exclude_recursion=True, keys=("never",)))
    result = scan(entries, "start", settings=RECURSIVE)
    assert result.decisions[1].reason is Reason.PRIMARY_KEY_MISS


def test_delay_levels_open_one_after_the_other(scan: Scan, fired: Fired) -> None:
    entries = (
        Entry(uid=0, keys=("start",), content="x"),
        Entry(uid=1, keys=("start",), content="late", delay_until_recursion=2),
        Entry(uid=2, keys=("late",), content="x", delay_until_recursion=1),
        Entry(uid=3, keys=("start",), delay_until_recursion=5),
    )
    result = scan(entries, "start", settings=RECURSIVE)
    assert fired(result) == [0, 1, 2, 3]
    assert [loop.delay_level for loop in result.loops] == [1, 2, 2, 2, 5, 5, 5]


def test_delay_levels_open_even_without_recursion(scan: Scan, fired: Fired) -> None:
    entries = (
        Entry(uid=0, keys=("start",), delay_until_recursion=1),
        Entry(uid=1, keys=("start",), delay_until_recursion=2),
    )
    result = scan(entries, "start")
    assert (fired(result), states(result)) == ([0, 1], [1, 2])


def test_decision_is_not_taken_back_by_later_text(scan: Scan, fired: Fired) -> None:
    entries = (
        Entry(uid=0, keys=("one",), content="veto"),
        Entry(uid=1, keys=("two",), secondary_keys=("veto",), selective_logic=2),  # type: ignore[arg-type]
    )
    result = scan(entries, "one two", settings=RECURSIVE)
    assert fired(result) == [0, 1]


def test_not_logic_is_judged_on_the_text_of_its_loop(scan: Scan, fired: Fired) -> None:
    entries = (
        {"uid": 0, "key": ["one"], "content": "two veto"},
        {
            "uid": 1, "key": ["two"], "keysecondary": ["veto"],
            "selective": True, "selectiveLogic": 2,
        },
    )  # fmt: skip
    result = scan(entries, "one", settings=RECURSIVE)
    assert fired(result) == [0]
    assert result.decisions[1].reason is Reason.SECONDARY_KEYS_MISS


@pytest.mark.parametrize(
    ("wanted", "deepest", "expected", "loops"),
    [
        (0, 0, [0], [1]),
        (1, 0, [0], [1]),
        (2, 0, [0, 1], [1, 3, 3]),
        (3, 0, [0, 1, 2], [1, 3, 3, 3]),
        (9, 0, [0, 1, 2], [1, 3, 3, 3, 3]),
        (3, 2, [0, 1], [1, 3, 3]),
        (3, 1, [0], [1, 3]),
    ],
)
def test_search_widens_until_enough_entries_fired(  # noqa: PLR0913, PLR0917 - the columns
    scan: Scan,
    fired: Fired,
    wanted: int,
    deepest: int,
    expected: list[int],
    loops: list[int],
) -> None:
    entries = [Entry(uid=at, keys=(f"word{at}",)) for at in range(3)]
    settings = {
        "scan_depth_messages": 1,
        "min_activations": wanted,
        "min_activations_depth_max_messages": deepest,
    }
    result = scan(entries, "word2", "word1", "none", "word0", settings=settings)
    assert (fired(result), states(result)) == (expected, loops)


def test_widening_is_told(scan: Scan) -> None:
    settings = {"scan_depth_messages": 0, "min_activations": 1}
    result = scan([Entry(uid=0, keys=("cat",))], "a cat", "zzz", "zzz", settings=settings)
    decision = result.decision(EntryId(book="b", index=0))
    assert (decision.state, decision.scan_depth_messages) == (ScanState.MIN_ACTIVATIONS, 3)
    assert explain(decision) == (
        "Entry 0 fired because its key “cat” occurs in message 0 (characters 2-5); found when the"
        " search was widened to 3 messages."
    )


def test_widening_does_not_see_recursion_and_own_depth_stays(scan: Scan, fired: Fired) -> None:
    entries = (
        Entry(uid=0, keys=("word0",), content="secret"),
        Entry(uid=1, keys=("word2",), scan_depth=1),
        Entry(uid=2, keys=("secret",)),
    )
    settings = {"scan_depth_messages": 1, "min_activations": 9}
    result = scan(entries, "word2", "word1", "word0", settings=settings)
    assert fired(result) == [0]
    result = scan(entries, "word2", "word1", "word0", settings={**settings, **RECURSIVE})
    assert fired(result) == [0, 2]


def test_key_may_reach_over_contents_of_one_loop_but_not_of_two(scan: Scan, fired: Fired) -> None:
    entries = (
        Entry(uid=0, keys=("start",), content="one", order=200),
        Entry(uid=1, keys=("start",), content="two next"),
        Entry(uid=2, keys=("next",), content="three"),
        Entry(uid=3, keys=("one\ntwo",)),
        Entry(uid=4, keys=("next\nthree",)),
    )
    assert fired(scan(entries, "start", settings=RECURSIVE)) == [0, 1, 2, 3]


def test_widening_finds_a_word_that_was_only_a_part_of_one_before(scan: Scan, fired: Fired) -> None:
    entry = {"uid": 0, "key": [" "], "keysecondary": ["owl"], "selective": True, "content": "x"}
    entry |= {"position": 0, "matchWholeWords": True}
    settings = {"scan_depth_messages": 1, "min_activations": 1}
    assert fired(scan([entry], "an owl", "owls", settings=settings)) == [0]
    assert fired(scan([entry], "an owl", "owls")) == [0]
    assert fired(scan([entry], "an owl", "owls", settings={"scan_depth_messages": 1})) == []


def test_recursion_level_that_is_a_list_compares_as_a_text(scan: Scan, fired: Fired) -> None:
    base = {"content": "x", "position": 0, "key": ["owl"]}
    entries = [
        base | {"uid": 0, "delayUntilRecursion": "9"},
        base | {"uid": 1, "delayUntilRecursion": [10]},
        base | {"uid": 2, "delayUntilRecursion": 10},
    ]
    # The second level opens, which is the list; as texts, "9" comes behind "10".
    assert fired(scan(entries, "owl", settings={"max_recursion_steps": 2})) == [1, 2]
