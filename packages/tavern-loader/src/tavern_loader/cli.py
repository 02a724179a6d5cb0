"""The command line: finds the command, prints what it gives, and ends with its exit code.

Owns exit codes and standard output. Exit codes: 0 done, 1 something cannot be done or used, 2 wrong
arguments. The commands are in `commands`.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from tavern_loader._version import __version__
from tavern_loader.commands import MODULES, load_command
from tavern_loader.errors import LoaderError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; wrong arguments end the process with 2."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser(given).parse_args(given)
    try:
        outcome = options.command.run(options)
        if isinstance(outcome, int):
            return outcome
        _write(outcome)
        sys.stdout.flush()
    except LoaderError as error:
        _complain(str(error))
        return 1
    except BrokenPipeError:
        # The reader has seen enough. Python flushes once more at exit: that goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Make the parser of the command that was given; without one, of all of them."""
    parser = argparse.ArgumentParser(prog="tavern-loader", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    rows = parser.add_subparsers(metavar="COMMAND", required=True)
    used = next((one for one in given if not one.startswith("-")), None)
    for name in [used] if used is not None and used in MODULES else MODULES:
        command = load_command(name)
        row = rows.add_parser(
            name, help=command.help, description=command.description or command.help
        )
        command.add_options(row)
        row.set_defaults(command=command, usage_error=row.error)
    return parser


def _write(text: str) -> None:
    """Write UTF-8 whatever the locale says; half a surrogate pair is written as its escape."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))


def _complain(line: str) -> None:
    text = f"tavern-loader: error: {' '.join(line.split())}\n"
    sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stderr.flush()
