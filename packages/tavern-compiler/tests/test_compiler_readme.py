"""The README's examples print what the README says, and the first one stands on top."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES)
def test_example_prints_what_its_comments_say(code: str) -> None:
    command = [sys.executable, "-W", "error", "-X", "utf8", "-c", code]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    comments = [line[2:] for line in code.splitlines() if line.startswith("# ")]
    assert run.stdout.splitlines() == comments


def test_first_example_is_complete_within_twenty_lines() -> None:
    assert EXAMPLES[0] in "\n".join(TEXT.splitlines()[:20])
