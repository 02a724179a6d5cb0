"""A trial of the link: starts the other half as the bridge does, greets it, and ends it.

Must not know what a greeting is answered with, but that it is one.
"""

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Timer

from attrs import frozen

TIMEOUT_S = 20.0
HOST_ARGUMENTS = ("-P", "-m", "tavern_loader", "host")

_GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocol": 1, "config": {}},
}


@frozen
class Trial:
    """What became of it."""

    seconds: float
    """From the start to the answer."""
    answer: Mapping[str, object] | None
    """Of the greeting; None without one."""
    reason: str
    """Why there is none."""


def try_link(python: str, home: Path) -> Trial:
    """Start a host process with a Python, greet it, and end it."""
    begun = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603 (the Python that the bridge starts)
            [python, *HOST_ARGUMENTS, "--dsh-home", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        return Trial(time.monotonic() - begun, None, str(error.strerror or error))
    guard = Timer(TIMEOUT_S, process.kill)
    guard.start()
    try:
        return _greet(process, begun)
    finally:
        guard.cancel()


def _greet(process: "subprocess.Popen[bytes]", begun: float) -> Trial:
    # It ends when its input does: that must not be before it has answered.
    line = b""
    if process.stdin is not None and process.stdout is not None:
        try:
            process.stdin.write(json.dumps(_GREETING).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:  # it has gone already, and says why below
            pass
    seconds = time.monotonic() - begun
    _, errors = process.communicate()
    answer = _result(line)
    if answer is not None:
        return Trial(seconds, answer, "")
    words = errors.decode("utf-8", "replace").strip().splitlines()
    return Trial(seconds, None, words[-1] if words else f"it ended with code {process.returncode}")


def _result(line: bytes) -> Mapping[str, object] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    result = message.get("result") if isinstance(message, dict) else None
    return result if isinstance(result, dict) else None
