import json
from typing import Any

import attrs
import pytest

from tavern_compiler import (
    CompilerError,
    ProjectionInput,
    PromptSnapshot,
    SnapshotEntry,
    SnapshotMessage,
    dump_prompt_snapshot,
    parse_prompt_snapshot,
    project_messages,
    snapshot_of,
    snapshot_parts,
)
from tavern_format import ChatMessage, Position, Preset
from tavern_matcher import Activated, Decision, EntryId, Placement, Reason

DOCUMENT: dict[str, Any] = {
    "contextPolicy": {"initialChatHistoryMessages": 4, "other": 1},
    "chatCompletionPayload": {
        "messages": [
            {"role": "system", "content": "Rain falls.", "cache": True},
            {"role": "user", "content": "Hi.", "name": "Bo"},
        ],
        "model": "m",
        "temperature": 0.5,
    },
    "worldInfoActivation": {
        "timestampMs": 5,
        "trigger": "normal",
        "entries": [
            {
                "world": "w",
                "uid": 3,
                "displayName": "Rain",
                "constant": True,
                "content": "Rain falls.",
                "position": "before",
                "extra": [1],
            }
        ],
    },
    "unknown": {"a": [None]},
}


def parse(document: object) -> PromptSnapshot:
    return parse_prompt_snapshot(json.dumps(document).encode()).value


def edited(**payload: object) -> dict[str, Any]:
    return {
        **DOCUMENT,
        "chatCompletionPayload": {**DOCUMENT["chatCompletionPayload"], **payload},
    }


def test_a_snapshot_is_read_into_messages_and_entries() -> None:
    parsed = parse_prompt_snapshot(json.dumps(DOCUMENT).encode())
    assert parsed.diagnostics == ()
    assert parsed.value == PromptSnapshot(
        messages=(
            SnapshotMessage(role="system", content="Rain falls."),
            SnapshotMessage(role="user", content="Hi.", name="Bo"),
        ),
        entries=(
            SnapshotEntry(
                world="w",
                uid=3,
                title="Rain",
                constant=True,
                content="Rain falls.",
                position="before",
            ),
        ),
        trigger="normal",
        timestamp_ms=5,
        initial_history_messages=4,
        model="m",
    )


def test_what_was_read_is_written_as_it_was() -> None:
    assert json.loads(dump_prompt_snapshot(parse(DOCUMENT))) == DOCUMENT


def test_an_edit_changes_its_own_place_only() -> None:
    snapshot = parse(DOCUMENT)
    first = attrs.evolve(snapshot.messages[0], content="Snow falls.")
    written = dump_prompt_snapshot(attrs.evolve(snapshot, messages=(first,)))
    changed = [{"role": "system", "content": "Snow falls.", "cache": True}]
    assert json.loads(written) == edited(messages=changed)


def test_parts_are_the_messages_with_the_lore_that_stands_in_them() -> None:
    parts = snapshot_parts(parse(DOCUMENT))
    assert [(part.text, part.provenance) for part in parts] == [
        ("Rain falls.", "prompt-snapshot"),
        ("Hi.", "prompt-snapshot"),
    ]
    sources = [[(one.field, one.role, one.qualified_entry_id) for one in part.sources]
               for part in parts]  # fmt: skip
    assert sources == [
        [("messages/0/content", "system", None), ("content", None, "w:3")],
        [("messages/1/content", "user", None)],
    ]


def test_a_projection_is_written_in_the_same_shape() -> None:
    entry = EntryId(book="w", index=0, uid=3)
    lore = Placement(before=(Activated(entry=entry, content="Rain.", position=Position.BEFORE),))
    decision = Decision(entry=entry, title="Rain", reason=Reason.CONSTANT)
    said = ChatMessage(name="User", is_user=True, text="Hi.")
    given = ProjectionInput(preset=Preset(new_chat_prompt=""), chat=(said,), lore=lore)
    done = project_messages(given, count_tokens=len)
    snapshot = snapshot_of(done, lore, [decision], model="m")
    assert json.loads(dump_prompt_snapshot(snapshot)) == {
        "chatCompletionPayload": {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Rain."},
                {"role": "user", "content": "Hi."},
            ],
        },
        "contextPolicy": {"initialChatHistoryMessages": -1},
        "worldInfoActivation": {
            "trigger": "normal",
            "entries": [
                {
                    "world": "w",
                    "uid": 3,
                    "displayName": "Rain",
                    "constant": True,
                    "content": "Rain.",
                    "position": "before",
                }
            ],
        },
    }
    again = parse_prompt_snapshot(dump_prompt_snapshot(snapshot))
    assert (again.value, again.diagnostics) == (snapshot, ())


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"messages": []}, "SNAPSHOT_NO_MESSAGES"),
        ({"messages": "x"}, "SNAPSHOT_NO_MESSAGES"),
        ({"tools": []}, "SNAPSHOT_TOOLS"),
        ({"tool_choice": "auto"}, "SNAPSHOT_TOOLS"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "SNAPSHOT_TOOLS"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "SNAPSHOT_TOOLS"),
        ({"stream": True}, "SNAPSHOT_STREAM"),
    ],
)
def test_what_a_run_refuses_is_refused(payload: dict[str, Any], code: str) -> None:
    with pytest.raises(CompilerError) as caught:
        parse(edited(**payload))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{", "SNAPSHOT_JSON"),
        (b"\xff\xfe", "SNAPSHOT_JSON"),
        (b'{"a": NaN}', "SNAPSHOT_JSON"),
        (b"[" * 100_000, "SNAPSHOT_JSON"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "SNAPSHOT_JSON"),
        (b"[1]", "SNAPSHOT_SHAPE"),
        (b"{}", "SNAPSHOT_NO_MESSAGES"),
    ],
    ids=["cut", "utf-16", "nan", "open", "deep", "array", "empty"],
)
def test_unusable_bytes_are_refused_with_a_code(data: bytes, code: str) -> None:
    with pytest.raises(CompilerError) as caught:
        parse_prompt_snapshot(data)
    assert caught.value.code == code


def test_odd_values_are_reported_and_kept() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    document = edited(messages=[{"role": "user", "content": parts}, 7], model=None)
    parsed = parse_prompt_snapshot(json.dumps(document).encode())
    assert [one.content for one in parsed.value.messages] == ["a\nb"]
    assert [(one.code, one.path) for one in parsed.diagnostics] == [
        ("SNAPSHOT_VALUE", "/chatCompletionPayload/messages/1"),
        ("SNAPSHOT_VALUE", "/chatCompletionPayload/messages/0/content/1"),
        ("SNAPSHOT_NO_MODEL", "/chatCompletionPayload/model"),
    ]
    written = json.loads(dump_prompt_snapshot(parsed.value))
    assert written["chatCompletionPayload"]["messages"] == [{"role": "user", "content": parts}]
