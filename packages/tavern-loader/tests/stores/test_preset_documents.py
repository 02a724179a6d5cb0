import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tavern_compiler import CompileInput, compile_profile
from tavern_format import Prompt
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.preset_document import (
    exported_preset,
    is_replacing,
    new_preset,
    preset_of,
)
from tavern_loader.domain.preset_editing import (
    blank_preset,
    edited_preset,
    regex_scripts_of,
    with_regex_scripts,
)

CASES = json.loads((Path(__file__).parents[1] / "cases" / "preset_documents.json").read_text())


def document(raw: dict[str, Any]) -> dict[str, Any]:
    return new_preset(raw, document_id="p", name=raw.get("name", "Plain"), now="T0")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_preset_in_the_plugins_form(case: dict[str, Any]) -> None:
    assert document(case["raw"]) == {
        "schemaVersion": 1,
        "id": "p",
        "name": "Plain",
        "createdAt": "T0",
        "updatedAt": "T0",
        "source": {**case["source"], "raw": case["raw"]},
        "systemPromptMode": "append",
        "sampling": case["sampling"],
        "prompts": case["prompts"],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_preset_nobody_edited_comes_out_as_it_went_in(case: dict[str, Any]) -> None:
    assert exported_preset(document(case["raw"])) == case["raw"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_model_has_the_prompts_in_the_order_of_the_document(case: dict[str, Any]) -> None:
    preset = preset_of(document(case["raw"])).value
    assert [prompt.identifier for prompt in preset.prompts] == [
        prompt["identifier"] for prompt in case["prompts"]
    ]
    assert [entry.enabled for entry in preset.order or ()] == [
        prompt["enabled"] for prompt in case["prompts"]
    ]


RAW: dict[str, Any] = {
    "name": "Named",
    "temperature": 1,
    "max_tokens": 9,
    "own": {"kept": 1},
    "prompts": [
        {"identifier": "main", "name": "Main", "role": "system", "content": "One.", "x": 1},
        {"identifier": "late", "name": "Late", "role": "system", "content": "Two."},
    ],
    "prompt_order": [
        {"character_id": 1, "order": []},
        {
            "character_id": 100001,
            "order": [
                {"identifier": "late", "enabled": True},
                {"identifier": "main", "enabled": True},
            ],
        },
    ],
}


def test_parts_are_named_by_the_place_in_the_document() -> None:
    profile = compile_profile(CompileInput(preset=preset_of(document(RAW)).value))
    assert [(part.name, part.text) for part in profile.parts] == [
        ("pmp-dsh-tavern:part:0000:preset:prompts_0_content", "Two."),
        ("pmp-dsh-tavern:part:0001:preset:prompts_1_content", "One."),
    ]


def test_edits_show_in_the_export_and_in_the_model_and_nowhere_else() -> None:
    made = document(RAW)
    prompts = deepcopy(made["prompts"])
    prompts[1]["content"] = "Fresh."
    prompts[0]["enabled"] = False
    patch = {
        "name": "Renamed",
        "systemPromptMode": "replace",
        "sampling": {"temperature": 0.5, "maxTokens": 20, "reasoningEffort": "low"},
        "prompts": prompts,
    }
    after = edited_preset(made, patch, "T1")
    assert (after["name"], after["updatedAt"], is_replacing(after)) == ("Renamed", "T1", True)
    assert after["source"] == made["source"]
    assert exported_preset(after) == {
        "name": "Renamed",
        "temperature": 0.5,
        "openai_max_tokens": 20,
        "reasoning_effort": "low",
        "own": {"kept": 1},
        "prompts": [
            {"identifier": "late", "name": "Late", "role": "system", "content": "Two."},
            {"identifier": "main", "name": "Main", "role": "system", "content": "Fresh.", "x": 1},
        ],
        "prompt_order": [
            {"character_id": 1, "order": []},
            {
                "character_id": 100001,
                "order": [
                    {"identifier": "late", "enabled": False},
                    {"identifier": "main", "enabled": True},
                ],
            },
        ],
    }
    preset = preset_of(after).value
    assert (preset.temperature, preset.reply_size_tokens) == (0.5, 20)
    assert preset.prompts[1].content == "Fresh."


def test_a_setting_that_was_taken_back_is_not_sent() -> None:
    after = edited_preset(document(RAW), {"sampling": {"temperature": None}}, "T1")
    assert after["sampling"] == {"st": {"temperature": 1}}
    preset = preset_of(after).value
    assert (preset.temperature, preset.reply_size_tokens) == (None, None)


def test_two_prompts_of_one_name_stay_two() -> None:
    raw = {"prompts": [{"identifier": "a", "content": "1"}, {"identifier": "a", "content": "2"}]}
    made = document(raw)
    made["prompts"][0]["enabled"] = False
    preset = preset_of(made).value
    assert [(prompt.identifier, prompt.content) for prompt in preset.prompts] == [
        ("a", "1"),
        ("a#2", "2"),
    ]
    assert [entry.enabled for entry in preset.order or ()] == [False, True]


@pytest.mark.parametrize(
    "patch",
    [{"systemPromptMode": "other"}, {"sampling": []}, {"prompts": {}}, {"prompts": ["x"]}],
)
def test_an_edit_of_another_kind_is_refused(patch: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        edited_preset(document(RAW), patch, "T1")


def test_a_new_preset_is_one_empty_prompt() -> None:
    made = blank_preset(document_id="p", name="  ", now="T0")
    assert made["name"] == "Untitled preset"
    assert preset_of(made).value.prompts == (
        Prompt(identifier="main", name="Main prompt", role="system", enabled=True),
    )


def test_scripts_are_replaced_where_they_stand() -> None:
    made = document({**RAW, "extensions": {"regex_scripts": [{"id": 1}], "x": 1}})
    assert regex_scripts_of(made) == [{"id": 1}]
    after = with_regex_scripts(made, Kind.PRESET, [{"id": 2}], "T1")
    assert after["source"]["raw"]["extensions"] == {"regex_scripts": [{"id": 2}], "x": 1}
    fresh = with_regex_scripts(document(RAW), Kind.PRESET, [{"id": 3}], "T1")
    assert exported_preset(fresh) == {**RAW, "extensions": {"regex_scripts": [{"id": 3}]}}
    with pytest.raises(ValueError, match="objects"):
        with_regex_scripts(made, Kind.PRESET, ["x"], "T1")
