"""Macros: what is replaced, what stays, and what is said about it."""

import pytest

from tavern_compiler import MacroContext, MacroUse, expand_macros

CONTEXT = MacroContext(
    user="Bo",
    char="Aria",
    description="{{char}} is {{personality}} tall.",
    personality=" kind ",
    scenario="A yard.",
    persona="{{user}} is tired.",
    message_examples="<START>",
)
EXPANDED = [
    ("{{user}} and {{char}}", "Bo and Aria"),
    ("{{USER}} {{ Char }} {{\nuser\n}}", "Bo Aria Bo"),
    ("<USER> <bot> <Char> <charIfNotGroup> <group>", "Bo Aria Aria Aria Aria"),
    ("{{charIfNotGroup}} {{group}}", "Aria Aria"),
    ("{{personality}}|{{charPersonality}}", "kind|kind"),
    ("{{scenario}} {{charScenario}}", "A yard. A yard."),
    ("{{mesExamples}} {{mesExamplesRaw}}", "<START> <START>"),
    ("{{persona}}", "Bo is tired."),
    # A card field cannot hold another one.
    ("{{description}}", "Aria is  tall."),
    ("{{{user}}}", "{Bo}"),
    ("{{{{user}}}}", "{{Bo}}"),
    ("{user} }} {{", "{user} }} {{"),
    (r"\{\{user\}\} and {{user}}", "{{user}} and Bo"),
    ("", ""),
    ("no macro", "no macro"),
    ("龙{{user}}🦊", "龙Bo🦊"),
]
KEPT = [
    ("{{nope}}", [("nope", 0, 8)]),
    ("a {{setvar::x::1}} b", [("setvar", 2, 18)]),
    ("{{original}}", [("original", 0, 12)]),
    ("{{user::x}}", [("user", 0, 11)]),
    ("{{// note}}", [("//", 0, 11)]),
    ("{{用户}}", [("", 0, 6)]),
    ("{{}}", [("", 0, 4)]),
]


@pytest.mark.parametrize(("text", "expected"), EXPANDED)
def test_known_macros_are_replaced(text: str, expected: str) -> None:
    expansion = expand_macros(text, CONTEXT)
    assert (expansion.text, expansion.diagnostics) == (expected, ())


@pytest.mark.parametrize(("text", "kept"), KEPT)
def test_other_macros_stay_and_are_named(text: str, kept: list[tuple[str, int, int]]) -> None:
    expansion = expand_macros(text, CONTEXT)
    assert expansion.text == text
    assert [(use.name, use.start_chars, use.end_chars) for use in expansion.used] == kept
    assert {found.code for found in expansion.diagnostics} == {"MACRO_NOT_EXECUTED"}


def test_macros_inside_one_that_stays_are_replaced() -> None:
    expansion = expand_macros("{{random::{{user}}::{{x}}}}", CONTEXT)
    assert expansion.text == "{{random::Bo::{{x}}}}"
    assert [(use.name, use.expanded) for use in expansion.used] == [
        ("user", True), ("x", False), ("random", False),
    ]  # fmt: skip
    assert [found.message for found in expansion.diagnostics] == [
        "{{x}} at characters 20-25 is not executed and stays as it is.",
        "{{random}} at characters 0-27 is not executed and stays as it is.",
    ]


def test_results_are_not_read_again() -> None:
    context = MacroContext(user="{{char}}", char="Aria")
    assert expand_macros("{{user}}", context).text == "{{char}}"


def test_use_says_where_how_much_and_which_field() -> None:
    expansion = expand_macros("Be {{charPersonality}}.", CONTEXT)
    assert expansion.used == (
        MacroUse(
            name="charPersonality", start_chars=3, end_chars=22, result_chars=4, field="personality"
        ),
    )


def test_original_is_there_where_something_is_replaced() -> None:
    context = MacroContext(original="base")
    assert expand_macros("{{Original}}+{{original}}", context).text == "base+base"


@pytest.mark.parametrize("text", ["{{" * 50_000, "}}" * 50_000, "{{a" * 50_000 + "}}" * 50_000])
def test_long_runs_of_braces_take_linear_time(text: str) -> None:
    assert expand_macros(text, CONTEXT).text == text
