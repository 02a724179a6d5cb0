"""The rows of COMPATIBILITY.md: where a package differs on purpose, case by case.

A table counts when its head names these five columns: case, oracle says, we do, reason, test. The
first cell is one or more patterns in code marks, separated by commas: `png_write/*` for whole
cases, `png_write/empty-*#st` for one kind of difference only (see `Finding.place`).
"""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from attrs import frozen

from tests.conformance._findings import Finding

_HEAD = ["case", "oracle says", "we do", "reason", "test"]
_CODE = re.compile(r"`([^`]+)`")
_CELL_END = re.compile(r"(?<!\\)\|")


@frozen
class Deviation:
    """One pattern of one row."""

    pattern: str
    source: str
    """File and line of the row."""
    test: str
    """Name of the test that pins what is done instead."""

    def covers(self, case_id: str, finding: Finding) -> bool:
        """Tell whether a difference of a case is meant."""
        cases, mark, places = self.pattern.partition("#")
        return fnmatchcase(case_id, cases) and (not mark or fnmatchcase(finding.place, places))


class BadTableError(ValueError):
    """A row of COMPATIBILITY.md cannot be read."""


def read_deviations(paths: Iterable[Path]) -> tuple[Deviation, ...]:
    """Collect the rows of all files. Raises BadTableError, with file and line."""
    return tuple(row for path in paths for row in _rows(path))


def _rows(path: Path) -> Iterator[Deviation]:
    inside = False
    name = f"{path.parent.name}/{path.name}"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        cells = _cells(line)
        if not cells:
            inside = False
        elif [cell.lower() for cell in cells] == _HEAD:
            inside = True
        elif inside and not set("".join(cells)) <= set("-: "):
            yield from _deviations(cells, f"{name}:{number}")


def _cells(line: str) -> list[str]:
    line = line.strip()
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(line.strip("|"))]


def _deviations(cells: list[str], source: str) -> Iterator[Deviation]:
    patterns = _CODE.findall(cells[0])
    if len(cells) != len(_HEAD) or not all(cells) or not patterns:
        message = f"{source}: five filled cells are needed, the first with a `case` in code marks"
        raise BadTableError(message)
    for pattern in patterns:
        yield Deviation(pattern, source, cells[-1].strip("`"))
