"""Secondary keys: the four logics, and where they do not count."""

import pytest

from tavern_format import Entry, SelectiveLogic, WorldBook
from tavern_matcher import (
    Decision,
    MatchSettings,
    NamedBook,
    Reason,
    ScanContext,
    ScanMessage,
    compile_index,
    match,
)

HIT, MISS = "red", "violet"
TOO_LONG = f"/{'x' * 5000}/"
"""A pattern that nobody runs: whether it is found stays open."""
TABLE = {
    # Secondary keys that are found, of two: fires.
    SelectiveLogic.AND_ANY: {0: False, 1: True, 2: True},
    SelectiveLogic.NOT_ALL: {0: True, 1: True, 2: False},
    SelectiveLogic.NOT_ANY: {0: True, 1: False, 2: False},
    SelectiveLogic.AND_ALL: {0: False, 1: False, 2: True},
}
CASES = [(logic, found, fires) for logic, row in TABLE.items() for found, fires in row.items()]


def decide(entry: Entry) -> Decision:
    books = [NamedBook(name="b", book=WorldBook(entries=(entry,)))]
    messages = (ScanMessage(identity="m", text="a red fox, redder than red"),)
    (decision,) = match(
        compile_index(books, MatchSettings()), ScanContext(messages=messages)
    ).decisions
    return decision


@pytest.mark.parametrize(("logic", "found", "fires"), CASES)
def test_logic_joins_secondary_keys(
    logic: SelectiveLogic,
    found: int,
    fires: bool,  # noqa: FBT001
) -> None:
    secondary = (HIT,) * found + (MISS,) * (2 - found)
    decision = decide(Entry(keys=("fox",), secondary_keys=secondary, selective_logic=logic))
    reason = Reason.SECONDARY_KEYS_MATCH if fires else Reason.SECONDARY_KEYS_MISS
    assert (decision.reason, decision.fired, decision.logic) == (reason, fires, logic)
    assert [hit.key for hit in decision.secondary_matches] == [HIT] * found


@pytest.mark.parametrize(
    ("logic", "secondary", "reason"),
    [
        (SelectiveLogic.AND_ANY, ("red", TOO_LONG), Reason.SECONDARY_KEYS_MATCH),
        (SelectiveLogic.AND_ANY, ("violet", TOO_LONG), Reason.REGEX_UNTRANSLATABLE),
        (SelectiveLogic.NOT_ALL, ("violet", TOO_LONG), Reason.SECONDARY_KEYS_MATCH),
        (SelectiveLogic.NOT_ALL, ("red", TOO_LONG), Reason.REGEX_UNTRANSLATABLE),
        (SelectiveLogic.NOT_ANY, ("red", TOO_LONG), Reason.SECONDARY_KEYS_MISS),
        (SelectiveLogic.NOT_ANY, ("violet", TOO_LONG), Reason.REGEX_UNTRANSLATABLE),
        (SelectiveLogic.AND_ALL, ("violet", TOO_LONG), Reason.SECONDARY_KEYS_MISS),
        (SelectiveLogic.AND_ALL, ("red", TOO_LONG), Reason.REGEX_UNTRANSLATABLE),
    ],
)
def test_unknown_secondary_key_leaves_open_only_what_it_would_decide(
    logic: SelectiveLogic, secondary: tuple[str, ...], reason: Reason
) -> None:
    entry = Entry(keys=("fox",), secondary_keys=secondary, selective_logic=logic)
    assert decide(entry).reason is reason


def test_secondary_keys_do_not_count_for_an_entry_that_is_not_selective() -> None:
    decision = decide(Entry(keys=("fox",), secondary_keys=("violet",), selective=False))
    assert (decision.reason, decision.logic) == (Reason.PRIMARY_KEY_MATCH, None)


def test_secondary_keys_are_not_looked_at_without_a_primary_one() -> None:
    decision = decide(Entry(keys=("wolf",), secondary_keys=("red",)))
    assert (decision.reason, decision.matches) == (Reason.PRIMARY_KEY_MISS, ())
