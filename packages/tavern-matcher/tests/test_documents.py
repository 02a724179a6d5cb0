"""What the documents say holds: the example of the README, the rows of COMPATIBILITY.md."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
README = (PACKAGE / "README.md").read_text(encoding="utf-8")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\|(?P<subject>[^|]+)\|.*\|(?P<cases>[^|]+)\|$", re.MULTILINE)


def test_example_builds_matches_and_explains_in_twenty_lines() -> None:
    (code, printed) = [body for _, body in _FENCE.findall(README)][:2]
    assert len(code.splitlines()) <= 20
    assert all(f"wi.{name}(" in code for name in ("compile_index", "match"))
    assert "wi.explain" in code
    command = [sys.executable, "-X", "utf8", "-W", "error", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (run.stderr, run.stdout) == ("", printed)


def _rows(heading: str) -> list[tuple[str, str]]:
    text = (PACKAGE / "COMPATIBILITY.md").read_text(encoding="utf-8")
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [(row["subject"].strip(), row["cases"].strip()) for row in _ROW.finditer(section)]
    return [row for row in rows if row[0] != "subject" and set(row[0]) - set("-")]


@pytest.mark.parametrize(("subject", "cases"), _rows("What `safe` repairs"))
def test_every_repair_is_shown_by_a_case(subject: str, cases: str) -> None:
    """Both profiles are in a case: one that gives both the same shows no repair."""
    if cases.startswith("`test_"):
        tests = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("tests/*.py"))
        assert f"def {cases.strip('`')}(" in tests
        return
    known = {
        case["name"]: case
        for case in json.loads(
            (PACKAGE / "tests" / "cases" / "profiles.json").read_text(encoding="utf-8")
        )
    }
    for name in cases.split("; "):
        case = known[name]
        exact, repaired = (
            (case[profile], case.get(f"{profile} aborted")) for profile in ("st-1.19", "safe")
        )
        assert exact != repaired, subject


def test_rows_are_read() -> None:
    assert len(_rows("What `safe` repairs")) > 10
