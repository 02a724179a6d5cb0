"""What we do where COMPATIBILITY.md says that we differ: one test for each of its rows."""

import json
import struct
import zlib
from typing import Any

import pytest

from tavern_format import (
    DEFAULT_LIMITS,
    BookSpelling,
    CardSpec,
    CharacterCard,
    Diagnostic,
    LimitExceededError,
    MalformedResourceError,
    Parsed,
    book_to_json,
    complete_prompts,
    convert_world_book,
    dump_card_png,
    dump_regex_scripts,
    parse_card,
    parse_preset,
    parse_regex_scripts,
    parse_world_book,
)
from tests.conformance._cases import chunk, png_of, text_chunk
from tests.conformance._png_reference import chunks


def codes(parsed: Parsed[Any]) -> list[str]:
    return [found.code for found in parsed.diagnostics]


def read_book(document: object) -> Any:
    return parse_world_book(json.dumps(document).encode()).value


def test_a_card_without_spec_is_read_by_its_shape() -> None:
    card = {"name": "Top", "data": {"name": "Ada", "description": "d", "first_mes": "hi"}}
    parsed = parse_card(json.dumps(card).encode())
    found = parsed.value
    assert (found.spec, found.name, found.greeting) == (CardSpec.V2, "Ada", "hi")
    assert "SPEC_MISSING" in codes(parsed)


def test_stale_card_texts_of_every_kind_are_removed() -> None:
    old = zlib.compress(b"old")
    picture = png_of(
        text_chunk(b"CHARA", b"old"),
        chunk(b"zTXt", b"chara\0\0" + old),
        chunk(b"iTXt", b"Ccv3\0\1\0\0\0" + old),
        text_chunk(b"Software", b"kept"),
    )
    written = chunks(dump_card_png(CharacterCard(name="Ada"), picture=picture))
    texts = [body.partition(b"\0")[0] for kind, body in written if kind.endswith(b"Xt")]
    assert texts == [b"Software", b"chara", b"ccv3"]


@pytest.mark.parametrize(
    "odd",
    [
        struct.pack(">I", 1) + b"prVt" + b"x" + b"\0\0\0\0",
        text_chunk(b"Comment", b"a\0b"),
    ],
    ids=["wrong checksum", "NUL"],
)
def test_an_odd_chunk_does_not_keep_a_card_from_being_written(odd: bytes) -> None:
    written = dump_card_png(CharacterCard(name="Ada"), picture=png_of(odd))
    assert odd in written
    assert parse_card(written).value.name == "Ada"


def test_forced_activation_becomes_constant() -> None:
    entry = {"text": "T", "keys": [], "enabled": True, "forceActivation": True}
    book = read_book({"lorebookVersion": 5, "entries": [entry]})
    converted = book_to_json(convert_world_book(book, BookSpelling.WORLD_INFO))
    assert [book.entries[0].constant, converted["entries"]["0"]["constant"]] == [True, True]


def test_empty_keys_are_dropped() -> None:
    entry = {"key": "a, b ,", "secondkey": ",", "insertorder": 1, "content": "T"}
    book = read_book({"type": "risu", "data": [entry]})
    converted = book_to_json(convert_world_book(book, BookSpelling.WORLD_INFO))["entries"]["0"]
    assert [converted["key"], converted["keysecondary"]] == [["a", "b"], []]


def test_nesting_beyond_the_limit_is_refused() -> None:
    levels = DEFAULT_LIMITS.json_depth_levels
    nested = b'{"entries":{"0":{"a":' + b"[" * levels + b"]" * levels + b"}}}"
    with pytest.raises(LimitExceededError) as caught:
        parse_world_book(nested)
    fault = caught.value
    assert (fault.limit, fault.actual, fault.maximum) == ("json_depth_levels", levels + 3, levels)


def test_a_script_without_a_name_is_read() -> None:
    script = {"scriptName": "", "findRegex": "/a/g", "replaceString": "b", "placement": [2]}
    parsed = parse_regex_scripts(json.dumps(script).encode())
    assert codes(parsed) == ["NAME_MISSING"]
    assert json.loads(dump_regex_scripts(parsed.value)) == script


def test_default_texts_are_the_callers() -> None:
    remarks: list[Diagnostic] = []
    contents = [
        {prompt["identifier"]: prompt.get("content") for prompt in done["prompts"]}["main"]
        for done in (
            complete_prompts({}, remarks.append),
            complete_prompts({}, remarks.append, default_texts={"main": "Play {{char}}."}),
        )
    ]
    assert contents == ["", "Play {{char}}."]


@pytest.mark.parametrize("document", ["[1]", '"x"', "7"])
def test_only_a_preset_is_read_as_one(document: str) -> None:
    with pytest.raises(MalformedResourceError, match="PRESET_SHAPE"):
        parse_preset(document.encode())


def test_book_settings_come_back_from_original_data() -> None:
    original = {"name": "Old", "extensions": {"x": 1}, "scan_depth": 3, "entries": []}
    book = read_book({"entries": {}, "originalData": original})
    back = book_to_json(convert_world_book(book, BookSpelling.CHARACTER_BOOK, name="New"))
    assert (back["extensions"], back["scan_depth"], back["entries"]) == ({"x": 1}, 3, [])
