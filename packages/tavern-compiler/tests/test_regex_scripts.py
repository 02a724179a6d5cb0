import time
from typing import Any

import pytest

from tavern_compiler import (
    MacroContext,
    MacroError,
    MacroLimits,
    MacroSettings,
    ScriptCall,
    ScriptedText,
    ScriptLimits,
    ScriptLists,
    ScriptOrigin,
    ScriptOutcome,
    ScriptRun,
    ScriptSettings,
    Variables,
    apply_regex_scripts,
)
from tavern_format import Placement, RegexScript, SubstituteRegex
from tavern_matcher import SeededDice

STORED = ScriptCall(placement=Placement.AI_OUTPUT)
BO = MacroContext(user="Bo", char="Ada")


def script(find: str, replace: str = "X", **more: Any) -> RegexScript:
    fields: dict[str, Any] = {"name": "s", "placement": (2,), **more}
    return RegexScript(find_regex=find, replace_string=replace, **fields)


def run(
    text: str,
    *scripts: RegexScript,
    call: ScriptCall = STORED,
    context: MacroContext = BO,
    **settings: Any,
) -> ScriptedText:
    lists = ScriptLists(shared=scripts)
    return apply_regex_scripts(text, lists, call, context, ScriptSettings(**settings))


def outcomes(done: ScriptedText) -> list[str]:
    return [one.outcome.value for one in done.runs]


def test_lists_run_one_after_the_other_and_each_run_is_recorded() -> None:
    lists = ScriptLists(
        character=(script("/c/g", "d", name="three"),),
        preset=(script("/b/g", "c", name="two"), script("/z/", name="none")),
        shared=(script("/a/g", "b", name="one"),),
    )
    assert apply_regex_scripts("aa", lists, STORED) == ScriptedText(
        text="dd",
        runs=(
            ScriptRun(
                origin=ScriptOrigin.SHARED,
                index=0,
                name="one",
                outcome=ScriptOutcome.REPLACED,
                matches=2,
            ),
            ScriptRun(
                origin=ScriptOrigin.PRESET,
                index=0,
                name="two",
                outcome=ScriptOutcome.REPLACED,
                matches=2,
            ),
            ScriptRun(
                origin=ScriptOrigin.PRESET, index=1, name="none", outcome=ScriptOutcome.NO_MATCH
            ),
            ScriptRun(
                origin=ScriptOrigin.CHARACTER,
                index=0,
                name="three",
                outcome=ScriptOutcome.REPLACED,
                matches=2,
            ),
        ),
    )


def test_lists_that_nobody_agreed_to_do_not_run() -> None:
    lists = ScriptLists(
        shared=(script("/a/", "s"),),
        preset=(script("/s/", "p"),),
        character=(script("/s/", "c"),),
        preset_allowed=False,
        character_allowed=False,
    )
    done = apply_regex_scripts("a", lists, STORED)
    assert (done.text, outcomes(done)) == ("s", ["replaced", "not-allowed", "not-allowed"])


@pytest.mark.parametrize(
    ("fields", "call", "outcome"),
    [
        ({"disabled": True}, {}, "disabled"),
        ({"find_regex": ""}, {}, "no-pattern"),
        ({"placement": (1, 5)}, {}, "other-placement"),
        ({"prompt_only": True}, {}, "other-call"),
        ({}, {"for_prompt": True}, "other-call"),
        ({"prompt_only": True}, {"for_prompt": True}, "replaced"),
        ({"markdown_only": True}, {"for_display": True, "for_prompt": True}, "replaced"),
        ({}, {"is_edit": True}, "not-on-edit"),
        ({"run_on_edit": True}, {"is_edit": True}, "replaced"),
        ({"min_depth": 1}, {"depth": 0}, "outside-depth"),
        ({"min_depth": 1}, {}, "replaced"),
        ({"min_depth": -2, "max_depth": -1}, {"depth": 9}, "replaced"),
        ({"max_depth": 0}, {"depth": 1}, "outside-depth"),
        ({"min_depth": 1, "disabled": True, "placement": ()}, {"depth": 0}, "outside-depth"),
    ],
)
def test_each_script_that_does_not_run_says_why(
    fields: dict[str, Any], call: dict[str, Any], outcome: str
) -> None:
    one = script(**{"find": "/a/", **{k: v for k, v in fields.items() if k != "find_regex"}})
    if "find_regex" in fields:
        one = script(fields["find_regex"])
    done = run("a", one, call=ScriptCall(placement=2, **call))
    assert outcomes(done) == [outcome]
    assert (done.text == "X") is (outcome == "replaced")
    assert done.diagnostics == ()


@pytest.mark.parametrize(
    ("find", "replace", "text", "expected"),
    [
        ("/(a)(b)?/g", "<$1$2$0>", "ab a", "<abab> <aa>"),
        ("/(?<k>b)/", "[$<k>$<no>{{match}}$01]", "abc", "a[bbb]c"),
        ("/b/", "$& $$ $`", "abc", "a$& $$ $`c"),
        ("/(b)/", "$2|$3|$4", "abc", "a1|abc|c"),
        ("/(a)/", "$2", "abc", "bc"),
        ("/🦊(.)/", "$2", "x🦊y🦊", "x1🦊"),
        ("/(.)$/u", "$2", "🦊🦊x", "🦊🦊4"),
        ("/./g", "$0", "🦊", "🦊"),
        ("/b/", f"${'9' * 5000}.", "abc", "a.c"),
    ],
)
def test_references_are_sillytaverns_and_not_javascripts(
    find: str, replace: str, text: str, expected: str
) -> None:
    assert run(text, script(find, replace)).text == expected


def test_macros_run_once_for_each_match_and_variables_come_out() -> None:
    context = MacroContext(user="Bo", variables=Variables(local={"n": 4}))
    done = run("x {{user}} x", script("/x/g", "{{incvar::n}}{{user}}"), context=context)
    assert (done.text, done.variables.local) == ("5Bo {{user}} 6Bo", {"n": 6})
    assert context.variables.local == {"n": 4}


def test_find_patterns_take_macros_raw_or_escaped() -> None:
    context = MacroContext(user="A.B")
    find = "/{{user}}/g"
    texts = [
        run("AxB A.B {{user}}", script(find, "_", substitute_regex=way), context=context).text
        for way in SubstituteRegex
    ]
    assert texts == ["AxB A.B _", "_ _ {{user}}", "AxB _ {{user}}"]


def test_only_inserted_values_are_trimmed() -> None:
    one = script("/<b>(.*?)<\\/b>/g", "*[$1]", trim_strings=("*", "{{char}}"))
    done = run("*keep* <b>*in Ada*</b>", one)
    assert done.text == "*keep* *[in ]"
    named = ScriptCall(placement=2, char_override="in")
    assert run("<b>in Ada</b>", one, call=named).text == "*[ Ada]"


def test_draws_of_two_matches_differ_and_are_recorded() -> None:
    context = MacroContext(dice=SeededDice("seed"))
    roll = script("/x/g", "{{roll 1d1000}},")
    done = run("xxxx", roll, context=context)
    assert len(set(done.text.split(",")[:-1])) == 4
    assert done == run("xxxx", roll, context=context)
    assert [one.drew for one in done.runs] == [True]


def test_a_macro_without_its_source_is_an_error() -> None:
    with pytest.raises(MacroError, match="MACRO_DICE_MISSING"):
        run("x", script("/x/", "{{random::a::b}}"))


@pytest.mark.parametrize(
    ("find", "code", "outcome"),
    [
        ("/(/", "REGEX_SCRIPT_INVALID", "invalid"),
        ("/a/x", "REGEX_SCRIPT_INVALID", "invalid"),
        (f"/{'(' * 60}a{')' * 60}/", "REGEX_SCRIPT_UNTRANSLATABLE", "untranslatable"),
    ],
)
def test_a_pattern_that_cannot_run_is_told(find: str, code: str, outcome: str) -> None:
    done = run("aaa", script("/$/", "1"), script(find), script("/$/", "2"))
    assert (done.text, outcomes(done)) == ("aaa12", ["replaced", outcome, "replaced"])
    assert [(one.code, one.path) for one in done.diagnostics] == [(code, "/shared/regex_scripts/1")]


def test_a_pattern_that_takes_too_long_leaves_the_text_as_it_is() -> None:
    slow = script("/(?:a|aa)+$/g")
    started = time.process_time()
    done = run("a" * 60 + "!", slow, *[slow] * 20)
    assert time.process_time() - started < 5
    assert (done.text, set(outcomes(done))) == ("a" * 60 + "!", {"timed-out"})
    assert {one.code for one in done.diagnostics} == {"REGEX_SCRIPT_TIMED_OUT"}


def test_a_script_that_makes_too_much_leaves_the_text_as_it_is() -> None:
    text = "b" * 3000
    done = run(text, script("/b/g", "$2"), limits=ScriptLimits(output_chars=10_000))
    assert (done.text, outcomes(done)) == (text, ["too-large"])
    assert [one.code for one in done.diagnostics] == ["REGEX_SCRIPT_TOO_LARGE"]


@pytest.mark.parametrize(
    ("find", "replace", "trim"),
    [("/b/", "$1", ("x",)), ("/(?<k>b)/", "$4", ()), ("/(?<k>b)/", "$4", ("x",))],
)
def test_where_sillytavern_stops_with_an_error_the_text_stays(
    find: str, replace: str, trim: tuple[str, ...]
) -> None:
    done = run("abc", script(find, replace, trim_strings=trim))
    assert (done.text, outcomes(done)) == ("abc", ["refused"])
    assert [one.code for one in done.diagnostics] == ["REGEX_SCRIPT_REFUSED"]


def test_a_missing_replacement_is_empty_and_missing_trims_are_none() -> None:
    assert run("abc", RegexScript(find_regex="/b/", placement=(2,))).text == "ac"
    done = run("ab", RegexScript(find_regex="/b/", replace_string="$0!", placement=(2,)))
    assert (done.text, done.diagnostics) == ("ab!", ())


def test_a_long_text_is_searched_in_pieces_and_that_is_told() -> None:
    text = "one line\n" * 40
    done = run(text, script("/^one/gm", "1"), limits=ScriptLimits(text_chars=100))
    assert done.text == "1 line\n" * 40
    assert [one.code for one in done.diagnostics] == ["REGEX_TEXT_IN_PIECES"]


def test_macros_of_all_replacements_share_their_limits() -> None:
    macros = MacroSettings(limits=MacroLimits(output_chars=10))
    done = run("x" * 9, script("/x/g", "{{user}}"), macros=macros)
    assert done.text == "Bo" * 5 + "{{user}}" * 4
    assert [one.code for one in done.diagnostics] == ["MACRO_OUTPUT_LIMIT"]


def test_what_a_macro_is_blamed_for_is_told_with_its_place_and_not_for_ever() -> None:
    done = run("x" * 100, script("/x/g", "{{nope}}"))
    assert done.text == "{{nope}}" * 100
    assert len(done.diagnostics) == 16
    assert {(one.code, one.path) for one in done.diagnostics} == {
        ("MACRO_NOT_EXECUTED", "/shared/regex_scripts/0/replaceString")
    }


def test_many_matches_cost_time_linear_in_them() -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        assert run("a{{b" * count, script("/a/g", "$0{{user}}$1$0")).runs[0].matches == count
        return time.process_time() - started

    seconds(100)
    assert seconds(8000) < 40 * max(seconds(1000), 0.002)
