"""Every module of every package keeps to the boundaries of the architecture.

The rules are in `_architecture_rules.py`, their own tests in `test_architecture_rules.py`.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests._architecture_rules import (
    Boundary,
    dependency_faults,
    foreign_imports,
    hidden_names,
    violations,
)
from tests._tree import FOLDERS, distribution, import_name, modules, requirements

COMMON = frozenset(
    {
        *("__future__", "abc", "bisect", "collections", "contextlib", "copy", "dataclasses"),
        *("enum", "functools", "heapq", "itertools", "json", "math", "operator", "re", "string"),
        *("textwrap", "types", "typing", "unicodedata"),
    }
)
"""Standard modules without a file, clock or random source that anybody would use."""
CARRIERS = frozenset({"base64", "binascii", "hashlib", "io", "struct", "zipfile", "zlib"})

BOUNDARIES = {
    boundary.package: boundary
    for boundary in (
        Boundary(
            package="tavern_format",
            third_parties=frozenset({"attrs", "cattrs", "yaml"}),
            # marshal writes a column of switches in one step: the quickest look at all of them.
            stdlib=COMMON | CARRIERS | {"datetime", "marshal"},
        ),
        Boundary(
            package="tavern_matcher",
            siblings=frozenset({"tavern_format"}),
            third_parties=frozenset({"ahocorasick_rs", "attrs", "regex"}),
            stdlib=COMMON,
        ),
        Boundary(
            package="tavern_compiler",
            siblings=frozenset({"tavern_format", "tavern_matcher"}),
            third_parties=frozenset({"attrs", "regex"}),
            # The fingerprint; times as values, for the macros that print them.
            stdlib=COMMON | {"datetime", "hashlib"},
        ),
        Boundary(
            package="tavern_trace",
            third_parties=frozenset({"attrs", "cattrs"}),
            stdlib=COMMON | {"datetime", "hashlib"},
        ),
        Boundary(
            package="tavern_loader",
            siblings=frozenset(
                {"tavern_format", "tavern_matcher", "tavern_compiler", "tavern_trace"}
            ),
            third_parties=frozenset({"attrs", "filelock", "starlette", "uvicorn"}),
            stdlib=COMMON | {"datetime", "hashlib"},
            pure=("domain", "service"),
        ),
    )
}
IMPORT_NAMES = {
    "PyYAML": frozenset({"yaml"}),
    "ahocorasick-rs": frozenset({"ahocorasick_rs"}),
    **{folder.name: frozenset({import_name(folder)}) for folder in FOLDERS},
}


def hidden_modules() -> frozenset[str]:
    """List the modules of all packages that are not reached by a public name."""
    return frozenset(
        name for folder in FOLDERS for name in hidden_names(modules(folder), import_name(folder))
    )


def by_name(folder: Path) -> str:
    return folder.name


def test_each_package_has_a_boundary() -> None:
    assert {import_name(folder) for folder in FOLDERS} == set(BOUNDARIES)


@pytest.mark.parametrize("folder", FOLDERS, ids=by_name)
def test_package_keeps_its_boundary(folder: Path) -> None:
    package = import_name(folder)
    hidden = frozenset(name for name in hidden_modules() if not name.startswith(f"{package}."))
    boundary = replace(BOUNDARIES[package], hidden=hidden)
    source = modules(folder)
    assert f"{package}.__init__" in {module.name for module in source}
    assert [line for module in source for line in violations(module, boundary)] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=by_name)
def test_package_declares_what_it_imports_and_no_more(folder: Path) -> None:
    imported = foreign_imports(modules(folder), import_name(folder))
    declared = {distribution(line) for line in requirements(folder)}
    assert dependency_faults(imported, declared, IMPORT_NAMES) == []
