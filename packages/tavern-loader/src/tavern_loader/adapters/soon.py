"""Doing a piece of work a moment later, once for all who ask meanwhile.

Must not know the work.
"""

from collections.abc import Callable
from threading import Lock, Timer

from attrs import define, field


@define(eq=False)
class Soon:
    """Called, it does what it is given after a moment; further calls until then add nothing."""

    _delay_s: float
    _lock: Lock = field(factory=Lock, init=False)
    _timer: Timer | None = field(default=None, init=False)

    def __call__(self, work: Callable[[], None]) -> None:
        """Ask for the work. Returns at once."""
        with self._lock:
            if self._timer is None:
                self._timer = Timer(self._delay_s, self._run, (work,))
                self._timer.daemon = True
                self._timer.start()

    def _run(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._timer = None
        work()
