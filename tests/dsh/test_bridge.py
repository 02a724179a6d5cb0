"""The bridge in the real host, with another half that fails on request."""

import json
import os
import signal
from collections.abc import Mapping
from typing import Any

import pytest

from tests.dsh._fault_host import BRACES, LARGE_CHARS
from tests.dsh._host import Driven, eventually, is_running
from tests.dsh._model import REPLY

COMPLETED = {"kind": "completed"}
MARK = "FAULT-HOST"


def messages(driven: Driven, session: str) -> list[tuple[str, Any]]:
    """List what the other half was told about a session, in order."""
    return [(name, params) for name, params in notes(driven) if about(params) == session]


def notes(driven: Driven) -> list[tuple[str, Any]]:
    """List all that the other half was told."""
    path = driven.home.folder / "faults" / "messages.ndjson"
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(one["method"], one["params"]) for one in found]


def heard(driven: Driven, session: str) -> None:
    """Wait until the other half has read all that was said of a session: it answers in order."""
    driven.do("command", session=session, line="/fault")


def about(params: Mapping[str, Any]) -> object:
    return params.get("sessionId") or params.get("session", {}).get("id")


def told(driven: Driven, session: str, method: str) -> list[Any]:
    return [params for name, params in messages(driven, session) if name == method]


def children_of(driven: Driven, parent: str) -> list[str]:
    headers = [
        params["session"]["header"] for name, params in notes(driven) if name == "session/start"
    ]
    return [one["id"] for one in headers if one.get("parentSession") == parent]


def python_pid(driven: Driven) -> int:
    return int((driven.home.folder / "faults" / "pid").read_text(encoding="utf-8"))


def restarted(driven: Driven, before: int) -> bool:
    return python_pid(driven) != before


# --- a step ----------------------------------------------------------------------------------


def test_step_reaches_the_model_with_parts_and_braces_intact(faulty: Driven) -> None:
    system = faulty.step(faulty.session("a-step"), "tell me about dragons")
    assert f"{MARK} claimed=['tell me about dragons']\n\n{BRACES}" in system
    (asked,) = faulty.home.model.steps_of("a-step")
    assert any(f"LATE {BRACES}" in text for text in asked.said)


def test_messages_come_in_the_order_of_the_step(faulty: Driven) -> None:
    faulty.step(faulty.session("order"), "one\nTOOL todo_write {}")
    heard(faulty, "order")
    kinds = [
        params["event"]["type"] if method == "session/event" else method
        for method, params in messages(faulty, "order")
        # A title is asked for at some moment; the command is our own.
        if not params.get("purpose") and method != "command"
    ]
    assert kinds[:3] == ["session/sync", "session/start", "agent/inbox/spliced"]
    step = [
        *("assemble", "assembled", "pre-step", "step/start"),
        *("user/message", "user/message", "request", "stream"),
    ]
    second = ["tool", "assemble", "assembled", "pre-step", "step/start", "request", "stream"]
    expected = ["turn/start", "agent/inbox/spliced", *step, *second, "turn/end"]
    assert [kind for kind in kinds[3:] if kind in expected] == expected
    assembled = told(faulty, "order", "assembled")[0]
    parts = [one["name"] for one in assembled["sections"] if ":part:" in one["name"]]
    assert [name.rsplit(":", 3)[1] for name in parts] == ["0000", "0001"]
    stream = next(one for one in told(faulty, "order", "stream") if one["purpose"] is None)
    assert MARK in stream["system"]
    assert stream["provider"] == "deepseek-official"
    assert stream["config"]["temperature"] == 0.37


def test_values_of_the_call_are_those_of_the_answer(faulty: Driven) -> None:
    faulty.step(faulty.session("call"), "hello")
    faulty.step(faulty.session("call-plain"), "hello")
    (asked,), (plain,) = (faulty.home.model.steps_of(name) for name in ("call", "call-plain"))
    keys = ("temperature", "max_tokens", "stop")
    assert [asked.body[key] for key in keys] == [0.37, 321, ["<END>"]]
    assert "temperature" not in plain.body
    assert "stop" not in plain.body


def test_history_comes_with_the_next_step(faulty: Driven) -> None:
    session = faulty.session("history")
    for number in range(7):
        faulty.step(session, f"say {number}")
    asked = told(faulty, session, "assemble")
    assert [len(one["history"]) for one in asked[:2]] == [0, 3]
    last = asked[-1]
    assert len(last["history"]) == 10
    texts = [
        one["content"][0]["text"] for one in last["history"] if one["source"]["kind"] == "user"
    ]
    assert texts[-1] == "say 5"
    assert sum(last["earlier"].values()) > 0


def test_large_section_goes_through(faulty: Driven) -> None:
    system = faulty.step(faulty.session("large"), "LARGE")
    assert "x" * LARGE_CHARS in system


def test_failed_request_is_tried_again_with_the_same_parts(faulty: Driven) -> None:
    faulty.step(faulty.session("retry"), "hello\nFAIL500")
    first, second = faulty.home.model.steps_of("retry")
    assert first.system == second.system
    assert MARK in first.system
    (error,) = told(faulty, "retry", "request-error")
    assert error["retry"] is True
    assert (error["turn"], error["step"]) == (1, 1)
    assert len(told(faulty, "retry", "request")) == 2


# --- failures --------------------------------------------------------------------------------


def test_python_that_dies_is_started_again_and_asked_again(faulty: Driven) -> None:
    session = faulty.session("die-once")
    before = python_pid(faulty)
    system = faulty.step(session, "DIEONCE please")
    assert "claimed=['DIEONCE please']" in system
    assert restarted(faulty, before)
    first, second = told(faulty, session, "assemble")
    assert first["lapses"] == second["lapses"] == []


def test_killed_python_comes_back_by_itself_and_knows_the_sessions(faulty: Driven) -> None:
    session = faulty.session("killed")
    faulty.step(session, "before")
    synced, before = len(told(faulty, session, "session/sync")), python_pid(faulty)
    os.kill(before, signal.SIGKILL)
    eventually(lambda: restarted(faulty, before))
    eventually(lambda: len(told(faulty, session, "session/sync")) > synced)
    assert "claimed=['after']" in faulty.step(session, "after")


@pytest.mark.parametrize("text", ["REFUSE", "FAULT", "FAILED"])
def test_step_goes_on_without_an_answer_and_the_next_one_tells(faulty: Driven, text: str) -> None:
    session = faulty.session(f"open-{text}")
    assert MARK not in faulty.step(session, text)
    assert MARK in faulty.step(session, "again")
    (lapse,) = told(faulty, session, "assemble")[1]["lapses"]
    assert lapse["method"] == "assemble"
    assert f"session {session}: no answer to assemble" in faulty.home.errors


def test_slow_session_does_not_hold_up_another(faulty: Driven) -> None:
    slow, quick = faulty.session("slow"), faulty.session("quick")
    waiting = faulty.begin("say", session=slow, text="SLOWPY 2 s")
    eventually(lambda: told(faulty, slow, "assemble"))
    assert MARK in faulty.step(quick, "hello")
    assert not waiting.done()
    assert waiting.result(10) == COMPLETED
    assert MARK in faulty.home.model.steps_of(slow)[-1].system


def test_too_slow_session_is_given_up_and_python_stays(faulty: Driven) -> None:
    session, before = faulty.session("too-slow"), python_pid(faulty)
    assert MARK not in faulty.step(session, "SLOWPY 10 s")
    eventually(lambda: ("cancelled", {}) in notes(faulty))
    assert MARK in faulty.step(session, "again")
    assert not restarted(faulty, before)


def test_stopped_python_is_ended_and_started_again(faulty: Driven) -> None:
    session = faulty.session("stopped")
    before = python_pid(faulty)
    os.kill(before, signal.SIGSTOP)
    assert MARK not in faulty.step(session, "hello")
    eventually(lambda: restarted(faulty, before))
    assert MARK in faulty.step(session, "again")
    assert not is_running(before)


def test_cancelled_step_ends_at_once_and_python_sees_it(faulty: Driven) -> None:
    session = faulty.session("cancel")
    waiting = faulty.begin("say", session=session, text="SLOWPY 2 s")
    eventually(lambda: told(faulty, session, "assemble"))
    faulty.do("cancel", session=session)
    assert waiting.result(1.5)["kind"] == "aborted"
    assert MARK in faulty.step(session, "again")


# --- other plugins ---------------------------------------------------------------------------


def test_complete_section_of_another_plugin_stands_alone(faulty: Driven) -> None:
    session = faulty.session("complete")
    faulty.do("rig", session=session, kind="complete")
    assert faulty.step(session, "hello") == "Only this."


def test_vetoing_listener_is_seen(faulty: Driven) -> None:
    session = faulty.session("veto")
    faulty.do("rig", session=session, kind="veto")
    assert faulty.step(session, "hello") == "Vetoed."
    assembled = told(faulty, session, "assembled")[0]
    assert assembled["sections"] == [{"name": "rig:veto", "text": "Vetoed."}]


def test_another_plugin_may_rewrite_the_parts(faulty: Driven) -> None:
    session = faulty.session("rewrite")
    faulty.do("rig", session=session, kind="rewrite")
    assert f"<{MARK} claimed=['hello']>" in faulty.step(session, "hello")


def test_section_that_somebody_else_fills_is_left(faulty: Driven) -> None:
    session = faulty.session("occupy")
    faulty.do("rig", session=session, kind="occupy")
    system = faulty.step(session, "hello")
    assert "Taken." in system
    assert MARK not in system


@pytest.mark.parametrize(("kind", "ended"), [("reject", "blocked"), ("throw", "error")])
def test_step_that_another_plugin_ends_leaves_no_trouble(
    faulty: Driven, kind: str, ended: str
) -> None:
    session = faulty.session(f"ended-{kind}")
    faulty.do("rig", session=session, kind=kind)
    assert faulty.say(session, "hello")["kind"] == ended
    rejected = [one["rejected"] for one in told(faulty, session, "pre-step")]
    assert rejected == ([True] if kind == "reject" else [])


# --- lineage ---------------------------------------------------------------------------------


def test_fork_is_told_its_own_events_only(faulty: Driven) -> None:
    parent = faulty.session("fork-parent")
    faulty.step(parent, "said before the fork")
    events = faulty.do("events", session=parent)
    child = faulty.session("fork-child", parent=parent, at=events[-1]["seq"])
    assert "claimed=['said in the fork']" in faulty.step(child, "said in the fork")
    start = told(faulty, child, "session/start")[0]["session"]
    assert start["header"]["parentSession"] == parent
    assert start["header"]["seedLength"] == len(events)
    sync = told(faulty, child, "session/sync")[0]
    assert sync["events"] == []
    assert (sync["first"], sync["last"]) == (True, True)
    assert sync["requestHeader"]["type"] == "request/header"
    assert MARK in sync["requestHeader"]["data"]["header"]["system"]


def test_subagent_has_steps_of_its_own(faulty: Driven) -> None:
    parent = faulty.session("subagent-parent")
    call = {"description": "look", "prompt": "the errand", "run_in_background": False}
    faulty.step(parent, f"TOOL subagent {json.dumps(call)}")
    (child,) = children_of(faulty, parent)
    start = told(faulty, child, "session/start")[0]["session"]
    assert (start["header"]["origin"], start["header"]["delegationDepth"]) == ("subagent", 1)
    assert "claimed=['the errand']" in faulty.home.model.steps_of(child)[0].system


def test_resumed_session_is_synced_and_goes_on(faulty: Driven) -> None:
    session = faulty.session("resume")
    faulty.step(session, "before")
    faulty.do("dispose", session=session)
    eventually(lambda: told(faulty, session, "session/end"))
    faulty.do("resume", session=session)
    assert "claimed=['after']" in faulty.step(session, "after")
    start = told(faulty, session, "session/start")
    assert [one["source"] for one in start] == ["startup", "resume"]
    sync = told(faulty, session, "session/sync")[1]
    kinds = {event["type"] for event in sync["events"]}
    assert kinds == {"agent/inbox/spliced", "turn/start", "step/start", "turn/end"}


def test_compaction_is_no_step(faulty: Driven) -> None:
    session = faulty.session("compact")
    for number in range(3):
        faulty.step(session, f"say {number} " + "word " * 400)
    done = faulty.do("command", session=session, line="/compact")
    assert done["result"]["kind"] == "success", done
    heard(faulty, session)
    purposes = [one["purpose"] for one in told(faulty, session, "stream")]
    assert "compaction" in purposes
    assert MARK in faulty.step(session, "after")


# --- tools and commands ----------------------------------------------------------------------


def results(driven: Driven, session: str) -> list[str]:
    events = driven.do("events", session=session, types=["tool/result"])
    return [event["data"]["message"]["content"][0]["content"][0]["text"] for event in events]


def test_denied_tool_is_not_run(faulty: Driven) -> None:
    session = faulty.session("deny")
    faulty.step(session, 'TOOL bash {"command": "touch denied"}')
    assert results(faulty, session) == ["Error: the fault host says no"]
    assert not (faulty.home.workspace / "denied").exists()


def test_denied_tool_can_end_the_step(faulty: Driven) -> None:
    session = faulty.session("deny-and-stop")
    ended = faulty.say(session, 'TOOL glob {"pattern": "*"}')
    assert ended == {
        "kind": "aborted",
        "reason": {"kind": "hook", "reason": "rp-high-risk-block"},
    }
    assert results(faulty, session) == ["Error: no, and stop"]


def test_locked_session_stays_locked_while_nobody_can_be_asked(faulty: Driven) -> None:
    session, other = faulty.session("locked"), faulty.session("not-locked")
    unanswered = 'TOOL read {"file_path": "unanswered"}'
    faulty.step(session, f"TOOL todo_write {json.dumps({'lock': session})}")
    for one in (session, other):
        faulty.step(one, unanswered)
    assert results(faulty, session)[1:] == ["Error: locked by the fault host"]
    assert "locked" not in results(faulty, other)[0]
    # A plugin that allows every call, so that Python is not asked, unlocks nothing.
    faulty.do("rig", session=session, kind="allow")
    faulty.step(session, "TOOL list_agents {}")
    assert results(faulty, session)[2:] == ["Error: locked by the fault host"]


def test_child_of_a_locked_session_is_locked(faulty: Driven) -> None:
    session = faulty.session("locked-parent")
    faulty.step(session, f"TOOL todo_write {json.dumps({'lock': session})}")
    seq = faulty.do("events", session=session)[-1]["seq"]
    child = faulty.session("locked-child", parent=session, at=seq)
    faulty.step(child, 'TOOL read {"file_path": "unanswered"}')
    assert results(faulty, child)[-1] == "Error: locked by the fault host"


def test_command_is_answered(faulty: Driven) -> None:
    session = faulty.session("command")
    done = faulty.do("command", session=session, line="/fault  one two ")
    assert done["result"] == {"kind": "success", "text": "heard one two"}


# --- always dying: last, for it uses up the starts -------------------------------------------


def test_python_that_always_dies_is_gone_without(faulty: Driven) -> None:
    session = faulty.session("always-dies")
    assert MARK not in faulty.step(session, "ALWAYSDIE")
    assert f"session {session}: no answer to assemble: TAVERN_HOST_GONE" in faulty.home.errors
    answered = faulty.do("events", session=session, types=["assistant/message"])
    assert answered[0]["data"]["message"]["content"][0]["text"] == REPLY
