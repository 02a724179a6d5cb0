"""Texts that hypothesis makes up: macros of every name, in every form, inside each other; scripts.

Whatever they say, nothing raises, every run gives the same, and results stay within the limits.
"""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tavern_compiler import (
    MACROS,
    Expansion,
    HostFacts,
    InstructTexts,
    MacroChat,
    MacroContext,
    MacroLimits,
    MacroMessage,
    MacroProfile,
    MacroSettings,
    ScriptCall,
    ScriptLimits,
    ScriptLists,
    ScriptSettings,
    Variables,
    apply_regex_scripts,
    expand_macros,
)
from tavern_format import RegexScript, SubstituteRegex

pytestmark = pytest.mark.fuzz
BUDGET = settings(
    max_examples=int(os.environ.get("TAVERN_FUZZ_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

NAMES = tuple(name for macro in MACROS for name in macro.names)
WORDS = (
    *("a", "b", "x", "龙", "🦊", "\ud83e", " ", "\n", "\r\n", "\t", "\u2028", "\0", "", "-", "0"),
    *("1", "-1", "1e3", "1e400", "0x10", "NaN", "999999999999", "true", "off", "[1,2]", "[[]]"),
    *(
        '{"k":[1]}',
        "::",
        ":",
        ",",
        "\\{",
        "\\}",
        "{",
        "}",
        "{{",
        "}}",
        "|",
        "/",
        "#",
        "!",
        "=",
        ".",
    ),
    *("10:00", "+1:00", "Mar 5", "-99", "T", "Z", "GMT", "pm", "9" * 4400, "٣", "²", "1_0"),
    *("$", "$1", "2024-01-01", "YYYY-MM-DD", "1d6", "99d99", "<USER>", "<BOT>", "{{else}}", "//"),
)
OPERATORS = ("", "++", "--", "=", "+=", "-=", "??", "??=", "||", "||=", "==", "!=", ">", "<=", "?")
CONTEXT = MacroContext(
    user="Bo",
    char="Aria",
    description="{{char}} {{pick::a::b}} {{setvar::seen::{{random::1::2}}}}",
    message_examples="<START>\n{{user}}: {{description}}",
    greeting="{{greeting}}",
    alternate_greetings=("{{greeting::1}}",),
    original="base {{original}}",
    dynamic={"extra": "{{extra}}"},
    chat=MacroChat(
        messages=(MacroMessage(text="{{lastMessage}}", is_user=True, send_date="x"),), id="chat"
    ),
    host=HostFacts(
        text_completion=True,
        instruct=InstructTexts(stop="{{user}}"),
        outlets={"a": "{{outlet::a}}"},
    ),
    variables=Variables(local={"x": "[1]", "y": {"k": 1}}, shared={"x": 1.5, "a": None}),
    now=datetime(2024, 3, 15, 14, 5, 9, tzinfo=UTC),
    dice=lambda purpose: len(purpose) % 10 / 10,
)
LIMITS = MacroLimits(steps=20_000, output_chars=20_000, depth_macros=12)


def _macro(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    name = st.sampled_from(NAMES) | st.sampled_from(("nope", "", "if", "else", "extra"))
    flags = st.sampled_from(("", "", "", "#", "/", "!", "?", "~", " ", "//", ">"))
    separator = st.sampled_from(("::", "::", ":", " ", ""))
    arguments = st.lists(st.tuples(separator, inner).map("".join), max_size=3).map("".join)
    plain = st.builds(lambda f, n, a: f"{{{{{f}{n}{a}}}}}", flags, name, arguments)
    scoped = st.builds(lambda n, a, i: f"{{{{{n}{a}}}}}{i}{{{{/{n}}}}}", name, arguments, inner)
    short = st.builds(
        lambda s, n, o, v: f"{{{{{s}{n}{o}{v}}}}}",
        st.sampled_from((".", "$")),
        st.sampled_from(("x", "y-", "new", "")),
        st.sampled_from(OPERATORS),
        inner,
    )
    return plain | scoped | short


texts = st.recursive(
    st.sampled_from(WORDS) | st.text(max_size=4),
    lambda inner: st.lists(_macro(inner) | inner, min_size=1, max_size=4).map("".join),
    max_leaves=12,
)


@pytest.mark.parametrize("profile", MacroProfile)
@given(text=texts)
@BUDGET
def test_a_text_of_macros_is_expanded_or_stays(profile: MacroProfile, text: str) -> None:
    chosen = MacroSettings(profile=profile, limits=LIMITS)
    found = expand_macros(text, CONTEXT, chosen)
    assert found == expand_macros(text, CONTEXT, chosen)
    assert_within_limits(text, found)
    if profile is MacroProfile.NEW:
        assert all(0 <= use.start_chars < use.end_chars <= len(text) for use in found.used)


def assert_within_limits(text: str, found: Expansion) -> None:
    """What is shown and kept is no more than what came in and what the limits allow."""
    # Card fields and stores of the context come in, too; each macro may repeat its own text.
    assert len(found.text) <= 4 * len(text) + LIMITS.output_chars
    assert isinstance(found.text, str)
    for store in (found.variables.local, found.variables.shared):
        assert isinstance(store, Mapping)
        assert len(json.dumps(dict(store))) <= 8 * LIMITS.output_chars
    assert all(one.code.startswith("MACRO_") and one.message for one in found.diagnostics)


PATTERN_PARTS = (
    *(
        "a",
        "b",
        ".",
        r"\w",
        r"\s",
        r"\b",
        "^",
        "$",
        "(a)",
        "(?<n>b)",
        "(?:a|aa)",
        r"\1",
        "|",
        "[^a]",
    ),
    *("*", "+", "?", "{2}", "{0,}", "(?=a)", "(?<!b)", "{{user}}", "{{.x}}", "(", "[", "🦊", "/"),
)
scripts = st.builds(
    RegexScript,
    name=st.just("s"),
    find_regex=st.builds(
        lambda parts, flags: f"/{''.join(parts)}/{flags}",
        st.lists(st.sampled_from(PATTERN_PARTS), max_size=6),
        st.sampled_from(("g", "gi", "", "gu", "gms", "x")),
    ),
    replace_string=st.lists(
        st.sampled_from(("$0", "$1", "$2", "$3", "$<n>", "{{match}}", "-")) | texts, max_size=3
    ).map("".join),
    trim_strings=st.lists(st.sampled_from(("a", "{{char}}", "")), max_size=2).map(tuple),
    placement=st.just((2,)),
    substitute_regex=st.sampled_from(SubstituteRegex),
)


@given(text=st.lists(st.sampled_from(("a", "b", "x", "🦊", "Bo", "{{user}}", " ")), max_size=12)
       .map("".join), listed=st.lists(scripts, min_size=1, max_size=3).map(tuple))  # fmt: skip
@BUDGET
def test_scripts_replace_or_leave_the_text(text: str, listed: tuple[RegexScript, ...]) -> None:
    chosen = ScriptSettings(
        macros=MacroSettings(limits=LIMITS), limits=ScriptLimits(output_chars=5_000)
    )
    call = ScriptCall(placement=2)
    done = apply_regex_scripts(text, ScriptLists(shared=listed), call, CONTEXT, chosen)
    assert done == apply_regex_scripts(text, ScriptLists(shared=listed), call, CONTEXT, chosen)
    assert len(done.runs) == (len(listed) if text else 0)
    assert len(done.text) <= max(len(text), 5_000)
    failed = {one.path for one in done.runs if one.outcome.failed}
    told = {one.path for one in done.diagnostics if one.code.startswith("REGEX_SCRIPT_")}
    assert failed == told
