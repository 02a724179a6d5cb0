"""Reads the marked commands and the code of a README.

Uses the standard library only: `.ci/run` asks it for the command that README.md tells a newcomer,
`python3 tests/_readme.py test-command`, before anything is installed.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str, *languages: str) -> list[str]:
    """List the code blocks of some languages, in order."""
    return [body for language, body in _FENCE.findall(text) if language in languages]


def marked(text: str, mark: str) -> str:
    """Return the one line of the code block that follows `<!-- mark -->`.

    Raises ValueError unless there is one such mark, and right behind it one block of one line.
    """
    before, *behind = text.split(f"<!-- {mark} -->\n")
    if len(behind) != 1:
        raise ValueError(f"{len(behind)} marks {mark}, not one, after {len(before)} characters")
    block = _FENCE.match(behind[0].lstrip())
    lines = block[2].splitlines() if block else []
    if len(lines) != 1:
        raise ValueError(f"{mark} marks {len(lines)} lines, not one")
    return lines[0]


if __name__ == "__main__":
    print(marked(README.read_text(encoding="utf-8"), sys.argv[1]))  # noqa: T201
