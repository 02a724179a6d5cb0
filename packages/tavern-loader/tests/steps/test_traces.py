"""What a record says of a request that fails, is tried again, or is never seen."""

from collections.abc import Mapping
from typing import Any

import pytest

from tavern_trace import TraceRecord, verify
from tests.step_scene import Generation, ModelSession, StepScene, card

FAILED = {"kind": "error", "error": {"message": "boom", "code": "HTTP_500"}}


@pytest.fixture
def session(scene: StepScene) -> ModelSession:
    scene.bind(character_id=scene.add(card()))
    return scene.session()


def begin(session: ModelSession) -> None:
    session.insert("Hello.")
    session.begin_turn()
    session.assemble()
    session.enter()


def statuses(session: ModelSession) -> list[tuple[int, str]]:
    session.scene.call("shutdown")
    return [(one.attempt, one.status.value) for one in session.scene.records(session.id)]


def failing(session: ModelSession, *, retry: bool) -> None:
    session.scene.call(
        "request-error",
        session=session.facts,
        turn=session.turn,
        step=session.step,
        failure={"message": "boom", "code": "HTTP_500"},
        retry=retry,
    )


def test_a_retried_request_is_a_second_record(session: ModelSession) -> None:
    begin(session)
    session.request()
    session.stream()
    failing(session, retry=True)
    session.request()
    session.stream()
    session.reply("Fine.")
    session.end_turn()
    assert statuses(session) == [(1, "request-observed"), (2, "request-observed")]
    history = session.history()
    assert [verify(one, history).content_status for one in records(session)] == ["available"] * 2


def records(session: ModelSession) -> tuple[TraceRecord, ...]:
    return session.scene.records(session.id)


def test_a_request_that_fails_before_it_is_seen(session: ModelSession) -> None:
    begin(session)
    session.request()
    failing(session, retry=True)
    session.request()
    session.stream()
    session.reply("Fine.")
    session.end_turn()
    assert statuses(session) == [
        (1, "request-failed-before-observation"),
        (2, "request-observed"),
    ]


def test_a_request_that_is_prepared_again_supersedes_the_first(session: ModelSession) -> None:
    begin(session)
    session.request()
    session.request()
    session.stream()
    assert statuses(session) == [(1, "superseded-unconfirmed"), (2, "request-observed")]


def test_an_answer_to_a_request_that_was_not_seen(session: ModelSession) -> None:
    begin(session)
    session.request()
    session.reply("Fine.")
    session.end_turn()
    assert statuses(session) == [(1, "request-unconfirmed")]


def test_a_turn_that_ends_before_the_request(session: ModelSession) -> None:
    begin(session)
    session.request()
    session.end_turn(kind="aborted")
    assert statuses(session) == [(1, "request-unconfirmed")]


def test_a_plugin_that_is_unloaded(session: ModelSession) -> None:
    begin(session)
    session.request()
    assert statuses(session) == [(1, "unloaded-unconfirmed")]


def test_a_session_that_is_closed(session: ModelSession) -> None:
    begin(session)
    session.request()
    session.scene.call("session/end", sessionId=session.id)
    assert statuses(session) == [(1, "unloaded-unconfirmed")]


def test_a_step_that_fails_in_its_preparation(session: ModelSession) -> None:
    session.insert("Hello.")
    session.begin_turn()
    session.scene.call("agent-error", session=session.facts, turn=1, step=1, error={})
    session.end_turn(**FAILED)
    assert statuses(session) == [(1, "assembly-or-preparation-failed")]


def test_an_error_after_a_request_was_seen_is_no_second_record(session: ModelSession) -> None:
    begin(session)
    session.request()
    session.stream()
    session.scene.call("agent-error", session=session.facts, turn=1, step=1, error={})
    assert statuses(session) == [(1, "request-observed")]


@pytest.mark.parametrize("generation", Generation)
def test_a_failure_is_pointed_to_and_not_copied(scene: StepScene, generation: Generation) -> None:
    session = scene.session(generation=generation)
    begin(session)
    session.request()
    session.stream()
    session.end_turn(**FAILED)
    (record,) = scene.records()
    found = verify(record, session.history())
    assert found.failure is not None
    assert (found.failure.code, found.failure.message) == ("HTTP_500", "boom")
    assert "boom" not in scene.kept_texts()


def test_a_failed_attempt_of_later_logs_is_pointed_to(scene: StepScene) -> None:
    session = scene.session(generation=Generation.MESSAGE)
    begin(session)
    session.request()
    session.stream()
    chunk = {
        "type": "finish",
        "reason": {"kind": "error", "failure": {"message": "boom", "code": "X"}},
    }
    stream = [{"type": "chunk", "chunk": chunk}]
    session.log("assistant/attempt", turn=1, step=1, stream=stream)
    session.end_turn()
    (record,) = scene.records()
    failure = verify(record, session.history()).failure
    assert failure is not None
    assert failure.code == "X"


@pytest.mark.parametrize("purpose", ["session-title", "compaction"])
def test_calls_for_another_purpose_are_no_request_of_the_step(
    session: ModelSession, purpose: str
) -> None:
    begin(session)
    session.request()
    session.stream(purpose=purpose, system="Make a title.")
    session.stream()
    session.reply("Fine.")
    session.end_turn()
    (record,) = records(session)
    assert record.delivery is not None
    assert record.delivery.assembly_verified


def test_another_plugin_that_changes_a_text_is_seen(session: ModelSession) -> None:
    begin(session)
    session.system += "!"
    session.request()
    session.stream()
    session.end_turn()
    (record,) = records(session)
    assert record.delivery is not None
    assert not record.delivery.assembly_verified


def test_a_veto_leaves_no_record(session: ModelSession) -> None:
    session.insert("Hello.")
    session.begin_turn()
    session.assemble()
    session.scene.call("pre-step", session=session.facts, turn=1, step=1, rejected=True)
    session.end_turn(kind="blocked")
    session._claimed = []
    session.say("Again.")
    assert [one.turn for one in records(session)] == [2]


def test_an_inherited_header_is_what_a_fork_points_to(session: ModelSession) -> None:
    session.say("Hello.")
    fork = session.fork("fork", session.seq)
    fork.config = dict(session.config)
    fork.say("Hello.")
    assert [one["type"] for one in fork.events].count("request/header") == 1
    (record,) = session.scene.records("fork")
    assert verify(record, fork.history()).content_status == "available"


def test_the_trace_can_be_off_and_strict(scene: StepScene) -> None:
    scene.config = {"trace": False}
    scene.restart()
    scene.session("off").say("Hello.")
    scene.call("shutdown")
    assert "assemblyHash" not in scene.kept_texts()
    scene.config = {"trace": {"privacy": "strict"}}
    scene.restart()
    scene.bind(character_id=scene.add(card()))
    scene.session("strict").say("Hello.")
    (record,) = scene.records("strict")
    assert "Maren" not in str(record)


def test_records_say_what_changed(session: ModelSession) -> None:
    session.say("Hello.").say("Again.")
    first, second = records(session)
    assert first.changes is None
    assert second.changes is not None
    assert second.changes.previous_id == first.id


def test_of_too_many_sessions_that_wait_the_oldest_are_given_up(
    scene: StepScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tavern_trace.record.MAX_PENDING_SESSIONS", 2)
    for name in ("one", "two", "three"):
        session = scene.session(name)
        begin(session)
        session.request()
        session.log("assistant/attempt", turn=1, step=1)
    found = [scene.records(name)[0].status.value for name in ("one", "two", "three")]
    assert found == ["superseded-unconfirmed", "assembled", "assembled"]


def test_a_question_that_was_not_answered_is_in_the_next_audit(session: ModelSession) -> None:
    session.insert("Hello.")
    session.begin_turn()
    lapse = {"method": "assemble", "turn": None, "step": None, "reason": "GONE: no Python"}
    session.assemble(lapses=[lapse, {**lapse, "turn": 1, "step": 2}])
    session.enter()
    session.request()
    session.stream()
    session.end_turn()
    (record,) = records(session)
    assert record.audit is not None
    listed = record.audit["diagnostics"]
    assert isinstance(listed, tuple)
    said = [(one["code"], one["message"]) for one in listed if isinstance(one, Mapping)]
    assert said[:2] == [
        ("HOST_CALL_LAPSED", "assemble was not answered: GONE: no Python"),
        ("HOST_CALL_LAPSED", "assemble of turn 1, step 2 was not answered: GONE: no Python"),
    ]


def damage(scene: StepScene, data: bytes) -> Any:
    file = scene.installation.storage.root / "tavern-trace-records.json"
    file.write_bytes(data)
    return file


def test_a_trace_that_cannot_be_read_is_not_written_over(
    session: ModelSession, capfd: pytest.CaptureFixture[str]
) -> None:
    file = damage(session.scene, b"{")
    session.say("Hello.").say("Again.")
    session.scene.call("shutdown")
    assert file.read_bytes() == b"{"
    assert capfd.readouterr().err.count("the trace cannot be used: INVALID_JSON") == 1


def test_records_of_another_process_stay(scene: StepScene, session: ModelSession) -> None:
    session.say("Hello.")
    other = StepScene(scene.home)
    other.session("other").say("Hello.")
    other.call("shutdown")
    session.say("Again.")
    assert [len(scene.records(one)) for one in (session.id, "other")] == [2, 1]
