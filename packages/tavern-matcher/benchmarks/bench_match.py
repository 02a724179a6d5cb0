"""How fast the matcher is, against fast-tavern and, where Node and it are there, SillyTavern.

Run as a script. All engines run in turn in one process run, on the same books and chats with every
feature on, and the medians are compared. What takes milliseconds is timed several times a round:
on a busy machine one such time says little. SillyTavern is the real engine of its npm package, as
`python -m tests.oracle` installs it; what it activates, the matcher must activate. Exit status 1
when a target is missed.
"""

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from attrs import define, evolve, field

sys.path.insert(0, str(Path(__file__).parents[3]))

from _workloads import Workload, cold, one_new_message, workloads

from tavern_format import parse_world_book
from tavern_matcher import (
    Index,
    MatchResult,
    MatchSettings,
    NamedBook,
    ScanCache,
    ScanContext,
    ScanMessage,
    compile_index,
    match,
)
from tests.oracle._real import OracleUnavailableError, RealEngine, installed, node

# It brings no types, and is there only where the benchmarks run.
fast_tavern: Any = import_module("fast_tavern")

SIZES = (100, 1000, 10_000, 100_000)
MOST_BUILD_RATIO = 3.5
"""To `json.loads` of the same book: 250 ms where that takes 72 ms."""
_CONTEXT_TOKENS = 10_000_000
_MEMORY = "--memory"
_SAMPLES = 5
"""Times the matcher is timed in each turn."""


# --- the matcher ------------------------------------------------------------------------------


def context_of(texts: Sequence[str]) -> ScanContext:
    messages = tuple(
        ScanMessage(identity=str(at), speaker="User", text=text) for at, text in enumerate(texts)
    )
    return ScanContext(messages=messages, context_size_tokens=_CONTEXT_TOKENS)


def index_of(work: Workload) -> Index:
    settings = MatchSettings(
        scan_depth_messages=work.depth_messages,
        budget_percent=100,
        recursive=True,
        match_whole_words=True,
        use_group_scoring=True,
    )
    books = [
        NamedBook(name=f"book{at}", book=parse_world_book(data).value)
        for at, data in enumerate(work.as_files())
    ]
    return compile_index(books, settings)


def quarter(text: str) -> int:
    return -(-len(text) // 4)


def scan(index: Index, context: ScanContext, cache: ScanCache | None = None) -> MatchResult:
    return match(index, context, dice=lambda _: 0.5, count_tokens=quarter, cache=cache)


def time_matcher(work: Workload) -> tuple[float, int]:
    """Time one scan with a new index, so that nothing is known but what the work says."""
    index = index_of(work)
    if work.new_message is not None:
        scan(index, context_of(work.messages))
    context = context_of(work.all_messages)
    start = perf_counter()
    result = scan(index, context)
    return (perf_counter() - start) * 1e3, len(result.activated)


# --- the others -------------------------------------------------------------------------------


def fast_tavern_params(work: Workload) -> dict[str, Any]:
    book = fast_tavern.convert_worldbook_from_silly_tavern(json.loads(work.as_file()))
    text = "\n".join(work.all_messages[-work.depth_messages :])
    options = {"recursionLimit": work.recursion_limit, "rng": lambda: 0.5}
    return {"contextText": text, "globalEntries": book["entries"], "options": options}


def time_fast_tavern(params: dict[str, Any]) -> float:
    start = perf_counter()
    fast_tavern.get_active_entries(params)
    return (perf_counter() - start) * 1e3


def real_engine(stack: ExitStack) -> RealEngine | None:
    """Start SillyTavern; say why where it is not there."""
    package = installed()
    if package is None:
        print("SillyTavern is not installed: `python -m tests.oracle` does that")
        return None
    try:
        node()
    except OracleUnavailableError as fault:
        print(fault)
        return None
    return stack.enter_context(RealEngine(package))


# --- the comparison ---------------------------------------------------------------------------


@define
class Table:
    """Times of every engine, printed as they come."""

    missed: list[str] = field(factory=list)

    def row(self, work: Workload, real: RealEngine | None) -> None:
        """Time one piece of work with every engine, in turn."""
        params = fast_tavern_params(work)
        case = work.as_case()
        # What the workloads and the other engines hold is not the matcher's to look through.
        gc.collect()
        gc.freeze()
        times: dict[str, list[float]] = {"ours": [], "fast-tavern": [], "SillyTavern": []}
        for _ in range(work.rounds):
            for _ in range(_SAMPLES):
                milliseconds, activated = time_matcher(work)
                times["ours"].append(milliseconds)
            times["fast-tavern"].append(time_fast_tavern(params))
            if real is not None:
                samples, expected = real.time(case, 1)
                times["SillyTavern"] += samples
                assert activated == expected, f"{work.name}: {activated}, not {expected} activated"
        gc.unfreeze()
        self._print(work, {name: median(taken) for name, taken in times.items() if taken})

    def _print(self, work: Workload, times_ms: dict[str, float]) -> None:
        ours = times_ms.pop("ours")
        line = f"  {work.name:58} {ours:9.2f} ms"
        for name, taken in times_ms.items():
            line += f" | {name} {taken:9.1f} ms {taken / ours:7.0f}x"
        if work.least_ratio is not None and "SillyTavern" in times_ms:
            ratio = times_ms["SillyTavern"] / ours
            met = ratio >= work.least_ratio
            line += f" | target {work.least_ratio:.0f}x {'met' if met else 'MISSED'}"
            if not met:
                self.missed.append(work.name)
        print(line, flush=True)


def show_growth() -> None:
    """Show that cost grows with text and hits, not with entries times text."""
    print("entries: nothing cached, one new message, same again (ms, median of 5)")
    for size in SIZES:
        work = one_new_message(size)
        index = index_of(work)
        context = context_of(work.all_messages)
        # What an index works out when it is first used is timed above, not here.
        scan(index, context, ScanCache())
        columns = [median(samples) for samples in zip(*_growth(index, context), strict=True)]
        print(f"  {size:>9,} " + " ".join(f"{value:9.2f}" for value in columns), flush=True)


def _growth(index: Index, context: ScanContext) -> Iterator[tuple[float, float, float]]:
    older = evolve(context, messages=context.messages[:-1])
    for _ in range(5):
        primed = ScanCache()
        scan(index, older, primed)
        yield (
            _scan_ms(index, context, ScanCache()),
            _scan_ms(index, context, primed),
            _scan_ms(index, context, primed),
        )


def _scan_ms(index: Index, context: ScanContext, cache: ScanCache) -> float:
    start = perf_counter()
    scan(index, context, cache)
    return (perf_counter() - start) * 1e3


def show_build() -> list[str]:
    """Show what an index costs, against reading the same book as JSON."""
    work = cold(10_000)
    data = work.as_file()
    settings = MatchSettings(recursive=True, match_whole_words=True)

    def build() -> object:
        return compile_index([NamedBook(name="book", book=parse_world_book(data).value)], settings)

    actions: dict[str, Callable[[], object]] = {
        "json.loads": lambda: json.loads(data),
        "parse_world_book": lambda: parse_world_book(data),
        "parse_world_book and compile_index": build,
    }
    times: dict[str, list[float]] = {name: [] for name in (*actions, "compile_index alone")}
    for _ in range(7):
        for name, action in actions.items():
            start = perf_counter()
            action()
            times[name].append((perf_counter() - start) * 1e3)
        book = parse_world_book(data).value
        start = perf_counter()
        compile_index([NamedBook(name="book", book=book)], settings)
        times["compile_index alone"].append((perf_counter() - start) * 1e3)
    base = median(times["json.loads"])
    print(f"index of 10,000 full entries, {len(data):,} bytes")
    for name, taken in times.items():
        print(f"  {name:36} {median(taken):7.1f} ms {median(taken) / base:6.2f} x json.loads")
    ratio = median(times["compile_index alone"]) / base
    return [] if ratio <= MOST_BUILD_RATIO else [f"index built in {ratio:.1f} x json.loads"]


def show_memory() -> None:
    """Show what index and cache hold; what is not Python's shows in the resident size only."""
    work = cold(10_000)
    data = work.as_file()
    book = parse_world_book(data).value
    for _ in book.entries:
        pass
    tracemalloc.start()
    resident = _resident_bytes()
    index = compile_index([NamedBook(name="book", book=book)], MatchSettings(recursive=True))
    marks = [("index", tracemalloc.get_traced_memory()[0], _resident_bytes() - resident)]
    for count in (40, 2000, 20_000):
        texts = [f"{work.messages[at % 40]} {at}" for at in range(count)]
        for start in range(0, count, 40):
            scan(index, context_of(texts[start : start + 40]))
        size = tracemalloc.get_traced_memory()[0] - marks[0][1]
        marks.append((f"after {count:,} different messages", size, _resident_bytes() - resident))
    tracemalloc.stop()
    print(f"memory, the book itself ({len(data):,} bytes of JSON) not counted")
    for name, traced, grown in marks:
        resident_text = f", resident +{grown / 2**20:.1f} MiB" if grown else ""
        print(f"  {name:36} {traced / 2**20:7.1f} MiB of Python{resident_text}")


def _resident_bytes() -> int:
    """Read the resident size where the system tells it that way."""
    status = Path("/proc/self/statm")
    return int(status.read_text(encoding="ascii").split()[1]) * 4096 if status.exists() else 0


def main() -> int:
    if _MEMORY in sys.argv:
        show_memory()
        return 0
    table = Table()
    with ExitStack() as stack:
        real = real_engine(stack)
        print("work: this package | others, and how many times longer they take")
        for work in workloads():
            table.row(work, real)
    missed = [*table.missed, *show_build()]
    show_growth()
    # In a process of its own: here the memory that all engines used lies ready for reuse.
    subprocess.run([sys.executable, __file__, _MEMORY], check=True)  # noqa: S603 - this script
    for name in missed:
        print(f"MISSED: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
