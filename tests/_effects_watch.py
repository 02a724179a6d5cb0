"""Watches one call for effects: audited events, clocks, random sources and prints.

Must run in a process of its own, since an audit hook cannot be taken out again. It cannot see what
CPython does not announce (`datetime.now`, `os.environ`): `_architecture_rules.py` bars those.
"""

import contextlib
import io
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from unittest import mock

UNREMARKABLE = frozenset(
    {
        *("array.__new__", "builtins.id", "code.__new__", "marshal.dumps"),
        *(
            "object.__delattr__",
            "object.__getattr__",
            "object.__setattr__",
            "sys._getframe",
            "sys._getframemodulename",
        ),
    }
)
"""Audited events that change nothing and read nothing outside the call."""

SOURCES = (
    *((time, name) for name in ("time", "time_ns", "monotonic", "perf_counter", "localtime")),
    *((random, name) for name in ("random", "choice", "randint", "getrandbits", "shuffle")),
    (os, "urandom"),
    (os, "getenv"),
)
"""Functions that give something else each time; no audit event tells of them."""


class EffectError(Exception):
    """Stops a call at a source that it must not read."""


class Watch:
    """Holds the audit hook of this process."""

    def __init__(self) -> None:
        """Install the hook; it hears nothing until a call is watched."""
        self._effects: list[str] | None = None
        sys.addaudithook(self._hear)

    def effects(self, call: Callable[[], object]) -> list[str]:
        """Name the effects of a call, sorted.

        The call is made once before: what it imports or builds for good the first time is no
        effect of later calls.
        """
        call()
        printed = io.StringIO()
        found: list[str] = []
        with self._patched(found), contextlib.redirect_stdout(printed):
            self._effects = found
            try:
                call()
            except EffectError:
                pass
            finally:
                self._effects = None
        return sorted({*found, *(["print"] if printed.getvalue() else [])})

    def _hear(self, event: str, _: tuple[Any, ...]) -> None:
        if self._effects is not None and event not in UNREMARKABLE:
            self._effects.append(event)

    @contextlib.contextmanager
    def _patched(self, found: list[str]) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for module, name in SOURCES:
                stack.enter_context(mock.patch.object(module, name, _barred(module, name, found)))
            yield


def _barred(module: object, name: str, found: list[str]) -> Callable[..., NoReturn]:
    source = f"{getattr(module, '__name__', module)}.{name}"

    def barred(*_: object, **__: object) -> NoReturn:
        found.append(source)
        raise EffectError(source)

    return barred
