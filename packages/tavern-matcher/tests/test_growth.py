"""Twice as many entries are about twice the work: counted in lines that are run, not in time."""

from collections.abc import Callable
from typing import Any

import pytest

from tavern_matcher import MatchResult, explain
from tests.growth import MOST_GROWTH, lines_run

Scan = Callable[..., MatchResult]
Entries = Callable[[int], list[dict[str, Any]]]


def file_entry(uid: int, **more: Any) -> dict[str, Any]:
    return {
        "uid": uid,
        "key": ["owl"],
        "content": "x",
        "order": 100,
        "position": 0,
        **more,
    }


_BOOKS: dict[str, tuple[Entries, dict[str, Any]]] = {
    "one inclusion group": (lambda n: [file_entry(at, group="g") for at in range(n)], {}),
    "many inclusion groups": (
        lambda n: [file_entry(at, group=f"g{at % 20}") for at in range(n)],
        {},
    ),
    "groups that earlier loops filled": (
        lambda n: [
            file_entry(at, group=f"g{at}", key=["owl" if at % 2 else "x"]) for at in range(n)
        ],
        {"recursive": True},
    ),
    "a depth of its own for each": (
        lambda n: [file_entry(at, position=4, depth=at) for at in range(n)],
        {},
    ),
    "a recursion level of its own for each": (
        lambda n: [file_entry(at, delayUntilRecursion=at + 1) for at in range(n)],
        {},
    ),
    "patterns in a chain of loops": (
        lambda n: [
            *(file_entry(at, key=[f"k{at}z"], content=f"k{at + 1}z") for at in range(n)),
            file_entry(n, key=["/[a-c]+q/"]),
        ],
        {"recursive": True},
    ),
}


@pytest.mark.parametrize("profile", ["st-1.19", "safe"])
@pytest.mark.parametrize("name", _BOOKS)
def test_work_grows_with_the_entries_and_not_with_their_square(
    scan: Scan, name: str, profile: str
) -> None:
    entries, more = _BOOKS[name]

    def run(count: int) -> int:
        settings = {"profile": profile, **more}
        book = entries(count)
        return lines_run(lambda: scan(book, "owl k0z", settings=settings).placement)

    assert run(600) / run(300) < MOST_GROWTH


def test_widening_looks_only_at_entries_that_a_message_says_something_new_about(
    scan: Scan,
) -> None:
    book = [file_entry(at, keysecondary=["wolf"], selective=True) for at in range(200)]

    def run(count: int) -> int:
        settings = {"min_activations": 1}
        return lines_run(lambda: scan(book, *["owl"] * count, settings=settings).activated)

    assert run(80) / run(40) < 1.5


def test_letters_that_grow_in_lower_case_are_counted_once(scan: Scan) -> None:
    book = [file_entry(0, key=["A"], caseSensitive=True)]

    def run(count: int) -> int:
        text = "\u0130" + "a" * count
        return lines_run(lambda: scan(book, text).activated)

    assert run(600) / run(300) < MOST_GROWTH


def test_asking_for_every_decision_by_its_entry_is_linear(scan: Scan) -> None:
    def run(count: int) -> int:
        result = scan([file_entry(at) for at in range(count)], "wolf")
        order = [one.entry for one in result.decisions]
        return lines_run(lambda: [explain(result, entry) for entry in order])

    assert run(600) / run(300) < MOST_GROWTH
