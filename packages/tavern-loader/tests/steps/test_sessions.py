"""What outlives a step: forks, subagents, resumed sessions, long and compacted ones."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.step_scene import Generation, ModelSession, StepScene, card, preset, world

STICKY = world({"key": ["bell"], "content": "It rings.", "sticky": 5})
COUNT = {"identifier": "n", "content": "n={{incvar::n}}"}
COOL = world({"key": ["bell"], "content": "It rings.", "cooldown": 3})


def fired(session: ModelSession) -> bool:
    return "It rings." in session.parts


def test_timed_effects_go_on_from_step_to_step(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(STICKY),))
    session = scene.session()
    assert [fired(session.say(text)) for text in ("bell", "a", "b", "c")] == [
        True, True, True, False,
    ]  # fmt: skip


def test_a_fork_begins_with_what_held_at_its_cut(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(STICKY),), preset_id=scene.add(preset(COUNT)))
    session = scene.session()
    session.say("a").say("b")
    before = session.seq
    session.say("bell")
    after = session.seq
    session.say("c")
    assert session.parts == ["n=4", "It rings."]
    early = session.fork("early", before).say("x")
    late = session.fork("late", after).say("x")
    assert (early.parts, late.parts) == (["n=3"], ["n=4", "It rings."])


def test_a_fork_whose_first_event_is_told_before_its_sync_is_a_fork(scene: StepScene) -> None:
    scene.bind(preset_id=scene.add(preset(COUNT)))
    session = scene.session().say("a")
    event = {"type": "sandbox/mode", "seq": session.seq, "data": {"mode": "read-only"}}
    scene.call("session/event", sessionId="fork", event=event)
    assert session.fork("fork", session.seq).say("b").parts == ["n=2"]


def test_a_fork_of_a_session_that_is_not_open_is_the_same(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(STICKY),), preset_id=scene.add(preset(COUNT)))
    session = scene.session().say("bell")
    scene.restart()
    fork = session.fork("fork", session.seq).say("x")
    assert fork.parts == ["n=2", "It rings."]
    assert fork.fork("of-fork", fork.seq).say("y").parts == ["n=3", "It rings."]


def test_a_fork_in_the_middle_of_a_turn_has_its_step(scene: StepScene) -> None:
    scene.bind(preset_id=scene.add(preset(COUNT)))
    session = scene.session()
    session.insert("a")
    session.begin_turn()
    assembled_at = session.seq
    session.take_step()
    session.end_turn()
    assert session.fork("without", assembled_at).say("x").parts == ["n=1"]
    assert session.fork("with", assembled_at + 1).say("x").parts == ["n=2"]


def test_a_subagent_begins_anew_and_has_the_selection_of_its_parent(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(STICKY),), preset_id=scene.add(preset(COUNT)))
    session = scene.session().say("bell")
    child = scene.session("child", parent=session, subagent=True)
    assert child.say("x").parts == ["n=1"]
    assert child.say("bell").parts == ["n=2", "It rings."]


def test_a_fork_keeps_its_selection_when_the_parent_changes(scene: StepScene) -> None:
    scene.bind(preset_id=scene.add(preset(COUNT)))
    session = scene.session().say("a")
    fork = session.fork("fork", session.seq)
    scene.rebind(session.id, preset_id="")
    assert session.say("b").parts == []
    assert fork.say("b").parts == ["n=2"]


def test_a_resumed_session_goes_on(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(COOL),), preset_id=scene.add(preset(COUNT)))
    session = scene.session().say("bell")
    scene.call("session/end", sessionId=session.id)
    scene.restart()
    session.open("resume")
    assert session.say("bell").parts == ["n=2"]
    assert session.say("bell").parts == ["n=3", "It rings."]


def test_what_waits_in_the_inbox_is_known_after_a_resume(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(STICKY),))
    session = scene.session()
    session.insert("A bell?")
    scene.restart()
    session.open("resume")
    session.begin_turn()
    session.take_step()
    assert fired(session)


def test_an_aborted_turn_leaves_no_input_behind(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(STICKY),))
    session = scene.session()
    session.insert("A bell?")
    session.begin_turn()
    session.end_turn(kind="aborted")
    session._claimed = []
    assert not fired(session.say("Hello."))


def test_the_clock_of_a_long_chat_goes_on(scene: StepScene) -> None:
    scene.config = {"worldBook": {"maxScanMessages": 4}}
    scene.restart()
    scene.bind(world_book_ids=(scene.add(STICKY),))
    session = scene.session()
    for _ in range(10):
        session.say("Nothing.")
    assert [fired(session.say(text)) for text in ("bell", "a", "b", "c")] == [
        True, True, True, False,
    ]  # fmt: skip


def test_a_compaction_does_not_end_timed_effects(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(STICKY),))
    session = scene.session()
    session.say("Nothing.").say("Nothing.").say("bell")
    for event in session.events:
        if event["type"] in ("user/message", "assistant/message"):
            event["type"] = "compacted"
    assert [fired(session.say(text)) for text in ("a", "b", "c")] == [True, True, False]


def test_the_greeting_is_there_while_the_chat_opens(scene: StepScene) -> None:
    scene.bind(character_id=scene.add(card(first_mes="Come in.", description="")))
    session = scene.session()
    session.insert("Hello.")
    session.begin_turn()
    session.take_step(reply="")
    session.take_step()
    assert session.parts == ["Come in."]
    session.end_turn()
    assert session.say("And?").parts == []


def talk_side_by_side(scene: StepScene, count: int, turns: int) -> None:
    """Let sessions speak at once; each must read its own input and its own lore."""
    entries = ({"key": [f"word{n}x"], "content": f"Lore {n}."} for n in range(count))
    echo = {"identifier": "n", "content": "{{setvar::last::{{lastUserMessage}}}}{{getvar::last}}"}
    scene.bind(world_book_ids=(scene.add(world(*entries)),), preset_id=scene.add(preset(echo)))
    sessions = [scene.session(f"s{n}") for n in range(count)]

    def speak(n: int) -> list[list[str]]:
        return [list(sessions[n].say(f"word{n}x {turn}").parts) for turn in range(turns)]

    with ThreadPoolExecutor(16) as threads:
        for n, seen in enumerate(threads.map(speak, range(count))):
            assert seen == [[f"word{n}x {turn}", f"Lore {n}."] for turn in range(turns)]


def test_two_hundred_sessions_side_by_side_do_not_see_each_other(scene: StepScene) -> None:
    scene.config = {"trace": False}
    scene.restart()
    talk_side_by_side(scene, 200, 1)


def test_records_of_sessions_side_by_side_are_all_kept(scene: StepScene) -> None:
    talk_side_by_side(scene, 20, 2)
    scene.call("shutdown")
    rows = scene.trace().rows
    assert len({(row.session_id, row.id) for row in rows}) == 40
    assert {row.record.status for row in rows if row.record} == {"request-observed"}


# --- what is kept ------------------------------------------------------------------------------

WYVERN = "the wyvern sleeps under the quarry"
TELLS = {
    "identifier": "tells",
    "content": "{{setvar::said::{{lastUserMessage}}}}{{setglobalvar::heard::{{lastUserMessage}}}}"
    "{{setvar::copy::{{getvar::said}}!}}{{setvar::plain::yes}}[{{getvar::copy}}]",
}


@pytest.mark.parametrize("generation", Generation)
def test_no_text_of_the_input_is_kept(
    scene: StepScene, tmp_path: Path, generation: Generation
) -> None:
    scene.bind(
        preset_id=scene.add(preset(TELLS, COUNT)),
        character_id=scene.add(card()),
        world_book_ids=(
            scene.add(world({"key": ["/wyv.*/"], "content": "It bites.", "sticky": 2})),
        ),
    )
    session = scene.session(generation=generation)
    session.say(WYVERN)
    assert session.parts[0] == f"[{WYVERN}!]"
    assert "It bites." in session.parts
    assert WYVERN not in scene.kept_texts()
    session.say("And then?")
    session.insert(f"{WYVERN} again")
    session.begin_turn()
    session.take_step()
    session.log("agent/inbox/spliced", target="next-turn", start=9, inserted=[{"content": WYVERN}])
    scene.call("shutdown")
    assert "wyvern sleeps" not in scene.kept_texts()
    kept = json.loads(next(tmp_path.rglob("loader-memories/*.json")).read_text())
    assert kept["checkpoints"][-1]["variables"] == {"plain": "yes", "n": 3}


def test_variables_of_all_chats_are_shared(scene: StepScene) -> None:
    counts = {"identifier": "g", "content": "{{incglobalvar::visits}}"}
    scene.bind(preset_id=scene.add(preset(counts)))
    assert scene.session("one").say("a").parts == ["1"]
    assert scene.session("two").say("a").parts == ["2"]
    scene.restart()
    assert scene.session("three").say("a").parts == ["3"]


def test_a_session_without_anything_to_remember_has_no_file(
    scene: StepScene, tmp_path: Path
) -> None:
    scene.session().say("Hello.")
    assert list(tmp_path.rglob("loader-memories/*.json")) == []


def test_a_damaged_memory_is_reported_and_stays(
    scene: StepScene, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scene.bind(preset_id=scene.add(preset(COUNT)))
    session = scene.session().say("a")
    file = next(tmp_path.rglob("loader-memories/*.json"))
    file.write_text("{")
    scene.restart()
    session.open("resume")
    assert session.say("b").parts == ["n=1"]
    assert file.read_text() == "{"
    assert "SESSION_MEMORY_INVALID" in capfd.readouterr().err
