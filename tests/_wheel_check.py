"""Looks at built wheels and at what one of them brought into a fresh environment.

Run by `nox -s wheels` as `python -I tests/_wheel_check.py WHEELHOUSE DISTRIBUTION...`, where the
last distribution is the one that was asked for and those before it are the siblings it needs. It
must not import pytest or anything of this tree: the environment holds the packages only.
"""

# ruff: noqa: T201 (what it prints is what `nox -s wheels` shows)

import importlib.metadata
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

PREFIX = "tavern-"


def wheel_faults(distribution: str, version: str, names: Iterable[str]) -> list[str]:
    """Say what the members of one wheel lack or should not hold."""
    package = distribution.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    present = set(names)
    needed = (f"{package}/py.typed", f"{package}/__init__.py", f"{info}/licenses/LICENSE")
    faults = [f"{distribution}: no {name}" for name in needed if name not in present]
    strays = sorted(name for name in present if not name.startswith((f"{package}/", f"{info}/")))
    faults += [f"{distribution}: {name} does not belong to it" for name in strays]
    tests = sorted(name for name in present if "tests" in name.split("/")[:-1])
    return faults + [f"{distribution}: {name} is a test" for name in tests]


def install_faults(expected: Iterable[str], origins: Mapping[str, str], house: str) -> list[str]:
    """Say which siblings are missing, unasked for, or came from elsewhere than the wheelhouse.

    `origins` maps each installed distribution of ours to the address it was installed from.
    """
    wanted = set(expected)
    faults = [f"{name} is not installed" for name in sorted(wanted - set(origins))]
    faults += [f"{name} was not asked for" for name in sorted(set(origins) - wanted)]
    return faults + [
        f"{name} came from {origin or 'an index'}, not from the wheelhouse"
        for name, origin in sorted(origins.items())
        if not origin.startswith(house)
    ]


def import_faults(package: str, allowed: Iterable[str], loaded: Iterable[str]) -> list[str]:
    """Say which siblings an import of `package` loaded beyond those it needs."""
    ours = {name.partition(".")[0] for name in loaded if name.startswith("tavern_")}
    return [f"{package} imports {name}" for name in sorted(ours - {package, *allowed})]


def _origins() -> dict[str, str]:
    ours = {}
    for found in importlib.metadata.distributions():
        name = found.metadata["Name"].replace("_", "-")
        if name.startswith(PREFIX):
            ours[name] = str(json.loads(found.read_text("direct_url.json") or "{}").get("url", ""))
    return ours


def _loaded_by(package: str) -> list[str]:
    # A process of its own: this one may have loaded a sibling for an earlier check.
    script = f"import sys, {package}; print(*sys.modules)"
    command = [sys.executable, "-I", "-c", script]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def _needs(distribution: str) -> list[str]:
    requirements = importlib.metadata.requires(distribution) or []
    names = (re.match(r"[\w-]+", line) for line in requirements)
    return sorted({name[0] for name in names if name and name[0].startswith(PREFIX)})


def _check_files(house: Path) -> list[str]:
    faults = []
    for path in sorted(house.glob("*.whl")):
        package, version = path.name.split("-")[:2]
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
        faults += wheel_faults(package.replace("_", "-"), version, names)
        print(f"{path.name}: {len(names)} files; LICENSE and py.typed in, tests out")
    return faults or ([] if any(house.glob("*.whl")) else [f"no wheel in {house}"])


def _check_imports(distributions: list[str]) -> list[str]:
    faults = []
    for distribution in distributions:
        package, *needs = (name.replace("-", "_") for name in (distribution, *_needs(distribution)))
        faults += import_faults(package, needs, _loaded_by(package))
        print(f"import {package}: loads of ours {', '.join([package, *needs])} at most")
    return faults


def main(house: Path, expected: list[str]) -> int:
    """Check every wheel of the house, then this environment; print what was checked."""
    faults = _check_files(house)
    faults += install_faults(expected, _origins(), house.resolve().as_uri())
    print(f"installed from {house.name}/ and nowhere else: {', '.join(expected)}")
    faults += _check_imports(expected)
    for fault in faults:
        print(f"FAULT: {fault}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
