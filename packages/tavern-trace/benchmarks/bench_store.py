"""How long a store takes: 256 records of 2 MiB one after another, then loading, listing, reading.

Run by `nox -s bench -- tavern-trace`. Prints processor time, which other work on the machine does
not change much, and fails if a limit is exceeded.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from attrs import evolve

from tavern_trace import (
    AssembledText,
    Capture,
    CaptureIdentity,
    OfficialAssembly,
    OwnPart,
    SourceText,
    StoreLimits,
    TraceRecord,
    TraceStore,
    begin,
    dump_record,
    dump_store,
    index_document,
    json_stringify,
    load_store,
    open_store,
    put,
)

T = TypeVar("T")
MIB = 1024 * 1024
RECORDS = 256
PART_TEXT = "The lantern burns blue over the harbour. 灯笼在港口上空燃着蓝光。 🦊 " * 4


def main() -> None:
    """Time what a plugin does with its store."""
    large = list(records(2 * MIB))
    print(f"{RECORDS} records of {len(dump_record(large[0])) / MIB:.2f} MiB, default limits:")
    store = filled(large)
    say("kept", f"{len(store.rows)} records, {store.size_bytes / MIB:.2f} MiB")
    assert store.size_bytes <= store.limits.total_bytes
    timed_reading(store)

    print(f"{RECORDS} records of {len(dump_record(large[0])) / MIB:.2f} MiB, highest limits:")
    store = filled(large, StoreLimits(record_bytes=4 * MIB, total_bytes=32 * MIB))
    say("kept", f"{len(store.rows)} records, {store.size_bytes / MIB:.2f} MiB")
    timed_reading(store)

    small = list(records(16 * MIB // RECORDS))
    print(f"{RECORDS} records of {len(dump_record(small[0])) / 1024:.0f} KiB, default limits:")
    store = filled(small)
    say("kept", f"{len(store.rows)} records, {store.size_bytes / MIB:.2f} MiB")
    assert len(store.rows) == RECORDS
    timed_reading(store)


def records(size_bytes: int) -> Iterator[TraceRecord]:
    """Make records just below a size; they differ in id, turn and time."""
    sample_parts = size_bytes // 2048
    per_part = len(dump_record(record_of(sample_parts))) / sample_parts
    model = record_of(int(0.985 * size_bytes / per_part))
    assert 0.95 * size_bytes < len(dump_record(model)) <= size_bytes
    for number in range(RECORDS):
        began = model.recorded_at_ms + number
        yield evolve(model, id=f"record-{number:04}", turn=number, recorded_at_ms=began)


def record_of(parts: int) -> TraceRecord:
    own = tuple(
        OwnPart(
            name=f"pmp-dsh-tavern:part:{at:04}:worldbook:content",
            text=f"{at} {PART_TEXT}",
            sources=(
                SourceText(
                    kind="worldbook",
                    resource_id="world-book-0123456789abcdef",
                    field="content",
                    text=PART_TEXT,
                    entry_id=f"{at:06}",
                    qualified_entry_id=f"world-book-0123456789abcdef:{at:06}",
                ),
            ),
        )
        for at in range(parts)
    )
    texts = tuple(AssembledText(name=part.name, text=part.text) for part in own)
    identity = CaptureIdentity(
        record_id="record-0000",
        session_id="session",
        turn=0,
        step=1,
        attempt=1,
        at_ms=1_764_500_000_000,
    )
    assembly = OfficialAssembly(sections=texts)
    return begin(Capture(identity=identity, assembly=assembly, own_parts=own))


def filled(found: list[TraceRecord], limits: StoreLimits | None = None) -> TraceStore:
    """Put all records, one after another, each with its eviction."""
    store = TraceStore(limits=limits or StoreLimits())
    slowest = 0.0
    start = time.process_time()
    for record in found:
        before = time.process_time()
        store = put(store, record)
        slowest = max(slowest, time.process_time() - before)
        assert store.size_bytes <= store.limits.total_bytes
    mean = (time.process_time() - start) / len(found)
    say("put and evict", f"{mean * 1000:.0f} ms each, slowest {slowest * 1000:.0f} ms")
    return store


def timed_reading(store: TraceStore) -> None:
    data = timed("write the document", lambda: dump_store(store))
    loaded = timed("load", lambda: load_store(data, store.limits))
    assert loaded == store
    with peak() as used:
        load_store(data, store.limits)
    say("peak while loading", f"{used[0] / MIB:.0f} MiB above the file")
    assert timed("open", lambda: open_store(data, store.limits)) == store
    with peak() as used:
        open_store(data, store.limits)
    say("peak while opening", f"{used[0] / MIB:.0f} MiB above the file")
    index = timed("index", lambda: index_document(loaded, "session"))
    assert len(index["records"]) == len(store.rows)
    timed("index as JSON", lambda: json_stringify(index))


def timed(name: str, work: Callable[[], T]) -> T:
    start = time.process_time()
    result = work()
    say(name, f"{(time.process_time() - start) * 1000:.1f} ms")
    return result


@contextmanager
def peak() -> Iterator[list[int]]:
    """Measure memory in a run of its own: tracing makes it slow."""
    found = [0]
    tracemalloc.start()
    try:
        yield found
    finally:
        found[0] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def say(name: str, value: str) -> None:
    print(f"  {name:20}{value}")


if __name__ == "__main__":
    main()
