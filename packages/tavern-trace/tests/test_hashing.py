"""Sizes, hashes and JSON texts agree with what Node says of the same values."""

import json
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tavern_trace import Counts, TraceError, counts, digest, json_stringify

NODE: dict[str, Any] = json.loads((Path(__file__).parent / "cases" / "node.json").read_bytes())


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize("case", NODE["numbers"], ids=lambda case: str(case["number"]))
def test_number(case: dict[str, str]) -> None:
    number = float(case["number"].replace("Infinity", "inf"))
    assert json_stringify(number) == case["json"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (7, "7"),
        (-3, "-3"),
        (2**53 - 1, "9007199254740991"),
        (2**53 + 1, "9007199254740992"),
        (10**20, "100000000000000000000"),
        (10**21, "1e+21"),
        (-(10**400), "null"),
        (float("-inf"), "null"),
        (True, "true"),
    ],
)
def test_whole_number_is_a_double_too(number: float, expected: str) -> None:
    assert json_stringify(number) == expected


@pytest.mark.parametrize("case", NODE["texts"], ids=lambda case: str(case["units"]))
def test_text(case: dict[str, Any]) -> None:
    text = "".join(map(chr, case["units"]))
    size = Counts(chars=case["chars"], utf16=case["utf16"], utf8_bytes=case["utf8_bytes"])
    assert (json_stringify(text), counts(text), digest(text)) == (
        case["json"], size, case["sha256"],
    )  # fmt: skip


def test_pair_of_surrogates_is_the_character_it_stands_for() -> None:
    assert counts("\ud83e\udd8a") == counts("🦊")
    assert digest("\ud83e\udd8a") == digest("🦊")


@pytest.mark.parametrize("case", NODE["documents"], ids=lambda case: str(case["text"]))
def test_document(case: dict[str, str]) -> None:
    document = json.loads(case["text"])
    assert (json_stringify(document), digest(document)) == (case["json"], case["sha256"])


def test_tuples_and_other_mappings_are_arrays_and_objects() -> None:
    value = MappingProxyType({"a": (1, None, [Colour.RED])})
    assert json_stringify(value) == '{"a":[1,null,["red"]]}'


@pytest.mark.parametrize("value", [b"x", {1}, object(), [1j]])
def test_value_without_a_json_text_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="has no JSON text"):
        json_stringify(value)


def test_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="a key is int, not str"):
        json_stringify({1: 2})


def test_value_that_holds_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(TraceError) as caught:
        digest(value)
    assert caught.value.code == "VALUE_TOO_DEEP"
    assert str(caught.value) == "VALUE_TOO_DEEP: more than 10000 levels"


def test_deep_value_is_written() -> None:
    value: object = 1
    for _ in range(10_000):
        value = [value]
    assert json_stringify(value) == "[" * 10_000 + "1" + "]" * 10_000
