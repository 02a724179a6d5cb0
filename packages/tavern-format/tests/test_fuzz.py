"""Structured mutations of real shapes: no input may do more than raise a FormatError."""

import contextlib
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tavern_format import (
    BookSpelling,
    CharacterCard,
    Entry,
    FormatError,
    Parsed,
    WorldBook,
    convert_world_book,
    detect,
    dump_card,
    dump_card_charx,
    dump_card_png,
    dump_chat,
    dump_preset,
    dump_world_book,
    import_chat,
    parse_card,
    parse_chat,
    parse_preset,
    parse_regex_scripts,
    parse_resource,
    parse_world_book,
)
from tavern_format._entry_spellings import TEMPLATE
from tavern_format._json_text import load_leniently

pytestmark = pytest.mark.fuzz
BUDGET = settings(
    max_examples=int(os.environ.get("TAVERN_FUZZ_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

DATA = {
    "name": "Ada",
    "first_mes": "Hi",
    "tags": ["t"],
    "alternate_greetings": [],
    "assets": [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
    "extensions": {"depth_prompt": {"depth": 4}, "regex_scripts": [{"scriptName": "s"}]},
    "character_book": {"entries": [{"id": 0, "keys": ["k"], "extensions": {"depth": 1}}]},
}
SEEDS: dict[str, Any] = {
    "card": {"spec": "chara_card_v3", "spec_version": "3.0", "name": "Ada", "data": DATA},
    "v1": {"name": "Ada", "description": "", "creatorcomment": "c", "tags": "a, b"},
    "book": {"entries": {"0": {"uid": 0, **TEMPLATE, "characterFilter": {"names": ["a"]}}}},
    "risu": {"type": "risu", "data": [{"key": "a", "content": "c"}]},
    "preset": {
        "temperature": 1,
        "prompts": [{"identifier": "main", "content": "M"}],
        "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main"}]}],
    },
    "script": {"scriptName": "s", "findRegex": "/a/", "placement": [1]},
    "chat": {"user_name": "U", "chat_metadata": {}},
    "personas": {"personas": {"a": "A"}, "persona_descriptions": {"a": {"position": 0}}},
    "group": {"name": "G", "members": ["a"], "chat_id": "1"},
    "replies": {"version": 2, "qrList": [{"id": 1}]},
    "instruct": {"name": "I", "input_sequence": "", "output_sequence": ""},
}
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """Take a seed and put other values, or nothing, in some of its places."""
    document = json.loads(json.dumps(draw(st.sampled_from(list(SEEDS.values())))))
    for _ in range(draw(st.integers(0, 4))):
        node, key = draw(st.sampled_from(places(document)))
        if draw(st.booleans()):
            node[key] = draw(values)
        elif isinstance(node, dict):
            del node[key]
        else:
            node.insert(key, draw(values))
    return document


def places(document: Any) -> list[tuple[Any, Any]]:
    """List every (container, key) of a document."""
    found: list[tuple[Any, Any]] = [([document], 0)]
    pending = [document]
    while pending:
        node = pending.pop()
        if isinstance(node, dict | list):
            keys = node if isinstance(node, dict) else range(len(node))
            found.extend((node, key) for key in keys)
            pending.extend(node[key] for key in keys)
    return found


ROUND_TRIPS: list[tuple[Callable[[bytes], Parsed[Any]], Callable[[Any], bytes]]] = [
    (parse_card, dump_card),
    (parse_world_book, dump_world_book),
    (parse_preset, dump_preset),
]


@BUDGET
@given(mutated())
def test_whatever_is_accepted_is_written_back_as_it_was(document: Any) -> None:
    data = json.dumps(document).encode()
    for parse, dump in ROUND_TRIPS:
        try:
            value = parse(data).value
        except FormatError:
            continue
        written = load_leniently(dump(value))
        assert written == document
        assert json.dumps(written) == json.dumps(document)


@BUDGET
@given(mutated())
def test_any_document_is_parsed_or_refused_by_every_door(document: Any) -> None:
    data = json.dumps(document).encode()
    detect(data)
    for parse in (parse_resource, parse_chat, parse_regex_scripts):
        with contextlib.suppress(FormatError):
            parse(data)
    with contextlib.suppress(FormatError):
        for chat in import_chat(data, user_name="U", character_name="C").value:
            dump_chat(chat)


@BUDGET
@given(mutated())
def test_every_book_converts_both_ways_without_losing_an_entry(document: Any) -> None:
    try:
        book = parse_world_book(json.dumps(document).encode()).value
    except FormatError:
        return
    there = convert_world_book(book, BookSpelling.CHARACTER_BOOK, name="n")
    back = convert_world_book(there, BookSpelling.WORLD_INFO, name="n")
    assert len(back.entries) == len(there.entries) == len(book.entries)
    if book.spelling is BookSpelling.WORLD_INFO:
        for before, after in zip(book.entries, back.entries, strict=True):
            kept = {key: after.raw[key] for key in before.raw if key not in {"extensions", "uid"}}
            assert kept == {
                key: value for key, value in before.raw.items() if key not in {"extensions", "uid"}
            }


SMALL = CharacterCard(name="Ada", character_book=WorldBook(entries=[Entry(uid=0, keys=("k",))]))
CARRIERS = [
    dump_card_png(SMALL),
    dump_card_charx(SMALL, files={"a.txt": b"x" * 200}),
    dump_card(SMALL),
    b"name: Ada\ncontext: |\n  a\n  b\n",
    b'{"user_name":"U","chat_metadata":{}}\n{"name":"A","mes":"x","swipes":["x"]}',
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Take a file and cut it, overwrite bytes, or repeat a stretch of it."""
    data = bytearray(draw(st.sampled_from(CARRIERS)))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        how = draw(st.integers(0, 3))
        if how == 0:
            del data[at:]
        elif how == 1:
            data[at : at + 4] = draw(st.binary(min_size=4, max_size=4))
        elif how == 2:
            data[at:at] = data[at : at + draw(st.integers(0, 64))]
        else:
            del data[at : at + draw(st.integers(1, 16))]
    return bytes(data)


@BUDGET
@given(damaged() | st.binary(max_size=200))
@example(b"\x89PNG\r\n\x1a\n\x7f\xff\xff\xffIHDR")
@example(b"PK\x05\x06" + b"\xff" * 18)
@example(b"{" * 5000)
def test_damaged_files_are_parsed_or_refused(data: bytes) -> None:
    detect(data)
    try:
        _, parsed = parse_resource(data)
    except FormatError:
        return
    if isinstance(parsed.value, CharacterCard):
        files = parsed.value.files
        with contextlib.suppress(FormatError):
            dump_card_png(parsed.value)
        for path in files:
            with contextlib.suppress(FormatError):
                assert isinstance(files[path], bytes)
