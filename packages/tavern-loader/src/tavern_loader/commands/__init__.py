"""The commands of the command line: this table is the whole list.

A module is loaded only when its command is used, or when all commands are listed: the command that
a host starts must not wait for what others need.
"""

from collections.abc import Mapping
from importlib import import_module

from tavern_loader.commands.command import Command

MODULES: Mapping[str, str] = {
    "compile": "compile_command",
    "import": "resource_commands",
    "list": "resource_commands",
    "show": "resource_commands",
    "export": "resource_commands",
    "delete": "resource_commands",
    "bind": "bind_command",
    "forget": "forget_command",
    "active": "active_command",
    "trace": "trace_command",
    "serve": "serve_command",
    "install": "install_command",
    "uninstall": "install_command",
    "doctor": "install_command",
    "host": "host_command",
}
"""Command to module, in the order in which `--help` lists them. A new command is one row; its
module has it in `COMMANDS`."""


def load_command(name: str) -> Command:
    """Load a command of the table."""
    commands: tuple[Command, ...] = import_module(f"{__name__}.{MODULES[name]}").COMMANDS
    return next(command for command in commands if command.name == name)
