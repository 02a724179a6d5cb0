"""Standard output and standard error: all that is said to people goes through here.

Owns the encoding, which is UTF-8 whatever the locale says, and what is done where nothing can be
written. Must not know what is said.
"""

import os
import sys
from contextlib import suppress

from tavern_loader.errors import LoaderError


def write_output(data: bytes) -> None:
    """Write to standard output, to the end.

    A reader that has seen enough is no fault. Raises LoaderError (OUTPUT_UNWRITABLE) for a full
    disk, and where there is no standard output.
    """
    if sys.stdout is None:  # what starts a program can take it away
        raise LoaderError("OUTPUT_UNWRITABLE", "there is no standard output")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up_output()
    except OSError as error:
        _give_up_output()
        reason = error.strerror or type(error).__name__
        message = f"standard output cannot be written: {reason}"
        raise LoaderError("OUTPUT_UNWRITABLE", message) from error


def complain(line: str) -> None:
    """Write one line for people to standard error; nothing can be done if that is not possible."""
    text = f"tavern-loader: {' '.join(line.split())}\n"
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.buffer.write(as_bytes(text))
            sys.stderr.flush()


def as_bytes(text: str) -> bytes:
    """Encode a text; half a surrogate pair is written as its escape."""
    return text.encode("utf-8", "backslashreplace")


def _give_up_output() -> None:
    """Python flushes once more at its end: that goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
