import time

import pytest

from tavern_format import JsRegexSource, construct_regex
from tavern_matcher import BoundedPattern, RegexLimits, compile_bounded


def pattern(text: str, flags: str = "g", limits: RegexLimits | None = None) -> BoundedPattern:
    source = construct_regex(text, flags)
    assert isinstance(source, JsRegexSource)
    compiled = compile_bounded(source, limits)
    assert isinstance(compiled, BoundedPattern)
    return compiled


def finds(text: str, pattern_text: str, flags: str = "g") -> list[tuple[int, int]]:
    return [spans[0] for spans in pattern(pattern_text, flags).find_all(text).matches]


def test_without_the_flag_g_only_the_first_match_is_found() -> None:
    assert finds("banana", "a", "") == [(1, 2)]
    assert finds("banana", "a", "g") == [(1, 2), (3, 4), (5, 6)]
    assert finds("banana", "x", "") == []


@pytest.mark.parametrize(
    ("text", "of", "expected"),
    [
        ("axb", "x*", [(0, 0), (1, 2), (2, 2), (3, 3)]),
        ("aa", "|a", [(0, 0), (1, 1), (2, 2)]),
        ("aa", "a*?", [(0, 0), (1, 1), (2, 2)]),
        ("ab", "(?=b)|a", [(0, 1), (1, 1)]),
        ("", "x*", [(0, 0)]),
        ("ab\n", "$", [(3, 3)]),
    ],
)
def test_after_an_empty_match_the_search_goes_on_one_further(
    text: str, of: str, expected: list[tuple[int, int]]
) -> None:
    assert finds(text, of) == expected


def test_groups_stand_behind_the_match() -> None:
    found = pattern("(?<k>a)|(b)").find_all("ab")
    assert found.matches == (((0, 1), (0, 1), (-1, -1)), ((1, 2), (-1, -1), (1, 2)))


def test_what_takes_too_long_ends_with_what_was_found() -> None:
    started = time.process_time()
    text = f"x{'a' * 40}!" + "ab" * 20_000
    found = pattern("x|(?:a|aa)+$").find_all(text)
    assert time.process_time() - started < 2
    assert found.timed_out
    assert found.matches == (((0, 1),),)
    assert found.overtime_s == pytest.approx(RegexLimits().match_s, rel=0.5)


def test_little_time_is_charged_for_what_any_pattern_takes() -> None:
    tries = [pattern("a").find_all("ab" * 100) for _ in range(20)]
    assert {(plain.timed_out, len(plain.matches)) for plain in tries} == {(False, 100)}
    assert min(plain.overtime_s for plain in tries) < 0.001
    many = pattern(".").find_all("ab" * 30_000)
    assert (many.timed_out, len(many.matches)) == (False, 60_000)


def test_no_time_left_is_a_time_out_only_where_it_is_needed() -> None:
    # A busy machine can hold up any search: that one of many was in time is enough.
    tries = (pattern("a").find_all("aaa", time_left_s=0) for _ in range(100))
    assert not all(found.timed_out for found in tries)
    slow = pattern("(?:a|aa)+$").find_all("a" * 60 + "!", time_left_s=0)
    assert slow.timed_out
    assert slow.overtime_s < 0.001


def test_a_long_text_is_cut_at_line_ends_and_no_match_comes_of_a_cut() -> None:
    limits = RegexLimits(text_chars=100)
    text = "line of it\n" * 40
    found = pattern("^line.*$", "gm", limits).find_all(text)
    assert found.in_pieces
    assert [spans[0] for spans in found.matches] == [
        (at, at + 10) for at in range(0, len(text), 11)
    ]
    ends = pattern("$", "", limits).find_all(text)
    assert [spans[0] for spans in ends.matches] == [(len(text), len(text))]


def test_a_long_text_without_line_ends_is_cut_with_an_overlap() -> None:
    found = pattern("ab|$", "g", RegexLimits(text_chars=100)).find_all("ab" * 500)
    assert [spans[0] for spans in found.matches] == [
        *((at, at + 2) for at in range(0, 1000, 2)),
        (1000, 1000),
    ]


def test_a_sticky_pattern_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="one match at a time"):
        pattern("a", "gy").find_all("a")
