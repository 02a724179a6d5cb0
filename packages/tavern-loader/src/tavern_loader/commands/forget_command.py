"""`tavern-loader forget`: drops what sessions have bound."""

import argparse

from tavern_loader.adapters.session_logs import LoggedHost
from tavern_loader.commands.command import Command, Outcome, add_home, add_json, installation
from tavern_loader.commands.showing import document_text, lines_text


def _add_options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--session", metavar="ID", action="append", help="may be given again")
    which.add_argument(
        "--gone", action="store_true", help="all sessions whose log is not in the home any more"
    )
    add_home(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> Outcome:
    held = installation(options)
    seen = held.library.session_ids()
    if options.gone:
        logged = LoggedHost(held.storage.root.parent).logged_ids()
        forgotten = [one for one in seen if one not in logged]
    else:
        forgotten = [one for one in seen if one in options.session]
    held.library.forget_sessions(forgotten)
    if options.json:
        return document_text({"forgotten": forgotten})
    return lines_text([f"{len(forgotten)} of {len(seen)} sessions forgotten", *forgotten])


COMMANDS = (
    Command(
        name="forget",
        help="drop what sessions have bound, such as those that are gone",
        description="Drop what sessions have bound. At its next sight a session begins anew. At"
        " most 2,048 sessions can have something bound, and none is dropped by itself.",
        add_options=_add_options,
        run=_run,
    ),
)
