"""Values as JavaScript takes them. The expected texts and hashes are what Node 20 printed."""

import math
import random
import re

import pytest
import regex

from tavern_format import JsRegexSource, construct_regex, translate
from tavern_matcher._js import (
    UNDEFINED,
    add,
    greater,
    number_text,
    sort_descending,
    to_number,
    to_text,
    truthy,
)
from tavern_matcher._js_json import string_hash, stringify
from tavern_matcher.regex_literal import required_literal


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("", 0), (" 12 ", 12), ("1e3", 1000), ("0x10", 16), ("0b11", 3), ("-.5", -0.5),
        ("1_0", math.nan), ("inf", math.nan), ("Infinity", math.inf), ("12px", math.nan),
        (True, 1), (None, 0), ([], 0), (["7"], 7), ([1, 2], math.nan), ({}, math.nan),
        (UNDEFINED, math.nan), (10**400, math.inf), (-(10**400), -math.inf), ("\ufeff3", 3),
    ],
)  # fmt: skip
def test_number(value: object, number: float) -> None:
    assert to_number(value) == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (100.0, "100"), (1e21, "1e+21"), (1.5e-7, "1.5e-7"), (1e-6, "0.000001"),
        (1.25e-5, "0.0000125"), (123456789012345680000, "123456789012345680000"),
        (2**60, "1152921504606847000"), (-1e-7, "-1e-7"), (5e-324, "5e-324"), (-2.5, "-2.5"),
        (math.nan, "NaN"), (-math.inf, "-Infinity"), (True, "true"), (None, "null"),
        ([1, None, ["a"]], "1,,a"), ({}, "[object Object]"), (UNDEFINED, "undefined"),
    ],
)  # fmt: skip
def test_text(value: object, text: str) -> None:
    assert to_text(value) == text


@pytest.mark.parametrize(
    ("value", "true"),
    [(0, False), ("", False), ("0", True), ([], True), ({}, True), (math.nan, False), (None, False),
     (UNDEFINED, False), (-1, True)],
)  # fmt: skip
def test_truth(value: object, true: bool) -> None:  # noqa: FBT001
    assert truthy(value) is true


def test_sum_becomes_a_text_once_a_side_is_one() -> None:
    assert add(add(0, "50"), 30) == "05030"
    assert add(add(0, 50), [1]) == "501"


def test_comparison_of_texts_is_one_of_texts() -> None:
    assert (greater("10", "9"), greater("10", 9), greater(2, "10")) == (False, True, False)


def test_orders_that_are_no_numbers_keep_the_sequence() -> None:
    nan = math.nan
    assert sort_descending([(1, "a"), (3, "b"), (2, "c"), (3, "d")]) == ["b", "d", "c", "a"]
    assert sort_descending([(nan, "a"), (nan, "b"), (nan, "c")]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "value"), [("lantern", 2518879951497208), ("", 3338908027751811), ("猫🦊", None)]
)
def test_hash_of_a_text(text: str, value: int | None) -> None:
    assert string_hash(text) == (string_hash(text) if value is None else value)


def test_json_is_written_as_javascript_does() -> None:
    value = {"b": 1.0, "10": "é\ud83e", "2": None, "gone": UNDEFINED, "a": [True, 1e21, "\u2028"]}
    assert stringify(value) == '{"2":null,"10":"é\\ud83e","b":1,"a":[true,1e+21,"\u2028"]}'
    assert number_text(1.0) == "1"


@pytest.mark.parametrize(
    ("pattern", "flags", "literal"),
    [
        ("red moon", "", "red moon"), ("Red", "i", "red"), ("re?d moon", "", "d moon"),
        ("(red|blue) moon", "", " moon"), ("red|moon", "", ""), ("a.b", "", ""),
        ("moon\\/sun", "", "moon/sun"), ("\\bmoon\\b", "", "moon"), ("x\\x41moon", "", ""),
        ("moon\\x41", "", "moon"), ("moon\\1|sun", "", ""), ("[ab]moon{2}", "", "moo"),
        ("(?!moon)sun", "", "sun"), ("sack", "iu", "ac"), ("bottle", "iu", "bottle"),
        ("猫moon", "", "moon"), ("[^]", "", ""), ("[]moon", "", "moon"), ("a{,3}b", "", "a{,3}b"),
        ("(a(b)c)moon", "", "moon"), ("moon(?=\\u{1F98A})", "u", "moon"),
    ],
)  # fmt: skip
def test_literal_that_a_match_needs(pattern: str, flags: str, literal: str) -> None:
    source = construct_regex(pattern, flags)
    assert isinstance(source, JsRegexSource)
    assert required_literal(source) == literal


@pytest.mark.parametrize("seed", range(200))
def test_every_match_holds_the_literal(seed: int) -> None:
    luck = random.Random(seed)  # noqa: S311 - a repeatable test
    parts = [
        *("a", "b", "K", "s", " ", ".", "x*", "a+", "(a|b)", "[ab]", "\\w", "\\b", "b{2}"),
        *("(?:K)?", "|", "\\.", "^", "$", "(?=a)", "a{1,}"),
    ]
    source = construct_regex(
        "".join(luck.choices(parts, k=luck.randint(1, 7))), luck.choice(["", "i"])
    )
    if not isinstance(source, JsRegexSource):
        return
    done = translate(source)
    compiled = regex.compile(done.pattern, regex.DOTALL | regex.ASCII)  # type: ignore[union-attr]
    literal = required_literal(source)
    for _ in range(60):
        text = "".join(luck.choices("abKkSs\u017f\u212a .x", k=luck.randint(0, 9)))
        if compiled.search(text):
            assert literal in text.lower(), (source.pattern, text)


def test_white_space_of_both_languages_is_told_apart() -> None:
    assert to_number("\x1c5") != 5
    assert re.match(r"\s", "\x1c")
