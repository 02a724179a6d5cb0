"""The five packages agree with each other, with noxfile.py and with their changelogs."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests._tree import FOLDERS, ROOT, distribution, import_name, project, requirements
from tests._wheel_check import import_faults, install_faults, wheel_faults

EACH = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
NAMES = tuple(folder.name for folder in FOLDERS)
_HEADING = re.compile(r"^## \[(.+?)\](.*)$", re.MULTILINE)


def source(folder: Path) -> Path:
    return folder / "src" / import_name(folder)


def version(folder: Path) -> str:
    text = (source(folder) / "_version.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(\d+\.\d+\.\d+)"$', text, re.MULTILINE)
    return str(found)


def siblings(folder: Path) -> list[Requirement]:
    return [Requirement(line) for line in requirements(folder) if distribution(line) in NAMES]


def nox_table() -> dict[str, Any]:
    """Read PACKAGES of noxfile.py without importing it: nox is not installed here."""
    for node in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PACKAGES":
            assert isinstance(node.value, ast.Dict)
            rows = zip(node.value.keys, node.value.values, strict=True)
            return {ast.literal_eval(ast.unparse(name)): _row(row) for name, row in rows if name}
    raise AssertionError("noxfile.py has no PACKAGES")


def _row(call: ast.expr) -> dict[str, Any]:
    assert isinstance(call, ast.Call)
    return {str(given.arg): ast.literal_eval(given.value) for given in call.keywords}


def test_the_five_packages_are_there() -> None:
    kinds = ("compiler", "format", "loader", "matcher", "trace")
    assert tuple(f"tavern-{kind}" for kind in kinds) == NAMES


@EACH
def test_project_table_is_the_same_where_it_should_be(folder: Path) -> None:
    declared = project(folder)
    assert declared["name"] == folder.name
    assert declared["requires-python"] == ">=3.11"
    assert (declared["license"], declared["license-files"]) == ("MIT", ["LICENSE"])
    assert declared["dynamic"] == ["version"]
    pythons = [line for line in declared["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert pythons == [f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)]


@EACH
def test_package_holds_licence_and_type_marker(folder: Path) -> None:
    # A build sees its own folder only, so the licence is there as a copy.
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (source(folder) / "py.typed").is_file()


@EACH
def test_changelog_leads_with_unreleased_and_the_present_version(folder: Path) -> None:
    text = (folder / "CHANGELOG.md").read_text(encoding="utf-8")
    (first, rest), (latest, date), *_ = _HEADING.findall(text)
    assert (first, rest, latest) == ("Unreleased", "", version(folder))
    assert re.fullmatch(r" - \d{4}-\d\d-\d\d", date)


@EACH
def test_dependency_has_a_lower_bound_and_a_sibling_a_range(folder: Path) -> None:
    found = {line: Requirement(line).specifier for line in requirements(folder)}
    kinds = {line: sorted(part.operator for part in spec) for line, spec in found.items()}
    expected = {line: ["<", ">="] if distribution(line) in NAMES else [">="] for line in found}
    assert kinds == expected


@EACH
def test_sibling_ranges_admit_the_present_siblings(folder: Path) -> None:
    present = {other.name: Version(version(other)) for other in FOLDERS}
    assert [need for need in siblings(folder) if present[need.name] not in need.specifier] == []


@EACH
def test_nox_installs_the_siblings_a_package_declares(folder: Path) -> None:
    assert sorted(nox_table()[folder.name].get("needs", ())) == sorted(
        {need.name for need in siblings(folder)}
    )


def test_nox_builds_a_package_after_its_siblings() -> None:
    order = list(nox_table())
    assert sorted(order) == sorted(NAMES)
    for folder in FOLDERS:
        for need in siblings(folder):
            assert order.index(need.name) < order.index(folder.name)


def test_wheel_check_sees_what_a_wheel_lacks_and_what_it_should_not_hold() -> None:
    info = "tavern_x-0.1.0.dist-info"
    good = ["tavern_x/__init__.py", "tavern_x/py.typed", f"{info}/licenses/LICENSE"]
    assert wheel_faults("tavern-x", "0.1.0", good) == []
    assert wheel_faults("tavern-x", "0.1.0", ["tavern_x/__init__.py", "tests/test_x.py"]) == [
        "tavern-x: no tavern_x/py.typed",
        f"tavern-x: no {info}/licenses/LICENSE",
        "tavern-x: tests/test_x.py does not belong to it",
        "tavern-x: tests/test_x.py is a test",
    ]


def test_wheel_check_sees_what_was_installed_from_elsewhere() -> None:
    origins = {"tavern-a": "file:///w/a.whl", "tavern-b": "", "tavern-c": "file:///w/c.whl"}
    assert install_faults(["tavern-a", "tavern-b", "tavern-d"], origins, "file:///w") == [
        "tavern-d is not installed",
        "tavern-c was not asked for",
        "tavern-b came from an index, not from the wheelhouse",
    ]


def test_wheel_check_sees_an_import_of_a_sibling() -> None:
    loaded = ["sys", "tavern_a", "tavern_a.x", "tavern_b", "tavern_c.y"]
    assert import_faults("tavern_a", ["tavern_b"], loaded) == ["tavern_a imports tavern_c"]
