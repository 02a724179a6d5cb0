"""Work on threads, in order for each key: what is slow under one key holds up that key only.

Must not know what a key stands for.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

Work = Callable[[], None]

MAX_THREADS = 64
"""More sessions than these do their work by turns, one piece of it at a time."""


class KeyedThreads:
    """Runs pieces of work: those of one key one after another, different keys beside each other.

    Threads are made as they are needed and never end the process's way: they are daemons.
    """

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self._max_threads = max_threads
        self._change = threading.Condition()
        self._waiting: dict[str, deque[Work]] = {}
        """Keys with work, the running ones included; a key leaves when its last piece is done."""
        self._ready: deque[str] = deque()
        """Keys of which nothing runs, in the order they are served."""
        self._threads = 0
        self._idle = 0

    def submit(self, key: str, work: Work) -> None:
        """Add a piece of work behind all others of its key; it must not raise."""
        with self._change:
            pieces = self._waiting.get(key)
            if pieces is not None:
                pieces.append(work)
                return
            self._waiting[key] = deque([work])
            self._ready.append(key)
            if self._idle < len(self._ready) and self._threads < self._max_threads:
                self._threads += 1
                name = f"tavern-{self._threads}"
                threading.Thread(target=self._run, name=name, daemon=True).start()
            self._change.notify()

    def wait_idle(self, timeout_s: float, *, but: str | None = None) -> bool:
        """Wait until nothing is left to do, the key `but` aside; False if time ran out first."""
        deadline = time.monotonic() + timeout_s
        with self._change:
            while set(self._waiting) - {but}:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._change.wait(left)
        return True

    def _run(self) -> None:
        while True:
            key, work = self._take()
            work()
            self._done(key)

    def _take(self) -> tuple[str, Work]:
        with self._change:
            self._idle += 1
            while not self._ready:
                self._change.wait()
            self._idle -= 1
            key = self._ready.popleft()
            return key, self._waiting[key].popleft()

    def _done(self, key: str) -> None:
        with self._change:
            if self._waiting[key]:
                self._ready.append(key)
                self._change.notify()
                return
            del self._waiting[key]
            # Both waiters for work and waiters for idleness listen to the one condition.
            self._change.notify_all()
