"""`tavern-loader host`: what the bridge in the host starts, and nobody else.

Must not print: standard output belongs to the link.
"""

import argparse
import os
from functools import partial

from tavern_loader.adapters.hosting import (
    end_process,
    hold_collector,
    release_collector,
    run_host,
)
from tavern_loader.commands.command import Command, Outcome, add_home
from tavern_loader.errors import LoaderError


def _run(options: argparse.Namespace) -> Outcome:
    # Before the other modules: making what they hold would set the collector off a hundred times.
    hold_collector()
    from tavern_loader.adapters.stores import storage_root  # noqa: PLC0415
    from tavern_loader.app import host_methods  # noqa: PLC0415

    home = storage_root(options.dsh_home, os.environ).parent
    try:
        code = run_host(partial(host_methods, warmed=release_collector), home)
    except OSError as error:
        message = "there is no bridge on standard input and output"
        raise LoaderError("LINK_UNUSABLE", message) from error
    end_process(code)
    return code


COMMANDS = (
    Command(
        name="host",
        help="serve a host that has started this; not for people",
        description="Speak JSON-RPC on standard input and output with the bridge that started this"
        " process, until the input ends.",
        add_options=add_home,
        run=_run,
    ),
)
