from typing import Any

import attrs
import pytest

from tavern_format import (
    DEFAULT_LIMITS,
    Diagnostic,
    LimitExceededError,
    MalformedResourceError,
)
from tavern_format._json_text import dump, load, with_javascript_numbers


def codes(data: bytes) -> list[tuple[str, str]]:
    found: list[Diagnostic] = []
    load(data, DEFAULT_LIMITS, found.append)
    return [(remark.code, remark.path) for remark in found]


@pytest.mark.parametrize(
    ("data", "code", "offset_bytes"),
    [
        (b"", "EMPTY_INPUT", 0),
        (b" \n ", "EMPTY_INPUT", 0),
        (b'{"a":1', "JSON_TRUNCATED", 6),
        (b'{"a":"x', "JSON_TRUNCATED", 5),
        ('{"é":"x\ny"}'.encode(), "JSON_SYNTAX", 8),
        (b'{"a" 1}', "JSON_SYNTAX", 5),
        (b"[1]x", "JSON_SYNTAX", 3),
        (b'{"NaN":1,"a":NaN}', "JSON_NUMBER", 13),
        (b'{"a":-Infinity}', "JSON_NUMBER", 5),
        (b'{"a":1e400}', "JSON_NUMBER", 5),
        (b'{"a":"9","b":' + b"9" * 5000 + b"}", "JSON_NUMBER", 13),
        (b"\xff\xfe{\x00}\x00", "ENCODING_NOT_UTF8", 0),
        (b"{\x00}\x00", "ENCODING_NOT_UTF8", 0),
    ],
)
def test_unusable_text_is_refused_with_code_and_place(
    data: bytes, code: str, offset_bytes: int
) -> None:
    with pytest.raises(MalformedResourceError) as refused:
        load(data, DEFAULT_LIMITS, lambda _: None)
    assert (refused.value.code, refused.value.offset_bytes) == (code, offset_bytes)


def test_odd_but_usable_text_is_read_with_a_diagnostic() -> None:
    assert codes(b"\xef\xbb\xbf[]") == [("BYTE_ORDER_MARK", "")]
    assert codes(b'["\xff"]') == [("ENCODING_REPLACED", "")]
    assert codes(b'{"a":[{"b/c":1,"b/c":2}],"d":{"e":1,"e":1}}') == [
        ("JSON_KEY_REPEATED", "/d/e"),
        ("JSON_KEY_REPEATED", "/a/0/b~1c"),
    ]


def test_the_last_of_repeated_keys_wins_in_the_place_of_the_first() -> None:
    document = load(b'{"a":1,"b":2,"a":3}', DEFAULT_LIMITS, lambda _: None)
    assert list(document.items()) == [("a", 3), ("b", 2)]


@pytest.mark.parametrize("levels", [513, 5_000, 100_000])
@pytest.mark.parametrize(("opener", "closer"), [("[", "]"), ('{"a":', "}")])
def test_nesting_over_the_limit_is_refused_by_name(levels: int, opener: str, closer: str) -> None:
    core = "1" if opener != "[" else ""
    with pytest.raises(LimitExceededError) as refused:
        load((opener * levels + core + closer * levels).encode(), DEFAULT_LIMITS, lambda _: None)
    fault = refused.value
    assert (fault.limit, fault.actual, fault.maximum, fault.unit) == (
        "json_depth_levels",
        levels,
        512,
        "levels",
    )


def test_nesting_at_the_limit_is_read_and_written() -> None:
    data = b"[" * 512 + b"]" * 512
    document = load(data, DEFAULT_LIMITS, lambda _: None)
    assert dump(document) == data
    assert dump(document, indent=4).replace(b" ", b"").replace(b"\n", b"") == data


def test_brackets_inside_strings_do_not_count_as_nesting() -> None:
    text = '"' + "[{" * 400 + r"\"[[[\\" + '"'
    data = f'{{"a":{text},"b":{text}}}'.encode()
    assert len(load(data, attrs.evolve(DEFAULT_LIMITS, json_depth_levels=2), lambda _: None)) == 2


@pytest.mark.parametrize(
    ("limits", "data", "limit"),
    [
        ({"json_bytes": 4}, b"[1,2]", "json_bytes"),
        ({"json_nodes": 3}, b'[1,2,3,"," ]', "json_nodes"),
        ({"string_chars": 3}, b'["abcd"]', "string_chars"),
        ({"string_chars": 3}, b'{"abcd":1}', "string_chars"),
    ],
)
def test_each_limit_names_itself(limits: dict[str, int], data: bytes, limit: str) -> None:
    with pytest.raises(LimitExceededError) as refused:
        load(data, attrs.evolve(DEFAULT_LIMITS, **limits), lambda _: None)
    assert refused.value.limit == limit


def test_commas_inside_strings_are_no_nodes() -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, json_nodes=3)
    assert load(b'["a,b,c,d,e","f,g"]', limits, lambda _: None) == ["a,b,c,d,e", "f,g"]


def test_lone_surrogates_survive_as_escapes_and_other_text_as_it_is() -> None:
    data = '{"a":"é\\ud800😀"}'.encode()
    assert dump(load(data, DEFAULT_LIMITS, lambda _: None)) == data


def test_whole_floats_are_written_as_javascript_writes_them() -> None:
    document: dict[str, Any] = {"a": [1.0, -0.0, 1.5, 1e22, True], "b": {"c": 2.0}}
    assert dump(with_javascript_numbers(document)) == b'{"a":[1,0,1.5,1e+22,true],"b":{"c":2}}'
    assert document["a"][0] == 1.0


def test_a_limit_must_be_a_positive_number() -> None:
    with pytest.raises(ValueError, match="json_bytes"):
        attrs.evolve(DEFAULT_LIMITS, json_bytes=0)
    with pytest.raises(TypeError):
        attrs.evolve(DEFAULT_LIMITS, json_bytes="1")  # type: ignore[arg-type]
