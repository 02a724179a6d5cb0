"""Odd presets, cards, personas and lore: a compile is a value, the same every time."""

import json
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from attrs import evolve

from tavern_compiler import (
    CharacterOptions,
    CompileInput,
    CompileProfile,
    LoreChannel,
    LoreEntry,
    MacroContext,
    Profile,
    ProfileTooLargeError,
    User,
    Variables,
    audit_to_json,
    compile_profile,
    diff,
)
from tavern_compiler._text import to_utf8
from tavern_format import Position, parse_card, parse_preset
from tavern_matcher import SeededDice

INPUT_COUNT = int(os.environ.get("TAVERN_FUZZ_EXAMPLES", "200"))
NAMES: tuple[Any, ...] = (
    *("main", "jailbreak", "nsfw", "chatHistory", "charDescription", "charPersonality", "scenario"),
    *("dialogueExamples", "personaDescription", "userPersona", "worldInfoBefore", "worldInfoAfter"),
    *("x", "x", "", "we ird/id", "__proto__", None, 7),
)
TEXTS: tuple[Any, ...] = (
    *(
        "",
        " \n",
        "T",
        "龙🦊",
        "\ud83e",
        "{{user}} {{char}}",
        "{{setvar::n::{{user}}}}{{getvar::n}}",
    ),
    *("{{persona}}|{{description}}", "{{original}}{{original}}", "{{random::a::b}}{{roll 1d6}}"),
    *("{{.n++}}", "{{if .n}}a{{else}}b{{/if}}", "{{unknown}}", "{{ {", "}}", "<USER>", "\\{"),
    *("{{mesExamples}}", "{{isodate}}", "x" * 90, None, 7),
)
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    1e300,
    "1",
    "x",
    [],
    ["swipe"],
    {},
    "user",
)
PROMPT_KEYS = (
    *("role", "marker", "enabled", "system_prompt", "injection_position", "injection_depth"),
    *("injection_trigger", "forbid_overrides", "name"),
)
CARD_KEYS = (
    *("nickname", "description", "personality", "scenario", "mes_example", "first_mes"),
    *("system_prompt", "post_history_instructions", "creator_notes"),
)
SETTINGS = ("temperature", "openai_max_tokens", "max_tokens", "reasoning_effort", "stop")


def written(document: object) -> bytes:
    return json.dumps(document).encode("ascii")


def preset_of(dice: random.Random) -> bytes:
    prompts = [
        {
            "identifier": dice.choice(NAMES),
            "content": dice.choice(TEXTS),
            **{key: dice.choice(ODD) for key in PROMPT_KEYS if dice.random() < 0.3},
        }
        for _ in range(dice.randrange(9))
    ]
    orders = [
        {
            "character_id": dice.choice((100000, 100001, "100001", None)),
            "order": [
                {
                    "identifier": dice.choice(NAMES),
                    "enabled": dice.choice((True, True, False, None)),
                }
                for _ in range(dice.randrange(9))
            ],
        }
        for _ in range(dice.randrange(3))
    ]
    settings = {key: dice.choice((*ODD, "low", 300)) for key in SETTINGS}
    return written({"prompts": prompts, "prompt_order": orders, **settings})


def card_of(dice: random.Random) -> bytes:
    data = {key: dice.choice(TEXTS) for key in CARD_KEYS if dice.random() < 0.6}
    greetings = {"alternate_greetings": [dice.choice(TEXTS) for _ in range(dice.randrange(3))]}
    depth = {"extensions": {"depth_prompt": {"prompt": dice.choice(TEXTS), "depth": 4}}}
    return written(
        {
            "spec": "chara_card_v2",
            "data": {"name": dice.choice(("A", "")), **data, **greetings, **depth},
        }
    )


def text_of(dice: random.Random) -> str:
    return str(dice.choice(TEXTS))


def inputs(count: int) -> Iterator[CompileInput]:
    for number in range(count):
        dice = random.Random(f"compile {number}")  # noqa: S311 - the same inputs on every run
        lore = (
            LoreEntry(
                book="b",
                uid=str(uid),
                content=text_of(dice),
                position=dice.choice((None, *Position)),
                order=dice.choice((1, 100, 1.5)),
            )
            for uid in range(dice.randrange(7))
        )
        yield CompileInput(
            preset=parse_preset(preset_of(dice)).value if dice.random() < 0.9 else None,
            character=parse_card(card_of(dice)).value if dice.random() < 0.7 else None,
            user=User(name="Bo", description=text_of(dice)) if dice.random() < 0.6 else None,
            lore=tuple(lore),
            options=CharacterOptions(
                prefer_system_prompt=dice.random() < 0.8,
                prefer_post_history=dice.random() < 0.8,
                greeting_index=dice.choice((0, 1, 5, -1)),
            ),
            include_greeting=dice.random() < 0.7,
            trigger=dice.choice(("normal", "swipe")),
            max_profile_bytes=dice.choice((40, 120, 400, 512 * 1024)),
            lore_channel=dice.choice(tuple(LoreChannel)),
            profile=dice.choice(tuple(CompileProfile)),
            macros=MacroContext(
                variables=Variables(local={"n": "1"}),
                now=datetime(2024, 3, 15, tzinfo=UTC) if dice.random() < 0.5 else None,
                dice=SeededDice("s") if dice.random() < 0.5 else None,
            ),
        )


def result_of(given: CompileInput) -> Profile | str:
    try:
        return compile_profile(given)
    except ProfileTooLargeError as error:
        return str(error)


def assert_sound(given: CompileInput, done: Profile) -> None:
    """What holds of every profile, whatever went in."""
    parts = (*done.parts, *done.late_parts)
    assert done.size_utf8_bytes <= given.max_profile_bytes
    assert [int(part.name.split(":")[2]) for part in parts] == list(range(len(parts)))
    assert all(part.text and part.sources for part in parts)
    assert done.user_injection.description_insertions in (0, 1)
    assert len(done.active_lore) <= len(given.lore)
    assert json.loads(json.dumps(audit_to_json(done.audit)))["fingerprint"] == done.fingerprint


@pytest.mark.fuzz
def test_odd_inputs_neither_crash_nor_differ() -> None:
    found = []
    for given in inputs(INPUT_COUNT):
        done = result_of(given)
        assert done == result_of(given)
        if isinstance(done, Profile):
            assert_sound(given, done)
            found.append(done)
    assert len(found) > INPUT_COUNT / 2
    for before, after in pairwise(found):
        changes = diff(before, after)
        old, new = (to_utf8(one.system_text) for one in (before, after))
        common = changes.common_prefix_bytes
        assert old[:common] == new[:common]
        assert (changes.first_difference is None) or common < len(new)


@pytest.mark.fuzz
def test_late_lore_leaves_the_parts_in_front_alone() -> None:
    for given in inputs(INPUT_COUNT):
        late = evolve(given, lore_channel=LoreChannel.LATE, max_profile_bytes=2**20)
        with_lore, without = (compile_profile(one) for one in (late, evolve(late, lore=())))
        if given.profile is CompileProfile.SAFE:
            assert with_lore.parts == without.parts
