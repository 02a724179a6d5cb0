"""A bounded memory: what is made is made once, and what is too much goes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tavern_loader.lru import Lru


def test_value_is_made_once_for_all_who_ask_meanwhile() -> None:
    kept: Lru[str, object] = Lru(4)
    made: list[object] = []
    all_ask = threading.Barrier(8)

    def make() -> object:
        threading.Event().wait(0.02)
        made.append(object())
        return made[-1]

    def ask() -> object:
        all_ask.wait()
        return kept.made("a", make)

    with ThreadPoolExecutor(8) as pool:
        found = [one.result() for one in [pool.submit(ask) for _ in range(8)]]
    assert len(made) == 1
    assert all(one is made[0] for one in found)


def test_what_could_not_be_made_is_tried_by_the_next() -> None:
    kept: Lru[str, int] = Lru(4)
    with pytest.raises(ZeroDivisionError):
        kept.made("a", lambda: 1 // 0)
    assert kept.get("a") is None
    assert kept.made("a", lambda: 2) == 2


def test_one_value_does_not_wait_for_another() -> None:
    kept: Lru[str, int] = Lru(4)
    asked, may_end = threading.Event(), threading.Event()

    def slow() -> int:
        asked.set()
        may_end.wait(10)
        return 1

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(kept.made, "slow", slow)
        assert asked.wait(10)
        assert kept.made("quick", lambda: 2) == 2
        assert not first.done()
        may_end.set()
        assert first.result(10) == 1


def test_what_was_not_used_for_longest_goes() -> None:
    kept: Lru[str, int] = Lru(2)
    kept.put("a", 1)
    kept.put("b", 2)
    kept.get("a")
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
