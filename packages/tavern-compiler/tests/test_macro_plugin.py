"""The plugin's own macros: what it knows, what it removes, what it breaks up."""

import pytest
from attrs import evolve

from tavern_compiler import (
    Expansion,
    MacroChat,
    MacroContext,
    MacroError,
    MacroLimits,
    MacroMessage,
    MacroProfile,
    MacroSettings,
    Variables,
    expand_macros,
)

PLUGIN = MacroSettings(profile=MacroProfile.DSH_TAVERN)
CONTEXT = MacroContext(
    user="Bo",
    char="Aria",
    description=" {{char}} the fox ",
    message_examples="E",
    persona="{{user}}!",
    chat=MacroChat(
        messages=(
            MacroMessage(text="Hi.", is_user=True),
            MacroMessage(text="Hey."),
            MacroMessage(text="hidden", is_system=True),
        )
    ),
    variables=Variables(local={"n": 7}),
    dice=lambda _: 0.5,
)


def expand(text: str, context: MacroContext = CONTEXT) -> Expansion:
    return expand_macros(text, context, PLUGIN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  {{ user }} {{CHAR}} ", "Bo Aria"),
        ("{{lastUserMessage}}|{{lastCharMessage}}", "Hi.|Hey."),
        ("{{trim}}a{{// a note}}b", "ab"),
        ("{{setvar:: x ::007}}{{getvar::x}} {{getvar::n}} {{getvar::none}}", "007 7"),
        ("{{random::a, b ,,c}}{{random:: , }}", "b"),
        ("{{random:a,b}}{{random::a::b}}", "a::b"),
        ("{{roll 2d6+1}} {{roll 200d1}} {{ROLL 1d6-9}} {{roll d6}}.", "9 100 -5 ."),
        ("{{description}} {{mesExamples}} {{scenario}}.", "Aria the fox E ."),
        ("{{persona}} {{persona}}.", "Bo! ."),
        ("{{original}}{{nope}}{{}}", ""),
        ("a {{b } {{user}} }}", "a  } }"),
        ("{{setvar::n::{{user}}}}{{getvar::n}}", "} }{ {user"),
    ],
)
def test_text_is_expanded_as_the_plugin_does(text: str, expected: str) -> None:
    assert expand(text).text == expected


def test_fields_of_a_card_cannot_hold_each_other() -> None:
    assert expand("{{description}}{{persona}}x", evolve(CONTEXT, card=False)).text == "x"


@pytest.mark.parametrize(("rounds", "expected"), [(1, "Bo"), (4, "Bo"), (5, "{ {user} }")])
def test_results_are_read_again_four_times(rounds: int, expected: str) -> None:
    text = "{{setvar::a::{}}{{getvar::a}}" + "{getvar::a}}" * (rounds - 1) + "{user}}"
    assert expand(text).text == expected


def test_uses_say_what_was_rendered() -> None:
    found = expand("{{persona}}{{nope}}{{random::a}}")
    assert [(use.name, use.field, use.result_chars, use.drew) for use in found.used] == [
        ("persona", "persona", 9, False),
        ("user", None, 2, False),
        ("nope", None, 0, False),
        ("random", None, 1, True),
    ]
    assert [(one.code, one.message) for one in found.diagnostics] == [
        (
            "MACRO_REMOVED",
            "A macro at characters 9-17 is unknown to the plugin and removed.",
        )
    ]


def test_macro_that_is_left_out_stays_broken_up() -> None:
    settings = evolve(PLUGIN, without=frozenset({"Roll"}))
    found = expand_macros("{{roll 1d6}}", MacroContext(), settings)
    assert found.text == "{ {roll 1d6} }"
    assert [one.code for one in found.diagnostics] == ["MACRO_NOT_EXECUTED"]


@pytest.mark.parametrize("text", ["{{roll 1d6}}", "{{random::a}}"])
def test_missing_dice_are_an_error(text: str) -> None:
    with pytest.raises(MacroError, match="MACRO_DICE_MISSING"):
        expand(text, MacroContext())


def test_limits_hold() -> None:
    output = evolve(PLUGIN, limits=MacroLimits(output_chars=3))
    found = expand_macros("{{char}}{{user}}", CONTEXT, output)
    assert found.text == "{ {char} }Bo"
    assert [one.code for one in found.diagnostics] == ["MACRO_OUTPUT_LIMIT"]
    steps = evolve(PLUGIN, limits=MacroLimits(steps=2))
    found = expand_macros("{{user}}" * 4, CONTEXT, steps)
    assert found.text == "BoBo{ {user} }{ {user} }"
    assert [one.code for one in found.diagnostics] == ["MACRO_STEP_LIMIT"]
