"""Work that nobody waits for: in order, a moment later, and at once where that is asked for."""

import threading
from functools import partial

from tavern_loader.adapters.background import Background
from tavern_loader.adapters.clock import SystemClock

LONG_S = 3600.0


def background(said: list[str]) -> Background:
    return Background(SystemClock(), LONG_S, said.append)


def test_work_that_is_due_at_once_waits_for_no_moment() -> None:
    done = threading.Event()
    background([]).submit(done.set, at_once=True)
    assert done.wait(10)


def test_work_waits_until_somebody_drains() -> None:
    done: list[int] = []
    queue = background([])
    for number in range(3):
        queue.submit(partial(done.append, number))
    assert done == []
    assert queue.drain(10)
    assert done == [0, 1, 2]


def test_failed_work_is_told_and_the_next_is_done() -> None:
    said: list[str] = []
    done: list[int] = []
    queue = background(said)
    queue.submit(lambda: 1 // 0)
    queue.submit(lambda: done.append(1))
    assert queue.drain(10)
    assert (said, done) == (["a part of a message failed: ZeroDivisionError"], [1])
