"""Timed effects between two scans: given to one scan, given back for the next.

This version carries the state and changes nothing in it. Must not know where it is stored.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoTimedEffects.
"""

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class TimedRecord:
    """One running effect, as SillyTavern stores it in the chat."""

    hash: int | str | None = None
    """Of the entry when the effect began."""
    start_messages: float = 0
    """Length of the chat when the effect began."""
    end_messages: float = 0
    """Length of the chat at which it is over."""
    protected: bool = False
    """It outlives a chat that has not grown since it began."""


@frozen(kw_only=True)
class MatchState:
    """The running effects by `book.uid`."""

    sticky: Mapping[str, TimedRecord] = field(factory=dict)
    cooldown: Mapping[str, TimedRecord] = field(factory=dict)
