"""How much work something is, in lines that are run: a busy machine changes nothing of it."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

MOST_GROWTH = 2.7
"""Of twice as much work that is linear, with some room; what is quadratic nearly reaches four."""


def lines_run(action: Callable[[], object]) -> int:
    """Count the lines of Python that an action runs, each turn of a loop among them."""
    count = 0

    def watch(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ARG001
        nonlocal count
        count += 1
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        action()
    finally:
        sys.settrace(before)
    return count
