"""Files that are named on the command line: read whole, but not larger than any parser takes."""

import os
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
        return _read_standard_input()
    if not path:
        raise InputError("FILE_NOT_FOUND", "this is no name of a file", file='""')
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


def _read_standard_input() -> SourceFile:
    name = "<stdin>"
    if sys.stdin is None:  # what starts a program can take it away
        raise InputError("FILE_UNREADABLE", "there is no standard input", file=name)
    return SourceFile(name=name, data=_read(sys.stdin.buffer, name))


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


def write_file(path: str, data: bytes) -> None:
    """Write a file. Raises InputError."""
    try:
        Path(path).write_bytes(data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be written"
        raise InputError("FILE_UNWRITABLE", reason, file=path) from error


def _read(stream: BinaryIO, name: str) -> bytes:
    limit = DEFAULT_LIMITS.input_bytes
    data = stream.read(limit + 1) if _size(stream) <= limit else None
    if data is None or len(data) > limit:
        message = f"the file has more than {limit} bytes"
        raise InputError("FILE_TOO_LARGE", message, file=name)
    return data


def _size(stream: BinaryIO) -> int:
    """Give the size of a file; 0 for what has none, such as a pipe."""
    try:
        return os.fstat(stream.fileno()).st_size
    except (OSError, ValueError):
        return 0
