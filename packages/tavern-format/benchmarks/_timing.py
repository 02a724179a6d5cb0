"""Times several actions alternately in one process: machines are noisy, ratios less so."""

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter

Action = Callable[[], object]


def interleaved(actions: Mapping[str, Action], rounds: int) -> dict[str, float]:
    """Run every action once a round, in order; give the median of each in seconds."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            start = perf_counter()
            action()
            times[name].append(perf_counter() - start)
    return {name: median(taken) for name, taken in times.items()}


def print_ratios(medians: Mapping[str, float]) -> None:
    """Print every median with its ratio to the first."""
    base_name, base_s = next(iter(medians.items()))
    for name, taken_s in medians.items():
        ratio = taken_s / base_s
        print(f"  {name:21} {taken_s * 1e3:9.3f} ms  {ratio:5.2f} x {base_name}")
