"""Macros in a compile: what differs in sections, what parts share, what a caller has to bring."""

import json
from datetime import UTC, datetime

from tavern_compiler import (
    CompileInput,
    LoreEntry,
    MacroContext,
    Profile,
    User,
    Variables,
    compile_profile,
)
from tavern_format import CharacterCard, Position, Preset, parse_preset
from tavern_matcher import SeededDice

LORE = LoreEntry(book="b", uid="1", content="{{.n++}}", position=Position.BEFORE)


def preset_of(**texts: str) -> Preset:
    prompts = [
        {"identifier": name, "role": "system", "content": text, "enabled": True}
        for name, text in texts.items()
    ]
    return parse_preset(json.dumps({"prompts": prompts}).encode()).value


def texts_of(profile: Profile) -> list[str]:
    return [part.text for part in profile.parts]


def test_original_is_there_as_often_as_it_stands() -> None:
    card = CharacterCard(name="Aria", system_prompt="{{original}}, {{original}}")
    given = CompileInput(preset=preset_of(main="Own"), character=card)
    assert texts_of(compile_profile(given)) == ["Own, Own"]


def test_examples_in_a_section_have_no_headings() -> None:
    card = CharacterCard(name="Aria", message_examples="Hi.")
    given = CompileInput(preset=preset_of(main="[{{mesExamples}}]"), character=card)
    assert texts_of(compile_profile(given)) == ["[Hi.]"]


def test_variables_are_shared_by_all_parts_in_their_order() -> None:
    card = CharacterCard(name="Aria", description="{{.n++}}")
    given = CompileInput(
        preset=preset_of(main="{{setvar::n::4}}a", worldInfoBefore="", second="{{.n++}}{{.m}}"),
        character=card,
        lore=(LORE,),
        user=User(name="Bo", description="{{$all = yes}}I"),
        macros=MacroContext(variables=Variables(local={"m": "!"})),
    )
    profile = compile_profile(given)
    assert texts_of(profile) == ["a", "5", "6!", "I", "7"]
    assert profile.variables == Variables(local={"m": "!", "n": 7}, shared={"all": "yes"})


def test_time_and_dice_come_with_the_input() -> None:
    preset = preset_of(main="{{isodate}} {{random::a::b}}")
    bare = compile_profile(CompileInput(preset=preset))
    assert texts_of(bare) == ["{{isodate}} {{random::a::b}}"]
    assert [found.code for found in bare.diagnostics].count("MACRO_NOT_EXECUTED") == 2
    macros = MacroContext(now=datetime(2024, 3, 15, tzinfo=UTC), dice=lambda _: 0.9)
    assert texts_of(compile_profile(CompileInput(preset=preset, macros=macros))) == ["2024-03-15 b"]


def test_all_texts_of_a_compile_share_a_limit() -> None:
    lore = tuple(
        LoreEntry(book="b", uid=str(uid), content="{{roll::29000d6}}{{user}}") for uid in range(6)
    )
    given = CompileInput(lore=lore, macros=MacroContext(user="Bo", dice=lambda _: 0.0))
    profile = compile_profile(given)
    assert texts_of(profile) == ["29000Bo"] * 4 + ["{{roll::29000d6}}{{user}}"] * 2
    told = [one for one in profile.diagnostics if one.code == "MACRO_STEP_LIMIT"]
    assert [one.path for one in told] == ["/lore/4/content", "/lore/5/content"]
    assert "all texts together take more than 2000000 steps" in told[0].message
    assert compile_profile(given) == profile


def test_two_entries_with_one_id_draw_for_themselves() -> None:
    told: list[str] = []

    def dice(purpose: str) -> float:
        told.append(purpose)
        return 0.0

    lore = (LoreEntry(book="b", uid="1", content="{{random::a::b}}"),) * 2
    compile_profile(CompileInput(lore=lore, macros=MacroContext(dice=dice)))
    assert told == ["/lore/b:1:random@0", "/lore/b:1#2:random@0"]


def test_dice_of_one_roll_are_thrown_one_by_one() -> None:
    lore = (LoreEntry(book="b", uid="1", content="{{roll::200d6}}"),)
    rolled = {
        compile_profile(
            CompileInput(lore=lore, macros=MacroContext(dice=SeededDice(str(seed))))
        ).system_text
        for seed in range(5)
    }
    assert all(600 < int(text) < 800 for text in rolled)
