"""RP mode of the sessions of a host, from its messages to what it is told."""

from collections.abc import Sequence

import pytest
from attrs import evolve

from tavern_loader.domain.rp_mode import OFF, RpOutcome, RpSource, RpState, SandboxMode
from tavern_loader.domain.selection import Selection
from tavern_loader.service.roleplay import RpView, ToolVerdict
from tavern_loader.service.rp_alerts import RpAlert
from tests.rp_scene import DENIED, LOCKED, ON, Scene, sandbox


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_new_session_without_a_character_is_not_locked(scene: Scene) -> None:
    session = scene.start("one")
    assert scene.host.done == []
    assert scene.roleplay.section_text("one") == ""
    assert scene.roleplay.on_tool(session, "bash", {}) == ToolVerdict()


def test_a_bound_character_locks_a_new_session(scene: Scene) -> None:
    scene.memory.kept["one"] = Selection(character_id="maren")
    scene.start("one")
    assert scene.memory.kept["one"].rp == evolve(LOCKED, source=RpSource.CHARACTER_FOLLOW)
    assert scene.host.done == [("one", "read-only")]
    assert scene.host.told == [("one", False), ("one", True)]
    assert scene.roleplay.section_text("one") == "Stay in the story."


def test_a_refused_call_leaves_one_alert_that_is_taken_once(scene: Scene) -> None:
    session = scene.start("one")
    assert scene.roleplay.set_active("one", active=True) is RpOutcome.COMMITTED
    assert scene.roleplay.on_tool(session, "bash", {"command": "ls"}) == DENIED
    assert scene.roleplay.on_tool(session, "read", {"file_path": "/etc/passwd"}) == DENIED
    alert = RpAlert(id=1, session_id="one", tool="read", at_ms=1_700_000_000_000)
    assert scene.roleplay.alerts.get("one") == alert
    assert scene.roleplay.alerts.take("one", 7) is None
    assert scene.roleplay.alerts.take("one", 1) == alert
    assert scene.roleplay.alerts.get("one") is None


def test_reads_in_the_workspace_and_the_users_tools_pass(scene: Scene) -> None:
    session = scene.start("one")
    scene.roleplay.set_active("one", active=True)
    assert scene.roleplay.on_tool(session, "read", {"file_path": "cup.txt"}) == ToolVerdict()
    assert scene.roleplay.on_tool(session, "mcp__dice__roll", {}) == DENIED
    scene.rules.tools = ("mcp__dice__*",)
    assert scene.roleplay.on_tool(session, "mcp__dice__roll", {}) == ToolVerdict()


def test_within_a_turn_the_switch_waits_but_the_lock_holds_at_once(scene: Scene) -> None:
    session = scene.start("one")
    scene.event("one", "turn/start")
    assert scene.roleplay.set_active("one", active=True) is RpOutcome.QUEUED
    assert scene.roleplay.view("one") == RpView(rp=OFF, pending=ON, follow_character=True)
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED
    assert (scene.host.done, scene.host.told[-1]) == ([], ("one", True))
    scene.roleplay.on_pre_step("one")
    assert scene.host.done == [("one", "read-only")]
    assert scene.roleplay.view("one") == RpView(rp=LOCKED, pending=None, follow_character=True)


def test_a_wish_that_waits_is_stored_when_the_turn_ends(scene: Scene) -> None:
    scene.start("one")
    scene.event("one", "turn/start")
    scene.roleplay.set_active("one", active=True)
    scene.event("one", "turn/end")
    assert scene.memory.kept["one"].rp == LOCKED


def test_a_locked_session_is_put_back_to_read_only(scene: Scene) -> None:
    scene.start("one")
    scene.roleplay.set_active("one", active=True)
    scene.event("one", "sandbox/mode", mode="read-only")
    scene.host.done.clear()
    scene.roleplay.on_pre_step("one")
    assert scene.host.done == []
    scene.event("one", "sandbox/mode", mode="danger-full-access")
    assert scene.host.done == [("one", "read-only")]
    scene.roleplay.on_pre_step("one")
    assert scene.host.done == [("one", "read-only")]


def test_switching_off_opens_the_sandbox_again(scene: Scene) -> None:
    scene.start("one")
    scene.roleplay.set_active("one", active=True)
    scene.event("one", "sandbox/mode", mode="read-only")
    scene.host.done.clear()
    assert scene.roleplay.set_active("one", active=False) is RpOutcome.COMMITTED
    assert scene.host.done == [("one", "workspace-write")]
    assert scene.host.told[-1] == ("one", False)
    assert scene.memory.kept["one"].rp == RpState(follow_suppressed=True)


def test_a_delegated_child_is_locked_and_its_alert_goes_to_the_root(scene: Scene) -> None:
    scene.start("root")
    scene.roleplay.set_active("root", active=True)
    child = scene.start("child", parentSession="root", delegationDepth=1)
    assert scene.memory.kept["child"].rp == LOCKED
    assert scene.roleplay.on_tool(child, "write", {}) == DENIED
    assert scene.roleplay.alerts.get("child") is None
    assert scene.roleplay.alerts.get("root") == RpAlert(
        id=1, session_id="root", tool="write", at_ms=1_700_000_000_000
    )


def test_a_fork_below_a_locked_session_stays_locked_whatever_it_wants(scene: Scene) -> None:
    scene.start("root")
    scene.roleplay.set_active("root", active=True)
    fork = scene.start("fork", parentSession="root")
    assert scene.memory.selection("fork").rp == OFF
    scene.host.done.clear()
    answer = scene.roleplay.on_command("fork", "off")
    assert answer == "A conversation this one came from is still in role-play mode."
    assert scene.roleplay.on_tool(fork, "bash", {}) == DENIED
    scene.event("fork", "sandbox/mode", mode="workspace-write")
    assert scene.host.done == [("fork", "read-only")]


def test_switched_off_below_a_locked_session_the_sandbox_stays_closed(scene: Scene) -> None:
    scene.start("root")
    scene.roleplay.set_active("root", active=True)
    scene.start("child", parentSession="root", delegationDepth=1)
    scene.event("child", "sandbox/mode", mode="read-only")
    scene.host.done.clear()
    scene.roleplay.set_active("child", active=False)
    assert scene.host.done == []
    assert scene.roleplay.is_locked("child")


def test_ancestors_the_host_does_not_run_are_read_once(scene: Scene) -> None:
    scene.memory.kept["grandmother"] = Selection(rp=LOCKED)
    scene.host.headers["mother"] = {"parentSession": "grandmother"}
    scene.start("one", parentSession="mother")
    scene.start("two", parentSession="mother")
    read = [argument for what, argument in scene.host.done if what == "header"]
    assert read == ["mother", "grandmother"]
    assert scene.roleplay.is_locked("one")


def test_a_host_that_cannot_be_asked_about_ancestors_ends_the_lineage(scene: Scene) -> None:
    scene.host.is_gone = True
    scene.start("one", parentSession="mother")
    assert not scene.roleplay.is_locked("one")


def test_a_circle_of_parents_is_walked_once(scene: Scene) -> None:
    scene.start("one", parentSession="two")
    scene.start("two", parentSession="one")
    assert not scene.roleplay.is_locked("one")


def test_the_host_is_told_the_locks_only_when_they_change(scene: Scene) -> None:
    scene.start("one")
    scene.start("two")
    scene.roleplay.set_active("one", active=True)
    scene.roleplay.set_active("two", active=True)
    scene.roleplay.on_pre_step("two")
    scene.roleplay.on_session_end("one")
    assert scene.host.told == [("one", False), ("two", False), ("one", True), ("two", True)]


def test_after_a_restart_the_host_is_told_again(scene: Scene) -> None:
    scene.memory.kept["one"] = Selection(rp=LOCKED)
    scene.roleplay.on_sync({"id": "one", "header": {}, "cwd": "/tea"}, [sandbox("read-only")])
    scene.roleplay.on_sync({"id": "two", "header": {}, "cwd": "/tea"}, [])
    assert scene.host.told == [("one", True), ("two", False)]


def test_a_session_that_does_not_run_is_stored_without_asking_the_host(scene: Scene) -> None:
    assert scene.roleplay.set_active("old", active=True) is RpOutcome.COMMITTED
    assert scene.memory.kept["old"].rp == ON
    assert scene.host.done == []


def test_a_resumed_session_goes_back_to_where_it_was(scene: Scene) -> None:
    scene.memory.kept["one"] = Selection(rp=LOCKED)
    session = {"id": "one", "header": {}, "cwd": "/tea"}
    scene.roleplay.on_sync(session, [sandbox("workspace-write"), sandbox("read-only")])
    scene.roleplay.on_session_start(session, "resume")
    scene.roleplay.set_active("one", active=False)
    assert ("one", "workspace-write") in scene.host.done


def test_a_sync_in_two_batches_is_one_log(scene: Scene) -> None:
    session = {"id": "one", "header": {}, "cwd": "/tea"}
    scene.roleplay.on_sync(session, [sandbox("danger-full-access")], is_first=True)
    scene.roleplay.on_sync(session, [{"type": "turn/start", "data": {}}], is_first=False)
    assert scene.roleplay.set_active("one", active=True) is RpOutcome.QUEUED
    scene.roleplay.on_pre_step("one")
    before = scene.memory.kept["one"].rp.sandbox_before
    assert before is SandboxMode.DANGER_FULL_ACCESS


def test_it_follows_a_written_selection(scene: Scene) -> None:
    scene.start("one")
    before, after = Selection(), Selection(character_id="maren")
    scene.memory.kept["one"] = after
    scene.roleplay.on_selection_change("one", before, after)
    assert scene.memory.kept["one"].rp == evolve(LOCKED, source=RpSource.CHARACTER_FOLLOW)


def test_a_taken_over_configuration_brings_its_lock(scene: Scene) -> None:
    scene.start("one")
    elsewhere = evolve(LOCKED, sandbox_before=SandboxMode.DANGER_FULL_ACCESS)
    after = Selection(character_id="maren", rp=elsewhere)
    scene.memory.kept["one"] = after
    scene.roleplay.on_selection_change("one", Selection(), after)
    assert scene.memory.kept["one"].rp == LOCKED
    assert scene.host.done == [("one", "read-only")]
    assert scene.host.told == [("one", False), ("one", True)]


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (("", ""), ("is on:", "already on")),
        ((" ON ",), ("is on:",)),
        (("off",), ("is off.",)),
        (("", "off", "off"), ("is on:", "is off.", "already off")),
        (("later",), ("Use /rp",)),
    ],
)
def test_commands_are_answered(scene: Scene, words: Sequence[str], answers: Sequence[str]) -> None:
    scene.start("one")
    given = [scene.roleplay.on_command("one", word) for word in words]
    assert [part in answer for part, answer in zip(answers, given, strict=True)] == [
        True for _ in words
    ]


def test_events_that_are_none_of_its_business_are_ignored(scene: Scene) -> None:
    scene.event("one", "user/message", mode="read-only")
    scene.roleplay.on_event("one", {"type": 7})
    assert scene.host.done == []


def test_alerts_of_sessions_nobody_looks_at_do_not_pile_up(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tavern_loader.service.rp_alerts.MAX_PENDING_ALERTS", 2)
    for name in ("one", "two", "three"):
        session = scene.start(name)
        scene.roleplay.set_active(name, active=True)
        scene.roleplay.on_tool(session, "bash", {})
    assert scene.roleplay.alerts.get("one") is None
    assert scene.roleplay.alerts.get("three") is not None
