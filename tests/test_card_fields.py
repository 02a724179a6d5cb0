"""No field of a card is lost: it survives the file, and is sent, or named as not sent.

With `TAVERN_DATA` set to a folder, every card in it is tried, too: pictures and JSON.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tavern_compiler import (
    CompileInput,
    LoreEntry,
    Profile,
    ProjectionInput,
    User,
    compile_profile,
    lore_entries,
    project_messages,
)
from tavern_format import (
    CharacterCard,
    FormatError,
    dump_card,
    parse_card,
    parse_preset,
)
from tavern_matcher import NamedBook, ScanContext, compile_index, match

FOR_PROGRAMS = frozenset(
    {
        *("spec", "spec_version", "nickname", "source", "assets", "extensions/fav"),
        *("extensions/talkativeness", "extensions/world", "extensions/other", "name"),
        *(
            "creation_date",
            "modification_date",
            "character_book/name",
            "extensions/depth_prompt/role",
        ),
        *("character_book/description", "character_book/extensions", "unknown"),
    }
)
"""What no prompt is made of; a field's own inside counts, too."""
NAMED_AS = {
    "first_mes": "greeting",
    "alternate_greetings": "alternate_greetings",
    "extensions/regex_scripts": "regex_scripts",
}
"""How a diagnostic calls a field that the file calls otherwise."""


def full_card() -> dict[str, Any]:
    """Make a card with a text of its own in every place that can hold one."""
    entry = {
        "id": 1,
        "keys": ["W-key"],
        "secondary_keys": [],
        "content": "W-content",
        "constant": True,
        "enabled": True,
        "insertion_order": 10,
        "position": "before_char",
        "name": "W-name",
        "comment": "W-comment",
        "extensions": {"position": 0},
    }
    data = {
        name: f"T-{name}"
        for name in (
            *(
                "description",
                "personality",
                "scenario",
                "first_mes",
                "mes_example",
                "creator_notes",
            ),
            *("system_prompt", "post_history_instructions", "creator", "character_version"),
            *("nickname", "unknown"),
        )
    }
    script = {"scriptName": "T-script", "findRegex": "/T-find/", "replaceString": "T-replace",
              "placement": [2], "trimStrings": ["T-trim"]}  # fmt: skip
    return {
        "spec": "chara_card_v3",
        "spec_version": "3.0",
        "data": {
            "name": "T-name",
            **data,
            "alternate_greetings": ["T-other-1", "T-other-2"],
            "group_only_greetings": ["T-group"],
            "tags": ["T-tag"],
            "creator_notes_multilingual": {"de": "T-notes-de"},
            "source": ["T-source"],
            "assets": [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
            "creation_date": 1700000000,
            "modification_date": 1700000001,
            "character_book": {
                "name": "T-book",
                "description": "T-about-the-book",
                "extensions": {},
                "entries": [entry],
            },
            "extensions": {
                "talkativeness": "0.5",
                "fav": True,
                "world": "T-world",
                "depth_prompt": {"prompt": "T-note", "depth": 4, "role": "system"},
                "regex_scripts": [script],
                "other": {"deep": ["T-deep"]},
            },
        },
    }


def texts_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """List the texts of a document with their places, list places left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from texts_of(inner, f"{path}/{key}".removeprefix("/"))
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner, path)
    elif isinstance(value, str) and value.strip():
        yield path, value


def pieces_of(text: str) -> Iterator[str]:
    """Cut a text where macros stand in it: their results come in between."""
    for piece in re.split(r"\{\{.*?\}\}|<(?:USER|BOT|START)>", text, flags=re.IGNORECASE):
        yield piece.replace("\r", "").strip()


def compiled(card: CharacterCard) -> Profile:
    """Compile an opening with the card's own book, every entry of which is made constant."""
    lore: tuple[LoreEntry, ...] = ()
    if card.character_book is not None:
        index = compile_index([NamedBook(name="own", book=card.character_book)])
        lore = lore_entries(match(index, ScanContext(), dice=lambda _: 0.0).placement)
    return compile_profile(CompileInput(character=card, user=User(name="Bo"), lore=lore))


def unaccounted(card: CharacterCard, data: dict[str, Any]) -> list[str]:
    """List the fields whose text is in no part and that no diagnostic names."""
    profile = compiled(card)
    sent = "\n".join(part.text for part in profile.parts).replace("\r", "")
    told = "\n".join(f"{one.path} {one.message}" for one in profile.diagnostics)

    def is_told(path: str) -> bool:
        name = next((told_as for own, told_as in NAMED_AS.items() if path.startswith(own)), path)
        return name.split("/")[0] in told

    return [
        path
        for path, text in texts_of(data)
        if not all(piece in sent for piece in pieces_of(text))
        and not path.startswith(tuple(FOR_PROGRAMS))
        and not path.startswith("character_book/entries")
        and not is_told(path)
    ]


def test_every_field_is_sent_or_named() -> None:
    document = full_card()
    card = parse_card(json.dumps(document).encode()).value
    assert unaccounted(card, document["data"]) == []
    assert "W-content" in "\n".join(part.text for part in compiled(card).parts)


def test_every_field_survives_the_file() -> None:
    document = full_card()
    assert json.loads(dump_card(parse_card(json.dumps(document).encode()).value)) == document


def test_messages_hold_every_field_that_sillytavern_sends() -> None:
    document = full_card()
    document["data"]["mes_example"] = "T-name: T-mes_example"
    card = parse_card(json.dumps(document).encode()).value
    preset = parse_preset(b'{"prompts": [{"identifier": "main", "content": "M"}, {"identifier":'
                          b' "jailbreak", "content": "J"}], "prompt_order": []}').value  # fmt: skip
    done = project_messages(ProjectionInput(preset=preset, character=card), count_tokens=len)
    sent = "\n".join(one.content for one in done.messages)
    fields = ("description", "personality", "scenario", "mes_example", "system_prompt")
    assert [
        name for name in (*fields, "post_history_instructions") if f"T-{name}" not in sent
    ] == []
    assert "T-note" in sent


def cards_at_hand() -> list[Path]:
    folder = os.environ.get("TAVERN_DATA", "")
    kinds = {".png", ".json", ".charx"}
    return sorted(one for one in Path(folder).iterdir() if one.suffix in kinds) if folder else []


@pytest.mark.skipif(not cards_at_hand(), reason="TAVERN_DATA names no folder with cards")
def test_real_cards_lose_no_field() -> None:
    tried = 0
    for path in cards_at_hand():
        try:
            card = parse_card(path.read_bytes()).value
        except FormatError:
            continue  # another kind of file, such as a world book or a preset
        tried += 1
        assert json.loads(dump_card(card)) == card.raw, path.name
        assert unaccounted(card, dict(card.raw.get("data", card.raw))) == [], path.name
    assert tried > 0
