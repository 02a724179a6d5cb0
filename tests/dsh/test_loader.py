"""The loader as it is installed, in the real host: from files to what the model reads.

The files are those of the sample set `ferry`: a character, a world book and a preset.
"""

import json
import os
import signal
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.dsh._host import DRIVEN, Driven, Home, eventually
from tests.dsh._install import Toolbox
from tests.dsh._model import REPLY, Model

ALWAYS = "The Sallow is slow, brown and wider than it looks."
LANTERN = "A boat on the Sallow shows one lantern at the bow"
CABLE = "The ferry hangs on a steel cable"
CARD = "Maren Holt is forty, broad in the shoulders"
PART = "pmp-dsh-tavern:part:"


def fill(home: Home) -> None:
    """Keep the sample files, and let all sessions begin with them."""
    samples = Path(str(files("tavern_loader") / "samples"))
    names = ("ferry.card.json", "ferry.world.json", "ferry.preset.json")
    bound = ("--character", "Maren Holt", "--world-book", "The Sallow", "--preset", "ferry.preset")
    for arguments in (
        ("import", *(str(samples / name) for name in names)),
        ("bind", "--default", *bound),
    ):
        ran = home.loader(*arguments)
        assert ran.code == 0, ran.errors


@pytest.fixture(scope="module")
def host(
    toolbox: Toolbox, model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driven]:
    home = Home(toolbox, tmp_path_factory.mktemp("loader"), model)
    fill(home)
    home.install(DRIVEN)
    home.add_driver()
    with home.driven() as running:
        yield running


def record(home: Home, session: str) -> dict[str, Any]:
    """Give the newest record of a session, as the command line shows it."""
    ran = home.loader("trace", "--session", session, "--json")
    assert ran.code == 0, ran.errors
    document: dict[str, Any] = json.loads(ran.output)
    return document


def test_files_reach_the_model_in_one_headless_step(home: Home) -> None:
    fill(home)
    home.install("headless")
    ran = home.headless("Who lit the lantern?")
    assert (ran.code, ran.output.strip(), ran.errors) == (0, REPLY, "")
    asked = home.model.steps[-1]
    assert CARD in asked.system
    assert LANTERN in asked.system
    assert CABLE not in asked.system
    assert asked.system.index(ALWAYS) < asked.system.index(CARD)
    assert "{{" not in asked.system
    assert (asked.body["temperature"], asked.body["max_tokens"]) == (0.9, 400)
    shown = home.loader("trace", "--session", asked.session)
    assert shown.code == 0, shown.errors
    assert "status: request-observed" in shown.output
    assert "texts: available" in shown.output


def test_entry_fires_by_what_was_just_said_and_then_by_history(host: Driven) -> None:
    session = host.session("fires")
    first = host.step(session, "Good evening.")
    second = host.step(session, "Whose lantern is that?")
    assert [LANTERN in first, LANTERN in second] == [False, True]
    # The model has spoken of it meanwhile.
    assert "winch" in REPLY
    assert [CABLE in first, CABLE in second] == [False, True]


def test_greeting_stands_only_while_the_chat_opens(host: Driven) -> None:
    session = host.session("greeting")
    greeting = "The ferry bumps once against the landing"
    assert greeting in host.step(session, "Good evening.")
    assert greeting not in host.step(session, "Good night.")


def test_fork_and_subagent_begin_with_what_their_parent_has(host: Driven) -> None:
    parent = host.session("parent")
    host.step(parent, "Hello.")
    seq = host.do("events", session=parent)[-1]["seq"]
    assert CARD in host.step(host.session("child", parent=parent, at=seq), "Go on.")
    call = {"description": "look", "prompt": "Look at the cable.", "run_in_background": False}
    before = len(host.home.model.steps)
    host.step(parent, f"TOOL subagent {json.dumps(call)}")
    (errand,) = (
        one for one in host.home.model.steps[before:] if one.session not in {parent, "child"}
    )
    assert CARD in errand.system
    assert CABLE in errand.system


def test_resumed_session_goes_on(host: Driven) -> None:
    session = host.session("resumed")
    assert CABLE not in host.step(session, "Good evening.")
    host.do("dispose", session=session)
    host.do("resume", session=session)
    assert CABLE in host.step(session, "And then?")


def test_failed_request_is_tried_again_with_the_same_text(host: Driven) -> None:
    session = host.session("tried-again")
    host.step(session, "A lantern!\nFAIL500")
    first, second = host.home.model.steps_of(session)
    assert first.system == second.system
    assert LANTERN in second.system
    # Records are written beside the step.
    eventually(lambda: len(record(host.home, session)["records"]) == 2)
    assert record(host.home, session)["records"][-1]["status"] == "request-observed"


def test_second_step_of_a_turn_still_knows_the_input(host: Driven) -> None:
    session = host.session("two-steps")
    host.step(session, "Look for the lantern.\nTOOL todo_write {}")
    systems = [one.system for one in host.home.model.steps_of(session)]
    assert [LANTERN in system for system in systems] == [True, True]


def test_python_that_is_killed_costs_nothing(host: Driven) -> None:
    session = host.session("killed")
    host.step(session, "Good evening.")
    (python,) = host.children()
    os.kill(python, signal.SIGKILL)
    assert LANTERN in host.step(session, "Whose lantern is that?")
    eventually(lambda: host.children() not in ([], [python]))


def test_what_was_bound_is_taken_back_from_the_host(host: Driven) -> None:
    session = host.session("unbound")
    host.step(session, "Hello.")
    ran = host.home.loader("bind", "--session", session, "--preset", "none")
    assert ran.code == 0, ran.errors
    host.step(session, "Hello again.")
    first, second = (one.body for one in host.home.model.steps_of(session))
    assert (first["temperature"], first["max_tokens"]) == (0.9, 400)
    assert "temperature" not in second
    assert second["max_tokens"] != 400


def test_input_is_kept_in_no_file(host: Driven) -> None:
    session = host.session("private")
    host.step(session, "The word is xylophone-and-lantern.")
    for path in host.home.storage.rglob("*"):
        if path.is_file():
            assert b"xylophone" not in path.read_bytes(), path.name


def test_sessions_beside_each_other_do_not_mix(host: Driven) -> None:
    names = [host.session(f"crowd-{number}") for number in range(20)]
    texts = dict.fromkeys(names, "Good evening.")
    texts |= dict.fromkeys(names[::2], "Whose lantern is that?")
    waiting = [host.begin("say", session=name, text=text) for name, text in texts.items()]
    assert [one.result(60) for one in waiting] == [{"kind": "completed"}] * len(names)
    lit = {name: LANTERN in host.home.model.steps_of(name)[0].system for name in names}
    assert lit == {name: "lantern" in text for name, text in texts.items()}
