"""Timed effects between two scans: given to one scan, given back for the next.

Owns the values and their JSON in SillyTavern's chat metadata (`timedWorldInfo`). Must not know
where they are stored, nor what they do: that is `timed`.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoTimedEffects.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from attrs import field, frozen

from tavern_matcher._js import UNDEFINED, comparable, to_number, truthy

EFFECTS = ("sticky", "cooldown")


@frozen(kw_only=True)
class TimedRecord:
    """One running effect, as SillyTavern stores it in the chat."""

    hash: int | str | None = None
    """Of the entry when the effect began."""
    start_messages: float = field(default=0, eq=comparable)
    """Length of the chat when the effect began."""
    end_messages: float = field(default=0, eq=comparable)
    """Length of the chat at which it is over; NaN: never."""
    protected: bool = False
    """It outlives a chat that has not grown since it began."""
    origin: Mapping[str, Any] | None = field(default=None, repr=False, eq=False)
    """The JSON it was read from: written back as it was. None: it was not read."""


@frozen(kw_only=True)
class MatchState:
    """The running effects by `book.uid`, each in the order in which they began."""

    sticky: Mapping[str, TimedRecord] = field(factory=dict)
    cooldown: Mapping[str, TimedRecord] = field(factory=dict)


def state_from_json(raw: object) -> MatchState:
    """Read `timedWorldInfo` of a chat's metadata; what is no object in it is dropped.

    A chat without timed effects may have anything falsy there.
    """
    effects = raw if isinstance(raw, dict) else {}
    return MatchState(**{name: _read_records(effects.get(name)) for name in EFFECTS})


def _read_records(raw: object) -> Mapping[str, TimedRecord]:
    items = raw.items() if isinstance(raw, dict) else ()
    return {name: _read_record(value) for name, value in items if isinstance(value, dict)}


def _read_record(raw: Mapping[str, Any]) -> TimedRecord:
    found = raw.get("hash")
    return TimedRecord(
        hash=found if isinstance(found, int | str) else None,
        start_messages=to_number(raw.get("start", UNDEFINED)),
        end_messages=to_number(raw.get("end", UNDEFINED)),
        protected=truthy(raw.get("protected", UNDEFINED)),
        origin=raw,
    )


def state_to_json(state: MatchState) -> dict[str, dict[str, dict[str, Any]]]:
    """Write `timedWorldInfo`; an end that is no number becomes null, as in SillyTavern's files."""
    return {
        name: {key: _write(record) for key, record in getattr(state, name).items()}
        for name in EFFECTS
    }


def _write(record: TimedRecord) -> dict[str, Any]:
    if record.origin is not None:
        return dict(record.origin)
    fields = {
        "hash": record.hash,
        "start": record.start_messages,
        "end": record.end_messages if isfinite(record.end_messages) else None,
        "protected": record.protected,
    }
    return {key: value for key, value in fields.items() if key != "hash" or value is not None}
