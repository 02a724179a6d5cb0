"""The host's own program: where it is, what version it is, and whether it takes a profile.

Owns processes of `dsh` and `node`. Must not know what is in a profile.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

TIMEOUT_S = 60.0
_SCRIPTS = frozenset({".js", ".mjs", ".cjs"})


@frozen
class Ran:
    """A process that has ended."""

    code: int
    output: str
    errors: str

    @property
    def last_words(self) -> str:
        """The last line it wrote, for a message."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1].strip() if lines else f"it ended with code {self.code}"


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Ran:
    """Run a program to its end; one that cannot be run, or takes too long, has failed."""
    try:
        done = subprocess.run(  # noqa: S603 (the programs are those of the user's own path)
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=TIMEOUT_S,
            env={**os.environ, **(environment or {})},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Ran(127, "", f"{command[0]}: {error}")
    return Ran(done.returncode, _text(done.stdout), _text(done.stderr))


def find_node() -> str | None:
    """Find Node on the path."""
    return shutil.which("node")


@frozen
class DshProgram:
    """How `dsh` is called."""

    command: tuple[str, ...]

    def version(self) -> str | None:
        """Ask for the version; None if it does not run."""
        ran = run([*self.command, "--version"])
        return ran.output.strip() if ran.code == 0 else None

    def compose(self, home: Path, profile: str) -> Ran:
        """Let the host put a profile together without starting it; makes a missing one."""
        command = [*self.command, "--profile", profile, "--dump-config"]
        return run(command, {"DSH_HOME": str(home)})


def find_dsh(given: str | None) -> DshProgram | None:
    """Find the host's program: the one given, a script of Node or a command, else on the path."""
    if given is not None and Path(given).suffix in _SCRIPTS:
        return DshProgram((find_node() or "node", given))
    found = shutil.which(given or "dsh")
    if found is not None:
        return DshProgram((found,))
    return None if given is None else DshProgram((given,))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
