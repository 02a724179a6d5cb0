"""The messages of the link: their parameters, and that a part that fails holds up no other."""

import time
from typing import Any

import pytest

from tavern_loader.app import host_methods
from tavern_loader.errors import LoaderError, ParametersError, StoreError
from tavern_loader.service.library import Library
from tavern_loader.service.roleplay import Roleplay
from tavern_loader.service.tracing import Tracing
from tests.step_scene import StepScene, card

SESSION = {"id": "s", "header": {}, "seq": 0}


def test_the_host_is_told_what_is_needed(scene: StepScene) -> None:
    assert scene.hello == {
        "protocol": 1,
        "version": scene.hello["version"],
        "events": [
            "agent/inbox/spliced",
            "turn/start",
            "turn/end",
            "step/start",
            "request/context",
            "request/header",
            "assistant/message",
            "assistant/attempt",
            "sandbox/mode",
        ],
        "replay": [
            "agent/inbox/spliced",
            "turn/start",
            "turn/end",
            "step/start",
            "sandbox/mode",
        ],
        "historyMessages": 128,
        "sections": [
            {"name": "pmp-dsh-tavern:profile", "order": 10},
            {"name": "rp:policy", "order": 45},
        ],
        "commands": [
            {"name": "rp", "description": "Switch role-play mode on, or off with: /rp off"}
        ],
    }


def test_another_protocol_is_refused(scene: StepScene) -> None:
    with pytest.raises(LoaderError) as refusal:
        scene.call("initialize", protocol=2, config={})
    assert refusal.value.code == "PROTOCOL_UNSUPPORTED"


@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("initialize", {}, "/protocol: a whole number"),
        ("initialize", {"protocol": True}, "/protocol: a whole number"),
        ("assemble", {}, "/session: an object"),
        ("assemble", {"session": {}}, "/session/id: a text"),
        ("assemble", {"session": {"id": "a/../b"}}, "/session/id: an id of letters"),
        ("assemble", {"session": SESSION, "turn": "1"}, "/turn: a whole number"),
        ("assemble", {"session": SESSION, "history": {}}, "/history: a list"),
        ("assemble", {"session": SESSION, "history": [{}, 1]}, "/history/1: an object"),
        ("assemble", {"session": SESSION, "earlier": {"user/": "x"}}, "/earlier/user/: a whole"),
        ("assembled", {"session": SESSION, "sections": [{}]}, "/sections/0/name: a text"),
        ("session/event", {"sessionId": "s"}, "/event: an object"),
        ("session/event", {"sessionId": "s", "event": {}}, "/event/type: a text"),
        ("session/sync", {"session": SESSION, "first": 1}, "/first: true or false"),
        ("stream", {"session": SESSION, "toolNames": [1]}, "/toolNames/0: a text"),
        ("tool", {"session": SESSION}, "/name: a text"),
        ("command", {"session": SESSION, "name": "quit"}, "/name: there is no such command"),
        ("request", {"session": SESSION, "config": []}, "/config: an object"),
    ],
)
def test_wrong_parameters_are_named(
    scene: StepScene, method: str, params: dict[str, Any], place: str
) -> None:
    with pytest.raises(ParametersError) as refusal:
        scene.call(method, **params)
    assert refusal.value.message.startswith(place)


def test_every_method_but_the_first_waits_for_the_host_to_introduce_itself(
    scene: StepScene,
) -> None:
    assert set(host_methods(scene.home, scene.host).methods) == {"initialize"}
    assert set(scene.app.methods) == {
        "initialize", "session/start", "session/sync", "session/event", "session/end", "assemble",
        "assembled", "pre-step", "request", "request-error", "agent-error", "stream", "tool",
        "command", "shutdown",
    }  # fmt: skip


def test_a_locked_session_is_refused_what_could_do_harm(scene: StepScene) -> None:
    session = scene.session()
    scene.call("command", session=session.facts, name="rp")
    verdict = scene.call("tool", session=session.facts, name="bash", arguments={"command": "ls"})
    assert set(verdict) == {"deny", "cancel"}
    assert scene.call("tool", session=session.facts, name="web_search", arguments={}) == {}


def test_a_step_brings_a_locked_session_back_into_its_sandbox(scene: StepScene) -> None:
    session = scene.session()
    scene.call("command", session=session.facts, name="rp")
    session.log("sandbox/mode", mode="read-only")
    scene.host.asked.clear()
    session.log("sandbox/mode", mode="danger-full-access")
    session.say("Hello.")
    assert ("sandbox", session.id, "read-only") in scene.host.asked


def test_a_part_that_fails_holds_up_no_other(
    scene: StepScene, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("NOT_NOW", "the disk is full")

    scene.bind(character_id=scene.add(card()))
    session = scene.session()
    for kind, name in ((Roleplay, "on_pre_step"), (Tracing, "on_request"), (Tracing, "on_event")):
        monkeypatch.setattr(kind, name, fail)
    session.say("Hello.")
    assert session.parts == ["Maren runs the night ferry."]
    scene.settle()
    said = capfd.readouterr().err
    assert said.count("NOT_NOW") > 2
    assert "disk" not in said


def test_a_selection_that_cannot_be_kept_is_told_in_the_answer(
    scene: StepScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = scene.session()

    def fail(*_: object) -> None:
        raise StoreError("SESSION_SELECTION_LIMIT_REACHED", "too many sessions")

    monkeypatch.setattr(Library, "ensure_selection", fail)
    session.say("Hello.")
    assert session.answer["failed"] == "SESSION_SELECTION_LIMIT_REACHED: too many sessions"


def test_a_message_of_a_session_nobody_introduced_is_taken(scene: StepScene) -> None:
    event = {"type": "turn/end", "seq": 0, "data": None}
    scene.call("session/event", sessionId="late", event=event)
    scene.call("session/end", sessionId="never")


def test_settings_of_the_host_count(scene: StepScene, tmp_path: Any) -> None:
    scene.config = {
        "storageDir": str(tmp_path / "elsewhere"),
        "worldBook": {"maxScanMessages": 7, "defaultTokenBudget": 10},
        "pendingInput": {"maxQueuedMessages": 1},
        "traceAssemblies": {"maxRecordBytes": 8192, "maxTotalBytes": 65536},
        "security": {"allowedHosts": ["Ship.Example", 3]},
    }
    scene.restart()
    assert scene.hello["historyMessages"] == 7
    scene.session().say("Hello.")
    scene.call("shutdown")
    assert (tmp_path / "elsewhere" / "tavern-trace-records.json").exists()


def test_a_lock_that_waits_for_a_step_outlives_the_process(scene: StepScene) -> None:
    session = scene.session()
    session.begin_turn()
    answer = scene.call("command", session=session.facts, name="rp")
    assert answer["text"].startswith("Role-play mode is on from the next step")
    scene.app.close()
    assert scene.installation.library.selection(session.id).rp.active


# --- the HTTP side ------------------------------------------------------------------------------


def test_a_request_of_the_hosts_web_server_is_answered(scene: StepScene) -> None:
    head = {"stream": 1, "method": "GET", "target": "/pmp-dsh-tavern/api/v1/presets"}
    address = {"address": "127.0.0.1", "port": 4}
    headers = [["host", "127.0.0.1:4"]]
    inline = scene.app.inline
    inline["http/request"]({**head, "headers": headers, "remote": address, "local": address})
    inline["http/end"]({"stream": 1})
    end = time.monotonic() + 20
    while ("http/done" not in told(scene)) and time.monotonic() < end:
        time.sleep(0.01)
    assert told(scene) == ["http/head", "http/chunk", "http/done"]
    assert scene.host.asked[0][2]["status"] == 200
    scene.app.close()


def told(scene: StepScene) -> list[str]:
    return [one[1] for one in scene.host.asked if one[0] == "tell"]


def test_requests_before_the_host_has_introduced_itself_are_left(scene: StepScene) -> None:
    app = host_methods(scene.home, scene.host)
    app.inline["http/request"]({"stream": 1})
    app.close()
    assert scene.host.asked == []
