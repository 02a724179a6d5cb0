"""The process that the bridge starts: `tavern-loader host`.

Owns its streams, its signals and its end. Nothing but messages reaches standard output: whatever
else is printed there goes to standard error. The end of input is the end of the process.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from tavern_loader.adapters.console import complain
from tavern_loader.adapters.host_proxy import HostProxy
from tavern_loader.adapters.link import Handler, Inline, Link

_SWITCH_INTERVAL_S = 0.001
"""Threads give way to the reading one this often: a scan must not hold up other sessions."""


class HostMethods(Protocol):
    """What `app.py` gives for a link."""

    @property
    def methods(self) -> Mapping[str, Handler]:
        """The function for each method."""
        ...

    @property
    def inline(self) -> Mapping[str, Inline]:
        """The notifications that are handled on the reading thread."""
        ...

    def close(self) -> None:
        """Write what is not written yet."""
        ...


Build = Callable[[Path, HostProxy], HostMethods]


def run_host(build: Build, home: Path) -> int:
    """Serve the link on standard input and output until the input ends; gives the exit code.

    `home` is the folder of the host, `$DSH_HOME`.
    """
    incoming, outgoing = _take_streams()
    # A terminal sends its interrupt to the whole group: when to end is for the host to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    link = Link(incoming, outgoing, complain)
    built = build(home, HostProxy(link))
    try:
        link.serve(built.methods, built.inline)
    finally:
        built.close()
    return 0


def hold_collector() -> None:
    """Do without the collector until `release_collector`: nothing loaded meanwhile is garbage."""
    gc.disable()


def release_collector() -> None:
    """Collect from now on, but pass over what is there: modules, and the books that were read.

    Most of it stays as long as the process, and looking through it takes longer than a step.
    """
    gc.freeze()
    gc.enable()


def end_process(code: int) -> None:
    """End now: a thread that is still at work, or a library's, must not hold the host up."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody may be left to read it
            stream.flush()
    os._exit(code)


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the two streams for messages, and let nobody else read or write them."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing
