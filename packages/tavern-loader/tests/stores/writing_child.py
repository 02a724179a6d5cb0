"""Writes to the stores of a folder as one of several processes.

Usage: python writing_child.py FOLDER NAME ROUNDS. Every round binds a session of its own and counts
one up in a place that all writers share. 0 rounds: without an end.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

from tavern_loader.domain.selection import Selection
from tavern_loader.installation import open_installation


def count_up(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"count": document.get("count", 0) + 1}


def main(root: Path, name: str, rounds: int) -> None:
    opened = open_installation(root)
    for number in range(rounds) if rounds else itertools.count():
        opened.library.set_selection(f"{name}-{number}", Selection(preset_id=f"{name}-{number}"))
        opened.stores.extras.change(count_up)
        if not rounds:
            print(number, flush=True)  # noqa: T201 - says how far it came


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
