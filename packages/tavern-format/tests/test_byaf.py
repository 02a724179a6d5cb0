"""BYAF archives and their chats."""

import json
import zipfile
from copy import deepcopy
from io import BytesIO
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavern_format import (
    LimitExceededError,
    byaf_chats,
    dump_card_charx,
    dump_card_png,
    parse_card,
    parse_chat,
)
from tavern_format._byaf_chat import chat_of_scenario
from tavern_format._byaf_values import rewrite_macros
from tavern_format.byaf import Byaf, ByafImage, read_byaf
from tavern_format.diagnostics import Diagnostic
from tavern_format.errors import CarrierError, FormatError
from tavern_format.limits import DEFAULT_LIMITS
from tavern_format.png_chunks import empty_png, strip_card_chunks

CASES: list[Any] = json.loads(
    (Path(__file__).parent / "cases" / "byaf_cards.json").read_text("utf-8")
)["cases"]
MANIFEST = {"characters": ["characters/a/character.json"], "scenarios": ["s/1.json", "s/2.json"]}
CHARACTER = {"name": "Bea", "images": [{"path": "images/i.png", "label": "L"}]}
FILES: dict[str, Any] = {
    "manifest.json": MANIFEST,
    "characters/a/character.json": CHARACTER,
    "characters/a/images/i.png": b"pixels",
    "s/1.json": {"narrative": "one", "backgroundImage": "bg.png"},
    "s/2.json": {"narrative": "two", "backgroundImage": "none.png"},
    "bg.png": b"background",
}


def archive(files: dict[str, Any]) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w") as opened:
        for name, content in files.items():
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            opened.writestr(name, body)
    return target.getvalue()


def read(files: dict[str, Any]) -> tuple[Byaf, list[str]]:
    found: list[Diagnostic] = []
    opened = read_byaf(archive(files), DEFAULT_LIMITS, found.append)
    return opened, codes_of(found)


def codes_of(found: list[Diagnostic]) -> list[str]:
    return [remark.code for remark in found]


def changed(**replaced: Any) -> dict[str, Any]:
    """Replace documents: manifest, character, first (scenario)."""
    paths = {
        "manifest": "manifest.json",
        "character": "characters/a/character.json",
        "first": "s/1.json",
        "second": "s/2.json",
    }
    return {**deepcopy(FILES), **{paths[key]: value for key, value in replaced.items()}}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_the_card_and_the_chats_are_sillytaverns(case: dict[str, Any]) -> None:
    opened, _ = read(case["files"])
    card = dict(opened.card)
    date = card.pop("create_date")
    assert date == "2025-01-01T00:00:00Z"
    assert json.dumps(card) == json.dumps(case["card"])
    scenarios: Any = opened.scenarios or ({},)
    chats = [
        chat_of_scenario(
            scenario, user_name="User", character_name=card["data"]["name"], start_date=date
        )
        for scenario in scenarios
    ]
    assert [[json.loads(line) for line in chat.split(b"\n")] for chat in chats] == case["chats"]


def test_pictures_backgrounds_and_all_files_are_offered() -> None:
    opened, codes = read(FILES)
    assert opened.images == (ByafImage(path="characters/a/images/i.png", label="L"),)
    assert opened.backgrounds == ("bg.png", None)
    assert opened.files["bg.png"] == b"background"
    assert list(opened.files) == list(FILES)
    assert codes == []
    assert "create_date" not in opened.card


def test_first_messages_of_other_scenarios_become_greetings_once_each() -> None:
    messages = ("own {user}", "own {user}", "second", "second", "", "third {character}")
    files = {
        "manifest.json": {**MANIFEST, "scenarios": [f"s/{n}.json" for n in range(len(messages))]},
        "characters/a/character.json": CHARACTER,
        **{
            f"s/{n}.json": {"firstMessages": [{"text": message}, {"text": "never"}]}
            for n, message in enumerate(messages)
        },
    }
    data = read(files)[0].card["data"]
    assert data["first_mes"] == "own {{user}}"
    assert data["alternate_greetings"] == ["second", "third {{char}}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{user} and {character}", "{{user}} and {{char}}"),
        ("#{User}: hi\n#{CHARACTER}: hi", "{{user}}: hi\n{{char}}: hi"),
        ("{{user}} {{char}} {{character}}", "{{user}} {{char}} {{character}}"),
        ("#{user} {user}}", "#{{user}} {user}}"),
        ("{u\u017fer}", "{u\u017fer}"),
        (None, ""),
        (0, ""),
        (7, "7"),
        (1.0, "1"),
        (10**30, str(10**30)),
        (True, "true"),
        (["a", None, ["b"]], "a,,b"),
        ({}, "[object Object]"),
    ],
)
def test_macros_are_rewritten(text: object, expected: str) -> None:
    assert rewrite_macros(text) == expected


def test_unknown_fields_are_kept_in_the_extensions() -> None:
    files = changed(
        manifest={**MANIFEST, "generator": {"name": "x"}},
        character={**CHARACTER, "displayName": "Bea D", "voice": 1},
        second={"narrative": "two", "mood": "calm"},
    )
    assert read(files)[0].card["data"]["extensions"] == {
        "display_name": "Bea D",
        "tavern_format": {
            "byaf": {
                "manifest": {"generator": {"name": "x"}},
                "character": {"voice": 1},
                "scenarios": [{}, {"mood": "calm"}],
            }
        },
    }


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ({"name": "Bea", "displayName": "D"}, "Bea"),
        ({"name": "", "displayName": "D"}, "D"),
        ({"displayName": ""}, ""),
    ],
)
def test_the_display_name_stands_in_for_a_missing_name(
    character: dict[str, Any], name: str
) -> None:
    assert read(changed(character=character))[0].card["data"]["name"] == name


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"a": 1}, "BYAF_NO_MANIFEST"),
        (changed(manifest=[]), "BYAF_MANIFEST"),
        (changed(manifest=None), "BYAF_MANIFEST"),
        (changed(manifest={"characters": {}}), "BYAF_MANIFEST"),
        (changed(manifest={"characters": []}), "BYAF_CHARACTER"),
        (changed(manifest={"characters": [None]}), "BYAF_CHARACTER"),
        (changed(manifest={"characters": ["../a.json"]}), "BYAF_CHARACTER"),
        (changed(manifest={"characters": ["missing.json"]}), "BYAF_CHARACTER"),
        (changed(character=None), "BYAF_CHARACTER"),
        (changed(character=b"{"), "JSON_TRUNCATED"),
        (changed(manifest=b"nothing"), "JSON_SYNTAX"),
    ],
)
def test_an_archive_without_a_character_is_refused(files: dict[str, Any], code: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(files)
    assert caught.value.code == code


def test_what_is_no_archive_is_refused() -> None:
    with pytest.raises(CarrierError) as caught:
        read_byaf(b"hello", DEFAULT_LIMITS, lambda _: None)
    assert caught.value.code == "ZIP_SIGNATURE"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (changed(first=b"{"), "BYAF_SCENARIO"),
        (changed(first=[]), "BYAF_SCENARIO"),
        (changed(manifest={**MANIFEST, "scenarios": ["s/2.json", "no.json"]}), "BYAF_SCENARIO"),
        (changed(character={**CHARACTER, "images": [None]}), "BYAF_IMAGE"),
        (
            changed(manifest={**MANIFEST, "characters": MANIFEST["characters"] * 2}),
            "BYAF_CHARACTERS",
        ),
        ({f"wrapper/{name}": content for name, content in FILES.items()}, "BYAF_PATH"),
    ],
)
def test_what_can_be_passed_over_is_remarked(files: dict[str, Any], code: str) -> None:
    opened, codes = read(files)
    assert opened.card["data"]["name"] == "Bea"
    assert set(codes) == {code}


def test_a_scenario_that_cannot_be_read_leaves_the_next_one_first() -> None:
    opened, _ = read(changed(first=b"{"))
    assert opened.card["data"]["scenario"] == "two"


def test_remarks_on_a_document_inside_name_it() -> None:
    found: list[Diagnostic] = []
    files = changed(first=b'{"narrative": "a", "narrative": "b"}')
    read_byaf(archive(files), DEFAULT_LIMITS, found.append)
    assert [(remark.code, remark.path) for remark in found] == [
        ("JSON_KEY_REPEATED", "/s~11.json/narrative")
    ]


def chat(scenario: dict[str, Any], **options: Any) -> list[Any]:
    text = chat_of_scenario(scenario, user_name="U", character_name="C", **options)
    return [json.loads(line) for line in text.split(b"\n")][1:]


def ai(*outputs: tuple[str, Any]) -> dict[str, Any]:
    told = [{"text": text, "createdAt": "5", "activeTimestamp": active} for text, active in outputs]
    return {"type": "ai", "outputs": told}


HUMAN = {"type": "human", "text": "h", "createdAt": 3}


def test_equal_numbers_of_messages_are_interleaved() -> None:
    messages = [HUMAN, {**HUMAN, "text": "i"}, ai(("a", "")), ai(("b", ""))]
    assert [line["mes"] for line in chat({"messages": messages})] == ["h", "a", "i", "b"]
    assert [line["mes"] for line in chat({"messages": messages[1:]})] == ["i", "a", "b"]


@pytest.mark.parametrize(
    ("outputs", "chosen"),
    [
        ((("a", "2025-01-02T00:00:00Z"), ("b", "2025-01-01T00:00:00Z")), 0),
        ((("a", "2025-01-01T00:00:00Z"), ("b", "2025-01-02T00:00:00+05:00")), 1),
        ((("a", "2025-01-01"), ("b", "2025-01-01T00:00:00Z")), 0),
        ((("a", "2025-01-01"), ("b", "never")), 1),
        ((("a", 5), ("b", 4)), 0),
        ((("a", 10**400), ("b", 4)), 1),
    ],
)
def test_the_output_chosen_last_is_the_message(outputs: Any, chosen: int) -> None:
    (line,) = chat({"messages": [ai(*outputs)]})
    assert line == {
        "name": "C",
        "is_user": False,
        "send_date": 5,
        "mes": outputs[chosen][0],
        "swipes": ["a", "b"],
        "swipe_id": chosen,
    }


def test_the_greeting_is_dated_by_the_first_message_or_by_the_caller() -> None:
    greeting = {"firstMessages": [{"text": "Hi {user}"}]}
    line = {"name": "C", "is_user": False, "mes": "Hi {user}"}
    assert chat(greeting) == [line]
    assert chat(greeting, start_date="now") == [{**line, "send_date": "now"}]
    dated = chat({**greeting, "messages": [ai(), HUMAN]}, start_date="now")
    assert dated == [
        {**line, "send_date": 3},
        {"name": "U", "is_user": True, "send_date": 3, "mes": "h"},
    ]


def test_a_background_is_named_and_escaped() -> None:
    text = chat_of_scenario(
        {}, user_name="U", character_name="C", background_name='Bea "ü" (bg) 1%'
    )
    metadata = json.loads(text)["chat_metadata"]
    assert metadata["chat_backgrounds"] == ['Bea "ü" (bg) 1%']
    assert metadata["custom_background"] == 'url("Bea%20%22%C3%BC%22%20(bg)%201%25")'


def test_every_scenario_becomes_a_chat_with_its_background() -> None:
    first = {
        "title": "One",
        "firstMessages": [{"text": "Hi"}],
        "messages": [HUMAN],
        "backgroundImage": "bg.png",
    }
    data = archive(changed(first=first))
    chats = byaf_chats(data, user_name="U").value
    assert [(chat.title, chat.background) for chat in chats] == [("One", "bg.png"), ("", None)]
    parsed = parse_chat(chats[0].content).value
    assert [(message.name, message.text) for message in parsed.messages] == [
        ("Bea", "Hi"),
        ("U", "h"),
    ]
    assert parsed.header is not None
    assert b'"chat_backgrounds":["bg.png"]' in chats[0].content
    named = byaf_chats(data, user_name="U", character_name="Other").value
    assert parse_chat(named[0].content).value.messages[0].name == "Other"
    limits = attrs.evolve(DEFAULT_LIMITS, chat_messages=2)
    with pytest.raises(LimitExceededError) as refused:
        byaf_chats(data, user_name="U", limits=limits)
    assert (refused.value.limit, refused.value.actual) == ("chat_messages", 3)


def test_the_first_picture_of_the_character_shows_the_card_in_every_carrier() -> None:
    images = [{"path": "images/i.png"}, {"path": "images/J.JPG", "label": "happy"}]
    files = changed(character={"name": "Bea", "images": images})
    png = empty_png()
    files["characters/a/images/i.png"] = png
    card = parse_card(archive({**files, "characters/a/images/J.JPG": b"more"})).value
    assert card.picture == png
    assert strip_card_chunks(dump_card_png(card)) == strip_card_chunks(png)
    again = parse_card(dump_card_charx(card)).value
    assert [asset.name for asset in again.assets] == ["main"]
    assert again.files["assets/icon/image/main.png"] == png
    assert again.files["characters/a/images/J.JPG"] == b"more"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def documents(*fields: str) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(fields, JSON)) | JSON


MESSAGES = st.lists(
    documents("type", "text", "createdAt", "outputs")
    | st.fixed_dictionaries(
        {
            "type": st.just("ai"),
            "outputs": st.lists(documents("text", "activeTimestamp", "createdAt"), max_size=3),
        }
    ),
    max_size=4,
)


@pytest.mark.fuzz
@given(
    documents("name", "displayName", "persona", "loreItems", "images", "isNSFW"),
    documents("narrative", "firstMessages", "exampleMessages", "backgroundImage", "messages")
    | st.fixed_dictionaries({"messages": MESSAGES, "topK": JSON}),
    JSON,
)
def test_no_shape_of_the_documents_raises_anything_but_format_errors(
    character: Any, scenario: Any, author: Any
) -> None:
    manifest = {**MANIFEST, "author": author}
    try:
        opened, _ = read(changed(manifest=manifest, character=character, first=scenario))
    except FormatError:
        return
    assert json.loads(json.dumps(opened.card)) == opened.card
    for each in opened.scenarios:
        chat_of_scenario(each, user_name="U", character_name="C")
