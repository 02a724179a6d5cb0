"""The packages agree with the recorded results, and the comparison itself is able to fail."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests._tree import ROOT
from tests.conformance.__main__ import VECTORS, compatibility_files
from tests.conformance._cases import Case, Unreadable, load_folder
from tests.conformance._deviations import BadTableError, Deviation, read_deviations
from tests.conformance._findings import Findings
from tests.conformance._outcome import Outcome
from tests.conformance._phrases import View
from tests.conformance._recommended import UnknownWordsError, parse_recommended
from tests.conformance._registry import ADAPTERS, LOADERS
from tests.conformance._runner import adapter_of, judge, lines_of, run

EXPECTATIONS: dict[str, tuple[str, ...]] = json.loads(
    (Path(__file__).parent / "conformance" / "expectations.json").read_text(encoding="utf-8")
)
"""For each area the places of a case whose value, changed, must make the comparison fail.

A `!` steps into JSON written as a text.
"""
MUTATIONS = [
    pytest.param(area, place, id=f"{area}:{place}")
    for area, places in EXPECTATIONS.items()
    for place in places
]


@cache
def deviations() -> tuple[Deviation, ...]:
    return read_deviations(compatibility_files())


@cache
def all_cases() -> tuple[Case, ...]:
    return tuple(case for case in load_folder(VECTORS, LOADERS) if isinstance(case, Case))


@cache
def cases_of(area: str) -> tuple[Case, ...]:
    return tuple(case for case in all_cases() if fnmatchcase(case.area, area))


@cache
def passing(area: str) -> frozenset[str]:
    return frozenset(case.id for case in cases_of(area) if passes(case))


@pytest.mark.parametrize("area", ADAPTERS)
def test_area_agrees_with_the_record(area: str) -> None:
    report = run(cases_of(area), {area: ADAPTERS[area]}, deviations())
    assert report.passed_count > 0
    assert report.failed_count == 0, "\n".join(lines_of(report, with_stale=False))


def test_every_row_of_compatibility_covers_a_difference() -> None:
    report = run(load_folder(VECTORS, LOADERS), ADAPTERS, deviations())
    assert [f"{row.source} {row.pattern}" for row in report.stale] == []


def test_every_row_of_compatibility_names_a_test_that_exists() -> None:
    folders = (ROOT / "tests", *ROOT.glob("packages/*/tests"))
    sources = (path for folder in folders for path in folder.rglob("test_*.py"))
    known = set(re.findall(r"def (test_\w+)", "\n".join(map(Path.read_text, sources))))
    text = "\n".join(path.read_text(encoding="utf-8") for path in compatibility_files())
    assert sorted({row.test for row in deviations()} - known) == []
    mentioned = set(re.findall(r"`(test_\w+)`", text))
    assert sorted(mentioned - known) == []


# --- the comparison can fail -------------------------------------------------------------------


def test_each_area_has_an_expectation_to_change() -> None:
    assert set(EXPECTATIONS) == set(ADAPTERS)


@pytest.mark.parametrize(("area", "place"), MUTATIONS)
def test_a_wrong_expectation_is_a_failure(area: str, place: str) -> None:
    # Not in every case: of a V1 card, say, the extensions are not compared.
    wrong = [
        Case(case.area, case.id, fields)
        for case in cases_of(area)
        if case.id in passing(area)
        and change(fields := deepcopy(dict(case.fields)), place.split("/"))
    ]
    assert wrong != []
    assert not all(map(passes, wrong))


def passes(case: Case) -> bool:
    adapter = adapter_of(case.area, ADAPTERS)
    assert adapter is not None
    result = judge(case, adapter, (), set())
    return not result.failures and not result.not_compared


def change(node: Any, path: list[str]) -> bool:
    """Change the value at a place; False where there is none."""
    name, *rest = path
    if name.startswith("!"):
        return change_text(node, name[1:], rest)
    key = key_of(node, name)
    if key is None or (rest and not isinstance(node[key], dict | list)):
        return False
    if rest:
        return change(node[key], rest)
    node[key] = other(node[key])
    return True


def key_of(node: Any, name: str) -> str | int | None:
    """Find the key or index that a name means; None where the node has none such."""
    keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
    return next((key for key in keys if str(key) == name), None)


def change_text(node: Any, key: str, rest: list[str]) -> bool:
    if not isinstance(node, dict) or key not in node:
        return False
    try:
        document = json.loads(node[key])
    except ValueError:
        return False
    changed = isinstance(document, dict) and change(document, rest)
    node[key] = json.dumps(document)
    return changed


def other(value: Any) -> Any:
    """Give another value of the same type, or a number in place of nothing."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, list):
        return [*value, "x"]
    if isinstance(value, dict):
        return {**value, "x": 1}
    return 7 if value is None else f"{value}x"


RECOMMENDING = sorted({area for area in ADAPTERS for case in cases_of(area) if case.recommended})


@pytest.mark.parametrize("area", RECOMMENDING)
@pytest.mark.parametrize("words", ["error", "fnord", "ok + line number + lossy"])
def test_a_wrong_recommendation_is_a_failure(area: str, words: str) -> None:
    accepted = (case for case in cases_of(area) if re.match("ok|same", case.recommended or ""))
    case = next(case for case in accepted if passes(case) and passes(with_words(case, "accept")))
    assert not passes(with_words(case, words))


def with_words(case: Case, words: str) -> Case:
    return Case(case.area, case.id, {**case.fields, "recommended": words})


@pytest.mark.parametrize("area", ["formats/card_json", "formats/card_png", "formats/charx"])
def test_accepting_what_should_be_refused_is_a_failure(area: str) -> None:
    refused = [case for case in cases_of(area) if passes(with_words(case, "error"))]
    assert len(refused) > 2
    assert [case.id for case in refused if passes(with_words(case, "accept"))] == []


def test_a_deviation_without_its_row_is_a_failure() -> None:
    report = run(load_folder(VECTORS, LOADERS), ADAPTERS, ())
    with_rows = run(load_folder(VECTORS, LOADERS), ADAPTERS, deviations())
    deviating = {result.case_id for area in with_rows.areas for result in area.results
                 if result.deviates}  # fmt: skip
    failing = {result.case_id for area in report.areas for result in area.failed}
    assert deviating
    assert failing == deviating


# --- the runner --------------------------------------------------------------------------------


def picky(case: Case, findings: Findings) -> None:
    findings.same("value", case.fields["ours"], case.fields["theirs"])


def sample(case_id: str, ours: object, theirs: object) -> Case:
    return Case("a/b", case_id, {"ours": ours, "theirs": theirs})


def report_lines(*cases: Case | Unreadable, rows: tuple[Deviation, ...] = ()) -> list[str]:
    report = run(cases, {"a/b": picky}, rows)
    return list(lines_of(report, with_stale=True))


def test_a_failure_is_shown_with_its_place_and_both_values() -> None:
    assert report_lines(sample("b/1", {"k": [1]}, {"k": [2]}), sample("b/2", 1, 1.0)) == [
        "a/b: 1/2",
        "  FAILED b/1",
        "    value/k/0: 1, not 2",
        "1 passed, 1 failed",
    ]


def test_a_row_covers_the_difference_it_names_and_no_other() -> None:
    case = sample("b/1", {"k": 1, "m": 1}, {"k": 2, "m": 2})
    rows: tuple[Deviation, ...] = (Deviation("b/*#value/k", "f:1", "test_x"),)
    lines = report_lines(case, rows=rows)
    assert lines == ["a/b: 0/1", "  FAILED b/1", "    value/m: 1, not 2", "0 passed, 1 failed"]
    rows = (*rows, Deviation("b/*#value/m", "f:2", "test_x"), Deviation("c/*", "f:3", "test_x"))
    assert report_lines(case, rows=rows) == [
        "a/b: 1/1, deviations: b/1",
        "stale: f:3 `c/*` matches no difference any more",
        "1 passed, 0 failed",
    ]


def test_what_has_no_adapter_is_reported_and_does_not_count() -> None:
    lines = report_lines(Case("x/y", "y/1", {}), Case("x/y", "y/2", {}), Unreadable("x/z", "odd"))
    assert lines == [
        "x/y: no adapter (2 cases)",
        "x/z: no adapter (1 file)",
        "0 passed, 0 failed",
    ]


def test_a_file_that_cannot_be_read_is_a_failure() -> None:
    lines = report_lines(Unreadable("a/b", "KeyError: 'cases'"))
    assert lines == ["a/b: unreadable (KeyError: 'cases')", "0 passed, 1 failed"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (True, 1),
        (None, 0),
        ({"a": None}, {}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1], [1, 2]),
        ("1", 1),
        ({}, []),
        (2**53, 2**53 + 1),
    ],
)
def test_values_that_json_tells_apart_are_different(ours: object, theirs: object) -> None:
    findings = Findings()
    findings.same("x", ours, theirs)
    assert findings.found


def rows_in(folder: Path, *lines: str) -> Iterator[Deviation]:
    head = ["| case | oracle says | we do | reason | test |", "|---|---|---|---|---|"]
    path = folder / "COMPATIBILITY.md"
    path.write_text("\n".join((*head, *lines)), encoding="utf-8")
    return iter(read_deviations([path]))


def test_one_row_may_hold_several_patterns(tmp_path: Path) -> None:
    rows = rows_in(tmp_path, "| `a/*`, `b/1#st` | x | y | z | t |", "", "| `c` | | |")
    assert [row.pattern for row in rows] == ["a/*", "b/1#st"]


@pytest.mark.parametrize("line", ["| `a` | x | y | z |", "| a | x | y | z | t |"])
def test_a_row_that_cannot_be_read_is_an_error(tmp_path: Path, line: str) -> None:
    with pytest.raises(BadTableError, match=r"COMPATIBILITY\.md:3"):
        rows_in(tmp_path, line)


@pytest.mark.parametrize("words", ["", "ok; fnord", "error fnord", "diagnosis"])
def test_words_that_no_phrase_has_cannot_be_parsed(words: str) -> None:
    if not words:
        assert parse_recommended(words).groups == parse_recommended("ok").groups
        return
    with pytest.raises(UnknownWordsError):
        parse_recommended(words)


def test_one_alternative_of_each_group_must_hold() -> None:
    accepted = View(Outcome(), None)
    faults = {
        words: list(parse_recommended(words).faults(accepted))
        for words in ("error or accept", "error; accept", "accept? error", "error/hint")
    }
    assert [len(found) for found in faults.values()] == [0, 1, 0, 1]


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    run_module = [sys.executable, "-m", "tests.conformance", *arguments]
    env = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    return subprocess.run(run_module, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_the_command_ends_in_the_sum_from_any_folder(tmp_path: Path) -> None:
    done = command("--vectors", "tests/vectors", "--area", "wi_keys", cwd=tmp_path)
    count = len(cases_of("formats/wi_keys"))
    wanted = [f"formats/wi_keys: {count}/{count}", f"{count} passed, 0 failed"]
    assert (done.returncode, done.stdout.splitlines()) == (0, wanted)


def test_the_command_fails_with_a_case(tmp_path: Path) -> None:
    folder = tmp_path / "formats"
    folder.mkdir()
    cases = [{"id": "wi_keys/1", "recommended": "same", "input_text": '"a,b"',
              "oracles": {"st_splitKeywordsAndRegexes": {"result": ["a"]}}}]  # fmt: skip
    (folder / "wi_keys.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")
    done = command("--vectors", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"
