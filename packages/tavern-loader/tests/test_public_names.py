"""The public names: each is there, and none is loaded before it is asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tavern_loader

INIT = Path(tavern_loader.__file__)


def for_type_checkers() -> dict[str, str]:
    """Read the module of each name that a type checker sees."""
    tree = ast.parse(INIT.read_text(encoding="utf-8"))
    return {
        alias.name: str(node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_each_name_is_where_a_type_checker_sees_it() -> None:
    seen = for_type_checkers()
    assert {*seen, "__version__"} == set(tavern_loader.__all__)
    for name, home in seen.items():
        assert getattr(tavern_loader, name) is getattr(sys.modules[home], name)


def test_names_are_listed() -> None:
    assert set(tavern_loader.__all__) <= set(dir(tavern_loader))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'tavern_loader' has no attribute 'compil'"):
        tavern_loader.compil  # noqa: B018


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, tavern_loader.cli, tavern_loader.commands.host_command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "tavern_loader.adapters.hosting" in loaded
    assert not {"tavern_compiler", "tavern_format", "starlette", "filelock"} & {*loaded}
