"""Base64 as Node reads it."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavern_format._base64 import Base64Text, decode_node, encode, read_node

CASES: list[Any] = json.loads(
    (Path(__file__).parent / "cases" / "node_base64.json").read_text("utf-8")
)["cases"]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=range(len(CASES)))
def test_every_text_decodes_as_in_node(text: str, expected: str) -> None:
    assert decode_node(text).hex() == expected


@given(st.binary(max_size=200))
def test_what_is_encoded_decodes_to_itself_and_is_regular(data: bytes) -> None:
    assert encode(data) == b64encode(data)
    assert read_node(encode(data)) == Base64Text(data, irregular=False)


@pytest.mark.parametrize(
    ("text", "irregular"),
    [
        (b"QUJD", False),
        (b"QUJDRA", False),
        (b"QUJDRA=", False),
        (b"QQ===", False),
        (b" QU\r\nJD\t", False),
        (b"-_-_", False),
        (b"", False),
        (b"QU!JD", True),
        (b"QU\0JD", True),
        (b"QUJD=QUJD", True),
        (b"QUJDR", True),
        (b'{"name": "A"}', True),
    ],
)
def test_a_text_is_irregular_when_something_of_it_is_lost(text: bytes, irregular: bool) -> None:  # noqa: FBT001
    assert read_node(text).irregular is irregular


@given(st.binary(max_size=100))
def test_no_bytes_are_refused(data: bytes) -> None:
    assert isinstance(decode_node(data), bytes)


@given(st.text(max_size=50))
def test_no_text_is_refused(text: str) -> None:
    assert isinstance(decode_node(text), bytes)
