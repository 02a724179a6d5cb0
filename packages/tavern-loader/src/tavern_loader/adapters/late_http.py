"""The HTTP side of a link, opened when its first request comes.

Owns the queue of what comes meanwhile: opening takes longer than the reading thread may wait. Must
not know routes, nor what opening means.
"""

from collections.abc import Callable, Mapping
from threading import Lock, Thread
from typing import Protocol

from attrs import define, field

from tavern_loader.errors import HostError
from tavern_loader.ports import JsonObject

REQUEST, BODY, END, ACK, ABORT = (
    "http/request",
    "http/body",
    "http/end",
    "http/ack",
    "http/abort",
)
MESSAGES = (REQUEST, BODY, END, ACK, ABORT)


class HttpSide(Protocol):
    """What is opened."""

    @property
    def inline(self) -> Mapping[str, Callable[[JsonObject], None]]:
        """Who takes each message."""
        ...

    def close(self) -> None:
        """End all requests."""
        ...


@define(eq=False)
class LateHttp:
    """Takes the messages of a link, and opens the other side for the first one."""

    _open: Callable[[], HttpSide]
    _tell: Callable[[str, JsonObject], None]
    _complain: Callable[[str], None]
    _lock: Lock = field(factory=Lock, init=False)
    _thread: Thread | None = field(default=None, init=False)
    _side: HttpSide | None = field(default=None, init=False)
    _takers: Mapping[str, Callable[[JsonObject], None]] | None = field(default=None, init=False)
    _waiting: list[tuple[str, JsonObject]] = field(factory=list, init=False)

    def take(self, name: str, params: JsonObject) -> None:
        """Pass a message on, or keep it until somebody can take it. Returns at once."""
        with self._lock:
            if self._takers is None:
                self._waiting.append((name, params))
                if self._thread is None:
                    self._thread = Thread(target=self._begin, name="http-open", daemon=True)
                    self._thread.start()
                return
        self._takers.get(name, _ignore)(params)

    def close(self) -> None:
        """End all requests; nothing is opened any more."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout=2)
        if self._side is not None:
            self._side.close()

    def _begin(self) -> None:
        takers: Mapping[str, Callable[[JsonObject], None]] = {REQUEST: self._refuse}
        try:
            self._side = self._open()
            takers = self._side.inline
        except Exception as error:  # noqa: BLE001 - whatever it is, no request may wait for ever
            self._complain(f"the HTTP API is not there: {type(error).__name__}")
        with self._lock:
            for name, params in self._waiting:
                takers.get(name, _ignore)(params)
            self._waiting.clear()
            self._takers = takers

    def _refuse(self, params: JsonObject) -> None:
        try:
            self._tell(ABORT, {"stream": params.get("stream"), "reason": "unavailable"})
        except HostError:
            return  # the one who asked is gone, too


def _ignore(_: JsonObject) -> None:
    """Take what belongs to a refused request."""
