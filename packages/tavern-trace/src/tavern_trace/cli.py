"""The `tavern-trace` command: look at records, verify and compare them.

The only module of the package that reads files and prints. Every fault of an input is one line on
standard error; exit status 0 is success, 1 an input that cannot be used (or, for `verify`, a text
that is not proven), 2 wrong arguments.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tavern_trace._columns import clean
from tavern_trace._version import __version__
from tavern_trace.changes import changed_since
from tavern_trace.cli_report import (
    changes_json,
    changes_lines,
    file_json,
    index_lines,
    record_lines,
)
from tavern_trace.cli_verdict import is_proven, verdict_json, verdict_lines
from tavern_trace.errors import SchemaError, TraceError
from tavern_trace.history import HistorySnapshot
from tavern_trace.history_reading import load_history
from tavern_trace.retention import MAX_READ_BYTES
from tavern_trace.schema import TraceRecord
from tavern_trace.trace_file import TraceFile, read_trace_file
from tavern_trace.verify import verify

STANDARD = "-"
LEAST_WIDTH = 40
UNLIMITED_WIDTH = 10_000
"""What goes into a file or another program is not cut."""
MAX_HISTORY_BYTES = 256 * 1024 * 1024
"""A history may be much larger than a store."""
_ZSTANDARD = b"\x28\xb5\x2f\xfd"


class CommandError(Exception):
    """Something that ends the command with one line on standard error."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status. `arguments` default to those of the process."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        if sys.stdout is None:
            return _ended("standard output is closed")
        status: int = options.run(options)
        sys.stdout.flush()
    except CommandError as fault:
        return _ended(str(fault))
    except BrokenPipeError:  # the reader has seen enough
        _silence_output()
        return 0
    except OSError as fault:  # files with a name are dealt with where they are opened
        _silence_output()
        return _ended(f"standard output: {fault.strerror}")
    except KeyboardInterrupt:
        return 130
    return status


def _ended(reason: str) -> int:
    print(f"tavern-trace: {clean(reason)}", file=sys.stderr)
    return 1


def _silence_output() -> None:
    """Let what is still to be written go nowhere: Python would complain once more at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tavern-trace",
        description="Look at trace records, verify them against a session's history, compare them."
        " FILE may be - for standard input; an ID may be cut short.",
    )
    parser.add_argument("--version", action="version", version=f"tavern-trace {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    show = commands.add_parser("show", help="list the records of a file, or show one of them")
    show.add_argument("file", metavar="FILE")
    show.add_argument("--id", metavar="ID", help="show this record in full")
    show.set_defaults(run=_show)

    check = commands.add_parser("verify", help="prove records by the history of their session")
    check.add_argument("file", metavar="FILE")
    check.add_argument(
        "--history", metavar="FILE", required=True, help="session log (JSON lines) or inspection"
    )
    check.add_argument("--id", metavar="ID", help="this record only")
    check.add_argument("--texts", action="store_true", help="print the recovered texts, too")
    check.set_defaults(run=_verify, usage_error=check.error)

    compare = commands.add_parser("diff", help="say what changed between two records")
    compare.add_argument("file", metavar="FILE")
    compare.add_argument("before", metavar="ID")
    compare.add_argument("after", metavar="ID")
    compare.set_defaults(run=_diff)
    for command in (show, check, compare):
        command.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


# --- commands --------------------------------------------------------------------------------


def _show(options: argparse.Namespace) -> int:
    found = _trace_file(options.file)
    one = None if options.id is None else _pick(found.records, options.id)
    if one is None and found.kind == "record":
        one = found.records[0]
    if options.json:
        _print_json(file_json(found, found.records if one is None else [one]))
    elif one is None:
        _print_lines(index_lines(found, _width()))
    else:
        _print_lines(record_lines(one, _width()))
    return 0


def _verify(options: argparse.Namespace) -> int:
    if options.file == options.history == STANDARD:
        options.usage_error("standard input (-) can stand for one file only")
    found = _trace_file(options.file)
    history = _history(options.history)
    one = None if options.id is None else _pick(found.records, options.id)
    records = _of(found, history) if one is None else [one]
    results = [(record, verify(record, history)) for record in records]
    if options.json:
        _print_json(verdict_json(results, texts=options.texts))
    else:
        _print_lines(verdict_lines(results, _width(), texts=options.texts))
    return 0 if all(is_proven(*result) for result in results) else 1


def _diff(options: argparse.Namespace) -> int:
    found = _trace_file(options.file)
    before, after = (_pick(found.records, wanted) for wanted in (options.before, options.after))
    for record in (before, after):
        if record.content_status.is_final:
            raise CommandError(f"record {record.id} has no parts: {record.content_status.value}")
    changes = changed_since(before, after)
    if options.json:
        _print_json(changes_json(changes))
    else:
        _print_lines(changes_lines(changes))
    return 0


def _of(found: TraceFile, history: HistorySnapshot) -> list[TraceRecord]:
    records = [record for record in found.records if record.session_id == history.session_id]
    if not records:
        raise CommandError(f"no record is of session {history.session_id}")
    return records


def _pick(records: Iterable[TraceRecord], wanted: str) -> TraceRecord:
    """Find a record by its id, or by how its id begins if only one does so."""
    close = [record for record in records if record.id.startswith(wanted)]
    exact = [record for record in close if record.id == wanted]
    found = exact or close
    if not found:
        raise CommandError(f"no record has the id {wanted}")
    if len(found) > 1:
        raise CommandError(f"{len(found)} records have an id that begins with {wanted!r}")
    return found[0]


# --- files and streams -----------------------------------------------------------------------


def _trace_file(name: str) -> TraceFile:
    try:
        return read_trace_file(_read(name, MAX_READ_BYTES))
    except TraceError as fault:
        raise CommandError(f"{name}: {fault}") from None


def _history(name: str) -> HistorySnapshot:
    data = _read(name, MAX_HISTORY_BYTES)
    if data.startswith(_ZSTANDARD):
        raise CommandError(f"{name}: it is compressed; unpack it first, with zstd -dc")
    try:
        return load_history(data)
    except SchemaError as fault:
        raise CommandError(f"{name}: {fault}") from None


def _read(name: str, limit_bytes: int) -> bytes:
    if not name:
        raise CommandError("the name of a file is empty")
    if name == STANDARD and sys.stdin is None:
        raise CommandError("standard input is closed")
    try:
        if name == STANDARD:
            data = sys.stdin.buffer.read(limit_bytes + 1)
        else:
            with Path(name).open("rb") as stream:
                data = stream.read(limit_bytes + 1)
    except (OSError, ValueError) as fault:
        raise CommandError(f"{name}: {getattr(fault, 'strerror', None) or fault}") from None
    if len(data) > limit_bytes:
        raise CommandError(f"{name}: more than {limit_bytes} bytes")
    return data


def _width() -> int:
    if not sys.stdout.isatty():
        return UNLIMITED_WIDTH
    return max(shutil.get_terminal_size().columns, LEAST_WIDTH)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _print_json(document: Any) -> None:  # noqa: ANN401 - any JSON value
    print(json.dumps(document, ensure_ascii=False, indent=2))
