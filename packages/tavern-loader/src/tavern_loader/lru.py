"""A bounded memory of results, safe to use from several threads."""

from collections import OrderedDict
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

    def get(self, key: K) -> V | None:
        """Give a value and count it as used; None if it is not there."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

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
