"""Compare the matcher with SillyTavern itself: `python -m tests.oracle --cases N --seed S`.

First the recorded scans are run again by the real engine, which must give what was recorded: this
shows that the harness is sound. Then random cases are run on both sides and everything is compared
that the conformance run compares. A disagreement is printed as a small case with both results.

Exit status 0: all agree; 1: a case disagrees; 2: there is no Node 20 or newer, or no SillyTavern.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from attrs import define, field

from tests.conformance import world_info
from tests.conformance.__main__ import VECTORS, compatibility_files
from tests.conformance._cases import Case, load_folder
from tests.conformance._deviations import Deviation, read_deviations
from tests.conformance._findings import Finding
from tests.conformance._registry import LOADERS
from tests.conformance._runner import judge
from tests.oracle._generator import series
from tests.oracle._real import VERSION, OracleUnavailableError, RealEngine, install
from tests.oracle._shrink import shrink, telling

AREA = "world_info/random"
_SHOWN_DISAGREEMENTS = 5
_PROGRESS_S = 10

Json = dict[str, Any]


@define
class Comparison:
    """Runs both sides."""

    real: RealEngine
    deviations: Sequence[Deviation]
    agreed_count: int = 0
    disagreeing: list[str] = field(factory=list)

    def differences(self, given: Json) -> tuple[Json, tuple[Finding, ...]]:
        """Run a case on both sides; gives the real result and what differs from it."""
        expected = self.real.run(given)
        case = Case(AREA, given["id"], {**given, "expected": expected})
        return expected, judge(case, world_info.check, self.deviations, set()).failures

    def disagrees(self, given: Json) -> bool:
        """Tell whether a case differs."""
        return bool(self.differences(given)[1])

    def count(self, given: Json) -> tuple[Json, bool]:
        """Run a case and keep the score; gives the state that is left, and whether all is well."""
        expected, found = self.differences(given)
        if found:
            self.disagreeing.append(given["id"])
        else:
            self.agreed_count += 1
        return expected["timed_state_after"], not found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        with RealEngine(install()) as real:
            print(f"SillyTavern {VERSION} under Node {real.node_version}")  # noqa: T201
            if not _harness_is_sound(real):
                return 1
            return _compare(real, options)
    except OracleUnavailableError as fault:
        print(fault, file=sys.stderr)  # noqa: T201
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--cases", metavar="N", type=int, default=300, help="scans to compare")
    parser.add_argument("--seed", metavar="S", type=int, default=1)
    parser.add_argument("--only", metavar="NUMBER", type=int, help="one series of the seed")
    parser.add_argument("--all", action="store_true", help="go on after a few disagreements")
    parser.add_argument(
        "--save", metavar="FILE", type=Path, help="write small disagreeing cases as recorded ones"
    )
    return parser


def _harness_is_sound(real: RealEngine) -> bool:
    """Run the recorded scans again; what was recorded must come out."""
    recorded = [
        case
        for case in load_folder(VECTORS, LOADERS)
        if isinstance(case, Case) and case.area.startswith("world_info/")
    ]
    others = [case.id for case in recorded if real.run(case.fields) != case.fields["expected"]]
    same = len(recorded) - len(others)
    print(f"recorded scans that the real engine repeats: {same}/{len(recorded)}")  # noqa: T201
    for name in others:
        print(f"  not repeated: {name}")  # noqa: T201
    return not others


def _compare(real: RealEngine, options: argparse.Namespace) -> int:
    comparison = Comparison(real, read_deviations(compatibility_files()))
    start = shown = time.monotonic()
    saved: list[Json] = []
    for given in _cases(comparison, options):
        if len(saved) < _SHOWN_DISAGREEMENTS or options.all:
            saved.append(_report(comparison, given, sys.stdout))
        if len(comparison.disagreeing) >= _SHOWN_DISAGREEMENTS and not options.all:
            break
        if time.monotonic() - shown > _PROGRESS_S:
            shown = time.monotonic()
            print(f"... {comparison.agreed_count} agree", file=sys.stderr)  # noqa: T201
    if options.save is not None and saved:
        text = json.dumps(saved, indent=1) + "\n"
        options.save.write_text(text, encoding="utf-8")
    failed = len(comparison.disagreeing)
    took = time.monotonic() - start
    agreed = comparison.agreed_count
    print(f"seed {options.seed}: {agreed} agree, {failed} disagree ({took:.0f} s)")  # noqa: T201
    return 1 if failed else 0


def _cases(comparison: Comparison, options: argparse.Namespace) -> Iterator[Json]:
    """Run random cases until there are enough; yields those that disagree."""
    number = options.only or 0
    while comparison.agreed_count + len(comparison.disagreeing) < options.cases:
        turns = series(options.seed, number)
        given = next(turns)
        while True:
            state, agrees = comparison.count(given)
            if not agrees:
                yield given
                break
            try:
                given = turns.send(state)
            except StopIteration:
                break
        if options.only is not None:
            return
        number += 1


def _report(comparison: Comparison, given: Json, out: TextIO) -> Json:
    """Print a disagreement, as small as it gets; gives the case as a recorded one."""
    small = shrink(given, comparison.disagrees)
    expected, found = comparison.differences(small)
    print(f"DISAGREES {small['id']}", file=out)
    for finding in found:
        print(f"  {finding.place}: {finding.text}", file=out)
    # Half a surrogate pair cannot be printed as it is.
    shown = json.dumps(telling(small), ensure_ascii=False).encode("utf-8", "backslashreplace")
    print(f"  case: {shown.decode()}", file=out)
    return {**small, "expected": expected}


if __name__ == "__main__":
    sys.exit(main())
