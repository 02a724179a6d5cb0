"""Every code that a compile can give is given, and stands in the README."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve

from tavern_compiler import (
    CharacterOptions,
    CompileInput,
    CompileProfile,
    LoreEntry,
    ProfileTooLargeError,
    User,
    compile_profile,
)
from tavern_format import (
    CharacterCard,
    DepthPrompt,
    InjectionPosition,
    Position,
    Preset,
    Prompt,
    RegexScript,
)

README = Path(__file__).parents[1] / "README.md"
SOURCES = Path(__file__).parents[1] / "src" / "tavern_compiler"
CARD = CharacterCard(name="Ada", system_prompt="S", post_history_instructions="P")


def said(text: str, identifier: str = "a", **more: object) -> CompileInput:
    prompt = Prompt(identifier=identifier, content=text, enabled=True, **more)  # type: ignore[arg-type]
    return CompileInput(preset=Preset(prompts=(prompt,)))


def lore(*positions: Position | None, content: str = "L") -> CompileInput:
    entries = (LoreEntry(book="b", content=content, position=position) for position in positions)
    return CompileInput(lore=tuple(entries))


def card(**fields: object) -> CompileInput:
    return CompileInput(character=CharacterCard(name="Ada", **fields))  # type: ignore[arg-type]


INPUTS: Mapping[str, CompileInput] = {
    "PROMPT_ORDER_SUBSTITUTED": said("x"),
    "PROMPT_TRIGGER_MISMATCH": said("x", injection_trigger=("swipe",)),
    "PROMPT_DEPTH_NOT_EXECUTED": said("x", injection_position=InjectionPosition.IN_CHAT),
    "MARKER_UNKNOWN": said("", "mystery", marker=True),
    "MARKER_REPEATED": evolve(
        card(description="D"),
        preset=Preset(
            prompts=(
                Prompt(identifier="a", content="{{description}}", enabled=True),
                Prompt(identifier="charDescription", marker=True, enabled=True),
            )
        ),
    ),
    "MARKER_OFF_APPENDED": evolve(
        card(scenario="S"),
        preset=Preset(prompts=(Prompt(identifier="scenario", marker=True, enabled=False),)),
    ),
    "FORMAT_NOT_EXECUTED": CompileInput(preset=Preset(world_info_format="[{0}]")),
    "MACRO_NOT_EXECUTED": said("{{nope}}"),
    "MACRO_MORE_NOT_EXECUTED": said("{{nope}}" * 300),
    "MACRO_DEPTH_LIMIT": said("{{reverse::" * 60 + "}}" * 60),
    "MACRO_STEP_LIMIT": evolve(
        said("{{user}}" * 170_000), max_profile_bytes=2 * 1024 * 1024
    ),
    "MACRO_OUTPUT_LIMIT": said("{{space::99999999}}"),
    "MACRO_REMOVED": evolve(said("{{nope}}"), profile=CompileProfile.DSH_TAVERN),
    "MACRO_EMPTY_IN_FIELD": card(description="{{persona}}"),
    "REGEX_SCRIPTS_NOT_EXECUTED": card(regex_scripts=(RegexScript(name="s"),)),
    "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN": evolve(
        said("x", "main", forbid_overrides=True), character=CARD
    ),
    "CHARACTER_PHI_OVERRIDE_FORBIDDEN": evolve(
        said("x", "jailbreak", forbid_overrides=True), character=CARD
    ),
    "CHARACTER_PHI_APPROXIMATE": CompileInput(character=CARD),
    "CHARACTER_DEPTH_APPROXIMATE": card(depth_prompt=DepthPrompt(prompt="D")),
    "CHARACTER_GREETING_REFERENCE": card(greeting="G"),
    "CHARACTER_FIELDS_NEVER_SENT": card(creator_notes="n"),
    "CHARACTER_FIELD_NOT_SENT": evolve(card(greeting="G"), include_greeting=False),
    "GREETINGS_NOT_CHOSEN": card(alternate_greetings=("G",)),
    "GREETING_NOT_FOUND": evolve(card(), options=CharacterOptions(greeting_index=1)),
    "USER_PERSONA_MARKER_FALLBACK": CompileInput(user=User(description="U")),
    "WORLD_BOOK_POSITION_APPROXIMATED": lore(Position.AT_DEPTH),
    "WORLD_BOOK_OUTLET_SKIPPED": lore(Position.OUTLET),
    "WORLD_BOOK_EMPTY_CONTENT_SKIPPED": lore(Position.BEFORE, content=" "),
    "POSITION_NOT_PLACED": lore(None),
    "TAVERN_PROFILE_LORE_LIMITED": evolve(
        lore(Position.BEFORE, content="long"), max_profile_bytes=2
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", INPUTS)
def test_code_is_given(code: str) -> None:
    assert code in {found.code for found in compile_profile(INPUTS[code]).diagnostics}


def test_code_of_the_error_is_given() -> None:
    with pytest.raises(ProfileTooLargeError, match=r"^TAVERN_PROFILE_TOO_LARGE: "):
        compile_profile(evolve(said("long"), max_profile_bytes=1))


def test_readme_lists_exactly_these_codes() -> None:
    section = README.read_text("utf-8").split("## What is executed")[1].split("\n## ")[0]
    listed = re.findall(r"`([A-Z]+_[A-Z_]+)`", section)
    assert sorted(listed) == sorted({*INPUTS, "TAVERN_PROFILE_TOO_LARGE"})


def test_source_has_no_code_that_no_test_gives() -> None:
    modules = (
        *("compile", "fallback", "job", "lore", "order", "prompts", "steps", "unsent"),
        *("_macro_run", "_macro_plugin"),
    )
    text = "".join((SOURCES / f"{name}.py").read_text("utf-8") for name in modules)
    written = set(re.findall(r'"([A-Z]+_[A-Z_]{3,})"', text))
    raised = {"MACRO_DICE_MISSING", "MACRO_CLOCK_MISSING"}
    assert written - raised == set(INPUTS)
