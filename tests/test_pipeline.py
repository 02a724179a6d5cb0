"""Bytes of a card, a world book and a preset in; ordered parts and reasons out."""

import json

from tavern_compiler import (
    CallConfig,
    CompileInput,
    Part,
    PartSource,
    Relationship,
    SourceKind,
    User,
    compile_profile,
    lore_entries,
)
from tavern_format import parse_card, parse_chat, parse_preset, parse_world_book
from tavern_matcher import (
    BookSource,
    EntryId,
    KeyKind,
    KeyMatch,
    MatchProfile,
    MatchSettings,
    NamedBook,
    Reason,
    ScanContext,
    ScanMessage,
    compile_index,
    explain,
    match,
)

CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Aria",
        "description": "{{char}} keeps an inn.",
        "personality": "",
        "scenario": "",
        "first_mes": "Come in, {{user}}.",
        "mes_example": "",
        "creator_notes": "For trying.",
        "system_prompt": "{{original}} Be brief.",
        "post_history_instructions": "",
        "alternate_greetings": [],
        "tags": [],
        "creator": "",
        "character_version": "",
        "extensions": {},
        "character_book": {
            "extensions": {},
            "entries": [
                {
                    "id": 4,
                    "keys": ["ghost"],
                    "secondary_keys": ["attic", "cellar"],
                    "content": "The attic is locked.",
                    "enabled": True,
                    "insertion_order": 7,
                    "selective": True,
                    "extensions": {"position": 1, "selectiveLogic": 3},
                }
            ],
        },
    },
}
BOOK = {
    "entries": {
        "0": {"uid": 0, "key": ["ghost"], "content": "{{user}} hears steps.", "order": 50},
        "1": {"uid": 1, "key": [], "constant": True, "content": "It is winter.", "order": 10},
        "2": {"uid": 2, "key": ["summer"], "content": "Bees.", "disable": False},
    }
}
PRESET = {
    "temperature": 0.5,
    "openai_max_tokens": 300,
    "prompts": [
        {"identifier": "chatHistory", "name": "Chat", "marker": True, "system_prompt": True},
        {"identifier": "worldInfoBefore", "name": "Lore", "marker": True, "system_prompt": True},
        {"identifier": "main", "name": "Main", "role": "system", "content": "Play {{char}}."},
        {"identifier": "off", "name": "Off", "role": "system", "content": "Never."},
        {"identifier": "charDescription", "name": "Character", "marker": True},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [
                {"identifier": "main", "enabled": True},
                {"identifier": "worldInfoBefore", "enabled": True},
                {"identifier": "off", "enabled": False},
                {"identifier": "charDescription", "enabled": True},
                {"identifier": "chatHistory", "enabled": True},
            ],
        }
    ],
}
CHAT = (
    b'{"user_name": "Bo", "character_name": "Aria", "chat_metadata": {}}\n'
    b'{"name": "Bo", "is_user": true, "mes": "\xf0\x9f\xa6\x8a A ghost in the attic!"}\n'
)


def encode(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


card = parse_card(encode(CARD)).value
book = parse_world_book(encode(BOOK)).value
preset = parse_preset(encode(PRESET)).value
messages = tuple(
    ScanMessage(identity=f"chat/{number}", speaker=message.name, text=message.text)
    for number, message in enumerate(parse_chat(CHAT).value.messages)
)
assert card.character_book is not None
index = compile_index(
    [
        NamedBook(name="Inn", book=book),
        NamedBook(name="Own", book=card.character_book, source=BookSource.CHARACTER),
    ],
    MatchSettings(match_whole_words=True, profile=MatchProfile.SAFE),
)
result = match(index, ScanContext(messages=messages))
user = User(name="Bo", description="A courier.")
profile = compile_profile(
    CompileInput(preset=preset, character=card, user=user, lore=lore_entries(result.placement))
)


def test_parts_come_with_their_sources() -> None:
    assert profile.parts == (
        Part(
            name="pmp-dsh-tavern:part:0000:preset:prompts_2_content",
            text="Play Aria. Be brief.",
            sources=(
                PartSource(
                    kind=SourceKind.PRESET,
                    field="prompts/2/content",
                    text="Play {{char}}.",
                    relationship=Relationship.INPUT,
                    identifier="main",
                    role="system",
                ),
                PartSource(
                    kind=SourceKind.CHARACTER, field="systemPrompt", text="{{original}} Be brief."
                ),
            ),
        ),
        lore("0001", "It is winter.", "It is winter.", "1"),
        lore("0002", "Bo hears steps.", "{{user}} hears steps.", "0"),
        Part(
            name="pmp-dsh-tavern:part:0003:character:description",
            text="Aria keeps an inn.",
            sources=(
                PartSource(
                    kind=SourceKind.CHARACTER, field="description", text="{{char}} keeps an inn."
                ),
            ),
        ),
        Part(
            name="pmp-dsh-tavern:part:0004:user:description",
            text="A courier.",
            sources=(PartSource(kind=SourceKind.USER, field="description", text="A courier."),),
        ),
        Part(
            name="pmp-dsh-tavern:part:0005:character:greeting",
            text="Come in, Bo.",
            sources=(
                PartSource(kind=SourceKind.CHARACTER, field="greeting", text="Come in, {{user}}."),
            ),
        ),
    )
    assert profile.call_config == CallConfig(temperature=0.5, max_tokens=300)
    assert profile.active_lore == ("Inn:1", "Inn:0")


def lore(ordinal: str, text: str, written: str, uid: str) -> Part:
    source = PartSource(
        kind=SourceKind.WORLD_BOOK,
        field="content",
        text=written,
        resource_id="Inn",
        entry_id=uid,
        qualified_entry_id=f"Inn:{uid}",
    )
    return Part(
        name=f"pmp-dsh-tavern:part:{ordinal}:worldbook:content", text=text, sources=(source,)
    )


def test_every_entry_has_its_reason() -> None:
    assert [(one.entry, one.reason) for one in result.decisions] == [
        (EntryId(book="Own", index=0, uid=4), Reason.SECONDARY_KEYS_MISS),
        (EntryId(book="Inn", index=2, uid=2), Reason.PRIMARY_KEY_MISS),
        (EntryId(book="Inn", index=0, uid=0), Reason.PRIMARY_KEY_MATCH),
        (EntryId(book="Inn", index=1, uid=1), Reason.CONSTANT),
    ]
    assert [explain(one) for one in result.decisions] == [
        (
            "Entry 4 did not fire although its key “ghost” occurs in message chat/0 (characters"
            " 4-9) as a whole word: it wants all of the secondary keys (“attic” found; “cellar” not"
            " found)."
        ),
        "Entry 2 did not fire because its key “summer” does not occur in the newest message.",
        (
            "Entry 0 fired because its key “ghost” occurs in message chat/0 (characters 4-9) as a"
            " whole word."
        ),
        "Entry 1 fired because it is constant: it needs no key.",
    ]


def test_hit_is_found_again_in_the_chat() -> None:
    (hit,) = result.decisions[2].matches
    assert hit == KeyMatch(
        key="ghost",
        kind=KeyKind.WHOLE_WORD,
        place="chat/0",
        start_chars=4,
        end_chars=9,
        start_utf16=5,
        end_utf16=10,
    )
    assert messages[0].text[hit.start_chars : hit.end_chars] == "ghost"


def test_nothing_is_left_out_in_silence() -> None:
    found = [(one.code, one.path) for one in (*result.diagnostics, *profile.diagnostics)]
    assert found == [
        ("BUDGET_NOT_EXECUTED", "/settings/budget_percent"),
        ("USER_PERSONA_MARKER_FALLBACK", "/user/description"),
        ("CHARACTER_GREETING_REFERENCE", "/character/greeting"),
        ("CHARACTER_FIELDS_NEVER_SENT", "/character"),
    ]


def test_same_work_gives_the_same_values() -> None:
    again = match(index, ScanContext(messages=messages))
    assert again == result
    given = CompileInput(
        preset=preset, character=card, user=user, lore=lore_entries(again.placement)
    )
    assert compile_profile(given) == profile
