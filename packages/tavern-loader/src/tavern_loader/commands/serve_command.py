"""`tavern-loader serve`: the HTTP API on a socket of its own, without a host.

Owns its options and what it prints. Must not know routes.
"""

import argparse

from tavern_loader.adapters.console import complain
from tavern_loader.adapters.http.serving import serve
from tavern_loader.adapters.http.walls import Security
from tavern_loader.adapters.session_logs import LoggedHost
from tavern_loader.commands.command import Command, Outcome, add_home, installation
from tavern_loader.errors import LoaderError
from tavern_loader.http_app import http_api, parts_alone

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 7320
LAST_PORT = 65_535


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_home(parser)
    add = parser.add_argument
    add("--host", metavar="ADDRESS", default=DEFAULT_HOST, help="default: %(default)s")
    add("--port", metavar="N", type=_port, default=DEFAULT_PORT, help="default: %(default)s")
    add(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a further host name that the API answers to; may be given again",
    )
    add(
        "--allow-remote-clients",
        action="store_true",
        help="let other machines in; nobody is asked for a password",
    )


def _port(text: str) -> int:
    """Read a port for argparse."""
    if not text.isascii() or not text.isdecimal() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"a whole number up to {LAST_PORT} is needed")
    return int(text)


def _run(options: argparse.Namespace) -> Outcome:
    opened = installation(options)
    security = Security(
        allowed_hosts=options.allow_host,
        allow_remote_clients=options.allow_remote_clients,
    )
    host = LoggedHost(opened.storage.root.parent)
    api = http_api(opened, parts_alone(opened, complain, host), complain, security=security)
    try:
        serve(api, options.host, options.port, _announce)
    except OSError as error:
        # Python repeats the address behind the reason.
        reason = (error.strerror or type(error).__name__).partition(" (while")[0]
        message = f"{options.host} port {options.port} cannot be opened: {reason}"
        raise LoaderError("ADDRESS_UNUSABLE", message) from error
    finally:
        api.close()
    return 0


def _announce(host: str, port: int) -> None:
    shown = f"[{host}]" if ":" in host else host
    complain(f"serving http://{shown}:{port}/pmp-dsh-tavern/api")


COMMANDS = (
    Command(
        name="serve",
        help="serve the HTTP API alone, on this machine",
        description="Serve the HTTP API on the stores of the host's home, without a host: no"
        " session counts as running, and records are verified by the logs that sessions left.",
        add_options=_add_options,
        run=_run,
    ),
)
