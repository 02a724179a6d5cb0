import json
from typing import Any

import attrs
import pytest

from tavern_format import (
    DEFAULT_LIMITS,
    ChatHeader,
    ChatLine,
    ChatMessage,
    FormatError,
    LimitExceededError,
    LineKind,
    dump_chat,
    header_from_json,
    import_chat,
    message_from_json,
    parse_chat,
    read_chat_lines,
)

HEADER = {"user_name": "U", "character_name": "Ada", "chat_metadata": {"note_prompt": ""}}
HELLO = {"name": "Ada", "is_user": False, "mes": "hello", "extra": {"model": "m"}, "odd": None}
SWIPES = {"name": "Ada", "mes": "b", "swipes": ["a", "b"], "swipe_id": 1, "swipe_info": [{}, {}]}


def lines(*documents: object) -> bytes:
    return b"\n".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in documents
    )


def codes(data: bytes) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in parse_chat(data).diagnostics]


def test_a_chat_is_read_into_header_and_messages() -> None:
    parsed = parse_chat(lines(HEADER, HELLO, SWIPES))
    assert parsed.diagnostics == ()
    chat = parsed.value
    assert chat.header == ChatHeader(
        user_name="U", character_name="Ada", metadata={"note_prompt": ""}
    )
    assert chat.messages == (
        ChatMessage(name="Ada", text="hello", extra={"model": "m"}),
        ChatMessage(name="Ada", text="b", swipes=("a", "b"), swipe_id=1, swipe_info=({}, {})),
    )


def test_an_unedited_chat_is_written_line_for_line() -> None:
    written = dump_chat(parse_chat(lines(HEADER, HELLO, SWIPES)).value)
    assert [json.loads(line) for line in written.split(b"\n")] == [HEADER, HELLO, SWIPES]


def test_an_edited_message_keeps_what_the_model_does_not_know() -> None:
    chat = parse_chat(lines(HEADER, HELLO)).value
    edited = attrs.evolve(chat, messages=(attrs.evolve(chat.messages[0], text="new"),))
    assert json.loads(dump_chat(edited).split(b"\n")[1]) == {**HELLO, "mes": "new"}


def test_lines_that_cannot_be_read_are_reported_kept_and_written_back() -> None:
    data = lines(HEADER, b"{bad", HELLO, b"0", b"[1]", b'"x"')
    parsed = parse_chat(data)
    assert [(found.code, found.path) for found in parsed.diagnostics] == [
        ("CHAT_LINE_UNREAD", "/1"),
        ("CHAT_LINE_UNREAD", "/3"),
        ("CHAT_LINE_UNREAD", "/4"),
        ("CHAT_LINE_UNREAD", "/5"),
    ]
    written = dump_chat(parsed.value).split(b"\n")
    assert [written[1], *written[3:]] == [b"{bad", b"0", b"[1]", b'"x"']


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n  \n"])
def test_line_endings_and_blank_lines_are_no_content(ending: bytes) -> None:
    data = ending.join([json.dumps(HEADER).encode(), json.dumps(HELLO).encode(), b""])
    assert len(parse_chat(data).value.messages) == 1
    assert codes(data) == []


def test_only_a_line_feed_ends_a_line() -> None:
    message = {"name": "A", "mes": "a\u2028b\x0bc\x85d\u2029"}
    data = json.dumps(HEADER).encode() + b"\n" + json.dumps(message, ensure_ascii=False).encode()
    assert parse_chat(data).value.messages[0].text == "a\u2028b\x0bc\x85d\u2029"


def test_a_chat_without_header_is_read_with_a_remark() -> None:
    parsed = parse_chat(lines(HELLO))
    assert parsed.value.header is None
    assert [(found.code, found.path) for found in parsed.diagnostics] == [
        ("CHAT_HEADER_MISSING", "/0")
    ]


def test_a_byte_order_mark_does_not_cost_the_header() -> None:
    parsed = parse_chat(b"\xef\xbb\xbf" + lines(HEADER, HELLO))
    assert parsed.value.header is not None
    assert [found.code for found in parsed.diagnostics] == ["BYTE_ORDER_MARK"]


def test_wrapped_texts_of_other_sites_are_unwrapped() -> None:
    chat = parse_chat(
        lines(HEADER, {"mes": {"message": "x"}, "swipes": [{"message": "x"}, "y", 5]})
    ).value
    assert (chat.messages[0].text, chat.messages[0].swipes) == ("x", ("x", "y", ""))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY_INPUT"),
        (b"\n \n", "EMPTY_INPUT"),
        (lines(None, HELLO), "CHAT_NOT_FOUND"),
        (lines([HEADER, HELLO]), "CHAT_NOT_FOUND"),
        (lines({"spec": "chara_card_v2", "name": "x", "data": {}}), "CHAT_NOT_FOUND"),
        (b"{bad\n{}", "JSON_SYNTAX"),
    ],
)
def test_what_is_no_chat_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(FormatError) as refused:
        parse_chat(data)
    assert refused.value.code == code


def test_a_chat_streams_from_any_iterable_of_lines() -> None:
    data = [json.dumps(line).encode() + b"\n" for line in (HEADER, HELLO)]
    found = list(read_chat_lines(iter([data[0], b"\n", data[1]]), lambda _: None))
    assert found == [
        ChatLine(0, LineKind.HEADER, HEADER),
        ChatLine(2, LineKind.MESSAGE, HELLO),
    ]
    assert header_from_json(found[0].value).user_name == "U"
    assert message_from_json(found[1].value).text == "hello"


def test_too_many_lines_are_refused_by_name() -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, chat_messages=1)
    with pytest.raises(LimitExceededError) as refused:
        parse_chat(lines(HEADER, HELLO), limits=limits)
    assert refused.value.limit == "chat_messages"


FOREIGN: list[tuple[dict[str, Any], list[tuple[bool, str, str]]]] = [
    (
        {"data_visible": [["u1", "c1"], ["", "c2"], ["u3", None]]},
        [(True, "U", "u1"), (False, "C", "c1"), (False, "C", "c2"), (True, "U", "u3")],
    ),
    (
        {"messages": [{"userId": "x", "msg": "u"}, {"msg": "c"}]},
        [(True, "U", "u"), (False, "C", "c")],
    ),
    (
        {
            "savedsettings": {"chatname": "Me", "chatopponent": "Bot||$||Other"},
            "prompt": "{{[INPUT]}}hi",
            "actions": ["{{[OUTPUT]}}yo", None],
        },
        [(True, "Me", "hi"), (False, "Bot", "yo")],
    ),
    (
        {"histories": {"histories": [{"msgs": [{"src": {"is_human": True}, "text": "u"}]}]}},
        [(True, "U", "u")],
    ),
    (
        {"type": "risuChat", "data": {"message": [{"role": "char", "data": "c"}]}},
        [(False, "C", "c")],
    ),
]


@pytest.mark.parametrize(("document", "expected"), FOREIGN)
def test_chats_of_other_applications_are_read(
    document: dict[str, Any], expected: list[tuple[bool, str, str]]
) -> None:
    data = json.dumps(document).encode()
    (chat,) = import_chat(data, user_name="U", character_name="C").value
    assert [(message.is_user, message.name, message.text) for message in chat.messages] == expected
    assert parse_chat(dump_chat(chat)).value.messages == chat.messages


def test_an_unknown_export_is_refused_with_a_hint() -> None:
    with pytest.raises(FormatError, match="data_visible"):
        import_chat(b'{"internal":[],"visible":[]}', user_name="U", character_name="C")


@pytest.mark.parametrize(("document", "expected"), FOREIGN)
def test_a_foreign_chat_is_bounded_as_the_file_it_becomes(
    document: dict[str, Any], expected: list[tuple[bool, str, str]]
) -> None:
    data, count = json.dumps(document).encode(), len(expected)
    limits = attrs.evolve(DEFAULT_LIMITS, chat_messages=count + 1)
    (chat,) = import_chat(data, user_name="U", character_name="C", limits=limits).value
    assert len(parse_chat(dump_chat(chat), limits=limits).value.messages) == count
    limits = attrs.evolve(DEFAULT_LIMITS, chat_messages=count)
    with pytest.raises(LimitExceededError) as refused:
        import_chat(data, user_name="U", character_name="C", limits=limits)
    assert (refused.value.limit, refused.value.actual) == ("chat_messages", count + 1)
