"""Where the parts of the tree are, and what its pyproject.toml files declare."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tests._module import Module

ROOT = Path(__file__).parents[1]
FOLDERS = tuple(sorted(ROOT.glob("packages/*/")))


def import_name(folder: Path) -> str:
    """Name the import package of a folder of packages/."""
    return folder.name.replace("-", "_")


@cache
def project(folder: Path) -> dict[str, Any]:
    """Read the [project] table of a package."""
    document = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    return dict(document["project"])


def requirements(folder: Path) -> tuple[str, ...]:
    """List what a package requires, its extras included."""
    declared = project(folder)
    extras = declared.get("optional-dependencies", {}).values()
    return (*declared["dependencies"], *(line for extra in extras for line in extra))


def distribution(requirement: str) -> str:
    """Cut the name of the distribution from a requirement."""
    match = re.match(r"[\w.-]+", requirement)
    assert match, requirement
    return match[0]


@cache
def modules(folder: Path) -> tuple[Module, ...]:
    """Read every module of a package; an `__init__` is named with that word."""
    source = folder / "src"
    paths = sorted(source.rglob("*.py"))
    return tuple(
        Module(
            ".".join(path.relative_to(source).with_suffix("").parts),
            path.read_text(encoding="utf-8"),
        )
        for path in paths
    )
