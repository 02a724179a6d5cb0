"""Odd presets, cards and chats: whatever they say, a projection is a value, and always the same."""

import json
import random
from typing import Any

import pytest

from tavern_compiler import (
    AuthorsNote,
    Dropped,
    ExtensionPosition,
    ExtensionPrompt,
    FrozenRun,
    MacroContext,
    Projection,
    ProjectionInput,
    ProjectionProfile,
    ProjectionTools,
    PromptMessage,
    dump_frozen_run,
    expand_macros,
    parse_frozen_run,
    project_messages,
    project_prompt_inputs,
    prompt_inputs,
)
from tavern_format import CharacterCard, ChatMessage, Persona, PersonaPosition, parse_preset

NAMES = (
    *("main", "nsfw", "jailbreak", "chatHistory", "dialogueExamples", "charDescription"),
    *("worldInfoBefore", "personaDescription", "bias", "summary", "x", "x", ""),
)
TEXTS = (
    "",
    " ",
    "T",
    "{{user}} {{char}}",
    "{{setvar::n::1}}{{getvar::n}}",
    "<START>\nAda: t",
    "\r",
)
ODD: tuple[Any, ...] = (None, True, 0, 1, -1, 1.5, 99999, "1", "x", [], ["quiet"], {}, "system")
NAMED = ("Bo", "Ada", "")
PLACES = tuple(ExtensionPosition)
TYPES = ("normal", "continue", "swipe", "impersonate", "quiet", "other")


def odd_preset(dice: random.Random) -> bytes:
    prompts = [
        {
            "identifier": dice.choice(NAMES),
            "content": dice.choice((*TEXTS, 7, None)),
            **{
                key: dice.choice(ODD)
                for key in (
                    *("role", "system_prompt", "marker", "injection_position", "injection_depth"),
                    *("injection_order", "injection_trigger", "forbid_overrides"),
                )
                if dice.random() < 0.5
            },
        }
        for _ in range(dice.randrange(9))
    ]
    lines = [{"identifier": dice.choice(NAMES), "enabled": dice.choice((True, True, None, 1))}
             for _ in range(dice.randrange(14))]  # fmt: skip
    settings = {
        "openai_max_context": dice.choice((None, -5, 0, 20, 60, 4000, 0.5)),
        "openai_max_tokens": dice.choice((None, 0, 10)),
        "names_behavior": dice.choice((None, -1, 0, 1, 2, 7)),
        "squash_system_messages": dice.choice((True, False)),
        "continue_prefill": dice.choice((True, False)),
        "wi_format": dice.choice(("", "{0}{1}", None)),
        "send_if_empty": dice.choice(TEXTS),
    }
    orders = dice.choice(([{"character_id": 100001, "order": lines}], [], None, [7]))
    return json.dumps({**settings, "prompts": prompts, "prompt_order": orders}).encode()


def odd_input(seed: int) -> ProjectionInput:
    dice = random.Random(seed)  # noqa: S311 - a case by its number

    def text() -> str:
        return dice.choice(TEXTS)

    return ProjectionInput(
        preset=parse_preset(odd_preset(dice)).value,
        character=dice.choice((None, CharacterCard(name="Ada", description=text(),
                                                   message_examples=text()))),
        persona=Persona(name="Bo", description=text(), position=dice.choice(list(PersonaPosition))),
        chat=tuple(
            ChatMessage(name=dice.choice(NAMED), is_user=dice.random() < 0.5, text=text())
            for _ in range(dice.randrange(4))
        ),
        note=AuthorsNote(text=text(), position=dice.choice(PLACES)),
        extension_prompts={
            key: ExtensionPrompt(
                value=text(), position=dice.choice(PLACES), depth=dice.choice((0, 1.5))
            )
            for key in ("1_memory", "k", "7")
        },
        type=dice.choice(TYPES),
        quiet_prompt=text(),
    )  # fmt: skip


@pytest.mark.parametrize("start", range(0, 2000, 250))
def test_odd_input_gives_a_value_and_the_same_again(start: int) -> None:
    for seed in range(start, start + 250):
        given = odd_input(seed)
        tools = ProjectionTools(profile=list(ProjectionProfile)[seed % 2])
        first = project_messages(given, count_tokens=len, tools=tools)
        assert all(one.content for one in first.messages)
        assert_nothing_is_lost_in_silence(given, first)
        if seed % 10 < 2:
            assert first == project_messages(odd_input(seed), count_tokens=len, tools=tools)


def assert_nothing_is_lost_in_silence(given: ProjectionInput, done: Projection) -> None:
    """Each message has sources; what of the chat is in none was dropped, with its cost."""
    assert all(one.sources for one in done.messages)
    assert all(one.tokens >= 0 and one.diagnostic in done.diagnostics for one in done.dropped)
    told: tuple[PromptMessage | Dropped, ...] = (*done.messages, *done.dropped)
    found = {source.path for one in told for source in one.sources}
    sent = given.chat[:-1] if given.type == "swipe" else given.chat
    for at, said in enumerate(sent):
        text = expand_macros(said.text, MacroContext()).text
        assert f"/chat/{at}/text" in found or not text.strip("\r")


@pytest.mark.parametrize("seed", range(0, 2000, 40))
def test_frozen_texts_give_the_same_request(seed: int) -> None:
    given = odd_input(seed)
    direct = project_messages(given, count_tokens=len)
    frozen = parse_frozen_run(dump_frozen_run(FrozenRun(inputs=prompt_inputs(given)))).value
    tools = ProjectionTools(macro_state=project_state(given))
    again = project_prompt_inputs(
        frozen.inputs, given.preset, count_tokens=len, settings=given.settings, tools=tools
    )
    assert [(one.role, one.content, one.name) for one in again.messages] == [
        (one.role, one.content, one.name) for one in direct.messages
    ]


def project_state(given: ProjectionInput) -> object:
    """Give the variables after a first run: these texts set one variable, always to one value."""
    return project_messages(given, count_tokens=len).macro_state
