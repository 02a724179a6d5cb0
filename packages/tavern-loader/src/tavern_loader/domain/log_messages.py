"""The messages of a session as its log holds them.

Owns which events bring a message and which take some away, so that what is left is what the host
itself would send. Must not know how a log is stored.

Source: a session log of DSH 0.1.0-rc.8; the host contract, section 5.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tavern_loader.domain.js_values import object_of

APPEND = "append"
REPLACE = "replace"


def messages_of(events: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """List the messages of a log, oldest first, without those that others stand in for."""
    shown: list[tuple[int, Mapping[str, Any]]] = []
    for event in events:
        operation = event.get("surfaceOp")
        seq = event.get("seq")
        if operation is None or not isinstance(seq, int):
            continue
        replaced = object_of(operation)
        at = len(shown)
        if replaced.get("op") == REPLACE:
            start, end = replaced.get("start"), replaced.get("end")
            if not isinstance(start, int) or not isinstance(end, int):
                continue
            gone = [place for place, (known, _) in enumerate(shown) if start <= known <= end]
            at = gone[0] if gone else at
            shown = [one for one in shown if not start <= one[0] <= end]
        elif operation != APPEND:
            continue
        shown.insert(at, (seq, _message(object_of(event.get("data")))))
    return tuple(message for _, message in shown)


def _message(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the message of an event: its data itself, or what stands in it under `message`."""
    return data if "role" in data else object_of(data.get("message"))
