import json

import attrs
import pytest

from tavern_format import (
    DEFAULT_LIMITS,
    CharacterCard,
    Container,
    FormatError,
    LimitExceededError,
    ResourceKind,
    detect,
    dump_card_charx,
    dump_card_png,
    parse_resource,
)

CARD = CharacterCard(name="x")


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"spec": "chara_card_v2", "data": {"name": "x"}}, ResourceKind.CHARACTER_CARD),
        ({"name": "x", "first_mes": ""}, ResourceKind.CHARACTER_CARD),
        ({"name": "x"}, ResourceKind.CHARACTER_CARD),
        ({"char_name": "x"}, ResourceKind.CHARACTER_CARD),
        ({"entries": {}}, ResourceKind.WORLD_BOOK),
        ({"spec": "lorebook_v3", "data": {"entries": []}}, ResourceKind.WORLD_BOOK),
        ({"kind": "memory", "entries": []}, ResourceKind.WORLD_BOOK),
        ({"type": "risu", "data": []}, ResourceKind.WORLD_BOOK),
        ({"lorebookVersion": 5, "entries": []}, ResourceKind.WORLD_BOOK),
        ({"name": "B", "description": "d", "entries": [{}]}, ResourceKind.WORLD_BOOK),
        ({"name": "B", "description": "d", "entries": {}}, ResourceKind.WORLD_BOOK),
        ({"name": "B", "scenario": "s", "entries": {}}, ResourceKind.WORLD_BOOK),
        (
            {"kind": "memory", "name": "B", "description": "d", "entries": []},
            ResourceKind.WORLD_BOOK,
        ),
        ({"name": "B", "description": "d", "type": "risu", "data": []}, ResourceKind.WORLD_BOOK),
        ({"data": {"description": "d", "entries": []}}, ResourceKind.WORLD_BOOK),
        (
            {"name": "C", "description": "d", "first_mes": "f", "content": "c"},
            ResourceKind.CHARACTER_CARD,
        ),
        ({"name": "C", "mes_example": "", "content": "c"}, ResourceKind.CHARACTER_CARD),
        ({"name": "C", "first_mes": "f", "entries": {}}, ResourceKind.CHARACTER_CARD),
        ({"name": "C", "description": "d"}, ResourceKind.CHARACTER_CARD),
        ({"name": "S", "content": "c", "post_history": ""}, ResourceKind.SYSTEM_PROMPT),
        ({"name": "P", "description": "d", "prompts": []}, ResourceKind.CHAT_COMPLETION_PRESET),
        ({"prompts": [], "temperature": 1}, ResourceKind.CHAT_COMPLETION_PRESET),
        ({"temperature": 1, "openai_max_tokens": 5}, ResourceKind.CHAT_COMPLETION_PRESET),
        ({"version": 1, "type": "full", "data": {"prompts": []}}, ResourceKind.PROMPT_EXPORT),
        ({"name": "", "input_sequence": "", "output_sequence": ""}, ResourceKind.INSTRUCT),
        (
            {"instruct": None, "context": {"name": "C", "story_string": ""}},
            ResourceKind.MASTER_PRESET,
        ),
        ({"scriptName": "s", "findRegex": "a"}, ResourceKind.REGEX_SCRIPTS),
        ([{"scriptName": "s"}], ResourceKind.REGEX_SCRIPTS),
        ({"user_name": "U", "character_name": "C", "chat_metadata": {}}, ResourceKind.CHAT),
        ({"messages": []}, ResourceKind.FOREIGN_CHAT),
        ({"personas": {}, "persona_descriptions": {}}, ResourceKind.PERSONAS),
        ({"version": 2, "name": "N", "qrList": []}, ResourceKind.QUICK_REPLIES),
        ({"name": "G", "members": [], "chat_id": "1"}, ResourceKind.GROUP),
        ({}, ResourceKind.UNKNOWN),
        ([], ResourceKind.UNKNOWN),
        ([{"entries": {}}], ResourceKind.UNKNOWN),
        (5, ResourceKind.UNKNOWN),
    ],
)
def test_the_kind_is_told_by_the_shape(document: object, kind: ResourceKind) -> None:
    found = detect(json.dumps(document).encode())
    assert (found.kind, found.container) == (kind, Container.TEXT)


@pytest.mark.parametrize(
    ("data", "kind", "container"),
    [
        (dump_card_png(CARD), ResourceKind.CHARACTER_CARD, Container.PNG),
        (dump_card_charx(CARD), ResourceKind.CHARACTER_CARD, Container.ZIP),
        (b"\xff\xd8\xff" + dump_card_charx(CARD), ResourceKind.CHARACTER_CARD, Container.PICTURE),
        (b"GIF89a", ResourceKind.UNKNOWN, Container.PICTURE),
        (b"name: Yam\ncontext: c\n", ResourceKind.CHARACTER_CARD, Container.TEXT),
        (b'{"user_name":"U","chat_metadata":{}}\n{"mes":"x"}', ResourceKind.CHAT, Container.TEXT),
        (b'{"name":"A","mes":"x"}\n{"mes":"x"}', ResourceKind.CHAT, Container.TEXT),
        (b"", ResourceKind.UNKNOWN, Container.TEXT),
        (b"\x00\x01", ResourceKind.UNKNOWN, Container.TEXT),
        (b"[" * 100_000, ResourceKind.UNKNOWN, Container.TEXT),
    ],
)
def test_the_container_is_told_by_the_bytes(
    data: bytes, kind: ResourceKind, container: Container
) -> None:
    found = detect(data)
    assert (found.kind, found.container) == (kind, container)


def test_any_known_file_is_parsed_through_one_door() -> None:
    found, parsed = parse_resource(b'{"entries":{"0":{"uid":0,"key":[]}}}')
    assert (found.kind, len(parsed.value.entries)) == (ResourceKind.WORLD_BOOK, 1)


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"hello", "JSON_SYNTAX"), (b'{"messages":[]}', "FOREIGN_CHAT"), (b"", "EMPTY_INPUT")],
)
def test_unknown_files_are_refused_with_a_reason(data: bytes, code: str) -> None:
    with pytest.raises(FormatError) as refused:
        parse_resource(data)
    assert refused.value.code == code


def test_oversized_input_is_refused_before_it_is_looked_at() -> None:
    with pytest.raises(LimitExceededError) as refused:
        detect(b"12345", limits=attrs.evolve(DEFAULT_LIMITS, input_bytes=4))
    assert refused.value.limit == "input_bytes"
