"""Dice that a session can be repeated with."""

import pytest

from tavern_matcher import DiceMissingError, Draw, RecordedDice, SeededDice


def test_number_follows_from_seed_scan_and_purpose() -> None:
    dice = SeededDice("seed").for_scan("1")
    assert dice("chance/1/b#0") == SeededDice("seed", "1")("chance/1/b#0")
    others = [
        dice("chance/1/b#1"),
        dice("chance/2/b#0"),
        SeededDice("seed").for_scan("2")("chance/1/b#0"),
        SeededDice("other").for_scan("1")("chance/1/b#0"),
    ]
    assert len({dice("chance/1/b#0"), *others}) == 5


def test_numbers_are_spread_evenly() -> None:
    dice = SeededDice("seed")
    numbers = [dice(str(at)) for at in range(4000)]
    assert all(0 <= number < 1 for number in numbers)
    tenths = [sum(at / 10 <= number < (at + 1) / 10 for number in numbers) for at in range(10)]
    assert min(tenths) > 320
    assert max(tenths) < 480


def test_recorded_numbers_are_given_again() -> None:
    dice = RecordedDice.of([Draw(purpose="group/1/g", value=0.25)])
    assert dice("group/1/g") == 0.25
    with pytest.raises(DiceMissingError):
        dice("group/2/g")
