"""What can be said of the differential test without Node and without SillyTavern."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import __main__ as command
from tests.oracle import _real
from tests.oracle._generator import SETTINGS, TEMPLATE, series
from tests.oracle._shrink import shrink


def turns_of(seed: int, number: int, state: dict[str, Any]) -> list[dict[str, Any]]:
    cases = []
    turns = series(seed, number)
    case = next(turns)
    while True:
        cases.append(case)
        try:
            case = turns.send(deepcopy(state))
        except StopIteration:
            return cases


def test_the_same_seed_makes_the_same_cases() -> None:
    state = {"sticky": {"g0.1": {"hash": 1, "start": 1, "end": 3, "protected": False}}}
    first, again, other = (
        [turns_of(seed, number, state) for number in range(30)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_every_field_and_setting_takes_more_than_one_value() -> None:
    cases = [case for number in range(400) for case in turns_of(1, number, {})]
    entries = [
        entry
        for case in cases
        for book in case["books"]
        for entry in book["entries"]
        if isinstance(entry, dict)
    ]
    constant = {"comment", "addMemo", "automationId"}
    seen = {name: {repr(entry.get(name)) for entry in entries} for name in TEMPLATE}
    assert {name for name, values in seen.items() if len(values) < 2} <= constant
    unused = {"world_info_overflow_alert"}
    chosen = {name: {case["settings"][name] for case in cases} for name in SETTINGS}
    assert {name for name, values in chosen.items() if len(values) < 2} == unused


def test_a_series_goes_on_from_the_state_that_was_left() -> None:
    left = {"sticky": {}, "cooldown": {"g0.0": {"hash": 5, "start": 0, "end": 90}}}
    later = [case for number in range(60) for case in turns_of(3, number, left)[1:]]
    assert any(case["timed_state_before"] == left for case in later)
    assert any(case["timed_state_before"] != left for case in later)


def test_a_disagreement_is_made_small() -> None:
    case = next(
        case
        for number in range(100)
        for case in turns_of(1, number, {})
        if any("龙" in str(book) for book in case["books"]) and len(case["chat"]) > 2
    )

    def disagrees(given: dict[str, Any]) -> bool:
        return "龙" in str(given["books"]) and len(given["chat"]) >= 1

    small = shrink(case, disagrees)
    assert disagrees(small)
    assert small["settings"] == SETTINGS
    assert [len(book["entries"]) for book in small["books"]] == [1]
    assert [message["text"] for message in small["chat"]] == [""]


def test_shrinking_ends_even_if_everything_disagrees() -> None:
    small = shrink(turns_of(1, 5, {})[0], lambda _: True)
    assert small["chat"] == []
    assert [book["entries"] for book in small["books"]] == [[]]


def test_without_node_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(command, "install", lambda: tmp_path)
    assert command.main([]) == 2
    assert capsys.readouterr().err == "Node 20 or newer is needed: no `node` on the path\n"


def test_without_npm_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(_real.CACHE_VARIABLE, str(tmp_path / "cache"))
    assert command.main([]) == 2
    assert "npm is needed to install SillyTavern" in capsys.readouterr().err


def test_the_cache_is_outside_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_real.CACHE_VARIABLE, raising=False)
    assert not _real.cache_folder().is_relative_to(Path(__file__).parents[2])
