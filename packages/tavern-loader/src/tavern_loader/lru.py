"""A bounded memory of results, safe to use from several threads."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Keeps what was used last; what was not used for longest goes first."""

    def __init__(self, limit: int) -> None:
        """Keep values of at most `limit` weight together."""
        self._limit = limit
        self._weight = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()
        self._making: dict[K, Lock] = {}

    def get(self, key: K) -> V | None:
        """Give a value and count it as used; None if it is not there."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def made(self, key: K, make: Callable[[], V]) -> V:
        """Give a value, made if it is not there: once, for all who ask for it meanwhile.

        Raises what `make` raises; the next who waits then tries for itself.
        """
        found = self.get(key)
        if found is not None:
            return found
        with self._lock:
            turn = self._making.setdefault(key, Lock())
        with turn:
            found = self.get(key)
            if found is not None:
                return found
            try:
                return self.put(key, make())
            finally:
                with self._lock:
                    self._making.pop(key, None)

    def put(self, key: K, value: V, weight: int = 1) -> V:
        """Keep a value, unless it alone is over the limit; give it back."""
        with self._lock:
            self._drop(key)
            if weight <= self._limit:
                self._kept[key] = value, weight
                self._weight += weight
            while self._weight > self._limit:
                self._drop(next(iter(self._kept)))
        return value

    def drop(self, key: K) -> None:
        """Forget a value."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: K) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._weight -= found[1]
