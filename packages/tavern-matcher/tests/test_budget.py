"""Chance and budget: who gets in, in which order, and what is written down."""

from collections.abc import Callable
from typing import Any

import pytest

from tavern_format import Entry
from tavern_matcher import (
    BudgetUse,
    DiceMissingError,
    Draw,
    MatchResult,
    Reason,
    explain,
)

Scan = Callable[..., MatchResult]
Fired = Callable[[MatchResult], list[object]]


def text(uid: int, chars: int, **more: Any) -> Entry:
    return Entry(uid=uid, constant=True, content="x" * chars, order=100 - uid, **more)


def budget(tokens: int, **more: Any) -> dict[str, Any]:
    return {"count_tokens": len, "context": {"budget_tokens": tokens}, **more}


@pytest.mark.parametrize(
    ("percent", "size", "cap", "limit"),
    [
        (25, 1000, 0, 250),
        (25, 1002, 0, 251),
        (25, 1001, 0, 250),
        (0, 1000, 0, 1),
        (25, 1000, 100, 100),
        (25, 1000, 900, 250),
        (150, 10, 0, 15),
        (25, None, 40, 40),
        (25, None, 0, None),
    ],
)
def test_limit_is_a_share_of_the_context(
    scan: Scan, percent: float, size: int | None, cap: int, limit: int | None
) -> None:
    settings = {"budget_percent": percent, "budget_cap_tokens": cap}
    context = {"context_size_tokens": size}
    result = scan([text(0, 0)], settings=settings, context=context, count_tokens=len)
    assert result.budget.limit_tokens == limit
    assert [one.code for one in result.diagnostics] == ["BUDGET_NOT_EXECUTED"] * (limit is None)


def test_without_a_way_to_count_there_is_no_budget(scan: Scan) -> None:
    result = scan([text(0, 9)], context={"context_size_tokens": 10})
    assert result.budget == BudgetUse()


def test_text_that_fills_the_budget_is_too_much_and_ends_the_row(scan: Scan, fired: Fired) -> None:
    entries = [text(0, 3), text(1, 5), text(2, 0)]
    # Each text counts with a line end: 4, then 4 + 6.
    result = scan(entries, **budget(10))
    assert fired(result) == [0]
    assert [one.reason.value for one in result.decisions] == [
        "constant", "budget-exceeded", "after-budget-overflow",
    ]  # fmt: skip
    too_dear = result.decisions[1]
    assert (too_dear.tokens, too_dear.budget_before_tokens, too_dear.budget_tokens) == (10, 0, 10)
    assert explain(too_dear) == (
        "Entry 1 did not fire although it is constant: with it 10 tokens would be used,"
        " which uses up the budget of 10."
    )
    assert result.budget == BudgetUse(limit_tokens=10, used_tokens=10, overflowed=True)
    assert fired(scan(entries, **budget(11))) == [0, 1]
    assert fired(scan(entries, **budget(12))) == [0, 1, 2]


def test_entry_that_ignores_the_budget_presses_on_the_others(scan: Scan, fired: Fired) -> None:
    entries = [text(0, 50, ignore_budget=True), text(1, 5), text(2, 50, ignore_budget=True)]
    assert fired(scan(entries, **budget(20))) == [0, 2]
    safe = scan(entries, **budget(20, settings={"profile": "safe"}))
    assert fired(safe) == [0, 1, 2]
    assert safe.budget.used_tokens == 5


def test_overflow_ends_recursion(scan: Scan, fired: Fired) -> None:
    entries = [text(0, 30), Entry(uid=1, keys=("x",), content="")]
    result = scan(entries, **budget(10, settings={"recursive": True}))
    assert (fired(result), len(result.loops)) == ([], 1)


def test_texts_of_recursion_count_and_prevented_ones_do_not(scan: Scan, fired: Fired) -> None:
    def run(tokens: int, **more: Any) -> list[object]:
        entries = [text(0, 9, **more), text(1, 1), Entry(uid=2, keys=("x",), content="yyyy")]
        return fired(scan(entries, "-", **budget(tokens, settings={"recursive": True})))

    # 9 + 1 and their line ends are 12, then 5 more.
    assert run(17) == [0, 1]
    assert run(18) == [0, 1, 2]
    assert run(13, prevent_recursion=True) == [0, 1, 2]


@pytest.mark.parametrize(
    ("probability", "draw", "passes"),
    [
        (50, 0.5, True), (50, 0.501, False), (0, 0.0, True), (0, 0.001, False),
        (99, 0.99, True), (100, 0.999, True), (None, 0.0, True), (None, 0.1, False),
    ],
)  # fmt: skip
def test_draw_up_to_the_probability_passes(
    scan: Scan,
    fired: Fired,
    probability: float | None,
    draw: float,
    passes: bool,  # noqa: FBT001
) -> None:
    entry = Entry(uid=0, constant=True, probability=probability)
    result = scan([entry], dice=lambda _: draw)
    assert fired(result) == [0] * passes
    purpose = "chance/1/b#0"
    assert result.draws == (() if probability == 100 else (Draw(purpose=purpose, value=draw),))


def test_failed_chance_is_final(scan: Scan, fired: Fired) -> None:
    entries = [
        Entry(uid=0, constant=True, probability=50, order=200),
        Entry(uid=1, constant=True, content="x"),
    ]
    result = scan(entries, settings={"recursive": True}, dice=lambda _: 0.9)
    assert (fired(result), len(result.draws), len(result.loops)) == ([1], 1, 2)
    decision = result.decisions[0]
    assert (decision.reason, decision.threshold) == (Reason.PROBABILITY_FAILED, 50)
    assert [[one.uid for one in loop.found] for loop in result.loops] == [[0, 1], []]
    assert [[one.uid for one in loop.successful] for loop in result.loops] == [[1], []]


def test_dice_are_needed_where_something_is_drawn(scan: Scan, fired: Fired) -> None:
    entry = Entry(uid=0, constant=True, probability=50)
    with pytest.raises(DiceMissingError) as caught:
        scan([entry], dice=None)
    assert (caught.value.code, caught.value.purpose) == ("DICE_MISSING", "chance/1/b#0")
    assert str(caught.value) == "DICE_MISSING: a random number is needed for chance/1/b#0"
    off = Entry(uid=0, constant=True, probability=50, use_probability=False)
    assert fired(scan([off], dice=None)) == [0]


@pytest.mark.parametrize("value", [-0.1, 1.0, 7, float("nan")])
def test_dice_out_of_range_are_the_callers_mistake(scan: Scan, value: float) -> None:
    with pytest.raises(ValueError, match="from 0 to below 1"):
        scan([Entry(constant=True, probability=50)], dice=lambda _: value)


def test_macros_in_contents_are_expanded_before_they_are_counted(scan: Scan) -> None:
    entry = Entry(uid=0, constant=True, content="{{char}}!")
    result = scan([entry], expand=lambda given: given.replace("{{char}}", "Ann"), **budget(9))
    (one,) = result.activated
    assert (one.content, one.expanded, one.text) == ("{{char}}!", "Ann!", "Ann!")
    assert result.budget.used_tokens == 5


def test_text_can_be_rewritten_before_it_is_placed(scan: Scan) -> None:
    entries = [
        Entry(uid=0, constant=True, content="one"),
        Entry(uid=1, constant=True, content="two", position=4, depth=3),  # type: ignore[arg-type]
        Entry(uid=2, constant=True, content="drop"),
    ]
    asked: list[tuple[str, float | None]] = []

    def rewrite(given: str, depth: float | None) -> str:
        asked.append((given, depth))
        return "" if given == "drop" else given.upper()

    result = scan(entries, rewrite=rewrite)
    assert [one.text for one in result.placement.before] == ["ONE"]
    assert asked == [("one", None), ("two", 3), ("drop", None)]
    assert [one.applied_position for one in result.decisions] == [0, 4, None]
    assert [one.position for one in result.decisions] == [0, 4, 0]
