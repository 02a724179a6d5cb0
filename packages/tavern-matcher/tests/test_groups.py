"""Inclusion groups: who wins, who leaves, and SillyTavern's ways of removing."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tavern_format import Entry
from tavern_matcher import Draw, MatchResult, Reason, SeededDice

Scan = Callable[..., MatchResult]
Fired = Callable[[MatchResult], list[object]]


def member(uid: int, group: str = "g", **more: Any) -> Entry:
    return Entry(uid=uid, keys=("key",), content=f"text {uid}", group=group, **more)


def reasons(result: MatchResult) -> list[str]:
    return [decision.reason.value for decision in result.decisions]


@pytest.mark.parametrize(
    ("draw", "weights", "winner"),
    [
        (0.0, (1, 1, 2), 0),
        (0.25, (1, 1, 2), 0),
        (0.26, (1, 1, 2), 1),
        (0.5, (1, 1, 2), 1),
        (0.51, (1, 1, 2), 2),
        (0.0, (0, 1, 1), 0),
        (0.99, (100, 0, 0), 0),
    ],
)
def test_winner_is_drawn_by_weight(
    scan: Scan, fired: Fired, draw: float, weights: tuple[int, ...], winner: int
) -> None:
    entries = [member(uid, group_weight=weight) for uid, weight in enumerate(weights)]
    result = scan(entries, "key", dice=lambda _: draw)
    assert fired(result) == [winner]
    assert result.draws == (Draw(purpose="group/1/g", value=draw),)
    loser = next(one for one in result.decisions if not one.fired)
    assert (loser.reason, loser.group, loser.draw) == (Reason.GROUP_LOSER, "g", result.draws[0])
    assert loser.cause is Reason.PRIMARY_KEY_MATCH
    assert result.decisions[winner].group == "g"
    ends = [0.0, *(sum(weights[:count]) / sum(weights) for count in (1, 2, 3))]
    assert [one.group_share for one in result.decisions] == list(pairwise(ends))


def test_override_takes_the_highest_order_without_a_draw(scan: Scan, fired: Fired) -> None:
    entries = [
        member(0, order=300),
        member(1, group_override=True, order=5),
        member(2, group_override=True, order=50),
    ]
    result = scan(entries, "key")
    assert (fired(result), result.draws) == ([2], ())


@pytest.mark.parametrize(
    ("own", "everywhere", "expected", "draws"),
    [
        ((None, None), False, [1], 1),
        ((True, None), False, [1], 0),
        ((None, True), False, [1], 1),
        ((None, None), True, [1], 0),
        ((False, None), True, [1], 1),
    ],
)
def test_score_counts_keys_that_are_found(  # noqa: PLR0913, PLR0917 - the columns
    scan: Scan,
    fired: Fired,
    own: tuple[bool | None, bool | None],
    everywhere: bool,  # noqa: FBT001
    expected: list[int],
    draws: int,
) -> None:
    entries = [
        Entry(uid=0, keys=("one",), group="g", use_group_scoring=own[0]),
        Entry(uid=1, keys=("one", "two"), group="g", use_group_scoring=own[1]),
    ]
    settings = {"use_group_scoring": everywhere}
    result = scan(entries, "one two", settings=settings, dice=lambda _: 0.9)
    assert (fired(result), len(result.draws)) == (expected, draws)


def test_score_loser_says_so(scan: Scan) -> None:
    entries = [Entry(keys=("one",), group="g"), Entry(keys=("one", "two"), group="g")]
    result = scan(entries, "one two", settings={"use_group_scoring": True})
    assert reasons(result) == ["group-score", "primary-key-match"]


def test_member_that_fired_in_an_earlier_loop_keeps_the_group(scan: Scan) -> None:
    entries = [
        Entry(uid=0, keys=("start",), content="key", group="g"),
        Entry(uid=1, keys=("key",), group="g"),
    ]
    result = scan(entries, "start", settings={"recursive": True})
    assert reasons(result) == ["primary-key-match", "group-active"]


def test_loser_keeps_its_draw_where_recursion_meets_the_winner_again(scan: Scan) -> None:
    result = scan([member(0), member(1)], "key", settings={"recursive": True})
    assert len(result.loops) == 2
    winner, loser = result.decisions
    assert (winner.reason, loser.reason) == (Reason.PRIMARY_KEY_MATCH, Reason.GROUP_LOSER)
    assert (loser.loop, loser.draw) == (1, result.draws[0])


def test_losers_come_back_in_the_next_loop(scan: Scan, fired: Fired) -> None:
    entries = [
        member(0, probability=10),
        member(1),
        Entry(uid=2, keys=("key",), content="again"),
    ]
    draws = iter([0.1, 0.9, 0.9])
    result = scan(entries, "key", settings={"recursive": True}, dice=lambda _: next(draws))
    assert fired(result) == [2, 1]


def test_names_are_handled_as_object_keys(scan: Scan) -> None:
    entries = [member(0, "b"), member(1, "b"), member(2, "10"), member(3, "10"), member(4, "9, x")]
    purposes = [draw.purpose for draw in scan([*entries, member(5, "9")], "key").draws]
    assert purposes == ["group/1/9", "group/1/10", "group/1/b"]


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString"])
def test_name_of_a_method_ends_the_scan_of_sillytavern(scan: Scan, fired: Fired, name: str) -> None:
    result = scan([member(0, name), Entry(uid=1, constant=True)], "key")
    assert (fired(result), result.aborted) == ([], "GROUP_NAME")
    assert reasons(result) == ["scan-aborted", "scan-aborted"]
    (found,) = result.diagnostics
    assert (found.code, found.path) == ("SCAN_ABORTED_GROUP_NAME", "/books/0/entries/0/group")
    assert 'Entry 0 of book "b"' in found.message
    safe = scan([member(0, name), Entry(uid=1, constant=True)], "key", settings={"profile": "safe"})
    assert fired(safe) == [0, 1]


def test_key_that_is_no_text_ends_the_scan_when_it_is_scored(scan: Scan, fired: Fired) -> None:
    entries = [{"uid": 0, "key": ["a", None], "content": "x", "group": "g", "position": 0}]
    result = scan(entries, "a", settings={"use_group_scoring": True})
    assert (fired(result), result.aborted) == ([], "SCORED_KEY_NOT_TEXT")
    assert result.diagnostics[-1].path == "/books/0/entries/0/keys"
    settings = {"use_group_scoring": True, "profile": "safe"}
    assert fired(scan(entries, "a", settings=settings)) == [0]


def test_seeded_dice_make_groups_repeatable(scan: Scan, fired: Fired) -> None:
    entries = [member(uid) for uid in range(20)]
    dice = SeededDice("seed").for_scan("1")
    first, second = (scan(entries, "key", dice=dice) for _ in range(2))
    assert fired(first) == fired(second)
    winners = {
        tuple(fired(scan(entries, "key", dice=SeededDice("seed").for_scan(str(turn)))))
        for turn in range(40)
    }
    assert len(winners) > 10
