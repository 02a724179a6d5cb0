"""YAML cards: the core schema of YAML 1.2, and nothing else."""

from typing import Any

import attrs
import pytest

from tavern_format import (
    DEFAULT_LIMITS,
    Diagnostic,
    FormatError,
    LimitExceededError,
    MalformedResourceError,
    dump_card,
    parse_card,
)
from tavern_format._card_yaml import load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("012", 12),
        ("089", 89),
        ("-7", -7),
        ("+7", 7),
        ("0o17", 15),
        ("0xfF", 255),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("0b11", "0b11"),
        ("0o8", "0o8"),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5e3", -1500.0),
        ("1e2", 100.0),
        (".", "."),
        ("", None),
        ("~", None),
        ("NULL", None),
        ("nUll", "nUll"),
        ("True", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("=", "="),
        ("'012'", "012"),
        ('"true"', "true"),
        ("|\n  089", "089\n"),
        ("[1, [x], {y: ~}]", [1, ["x"], {"y": None}]),
    ],
)
def test_a_value_means_what_the_core_schema_says(text: str, value: Any) -> None:
    (found,) = load_yaml(f"a: {text}\n".encode(), DEFAULT_LIMITS).values()
    assert (found, type(found)) == (value, type(value))


def test_keys_are_spelled_as_javascript_spells_them() -> None:
    text = b"1.0: a\ntrue: b\n~: c\n<<: d\n? e\n: f\n"
    assert load_yaml(text, DEFAULT_LIMITS) == {"1": "a", "true": "b", "": "c", "<<": "d", "e": "f"}


@pytest.mark.parametrize(
    ("text", "code", "offset_bytes"),
    [
        (b"a: " + b"9" * 10_000, "YAML_NUMBER", 3),
        (b"a: 0x" + b"f" * 10_000, "YAML_NUMBER", 3),
        (b"a: 1e999", "YAML_NUMBER", 3),
        (b"a: -.inf", "YAML_NUMBER", 3),
        (b"a: .NaN", "YAML_NUMBER", 3),
        (b"a: !!int secret", "YAML_TAG", 3),
        (b"a: !!float secret", "YAML_TAG", 3),
        (b"a: !!binary c2VjcmV0", "YAML_TAG", 3),
        (b"a: !!set {secret}", "YAML_TAG", 3),
        (b"a: !!timestamp 2024-01-01", "YAML_TAG", 3),
        (b"a: !!str secret", "YAML_TAG", 3),
        (b"a: !secret x", "YAML_TAG", 3),
        (b"a: !<secret> x", "YAML_TAG", 3),
        (b"a: ! x", "YAML_TAG", 3),
        (b"!!map {a: b}", "YAML_TAG", 0),
        (b"? [secret]\n: a", "YAML_KEY", 2),
        (b"a: {b: 1, b: 2}", "YAML_KEY_REPEATED", 10),
        (b"1: a\n'1': b", "YAML_KEY_REPEATED", 5),
        (b"a: &secret x\nb: *secret", "YAML_ALIAS", 16),
        (b"a: !secret!x y", "YAML_SYNTAX", 3),
        (b"a: [secret", "YAML_SYNTAX", 10),
        (b"a: \x07secret", "YAML_SYNTAX", 3),
        (b'a: "\\UFFFFFFFF"', "YAML_SYNTAX", None),
        (b'a: "\\U00110000"', "YAML_SYNTAX", None),
        (b"%YAML " + b"1" * 5_000 + b".1\n---\na: b", "YAML_SYNTAX", None),
        (b"a: b\n---\nc: d", "YAML_SYNTAX", 9),
        (b"", "YAML_SHAPE", None),
        (b"- a", "YAML_SHAPE", None),
    ],
)
def test_what_is_no_card_is_refused_without_a_word_of_it(
    text: bytes, code: str, offset_bytes: int | None
) -> None:
    with pytest.raises(MalformedResourceError) as refused:
        load_yaml(text, DEFAULT_LIMITS)
    assert (refused.value.code, refused.value.offset_bytes) == (code, offset_bytes)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("limit", "text", "maximum"),
    [
        ("yaml_bytes", b"a: bcdefg", 8),
        ("string_chars", b"a: bcdefg", 5),
        ("json_depth_levels", b"a: [[b]]", 2),
    ],
)
def test_each_limit_names_itself(limit: str, text: bytes, maximum: int) -> None:
    with pytest.raises(LimitExceededError) as refused:
        load_yaml(text, attrs.evolve(DEFAULT_LIMITS, **{limit: maximum}))
    assert (refused.value.limit, refused.value.actual) == (limit, maximum + 1)


def test_a_large_text_is_refused_before_it_is_read() -> None:
    with pytest.raises(LimitExceededError) as refused:
        parse_card(b"name: x\ntexts:\n" + b"- a\n" * (1 << 20))
    assert refused.value.limit == "yaml_bytes"


def test_many_keys_and_deep_texts_are_read_in_bounded_time() -> None:
    many = b"".join(b"k%d: %d\n" % (at, at) for at in range(20_000))
    assert len(load_yaml(many, DEFAULT_LIMITS)) == 20_000
    with pytest.raises(FormatError) as refused:
        load_yaml(b"a: " + b"[" * (1 << 19), DEFAULT_LIMITS)
    assert refused.value.code == "LIMIT_EXCEEDED"


def test_bytes_that_are_not_utf8_are_remarked() -> None:
    found: list[Diagnostic] = []
    assert load_yaml(b"a: \xffb", DEFAULT_LIMITS, found.append) == {
        "a": "\N{REPLACEMENT CHARACTER}b"
    }
    assert [remark.code for remark in found] == ["ENCODING_REPLACED"]


def test_every_card_that_is_read_can_be_written() -> None:
    text = b'name: x\ncontext: 089\nother: 0x10\nnothing:\nhalf: "\\ud800"\n'
    assert b'"other":16' in dump_card(parse_card(text).value)
