"""The same work gives the same bytes under another hash seed, time zone and locale."""

import os
import subprocess
import sys
from importlib.resources import files

import pytest

_LOOSE = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""Keeps Python from turning to UTF-8 by itself in the C locale."""
SETTINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu", "LANG": "tr_TR.UTF-8", "LC_ALL": "POSIX"},
    {"PYTHONHASHSEED": "3", "TZ": "America/St_Johns", "LANG": "C", "LC_ALL": "C"} | _LOOSE,
)
INHERITED = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("PYTHON", "LC_", "LANG"))
}
SAMPLES = sorted(
    str(path) for path in files("tavern_loader").joinpath("samples").iterdir() if path.is_file()
)
JSON_SAMPLES = [path for path in SAMPLES if path.endswith(".json")]
# Each prints something else under at least two of the settings.
UNSTEADY = {
    "set order": "print(list({'north', 'east', 'south', 'west', 'up', 'down'}))",
    "time zone": "import time; print(time.localtime(0).tm_hour)",
    "locale": "import locale; print(locale.getpreferredencoding(False))",
    "output encoding": "import sys; print(sys.stdout.encoding)",
}


def outputs(*arguments: str) -> set[bytes]:
    """Run Python once under each of the settings and collect what it prints."""
    return {_output(arguments, setting) for setting in SETTINGS}


def _output(arguments: tuple[str, ...], setting: dict[str, str]) -> bytes:
    command = [sys.executable, *arguments]
    run = subprocess.run(command, env=INHERITED | setting, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout
    return run.stdout


def test_samples_are_compiled_to_the_same_bytes() -> None:
    assert len(outputs("-m", "tavern_loader", "compile", "--json")) == 1


def test_samples_are_shown_as_the_same_table() -> None:
    assert len(outputs("-m", "tavern_loader", "compile")) == 1


def test_there_are_json_samples() -> None:
    assert JSON_SAMPLES != []


@pytest.mark.parametrize("path", JSON_SAMPLES, ids=os.path.basename)
def test_sample_is_inspected_to_the_same_bytes(path: str) -> None:
    assert len(outputs("-m", "tavern_format", "inspect", "--json", path)) == 1


@pytest.mark.parametrize("cause", UNSTEADY)
def test_unsteady_code_is_caught(cause: str) -> None:
    assert len(outputs("-c", UNSTEADY[cause])) > 1
