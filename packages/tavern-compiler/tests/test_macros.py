"""Macros: what is replaced, what stays, what is said about it, and what is refused."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tavern_compiler import (
    HostFacts,
    Macro,
    MacroChat,
    MacroContext,
    MacroError,
    MacroLimits,
    MacroProfile,
    MacroRefusal,
    MacroSettings,
    MacroUse,
    Parameter,
    ValueType,
    Variables,
    expand_macros,
)
from tavern_compiler._macro_readings import MAX_CHARS, MAX_TEXTS, Readings
from tavern_matcher import SeededDice

CASES = json.loads((Path(__file__).parent / "cases" / "macros.json").read_text("utf-8"))["cases"]
CONTEXT = MacroContext(
    user="Bo",
    char="Aria",
    description="{{char}} is {{personality}} tall.",
    personality=" kind ",
    message_examples="<START>\nHi.",
    chat=MacroChat(id="chat-file"),
    now=datetime(2024, 3, 15, 14, 5, 9, tzinfo=UTC),
)
LEGACY = MacroSettings(profile=MacroProfile.LEGACY)
ST_ENGINES = (MacroProfile.NEW, MacroProfile.LEGACY)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_text_is_expanded_as_the_new_engine_does(case: dict[str, Any]) -> None:
    context = evolve(CONTEXT, **case.get("context", {}))
    assert expand_macros(case["text"], context).text == case["expected"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_text_is_expanded_as_the_old_engine_does(case: dict[str, Any]) -> None:
    context = evolve(CONTEXT, **case.get("context", {}))
    found = expand_macros(case["text"], context, LEGACY).text
    assert found == case.get("legacy", case["expected"])


# --- what stays -------------------------------------------------------------------------------

KEPT = [
    ("{{nope}}", "nope", (0, 8), "no macro has this name"),
    ("{{original}}", "original", (0, 12), "nothing is replaced here"),
    ("{{user::x}}", "user", (0, 11), "1 arguments are not what it takes"),
    ("{{greeting::x}}", "charFirstMessage", (0, 15), "its argument index is not of type integer"),
    ("{{space::-1}}", "space", (0, 13), "its count is below 0"),
    ("{{setvar::::5}}", "setvar", (0, 15), "a variable needs a name"),
    ("a{{/if}}", "/if", (1, 8), "it has no tag to go with"),
    ("{{用户}}", "", (0, 2), "it cannot be read as a macro"),
    ("{{}}", "", (0, 2), "it cannot be read as a macro"),
]


@pytest.mark.parametrize(("text", "name", "span", "reason"), KEPT, ids=[row[0] for row in KEPT])
def test_other_macros_stay_and_are_named(
    text: str, name: str, span: tuple[int, int], reason: str
) -> None:
    expansion = expand_macros(text, CONTEXT)
    assert expansion.text == text
    assert expansion.used == (
        MacroUse(name=name, start_chars=span[0], end_chars=span[1], reason=reason),
    )
    called = f"{{{{{name}}}}}" if name else "A macro without a name"
    place = f"at characters {span[0]}-{span[1]}"
    assert [(found.code, found.message) for found in expansion.diagnostics] == [
        ("MACRO_NOT_EXECUTED", f"{called} {place} is not executed and stays as it is: {reason}.")
    ]


def test_known_macros_are_replaced() -> None:
    expansion = expand_macros("<USER> {{user}} }} {{", CONTEXT)
    assert (expansion.text, expansion.diagnostics) == ("Bo Bo }} {{", ())


def test_macros_inside_one_that_stays_are_replaced() -> None:
    expansion = expand_macros("{{nope::{{user}}::{{x}}}}", CONTEXT)
    assert expansion.text == "{{nope::Bo::{{x}}}}"
    assert [(use.name, use.expanded, use.start_chars, use.end_chars) for use in expansion.used] == [
        ("user", True, 8, 16), ("x", False, 18, 23), ("nope", False, 0, 25),
    ]  # fmt: skip


def test_original_is_there_once() -> None:
    context = MacroContext(original="base")
    assert expand_macros("{{Original}}+{{original}}", context).text == "base+"


# --- what is said -----------------------------------------------------------------------------


def test_use_says_where_how_much_and_which_field() -> None:
    expansion = expand_macros("<USER>, be {{charPersonality}}.", CONTEXT)
    assert expansion.used == (
        MacroUse(name="user", start_chars=0, end_chars=6, result_chars=2),
        MacroUse(
            name="charPersonality",
            start_chars=11,
            end_chars=30,
            result_chars=4,
            field="personality",
        ),
    )


@pytest.mark.parametrize(
    "text",
    ["{{if user}}龙{{char}}{{/if}}", "{{if 0}}{{else}}x{{char}}{{/if}}", "{{//}}{{char}}{{///}}"],
)
def test_places_inside_other_macros_are_those_of_the_text(text: str) -> None:
    used = expand_macros(text, CONTEXT).used
    places = [text[use.start_chars : use.end_chars] for use in used if use.name == "char"]
    assert places == ["{{char}}"]


def test_use_says_whether_dice_were_thrown() -> None:
    context = evolve(CONTEXT, dice=lambda _: 0.9, description="{{random::a::b}}")
    expansion = expand_macros("{{roll::6}} {{pick::a::a}} {{description}}", context)
    assert expansion.text == "6 a b"
    assert [(use.name, use.drew) for use in expansion.used] == [
        ("roll", True), ("pick", False), ("charDescription", True),
    ]  # fmt: skip


def test_dice_are_told_what_for() -> None:
    purposes: list[str] = []

    def dice(purpose: str) -> float:
        purposes.append(purpose)
        return 0.0

    expand_macros("{{random::{{random::a::b}}::c}} {{roll 2d6}}", evolve(CONTEXT, dice=dice))
    assert purposes == ["random@10", "random@0", "roll@32", "roll@32#2"]


def test_draws_at_one_place_are_told_apart() -> None:
    """Dice that follow from what they are told would else give the same number for all of them."""
    purposes: list[str] = []

    def dice(purpose: str) -> float:
        purposes.append(purpose)
        return 0.0

    given = evolve(CONTEXT, dice=dice, description="{{random::a::b}}", place="p")
    for profile in (MacroProfile.NEW, MacroProfile.LEGACY):
        text = "{{random::a::b}} {{description}}"
        expand_macros(text, given, MacroSettings(profile=profile))
        assert sorted(purposes) == ["p:random@0", "p:random@0#2"]
        purposes.clear()
    expand_macros("{{if::1::<USER>{{random::a::b}}{{random::a::b}}}}", given)
    assert len(set(purposes)) == 2
    seeded = evolve(CONTEXT, dice=SeededDice("s"))
    rolls = {expand_macros("{{roll::3d6}}", evolve(seeded, place=str(at))).text for at in range(40)}
    assert any(int(roll) % 3 for roll in rolls)


def test_stores_come_back_and_the_callers_stay() -> None:
    given = Variables(local={"a": "1"}, shared={"b": [1]})
    text = "{{incvar::a}}{{$b += x}}{{deletevar::none}}{{$c = 2}}"
    expansion = expand_macros(text, evolve(CONTEXT, variables=given))
    assert expansion.text == "2"
    assert expansion.variables == Variables(local={"a": 2}, shared={"b": "1x", "c": "2"})
    assert given == Variables(local={"a": "1"}, shared={"b": [1]})


# --- rows of a caller -------------------------------------------------------------------------


def shout(call: Any, context: MacroContext) -> str:
    if not call.args[0]:
        message = "there is nothing to shout"
        raise MacroRefusal(message)
    return f"{call.args[0].upper()}, {context.user}!"


SHOUT = Macro(name="shout", value=shout, aliases=("cry",), parameters=(Parameter("what"),))


def test_a_macro_of_the_caller_is_one_row() -> None:
    settings = MacroSettings(macros=(SHOUT,))
    text = "{{shout::{{char}}}} {{CRY}}hey{{/cry}} {{shout::}}"
    expansion = expand_macros(text, CONTEXT, settings)
    assert expansion.text == "ARIA, Bo! HEY, Bo! {{shout::}}"
    assert expansion.used[-1].reason == "there is nothing to shout"


def test_arguments_have_types() -> None:
    double = Macro(
        name="double",
        value=lambda call, _: 2 * float(call.args[0]),
        parameters=(Parameter("number", types=(ValueType.NUMBER,)),),
    )
    settings = MacroSettings(macros=(double,))
    assert (
        expand_macros("{{double::1.5}} {{double::x}}", CONTEXT, settings).text == "3 {{double::x}}"
    )


def test_macros_can_be_left_out() -> None:
    for profile in ST_ENGINES:
        settings = MacroSettings(without=frozenset({"Random", "time"}), profile=profile)
        text = "{{random::a::b}} {{time}}"
        assert expand_macros(text, MacroContext(), settings).text == text


def test_macros_of_one_call_stand_before_all_others() -> None:
    context = evolve(CONTEXT, dynamic={"User": "Ann", "lastChatMessage": "Hi."})
    assert expand_macros("{{user}}: {{lastchatmessage}}", context).text == "Ann: Hi."


def test_outlets_are_read_by_key() -> None:
    context = evolve(CONTEXT, host=HostFacts(outlets={"Key": "Lore {{user}}"}))
    assert expand_macros("{{outlet::Key}}|{{outlet::key}}", context).text == "Lore {{user}}|"


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ST_ENGINES)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ab {{random::a::b}}", "MACRO_DICE_MISSING"),
        ("ab {{roll:1d6}}", "MACRO_DICE_MISSING"),
        ("ab {{isotime}}", "MACRO_CLOCK_MISSING"),
    ],
)
def test_missing_sources_are_an_error(text: str, code: str, profile: MacroProfile) -> None:
    with pytest.raises(MacroError) as caught:
        expand_macros(text, MacroContext(), MacroSettings(profile=profile))
    fault = caught.value
    assert (fault.code, fault.start_chars, fault.end_chars) == (code, 3, len(text))


@pytest.mark.parametrize("number", [1.0, -0.1, float("nan")])
def test_dice_give_less_than_one(number: float) -> None:
    with pytest.raises(ValueError, match="below 1"):
        expand_macros("{{random::a::b}}", MacroContext(dice=lambda _: number))


def test_time_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="offset from UTC"):
        MacroContext(now=datetime(2024, 1, 1))  # noqa: DTZ001 - the subject


# --- limits -----------------------------------------------------------------------------------


def nested(depth: int) -> str:
    return "{{reverse::" * depth + "ab" + "}}" * depth


def test_depth_has_a_limit() -> None:
    settings = MacroSettings(limits=MacroLimits(depth_macros=3))
    deep = expand_macros(f"{nested(3)} {nested(4)} {{{{user}}}}", CONTEXT, settings)
    assert deep.text == f"ba {nested(4)} Bo"
    assert [found.code for found in deep.diagnostics] == ["MACRO_DEPTH_LIMIT"]


def test_tags_inside_each_other_count_as_depth() -> None:
    settings = MacroSettings(limits=MacroLimits(depth_macros=2))
    text = "{{if 1}}" * 3 + "x" + "{{/if}}" * 3
    deep = expand_macros(text, CONTEXT, settings)
    assert deep.text == "{{if 1}}x{{/if}}"
    assert [found.code for found in deep.diagnostics] == ["MACRO_DEPTH_LIMIT"]


def test_steps_have_a_limit() -> None:
    settings = MacroSettings(limits=MacroLimits(steps=8))
    found = expand_macros("{{roll::9d6}} {{user}}", evolve(CONTEXT, dice=lambda _: 0), settings)
    assert found.text == "{{roll::9d6}} {{user}}"
    assert [found.code for found in found.diagnostics] == ["MACRO_STEP_LIMIT"]


def test_output_has_a_limit() -> None:
    settings = MacroSettings(limits=MacroLimits(output_chars=5))
    found = expand_macros("{{space::9}}{{user}}{{char}}", CONTEXT, settings)
    assert found.text == "{{space::9}}Bo{{char}}"
    assert [found.code for found in found.diagnostics] == ["MACRO_OUTPUT_LIMIT"]


def test_stored_values_count_as_output() -> None:
    settings = MacroSettings(limits=MacroLimits(output_chars=10))
    text = (
        "{{setvar::x::abcd}}" + "{{setvar::x::{{getvar::x}}{{getvar::x}}}}" * 20 + "{{getvar::x}}"
    )
    found = expand_macros(text, CONTEXT, settings)
    assert len(str(found.variables.local["x"])) <= 10
    assert {found.code for found in found.diagnostics} == {"MACRO_OUTPUT_LIMIT"}


def test_diagnostics_have_a_limit_and_the_others_are_counted() -> None:
    settings = MacroSettings(limits=MacroLimits(diagnostics=2, output_chars=4))
    found = expand_macros("{{a}}{{b}}{{c}}{{d}}{{space::9}}", CONTEXT, settings)
    assert [one.code for one in found.diagnostics] == [
        "MACRO_NOT_EXECUTED",
        "MACRO_NOT_EXECUTED",
        "MACRO_OUTPUT_LIMIT",
        "MACRO_MORE_NOT_EXECUTED",
    ]
    assert found.diagnostics[-1].message.startswith("2 more macros")
    assert len(found.used) == 4


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("2024-03-15 10:00 +1:00", True),
        ("Mar 15 2024 10:00 +1:00", True),
        ("Mar 15 2024 10:00 +130", True),
        ("Mar 15 2024 10:00 +99:00", False),
        ("9" * 6000, False),
        ("Mar 15 " + "9" * 6000, False),
        ("10:00 " + "9" * 6000, False),
    ],
)
def test_odd_dates_are_read_or_invalid(text: str, *, valid: bool) -> None:
    for profile in (MacroProfile.NEW, MacroProfile.LEGACY):
        shown = expand_macros(
            f"{{{{timeDiff::{text}::{text}}}}}", CONTEXT, MacroSettings(profile=profile)
        ).text
        assert (shown == "a few seconds ago") is valid, shown


def test_many_seeded_draws_have_a_limit() -> None:
    found = expand_macros("{{pick::a::b}}" * 10_000, CONTEXT)
    assert [one.code for one in found.diagnostics] == ["MACRO_STEP_LIMIT"]


def test_no_message_holds_text_of_the_source() -> None:
    found = expand_macros("{{user::secret}}{{setvar::::secret}}{{roll::x}}", CONTEXT)
    assert not re.search("secret", "".join(one.message for one in found.diagnostics))


# --- texts that were read before ----------------------------------------------------------------


@pytest.mark.parametrize("text", ["{{user}} {{char}}", "{{reverse::{{user}}}} {{if 1}}x{{/if}} {{"])
@pytest.mark.parametrize("steps", [3, 12, 500])
def test_text_that_was_read_before_gives_the_same_and_counts_as_much(text: str, steps: int) -> None:
    settings = MacroSettings(limits=MacroLimits(steps=steps))
    first = expand_macros(text, CONTEXT, settings)
    assert expand_macros(text, CONTEXT, settings) == first
    assert expand_macros(text, CONTEXT, evolve(settings)) == first


def test_texts_that_are_kept_have_a_bound() -> None:
    readings = Readings()
    told: list[int] = []
    for number in range(MAX_TEXTS + 1):
        readings.of(f"{{{{a{number}}}}}", told.append)
    assert len(readings._known) == 1
    assert told == [3] * (MAX_TEXTS + 1)
    long = "{{a}}" + "x" * MAX_CHARS
    assert readings.of(long, told.append) is not readings.of(long, told.append)
    half = "x" * (MAX_CHARS // 2)
    for name in "abc":
        readings.of(f"{{{{{name}}}}}{half}", told.append)
    assert len(readings._known) == 1
