"""The lock of RP mode where something is missing: a store, a process, an answer, a moment."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from tavern_loader.domain import rp_mode
from tavern_loader.domain.rp_mode import OFF, Change, RpOutcome, RpSession, RpSource, SandboxMode
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import StoreError
from tavern_loader.service.roleplay import ToolVerdict
from tests.rp_scene import DENIED, LOCKED, ON, Memory, Scene

WAIT_S = 5.0
READ_ONLY = ("workspace-write", "read-only")
FREE = ToolVerdict()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def told(scene: Scene) -> dict[str, bool]:
    """Say what the host knows of the locks."""
    return dict(scene.host.told)


# --- the store -------------------------------------------------------------------------------


def test_what_is_stored_is_remembered_while_it_cannot_be_read(scene: Scene) -> None:
    locked, free = scene.start("locked"), scene.start("free", mode="read-only")
    scene.roleplay.set_active("locked", active=True)
    scene.memory.is_damaged = True
    assert scene.roleplay.on_tool(locked, "bash", {}) == DENIED
    assert scene.roleplay.on_tool(free, "bash", {}) == FREE
    assert scene.roleplay.section_text("locked") == "Stay in the story."


def test_what_could_never_be_read_is_judged_by_the_log(scene: Scene) -> None:
    scene.memory.is_damaged = True
    pinned = scene.sync("pinned", *READ_ONLY)
    fork = scene.sync("fork", inherited="read-only", parentSession="closed")
    never = scene.sync("never", "workspace-write")
    new = scene.sync("new")
    judged = [scene.roleplay.on_tool(one, "bash", {}) for one in (pinned, fork, never, new)]
    assert judged == [DENIED, DENIED, FREE, FREE]
    assert told(scene) == {"pinned": True, "fork": True, "never": False, "new": False}
    assert scene.roleplay.on_tool(pinned, "read", {"file_path": "cup.txt"}) == FREE


def test_a_session_that_starts_with_a_damaged_store_is_locked_by_its_log(scene: Scene) -> None:
    scene.memory.is_damaged = True
    session = scene.sync("one", *READ_ONLY)
    with pytest.raises(StoreError):
        scene.roleplay.on_session_start(session, "resume")
    assert told(scene) == {"one": True}
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED


def test_the_sandbox_is_held_while_the_store_cannot_be_read(scene: Scene) -> None:
    scene.start("one")
    scene.roleplay.set_active("one", active=True)
    scene.memory.is_damaged = True
    scene.host.done.clear()
    scene.event("one", "sandbox/mode", mode="danger-full-access")
    assert scene.host.done == [("one", "read-only")]
    scene.roleplay.on_pre_step("one")
    assert scene.host.done == [("one", "read-only")]


def test_the_process_before_is_believed_where_nothing_can_be_read(scene: Scene) -> None:
    scene.memory.is_damaged = True
    session = scene.sync("one", "workspace-write", was_locked=True)
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED
    # And it was no wish: what is stored counts as soon as it can be read.
    scene.memory.is_damaged = False
    scene.roleplay.on_pre_step("one")
    assert scene.roleplay.on_tool(session, "bash", {}) == FREE


def test_a_repaired_store_counts_from_the_next_step(scene: Scene) -> None:
    scene.memory.is_damaged = True
    session = scene.sync("one", *READ_ONLY)
    scene.memory.is_damaged = False
    scene.roleplay.on_pre_step("one")
    assert scene.host.told == [("one", True), ("one", False)]
    assert scene.roleplay.on_tool(session, "bash", {}) == FREE


def test_a_switch_that_cannot_be_stored_is_no_switch_and_told(scene: Scene) -> None:
    session = scene.start("one")
    scene.roleplay.set_active("one", active=True)
    scene.memory.is_full = True
    answer = scene.roleplay.on_command("one", "off")
    assert answer.startswith("Role-play mode stays as it is")
    assert "STORE_UNWRITABLE" in answer
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED


def test_a_switch_whose_sandbox_the_host_does_not_take_is_made_and_told(scene: Scene) -> None:
    session = scene.start("one")
    scene.host.is_stuck = True
    answer = scene.roleplay.on_command("one", "on")
    assert answer == "Role-play mode is on; the read-only sandbox follows with the next step."
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED
    scene.host.is_stuck = False
    scene.roleplay.on_pre_step("one")
    assert scene.host.done == [("one", "read-only")]
    scene.host.is_stuck = True
    answer = scene.roleplay.on_command("one", "off")
    assert answer.startswith("Role-play mode is off, but DSH has kept the read-only sandbox")
    assert scene.roleplay.on_tool(session, "bash", {}) == FREE


def test_a_lock_that_cannot_be_stored_at_the_start_holds_and_is_stored_later(scene: Scene) -> None:
    scene.memory.kept["one"] = Selection(character_id="maren")
    scene.memory.is_full = True
    session = scene.sync("one", "workspace-write")
    with pytest.raises(StoreError):
        scene.roleplay.on_session_start(session)
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED
    assert told(scene) == {"one": True}
    scene.memory.is_full = False
    scene.roleplay.on_pre_step("one")
    assert scene.memory.kept["one"].rp == evolve(LOCKED, source=RpSource.CHARACTER_FOLLOW)
    assert scene.host.done == [("one", "read-only")]


def test_a_wish_that_cannot_be_stored_waits_on(scene: Scene) -> None:
    session = scene.start("one")
    scene.event("one", "turn/start")
    scene.roleplay.set_active("one", active=True)
    scene.memory.is_full = True
    with pytest.raises(StoreError):
        scene.roleplay.on_pre_step("one")
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED
    assert scene.host.done == [("one", "read-only")]
    scene.memory.is_full = False
    scene.event("one", "turn/end")
    assert scene.memory.kept["one"].rp.active


# --- a new process ---------------------------------------------------------------------------


def test_a_wish_outlives_the_process_it_was_told_to(scene: Scene) -> None:
    scene.start("one")
    scene.event("one", "turn/start")
    assert scene.roleplay.set_active("one", active=True) is RpOutcome.QUEUED
    scene.restart()
    session = scene.sync("one", "workspace-write", was_locked=True, turn=True)
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED
    assert scene.roleplay.view("one").pending == ON
    scene.roleplay.on_pre_step("one")
    assert scene.memory.kept["one"].rp == LOCKED


def test_a_lock_that_waited_when_its_session_ended_is_stored(scene: Scene) -> None:
    scene.start("one")
    child = scene.sync("child", "workspace-write", parentSession="one")
    scene.event("one", "turn/start")
    assert scene.roleplay.set_active("one", active=True) is RpOutcome.QUEUED
    scene.roleplay.on_session_end("one")
    assert scene.memory.kept["one"].rp == ON
    assert scene.roleplay.on_tool(child, "bash", {}) == DENIED
    session = scene.sync("one", "workspace-write")
    scene.roleplay.on_session_start(session, "resume")
    assert scene.memory.kept["one"].rp == LOCKED
    assert scene.host.done == [("one", "read-only")]


def test_the_end_of_a_lock_that_waited_when_its_session_ended_is_not_stored(scene: Scene) -> None:
    scene.start("one")
    scene.roleplay.set_active("one", active=True)
    scene.event("one", "turn/start")
    assert scene.roleplay.set_active("one", active=False) is RpOutcome.QUEUED
    scene.roleplay.on_session_end("one")
    assert scene.memory.kept["one"].rp == LOCKED


def test_a_lock_from_above_is_no_wish_of_ones_own(scene: Scene) -> None:
    scene.start("root")
    scene.roleplay.set_active("root", active=True)
    scene.restart()
    scene.sync("child", *READ_ONLY, was_locked=True, parentSession="root")
    scene.sync("root", *READ_ONLY, was_locked=True)
    assert scene.roleplay.view("child").pending is None
    scene.roleplay.set_active("root", active=False)
    assert told(scene) == {"child": False, "root": False}


def test_only_a_new_process_takes_a_wish_over(scene: Scene) -> None:
    scene.start("one")
    scene.roleplay.set_active("one", active=True)
    scene.roleplay.set_active("one", active=False)
    scene.sync("one", "workspace-write", was_locked=True)
    assert scene.roleplay.view("one").pending is None


def test_every_sync_is_answered_with_the_lock(scene: Scene) -> None:
    scene.start("one")
    scene.sync("one", "workspace-write")
    assert scene.host.told == [("one", False), ("one", False)]


def test_nothing_is_said_before_the_last_part_of_a_sync(scene: Scene) -> None:
    scene.memory.is_damaged = True
    session: dict[str, Any] = {"id": "one", "header": {}}
    scene.roleplay.on_sync(session, [], is_last=False)
    assert scene.host.told == []
    scene.sync("one", *READ_ONLY)
    assert scene.host.told == [("one", True)]


def test_an_event_before_the_sync_is_left_to_the_sync(scene: Scene) -> None:
    scene.event("one", "sandbox/mode", mode="workspace-write")
    scene.event("one", "turn/end")
    assert (scene.host.told, scene.host.done) == ([], [])


# --- ancestors -------------------------------------------------------------------------------


def test_a_new_process_reads_the_ancestors_of_sessions_that_run(scene: Scene) -> None:
    scene.memory.kept["grandmother"] = Selection(rp=LOCKED)
    scene.host.headers["mother"] = {"parentSession": "grandmother"}
    session = scene.sync("one", "workspace-write", parentSession="mother")
    assert scene.roleplay.on_tool(session, "bash", {}) == DENIED
    assert told(scene) == {"one": True}


def test_where_ancestors_are_not_known_a_read_only_sandbox_counts_as_their_lock(
    scene: Scene,
) -> None:
    scene.memory.kept["grandmother"] = Selection(rp=LOCKED)
    scene.host.headers["mother"] = {"parentSession": "grandmother"}
    scene.host.is_gone = True
    pinned = scene.start("pinned", "resume", mode="read-only", parentSession="mother")
    open_one = scene.start("open", "resume", parentSession="mother")
    assert scene.roleplay.on_tool(pinned, "bash", {}) == DENIED
    assert scene.roleplay.on_tool(open_one, "bash", {}) == FREE
    # What was not answered is asked again when nobody waits for it, and then it is known.
    scene.host.is_gone = False
    assert scene.roleplay.on_tool(open_one, "bash", {}) == FREE
    scene.event("open", "turn/end")
    assert scene.roleplay.on_tool(open_one, "bash", {}) == DENIED


def test_a_fork_goes_back_to_the_mode_it_inherited(scene: Scene) -> None:
    session = scene.sync("fork", inherited="workspace-write", parentSession="closed")
    scene.roleplay.on_session_start(session)
    scene.roleplay.set_active("fork", active=True)
    assert scene.memory.kept["fork"].rp.sandbox_before is SandboxMode.WORKSPACE_WRITE
    scene.roleplay.set_active("fork", active=False)
    assert scene.host.done[1:] == [("fork", "read-only"), ("fork", "workspace-write")]


# --- at the same time ------------------------------------------------------------------------


def beside(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


class SlowMemory(Memory):
    """A store in which another process keeps the lock."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()

    def change_selection(
        self, session_id: str, change: Callable[[Selection], Selection]
    ) -> Selection:
        self.asked.set()
        self.go_on.wait(WAIT_S)
        return super().change_selection(session_id, change)


def test_a_session_whose_change_is_slow_to_store_holds_up_no_other() -> None:
    memory = SlowMemory()
    scene = Scene(memory=memory, new_lock=threading.RLock)
    scene.sync("slow", "workspace-write")
    other = scene.sync("other", "workspace-write")
    changing = beside(lambda: scene.roleplay.set_active("slow", active=True))
    assert memory.asked.wait(WAIT_S)
    verdicts: list[ToolVerdict] = []
    asking = beside(lambda: verdicts.append(scene.roleplay.on_tool(other, "bash", {})))
    asking.join(WAIT_S / 2)
    memory.go_on.set()
    assert verdicts == [FREE]
    changing.join(WAIT_S)
    assert scene.roleplay.is_locked("slow")


def test_a_wish_is_not_overrun_by_the_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    computed, go_on = threading.Event(), threading.Event()
    at_boundary = rp_mode.at_boundary

    def slow(session: RpSession) -> Change:
        change = at_boundary(session)
        computed.set()
        go_on.wait(WAIT_S)
        return change

    monkeypatch.setattr(rp_mode, "at_boundary", slow)
    scene = Scene(new_lock=threading.RLock)
    scene.sync("one", "workspace-write", turn=True)
    scene.roleplay.set_active("one", active=True)
    ending = beside(lambda: scene.event("one", "turn/end"))
    assert computed.wait(WAIT_S)
    outcomes: list[RpOutcome] = []
    page = beside(lambda: outcomes.append(scene.roleplay.set_active("one", active=False)))
    page.join(0.2)
    go_on.set()
    for thread in (ending, page):
        thread.join(WAIT_S)
    assert outcomes == [RpOutcome.COMMITTED]
    assert scene.memory.kept["one"].rp == evolve(OFF, follow_suppressed=True)
