"""Public names are there, and loaded no sooner than they are asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tavern_compiler


def imported_for_type_checkers() -> dict[str, tuple[str, ...]]:
    source = Path(tavern_compiler.__file__).read_text(encoding="utf-8")
    (block,) = (node for node in ast.parse(source).body if isinstance(node, ast.If))
    return {
        node.module.partition(".")[2]: tuple(alias.name for alias in node.names)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
    }


def test_type_checkers_see_what_is_loaded() -> None:
    assert imported_for_type_checkers() == tavern_compiler._NAMES
    assert sorted([*tavern_compiler._HOMES, "__version__"]) == dir(tavern_compiler)


@pytest.mark.parametrize("name", tavern_compiler.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tavern_compiler, name) is not None


def test_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tavern_compiler.nothing


def test_a_compile_loads_nothing_that_projects_messages() -> None:
    code = (
        "import sys\n"
        "from tavern_compiler import CompileInput, compile_profile\n"
        "compile_profile(CompileInput()).audit\n"
        "print(*sorted(name for name in sys.modules if name.startswith('tavern_compiler.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[2] for name in run.stdout.split()}
    assert "compile" in loaded
    assert {name for name in loaded if "st_" in name or "snapshot" in name} == set()
