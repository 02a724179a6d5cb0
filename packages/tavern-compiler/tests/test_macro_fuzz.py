"""Random and hostile texts: nothing crashes, nothing hangs, and every run gives the same."""

import os
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tavern_compiler import (
    Expansion,
    MacroChat,
    MacroContext,
    MacroMessage,
    MacroProfile,
    MacroSettings,
    Variables,
    expand_macros,
)
from tavern_compiler._macro_lexer import tokenize
from tavern_compiler._macro_parser import _Parser, plain_names

_SHARE = int(os.environ.get("TAVERN_FUZZ_EXAMPLES", "100"))
TEXT_COUNTS = {
    MacroProfile.NEW: 200 * _SHARE,
    MacroProfile.LEGACY: 40 * _SHARE,
    MacroProfile.DSH_TAVERN: 40 * _SHARE,
}
PIECES = (
    *(
        "{{",
        "}}",
        "{",
        "}",
        "::",
        ":",
        "|",
        ".",
        "$",
        "!",
        "?",
        "#",
        "/",
        "~",
        ">",
        "//",
        " ",
        "\n",
    ),
    *(
        "\n",
        "\\{",
        "\\",
        "=",
        "==",
        "+=",
        "-=",
        "++",
        "--",
        "??=",
        "||",
        "!=",
        ">=",
        '"',
        ",",
        "x",
        "y-",
    ),
    *("龙", "🦊", "0", "-1", "1e3", "off", "[1,2]", '{"k":1}', "<USER>", "{{time_UTC+2}}"),
    *("{{user}}", "{{else}}", "{{if x}}", "{{/if}}", "{{if !.x}}", "{{trim}}", "{{/", "{{#", "{{."),
    *("{{.x = ", "{{//", "{{///}}", "{{}}", "{{random::", "{{pick:", "{{roll ", "{{setvar::x::"),
    *(
        "{{getvar::",
        "{{addvar::x::",
        "{{incvar::x}}",
        "{{setvarkey::x::",
        "{{reverse:",
        "{{unknown",
    ),
    *(
        "{{unknown",
        "{{description}}",
        "{{timeDiff::",
        "{{datetimeformat ",
        "{{space::",
        "{{/random}}",
        "{{$x",
    ),
)
CONTEXT = MacroContext(
    user="Bo",
    char="Aria",
    description="{{char}} {{pick::a::b}} {{random::c::d}} {{setvar::seen::1}}",
    original="base",
    chat=MacroChat(messages=(MacroMessage(text="Hi.", is_user=True),), id="chat"),
    variables=Variables(local={"x": "[1]"}, shared={"x": 1.5}),
    now=datetime(2024, 3, 15, 14, 5, 9, tzinfo=UTC),
    dice=lambda purpose: len(purpose) % 10 / 10,
)


def texts(count: int) -> Iterator[str]:
    chance = random.Random(7)  # noqa: S311 - the same texts on every run
    for _ in range(count):
        yield "".join(chance.choices(PIECES, k=chance.randint(1, 16)))


@pytest.mark.parametrize("profile", MacroProfile)
def test_random_texts_neither_crash_nor_differ(profile: MacroProfile) -> None:
    settings = MacroSettings(profile=profile)
    for text in texts(TEXT_COUNTS[profile]):
        first = expand_macros(text, CONTEXT, settings)
        assert first == expand_macros(text, CONTEXT, settings), text
        if profile is MacroProfile.NEW:
            assert places_are_right(text, first), text


def places_are_right(text: str, found: Expansion) -> bool:
    """Spans are within the text, and begin where a macro can begin."""
    return all(
        0 <= use.start_chars < use.end_chars <= len(text) and text[use.start_chars] in "{<"
        for use in found.used
    )


HOSTILE = {
    "openings": "{{" * 100_000,
    "closings": "}}" * 100_000,
    "deep": "{{a::" * 20_000 + "}}" * 20_000,
    "deep lists": "{{random::" * 20_000 + "}}" * 20_000,
    "deep values": "{{.x = " * 20_000 + "}}" * 20_000,
    "unclosed": "{{user::a " * 20_000,
    "tags": "{{if x}}" * 20_000,
    "closed tags": "{{if x}}" * 10_000 + "{{/if}}" * 10_000,
    "tags that do not fit": "{{user}}" * 5_000 + "{{/user}}" * 5_000,
    "trims": "\n" * 100_000 + "{{trim}}" * 10_000,
    "line breaks": "\r\n" * 100_000 + "{{x}}",
    "escapes": "\\{" * 100_000,
    "old forms": "<USER>" * 20_000,
    "rolls": "{{roll 999999999d6}}" * 10,
    "many dice": "{{roll 1000d6}}" * 1000,
    "blanks": "{{space::999999999}}" * 10,
    "digits": f"{{{{space::{'9' * 50_000}}}}}",
    "gaps": "{{setvarkey::x::4000000000::1}}" * 10,
    "doubling": "{{setvar::d::ab}}" + "{{setvar::d::{{getvar::d}}{{getvar::d}}}}" * 60 + "{{.d}}",
    "appending": "{{addvar::s::abc}}" * 20_000,
    "pushing": "{{setvar::l::[]}}" + "{{addvar::l::abc}}" * 20_000,
    "nested JSON": "{{setvar::j::" + "[" * 50_000 + "}}{{getvarkey::j::0}}{{incvar::j}}",
    "time differences": "{{timeDiff::" * 20_000,
    "separators": "{{timeDiff::" + "::" * 50_000 + "\n}}",
    "reversals": "{{reverse:" * 20_000,
    "rolls without an end": "{{roll " * 20_000 + "}",
    "variables without an end": "{{setvar::a" * 20_000,
    "comments": "{{//" * 20_000,
    "banned": '{{banned "' * 20_000,
    "operators": "{{.x" + "++" * 50_000 + "}}",
    "picks": "🦊{{pick::a::b}}" * 3_000,
    "wrong variables": "{{.x y::" * 10_000,
}


@pytest.mark.parametrize("profile", MacroProfile)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_long_or_becomes_large(name: str, profile: MacroProfile) -> None:
    started = time.process_time()
    found = expand_macros(HOSTILE[name], CONTEXT, MacroSettings(profile=profile))
    assert time.process_time() - started < 10
    assert len(found.text) <= len(HOSTILE[name]) + 8 * 1024 * 1024


def test_short_way_to_readplain_names_gives_what_the_reader_gives() -> None:
    read_shortly = 0
    for text in texts(20_000):
        shortly = plain_names(text)
        if shortly is not None:
            read_shortly += "{{" in text
            tokens = tokenize(text)
            assert shortly == (_Parser(text, tokens).parse(), len(tokens)), text
    assert read_shortly > 200
