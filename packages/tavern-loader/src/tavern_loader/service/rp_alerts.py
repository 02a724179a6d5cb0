"""Refused calls that the user has not seen yet.

Owns one alert for each session, and how many are kept. Must not know why a call was refused.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import count

from attrs import define, field, frozen

MAX_PENDING_ALERTS = 1_024
"""Beyond these the oldest is dropped."""


@frozen(kw_only=True)
class RpAlert:
    """A refused call that the user has not seen yet."""

    id: int
    session_id: str
    tool: str
    at_ms: int


@define
class Alerts:
    """The alerts of all sessions."""

    _lock: AbstractContextManager[object]
    _waiting: dict[str, RpAlert] = field(factory=dict, init=False)
    _ids: Iterator[int] = field(factory=lambda: count(1), init=False)

    def note(self, session_id: str, tool: str, at_ms: int) -> None:
        """Keep an alert in the place of an unseen one, whose id it takes over."""
        with self._lock:
            earlier = self._waiting.pop(session_id, None)
            if len(self._waiting) >= MAX_PENDING_ALERTS:
                self._waiting.pop(next(iter(self._waiting)))
            self._waiting[session_id] = RpAlert(
                id=next(self._ids) if earlier is None else earlier.id,
                session_id=session_id,
                tool=tool,
                at_ms=at_ms,
            )

    def get(self, session_id: str) -> RpAlert | None:
        """Give the alert that waits for the user; it goes on waiting."""
        return self._waiting.get(session_id)

    def take(self, session_id: str, alert_id: int | None = None) -> RpAlert | None:
        """Remove and give the alert; None if there is none, or another than the one named."""
        with self._lock:
            alert = self._waiting.get(session_id)
            if alert is None or alert_id not in (None, alert.id):
                return None
            return self._waiting.pop(session_id)
