"""Run cases through their adapters and say what came of it. Knows no area by name."""

import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from attrs import Factory, define, frozen

from tests.conformance._cases import Case, Unreadable
from tests.conformance._deviations import Deviation
from tests.conformance._findings import Finding, Findings, NotComparable

Adapter = Callable[[Case, Findings], None]
"""Compares one case; notes differences, raises NotComparable where there is nothing to compare."""


@frozen
class Result:
    """What came of one case."""

    case_id: str
    failures: tuple[Finding, ...] = ()
    deviates: bool = False
    """True: there are differences, and each is a row of COMPATIBILITY.md."""
    not_compared: str = ""
    """Why there was nothing to compare."""


@define
class AreaReport:
    """All results of one area."""

    area: str
    results: list[Result] = Factory(list)
    problem: str = ""
    """Why the area was not run at all."""

    @property
    def compared(self) -> list[Result]:
        """The results that count."""
        return [result for result in self.results if not result.not_compared]

    @property
    def failed(self) -> list[Result]:
        """The unexpected ones."""
        return [result for result in self.results if result.failures]


@frozen
class Report:
    """The whole run, areas in the order of the files."""

    areas: tuple[AreaReport, ...]
    stale: tuple[Deviation, ...]
    """Rows that no difference matched."""

    @property
    def passed_count(self) -> int:
        """Cases without an unexpected difference."""
        return sum(len(area.compared) - len(area.failed) for area in self.areas)

    @property
    def failed_count(self) -> int:
        """Cases with one, and files that cannot be read."""
        unreadable = sum(area.problem.startswith("unreadable") for area in self.areas)
        return sum(len(area.failed) for area in self.areas) + unreadable


def run(
    cases: Iterable[Case | Unreadable],
    adapters: Mapping[str, Adapter],
    deviations: Sequence[Deviation],
) -> Report:
    """Run every case that has an adapter."""
    reports: dict[str, AreaReport] = {}
    used: set[Deviation] = set()
    waiting: dict[str, int] = defaultdict(int)
    for case in cases:
        report = reports.setdefault(case.area, AreaReport(case.area))
        adapter = adapter_of(case.area, adapters)
        expected = adapter is not None or (isinstance(case, Unreadable) and case.known)
        if not expected:
            waiting[case.area] += 1
            unit = "file" if isinstance(case, Unreadable) else "cases"
            report.problem = f"no adapter ({waiting[case.area]} {unit})"
        elif isinstance(case, Unreadable):
            report.problem = f"unreadable ({case.reason})"
        elif adapter is not None:
            report.results.append(judge(case, adapter, deviations, used))
    stale = tuple(row for row in deviations if row not in used)
    return Report(tuple(reports.values()), stale)


def adapter_of(area: str, adapters: Mapping[str, Adapter]) -> Adapter | None:
    """Find the adapter of an area by its name, or else by a pattern such as `world_info/*`."""
    named = adapters.get(area)
    patterns = (one for pattern, one in adapters.items() if fnmatchcase(area, pattern))
    return named or next(patterns, None)


def judge(
    case: Case, adapter: Adapter, deviations: Sequence[Deviation], used: set[Deviation]
) -> Result:
    """Run one case. A difference that a row covers is expected; `used` collects the rows."""
    findings = Findings()
    try:
        adapter(case, findings)
    except NotComparable as verdict:
        return Result(case.id, not_compared=str(verdict))
    except Exception:  # noqa: BLE001 - whatever it is, it is this case's failure
        findings.add("exception", traceback.format_exc(limit=-3).strip())
    failures = []
    for finding in findings.found:
        rows = [row for row in deviations if row.covers(case.id, finding)]
        used.update(rows)
        if not rows:
            failures.append(finding)
    return Result(case.id, tuple(failures), deviates=bool(findings.found) and not failures)


def lines_of(report: Report, *, with_stale: bool) -> Iterator[str]:
    """Write the report: a line for each area, what failed under it, and the sum."""
    for area in report.areas:
        yield _area_line(area)
        for result in area.failed:
            yield f"  FAILED {result.case_id}"
            for finding in result.failures:
                yield from _finding_lines(finding)
    if with_stale:
        for row in report.stale:
            yield f"stale: {row.source} `{row.pattern}` matches no difference any more"
    yield f"{report.passed_count} passed, {report.failed_count} failed"


def _area_line(area: AreaReport) -> str:
    if area.problem:
        return f"{area.area}: {area.problem}"
    line = f"{area.area}: {len(area.compared) - len(area.failed)}/{len(area.compared)}"
    deviating = [result.case_id for result in area.results if result.deviates]
    if deviating:
        line += f", deviations: {', '.join(deviating)}"
    skipped: dict[str, list[str]] = defaultdict(list)
    for result in area.results:
        if result.not_compared:
            skipped[result.not_compared].append(result.case_id)
    for reason, ids in skipped.items():
        line += f", not compared ({reason}): {', '.join(ids)}"
    return line


def _finding_lines(finding: Finding) -> Iterator[str]:
    first, *rest = finding.text.splitlines() or [""]
    yield f"    {finding.place}: {first}"
    for line in rest:
        yield f"      {line}"
