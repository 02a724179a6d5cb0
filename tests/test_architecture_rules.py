"""Every boundary rule catches what it is for and leaves ordinary code alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests._architecture_rules import (
    RULES,
    Boundary,
    dependency_faults,
    foreign_imports,
    hidden_names,
    violations,
)
from tests._module import Module

CASES = json.loads(Path(__file__).with_name("cases").joinpath("boundary_rules.json").read_bytes())
SAMPLE = Boundary(
    package="tavern_sample",
    siblings=frozenset({"tavern_format"}),
    third_parties=frozenset({"attrs"}),
    stdlib=frozenset({"re", "io", "datetime"}),
    hidden=frozenset({"tavern_format.card"}),
)


@pytest.mark.parametrize("case", CASES["caught"])
def test_rule_catches_its_violation(case: dict[str, str]) -> None:
    module = Module("tavern_sample.x", case["text"])
    found = {rule.__name__: {message for _, message in rule(module, SAMPLE)} for rule in RULES}
    assert case["message"] in found[case["rule"]]


@pytest.mark.parametrize("text", CASES["passed"])
def test_ordinary_code_breaks_no_rule(text: str) -> None:
    assert violations(Module("tavern_sample.x", text), SAMPLE) == []


def test_every_rule_has_a_violation_it_catches() -> None:
    assert {case["rule"] for case in CASES["caught"]} == {rule.__name__ for rule in RULES}


def test_violation_names_module_and_line() -> None:
    assert violations(Module("tavern_sample.deep.x", "\nopen('x')"), SAMPLE) == [
        "tavern_sample.deep.x:2: uses open: it opens a file"
    ]


@pytest.mark.parametrize("name", ["tavern_sample.cli", "tavern_sample.__main__"])
def test_command_line_may_read_and_print(name: str) -> None:
    assert violations(Module(name, "import os, sys\nprint(open('x'))\nos._exit(1)"), SAMPLE) == []


def test_only_the_package_itself_loads_its_modules_by_name() -> None:
    text = "from importlib import import_module"
    assert violations(Module("tavern_sample.__init__", text), SAMPLE) == []
    assert violations(Module("tavern_sample.inner", text), SAMPLE) == [
        "tavern_sample.inner:1: imports importlib, which is not on the list"
    ]


def test_command_line_keeps_the_other_boundaries() -> None:
    text = "import numpy\nfrom tavern_loader import app"
    assert violations(Module("tavern_sample.cli", text), SAMPLE) == [
        "tavern_sample.cli:1: imports numpy, which is not on the list",
        "tavern_sample.cli:2: imports tavern_loader, which is no sibling of tavern_sample",
    ]


def test_only_main_imports_the_command_line() -> None:
    text = "from tavern_sample.cli import main"
    assert violations(Module("tavern_sample.__main__", text), SAMPLE) == []
    assert violations(Module("tavern_sample.cli_parts", text), SAMPLE) == [
        "tavern_sample.cli_parts:1: imports tavern_sample.cli, which has effects"
    ]


def test_purity_may_cover_a_part_of_a_package() -> None:
    boundary = replace(SAMPLE, pure=("domain",))
    pure, free = (Module(f"tavern_sample.{name}", "import os") for name in ("domain.x", "domains"))
    assert violations(pure, boundary) == [
        "tavern_sample.domain.x:1: imports os, which is not on the list"
    ]
    assert violations(free, boundary) == []


def test_hidden_names_are_the_modules_that_are_not_public() -> None:
    source = [
        Module("tavern_sample.__init__", "from .detect import detect\n__all__ = ['detect']"),
        Module("tavern_sample.card", ""),
        Module("tavern_sample.detect", ""),
        Module("tavern_sample.deep.__init__", ""),
    ]
    assert hidden_names(source, "tavern_sample") == {"tavern_sample.card", "tavern_sample.deep"}


def test_dependencies_are_neither_missing_nor_idle() -> None:
    names = {"PyYAML": frozenset({"yaml"})}
    assert dependency_faults({"attrs", "yaml"}, {"attrs", "PyYAML"}, names) == []
    assert dependency_faults({"attrs", "regex"}, {"attrs", "PyYAML"}, names) == [
        "imports regex, declared by no dependency",
        "declares PyYAML, imported by no module",
    ]


def test_foreign_imports_are_all_but_standard_and_own() -> None:
    text = "import json, attrs\nfrom tavern_format import x\nfrom . import y"
    source = [Module("tavern_sample.x", text)]
    assert foreign_imports(source, "tavern_sample") == {"attrs", "tavern_format"}
