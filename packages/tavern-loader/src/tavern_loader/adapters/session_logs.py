"""The logs of a host's sessions, read from its home without the host.

Owns where a log lies and how it is unpacked. Logs are packed with Zstandard, which Python 3.11 has
no reader for: the host's own Node unpacks them, or the program `zstd`.

Source: DSH 0.1.0-rc.8, `sessions/<folder>/<id>/session.jsonl.zstd`.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from tavern_loader.adapters.no_host import NoHost
from tavern_loader.domain.session_selections import require_session_id
from tavern_loader.errors import HostError
from tavern_loader.ports import JsonObject

MAX_PACKED_BYTES = 64 * 1024 * 1024
TIMEOUT_S = 60.0
_NAMES = ("session.jsonl", "session.jsonl.zstd")
_MAGIC = b"\x28\xb5\x2f\xfd"
_UNPACK = """
const {zstdDecompressSync} = require('node:zlib')
let rest = require('node:fs').readFileSync(0)
while (rest.length > 0) {
  let frame
  try { frame = zstdDecompressSync(rest, {info: true}) } catch { break }
  process.stdout.write(frame.buffer)
  if (!(frame.engine.bytesWritten > 0)) break
  rest = rest.subarray(frame.engine.bytesWritten)
}
"""
"""A log is many frames one after the other, the last one perhaps torn."""
_PROGRAMS = (("node", "-e", _UNPACK), ("zstd", "-qdc"))


class LoggedHost(NoHost):
    """A host that is not there, with the logs it has left."""

    def __init__(self, home: Path) -> None:
        """Read the logs in a home of the host."""
        self._sessions = home / "sessions"

    def inspect(self, session_id: str) -> JsonObject | None:
        """Read a session's log: meta and events; None if there is no such session.

        Raises HostError if the log cannot be unpacked or is no log.
        """
        path = self._find(session_id)
        if path is None:
            return None
        rows = _rows(_unpacked(path))
        if not rows:
            raise HostError("SESSION_LOG_UNREADABLE", "the log of the session holds nothing")
        return {"meta": rows[0], "events": rows[1:]}

    def logged_ids(self) -> frozenset[str]:
        """Name all sessions that have a log.

        Raises HostError (SESSION_LOGS_UNREADABLE) where nothing can be said of any.
        """
        try:
            os.listdir(self._sessions)  # noqa: PTH208 - a glob does not tell of faults
        except OSError as error:
            reason = error.strerror or type(error).__name__
            message = f"the logs of sessions cannot be listed: {reason}"
            raise HostError("SESSION_LOGS_UNREADABLE", message) from error
        found = (folder for name in _NAMES for folder in self._sessions.glob(f"*/*/{name}"))
        return frozenset(path.parent.name for path in found)

    def _find(self, session_id: str) -> Path | None:
        try:
            require_session_id(session_id)
        except ValueError:
            return None
        found = (
            folder / name for folder in self._sessions.glob(f"*/{session_id}") for name in _NAMES
        )
        return next((path for path in found if path.is_file()), None)


def _unpacked(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_PACKED_BYTES:
            raise HostError("SESSION_LOG_TOO_LARGE", "the log of the session is too large")
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise HostError("SESSION_LOG_UNREADABLE", f"the log cannot be read: {reason}") from error
    if not data.startswith(_MAGIC):
        return data
    for program, *arguments in _PROGRAMS:
        found = shutil.which(program)
        text = None if found is None else _run([found, *arguments], data)
        if text:
            return text
    message = "the log is packed; node (22.15 or later) or zstd on the PATH can unpack it"
    raise HostError("SESSION_LOG_PACKED", message)


def _run(command: list[str], data: bytes) -> bytes | None:
    """Give what a program makes of the data, also if the end of it is torn."""
    try:
        done = subprocess.run(  # noqa: S603 - a program of our own table, without a shell
            command, input=data, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _rows(data: bytes) -> list[JsonObject]:
    """Read one object per line; a last line that is torn is none."""
    rows: list[JsonObject] = []
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            break
        if isinstance(row, dict):
            rows.append(row)
    return rows
