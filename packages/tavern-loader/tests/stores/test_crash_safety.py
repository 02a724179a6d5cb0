import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tavern_loader.domain.selection import Selection
from tavern_loader.installation import open_installation

HERE = Path(__file__).parent
PYTHON = sys.executable

BEFORE: Mapping[str, Any] = {
    "characters": 1,
    "covers": [True],
    "described": [0],
    "bound": [True],
    "second": False,
    "channel": "system",
    "templates": 1,
    "damaged": False,
}
SEEN: Mapping[str, list[Mapping[str, Any]]] = {
    "bind": [BEFORE, {**BEFORE, "second": True, "channel": "late"}],
    "take": [BEFORE, {**BEFORE, "characters": 2, "covers": [True, True], "described": [0, 0]}],
    "delete": [
        BEFORE,
        {**BEFORE, "bound": [False]},
        {**BEFORE, "bound": [False], "characters": 0, "covers": [], "described": []},
    ],
    "edit": [BEFORE, {**BEFORE, "described": [10_000]}],
}
"""What a reader may find after a writer died, in the order of the steps at which it died."""


@pytest.mark.parametrize("scenario", SEEN)
def test_a_writer_that_is_killed_at_any_step_leaves_whole_stores(
    tmp_path: Path, scenario: str
) -> None:
    done = subprocess.run(
        [PYTHON, str(HERE / "crash_child.py"), str(tmp_path), scenario],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["seen"] == SEEN[scenario]
    assert told["steps"] >= 16


def test_a_writer_that_is_killed_again_and_again_loses_at_most_its_last_change(
    tmp_path: Path,
) -> None:
    root = tmp_path / "stores"
    random = Random("kill")  # noqa: S311 - moments to kill at, not secrets
    for number in range(5):
        told = _kill_while_writing(root, f"w{number}", random.uniform(0.0, 0.05))
        opened = open_installation(root)
        kept = 0
        while opened.library.has_selection(f"w{number}-{kept}"):
            assert opened.library.selection(f"w{number}-{kept}").preset_id == f"w{number}-{kept}"
            kept += 1
        assert told + 1 <= kept <= told + 2
    assert not (root / "damaged").exists()
    open_installation(root).library.set_selection("after", Selection())


def _kill_while_writing(root: Path, name: str, after_s: float) -> int:
    """Let a writer begin, kill it a moment later, and give the last round it told of."""
    arguments = [PYTHON, str(HERE / "writing_child.py"), str(root), name, "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        try:
            child.wait(after_s)
        except subprocess.TimeoutExpired:
            child.kill()
        told = [first, *child.stdout.readlines()]
    return int([line for line in told if line.endswith("\n")][-1])


def test_writers_of_several_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    root = tmp_path / "stores"
    writers, rounds = 3, 15
    script = str(HERE / "writing_child.py")
    children = [
        subprocess.Popen([PYTHON, script, str(root), f"w{number}", str(rounds)])
        for number in range(writers)
    ]
    opened = open_installation(root)
    while any(child.poll() is None for child in children):
        opened.stores.selections.read()
        opened.stores.extras.read()
    assert [child.wait() for child in children] == [0] * writers
    assert opened.stores.extras.read().document["count"] == writers * rounds
    for writer in range(writers):
        for number in range(rounds):
            session_id = f"w{writer}-{number}"
            assert opened.library.selection(session_id) == Selection(preset_id=session_id)
