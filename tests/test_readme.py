"""What the READMEs tell a newcomer to type does what they say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests._readme import README, blocks, marked
from tests._tree import FOLDERS, ROOT

READMES = (README, *(folder / "README.md" for folder in FOLDERS))
EXAMPLES = [
    pytest.param(path, code, id=f"{path.parent.name if path != README else 'root'}-{number}")
    for path in READMES
    for number, code in enumerate(blocks(path.read_text(encoding="utf-8"), "python"), start=1)
]
# What each command does, by the nox arguments it ends in.
COMMANDS = {"demo-command": "-m nox -s demo", "test-command": "-m nox"}


def readme() -> str:
    return README.read_text(encoding="utf-8")


@pytest.mark.parametrize(("path", "code"), EXAMPLES)
def test_example_runs(path: Path, code: str, tmp_path: Path) -> None:
    # Who reads a package's README may have no tree: its examples run in an empty folder.
    folder = ROOT if path == README else tmp_path
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("path", READMES, ids=lambda path: path.parent.name)
def test_readme_shows_code(path: Path) -> None:
    assert blocks(path.read_text(encoding="utf-8"), "python", "sh", "console") != []


@pytest.mark.parametrize("mark", COMMANDS)
def test_command_makes_an_environment_of_its_own_and_runs_nox(mark: str) -> None:
    steps = marked(readme(), mark).split(" && ")
    assert steps == [
        # Debian's Python comes without ensurepip, and its pip installs system-wide for nobody;
        # into a folder it installs for everybody, and virtualenv brings a pip of its own.
        "python3 -m pip install -q --upgrade --target .venv/boot virtualenv",
        "PYTHONPATH=.venv/boot python3 -m virtualenv -q .venv",
        ".venv/bin/python -m pip install -q nox",
        f".venv/bin/python {COMMANDS[mark]}",
    ]


def test_exactly_two_commands_start_from_a_bare_python() -> None:
    told = [line for body in blocks(readme(), "sh", "console") for line in body.splitlines()]
    bare = [line for line in told if line.startswith("python3 -m pip")]
    assert sorted(bare) == sorted(marked(readme(), mark) for mark in COMMANDS)


def test_ci_runs_the_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert 'bash -c "$(python3 tests/_readme.py test-command)"' in script.splitlines()


def test_one_marked_line_is_read() -> None:
    text = "<!-- x -->\n\n```sh\na && b\n```\n<!-- y -->\n```sh\na\nb\n```\n<!-- z -->\ntext\n"
    assert marked(text, "x") == "a && b"
    for mark, fault in (("y", "2 lines"), ("z", "0 lines"), ("w", "0 marks")):
        with pytest.raises(ValueError, match=fault):
            marked(text, mark)
