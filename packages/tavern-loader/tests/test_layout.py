"""Columns, cutting and wrapping by terminal cells."""

import pytest

from tavern_loader.layout import clean, cut, table, width, wrap


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("", 0),
        ("cat", 3),
        ("猫", 2),
        ("ｶ", 1),
        ("\uff21", 2),
        ("e\u0301", 1),
        ("🦊", 2),
        ("a\u200bb", 2),
    ],
)
def test_width_is_counted_in_cells(text: str, cells: int) -> None:
    assert width(text) == cells


@pytest.mark.parametrize(
    ("text", "cells", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("猫猫", 4, "猫猫"),
        ("猫猫猫", 4, "猫…"),
        ("猫", 1, "…"),
        ("", 1, ""),
    ],
)
def test_cut_keeps_within_the_width(text: str, cells: int, expected: str) -> None:
    assert (cut(text, cells), width(cut(text, cells)) <= cells) == (expected, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", ["a b"]),
        ("one two three", ["one", "two", "three"]),
        ("一二三四五", ["一二", "三四", "五"]),
        ("ab 一二三", ["ab 一", "二三"]),
        ("abcdefghijk l", ["abcde", "fghij", "k l"]),
        ("  ", []),
    ],
)
def test_text_wraps_at_blanks_and_long_words_anywhere(text: str, expected: list[str]) -> None:
    assert list(wrap(text, 5)) == expected


def test_wide_character_in_a_narrow_column_ends() -> None:
    assert list(wrap("猫猫", 1)) == ["猫", "猫"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\tb", "a b"),
        ("\x1b[31mred\x07", "[31mred"),
        ("\u202eevil\u2066", "evil"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("half \ud83e", "half "),
    ],
)
def test_nothing_that_steers_a_terminal_is_left(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [("猫", "1", "long text here"), ("abc", "22", "x")]
    assert list(table(rows, 16, right=[1])) == ["猫    1  long t…", "abc  22  x"]


def test_table_without_rows_is_empty() -> None:
    assert list(table([], 10)) == []
