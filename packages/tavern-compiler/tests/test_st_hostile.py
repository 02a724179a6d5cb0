"""Presets, chats and lore made to break a projection: no crash, and costs that stay linear."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tavern_compiler import (
    ExtensionPosition,
    ExtensionPrompt,
    ProjectionInput,
    ProjectionProfile,
    ProjectionTools,
    project_messages,
)
from tavern_format import ChatMessage, Position, Preset, Role, parse_preset
from tavern_matcher import Activated, DepthBlock, EntryId, Placement

PresetOf = Callable[..., Preset]
DIGITS = "9" * 5000
LONG = 10**400


def entry(content: str, uid: int = 0, **more: Any) -> Activated:
    return Activated(entry=EntryId(book="W", index=uid, uid=uid), content=content, **more)


@pytest.mark.parametrize("profile", ProjectionProfile)
def test_numbers_of_thousands_of_digits_break_nothing(
    profile: ProjectionProfile, preset_of: PresetOf
) -> None:
    deep = entry("L", 1, depth=LONG, position=Position.AT_DEPTH)
    given = ProjectionInput(
        preset=preset_of("worldInfoBefore", "chatHistory", wi_format=f"{{{DIGITS}}}{{000}}"),
        lore=Placement(
            before=(entry("B"),),
            at_depth=(DepthBlock(depth=LONG, role=Role.SYSTEM, texts=(deep,)),),
        ),
        extension_prompts={
            DIGITS: ExtensionPrompt(value="E", position=ExtensionPosition.IN_CHAT, depth=LONG)
        },
        chat=(ChatMessage(is_user=True, text="1"),),
    )
    done = project_messages(given, count_tokens=len, tools=ProjectionTools(profile=profile))
    assert [one.content for one in done.messages] == [f"{{{DIGITS}}}B", "1"]


@pytest.mark.parametrize("depth", [DIGITS, "1e999", "NaN", "", "0x2"])
def test_depths_that_are_texts_break_nothing(depth: str) -> None:
    prompt = {
        "identifier": "p",
        "content": "P",
        "system_prompt": False,
        "role": "system",
        "injection_position": 1,
        "injection_depth": depth,
        "injection_order": 1e308,
    }
    lines = [{"identifier": name, "enabled": True} for name in ("p", "chatHistory")]
    document = {"prompts": [prompt], "prompt_order": [{"character_id": 100001, "order": lines}]}
    preset = parse_preset(json.dumps(document).encode()).value
    for profile in ProjectionProfile:
        project_messages(
            ProjectionInput(preset=preset),
            count_tokens=len,
            tools=ProjectionTools(profile=profile),
        )


def test_a_format_that_multiplies_lore_is_left_out(preset_of: PresetOf) -> None:
    preset = preset_of("worldInfoBefore", "chatHistory", wi_format="{0}" * 100_000)
    given = ProjectionInput(preset=preset, lore=Placement(before=(entry("x" * 1000),)))
    done = project_messages(given, count_tokens=len)
    assert done.messages[0].content == "x" * 1000
    assert [(one.code, one.path) for one in done.diagnostics] == [
        ("FORMAT_TOO_LARGE", "/preset/wi_format")
    ]


def unknown_macros(count: int) -> ProjectionInput:
    chat = tuple(ChatMessage(is_user=True, text="{{nope}}" * 20) for _ in range(count))
    return ProjectionInput(preset=order_of([], "chatHistory"), chat=chat)


def many_prompts(count: int) -> ProjectionInput:
    prompts = [
        {"identifier": f"p{at}", "content": "x", "system_prompt": False} for at in range(count)
    ]
    return ProjectionInput(preset=order_of(prompts, *(f"p{at}" for at in range(count))))


def order_of(prompts: list[dict[str, Any]], *names: str) -> Preset:
    lines = [{"identifier": name, "enabled": True} for name in names]
    document = {
        "openai_max_context": 10**9,
        "prompts": prompts,
        "prompt_order": [{"character_id": 100001, "order": lines}],
    }
    return parse_preset(json.dumps(document).encode()).value


@pytest.mark.parametrize("make", [unknown_macros, many_prompts])
def test_time_grows_with_the_input_and_not_faster(make: Callable[[int], ProjectionInput]) -> None:
    def seconds(given: ProjectionInput) -> float:
        started = time.process_time()
        project_messages(given, count_tokens=len)
        return time.process_time() - started

    def best(count: int) -> float:
        given = make(count)
        return min(seconds(given) for _ in range(3))

    # Eight times the input: 64 times the time would be the square of it.
    assert best(2000) < 32 * max(best(250), 0.005)
