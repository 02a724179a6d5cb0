"""JSON on the disk that is whole at every moment, whoever writes and whenever a process dies.

Owns the replacing of a file, the lock against other writers, and what counts as readable JSON.
Must not know what any document means.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any
from uuid import uuid4

from attrs import field, frozen
from filelock import FileLock, Timeout

from tavern_loader.errors import StoreError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
LOCK_FILE = ".loader.lock"
LOCK_TIMEOUT_S = 10.0
LOCK_POLL_S = 0.01
TEMPORARY = ".tmp"
LEFT_BEHIND_S = 600.0
"""Temporary files older than this belong to a writer that died."""
MAX_INDENTED_CHARS = 16 * 1024
_SURROGATE = re.compile("[\ud800-\udfff]")

Signature = tuple[int, int, int]
"""Time of change in nanoseconds, size in bytes, inode: equal as long as a file is the same."""


@frozen(kw_only=True)
class FileBytes:
    """A file as it was read at one moment."""

    signature: Signature
    data: bytes = field(repr=False)


class StorageLock:
    """Lets one writer in at a time: over all threads and processes that take part."""

    def __init__(
        self, folder: Path, timeout_s: float = LOCK_TIMEOUT_S, name: str = LOCK_FILE
    ) -> None:
        """Lock by a file in a folder that need not exist yet."""
        self._folder = folder
        self._threads = RLock()
        # The lock on threads is taken first, so one lock on the file serves them all.
        self._file = FileLock(folder / name, timeout=timeout_s, mode=FILE_MODE, thread_local=False)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; within it, it can be held again.

        Raises StoreError (STORE_BUSY) if another process does not let go of it.
        """
        with self._threads:
            make_folder(self._folder)
            try:
                self._file.acquire(poll_interval=LOCK_POLL_S)
            except Timeout as error:
                message = "another process is writing to the stores and does not finish"
                raise StoreError("STORE_BUSY", message) from error
            except OSError as error:
                raise unwritable(self._folder.name, error) from error
            try:
                yield
            finally:
                self._file.release()


def signature_of(path: Path | str) -> Signature | None:
    """Look at a file without reading it; None without a file."""
    try:
        return _signature(os.stat(path))  # noqa: PTH116 - of a text, too, which is much cheaper
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(Path(path).name, error) from error


def read_file(path: Path, limit_bytes: int) -> FileBytes | None:
    """Read a whole file, or of a larger one `limit_bytes` and one byte more; None without a file.

    Raises StoreError (STORE_UNREADABLE).
    """
    try:
        with path.open("rb") as stream:
            # What was opened is looked at: the name may lead to a newer file already.
            signature = _signature(os.fstat(stream.fileno()))
            return FileBytes(signature=signature, data=stream.read(limit_bytes + 1))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path.name, error) from error


def write_file(path: Path, data: bytes) -> Signature:
    """Put bytes in the place of a file, at once and for good.

    The old or the new bytes are there at every moment, also after a power cut. Raises StoreError
    (STORE_UNWRITABLE); then the old bytes are there and nothing is left behind.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{uuid4().hex}{TEMPORARY}")
    try:
        make_folder(path.parent)
        try:
            signature = _write_new(temporary, data)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _flush_folder(path.parent)
    except OSError as error:
        raise unwritable(path.name, error) from error
    return signature


def remove_file(path: Path) -> bool:
    """Remove a file for good; False without a file. Raises StoreError (STORE_UNWRITABLE)."""
    try:
        path.unlink()
        _flush_folder(path.parent)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unwritable(path.name, error) from error
    return True


def make_folder(folder: Path) -> None:
    """Make a folder for the user alone. Raises StoreError (STORE_UNWRITABLE)."""
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder.name, error) from error


def remove_left_behind(folder: Path, now_s: float) -> None:
    """Remove the temporary files of writers that died; a failure to do so is no failure."""
    with suppress(OSError):
        for path in folder.glob(f"*{TEMPORARY}"):
            with suppress(OSError):
                if now_s - path.stat().st_mtime > LEFT_BEHIND_S:
                    path.unlink()


def load_object(data: bytes) -> dict[str, Any]:
    """Read a JSON object. Raises ValueError, without any of the text, for everything else."""
    try:
        document = json.loads(data, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the text is at fault, not a type
    return document


def dump_object(document: object) -> bytes:
    """Write JSON as the stores have it: two blanks a level, a newline at the end, UTF-8.

    What is large is written without blanks, which is ten times as fast and reads the same.
    Raises ValueError for what JSON cannot hold.
    """
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if len(text) <= MAX_INDENTED_CHARS:
            text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    # Half a surrogate pair has no UTF-8; it can only stand inside a string, where an escape does.
    return (_SURROGATE.sub(_escape, text) + "\n").encode()


def digest(data: bytes) -> str:
    """Give the revision of bytes: their SHA-256, hexadecimal."""
    return sha256(data).hexdigest()


def unwritable(name: str, error: OSError) -> StoreError:
    """Say that something cannot be written, and why."""
    reason = error.strerror or type(error).__name__
    return StoreError("STORE_UNWRITABLE", f"{name} cannot be written: {reason}")


def unreadable(name: str, error: OSError) -> StoreError:
    """Say that something cannot be read, and why."""
    reason = error.strerror or type(error).__name__
    return StoreError("STORE_UNREADABLE", f"{name} cannot be read: {reason}")


def _signature(found: os.stat_result) -> Signature:
    return found.st_mtime_ns, found.st_size, found.st_ino


def _write_new(path: Path, data: bytes) -> Signature:
    handle = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), FILE_MODE
    )
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
        return _signature(os.fstat(stream.fileno()))


def _flush_folder(folder: Path) -> None:
    """Make a change of names last through a power cut, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _no_number(_: str) -> Any:  # noqa: ANN401
    raise json.JSONDecodeError("not a JSON number", "", 0)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
