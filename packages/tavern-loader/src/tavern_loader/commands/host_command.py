"""`tavern-loader host`: what the bridge in the host starts, and nobody else.

Must not print: standard output belongs to the link.
"""

import argparse
import os

from tavern_loader.adapters.hosting import end_process, run_host
from tavern_loader.adapters.stores import storage_root
from tavern_loader.app import host_methods
from tavern_loader.commands.command import Command, Outcome, add_home


def _run(options: argparse.Namespace) -> Outcome:
    home = storage_root(options.dsh_home, os.environ).parent
    code = run_host(host_methods, home)
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
