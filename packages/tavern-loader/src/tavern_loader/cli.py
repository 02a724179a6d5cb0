"""The command line: reads files, prints reports.

Owns arguments, exit codes and everything that touches files and streams. Exit codes: 0 done, 1 an
input cannot be used, 2 wrong arguments.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from attrs import evolve

from tavern_format import DEFAULT_LIMITS
from tavern_loader._version import __version__
from tavern_loader.document import json_document
from tavern_loader.errors import InputError, LoaderError
from tavern_loader.report import DEFAULT_WIDTH, MIN_WIDTH, text_report
from tavern_loader.samples import DEFAULT_SAMPLE, SAMPLES, sample_request
from tavern_loader.service.compile_files import compile_files
from tavern_loader.service.reading import SourceFile
from tavern_loader.service.resources import CompileRequest

STDIN = "-"
FILE_OPTIONS = ("card", "world", "preset", "chat")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; wrong arguments end the process with 2."""
    options = _parser().parse_args(arguments)
    try:
        _write(_run(options))
        sys.stdout.flush()
    except LoaderError as error:
        _complain(str(error))
        return 1
    except BrokenPipeError:
        # The reader has seen enough. Python flushes once more at exit: that goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _run(options: argparse.Namespace) -> str:
    if options.list_samples:
        return "".join(f"{name:<10}{sample.title}\n" for name, sample in SAMPLES.items())
    request, title = _request(options)
    done = compile_files(request)
    if options.json:
        return json.dumps(json_document(done), ensure_ascii=False, indent=2) + "\n"
    return text_report(done, options.width or _terminal_width(), title=title)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tavern-loader", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    compiling = commands.add_parser(
        "compile",
        help="show the prompt parts, the reason for every world book entry, and all remarks",
        description="Compile files to ordered prompt parts. Without a file, a sample set is used."
        " One of the files may be - for standard input.",
    )
    compiling.set_defaults(usage_error=compiling.error)
    add = compiling.add_argument
    add("--card", metavar="FILE", help="character card: PNG, CHARX, JSON, YAML")
    add("--world", metavar="FILE", action="append", help="world book; may be given again")
    add("--no-card-book", action="store_true", help="leave the book inside the card alone")
    add("--preset", metavar="FILE", help="chat-completion preset")
    add("--chat", metavar="FILE", help="chat, JSON Lines")
    add("--input", metavar="TEXT", help="the message about to be sent")
    add("--user", metavar="NAME", help="the user's name; else as in the chat")
    add("--persona", metavar="TEXT|FILE", help="the user's description, or a text file with it")
    add("--seed", metavar="TEXT", help="another text gives other draws of chances and groups")
    add("--sample", metavar="NAME", choices=SAMPLES, help="use a sample set: %(choices)s")
    add("--list-samples", action="store_true", help="list the sample sets and stop")
    add("--json", action="store_true", help="print one JSON document")
    wide = f"line width; else the terminal's, or {DEFAULT_WIDTH}"
    add("--width", metavar="CELLS", type=_width, help=wide)
    return parser


def _width(text: str) -> int:
    """Read a width for argparse."""
    if not text.isascii() or not text.isdecimal() or int(text) < MIN_WIDTH:
        raise argparse.ArgumentTypeError(f"a whole number from {MIN_WIDTH} on is needed")
    return int(text)


def _request(options: argparse.Namespace) -> tuple[CompileRequest, str]:
    """Build the request, and the headline that says what was used."""
    paths = [options.card, *(options.world or ()), options.preset, options.chat, options.persona]
    given = [name for name in FILE_OPTIONS if getattr(options, name)]
    if given and options.sample:
        options.usage_error(f"argument --sample: not allowed with --{given[0]}")
    if paths.count(STDIN) > 1:
        options.usage_error("standard input (-) can stand for one file only")
    if given:
        request, title = _files_request(options), "Files"
    else:
        name = options.sample or DEFAULT_SAMPLE
        request, title = sample_request(name), f"Sample set {name}"
    return _with_texts(request, options), title


def _files_request(options: argparse.Namespace) -> CompileRequest:
    return CompileRequest(
        card=_optional(options.card),
        worlds=tuple(_source(path) for path in options.world or ()),
        preset=_optional(options.preset),
        chat=_optional(options.chat),
    )


def _with_texts(request: CompileRequest, options: argparse.Namespace) -> CompileRequest:
    texts = {
        "input_text": options.input,
        "user_name": options.user,
        "seed": options.seed,
        "persona": None if options.persona is None else _persona(options.persona),
    }
    told = {name: text for name, text in texts.items() if text is not None}
    return evolve(request, use_card_book=not options.no_card_book, **told)


def _persona(value: str) -> str:
    """Take the text of a file where there is one of that name, else the value itself."""
    if value != STDIN and not _is_file(value):
        return value
    source = _source(value)
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the text is not UTF-8 (byte {error.start})"
        raise InputError("ENCODING_NOT_UTF8", message, file=source.name) from error


def _is_file(value: str) -> bool:
    try:
        return Path(value).is_file()
    except OSError:  # a text can be too long for a file name
        return False


def _optional(path: str | None) -> SourceFile | None:
    return None if path is None else _source(path)


def _source(path: str) -> SourceFile:
    """Read a whole file, but not one that no parser would take."""
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


def _read(stream: BinaryIO, name: str) -> bytes:
    limit = DEFAULT_LIMITS.input_bytes
    data = stream.read(limit + 1)
    if len(data) > limit:
        message = f"the file has more than {limit} bytes"
        raise InputError("FILE_TOO_LARGE", message, file=name)
    return data


def _terminal_width() -> int:
    if not sys.stdout.isatty():
        return DEFAULT_WIDTH
    return shutil.get_terminal_size((DEFAULT_WIDTH, 0)).columns


def _write(text: str) -> None:
    """Write UTF-8 whatever the locale says; half a surrogate pair is written as its escape."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))


def _complain(line: str) -> None:
    text = f"tavern-loader: error: {' '.join(line.split())}\n"
    sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stderr.flush()
