"""What an adapter says about a case: differences, each with its place.

Two JSON values are equal when JSON cannot tell them apart: key order counts, `1` is `1.0`, `true`
is not `1`, `null` is not absence.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, define, frozen

_SHOWN_CHARS = 160
_SAFE_INTEGER = 2**53


class NotComparable(Exception):  # noqa: N818 - a verdict, not a fault
    """The record holds nothing that our packages could be asked about; the reason is the text."""


@frozen
class Finding:
    """One difference."""

    place: str
    """What was compared: `st/data/name`, `recommended`, `round-trip`; rows of COMPATIBILITY.md
    may name it behind a `#`."""
    text: str


@define
class Findings:
    """Collects the differences of one case."""

    found: list[Finding] = Factory(list)

    def add(self, place: str, text: str) -> None:
        """Note a difference."""
        self.found.append(Finding(place, text))

    def require(self, place: str, condition: object, text: str) -> bool:
        """Note a difference unless the condition holds; returns whether it does."""
        if not condition:
            self.add(place, text)
        return bool(condition)

    def same(self, place: str, ours: object, theirs: object, *, ordered: bool = True) -> None:
        """Compare two JSON values; `ordered` tells whether the order of keys counts."""
        for path, text in _differences(ours, theirs, ordered=ordered):
            self.add(f"{place}{path}", text)


def _differences(ours: Any, theirs: Any, *, ordered: bool) -> Iterator[tuple[str, str]]:
    """Walk two documents with a stack of our own: they may be hundreds of levels deep."""
    pending = [("", ours, theirs)]
    while pending:
        path, left, right = pending.pop()
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            yield from _key_differences(path, left, right, ordered=ordered)
            common = [key for key in left if key in right]
            pending += [(f"{path}/{key}", left[key], right[key]) for key in reversed(common)]
        elif is_array(left) and is_array(right):
            if len(left) != len(right):
                yield path, f"{len(left)} items, not {len(right)}: {show(left)}, not {show(right)}"
                continue
            rows = zip(range(len(left)), left, right, strict=True)
            pending += reversed([(f"{path}/{at}", mine, other) for at, mine, other in rows])
        elif not _same_scalar(left, right):
            yield path, f"{show(left)}, not {show(right)}"


def _key_differences(
    path: str, left: Mapping[str, Any], right: Mapping[str, Any], *, ordered: bool
) -> Iterator[tuple[str, str]]:
    for key in left.keys() - right.keys():
        yield f"{path}/{key}", f"{show(left[key])}, not absent"
    for key in right.keys() - left.keys():
        yield f"{path}/{key}", f"absent, not {show(right[key])}"
    if ordered and left.keys() == right.keys() and list(left) != list(right):
        yield path, f"keys in the order {show(list(left))}, not {show(list(right))}"


def is_array(value: object) -> bool:
    """Tell JSON arrays, and the tuples of models."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _same_scalar(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right and not (is_array(left) or isinstance(left, Mapping))


def show(value: object) -> str:
    """Write a value short enough for one line."""
    try:
        text = json.dumps(value, ensure_ascii=True, default=repr)
    except (RecursionError, ValueError):
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}... ({len(text)})"


def javascript_numbers(value: Any) -> Any:
    """Round integers as JavaScript holds them, for comparison with what it wrote."""
    if isinstance(value, dict):
        return {key: javascript_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [javascript_numbers(item) for item in value]
    exact = isinstance(value, bool) or not isinstance(value, int) or abs(value) < _SAFE_INTEGER
    return value if exact else int(float(value))
