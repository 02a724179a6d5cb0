import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tavern_format.js_regex import (
    MAX_NESTING,
    MAX_PATTERN_CHARS,
    InvalidPattern,
    JsRegexSource,
    NotRegex,
    Translation,
    Untranslatable,
    classify_key,
    classify_script,
    construct_regex,
    from_subject,
    parse_key_regex,
    parse_script_regex,
    to_subject,
    translate,
)

_CASES = Path(__file__).parent / "cases"


def _cases(name: str) -> list[Any]:
    cases: list[Any] = json.loads((_CASES / f"js_regex_{name}.json").read_text("utf-8"))["cases"]
    return cases


def _translated(pattern: str, flags: str = "") -> Translation:
    source = construct_regex(pattern, flags)
    assert isinstance(source, JsRegexSource)
    translation = translate(source)
    assert isinstance(translation, Translation)
    return translation


def _compiled(translation: Translation) -> "regex.Pattern[str]":
    flags = 0
    for name in translation.flags:
        flags |= getattr(regex, name)
    return regex.compile(translation.pattern, flags)


def _first_match(translation: Translation, text: str) -> list[list[int] | None] | None:
    """Spans in UTF-16 units of the match and each group, as JavaScript's exec gives them."""
    subject = to_subject(text, translation.subject)
    pattern = _compiled(translation)
    match = (pattern.match if translation.sticky else pattern.search)(subject, timeout=5)
    if match is None:
        return None

    def unit(index: int) -> int:
        return len(to_subject(subject[:index], "utf16"))

    return [
        None if match.start(i) < 0 else [unit(match.start(i)), unit(match.end(i))]
        for i in range(translation.group_count + 1)
    ]


def _without_empty(spans: list[list[int] | None] | None) -> list[list[int] | None] | None:
    """Empty text and no value are one: the documented difference of groups in repetitions."""
    if spans is None:
        return None
    groups = [None if span is None or span[0] == span[1] else span for span in spans[1:]]
    return [spans[0], *groups]


@pytest.mark.parametrize(
    "case", _cases("matches"), ids=lambda c: f"{c['topic']}:{c['pattern']!a}/{c['flags']}"
)
def test_a_translation_matches_what_javascript_matches(case: Mapping[str, Any]) -> None:
    translation = _translated(case["pattern"], case["flags"])
    results = [(text, _first_match(translation, text)) for text, _ in case["matches"]]
    assert [(text, _without_empty(spans)) for text, spans in results] == [
        (text, _without_empty(spans)) for text, spans in case["matches"]
    ]


@pytest.mark.parametrize(
    "case", _cases("verdicts"), ids=lambda c: f"{ascii(c['pattern'])[:60]}/{c['flags']}"
)
def test_a_pattern_is_accepted_exactly_when_javascript_accepts_it(case: Mapping[str, Any]) -> None:
    verdict = construct_regex(case["pattern"], case["flags"])
    shown = [verdict.source, verdict.flags] if isinstance(verdict, JsRegexSource) else None
    assert shown == case["expected"]


@pytest.mark.parametrize("case", _cases("texts"), ids=lambda c: ascii(c["text"]))
def test_keys_and_scripts_are_read_by_their_own_rules(case: Mapping[str, Any]) -> None:
    shown = [
        None if verdict is None else [verdict.source, verdict.flags]
        for verdict in (parse_key_regex(case["text"]), parse_script_regex(case["text"]))
    ]
    assert shown == [case["key"], case["script"]]


@pytest.mark.parametrize("case", _cases("keys"), ids=lambda c: c["id"])
def test_a_world_book_key_hits_as_it_does_in_sillytavern(case: Mapping[str, Any]) -> None:
    key = case["key"].strip()
    source = parse_key_regex(key)
    if source is None:
        hit = key.lower() in case["text"].lower()
    else:
        translation = translate(source)
        assert isinstance(translation, Translation)
        hit = _first_match(translation, case["text"]) is not None
    assert hit == case["hit"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("cat", "NO_SLASHES"),
        ("/", "NO_SLASHES"),
        ("/cat", "NO_SLASHES"),
        ("//", "EMPTY_BODY"),
        ("/a/x", "UNKNOWN_FLAGS"),
        ("/a/ii", "INVALID_FLAGS"),
        ("/a/b/", "INNER_SLASH"),
        ("/a[/]b/", "INNER_SLASH"),
        ("/(/", "UNTERMINATED_GROUP"),
        ("/a++/", "NOTHING_TO_REPEAT"),
    ],
)
def test_a_key_that_is_no_regex_says_why(text: str, code: str) -> None:
    verdict = classify_key(text)
    assert isinstance(verdict, NotRegex)
    assert verdict.code == code
    assert parse_key_regex(text) is None


@pytest.mark.parametrize(
    ("text", "code"), [("", "NO_TEXT"), ("\n\u2028", "NO_TEXT"), ("/a/x", "INVALID_FLAGS")]
)
def test_a_script_that_never_runs_says_why(text: str, code: str) -> None:
    verdict = classify_script(text)
    assert isinstance(verdict, NotRegex)
    assert verdict.code == code


@pytest.mark.parametrize(
    ("pattern", "flags", "code", "offset"),
    [
        ("a(b", "", "UNTERMINATED_GROUP", 1),
        ("ab)", "", "UNMATCHED_BRACKET", 2),
        ("(?P<n>a)", "", "INVALID_GROUP", 0),
        ("(?>a)", "", "INVALID_GROUP", 0),
        ("(?i)a", "", "INVALID_GROUP", 0),
        ("(?<n>a)|(?<n>b)", "", "DUPLICATE_GROUP_NAME", 8),
        ("(?<1>a)", "", "INVALID_GROUP_NAME", 3),
        ("(?<n>a)\\k<m>", "", "UNKNOWN_NAMED_REFERENCE", 7),
        ("\\k", "u", "INVALID_NAMED_REFERENCE", 0),
        ("ca++t", "", "NOTHING_TO_REPEAT", 3),
        ("(?<=a)*", "", "INVALID_QUANTIFIER", 6),
        ("a{2,1}", "", "QUANTIFIER_OUT_OF_ORDER", 1),
        ("a{", "u", "INCOMPLETE_QUANTIFIER", 1),
        ("a]", "u", "LONE_BRACKET", 1),
        ("[b-a]", "", "CLASS_RANGE_OUT_OF_ORDER", 2),
        ("[\\d-z]", "u", "INVALID_CLASS_RANGE", 3),
        ("[ab", "", "UNTERMINATED_CLASS", 0),
        ("a\\", "", "TRAILING_BACKSLASH", 1),
        ("\\-", "u", "INVALID_ESCAPE", 0),
        ("\\u{110000}", "u", "INVALID_UNICODE_ESCAPE", 0),
        ("\\01", "u", "INVALID_DECIMAL_ESCAPE", 0),
        ("[\\1]", "u", "INVALID_CLASS_ESCAPE", 1),
        ("\\p{Greek}", "u", "INVALID_PROPERTY", 2),
        ("()" * 65536, "", "TOO_MANY_GROUPS", 131070),
        ("a", "v", "INVALID_FLAGS", 0),
        # Offsets count code points, whichever units the pattern is read in.
        ("\U0001f409)", "", "UNMATCHED_BRACKET", 1),
        ("\U0001f409)", "u", "UNMATCHED_BRACKET", 1),
        ("\ud83d\udc09)", "", "UNMATCHED_BRACKET", 2),
        ("\ud83d\udc09)", "u", "UNMATCHED_BRACKET", 2),
    ],
)
def test_what_javascript_refuses_is_a_value_with_code_and_offset(
    pattern: str, flags: str, code: str, offset: int
) -> None:
    verdict = construct_regex(pattern, flags)
    assert isinstance(verdict, InvalidPattern)
    assert (verdict.code, verdict.offset) == (code, offset)


def test_translate_gives_the_same_refusal_for_a_source_made_by_hand() -> None:
    source = JsRegexSource(pattern="(", source="(", flags="")
    assert translate(source) == construct_regex("(")


@pytest.mark.parametrize(
    ("pattern", "flags", "code", "offset"),
    [
        ("a" * (MAX_PATTERN_CHARS + 1), "", "PATTERN_TOO_LONG", 0),
        ("b" + "(" * (MAX_NESTING + 1) + ")" * (MAX_NESTING + 1), "", "NESTING_TOO_DEEP", 41),
        ("a{2000000000}", "", "REPEATS_TOO_LARGE", 0),
        ("(?:(?:a{1000}){1000}){1000}", "", "REPEATS_TOO_LARGE", 0),
        ("(?:a|" * 20 + "b" + ")+" * 20, "", "REPEATS_TOO_LARGE", 0),
        ("a\\p{Lu}", "iu", "PROPERTY_IGNORING_CASE", 1),
        ("\\p{Changes_When_NFKC_Casefolded}", "u", "UNSUPPORTED_PROPERTY", 0),
    ],
)
def test_what_cannot_be_translated_is_a_value_with_code_and_offset(
    pattern: str, flags: str, code: str, offset: int
) -> None:
    source = construct_regex(pattern, flags)
    assert isinstance(source, JsRegexSource)
    verdict = translate(source)
    assert isinstance(verdict, Untranslatable)
    assert (verdict.code, verdict.offset) == (code, offset)


def test_limits_are_arguments() -> None:
    source = JsRegexSource(pattern="(a{3})", source="(a{3})")
    codes = [
        getattr(translate(source, **limit), "code", None)
        for limit in (
            {"max_pattern_chars": 5},
            {"max_nesting": 0},
            {"max_expansion_parts": 4},
            {"max_pattern_chars": 6, "max_nesting": 1, "max_expansion_parts": 5},
        )
    ]
    assert codes == ["PATTERN_TOO_LONG", "NESTING_TOO_DEEP", "REPEATS_TOO_LARGE", None]
    with pytest.raises(ValueError, match="max_nesting"):
        translate(source, max_nesting=MAX_NESTING + 1)


def test_a_translation_tells_all_a_caller_needs() -> None:
    assert _translated("(?<who>cat|d.g)s?", "giy") == Translation(
        pattern=r"((?i:cat)|[Dd][^\x0a\x0d\u2028-\u2029][Gg])[Ss]?",
        flags=("ASCII", "DOTALL", "VERSION0"),
        subject="utf16",
        sticky=True,
        global_=True,
        group_count=1,
        group_names=(("who", 1),),
    )


def test_a_reference_that_ignores_case_says_where_it_deviates() -> None:
    assert [deviation.code for deviation in _translated("(k)\\1", "i").deviations] == [
        "CASELESS_REFERENCE"
    ]
    assert _translated("(k)\\1").deviations == ()


def test_group_numbers_are_javascripts_even_with_helper_groups() -> None:
    translation = _translated("(?:(a)?)*(b)")
    match = _compiled(translation).search("aab")
    assert match is not None
    assert (translation.group_count, match[1], match[2]) == (2, "a", "b")


def test_every_printable_ascii_character_survives_escaped_and_in_classes() -> None:
    for code in range(0x20, 0x7F):
        char = chr(code)
        special = char in "^$\\.*+?()[]{}|/-"
        literal = f"\\{char}" if special else char
        for pattern in (literal, f"[{literal}]", f"[x{literal}y]", f"(?:{literal})+"):
            assert _compiled(_translated(pattern)).fullmatch(char), pattern


def test_subject_forms_split_and_join_surrogates() -> None:
    text = "a\U0001f409\ud83d b"
    split = "a\ud83d\udc09\ud83d b"
    assert to_subject(text, "utf16") == split
    assert to_subject(split, "code_points") == text
    assert from_subject(split) == text
    assert to_subject("plain", "utf16") == "plain"


_HOSTILE = {
    "nested groups": "(" * 100_000 + ")" * 100_000,
    "unclosed groups": "(" * 100_000,
    "nested repeats": "(?:a" * 20_000 + ")*" * 20_000,
    "nested lookaheads": "(?=" * 20_000 + ")" * 20_000,
    "unclosed classes": "[" * 100_000,
    "braces": "a{" * 100_000,
    "a long count": "a{" + "9" * 100_000 + "}",
    "a long open count": "a{" + "1" * 100_000,
    "a long reference": "\\" + "9" * 100_000,
    "a long code point": "\\u{" + "0" * 100_000 + "41}",
    "many references": "(?<a>b)" + "\\k<a>" * 30_000,
    "many alternatives": "|" * 30_000,
    "a long name": "(?<" + "a" * 100_000 + ">b)",
    "unclosed names": "(?<" * 50_000,
    "many wide classes": "[\\0-\\uffff]" * 300,
}


@pytest.mark.parametrize("pattern", _HOSTILE.values(), ids=_HOSTILE)
def test_hostile_patterns_are_judged_in_little_time(pattern: str) -> None:
    start = time.monotonic()
    for flags in ("", "iu"):
        source = construct_regex(pattern, flags)
        if isinstance(source, JsRegexSource):
            translate(source, max_pattern_chars=1_000_000)
    # Ten times what a slow machine needs; quadratic reading would take hours.
    assert time.monotonic() - start < 30


_PIECES = st.sampled_from(
    (
        *"/\\()[]{}^$.*+?|-,=!<>:abk19gimsuy \n\u2028\u212a\U0001f409\ud83d",
        *("(?:", "(?<a>", "\\k<a>", "(?=", "(?<!", "\\1", "\\u{61}", "\\ud83d", "\\p{L}"),
        *("\\cA", "{2,}", "{0,3}", "[^", "\\b"),
    )
)
_TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=())), st.lists(_PIECES, max_size=30).map("".join)
)


@settings(deadline=None)
@given(text=_TEXTS, flags=st.text("gimsuydv", max_size=4))
def test_no_text_raises_and_every_translation_compiles(text: str, flags: str) -> None:
    classify_key(text)
    classify_script(text)
    verdict = construct_regex(text, flags)
    assert isinstance(verdict, JsRegexSource | InvalidPattern)
    if isinstance(verdict, JsRegexSource):
        translation = translate(verdict)
        assert not isinstance(translation, InvalidPattern)
        if isinstance(translation, Translation):
            assert translation.pattern.isascii()
            assert _compiled(translation).groups >= translation.group_count


@settings(deadline=None)
@given(text=_TEXTS)
def test_a_source_shown_means_the_same_pattern(text: str) -> None:
    source = construct_regex(text)
    if isinstance(source, JsRegexSource):
        again = construct_regex(source.source)
        assert isinstance(again, JsRegexSource)
        assert again.source == source.source
