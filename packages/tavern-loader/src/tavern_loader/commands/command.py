"""What a command of the command line is.

A command is a row of the table in `commands`: it says its options and gives what to print.
"""

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from tavern_loader.installation import Installation


@frozen
class Ended:
    """What is printed, and the exit code."""

    shown: str | bytes
    code: int = 0


Outcome = str | bytes | Ended | int
"""What is printed, or an exit code if the command has printed by itself."""


@frozen(kw_only=True)
class Command:
    """One command."""

    name: str
    help: str
    """One line for the list of commands."""
    description: str = ""
    """For the command's own help; the line for the list if it is empty."""
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Outcome]
    """Raises LoaderError for what cannot be done; `options.usage_error` ends with exit code 2."""


def add_home(parser: argparse.ArgumentParser) -> None:
    """Let a command be told which home of the host it is about."""
    parser.add_argument(
        "--dsh-home", metavar="DIR", help="home folder of the host; else $DSH_HOME, else ~/.dsh"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let a command be asked for one JSON document."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def installation(options: argparse.Namespace) -> "Installation":
    """Open the installation that a command is about."""
    # Not at the top: some commands need none, and all that one is made of takes long to load.
    from tavern_loader.installation import find_installation  # noqa: PLC0415

    return find_installation(options.dsh_home, os.environ)
