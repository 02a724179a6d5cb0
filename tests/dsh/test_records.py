"""In the real host: records that its log proves, and what outlives a step."""

import json
from collections.abc import Iterator

import pytest

from tavern_trace import RecordStatus, TraceRecord, history_from_json, load_store, verify
from tests.dsh._host import DRIVEN, Driven, Home, eventually
from tests.dsh._install import Toolbox
from tests.dsh._model import Model
from tests.step_scene import PART, card, preset, world

RINGS = "It rings at the fair, {{ not a variable }}."
STAYS = "The fog stays."
BOOK = world(
    {"key": ["bell"], "content": RINGS},
    {"key": ["fog"], "content": STAYS, "sticky": 7},
)
MAIN = {"identifier": "main", "content": "Write {{char}}. Step {{incvar::steps}}."}
LORE = {"identifier": "worldInfoBefore", "marker": True}
SETTINGS = {"temperature": 1.5, "openai_max_tokens": 300, "reasoning_effort": "medium"}


@pytest.fixture(scope="module")
def host(
    toolbox: Toolbox, model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driven]:
    home = Home(toolbox, tmp_path_factory.mktemp("records"), model)
    files = {"card": card(), "book": BOOK, "rules": preset(MAIN, LORE, **SETTINGS)}
    for name, document in files.items():
        (home.workspace / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    loader(home, "import", *(str(home.workspace / f"{name}.json") for name in files))
    bound = ("--character", "Maren", "--world-book", "book", "--preset", "rules")
    loader(home, "bind", "--default", *bound)
    home.install(DRIVEN)
    home.add_driver()
    with home.driven() as running:
        yield running


def loader(home: Home, *arguments: str) -> None:
    ran = home.loader(*arguments)
    assert ran.code == 0, ran.errors


def records(host: Driven, session: str, count: int) -> tuple[TraceRecord, ...]:
    """Read the records of a session as soon as they are there."""
    file = host.home.storage / "tavern-trace-records.json"

    def read() -> tuple[TraceRecord, ...]:
        return load_store(file.read_bytes()).records(session) if file.exists() else ()

    eventually(lambda: len(read()) >= count)
    return read()


def assert_proven(host: Driven, session: str, count: int) -> tuple[TraceRecord, ...]:
    """Hold every record of a session against its log, and give them."""
    found = records(host, session, count)
    assert len(found) == count
    log = {
        "meta": host.do("header", session=session),
        "events": host.do("events", session=session),
    }
    systems = [one.system for one in host.home.model.steps_of(session)]
    for record in found:
        proof = verify(record, history_from_json(log))
        assert record.status is RecordStatus.REQUEST_OBSERVED
        assert proof.content_status == "available"
        texts = [section.text or "" for section in proof.sections]
        assert "\n\n".join(texts) in systems
    return found


def test_a_step_with_a_tool_and_a_failed_try_is_proven(host: Driven) -> None:
    session = host.session("proven")
    host.step(session, "A bell?")
    host.step(session, "A bell!\nTOOL todo_write {}")
    host.step(session, "The bell.\nFAIL500")
    found = assert_proven(host, session, 5)
    assert [(one.turn, one.step, one.attempt) for one in found] == [
        (1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 1, 1), (3, 1, 2),
    ]  # fmt: skip
    assert RINGS in host.home.model.steps_of(session)[-1].system
    own = [part for part in found[0].sections if part.name.startswith(PART)]
    assert [source.kind for part in own for source in part.sources] == [
        "preset", "worldbook", "character",
    ]  # fmt: skip


def test_a_fork_is_proven_by_its_own_log(host: Driven) -> None:
    parent = host.session("forked")
    host.step(parent, "A bell?")
    seq = host.do("events", session=parent)[-1]["seq"]
    fork = host.session("fork", parent=parent, at=seq)
    host.step(fork, "A bell, too?")
    assert_proven(host, fork, 1)


def test_late_lore_is_proven_by_the_snapshot(host: Driven) -> None:
    session = host.session("late")
    host.step(session, "Hello.")
    loader(host.home, "bind", "--session", session, "--lore-channel", "late")
    system = host.step(session, "A bell?")
    assert RINGS not in system
    asked = host.home.model.steps_of(session)[-1]
    assert RINGS in json.dumps(asked.body["messages"], ensure_ascii=False)
    last = assert_proven(host, session, 2)[-1]
    assert "pmp-dsh-tavern:lore" in [part.name for part in last.contexts]


def test_a_failure_for_good_is_pointed_to(host: Driven) -> None:
    session = host.session("failed")
    host.do("rig", session=session, kind="throw")
    assert host.say(session, "A bell?")["kind"] == "error"
    log = {
        "meta": host.do("header", session=session),
        "events": host.do("events", session=session),
    }
    (record,) = records(host, session, 1)
    assert record.status is RecordStatus.ASSEMBLY_OR_PREPARATION_FAILED
    failure = verify(record, history_from_json(log)).failure
    assert failure is not None
    assert failure.message == "rigged"


@pytest.mark.parametrize("kind", ["complete", "veto", "rewrite"])
def test_a_text_that_another_plugin_has_changed_is_not_said_to_be_ours(
    host: Driven, kind: str
) -> None:
    session = host.session(f"rigged-{kind}")
    host.do("rig", session=session, kind=kind)
    host.step(session, "A bell?")
    (record,) = records(host, session, 1)
    assert record.status is RecordStatus.REQUEST_OBSERVED
    sources = [source for part in record.sections for source in part.sources]
    is_whole = record.delivery is not None and record.delivery.assembly_verified
    assert sources == [] or not is_whole


def test_a_setting_that_the_model_does_not_take_is_withdrawn(host: Driven) -> None:
    session = host.session("settings")
    host.step(session, "Hello.")
    body = host.home.model.steps_of(session)[-1].body
    assert (body["temperature"], body["max_tokens"]) == (1.5, 300)
    (record,) = records(host, session, 1)
    assert record.parameters is not None
    assert record.parameters["fallbacks"] == (
        {"parameter": "reasoningEffort", "code": "UNSUPPORTED_REASONING_EFFORT"},
    )


def test_effects_and_variables_go_on_in_forks_and_after_a_restart(host: Driven) -> None:
    session = host.session("memory")
    host.step(session, "Fog.")
    seq = host.do("events", session=session)[-1]["seq"]
    seen = [host.step(session, text) for text in ("a", "b", "c", "d")]
    assert [STAYS in system for system in seen] == [True, True, True, False]
    fork = host.session("memory-fork", parent=session, at=seq)
    system = host.step(fork, "x")
    assert STAYS in system
    assert "Step 2." in system
    host.do("dispose", session=session)
    host.do("resume", session=session)
    assert "Step 6." in host.step(session, "e")


def test_a_compaction_does_not_end_an_effect(host: Driven) -> None:
    session = host.session("compacted")
    for number in range(3):
        host.step(session, f"say {number} " + "word " * 400)
    assert STAYS in host.step(session, "Fog.")
    done = host.do("command", session=session, line="/compact")
    assert done["result"]["kind"] == "success", done
    assert STAYS in host.step(session, "Still?")
    assert_proven(host, session, 5)
