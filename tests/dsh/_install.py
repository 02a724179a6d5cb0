"""DSH, Node and pnpm from npm: `python -m tests.dsh._install` brings them and says where they are.

Nothing of it enters the repository: it goes into the folder that TAVERN_DSH_CACHE names, or the
user's cache folder. No install script of a package is run.
"""

# ruff: noqa: T201 (run as a program, it prints)

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VERSION = "0.1.0-rc.8"
NODE = "22"
PNPM = "10"
CACHE_VARIABLE = "TAVERN_DSH_CACHE"

# What was published with this version of DSH. Its own ranges take newer ones, which do not boot.
_PINNED = {
    "@deepseek-ai/cordis": "4.0.1",
    "@deepseek-ai/cordis-plugin-group": "1.0.1",
    "@deepseek-ai/cordis-plugin-hmr": "1.0.16",
    "@deepseek-ai/cordis-plugin-include": "1.0.6",
    "@deepseek-ai/cordis-plugin-loader": "1.0.2",
    "@deepseek-ai/cordis-plugin-timer": "1.1.3",
    "@deepseek-ai/cosmokit": "1.8.2",
    "@deepseek-ai/schemastery": "3.18.1",
}
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class DshUnavailableError(Exception):
    """DSH is not here and cannot be brought; the text says what is missing."""


@dataclass(frozen=True)
class Toolbox:
    """An installation of the host."""

    folder: Path

    @property
    def node_folder(self) -> Path:
        """Where `node` is."""
        return self.folder / "tools" / "node_modules" / _node_package() / "bin"

    @property
    def pnpm_folder(self) -> Path:
        """Where `pnpm` is."""
        return self.folder / "tools" / "node_modules" / ".bin"

    @property
    def node(self) -> Path:
        """Node itself."""
        return self.node_folder / "node"

    @property
    def script(self) -> Path:
        """The host's program, a script of Node."""
        return self.packages / "dsh" / "lib" / "bin.js"

    @property
    def packages(self) -> Path:
        """The host's own packages."""
        return self.folder / "dsh" / "node_modules" / "@deepseek-ai"

    @property
    def is_whole(self) -> bool:
        """Whether all of it is there, in the right version."""
        if not (self.node.is_file() and (self.pnpm_folder / "pnpm").exists()):
            return False
        # The last package that an installation writes is not known; these two are far apart.
        manifests = [self.packages / name / "package.json" for name in ("dsh", "dsh-workspace")]
        return all(path.is_file() and _version(path) == VERSION for path in manifests)


def cache_folder() -> Path:
    """Say where the host is kept between runs."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    home = Path.home()
    base = home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or base) / "tavern-dsh"


def find() -> Toolbox | None:
    """Give the installation in the cache; None if it is not whole."""
    toolbox = Toolbox(cache_folder())
    return toolbox if platform.system() in _SYSTEMS and toolbox.is_whole else None


def bring() -> Toolbox:
    """Give the installation in the cache, and make it first if need be.

    Raises DshUnavailableError.
    """
    found = find()
    if found is not None:
        return found
    npm = shutil.which("npm")
    if npm is None:
        raise DshUnavailableError("npm is needed to install DSH: there is no `npm` on the path")
    toolbox = Toolbox(cache_folder())
    _bring_tools(toolbox, npm)
    _bring_dsh(toolbox)
    if not toolbox.is_whole:
        raise DshUnavailableError(f"DSH was installed in {toolbox.folder}, but not whole")
    return toolbox


def _bring_tools(toolbox: Toolbox, npm: str) -> None:
    folder = toolbox.folder / "tools"
    folder.mkdir(parents=True, exist_ok=True)
    _write_manifest(folder)
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--silent")
    _run([npm, "install", *options, f"{_node_package()}@{NODE}", f"pnpm@{PNPM}"], folder)


def _bring_dsh(toolbox: Toolbox) -> None:
    folder = toolbox.folder / "dsh"
    folder.mkdir(parents=True, exist_ok=True)
    _write_manifest(folder)
    pins = "".join(f"  '{name}': {version}\n" for name, version in _PINNED.items())
    settings = f"nodeLinker: hoisted\nautoInstallPeers: true\noverrides:\n{pins}"
    (folder / "pnpm-workspace.yaml").write_text(settings, encoding="utf-8")
    pnpm = [str(toolbox.node), str(toolbox.pnpm_folder / "pnpm")]
    store = toolbox.folder / "pnpm-store"
    options = ("--ignore-scripts", f"--store-dir={store}", "--reporter=silent")
    _run([*pnpm, "add", f"@deepseek-ai/dsh@{VERSION}", *options], folder)


def _run(command: Sequence[str], folder: Path) -> None:
    path = f"{Toolbox(folder.parent).node_folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, check=False
    )
    if done.returncode:
        said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
        raise DshUnavailableError(f"{' '.join(command[:3])} failed: {said[-2000:]}")


def _write_manifest(folder: Path) -> None:
    # npm and pnpm look for one upwards, and would install there.
    manifest = {"name": f"tavern-{folder.name}", "private": True, "version": "0.0.0"}
    (folder / "package.json").write_text(json.dumps(manifest), encoding="utf-8")


def _node_package() -> str:
    system, machine = _SYSTEMS.get(platform.system()), _MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        found = f"{platform.system()} on {platform.machine()}"
        raise DshUnavailableError(f"no Node is known here for {found}")
    return f"node-{system}-{machine}"


def _version(manifest: Path) -> str:
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])


if __name__ == "__main__":
    try:
        print(bring().folder)
    except DshUnavailableError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
