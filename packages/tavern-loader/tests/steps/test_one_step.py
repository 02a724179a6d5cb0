"""One step through all services: what is assembled, what is asked of the model, what is left."""

from collections.abc import Mapping

import pytest

from tavern_loader.domain.selection import LoreChannel
from tavern_loader.errors import CancelledError
from tavern_trace import TraceRecord, verify
from tests.step_scene import (
    PART,
    PROFILE,
    Generation,
    ModelSession,
    StepScene,
    TemplateError,
    Unwanted,
    card,
    preset,
    world,
)

BELL = world({"key": ["bell"], "content": "It rings at the fair."})
MAIN = {"identifier": "main", "role": "system", "content": "Write {{char}}."}
HERE = {"identifier": "worldInfoBefore", "marker": True}


def names(session: ModelSession) -> list[str]:
    return [one["name"].removeprefix(PART) for one in session.sections]


def test_parts_stand_at_the_place_of_the_profile_in_order(scene: StepScene) -> None:
    scene.bind(
        preset_id=scene.add(preset(MAIN, HERE)),
        character_id=scene.add(card()),
        world_book_ids=(scene.add(BELL),),
    )
    session = scene.session().say("A bell?")
    assert names(session) == [
        "harness:identity",
        "0000:preset:prompts_0_content",
        "0001:worldbook:content",
        "0002:character:description",
        "rp:policy",
        "tool:read",
    ]
    assert session.parts == [
        "Write Maren.",
        "It rings at the fair.",
        "Maren runs the night ferry.",
    ]


def test_a_key_in_the_input_alone_fires_before_it_is_history(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(BELL),))
    session = scene.session()
    session.say("No key here.")
    assert session.parts == []
    session.say("A bell?")
    assert session.parts == ["It rings at the fair."]


def test_the_next_step_of_a_turn_reads_the_input_as_history(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(BELL),))
    session = scene.session()
    session.insert("A bell?")
    session.begin_turn()
    session.take_step()
    session.take_step()
    assert session.parts == ["It rings at the fair."]
    session.end_turn()
    assert [pending_messages(record) for record in scene.records()] == [1, 0]


def pending_messages(record: TraceRecord) -> object:
    assert record.audit is not None
    activation = record.audit["activation"]
    assert isinstance(activation, Mapping)
    return activation["pendingMessageCount"]


def test_steering_is_read_in_the_step_that_it_is_claimed_for(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(BELL),))
    session = scene.session()
    session.insert("Good evening.")
    session.begin_turn()
    session.take_step()
    assert session.parts == []
    session.insert("A bell!")
    session.claim()
    session.take_step()
    assert session.parts == ["It rings at the fair."]


def test_what_the_host_says_for_itself_is_not_searched(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(BELL),))
    session = scene.session()
    session.insert("bell", source={"kind": "subagent-settled"})
    session.begin_turn()
    session.take_step()
    assert session.parts == []


def test_nothing_bound_leaves_the_host_alone(scene: StepScene) -> None:
    session = scene.session().say("Hello.")
    assert names(session) == ["harness:identity", "rp:policy", "tool:read"]
    assert session.config == {"provider": "p", "model": "m"}


def test_replace_keeps_only_what_is_ours(scene: StepScene) -> None:
    preset_id = scene.add(preset(MAIN))
    scene.installation.stores.presets.change(
        preset_id, lambda one: {**one, "systemPromptMode": "replace"}
    )
    scene.bind(preset_id=preset_id)
    session = scene.session().say("Hello.")
    assert names(session) == ["0000:preset:prompts_0_content", "rp:policy"]
    assert session.answer["keep"] == [PROFILE, PART, "rp:policy"]


def test_late_lore_is_a_context_and_leaves_the_system_text_alone(scene: StepScene) -> None:
    scene.bind(
        preset_id=scene.add(preset(MAIN, HERE)),
        world_book_ids=(scene.add(BELL),),
        lore_channel=LoreChannel.LATE,
    )
    session = scene.session().say("Hello.")
    before = session.system
    session.say("A bell?")
    assert session.system == before
    assert session.contexts == [{"name": "pmp-dsh-tavern:lore", "text": "It rings at the fair."}]
    session.say("Good night.")
    session.say("Sleep well.")
    assert session.contexts == []


def test_role_play_mode_brings_its_policy(scene: StepScene) -> None:
    session = scene.session()
    assert scene.call("command", session=session.facts, name="rp", arguments="on")["text"]
    session.say("Hello.")
    policy = next(one["text"] for one in session.sections if one["name"] == "rp:policy")
    assert policy.startswith("Role-play mode is on")


@pytest.mark.parametrize("text", ["{{nobody}}", "{{ x }}", "{{{x}}}", "{{}}", "{{a::b}} }}", "{{"])
def test_braces_of_ours_reach_the_model_as_they_are(scene: StepScene, text: str) -> None:
    entry = {"key": ["bell"], "content": f"<{text}>"}
    scene.bind(world_book_ids=(scene.add(world(entry)),))
    session = scene.session().say("bell")
    assert session.parts == [f"<{text}>"]


def test_the_miniature_host_does_throw(scene: StepScene) -> None:
    session = scene.session()
    session.host_sections[0]["text"] = "{{nobody}}"
    with pytest.raises(TemplateError):
        session.say("Hello.")


def test_a_profile_that_is_too_large_is_told_not_raised(scene: StepScene) -> None:
    scene.config = {"limits": {"maxProfileBytes": 100}}
    scene.restart()
    scene.bind(character_id=scene.add(card(description="x" * 101)))
    session = scene.session().say("Hello.")
    assert session.answer["failed"].startswith("TAVERN_PROFILE_TOO_LARGE: ")
    assert session.parts == []
    assert [record.status.value for record in scene.records()] == ["request-observed"]


def test_a_cancelled_assembly_changes_nothing(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(BELL),))
    session = scene.session()
    session.insert("A bell?")
    session.begin_turn()
    with pytest.raises(CancelledError):
        session.assemble(Unwanted())
    session.step = 0
    session.assemble()
    assert session.parts == ["It rings at the fair."]


# --- tried again -----------------------------------------------------------------------------

LUCK = world(
    {"key": ["bell"], "content": "One.", "group": "g", "groupWeight": 100},
    {"key": ["bell"], "content": "Two.", "group": "g", "groupWeight": 100},
    {"key": ["bell"], "content": "Maybe.", "probability": 50, "useProbability": True},
)


def test_a_step_that_is_assembled_again_is_the_same(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(LUCK),))
    session = scene.session()
    session.insert("A bell?")
    session.begin_turn()
    first = session.assemble()
    session.step = 0
    assert session.assemble() == first


@pytest.mark.parametrize("turns", range(4))
def test_a_new_process_assembles_the_step_as_the_one_that_died(
    scene: StepScene, turns: int
) -> None:
    sticky = {"key": ["bell"], "content": "Stays.", "sticky": 3}
    counts = {"identifier": "n", "content": "{{incvar::n}}"}
    scene.bind(
        preset_id=scene.add(preset(counts)),
        world_book_ids=(scene.add({"entries": {**LUCK["entries"], "9": {**sticky, "uid": 9}}}),),
    )
    session = scene.session()
    for _ in range(turns):
        session.say("bell")
    session.insert("A bell?")
    session.begin_turn()
    first = session.assemble()
    scene.restart()
    session.sync()
    session.step = 0
    assert session.assemble() == first
    assert len(first["replace"]["parts"]) > 2


def test_each_step_throws_its_own_dice(scene: StepScene) -> None:
    scene.bind(world_book_ids=(scene.add(LUCK),))
    session = scene.session()
    seen = {tuple(session.say("bell").parts) for _ in range(12)}
    assert len(seen) > 1


# --- the call ----------------------------------------------------------------------------------


def test_the_preset_sets_the_call_and_its_values_leave_with_it(scene: StepScene) -> None:
    scene.bind(preset_id=scene.add(preset(MAIN, temperature=1.5, openai_max_tokens=300)))
    session = scene.session()
    session.host_config["temperature"] = 0.2
    session.say("Hello.")
    assert session.config == {
        "provider": "p", "model": "m", "temperature": 1.5, "maxTokens": 300,
    }  # fmt: skip
    session.say("Again.")
    scene.restart()
    session.sync()
    scene.rebind(session.id, preset_id="")
    session.say("And now?")
    assert session.config == {"provider": "p", "model": "m", "temperature": 0.2}


def test_a_setting_that_the_model_refuses_is_withdrawn(scene: StepScene) -> None:
    scene.bind(preset_id=scene.add(preset(MAIN, temperature=1.5, openai_max_tokens=300)))
    session = scene.session(refuses=("temperature",))
    session.host_config["temperature"] = 0.2
    session.host_config["stop"] = []
    session.refuses = ("temperature",)
    session.say("Hello.")
    assert session.config == {
        "provider": "p", "model": "m", "temperature": 0.2, "stop": [], "maxTokens": 300,
    }  # fmt: skip
    (record,) = scene.records()
    assert record.parameters == {
        "requested": {"temperature": 1.5, "maxTokens": 300},
        "effective": {"temperature": 0.2, "maxTokens": 300},
        "fallbacks": ({"parameter": "temperature", "code": "UNSUPPORTED_PARAMETER"},),
        "attempt": 1,
    }
    session.refuses = ()
    assert session.say("Again.").config["temperature"] == 0.2


# --- generations of hosts ----------------------------------------------------------------------


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("channel", LoreChannel)
def test_records_are_proven_by_the_log(
    scene: StepScene, generation: Generation, channel: LoreChannel
) -> None:
    scene.bind(
        preset_id=scene.add(preset(MAIN, temperature=1)),
        character_id=scene.add(card()),
        world_book_ids=(scene.add(BELL),),
        lore_channel=channel,
    )
    session = scene.session(generation=generation)
    session.say("A bell?").say("And that bell?")
    history = session.history()
    for record in scene.records():
        assert record.status.value == "request-observed"
        assert record.delivery is not None
        assert record.delivery.assembly_verified
        assert record.delivery.history_verified
        assert authority(record) == (True, True)
        found = verify(record, history)
        assert found.content_status == "available"
        assert "It rings at the fair." in [one.text for one in (*found.sections, *found.contexts)]
    assert len(scene.records()) == 2


def authority(record: TraceRecord) -> tuple[object, object]:
    assert record.audit is not None
    assert str(record.audit["status"]).startswith("header-")
    proven = record.audit["authority"]
    assert isinstance(proven, Mapping)
    return proven["tavernProfilePresent"], proven["tavernCallConfigApplied"]
