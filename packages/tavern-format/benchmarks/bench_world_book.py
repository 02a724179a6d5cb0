"""How much parsing a large world book costs over `json.loads` of the same bytes.

Run as a script. Both run alternately in one process and the medians are compared. Goals: at most
2.5 times the time of `json.loads`, and a peak of at most 3 times the memory of the decoded JSON.
"""

import json
import tracemalloc

from _timing import Action, interleaved, print_ratios

from tavern_format import parse_world_book
from tavern_format._entry_spellings import TEMPLATE

ENTRIES = 10_000
ROUNDS = 21


def book() -> bytes:
    entries = {
        str(uid): {
            "uid": uid,
            **TEMPLATE,
            "key": [f"key{uid}", f"other words {uid}"],
            "comment": f"Entry {uid}",
            "content": f"A short text about the {uid}th thing.",
            "displayIndex": uid,
        }
        for uid in range(ENTRIES)
    }
    return json.dumps({"entries": entries}).encode()


def entries_made(data: bytes) -> int:
    return sum(1 for _ in parse_world_book(data).value.entries)


def time_ratios(data: bytes) -> None:
    actions: dict[str, Action] = {
        "json.loads": lambda: json.loads(data),
        "parse_world_book": lambda: parse_world_book(data),
        "and every entry made": lambda: entries_made(data),
    }
    print(f"{ENTRIES:,} full entries, {len(data):,} bytes, {ROUNDS} rounds")
    print_ratios(interleaved(actions, ROUNDS))


def memory_ratio(data: bytes) -> None:
    tracemalloc.start()
    decoded = json.loads(data)
    base_bytes = tracemalloc.get_traced_memory()[0]
    del decoded
    before_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    assert entries_made(data) == ENTRIES
    peak_bytes = tracemalloc.get_traced_memory()[1] - before_bytes
    tracemalloc.stop()
    print(f"  peak memory, every entry made: {peak_bytes / base_bytes:.2f} x the decoded JSON")


def main() -> None:
    data = book()
    time_ratios(data)
    memory_ratio(data)


if __name__ == "__main__":
    main()
