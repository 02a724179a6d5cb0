"""From bytes to SillyTavern's messages: what stands in the chat, and what scripts do to it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tavern_loader import (
    CompileRequest,
    InputError,
    MessageList,
    SourceFile,
    message_document,
    message_report,
    project_files,
    sample_request,
)
from tavern_loader.layout import width

NOW = datetime(2024, 12, 24, 18, 5, tzinfo=UTC)
FIELDS = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"),
    *("system_prompt", "post_history_instructions", "creator", "character_version"),
)
ORDER = ("main", "worldInfoBefore", "charDescription", "chatHistory")


def file(name: str, document: object) -> SourceFile:
    return SourceFile(name=name, data=json.dumps(document).encode())


def card(*scripts: dict[str, Any], **data: Any) -> SourceFile:
    empty = dict.fromkeys(FIELDS, "")
    more = {"tags": [], "alternate_greetings": [], "extensions": {"regex_scripts": list(scripts)}}
    own = {**empty, **more, "name": "Ada", **data}
    return file("ada.json", {"spec": "chara_card_v2", "spec_version": "2.0", "data": own})


def preset(*scripts: dict[str, Any], **settings: Any) -> SourceFile:
    document = {
        "openai_max_context": 1000,
        "openai_max_tokens": 0,
        "new_chat_prompt": "",
        "prompts": [{"identifier": "main", "system_prompt": True, "content": "M {{user}}"}],
        "prompt_order": [
            {
                "character_id": 100001,
                "order": [{"identifier": name, "enabled": True} for name in ORDER],
            }
        ],
        "extensions": {"regex_scripts": list(scripts)},
        **settings,
    }
    return file("preset.json", document)


def script(find: str, replace: str, *placement: int, **more: Any) -> dict[str, Any]:
    return {
        "scriptName": "s",
        "findRegex": find,
        "replaceString": replace,
        "placement": placement,
        "promptOnly": True,
        **more,
    }


def chat(*messages: tuple[str, bool, str], **metadata: Any) -> SourceFile:
    rows: list[dict[str, object]] = [
        {"user_name": "unused", "character_name": "unused", "chat_metadata": metadata}
    ]
    rows += [{"name": name, "is_user": user, "mes": text} for name, user, text in messages]
    return SourceFile(name="chat.jsonl", data="\n".join(map(json.dumps, rows)).encode())


def project(**given: Any) -> MessageList:
    base: dict[str, Any] = {"preset": preset(), "card": card(), "user_name": "Bo"}
    return project_files(CompileRequest(**{**base, **given}), count_tokens=len, now=NOW)


def shown(done: MessageList) -> list[str]:
    return [f"{one.role}: {one.content}" for one in done.projection.messages]


def codes(done: MessageList) -> list[str]:
    return [remark.diagnostic.code for remark in done.remarks]


def test_a_chat_without_messages_opens_with_the_greeting() -> None:
    opening = card(first_mes="Hi {{user}}, {{date}}.", description="D of {{char}}")
    done = project(card=opening, input_text="{{char}}?")
    assert shown(done) == [
        "system: M Bo",
        "system: D of Ada",
        "assistant: Hi Bo, December 24, 2024.",
        "user: Ada?",
    ]
    spoken = project(card=opening, chat=chat(("Bo", True, "x")))
    assert shown(spoken)[2:] == ["user: x"]


def test_metadata_of_the_chat_counts() -> None:
    said = chat(
        ("Ada", False, "1"),
        ("Bo", True, "{{getvar::n}}"),
        note_prompt="NOTE",
        note_depth=1,
        note_role=1,
        variables={"n": "5"},
        scenario="S",
        system_prompt="CARD {{original}}",
    )
    done = project(chat=said)
    assert shown(done) == [
        "system: CARD M Bo",
        "assistant: 1",
        "user: NOTE",
        "user: 5",
        "system: S",
    ]
    assert codes(done) == []


def test_odd_metadata_is_as_none() -> None:
    said = chat(
        ("Bo", True, "x"),
        note_prompt=5,
        note_depth="x",
        note_position=7,
        note_role=True,
        variables=[1],
        timedWorldInfo="x",
        chat_id_hash="y",
        scenario=None,
    )
    assert shown(project(chat=said)) == ["system: M Bo", "user: x"]


def test_a_chat_without_a_first_line_has_no_metadata() -> None:
    line = json.dumps({"name": "Bo", "is_user": True, "mes": "x", "send_date": "today"})
    bare = SourceFile(name="chat.jsonl", data=line.encode())
    assert shown(project(chat=bare)) == ["system: M Bo", "user: x"]


def test_scripts_of_card_and_preset_run_where_sillytavern_runs_them() -> None:
    scripts = (
        script("/^b/g", "B", 1),
        script("/lamp/", "LAMP", 1, promptOnly=False),
        script("/rain/", "snow", 5),
    )
    world = {"entries": {"0": {"uid": 0, "key": ["LAMP"], "content": "rain", "position": 0}}}
    given = {
        "card": card(*scripts),
        "preset": preset(script("/^a/", "b", 1)),
        "worlds": (file("W.json", world),),
        "input_text": "a lamp",
    }
    done = project(**given)
    assert shown(done) == ["system: M Bo", "system: snow", "user: B LAMP"]
    assert [(one.text_path, one.run.path) for one in done.projection.scripts] == [
        ("/chat/0/text", "/preset/regex_scripts/0"),
        ("/chat/0/text", "/character/regex_scripts/0"),
        ("/lore/W/0/content", "/character/regex_scripts/2"),
    ]
    assert codes(done).count("REGEX_SCRIPTS_OF_FILES") == 2
    off = project(**given, use_scripts=False)
    assert shown(off) == ["system: M Bo", "system: rain", "user: a lamp"]
    assert off.projection.scripts == ()


def test_what_is_scanned_is_what_scripts_left() -> None:
    world = {"entries": {"0": {"uid": 0, "key": ["hidden"], "content": "L", "position": 0}}}
    given = {"worlds": (file("W.json", world),), "chat": chat(("Bo", True, "a hidden word"))}
    assert "system: L" in shown(project(**given))
    hiding = card(script("/hidden/", "", 1))
    assert "system: L" not in shown(project(**given, card=hiding))


def test_what_has_no_room_is_listed_with_its_cost() -> None:
    small = preset(openai_max_context=20)
    done = project(preset=small, chat=chat(("Ada", False, "x" * 30), ("Bo", True, "y" * 9)))
    assert shown(done) == ["system: M Bo", "user: yyyyyyyyy"]
    assert (done.budget_tokens, codes(done)) == (20, ["HISTORY_MESSAGE_DROPPED"])
    report = message_report(done, 80, counted_with="a letter")
    assert "Messages: 2, about 13 of 20 tokens (a letter)" in report
    assert "Not sent: 1, about 30 tokens" in report


def test_without_a_preset_the_default_order_is_used_and_named() -> None:
    done = project(preset=None, card=card(description="D"), input_text="x")
    assert shown(done) == ["system: D", "system: [Start a new Chat]", "user: x"]
    assert codes(done) == ["PRESET_MISSING"]


def test_a_broken_file_is_refused() -> None:
    with pytest.raises(InputError, match="WRONG_KIND"):
        project(card=preset())


def test_equal_requests_give_equal_lists() -> None:
    rolling = card(description="{{roll 1d1000}} {{random::a::b::c}}", first_mes="{{roll 1d1000}}")
    first = project(card=rolling, input_text="{{roll 1d1000}}", seed="s")
    again = project(card=rolling, input_text="{{roll 1d1000}}", seed="s")
    other = project(card=rolling, input_text="{{roll 1d1000}}", seed="t")
    assert first.projection == again.projection
    assert shown(first) != shown(other)


@pytest.mark.parametrize("sample", ["ferry", "teahouse"])
@pytest.mark.parametrize("cells", [40, 100])
def test_the_report_keeps_to_its_width(sample: str, cells: int) -> None:
    done = project_files(sample_request(sample), count_tokens=len, now=NOW)
    report = message_report(done, cells, title=sample, counted_with="a letter")
    assert max(map(width, report.splitlines())) <= cells
    assert report.startswith(f"{sample}\n")


def test_lists_of_losses_and_scripts_keep_to_the_width() -> None:
    scripts = [script("/x/", "y", 1, 2, scriptName="a name that is long " * 3) for _ in range(3)]
    done = project(
        preset=preset(openai_max_context=30),
        card=card(*scripts),
        chat=chat(*[("Ada", False, "x" * 9)] * 9),
    )
    report = message_report(done, 40, counted_with="a letter")
    assert max(map(width, report.splitlines())) <= 40
    assert "HISTORY_MESSAG" in report
    assert "... and 7 more" in report


def test_the_document_holds_what_json_can_hold() -> None:
    done = project(card=card(script("/x/", "y", 1)), input_text="x {{setvar::a::1}}")
    document = json.loads(json.dumps(message_document(done, counted_with="a letter")))
    assert list(document) == [
        *("schema", "files", "messages", "dropped", "over_budget", "tokens", "scripts"),
        *("variables", "entries", "draws", "diagnostics"),
    ]
    assert document["messages"][-1] == {
        "role": "user",
        "content": "y ",
        "name": None,
        "identifier": "chatHistory-1",
        "tokens": 2,
        "size_chars": 2,
        "sources": [{"kind": "chat", "identifier": "0", "field": "0/text", "path": "/chat/0/text"}],
    }
    assert document["tokens"] == {"counted_with": "a letter", "budget": 1000, "messages": 6}
    assert document["variables"] == {"local": {"a": "1"}, "shared": {}}
    assert document["scripts"] == [
        {
            "text": "/chat/0/text",
            "script": "/character/regex_scripts/0",
            "origin": "character",
            "index": 0,
            "name": "s",
            "outcome": "replaced",
            "matches": 1,
            "drew": False,
        }
    ]
