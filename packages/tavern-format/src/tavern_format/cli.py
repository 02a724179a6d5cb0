"""The `tavern-format` command: look at, check and convert files.

The only module of the package that reads files and writes them. Every fault of the input is one
line on standard error; exit status 0 is success, 1 an input that cannot be used (or, for
`validate`, problems), 2 wrong arguments.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

import attrs

from tavern_format import _json_text as json_text
from tavern_format._book_writing import convert_world_book, dump_world_book
from tavern_format._card_writing import dump_card, dump_card_charx, dump_card_png
from tavern_format._version import __version__
from tavern_format.card import CardSpec, CharacterCard
from tavern_format.cli_report import inspection, inspection_lines, printable, problem_line
from tavern_format.detection import Detection
from tavern_format.diagnostics import Diagnostic, Parsed, Severity
from tavern_format.errors import CarrierError, FormatError, LimitExceededError
from tavern_format.limits import DEFAULT_LIMITS
from tavern_format.resource import parse_resource
from tavern_format.world_book import BookSpelling, WorldBook

STANDARD = "-"
_CARD_TARGETS = {"v1": CardSpec.V1, "v2": CardSpec.V2, "v3": CardSpec.V3}
_BOOK_TARGETS = {
    "world-book": BookSpelling.WORLD_INFO,
    "character-book": BookSpelling.CHARACTER_BOOK,
}
TARGETS = (*_CARD_TARGETS, "png", "charx", *_BOOK_TARGETS)


class CommandError(Exception):
    """Something that ends the command with one line on standard error."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status. `arguments` default to those of the process."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        _silence(sys.stdout)
        return 0
    except KeyboardInterrupt:
        return 130
    except (CommandError, OSError, ValueError) as fault:
        print(f"tavern-format: {_fault_line(fault, options)}", file=sys.stderr)
        if isinstance(fault, OSError):
            _silence(sys.stdout)
        return 1
    return status


def _fault_line(fault: Exception, options: argparse.Namespace) -> str:
    if isinstance(fault, FormatError):  # of a file that is no longer being read: the command's own
        return f"{_shown(getattr(options, 'file', STANDARD))}: {fault}"
    if isinstance(fault, OSError):  # files with a name are dealt with where they are opened
        return f"standard output: {_reason(fault)}"
    return str(fault) if isinstance(fault, CommandError) else printable(str(fault))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tavern-format",
        description="Look at, check and convert SillyTavern resources. FILE may be - for standard"
        " input; the kind of a file is told by its content.",
    )
    parser.add_argument("--version", action="version", version=f"tavern-format {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    inspect = commands.add_parser("inspect", help="say what a file is and what it holds")
    inspect.add_argument("file", metavar="FILE")
    inspect.add_argument("--json", action="store_true", help="print one JSON document")
    inspect.set_defaults(run=_inspect)

    validate = commands.add_parser("validate", help="list the problems of files, one a line")
    validate.add_argument("files", metavar="FILE", nargs="+")
    validate.add_argument("--strict", action="store_true", help="infos are problems too")
    validate.add_argument("--json", action="store_true", help="print one JSON document")
    validate.set_defaults(run=_validate)

    convert = commands.add_parser("convert", help="write a card or a book in another form")
    convert.add_argument("file", metavar="FILE")
    convert.add_argument("--to", required=True, choices=TARGETS)
    convert.add_argument("--picture", metavar="PNG", help="picture for --to png")
    _add_output(convert)
    convert.set_defaults(run=_convert, refuse_arguments=convert.error)

    extract = commands.add_parser("extract", help="take the card JSON, or its book, out of a file")
    extract.add_argument("file", metavar="FILE")
    extract.add_argument("--book", action="store_true", help="the embedded book, as a world book")
    extract.add_argument("--files", metavar="DIR", help="also write the card's files below DIR")
    _add_output(extract)
    extract.set_defaults(run=_extract)

    embed = commands.add_parser("embed", help="put a card into a PNG, or a book into a card")
    embed.add_argument("file", metavar="CARD")
    target = embed.add_mutually_exclusive_group(required=True)
    target.add_argument("--into", metavar="PNG", help="the picture that shall carry the card")
    target.add_argument("--book", metavar="BOOK", help="the world book to put into the card")
    _add_output(embed)
    embed.set_defaults(run=_embed)
    return parser


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="OUT", default=STANDARD, help="default: standard output"
    )
    parser.add_argument("--force", action="store_true", help="overwrite OUT")


# --- commands --------------------------------------------------------------------------------


def _inspect(options: argparse.Namespace) -> int:
    found, parsed, size_bytes = _parse_any(options.file)
    facts = inspection(found, parsed, size_bytes)
    if options.json:
        _print_json({"file": options.file, **facts})
        return 0
    _print_lines(inspection_lines(facts))
    return 0


def _validate(options: argparse.Namespace) -> int:
    results = [(file, _problems(file)) for file in options.files]
    if options.json:
        documents = [
            {"file": file, "problems": [_problem_json(problem) for problem in problems]}
            for file, problems in results
        ]
        _print_json(documents)
    else:
        several = len(results) > 1
        for file, problems in results:
            prefix = f"{printable(file)}: " if several else ""
            _print_lines(prefix + problem_line(problem) for problem in problems)
    harmless = set() if options.strict else {Severity.INFO}
    failed = any(problem.severity not in harmless for _, found in results for problem in found)
    return 1 if failed else 0


def _problems(file: str) -> tuple[Diagnostic, ...]:
    try:
        _, parsed = parse_resource(_read(file))
    except FormatError as fault:
        place = getattr(fault, "path", None) or ""
        offset = getattr(fault, "offset_bytes", None)
        message = fault.message if offset is None else f"{fault.message} (byte {offset})"
        return (Diagnostic(fault.code, Severity.ERROR, place, message),)
    except CommandError as fault:
        return (Diagnostic("FILE_UNREADABLE", Severity.ERROR, "", str(fault)),)
    return parsed.diagnostics


def _convert(options: argparse.Namespace) -> int:
    if options.picture is not None and options.to != "png":
        options.refuse_arguments("--picture goes with --to png only")
    value = _parse(options.file)
    _write(options, _converted(value, options))
    return 0


def _converted(value: Any, options: argparse.Namespace) -> bytes:  # noqa: ANN401
    spelling = _BOOK_TARGETS.get(options.to)
    if spelling is not None:
        book = value.character_book if isinstance(value, CharacterCard) else value
        if not isinstance(book, WorldBook):
            _refuse(f"{_shown(options.file)}: there is no world book in this file")
        name = Path(options.file).stem if options.file != STANDARD else "world"
        return dump_world_book(convert_world_book(book, spelling, name=name), indent=4)
    if not isinstance(value, CharacterCard):
        _refuse(f"{_shown(options.file)}: only a character card becomes {options.to}")
    if options.picture is not None:
        return _card_png(value, options.picture)
    if options.to == "png":
        return dump_card_png(value)
    if options.to == "charx":
        return dump_card_charx(value)
    return dump_card(value, spec=_CARD_TARGETS[options.to], indent=4)


def _card_png(card: CharacterCard, picture: str) -> bytes:
    """Put a card into the picture of a file; what is wrong then is the picture's."""
    data = _read(picture)
    try:
        return dump_card_png(card, picture=data)
    except CarrierError as fault:
        _refuse(f"{_shown(picture)}: {fault}")


def _extract(options: argparse.Namespace) -> int:
    card = _parse_card(options.file)
    if not options.book:
        result = dump_card(card, indent=4)
    elif card.character_book is None:
        _refuse(f"{_shown(options.file)}: the card has no book")
    else:
        book = convert_world_book(card.character_book, BookSpelling.WORLD_INFO, name=card.name)
        result = dump_world_book(book, indent=4)
    if options.files is not None:
        _write_files(Path(options.files), card, force=options.force)
    _write(options, result)
    return 0


def _embed(options: argparse.Namespace) -> int:
    card = _parse_card(options.file)
    if options.into is not None:
        _write(options, _card_png(card, options.into))
        return 0
    book = _parse(options.book)
    if not isinstance(book, WorldBook):
        _refuse(f"{_shown(options.book)}: this is no world book")
    inner = convert_world_book(book, BookSpelling.CHARACTER_BOOK, name=Path(options.book).stem)
    _write(options, dump_card(attrs.evolve(card, character_book=inner), indent=4))
    return 0


# --- files -----------------------------------------------------------------------------------


def _parse_any(file: str) -> tuple[Detection, Parsed[Any], int]:
    """Parse a file of any kind; the number is its size in bytes."""
    data = _read(file)
    try:
        return (*parse_resource(data), len(data))
    except FormatError as fault:
        raise CommandError(f"{_shown(file)}: {fault}") from None


def _parse(file: str) -> Any:  # noqa: ANN401
    return _parse_any(file)[1].value


def _parse_card(file: str) -> CharacterCard:
    value = _parse(file)
    if not isinstance(value, CharacterCard):
        _refuse(f"{_shown(file)}: this is no character card")
    return value


def _read(file: str) -> bytes:
    maximum = DEFAULT_LIMITS.input_bytes
    with _blaming(file):
        if file == STANDARD:
            data = sys.stdin.buffer.read(maximum + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(maximum + 1)
    if len(data) > maximum:
        too_large = LimitExceededError(
            limit="input_bytes", actual=len(data), maximum=maximum, unit="bytes"
        )
        _refuse(f"{_shown(file)}: {too_large}")
    return data


def _write(options: argparse.Namespace, data: bytes) -> None:
    if options.output != STANDARD:
        _write_file(Path(options.output), data, force=options.force)
        return
    if sys.stdout.isatty() and data[:1] not in (b"{", b"["):
        _refuse("the result is no text: name a file with -o")
    sys.stdout.buffer.write(data)
    if data[:1] in (b"{", b"["):
        sys.stdout.buffer.write(b"\n")


def _write_file(path: Path, data: bytes, *, force: bool) -> None:
    if path.exists() and not force:
        _refuse(f"{_shown(str(path))}: exists (--force overwrites it)")
    with _blaming(str(path)), path.open("wb" if force else "xb") as stream:
        stream.write(data)


def _write_files(folder: Path, card: CharacterCard, *, force: bool) -> None:
    """Write the card's files below a folder, after a look at all their paths.

    The reader has left out every name that leads out of the folder; this is the second lock. It
    also holds against links that lie in the folder already.
    """
    with _blaming(str(folder)):
        root = Path(os.path.realpath(folder))
        paths = {name: Path(os.path.realpath(root / name)) for name in card.files}
    for name, path in paths.items():
        if root not in path.parents:
            _refuse(f"{_shown(name)}: leads out of the folder")
    for name, path in paths.items():
        data = card.files[name]
        with _blaming(str(folder / name)):
            path.parent.mkdir(parents=True, exist_ok=True)
        _write_file(path, data, force=force)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _print_json(document: object) -> None:
    """Write UTF-8 whatever the locale says: the reader is a program."""
    sys.stdout.flush()
    sys.stdout.buffer.write(json_text.dump(document, indent=2) + b"\n")


def _problem_json(problem: Diagnostic) -> dict[str, str]:
    return {
        "severity": problem.severity,
        "code": problem.code,
        "pointer": problem.path,
        "message": problem.message,
    }


@contextmanager
def _blaming(file: str) -> Iterator[None]:
    """Name the file in what the system says about it."""
    try:
        yield
    except OSError as fault:
        raise CommandError(f"{_shown(file)}: {_reason(fault)}") from None


def _reason(fault: OSError) -> str:
    return printable(fault.strerror or str(fault))


def _shown(file: str) -> str:
    return "standard input" if file == STANDARD else printable(file)


def _silence(stream: TextIO) -> None:
    """Let what is left in a broken stream go nowhere: Python would complain again at its exit."""
    with suppress(OSError, ValueError):  # a stream without a number of its own has no such trouble
        number = stream.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _refuse(message: str) -> NoReturn:
    raise CommandError(message)
