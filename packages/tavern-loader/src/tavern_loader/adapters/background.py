"""Work that nobody waits for, done one piece after another a moment later.

The moment lets go by what somebody does wait for: both share one processor. Must not know the work.
"""

import time
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread

from attrs import define, field, frozen

from tavern_loader.errors import LoaderError
from tavern_loader.ports import Clock

MAX_WAITING = 1024
"""Whoever adds more than these waits until there is room."""

Work = Callable[[], object]


@frozen
class _Piece:
    work: Work
    at_ms: int
    due_s: float


@define(eq=False)
class Background:
    """A queue with one thread; as a `Clock` it tells its work when it was handed in."""

    _clock: Clock
    _delay_s: float
    _complain: Callable[[str], None]
    _change: Condition = field(factory=Condition, init=False)
    _pieces: deque[_Piece] = field(factory=deque, init=False)
    _thread: Thread | None = field(default=None, init=False)
    _hurries: int = field(default=0, init=False)
    _running: _Piece | None = field(default=None, init=False)

    def now_ms(self) -> int:
        """Give the time of the piece of work that asks, or the present."""
        running = self._running
        return self._clock.now_ms() if running is None else running.at_ms

    def submit(self, work: Work, *, at_once: bool = False) -> None:
        """Add a piece of work behind the others; `at_once`: it waits for no moment."""
        delay_s = 0.0 if at_once else self._delay_s
        piece = _Piece(work, self._clock.now_ms(), time.monotonic() + delay_s)
        with self._change:
            if len(self._pieces) >= MAX_WAITING:
                self._hurries += 1
                self._change.notify_all()
                self._change.wait_for(lambda: len(self._pieces) < MAX_WAITING)
                self._hurries -= 1
            self._pieces.append(piece)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="background", daemon=True)
                self._thread.start()
            self._change.notify_all()

    def drain(self, timeout_s: float = 2.0) -> bool:
        """Wait until all that was added is done, at once; False if time ran out."""
        with self._change:
            self._hurries += 1
            self._change.notify_all()
            done = self._change.wait_for(
                lambda: not self._pieces and self._running is None, timeout_s
            )
            self._hurries -= 1
        return done

    def _run(self) -> None:
        while True:
            self._take()
            self._do()
            with self._change:
                self._running = None
                self._change.notify_all()

    def _take(self) -> None:
        """Wait until the first piece is due, and take it."""
        with self._change:
            self._change.wait_for(lambda: bool(self._pieces))
            wait_s = self._pieces[0].due_s - time.monotonic()
            if wait_s > 0:
                self._change.wait_for(lambda: self._hurries > 0, wait_s)
            self._running = self._pieces.popleft()

    def _do(self) -> None:
        try:
            if self._running is not None:
                self._running.work()
        except LoaderError as error:
            self._complain(f"a part of a message failed: {error.code}")
        except Exception as error:  # noqa: BLE001 - one piece must not end the others
            self._complain(f"a part of a message failed: {type(error).__name__}")
