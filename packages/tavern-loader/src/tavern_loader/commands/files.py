"""Files that are named on the command line: read whole, but not larger than any parser takes."""

import sys
from pathlib import Path
from typing import BinaryIO

from tavern_format import DEFAULT_LIMITS
from tavern_loader.errors import InputError
from tavern_loader.service.reading import SourceFile

STDIN = "-"


def read_source(path: str) -> SourceFile:
    """Read a file, or standard input for `-`. Raises InputError."""
    if path == STDIN:
        return SourceFile(name="<stdin>", data=_read(sys.stdin.buffer, "<stdin>"))
    try:
        with Path(path).open("rb") as stream:
            return SourceFile(name=Path(path).name, data=_read(stream, path))
    except FileNotFoundError as error:
        raise InputError("FILE_NOT_FOUND", "there is no such file", file=path) from error
    except IsADirectoryError as error:
        raise InputError("FILE_IS_FOLDER", "this is a folder", file=path) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be opened"
        raise InputError("FILE_UNREADABLE", reason, file=path) from error


def read_text(path: str) -> str:
    """Read a file as UTF-8 text. Raises InputError."""
    source = read_source(path)
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the text is not UTF-8 (byte {error.start})"
        raise InputError("ENCODING_NOT_UTF8", message, file=source.name) from error


def is_file(value: str) -> bool:
    """Whether a value names a file that is there."""
    try:
        return Path(value).is_file()
    except (OSError, ValueError):  # a text can be too long for a file name
        return False


def write_output(path: str, data: bytes) -> None:
    """Write a file, or standard output for `-`. Raises InputError."""
    if path == STDIN:
        sys.stdout.buffer.write(data)
        return
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise InputError("FILE_UNWRITABLE", reason, file=path) from error


def _read(stream: BinaryIO, name: str) -> bytes:
    limit = DEFAULT_LIMITS.input_bytes
    data = stream.read(limit + 1)
    if len(data) > limit:
        message = f"the file has more than {limit} bytes"
        raise InputError("FILE_TOO_LARGE", message, file=name)
    return data
