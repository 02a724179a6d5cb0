"""No public function of a pure package has an effect when it is called."""

import inspect
import json
import subprocess
import sys
from functools import cache
from importlib import import_module

import pytest

from tests._effects_calls import CALLS, PLANTED
from tests._tree import ROOT

PURE = ("tavern_format", "tavern_matcher", "tavern_compiler", "tavern_trace")


@cache
def effects() -> dict[str, dict[str, list[str]]]:
    """Watch every call once, in another process."""
    command = [sys.executable, "-m", "tests._effects_calls"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, dict[str, list[str]]] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", CALLS)
def test_call_has_no_effect(name: str) -> None:
    assert effects()["calls"][name] == []


@pytest.mark.parametrize("package", PURE)
def test_every_public_function_is_called(package: str) -> None:
    module = import_module(package)
    public = (name for name in module.__all__ if inspect.isroutine(getattr(module, name)))
    assert [name for name in public if f"{package}.{name}" not in CALLS] == []


@pytest.mark.parametrize("name", PLANTED)
def test_planted_effect_is_seen(name: str) -> None:
    assert name in effects()["planted"][name]
