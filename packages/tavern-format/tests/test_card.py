import io
import json
import zipfile
from typing import Any

import attrs
import pytest

from tavern_format import (
    Asset,
    BookSpelling,
    CardCarrier,
    CardSpec,
    CarrierError,
    CharacterCard,
    DepthPrompt,
    Entry,
    FormatError,
    MalformedResourceError,
    RegexScript,
    UnsupportedVersionError,
    WorldBook,
    card_picture,
    card_to_json,
    dump_card,
    dump_card_charx,
    dump_card_png,
    parse_card,
)
from tavern_format.png_chunks import strip_card_chunks

V1: dict[str, Any] = {
    "name": "Ada",
    "description": "D",
    "personality": "P",
    "scenario": "S",
    "first_mes": "Hi",
    "mes_example": "<START>",
}
DATA: dict[str, Any] = {
    **V1,
    "creator_notes": "cn",
    "system_prompt": "sp",
    "post_history_instructions": "phi",
    "alternate_greetings": ["g1"],
    "tags": ["t"],
    "creator": "c",
    "character_version": "1",
    "extensions": {
        "talkativeness": "0.3",
        "fav": True,
        "world": "W",
        "depth_prompt": {"prompt": "dp", "depth": 2, "role": "user"},
        "regex_scripts": [{"scriptName": "s", "findRegex": "/a/", "placement": [2]}],
        "foreign": {"kept": None},
    },
    "unknown": 1,
}
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": DATA, "extra": []}
V3 = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        **DATA,
        "nickname": "A",
        "group_only_greetings": [],
        "assets": [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
        "source": ["urn:x"],
        "creator_notes_multilingual": {"de": "x"},
        "creation_date": 5,
    },
}


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


def codes(data: bytes) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in parse_card(data).diagnostics]


def test_a_v3_card_is_read_into_named_fields() -> None:
    parsed = parse_card(encoded(V3))
    assert parsed.diagnostics == ()
    assert parsed.value == CharacterCard(
        name="Ada",
        description="D",
        personality="P",
        scenario="S",
        greeting="Hi",
        message_examples="<START>",
        creator_notes="cn",
        system_prompt="sp",
        post_history_instructions="phi",
        alternate_greetings=("g1",),
        tags=("t",),
        creator="c",
        character_version="1",
        nickname="A",
        creator_notes_multilingual={"de": "x"},
        source=("urn:x",),
        creation_date=5,
        assets=(Asset(type="icon", uri="ccdefault:", name="main", ext="png"),),
        talkativeness=0.3,
        favorite=True,
        world="W",
        depth_prompt=DepthPrompt(prompt="dp", depth=2, role="user"),
        regex_scripts=(RegexScript(name="s", find_regex="/a/", placement=(2,)),),
        extensions=DATA["extensions"],
        spec=CardSpec.V3,
        spec_version="3.0",
    )


@pytest.mark.parametrize("document", [V1, V2, V3, {"char_name": "P", "char_greeting": "g"}])
def test_an_unedited_card_is_written_as_it_was(document: dict[str, Any]) -> None:
    assert (
        dump_card(parse_card(encoded(document)).value)
        == json.dumps(document, separators=(",", ":")).encode()
    )


def test_an_edit_shows_in_data_and_in_every_mirror() -> None:
    document = {**V2, **V1, "creatorcomment": "cn", "tags": ["t"], "fav": True}
    card = parse_card(encoded(document)).value
    edited = attrs.evolve(card, greeting="New", creator_notes="other", tags=("u",), favorite=False)
    after = json.loads(dump_card(edited))
    assert (after["first_mes"], after["data"]["first_mes"]) == ("New", "New")
    assert (after["creatorcomment"], after["data"]["creator_notes"]) == ("other", "other")
    assert (after["tags"], after["fav"], after["data"]["extensions"]["fav"]) == (
        ["u"],
        False,
        False,
    )
    assert after["data"]["extensions"]["foreign"] == {"kept": None}
    assert list(after) == list(document)


def test_a_v1_edit_that_v1_cannot_hold_makes_it_a_v2_card() -> None:
    card = parse_card(encoded({**V1, "unknown": 1})).value
    after = parse_card(dump_card(attrs.evolve(card, system_prompt="sp", name="Eve"))).value
    assert (after.spec, after.system_prompt, after.name) == (CardSpec.V2, "sp", "Eve")
    assert (after.raw["name"], after.raw["unknown"]) == ("Eve", 1)


@pytest.mark.parametrize("spec", [CardSpec.V2, CardSpec.V3])
@pytest.mark.parametrize(
    "document", [V1, V2, V3, {"char_name": "P", "char_persona": "d", "world_scenario": "s"}]
)
def test_every_card_can_be_written_as_v2_and_v3(document: dict[str, Any], spec: CardSpec) -> None:
    before = parse_card(encoded(document)).value
    after = parse_card(dump_card(before, spec=spec)).value
    assert after.spec is spec
    assert attrs.evolve(after, spec=before.spec, spec_version=before.spec_version) == before


def test_v1_is_refused_for_a_card_that_holds_more() -> None:
    with pytest.raises(UnsupportedVersionError) as refused:
        dump_card(parse_card(encoded(V2)).value, spec=CardSpec.V1)
    assert (refused.value.code, refused.value.spec) == ("CARD_SPEC", "v1")
    small = attrs.evolve(parse_card(encoded(V1)).value, spec=CardSpec.V2, origin=None)
    assert json.loads(dump_card(small, spec=CardSpec.V1))["first_mes"] == "Hi"


def test_shapes_that_are_only_read_are_refused_as_a_target() -> None:
    with pytest.raises(UnsupportedVersionError):
        dump_card(CharacterCard(name="x"), spec=CardSpec.GRADIO)


def test_a_new_card_is_a_complete_v2_card() -> None:
    card = CharacterCard(name="New", character_book=WorldBook(entries=[Entry(uid=0, keys=("k",))]))
    parsed = parse_card(dump_card(card))
    assert parsed.diagnostics == ()
    assert parsed.value.character_book is not None
    assert parsed.value.character_book.entries[0].keys == ("k",)
    assert parsed.value.character_book.spelling is BookSpelling.CHARACTER_BOOK
    assert parsed.value.raw["data"]["character_book"]["entries"][0]["keys"] == ["k"]


BOOK = {"entries": [{"id": 0, "keys": ["k"], "content": "c", "enabled": True}], "extensions": {}}


def test_an_edited_book_is_written_into_its_card() -> None:
    card = parse_card(encoded({**V2, "data": {**DATA, "character_book": BOOK}})).value
    assert card.character_book is not None
    entry = attrs.evolve(card.character_book.entries[0], content="new")
    edited = attrs.evolve(card, character_book=attrs.evolve(card.character_book, entries=[entry]))
    after = json.loads(dump_card(edited))["data"]["character_book"]
    assert after == {**BOOK, "entries": [{**BOOK["entries"][0], "content": "new"}]}  # type: ignore[index]
    without = json.loads(dump_card(attrs.evolve(card, character_book=None)))
    assert "character_book" not in without["data"]


def test_a_book_that_cannot_be_read_is_reported_and_kept() -> None:
    document = {**V2, "data": {**DATA, "character_book": {"entries": 5}}}
    parsed = parse_card(encoded(document))
    assert [(found.code, found.path) for found in parsed.diagnostics] == [
        ("BOOK_UNREADABLE", "/data/character_book/entries")
    ]
    edited = attrs.evolve(parsed.value, name="Eve")
    assert json.loads(dump_card(edited))["data"]["character_book"] == {"entries": 5}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"data": DATA}, [("SPEC_MISSING", ""), ("SPEC_VERSION", "/spec_version")]),
        ({**V2, "spec": "chara_card_v99"}, [("SPEC_UNKNOWN", "/spec")]),
        ({**V2, "spec_version": 2.0}, [("SPEC_VERSION", "/spec_version")]),
        ({**V3, "spec_version": "2.0"}, [("SPEC_VERSION", "/spec_version")]),
        ({**V2, "data": {**DATA, "name": ""}}, [("NAME_MISSING", "/data/name")]),
        ({**V2, "data": {**DATA, "name": "A\udc00"}}, [("LONE_SURROGATE", "/data/name")]),
        ({**V1, "character_book": BOOK}, [("BOOK_IGNORED", "/character_book")]),
        (
            {**V2, "data": {**DATA, "alternate_greetings": "one"}},
            [("FIELD_TYPE", "/data/alternate_greetings")],
        ),
        (
            {**V2, "data": {**DATA, "extensions": {"depth_prompt": {"depth": ""}}}},
            [("FIELD_TYPE", "/data/extensions/depth_prompt/depth")],
        ),
    ],
)
def test_odd_cards_are_read_with_a_remark(
    document: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    data = encoded(document)
    assert codes(data) == expected
    assert json.loads(dump_card(parse_card(data).value)) == document


def test_missing_fields_are_named() -> None:
    (found,) = parse_card(b'{"name":"Ada","first_mes":"x"}').diagnostics
    assert found.code == "FIELDS_MISSING"
    assert found.message.endswith("description, personality, scenario, mes_example")


def test_the_name_at_the_top_stands_in_for_an_empty_one() -> None:
    document = {**V2, "name": "Top", "data": {**DATA, "name": ""}}
    card = parse_card(encoded(document)).value
    assert card.name == "Top"
    assert json.loads(dump_card(card)) == document
    after = json.loads(dump_card(attrs.evolve(card, name="Eve")))
    assert (after["name"], after["data"]["name"]) == ("Eve", "Eve")


@pytest.mark.parametrize(
    ("data", "code", "path"),
    [
        (b"[]", "CARD_NOT_FOUND", ""),
        (b"123", "CARD_NOT_FOUND", ""),
        (b"{}", "CARD_NOT_FOUND", ""),
        (b'{"entries":{}}', "CARD_NOT_FOUND", ""),
        (b'{"card":{"spec":"chara_card_v2"}}', "CARD_NOT_FOUND", ""),
        (b'{"user_name":"U","chat_metadata":{}}\n{"mes":"x"}', "CARD_NOT_FOUND", ""),
        (b'{"name":42,"description":""}', "NAME_TYPE", "/name"),
        (b'{"name":null,"description":""}', "NAME_TYPE", "/name"),
        (b'{"char_name":null}', "NAME_TYPE", "/char_name"),
        (b'{"spec":"chara_card_v2","data":{"name":7}}', "NAME_TYPE", "/data/name"),
        (b'{"spec":"chara_card_v2","data":{}}', "NAME_MISSING", "/data/name"),
        (b'{"spec":"chara_card_v2","name":"A"}', "DATA_TYPE", "/data"),
        (b'{"spec":"chara_card_v2","name":"A","data":[1]}', "DATA_TYPE", "/data"),
        (b"hello", "JSON_SYNTAX", None),
    ],
)
def test_what_is_no_card_is_refused_with_the_place(
    data: bytes, code: str, path: str | None
) -> None:
    with pytest.raises(MalformedResourceError) as refused:
        parse_card(data)
    assert (refused.value.code, refused.value.path) == (code, path)


def test_the_refusal_names_what_the_file_is() -> None:
    with pytest.raises(FormatError, match="this is a world book"):
        parse_card(b'{"entries":{}}')
    with pytest.raises(FormatError, match="under `character`"):
        parse_card(encoded({"character": V2}))


def test_a_png_holds_the_card_for_old_and_new_readers() -> None:
    png = dump_card_png(parse_card(encoded(V3)).value)
    card = parse_card(png).value
    assert (card.name, card.spec, card.carrier) == ("Ada", CardSpec.V3, CardCarrier.PNG)
    renamed = dump_card_png(attrs.evolve(card, name="Eve"))
    assert parse_card(renamed).value.name == "Eve"
    assert renamed.count(b"tEXtchara") == renamed.count(b"tEXtccv3") == 1


def test_a_number_too_large_for_a_float_is_no_fault() -> None:
    huge = 10**400
    card = parse_card(encoded({**V2, "spec_version": huge, "data": {**DATA, "first_mes": huge}}))
    assert card.value.greeting == str(huge)
    assert card.value.spec_version == f"{huge}.0"


@pytest.mark.parametrize("document", [V1, {"char_name": "Ada", "char_persona": "D"}])
def test_a_card_without_a_label_gets_one_when_it_becomes_v2(document: dict[str, Any]) -> None:
    written = card_to_json(parse_card(encoded(document)).value, CardSpec.V2)
    assert (written["spec"], written["spec_version"]) == ("chara_card_v2", "2.0")


def test_a_png_of_an_older_card_can_do_without_the_copy_for_v3() -> None:
    png = dump_card_png(parse_card(encoded(V2)).value, v3_copy=False)
    assert (png.count(b"tEXtchara"), png.count(b"tEXtccv3")) == (1, 0)
    assert parse_card(png).value.raw == V2
    both = dump_card_png(parse_card(encoded(V3)).value, v3_copy=False)
    assert (both.count(b"tEXtchara"), both.count(b"tEXtccv3")) == (1, 1)


def test_the_picture_of_a_card_is_without_card_texts() -> None:
    png = dump_card_png(parse_card(encoded(V2)).value)
    card = parse_card(png).value
    assert card_picture(card) == strip_card_chunks(png)
    assert card_picture(CharacterCard(name="Ada")) is None


def test_a_png_with_a_broken_first_payload_falls_back_to_the_next() -> None:
    from tavern_format.png_chunks import empty_png, write_card_chunks

    png = write_card_chunks(empty_png(), encoded(V2), b"{}")
    parsed = parse_card(png)
    assert parsed.value.spec is CardSpec.V2
    assert [found.code for found in parsed.diagnostics] == ["PNG_FALLBACK"]


def test_charx_keeps_the_files_of_the_card() -> None:
    files = {"assets/icon/main.png": b"\x89PNG", "module.risum": b"\x00"}
    data = dump_card_charx(parse_card(encoded(V1)).value, files=files)
    card = parse_card(data).value
    assert (card.name, card.spec, card.carrier) == ("Ada", CardSpec.V3, CardCarrier.CHARX)
    assert dict(card.files) == files
    again = parse_card(dump_card_charx(attrs.evolve(card, name="Eve"))).value
    assert (again.name, dict(again.files)) == ("Eve", files)


def test_a_charx_behind_a_picture_keeps_the_picture() -> None:
    jpeg = b"\xff\xd8\xff\xe0picture"
    card = parse_card(jpeg + dump_card_charx(parse_card(encoded(V2)).value)).value
    assert card.picture == jpeg
    assert dump_card_charx(card).startswith(jpeg)


def test_the_picture_of_a_png_is_the_icon_of_a_charx_and_back() -> None:
    document = {**V3, "data": {**V3["data"], "assets": []}}  # type: ignore[dict-item]
    png = dump_card_png(parse_card(encoded(document)).value)
    archive = parse_card(dump_card_charx(parse_card(png).value)).value
    (icon,) = archive.assets
    assert (icon.type, icon.name) == ("icon", "main")
    (picture,) = archive.files.values()
    assert b"tEXt" not in picture
    again = parse_card(dump_card_png(archive)).value
    assert strip_card_chunks(again.picture) == picture


def test_a_byaf_archive_becomes_a_card() -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("manifest.json", json.dumps({"characters": ["c.json"], "scenarios": []}))
        writer.writestr("c.json", json.dumps({"name": "Bea", "persona": "{character} is here"}))
    card = parse_card(archive.getvalue()).value
    assert (card.name, card.description, card.carrier) == (
        "Bea",
        "{{char}} is here",
        CardCarrier.BYAF,
    )


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GIF89a....", "PICTURE_WITHOUT_CARD"),
        (b"\xff\xd8\xff\xe0", "PICTURE_WITHOUT_CARD"),
        (b"\x89PNG\r\n\x1a\n", "PNG_TRUNCATED"),
    ],
)
def test_pictures_without_a_card_say_so(data: bytes, code: str) -> None:
    with pytest.raises(CarrierError) as refused:
        parse_card(data)
    assert refused.value.code == code


def test_a_carrier_can_be_insisted_on() -> None:
    with pytest.raises(CarrierError, match="JSON"):
        parse_card(encoded(V1), carrier=CardCarrier.PNG)
    with pytest.raises(CarrierError) as refused:
        parse_card(encoded(V1), carrier=CardCarrier.YAML)
    assert refused.value.code == "CARRIER_OTHER"


def test_yaml_cards_are_read_as_yaml_1_2() -> None:
    card = parse_card(b"name: Yam\ncontext: |\n  a\n  b\ngreeting: yes\nextra: 2024-01-01\n").value
    assert (card.name, card.description, card.greeting) == ("Yam", "a\nb\n", "yes")
    assert (card.spec, card.carrier) == (CardSpec.TEXT_GENERATION_WEBUI, CardCarrier.YAML)
    assert json.loads(dump_card(card))["extra"] == "2024-01-01"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"name: [unclosed\n", "YAML_SYNTAX"),
        (b"a: &a [x]\nname: *a\n", "YAML_ALIAS"),
        (b"name: a\nname: b\n", "YAML_KEY_REPEATED"),
        (b"name: 12\ngreeting: hi\n", "NAME_TYPE"),
        (b"- name: a\n", "YAML_SHAPE"),
        (b"name: !!python/object:os.system x\n", "YAML_TAG"),
        (b"name: x\ndeep: " + b"[" * 200 + b"]" * 200, "LIMIT_EXCEEDED"),
    ],
)
def test_odd_yaml_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(FormatError) as refused:
        parse_card(data)
    assert refused.value.code == code


def test_bytes_are_required() -> None:
    with pytest.raises(TypeError, match="bytes are needed"):
        parse_card("text")  # type: ignore[arg-type]


def test_changing_the_specification_keeps_everything() -> None:
    before = parse_card(encoded(V2)).value
    after = json.loads(dump_card(attrs.evolve(before, spec=CardSpec.V3)))
    assert (after["spec"], after["spec_version"]) == ("chara_card_v3", "3.0")
    assert after["data"] == {**DATA, "group_only_greetings": []}
    assert after["extra"] == []
    upgraded = json.loads(dump_card(attrs.evolve(parse_card(encoded(V1)).value, spec=CardSpec.V3)))
    assert (upgraded["spec"], upgraded["data"]["first_mes"]) == ("chara_card_v3", "Hi")


def test_an_edited_version_is_written() -> None:
    card = attrs.evolve(parse_card(encoded(V3)).value, spec_version="3.1")
    assert json.loads(dump_card(card))["spec_version"] == "3.1"


def test_replacing_extensions_keeps_the_fields_the_model_still_holds() -> None:
    card = attrs.evolve(parse_card(encoded(V2)).value, extensions={"mine": 1})
    after = parse_card(dump_card(card)).value
    assert (after.world, after.depth_prompt) == (card.world, card.depth_prompt)
    assert after.extensions["mine"] == 1
    assert "foreign" not in after.extensions


def test_one_card_cannot_change_the_next() -> None:
    data = b'{"spec":"chara_card_v2","data":{"name":"a"}}'
    first: Any = parse_card(data).value.extensions
    first["leak"] = 1
    assert parse_card(data).value.extensions == {}


def test_a_stale_card_in_the_picture_does_not_win_over_the_archive() -> None:
    picture = dump_card_png(CharacterCard(name="old"))
    archive = parse_card(
        picture + dump_card_charx(CharacterCard(name="new")), carrier=CardCarrier.CHARX
    ).value
    assert parse_card(dump_card_charx(attrs.evolve(archive, name="edited"))).value.name == "edited"


@pytest.mark.parametrize(
    "mistake",
    [
        CharacterCard(name=5),  # type: ignore[arg-type]
        CharacterCard(name="x", tags="abc"),  # type: ignore[arg-type]
        CharacterCard(name="x", character_book=WorldBook(entries=[Entry(position=99)])),  # type: ignore[arg-type]
    ],
)
def test_a_callers_mistake_is_not_written(mistake: CharacterCard) -> None:
    with pytest.raises((TypeError, ValueError)):
        dump_card(mistake)


def test_v1_refuses_unknown_keys_of_data_and_keeps_those_at_the_top() -> None:
    small = {"spec": "chara_card_v2", "spec_version": "2.0", "data": dict(V1), "top": 1}
    card = parse_card(encoded(small)).value
    assert json.loads(dump_card(card, spec=CardSpec.V1))["top"] == 1
    odd = parse_card(encoded({**small, "data": {**V1, "odd": 1}})).value
    with pytest.raises(UnsupportedVersionError):
        dump_card(odd, spec=CardSpec.V1)


def test_entries_put_into_the_empty_book_of_a_card_are_written_for_cards() -> None:
    data = {"name": "Ada", "character_book": {"entries": []}}
    card = parse_card(encoded({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})).value
    assert card.character_book is not None
    book = attrs.evolve(card.character_book, entries=[Entry(keys=("storm",), content="Rain.")])
    after = json.loads(dump_card(attrs.evolve(card, character_book=book)))
    (entry,) = after["data"]["character_book"]["entries"]
    assert (entry["keys"], entry["content"]) == (["storm"], "Rain.")
