"""The real engine: SillyTavern from npm, under Node, spoken to by lines of JSON.

Nothing of it enters the repository: it is installed without running any of its install scripts,
into the folder that TAVERN_ORACLE_CACHE names, or the user's cache folder.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

VERSION = "1.19.0"
LEAST_NODE = 20
CACHE_VARIABLE = "TAVERN_ORACLE_CACHE"

_SERVER = Path(__file__).parent / "js" / "serve.mjs"


class OracleUnavailableError(Exception):
    """There is no Node, or SillyTavern could not be installed; the text says what to do."""


def node() -> str:
    """Find a Node that is new enough; raises OracleUnavailableError."""
    found = shutil.which("node")
    if found is None:
        raise OracleUnavailableError(f"Node {LEAST_NODE} or newer is needed: no `node` on the path")
    asked = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
    version = asked.stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < LEAST_NODE:
        raise OracleUnavailableError(f"Node {LEAST_NODE} or newer is needed: this is {version}")
    return found


def cache_folder() -> Path:
    """Say where SillyTavern is kept between runs."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tavern-oracle"


def installed() -> Path | None:
    """Give the folder of the npm package; None where it is not installed."""
    package = cache_folder() / f"sillytavern-{VERSION}" / "node_modules" / "sillytavern"
    return package if (package / "package.json").is_file() and _is_whole(package) else None


def install() -> Path:
    """Install the npm package unless it is there; raises OracleUnavailableError."""
    package = installed()
    if package is not None:
        return package
    npm = shutil.which("npm")
    if npm is None:
        raise OracleUnavailableError("npm is needed to install SillyTavern: no `npm` on the path")
    folder = cache_folder() / f"sillytavern-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    # npm looks for a package.json upwards and would install there.
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--omit=dev")
    command = [npm, "install", *options, f"sillytavern@{VERSION}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    package = installed()
    if done.returncode or package is None:
        raise OracleUnavailableError(f"npm could not install SillyTavern:\n{done.stderr.strip()}")
    return package


def _is_whole(package: Path) -> bool:
    """Tell a finished installation: the parser lies beside the package, or inside it."""
    parser = Path("node_modules") / "acorn" / "package.json"
    return any((place / parser).is_file() for place in (package, package.parents[1]))


class RealEngine:
    """A running Node process with the engine in it; use it in a `with` statement."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self.node_version = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def run(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Run one case; gives what its `expected` would hold."""
        answer: dict[str, Any] = self._ask({"run": case})
        return answer

    def time(self, case: Mapping[str, Any], repeat: int) -> tuple[list[float], int]:
        """Time one case: milliseconds of every repetition, and how many entries were activated."""
        answer = self._ask({"time": case, "repeat": repeat})
        return answer["samples_ms"], answer["activated"]

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [node(), "--max-old-space-size=4096", str(_SERVER), str(self.package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.node_version = self._read()["node"]

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def _ask(self, request: Mapping[str, Any]) -> Any:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise OracleUnavailableError("the Node process ended: its message stands above")
        return json.loads(line)
