"""What becomes of the host when Python is missing, stuck or dying, and of Python when it goes."""

import os
import signal
import sys
import time

import pytest

from tests.dsh._host import DRIVEN, Home, eventually, is_running
from tests.dsh._install import Toolbox
from tests.dsh._model import REPLY, Model


@pytest.fixture(scope="module")
def installed(toolbox: Toolbox, model: Model, tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(toolbox, tmp_path_factory.mktemp("processes"), model)
    home.install("headless")
    home.install(DRIVEN)
    home.add_driver()
    return home


@pytest.fixture
def headless(installed: Home) -> Home:
    installed.settings("headless")
    return installed


def test_host_without_python_boots_and_says_so(headless: Home) -> None:
    headless.settings("headless", python="/nowhere/python")
    ran = headless.headless("hello")
    assert (ran.code, ran.output.strip()) == (0, REPLY)
    assert "Python did not start (/nowhere/python)" in ran.errors
    assert "DSH goes on without Tavern" in ran.errors


def test_host_boots_when_the_environment_of_the_bridge_is_gone(headless: Home) -> None:
    installed = headless.profile("headless") / "tavern-loader-dsh" / "installed.json"
    text = installed.read_text(encoding="utf-8")
    installed.write_text(text.replace("/index.js", "/gone.js"), encoding="utf-8")
    ran = headless.headless("hello")
    assert (ran.code, ran.output.strip()) == (0, REPLY)
    assert "tavern-loader: the bridge cannot be loaded" in ran.errors
    ran = headless.loader("doctor", "--profile", "headless")
    assert ran.code == 1
    assert "gone.js is gone: DSH runs without Tavern; run: tavern-loader install" in ran.output
    installed.write_text(text, encoding="utf-8")


def test_python_that_dies_at_its_start_is_gone_without(headless: Home) -> None:
    command, folder = headless.fault_python()
    (folder / "no-start").touch()
    headless.settings("headless", python=command)
    ran = headless.headless("hello")
    assert (ran.code, ran.output.strip()) == (0, REPLY)
    assert "it ended with code 3" in ran.errors
    (folder / "no-start").unlink()


def test_step_ends_with_an_error_where_the_user_wants_it_so(headless: Home) -> None:
    command, _ = headless.fault_python()
    headless.settings("headless", python=command, failMode="closed")
    ran = headless.headless("REFUSE")
    assert (ran.code, ran.output.strip()) == (1, "")
    assert "tavern-loader: assemble: asked for" in ran.errors


def test_wrong_setting_is_said_and_another_one_taken(headless: Home) -> None:
    headless.settings("headless", failMode="ajar", callTimeoutMs="soon", python=sys.executable)
    ran = headless.headless("hello")
    assert ran.code == 0
    assert 'setting failMode must be "open" or "closed"; it is taken as open' in ran.errors
    assert "setting callTimeoutMs must be a whole number" in ran.errors


def test_python_ends_when_the_host_is_killed(installed: Home) -> None:
    with installed.driven(code=-signal.SIGKILL) as running:
        (python,) = running.children()
        os.kill(running.process.pid, signal.SIGKILL)
        eventually(lambda: not is_running(python), 5)


def test_stuck_python_does_not_keep_the_host_from_ending(installed: Home) -> None:
    with installed.driven() as running:
        (python,) = running.children()
        os.kill(python, signal.SIGSTOP)
        begun = time.monotonic()
    assert time.monotonic() - begun < 5
    assert not is_running(python)


def test_stuck_session_does_not_keep_python_from_writing_at_the_end(installed: Home) -> None:
    command, folder = installed.fault_python()
    installed.settings(DRIVEN, python=command)
    heard = folder / "messages.ndjson"
    with installed.driven() as running:
        running.begin("say", session=running.session("deaf"), text="DEAFPY 20")
        eventually(lambda: '"assemble"' in heard.read_text(encoding="utf-8"))
    installed.settings(DRIVEN)
    assert '"shutdown"' in heard.read_text(encoding="utf-8")


def test_interrupt_of_the_terminal_ends_both(installed: Home) -> None:
    with installed.driven(code=130) as running:
        (python,) = running.children()
        # A terminal sends it to both at once.
        os.kill(python, signal.SIGINT)
        time.sleep(0.2)
        assert is_running(python)
        os.kill(running.process.pid, signal.SIGINT)
        assert running.process.wait(5) == 130
        assert not is_running(python)


def test_python_gets_nothing_from_the_folder_the_host_was_started_in(headless: Home) -> None:
    trap = headless.workspace / "json.py"
    trap.write_text("raise SystemExit('the trap')\n", encoding="utf-8")
    ran = headless.headless("hello")
    trap.unlink()
    assert (ran.code, ran.errors) == (0, "")
