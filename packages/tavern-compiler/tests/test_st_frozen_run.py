import json
from typing import Any

import pytest

from tavern_compiler import (
    CompilerError,
    ExtensionPosition,
    ExtensionPrompt,
    FrozenRun,
    ProjectionInput,
    PromptInputs,
    dump_frozen_run,
    limit_history,
    parse_frozen_run,
    project_messages,
    project_prompt_inputs,
    prompt_inputs,
)
from tavern_format import (
    CharacterCard,
    ChatMessage,
    DepthPrompt,
    Persona,
    Preset,
    Role,
    parse_preset,
)

KIND = "tauritavern.agentFrozenRunInputSnapshot"
DOCUMENT: dict[str, Any] = {
    "schemaVersion": 1,
    "kind": KIND,
    "generationType": "swipe",
    "promptInputs": {
        "type": "swipe",
        "name2": "Ada",
        "charDescription": "DESC",
        "worldInfoBefore": "LORE",
        "messages": [
            {"role": "assistant", "content": "2", "name": "Ada"},
            {"role": "user", "content": "1", "name": "Bo"},
        ],
        "messageExamples": [[{"role": "system", "content": "q", "name": "example_user"}]],
        "extensionPrompts": {
            "x": {"value": "EXT", "position": 1, "depth": 1, "scan": True, "role": 2},
            "customWIOutlet_box": {"value": "OUT", "position": -1, "depth": 0, "role": 0},
        },
        "quietImage": "kept",
    },
    "worldInfoActivation": {"entries": [{"world": "w", "uid": 1}]},
    "macroContext": {"user": "Bo", "char": "Ada", "persona": "PERSONA", "model": "m"},
}


def preset_of(*order: str, **settings: object) -> Preset:
    lines = [{"identifier": name, "enabled": True} for name in order]
    document = {
        "new_chat_prompt": "",
        "new_example_chat_prompt": "EX",
        **settings,
        "prompts": [{"identifier": "main", "role": "system", "content": "[{{outlet::box}}]"}],
        "prompt_order": [{"character_id": 100001, "order": lines}],
    }
    return parse_preset(json.dumps(document).encode()).value


def shown(inputs: PromptInputs, preset: Preset) -> list[str]:
    done = project_prompt_inputs(inputs, preset, count_tokens=len)
    return [f"{one.role}: {one.content}" for one in done.messages]


def test_a_frozen_run_is_built_again_with_any_preset() -> None:
    parsed = parse_frozen_run(json.dumps(DOCUMENT).encode())
    inputs = parsed.value.inputs
    assert [(one.code, one.path) for one in parsed.diagnostics] == [
        ("SNAPSHOT_PERSONA_PLACE", "/macroContext/persona")
    ]
    assert inputs.extension_prompts["x"] == ExtensionPrompt(
        value="EXT", position=ExtensionPosition.IN_CHAT, depth=1, role=Role.ASSISTANT, scan=True
    )
    first = preset_of("main", "chatHistory", "dialogueExamples")
    assert shown(inputs, first) == [
        "system: [OUT]",
        "user: 1",
        "assistant: EXT",
        "assistant: 2",
        "system: EX",
        "system: q",
        "system: LORE",
        "system: DESC",
        "system: PERSONA",
    ]
    second = preset_of("worldInfoBefore", "personaDescription", "charDescription", "chatHistory")
    assert shown(limit_history(inputs, 1), second) == [
        "system: LORE",
        "system: PERSONA",
        "system: DESC",
        "assistant: EXT",
        "assistant: 2",
    ]


def test_unknown_fields_survive() -> None:
    written = json.loads(dump_frozen_run(parse_frozen_run(json.dumps(DOCUMENT).encode()).value))
    assert written["promptInputs"]["quietImage"] == "kept"
    assert written["worldInfoActivation"] == DOCUMENT["worldInfoActivation"]
    assert written["macroContext"]["model"] == "m"
    assert written["macroContext"]["names"] == {"user": "Bo", "char": "Ada", "group": "Ada"}


def test_our_own_inputs_survive_the_file() -> None:
    given = ProjectionInput(
        preset=preset_of("main", "chatHistory", "dialogueExamples"),
        character=CharacterCard(
            name="Ada",
            description="DESC",
            message_examples="<START>\nBo: q\nAda: a",
            depth_prompt=DepthPrompt(prompt="DEPTH", depth=1),
        ),
        persona=Persona(name="Bo", description="PERSONA"),
        chat=(
            ChatMessage(name="Bo", is_user=True, text="1"),
            ChatMessage(name="Ada", text="2"),
        ),
    )
    run = FrozenRun(inputs=prompt_inputs(given))
    again = parse_frozen_run(dump_frozen_run(run))
    assert again.diagnostics == ()
    direct = project_messages(given, count_tokens=len)
    replayed = project_prompt_inputs(again.value.inputs, given.preset, count_tokens=len)
    texts = [[(one.role, one.content, one.name, one.identifier) for one in done.messages]
             for done in (direct, replayed)]  # fmt: skip
    assert texts[0] == texts[1]
    assert "DEPTH" in [content for _, content, _, _ in texts[0]]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kind": "other"}, "SNAPSHOT_SHAPE"),
        ({"schemaVersion": 2}, "SNAPSHOT_VERSION"),
    ],
)
def test_another_kind_or_version_is_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(CompilerError) as caught:
        parse_frozen_run(json.dumps({**DOCUMENT, **change}).encode())
    assert caught.value.code == code


def test_odd_values_take_no_part_and_are_named() -> None:
    raw = {
        "messages": [7, {"content": 5}],
        "messageExamples": [3, [None]],
        "extensionPrompts": {"a": 1, "b": {"value": "B", "position": "x", "role": 9}},
        "charDescription": 4,
    }
    parsed = parse_frozen_run(json.dumps({**DOCUMENT, "promptInputs": raw}).encode())
    prompts = parsed.value.inputs.extension_prompts
    assert prompts == {"b": ExtensionPrompt(value="B", position=ExtensionPosition.NONE, depth=-1)}
    assert [one.path for one in parsed.diagnostics if one.code == "SNAPSHOT_VALUE"] == [
        "/promptInputs/charDescription",
        "/promptInputs/messages/0",
        "/promptInputs/messages/1/content",
        "/promptInputs/messageExamples/0",
        "/promptInputs/messageExamples/1/0",
    ]
