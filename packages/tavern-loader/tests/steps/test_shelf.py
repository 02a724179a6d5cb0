"""Records between two writings, and work that is done a moment later."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest
from attrs import define, field

from tavern_loader.adapters.background import Background
from tavern_loader.adapters.json_file import Storage
from tavern_loader.adapters.soon import Soon
from tavern_loader.adapters.stored_bytes import TRACE_RECORDS, StoredBytes
from tavern_loader.errors import StoreError
from tavern_loader.service.trace_shelf import MAX_UNWRITTEN, TraceShelf
from tavern_trace import (
    CaptureIdentity,
    TraceRecord,
    TraceStore,
    begin_failed,
    dump_store,
    load_store,
    put,
)


@define
class File:
    data: bytes | None = None
    is_full: bool = False
    is_unreadable: bool = False
    reads: int = 0
    writes: int = 0
    on_write: Callable[[], None] = field(default=lambda: None)

    def revision(self) -> object:
        return None if self.data is None else (self.writes, len(self.data))

    def read(self) -> bytes | None:
        self.reads += 1
        if self.is_unreadable:
            raise StoreError("STORE_UNREADABLE", "too many open files")
        return self.data

    def write(self, data: bytes) -> None:
        if self.is_full:
            raise StoreError("STORE_UNWRITABLE", "no room")
        self.on_write()
        self.data = data
        self.writes += 1

    def exclusive(self) -> AbstractContextManager[None]:
        @contextmanager
        def held() -> Iterator[None]:
            yield

        return held()


@define
class Shelf:
    file: File = field(factory=File)
    said: list[str] = field(factory=list)
    shelf: TraceShelf = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.shelf = TraceShelf(file=self.file, complain=self.said.append)

    def written(self) -> list[str]:
        return [] if self.file.data is None else [row.id for row in load_store(self.file.data).rows]


def record(identity: str, at_ms: int = 0) -> TraceRecord:
    return begin_failed(
        CaptureIdentity(record_id=identity, session_id="s", turn=1, step=1, attempt=1, at_ms=at_ms)
    )


def test_records_that_wait_are_read_with_the_others() -> None:
    held = Shelf()
    held.shelf.put(record("a"))
    held.shelf.flush()
    held.shelf.put(record("b"))
    assert held.written() == ["a"]
    assert [row.id for row in held.shelf.store().rows] == ["a", "b"]


def test_nothing_new_is_not_written() -> None:
    held = Shelf()
    held.shelf.flush()
    held.shelf.put(record("a"))
    held.shelf.flush_soon()
    held.shelf.flush()
    assert held.file.writes == 1


def test_too_many_that_wait_are_written_at_once() -> None:
    held = Shelf()
    for number in range(MAX_UNWRITTEN + 1):
        held.shelf.put(record(str(number)))
    assert len(held.written()) == MAX_UNWRITTEN + 1


def test_a_full_disk_loses_nothing() -> None:
    held = Shelf()
    held.file.is_full = True
    held.shelf.put(record("a"))
    held.shelf.flush()
    assert held.said == ["the trace cannot be used: STORE_UNWRITABLE"]
    assert [row.id for row in held.shelf.store().rows] == ["a"]
    held.file.is_full = False
    held.shelf.flush()
    assert held.written() == ["a"]


def test_what_another_process_wrote_is_joined() -> None:
    held = Shelf()
    held.shelf.put(record("a"))
    held.shelf.flush()
    held.file.write(dump_store(put(TraceStore(), record("other"))))
    held.shelf.put(record("b"))
    held.shelf.flush()
    assert held.written() == ["other", "b"]


def test_a_record_that_changes_while_it_is_written_is_written_again() -> None:
    held = Shelf()
    held.shelf.put(record("a"))
    held.file.on_write = lambda: held.shelf.put(record("a", at_ms=7))
    held.shelf.flush()
    held.file.on_write = lambda: None
    held.shelf.flush()
    assert held.file.data is not None
    (row,) = load_store(held.file.data).rows
    assert row.record is not None
    assert row.record.recorded_at_ms == 7


@pytest.mark.parametrize("data", [b"", b"{", b'{"schemaVersion": 9, "records": []}'])
def test_a_file_that_is_not_understood_stays(data: bytes) -> None:
    held = Shelf()
    held.file.data = data
    for identity in ("a", "b"):
        held.shelf.put(record(identity))
        held.shelf.flush()
    assert held.file.data == data
    assert len(held.said) == 1
    assert [row.id for row in held.shelf.store().rows] == ["a", "b"]


def test_a_file_that_is_not_understood_is_read_once() -> None:
    held = Shelf(file=File(data=b"{"))
    for identity in ("a", "b", "c"):
        held.shelf.put(record(identity))
        held.shelf.flush()
    held.shelf.store()
    assert held.file.reads == 1


def test_once_a_file_is_repaired_all_that_waits_is_written() -> None:
    held = Shelf(file=File(data=b"{"))
    held.shelf.put(record("a"))
    held.shelf.flush()
    held.file.data = dump_store(put(TraceStore(), record("other")))
    held.shelf.put(record("b"))
    held.shelf.flush()
    assert held.written() == ["other", "a", "b"]
    held.file.data = b"["
    held.shelf.put(record("c"))
    held.shelf.flush()
    assert held.said == ["the trace cannot be used: INVALID_JSON"] * 2


def test_a_file_that_cannot_be_read_for_a_while_is_written_afterwards() -> None:
    held = Shelf(file=File(data=dump_store(put(TraceStore(), record("old")))))
    held.file.is_unreadable = True
    held.shelf.put(record("a"))
    held.shelf.flush()
    assert [row.id for row in held.shelf.store().rows] == ["a"]
    held.file.is_unreadable = False
    assert [row.id for row in held.shelf.store().rows] == ["old", "a"]
    held.shelf.flush()
    assert held.written() == ["old", "a"]
    assert held.said == ["the trace cannot be used: STORE_UNREADABLE"]


def test_of_records_that_cannot_be_written_the_latest_are_kept() -> None:
    held = Shelf()
    held.file.is_full = True
    for number in range(5 * MAX_UNWRITTEN):
        held.shelf.put(record(str(number)))
        if number % 7 == 0:
            held.shelf.flush()
    latest = [str(number) for number in range(4 * MAX_UNWRITTEN, 5 * MAX_UNWRITTEN)]
    assert [row.id for row in held.shelf.store().rows] == latest
    assert held.said == [
        "the trace cannot be used: STORE_UNWRITABLE",
        f"only the latest {MAX_UNWRITTEN} records of the trace are kept",
    ]
    held.file.is_full = False
    held.shelf.flush()
    assert held.written() == latest


def test_records_that_came_while_nobody_wrote_are_cut_as_well() -> None:
    held = Shelf()
    held.shelf.later = lambda _: None
    for number in range(2 * MAX_UNWRITTEN):
        held.shelf.put(record(str(number)))
    held.file.is_full = True
    held.shelf.flush()
    assert len(held.shelf.store().rows) == MAX_UNWRITTEN


def test_nobody_waits_for_the_trace_to_be_written(tmp_path: Path) -> None:
    storage = Storage.at(tmp_path)
    with StoredBytes(storage, TRACE_RECORDS).exclusive():
        started = Event()

        def change() -> None:
            with storage.lock.held():
                started.set()

        Thread(target=change).start()
        assert started.wait(5)


def test_work_is_done_once_for_all_who_ask_meanwhile() -> None:
    done: list[int] = []
    finished = Event()

    def work() -> None:
        done.append(1)
        finished.set()

    soon = Soon(0.05)
    soon(work)
    soon(work)
    assert finished.wait(5)
    assert done == [1]


# --- work that nobody waits for ----------------------------------------------------------------


@define
class Ticking:
    at_ms: int = 0

    def now_ms(self) -> int:
        self.at_ms += 1
        return self.at_ms


def test_work_is_done_in_order_and_knows_when_it_was_handed_in() -> None:
    done: list[tuple[str, int]] = []
    background = Background(Ticking(), 60, lambda _: None)
    for name in "abc":
        background.submit(lambda name=name: done.append((name, background.now_ms())))  # type: ignore[misc]
    assert done == []
    assert background.drain()
    assert done == [("a", 1), ("b", 2), ("c", 3)]
    assert background.now_ms() == 4


def test_work_is_done_without_being_asked_for() -> None:
    finished = Event()
    background = Background(Ticking(), 0.01, lambda _: None)
    background.submit(finished.set)
    assert finished.wait(5)
    assert background.drain()


def test_work_that_fails_is_told_and_ends_nothing() -> None:
    said: list[str] = []
    done: list[int] = []

    def fail(error: Exception) -> None:
        raise error

    background = Background(Ticking(), 0, said.append)
    background.submit(partial(fail, StoreError("FULL", "a text")))
    background.submit(partial(fail, ValueError("a text")))
    background.submit(partial(done.append, 1))
    assert background.drain()
    assert done == [1]
    assert said == [
        "a part of a message failed: FULL",
        "a part of a message failed: ValueError",
    ]


def test_whoever_hands_in_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tavern_loader.adapters.background.MAX_WAITING", 2)
    done: list[int] = []
    background = Background(Ticking(), 60, lambda _: None)
    for number in range(9):
        background.submit(partial(done.append, number))
    assert background.drain()
    assert done == list(range(9))


def test_waiting_for_slow_work_has_an_end() -> None:
    go_on = Event()
    background = Background(Ticking(), 0, lambda _: None)
    background.submit(lambda: go_on.wait(5))
    assert not background.drain(0.05)
    go_on.set()
    assert background.drain()
