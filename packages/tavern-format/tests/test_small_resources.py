"""Regex scripts, personas, groups, quick replies and text-completion presets."""

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tavern_format import (
    DEFAULT_LIMITS,
    ActivationStrategy,
    ContextPreset,
    FormatError,
    Group,
    InstructPreset,
    LimitExceededError,
    MasterPreset,
    Parsed,
    Persona,
    PersonaPosition,
    QuickReply,
    ReasoningPreset,
    RegexScript,
    SubstituteRegex,
    SystemPromptPreset,
    TextCompletionPreset,
    dump_group,
    dump_personas,
    dump_quick_replies,
    dump_regex_scripts,
    dump_text_preset,
    migrate_regex_script,
    new_group,
    parse_group,
    parse_personas,
    parse_quick_replies,
    parse_regex_scripts,
    parse_text_preset,
    restore_personas,
    safe_file_name,
    split_decorators,
    split_keys,
)

SCRIPT = {
    "id": "u",
    "scriptName": "s",
    "findRegex": "/a/g",
    "replaceString": "b",
    "trimStrings": ["x"],
    "placement": [1, 2],
    "substituteRegex": 2,
    "minDepth": "2",
    "maxDepth": None,
    "odd": None,
}
BACKUP = {
    "personas": {"a.png": "Ann", "b.png": 5},
    "persona_descriptions": {"a.png": {"description": "d", "position": 4, "odd": 1}, "z.png": {}},
    "default_persona": "a.png",
}
GROUP = {"id": "1", "name": "G", "members": ["a.png"], "activation_strategy": 3, "odd": [1]}
REPLIES = {"version": 2, "name": "N", "qrList": [{"id": 1, "label": "L", "odd": 1}], "idIndex": 1}


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("parse", "dump", "document"),
    [
        (parse_regex_scripts, dump_regex_scripts, SCRIPT),
        (parse_regex_scripts, dump_regex_scripts, [SCRIPT, None, {"scriptName": ""}]),
        (parse_personas, dump_personas, BACKUP),
        (parse_personas, dump_personas, {"personas": ["A"], "persona_descriptions": []}),
        (parse_group, dump_group, GROUP),
        (parse_quick_replies, dump_quick_replies, REPLIES),
        (parse_text_preset, dump_text_preset, {"name": "C", "story_string": "s", "odd": 1}),
        (
            parse_text_preset,
            dump_text_preset,
            {"context": {"name": "C", "story_string": "s"}, "srw": {"value": "", "show": True}},
        ),
    ],
)
def test_an_unedited_file_is_written_as_it_was(
    parse: Callable[[bytes], Parsed[Any]], dump: Callable[[Any], bytes], document: object
) -> None:
    assert json.loads(dump(parse(encoded(document)).value)) == document


def test_a_regex_script_is_read_into_named_fields() -> None:
    (script,) = parse_regex_scripts(encoded(SCRIPT)).value.scripts
    assert script == RegexScript(
        id="u",
        name="s",
        find_regex="/a/g",
        replace_string="b",
        trim_strings=("x",),
        placement=(1, 2),
        substitute_regex=SubstituteRegex.ESCAPED,
        min_depth=2,
        max_depth=None,
    )


def test_an_edited_script_keeps_the_shape_of_its_file() -> None:
    scripts = parse_regex_scripts(encoded([None, SCRIPT])).value
    edited = (attrs.evolve(scripts.scripts[0], disabled=True),)
    after = json.loads(dump_regex_scripts(attrs.evolve(scripts, scripts=edited)))
    assert after == [None, {**SCRIPT, "disabled": True}]


def test_odd_scripts_are_remarked() -> None:
    parsed = parse_regex_scripts(encoded([{"scriptName": "", "placement": ["2"]}, 5]))
    assert [(found.code, found.path) for found in parsed.diagnostics] == [
        ("ITEM_TYPE", "/1"),
        ("FIELD_TYPE", "/0/placement"),
        ("NAME_MISSING", "/0/scriptName"),
        ("PLACEMENT_MISSING", "/0/placement"),
    ]


def test_an_empty_depth_is_0_as_in_sillytavern() -> None:
    parsed = parse_regex_scripts(encoded({**SCRIPT, "minDepth": "", "maxDepth": " 3"}))
    assert (parsed.value.scripts[0].min_depth, parsed.value.scripts[0].max_depth) == (0, 3)
    assert [found.path for found in parsed.diagnostics] == ["/minDepth"]
    assert json.loads(dump_regex_scripts(parsed.value))["minDepth"] == ""


def test_a_number_in_text_says_how_macros_are_substituted() -> None:
    parsed = parse_regex_scripts(encoded({**SCRIPT, "substituteRegex": "1"}))
    assert parsed.value.scripts[0].substitute_regex is SubstituteRegex.RAW
    assert [found.path for found in parsed.diagnostics] == ["/substituteRegex"]


def test_a_text_is_no_placement() -> None:
    (script,) = parse_regex_scripts(encoded({**SCRIPT, "placement": ["2", 1]})).value.scripts
    assert script.placement == (1,)


def test_a_whole_float_is_a_placement() -> None:
    data = b'{"scriptName": "s", "placement": [2.0, 1]}'
    parsed = parse_regex_scripts(data)
    assert parsed.value.scripts[0].placement == (2, 1)
    assert parsed.diagnostics == ()
    assert b"2.0" in dump_regex_scripts(parsed.value)


@pytest.mark.parametrize(
    ("placement", "after"),
    [
        ([0], {"placement": [1, 2, 3, 5, 6], "markdownOnly": True, "promptOnly": True}),
        ([0, 2], {"placement": [2], "markdownOnly": True, "promptOnly": True}),
        ([4], {"placement": [3]}),
        ([4, 1], {"placement": [1]}),
        ("2", {"placement": []}),
        ([2], {"placement": [2]}),
    ],
)
def test_old_placements_are_migrated(placement: object, after: dict[str, Any]) -> None:
    assert migrate_regex_script({"placement": placement}) == after


def test_personas_are_read_in_file_order() -> None:
    parsed = parse_personas(encoded(BACKUP))
    assert parsed.value.personas == (
        Persona(avatar="a.png", name="Ann", description="d", position=PersonaPosition.AT_DEPTH),
        Persona(avatar="b.png", name="5"),
    )
    assert [(found.code, found.path) for found in parsed.diagnostics] == [
        ("FIELD_TYPE", "/personas/b.png"),
        ("PERSONA_MISSING", "/persona_descriptions/z.png"),
    ]


def test_an_edited_persona_is_written_in_both_maps() -> None:
    backup = parse_personas(encoded(BACKUP)).value
    people = (
        attrs.evolve(backup.personas[0], name="Eve", description="new"),
        Persona(avatar="c.png", name="Cid", description="c"),
    )
    after = json.loads(dump_personas(attrs.evolve(backup, personas=people)))
    assert after["personas"] == {"a.png": "Eve", "c.png": "Cid"}
    assert after["persona_descriptions"]["a.png"] == {
        "description": "new",
        "position": 4,
        "odd": 1,
    }
    assert after["persona_descriptions"]["c.png"]["description"] == "c"
    assert after["persona_descriptions"]["z.png"] == {}


@pytest.mark.parametrize("default", [None, "b.png"])
def test_the_default_persona_can_be_taken_away_and_changed(default: str | None) -> None:
    backup = parse_personas(encoded(BACKUP)).value
    after = json.loads(dump_personas(attrs.evolve(backup, default_persona=default)))
    assert after == {**BACKUP, "default_persona": default}


@pytest.mark.parametrize("raw", [{}, {"default_persona": 5}, {"default_persona": None}])
def test_a_backup_without_a_default_persona_stays_as_it_is(raw: dict[str, Any]) -> None:
    before = {"personas": {}, "persona_descriptions": {}, **raw}
    assert json.loads(dump_personas(parse_personas(encoded(before)).value)) == before


def test_present_personas_win_over_restored_ones() -> None:
    current = {"personas": {"a": "old"}, "persona_descriptions": {"a": {"description": "old"}}}
    backup = {
        "personas": {"a": "new", "b": "B"},
        "persona_descriptions": {"a": {}, "b": {"description": "b"}, "z": {}},
    }
    assert restore_personas(current, backup) == {
        "personas": {"a": "old", "b": "B"},
        "persona_descriptions": {"a": {"description": "old"}, "b": {"description": "b"}},
        "default_persona": None,
    }
    assert restore_personas(current, {**backup, "default_persona": "b"})["default_persona"] == "b"
    assert restore_personas(current, {**backup, "default_persona": "z"})["default_persona"] is None


def test_a_group_is_read_and_a_new_one_made() -> None:
    group = parse_group(encoded(GROUP)).value
    assert group == Group(
        id="1", name="G", members=("a.png",), activation_strategy=ActivationStrategy.POOLED
    )
    made = new_group({"name": None, "auto_mode_delay": 0, "unknown": 1}, group_id="7")
    assert (made["name"], made["auto_mode_delay"], made["chats"]) == ("New Group", 0, ["7"])
    assert "unknown" not in made


def test_slots_become_a_set_of_quick_replies() -> None:
    old = {"name": "Old", "quickReplySlots": [{"mes": "/a", "label": "A", "hidden": True}]}
    parsed = parse_quick_replies(encoded(old))
    assert parsed.value.replies == (QuickReply(id=1, label="A", message="/a", is_hidden=True),)
    assert [found.code for found in parsed.diagnostics] == ["QUICK_REPLIES_MIGRATED"]
    assert json.loads(dump_quick_replies(parsed.value))["quickReplySlots"] == old["quickReplySlots"]


def test_a_slot_says_what_it_can_however_odd() -> None:
    old = {"quickReplySlots": [None, {"mes": [], "label": 0, "contextMenu": 5}]}
    (reply,) = parse_quick_replies(encoded(old)).value.replies
    assert reply.origin is not None
    assert (reply.origin.raw["message"], reply.origin.raw["label"]) == ([], "")
    assert reply.origin.raw["contextList"] == []


@pytest.mark.parametrize(
    "document", [{"version": 2, "qrList": [{}, {}]}, {"quickReplySlots": [{}, {}]}]
)
def test_too_many_quick_replies_are_refused_by_name(document: dict[str, Any]) -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, entries=1)
    with pytest.raises(LimitExceededError) as refused:
        parse_quick_replies(encoded(document), limits=limits)
    assert (refused.value.limit, refused.value.actual) == ("entries", 2)


SAMPLERS = {"temp": 1, "top_k": 1, "top_p": 1, "rep_pen": 1, "genamt": 200}
REASONING = {"name": "R", "prefix": "p", "suffix": "s", "separator": "\n"}


@pytest.mark.parametrize(
    ("document", "model"),
    [
        ({"name": "I", "input_sequence": "i", "output_sequence": "o"}, InstructPreset),
        ({"name": "C", "story_string": "s"}, ContextPreset),
        ({"name": "S", "content": "c", "post_history": "p"}, SystemPromptPreset),
        ({**REASONING, "content": "c"}, SystemPromptPreset),
        (REASONING, ReasoningPreset),
        (SAMPLERS, TextCompletionPreset),
        ({"preset": SAMPLERS, "instruct": None}, MasterPreset),
    ],
)
def test_the_text_completion_family_is_told_apart_as_sillytavern_does(
    document: dict[str, Any], model: type[object]
) -> None:
    assert type(parse_text_preset(encoded(document)).value) is model


def test_an_edited_section_of_a_master_file_is_written_in_its_place() -> None:
    master = parse_text_preset(encoded({"preset": SAMPLERS, "other": 1})).value
    assert isinstance(master, MasterPreset)
    assert master.preset is not None
    edited = attrs.evolve(master, preset=attrs.evolve(master.preset, reply_size_tokens=9))
    assert json.loads(dump_text_preset(edited)) == {"preset": {**SAMPLERS, "genamt": 9}, "other": 1}


def test_a_section_set_to_none_leaves_the_master_file() -> None:
    before = {
        "preset": SAMPLERS,
        "sysprompt": {"name": "S", "content": "c"},
        "context": {"name": "incomplete"},
        "srw": {"value": "v", "show": True},
    }
    master = parse_text_preset(encoded(before)).value
    assert isinstance(master, MasterPreset)
    edited = attrs.evolve(master, sysprompt=None)
    after = json.loads(dump_text_preset(edited))
    assert after == {key: value for key, value in before.items() if key != "sysprompt"}


@pytest.mark.parametrize(
    ("parse", "data", "code"),
    [
        (parse_regex_scripts, b'{"regex_scripts":[]}', "REGEX_SCRIPT_SHAPE"),
        (parse_regex_scripts, b"5", "REGEX_SCRIPT_SHAPE"),
        (parse_personas, b"null", "PERSONAS_SHAPE"),
        (parse_personas, b'{"personas":{}}', "PERSONAS_SHAPE"),
        (parse_group, b"[]", "GROUP_SHAPE"),
        (parse_quick_replies, b'{"version":"2","qrList":[]}', "QUICK_REPLIES_SHAPE"),
        (parse_text_preset, b"null", "TEXT_PRESET_SHAPE"),
        (parse_text_preset, b'{"prompts":[]}', "TEXT_PRESET_SHAPE"),
    ],
)
def test_what_is_of_another_kind_is_refused(
    parse: Callable[[bytes], Parsed[Any]], data: bytes, code: str
) -> None:
    with pytest.raises(FormatError) as refused:
        parse(data)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("content", "decorators", "rest"),
    [
        ("@@activate\nbody", ("@@activate",), "body"),
        ("@@activate\n\nbody", ("@@activate",), "\nbody"),
        ("@@depth 4\nbody", (), "body"),
        ("@@activate", ("@@activate",), "@@activate"),
        ("@@unknown\n@@@also\n@@@dont_activate\nB", ("@@dont_activate",), "B"),
        ("@@@activate\nbody", (), "body"),
        ("body\n@@activate", (), "body\n@@activate"),
    ],
)
def test_decorators_are_taken_off_the_head(
    content: str, decorators: tuple[str, ...], rest: str
) -> None:
    split = split_decorators(content)
    assert (split.decorators, split.content) == (decorators, rest)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a, b ,c", ("a", "b", "c")),
        (" , ,", ()),
        ("/a,b/i, c", ("/a,b/i", "c")),
        ("a/b, c", ("a/b, c",)),
        ("a,,b", ("a", ",b")),
        ("/bad(/, x", ("/bad(/", "x")),
    ],
)
def test_typed_keys_are_split_outside_of_regular_expressions(
    text: str, keys: tuple[str, ...]
) -> None:
    assert split_keys(text) == keys


@pytest.mark.parametrize(
    ("name", "file_name"),
    [
        ('a/b:c*?"<>|d', "abcd"),
        ("..", ""),
        ("CON", ""),
        ("con.txt", ""),
        ("Ada. . ", "Ada"),
        ("a\x01b", "ab"),
        ("é" * 200, "é" * 127),
        ("A\udc00" + "😀" * 100, "A\udc00" + "😀" * 62),
    ],
)
def test_file_names_are_made_safe(name: str, file_name: str) -> None:
    assert safe_file_name(name) == file_name
