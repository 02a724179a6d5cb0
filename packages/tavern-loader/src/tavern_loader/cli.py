"""The command line: finds the command, prints what it gives, and ends with its exit code.

Owns exit codes. Exit codes: 0 done, 1 something cannot be done or used, 2 wrong arguments, 130
interrupted. The commands are in `commands`.
"""

import argparse
import sys
from collections.abc import Sequence

from tavern_loader._version import __version__
from tavern_loader.adapters.console import as_bytes, complain, write_output
from tavern_loader.commands import MODULES, load_command
from tavern_loader.commands.command import Ended, Outcome
from tavern_loader.errors import LoaderError

INTERRUPTED = 130
"""As shells have it: 128 and the number of the signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; wrong arguments end the process with 2."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = _parser(given).parse_args(given)
        return _end(options.command.run(options))
    except LoaderError as error:
        complain(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED


def _end(outcome: Outcome) -> int:
    """Print what a command gives; its exit code."""
    if isinstance(outcome, int):
        return outcome
    ended = outcome if isinstance(outcome, Ended) else Ended(outcome)
    shown = ended.shown
    write_output(as_bytes(shown) if isinstance(shown, str) else shown)
    return ended.code


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
