"""Run the conformance cases: `python -m tests.conformance [--vectors DIR] [--area NAME]`.

Prints one line for each area, every unexpected difference, and at last `N passed, N failed`. Exit
status 1 when a case failed, 2 when there is nothing to run.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.conformance._cases import Case, Unreadable, load_folder
from tests.conformance._deviations import read_deviations
from tests.conformance._registry import ADAPTERS, LOADERS
from tests.conformance._runner import lines_of, run

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    folder: Path = options.vectors
    if not folder.is_dir() and not folder.is_absolute():
        folder = ROOT / folder
    cases = list(_of_area(load_folder(folder, LOADERS), options.area))
    if not cases:
        print(f"no cases in {folder}", file=sys.stderr)  # noqa: T201
        return 2
    report = run(cases, ADAPTERS, read_deviations(compatibility_files()))
    standard = folder.resolve() == VECTORS.resolve() and options.area is None
    for line in lines_of(report, with_stale=standard):
        print(line.encode("utf-8", "backslashreplace").decode())  # noqa: T201
    return 1 if report.failed_count else 0


def compatibility_files() -> list[Path]:
    """List the packages' COMPATIBILITY.md."""
    return sorted(ROOT.glob("packages/*/COMPATIBILITY.md"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--vectors", metavar="DIR", type=Path, default=VECTORS)
    parser.add_argument("--area", metavar="NAME", help="`formats`, `formats/charx` or `charx`")
    return parser


def _of_area(cases: Iterable[Case | Unreadable], wanted: str | None) -> Iterator[Case | Unreadable]:
    for case in cases:
        if wanted is None or wanted in (case.area, *case.area.split("/")):
            yield case


if __name__ == "__main__":
    sys.exit(main())
