import json
from typing import Any

import attrs
import pytest

from tavern_format import (
    DEFAULT_LIMITS,
    DEFAULT_ORDER,
    InjectionPosition,
    LimitExceededError,
    MalformedResourceError,
    OrderEntry,
    Preset,
    Prompt,
    PromptOrder,
    RegexScript,
    complete_prompts,
    dump_preset,
    dump_prompt_export,
    merge_prompt_export,
    migrate_settings,
    parse_preset,
    parse_prompt_export,
)

MAIN = {"identifier": "main", "name": "Main", "role": "system", "content": "M", "odd": [1]}
DEEP = {"identifier": "d", "injection_position": 1, "injection_depth": 2, "forbid_overrides": True}
PRESET: dict[str, Any] = {
    "temperature": 0.7,
    "openai_max_context": 4095,
    "openai_max_tokens": 300,
    "wi_format": "{0}",
    "stream_openai": False,
    "zzz": {"kept": None},
    "prompts": [MAIN, DEEP],
    "prompt_order": [
        {"character_id": 100000, "order": []},
        {"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]},
    ],
    "extensions": {"regex_scripts": [{"scriptName": "s", "placement": [1]}], "foreign": 1},
}


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


def remarks(document: object) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in parse_preset(encoded(document)).diagnostics]


def test_a_preset_is_read_into_named_fields() -> None:
    parsed = parse_preset(encoded(PRESET))
    assert parsed.diagnostics == ()
    line = OrderEntry(identifier="main", enabled=True)
    assert parsed.value == Preset(
        temperature=0.7,
        context_size_tokens=4095,
        reply_size_tokens=300,
        world_info_format="{0}",
        stream=False,
        prompts=(
            Prompt(identifier="main", name="Main", role="system", content="M"),
            Prompt(
                identifier="d",
                injection_position=InjectionPosition.IN_CHAT,
                injection_depth=2,
                forbid_overrides=True,
            ),
        ),
        prompt_orders=(
            PromptOrder(character_id=100000),
            PromptOrder(character_id=100001, order=(line,)),
        ),
        regex_scripts=(RegexScript(name="s", placement=(1,)),),
        extensions=PRESET["extensions"],
    )
    assert parsed.value.order == (line,)


def test_an_edit_changes_its_key_and_nothing_else() -> None:
    preset = parse_preset(encoded(PRESET)).value
    prompts = (attrs.evolve(preset.prompts[0], content="new"), preset.prompts[1])
    after = json.loads(dump_preset(attrs.evolve(preset, prompts=prompts, temperature=1)))
    assert after == {**PRESET, "temperature": 1, "prompts": [{**MAIN, "content": "new"}, DEEP]}
    assert list(after) == list(PRESET)


def test_null_and_absent_settings_stay_apart() -> None:
    before: dict[str, Any] = {"temperature": None, "prompts": []}
    assert dump_preset(parse_preset(encoded(before)).value) == b'{"temperature":null,"prompts":[]}'


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"prompt_order": []}, [("PROMPT_ORDER_MISSING", "/prompt_order")]),
        ({"prompts": [MAIN, MAIN]}, [("IDENTIFIER_REPEATED", "/prompts/1")]),
        ({"prompts": [{"content": "x"}]}, [("IDENTIFIER_MISSING", "/prompts/0")]),
        ({"prompts": [None, MAIN]}, [("ITEM_TYPE", "/prompts/0")]),
        ({"prompts": {"a": 1}}, [("FIELD_TYPE", "/prompts")]),
        ({"temperature": "hot"}, [("FIELD_TYPE", "/temperature")]),
        ({"reverse_proxy": "http://x"}, [("PRIVATE_SETTING", "/reverse_proxy")]),
        (
            {"prompt_order": [{"character_id": "100001", "order": [{"enabled": "true"}]}]},
            [("FIELD_TYPE", "/prompt_order/0/order/0/enabled")],
        ),
    ],
)
def test_odd_presets_are_read_with_a_remark(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    document = {**PRESET, **changes}
    assert remarks(document) == expected
    assert json.loads(dump_preset(parse_preset(encoded(document)).value)) == document


@pytest.mark.parametrize("document", [[], "x", {"entries": {}}, {"name": "x", "first_mes": ""}])
def test_what_is_no_preset_is_refused(document: object) -> None:
    with pytest.raises(MalformedResourceError) as refused:
        parse_preset(encoded(document))
    assert refused.value.code == "PRESET_SHAPE"


def test_old_settings_are_renamed_and_the_rest_stays() -> None:
    before = {"names_in_completion": True, "mistralai_model": "mistral-small", "zzz": 1}
    assert migrate_settings(before) == {
        "mistralai_model": "mistral-small-latest",
        "zzz": 1,
        "names_behavior": 1,
    }
    assert "names_in_completion" in before


def test_a_missing_order_and_missing_prompts_are_filled_in() -> None:
    found: list[Any] = []
    done = complete_prompts(
        {"prompts": [None, {"name": "x", "content": "y"}]},
        found.append,
        default_texts={"main": "Say."},
    )
    prompts = {prompt["identifier"]: prompt for prompt in done["prompts"]}
    assert (prompts["prompt-1"]["content"], prompts["main"]["content"]) == ("y", "Say.")
    assert len(prompts) == 13
    lines = done["prompt_order"][0]["order"]
    assert [(line["identifier"], line["enabled"]) for line in lines] == list(DEFAULT_ORDER)
    assert [(remark.code, remark.path) for remark in found] == [
        ("ITEM_TYPE", "/prompts/0"),
        ("PROMPT_ORDER_MISSING", "/prompt_order"),
    ]


def test_order_lines_without_a_prompt_go() -> None:
    order = [{"identifier": "gone", "enabled": True}, {"identifier": "main", "enabled": True}]
    before = {"prompts": [MAIN], "prompt_order": [{"character_id": 100001, "order": order}]}
    done = complete_prompts(before, lambda _: None)
    assert done["prompt_order"][0]["order"] == order[1:]


def test_texts_of_before_prompts_existed_become_prompts() -> None:
    done = complete_prompts({"main_prompt": "M", "prompts": []}, lambda _: None)
    assert done["prompts"][0]["content"] == "M"
    assert "main_prompt" not in done


def test_an_export_of_prompts_is_read_written_and_merged() -> None:
    export = {"version": 1, "type": "full", "data": {"prompts": [{**MAIN, "content": "new"}]}}
    parsed = parse_prompt_export(encoded(export))
    assert parsed.value.prompts[0].content == "new"
    assert json.loads(dump_prompt_export(parsed.value)) == export
    preset = complete_prompts(PRESET, lambda _: None)
    merged = merge_prompt_export(preset, export, lambda _: None)
    assert merged["prompts"][0] == {**MAIN, "content": "new"}
    assert merged["prompt_order"] == preset["prompt_order"]


@pytest.mark.parametrize(
    "export",
    [
        {"version": "1", "type": "full", "data": {"prompts": []}},
        {"version": 1, "type": "full", "data": None},
        {"version": 1, "type": "full", "data": {"prompts": {}}},
        {"prompts": []},
    ],
)
def test_an_export_sillytavern_refuses_is_refused(export: dict[str, Any]) -> None:
    with pytest.raises(MalformedResourceError) as refused:
        merge_prompt_export(complete_prompts({}, lambda _: None), export, lambda _: None)
    assert refused.value.code == "PROMPT_EXPORT_SHAPE"


def test_a_new_preset_says_only_what_it_was_given() -> None:
    preset = Preset(temperature=0.7, prompts=(Prompt(identifier="x", marker=True),))
    after = json.loads(dump_preset(preset))
    assert after.keys() == {"temperature", "prompts", "prompt_order", "extensions"}
    assert "role" not in after["prompts"][0]


def test_a_setting_evolved_to_none_is_taken_out() -> None:
    preset = parse_preset(encoded(PRESET)).value
    after = json.loads(dump_preset(attrs.evolve(preset, temperature=None)))
    assert after == {key: value for key, value in PRESET.items() if key != "temperature"}


def test_whole_floats_are_the_numbers_they_are_in_javascript() -> None:
    document = {
        "prompts": [{"identifier": "d", "injection_position": 1.0}],
        "prompt_order": [{"character_id": 100001.0, "order": [{"identifier": "d"}]}],
    }
    preset = parse_preset(encoded(document)).value
    assert preset.prompts[0].injection_position is InjectionPosition.IN_CHAT
    assert preset.order == (OrderEntry(identifier="d"),)


def heard(preset: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    found: list[Any] = []
    done = complete_prompts(preset, found.append)
    return done, [(remark.code, remark.path) for remark in found]


@pytest.mark.parametrize("identifier", [["main"], {"a": 1}])
def test_a_prompt_whose_identifier_can_be_none_is_skipped(identifier: object) -> None:
    odd = {"identifier": identifier, "content": "x"}
    lines = [{"identifier": identifier}, {"identifier": "main"}, 5]
    order = [{"character_id": 100001, "order": lines}]
    done, found = heard({"prompts": [odd, MAIN], "prompt_order": order})
    assert odd not in done["prompts"]
    assert done["prompt_order"][0]["order"] == [{"identifier": "main"}]
    assert found == [
        ("ITEM_TYPE", "/prompts/0/identifier"),
        ("PROMPT_ORDER_ORPHAN", "/prompt_order"),
    ]


def test_a_made_up_identifier_never_collides() -> None:
    prompts = [{"content": "a"}, {"identifier": "prompt-0", "content": "b"}, {"content": "c"}]
    done, _ = heard({"prompts": prompts})
    names = [prompt["identifier"] for prompt in done["prompts"]]
    assert names[:3] == ["prompt-3", "prompt-0", "prompt-2"]
    assert len(set(names)) == len(names)
    with pytest.raises(ValueError, match="names only that are taken"):
        complete_prompts({"prompts": prompts}, lambda _: None, make_identifier=lambda _: "main")


EXPORT: dict[str, Any] = {
    "version": 1,
    "type": "full",
    "data": {"prompts": [{**MAIN, "content": "new"}], "prompt_order": [{"identifier": "main"}]},
}


@pytest.mark.parametrize(
    ("preset", "path"),
    [
        ({}, "/prompts"),
        ({"prompts": None, "prompt_order": []}, "/prompts"),
        ({"prompts": []}, "/prompt_order"),
        ({"prompts": [], "prompt_order": {}}, "/prompt_order"),
    ],
)
def test_an_export_is_merged_into_whole_presets_only(preset: dict[str, Any], path: str) -> None:
    with pytest.raises(MalformedResourceError) as refused:
        merge_prompt_export(preset, EXPORT, lambda _: None)
    assert (refused.value.code, refused.value.path) == ("PRESET_SHAPE", path)


def test_odd_items_are_remarked_when_an_export_is_merged() -> None:
    found: list[Any] = []
    groups = [None, {"character_id": 100000}, {"character_id": 100001, "order": "x"}]
    preset = {
        "prompts": [None, {"identifier": ["main"]}, {"content": "nameless"}, MAIN],
        "prompt_order": groups,
    }
    done = merge_prompt_export(preset, EXPORT, found.append)
    assert done["prompts"] == [{**MAIN, "content": "new"}]
    merged = {"character_id": 100001, "order": [{"identifier": "main"}]}
    assert done["prompt_order"] == [*groups[:2], merged]
    assert [(remark.code, remark.path) for remark in found] == [
        ("ITEM_TYPE", "/prompts/0"),
        ("ITEM_TYPE", "/prompts/1/identifier"),
        ("ITEM_TYPE", "/prompts/2"),
        ("ITEM_TYPE", "/prompt_order/2/order"),
    ]


@pytest.mark.parametrize("key", ["prompts", "prompt_order"])
def test_an_export_of_prompts_is_bounded(key: str) -> None:
    data = {"prompts": [], key: [MAIN] * 3}
    export = encoded({"version": 1, "type": "full", "data": data})
    limits = attrs.evolve(DEFAULT_LIMITS, entries=2)
    with pytest.raises(LimitExceededError) as refused:
        parse_prompt_export(export, limits=limits)
    assert (refused.value.limit, refused.value.actual) == ("entries", 3)
