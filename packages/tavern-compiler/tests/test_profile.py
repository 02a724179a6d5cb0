"""What a profile says of itself: fingerprint, changes, late lore, what a limit did."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import pytest
from attrs import evolve

from tavern_compiler import (
    BookRef,
    CallConfig,
    CompileInput,
    LoreChannel,
    LoreEntry,
    LoreLimit,
    MacroContext,
    Part,
    PartSource,
    Profile,
    ProfileChanges,
    ResourceRef,
    SourceKind,
    SystemPromptMode,
    User,
    Variables,
    compile_profile,
    diff,
    lore_entries,
)
from tavern_format import (
    CharacterCard,
    Entry,
    Position,
    Preset,
    WorldBook,
    parse_preset,
)
from tavern_matcher import (
    MatchResult,
    NamedBook,
    ScanContext,
    ScanMessage,
    SeededDice,
    compile_index,
    match,
)

PRESET = b"""{"temperature": 1, "openai_max_tokens": 300, "stop": ["#"], "prompts": [
  {"identifier": "main", "content": "Play {{char}}.", "enabled": true},
  {"identifier": "worldInfoBefore", "marker": true, "enabled": true},
  {"identifier": "charDescription", "marker": true, "enabled": true},
  {"identifier": "tail", "content": "{{getvar::mood}}!", "enabled": true}]}"""
CARD = CharacterCard(name="Aria", description="A fox.")
USER = User(name="Bo", description="A courier.")
LORE = (
    LoreEntry(book="b", uid="1", content="Dragons{{setvar::mood::calm}} sleep."),
    LoreEntry(book="b", uid="2", content="Rain.", position=Position.AFTER),
)
GIVEN = CompileInput(preset=parse_preset(PRESET).value, character=CARD, lore=LORE)


def texts(parts: Iterable[Part]) -> list[str]:
    return [part.text for part in parts]


def changed(**more: Any) -> ProfileChanges:
    return diff(compile_profile(GIVEN), compile_profile(evolve(GIVEN, **more)))


# --- fingerprint ------------------------------------------------------------------------------


def test_fingerprint_is_the_same_everywhere() -> None:
    # The hash of canonical JSON, written out here: a change of it is a change of the schema.
    document = (
        '{"call":{"max_tokens":300,"reasoning_effort":null,"stop":["#"],"temperature":1},'
        '"late_parts":[],"mode":"append","parts":["Play Aria.","Dragons sleep.","A fox.",'
        '"calm!","Rain."],"schema":1}'
    )
    assert compile_profile(GIVEN).fingerprint == sha256(document.encode()).hexdigest()


def reordered(document: bytes) -> bytes:
    """Turn the order of all keys around, and write the temperature as a float."""

    def turn(value: object) -> object:
        if isinstance(value, dict):
            return {key: turn(value[key]) for key in reversed(value)}
        return [turn(one) for one in value] if isinstance(value, list) else value

    return (
        json.dumps(turn(json.loads(document)))
        .replace('"temperature": 1', '"temperature": 1.0')
        .encode()
    )


SAME: dict[str, dict[str, Any]] = {
    "keys in another order": {"preset": parse_preset(reordered(PRESET)).value},
    "other ids and revisions": {
        "resources": {SourceKind.CHARACTER: ResourceRef(id="c", revision="7")}
    },
    "what is not sent": {"character": evolve(CARD, tags=("t",), creator_notes="n")},
    "a limit that is not reached": {"max_profile_bytes": 1000},
    "other prompts that say the same": {
        "preset": parse_preset(PRESET.replace(b'"main"', b'"first"')).value
    },
}
OTHER: dict[str, dict[str, Any]] = {
    "a text": {"character": evolve(CARD, description="A hen.")},
    "the order of texts": {"lore": (evolve(LORE[0], position=Position.AFTER), LORE[1])},
    "where a part ends": {"character": evolve(CARD, description="A fox.\n\ncalm!"), "lore": ()},
    "a setting": {"preset": parse_preset(PRESET.replace(b"300", b"301")).value},
    "the mode": {"system_prompt_mode": SystemPromptMode.REPLACE},
    "the channel": {"lore_channel": LoreChannel.LATE},
}


@pytest.mark.parametrize("more", SAME.values(), ids=SAME)
def test_fingerprint_stays_with(more: dict[str, Any]) -> None:
    assert compile_profile(evolve(GIVEN, **more)).fingerprint == compile_profile(GIVEN).fingerprint


@pytest.mark.parametrize("more", OTHER.values(), ids=OTHER)
def test_fingerprint_changes_with(more: dict[str, Any]) -> None:
    assert compile_profile(evolve(GIVEN, **more)).fingerprint != compile_profile(GIVEN).fingerprint


def test_half_a_surrogate_pair_has_a_fingerprint_of_its_own() -> None:
    found = {
        compile_profile(CompileInput(user=User(description=text))).fingerprint
        for text in ("\ud83e", "\udd8a", "\ufffd", "🦊")
    }
    assert len(found) == 4


# --- changes ----------------------------------------------------------------------------------


def test_equal_profiles_have_no_changes() -> None:
    size = compile_profile(GIVEN).size_utf8_bytes
    assert changed() == ProfileChanges(
        common_prefix_bytes=size, previous_bytes=size, current_bytes=size
    )


def test_changes_name_parts_and_the_prefix_that_stays() -> None:
    lore = (evolve(LORE[0], content="Drägons wake."), LoreEntry(book="b", uid="3", content="Fog."))
    found = changed(lore=lore, character=None)
    assert texts(found.added) == ["Fog."]
    assert texts(found.removed) == ["A fox.", "Rain."]
    assert [(one.previous.text, one.current.text) for one in found.changed] == [
        ("Play Aria.", "Play Assistant."),
        ("Dragons sleep.", "Drägons wake."),
        ("calm!", "!"),
    ]
    assert (found.common_prefix_bytes, found.first_difference) == (
        len("Play A"),
        "pmp-dsh-tavern:part:0000:preset:prompts_0_content",
    )
    assert (found.previous_bytes, found.current_bytes) == (48, 40)


@pytest.mark.parametrize(
    ("content", "prefix", "part"),
    [
        (
            "Dragons{{setvar::mood::calm}} wake.",
            len("Play Aria.\n\nDragons "),
            "0001:worldbook:content",
        ),
        ("", len("Play Aria.\n\n"), "0001:character:description"),
    ],
)
def test_prefix_ends_in_the_first_part_that_is_another(
    content: str, prefix: int, part: str
) -> None:
    found = changed(lore=(evolve(LORE[0], content=content), LORE[1]))
    assert (found.common_prefix_bytes, found.first_difference) == (
        prefix, f"pmp-dsh-tavern:part:{part}",
    )  # fmt: skip


def test_part_that_moves_is_neither_added_nor_removed() -> None:
    moved = (evolve(LORE[0], position=Position.AFTER), LORE[1])
    found = changed(lore=moved)
    assert (found.added, found.removed, found.reordered) == ((), (), True)


def test_more_text_at_the_end_keeps_the_whole_prefix() -> None:
    more = LoreEntry(book="b", uid="3", content="Fog.", position=Position.AFTER)
    found = changed(lore=(*LORE, more))
    assert (found.common_prefix_bytes, found.previous_bytes) == (found.previous_bytes, 48)
    assert found.first_difference == "pmp-dsh-tavern:part:0005:worldbook:content"
    back = diff(compile_profile(evolve(GIVEN, lore=(*LORE, more))), compile_profile(GIVEN))
    assert (back.common_prefix_bytes, back.first_difference) == (48, None)


def test_long_texts_are_compared_to_the_byte() -> None:
    long = "x" * 10_000
    before, after = (
        compile_profile(CompileInput(user=User(description=text)))
        for text in (f"{long}a{long}", f"{long}b{long}")
    )
    assert diff(before, after).common_prefix_bytes == 10_000


def test_settings_are_told_apart_from_texts() -> None:
    found = changed(system_prompt_mode=SystemPromptMode.REPLACE)
    assert (found.settings_changed, found.changed) == (True, ())


# --- lore in a channel of its own -------------------------------------------------------------


def test_late_lore_stands_in_a_group_of_its_own_and_changes_nothing_in_front() -> None:
    late = evolve(GIVEN, lore_channel=LoreChannel.LATE)
    profile = compile_profile(late)
    assert texts(profile.parts) == ["Play Aria.", "A fox.", "!"]
    assert [(part.name, part.text) for part in profile.late_parts] == [
        ("pmp-dsh-tavern:part:0003:worldbook:content", "Dragons sleep."),
        ("pmp-dsh-tavern:part:0004:worldbook:content", "Rain."),
    ]
    assert profile.late_text == "Dragons sleep.\n\nRain."
    assert profile.variables == Variables(local={"mood": "calm"})
    other = compile_profile(evolve(late, lore=LORE[1:]))
    assert other.parts == profile.parts
    found = diff(profile, other)
    assert (texts(found.removed), found.common_prefix_bytes) == (
        ["Dragons sleep."], len(profile.system_text),
    )  # fmt: skip


def test_late_lore_counts_against_the_limit() -> None:
    given = evolve(GIVEN, lore_channel=LoreChannel.LATE, max_profile_bytes=36)
    profile = compile_profile(given)
    assert texts(profile.late_parts) == ["Dragons sleep."]
    assert profile.size_utf8_bytes == len(profile.system_text) + len(profile.late_text) == 35


# --- lore from a match ------------------------------------------------------------------------


def matched(*entries: Entry, text: str = "storm") -> MatchResult:
    index = compile_index([NamedBook(name="file", book=WorldBook(entries=entries))])
    context = ScanContext(messages=(ScanMessage(identity="1", text=text),))
    return match(index, context, dice=lambda _: 0)


def test_match_stands_for_its_lore() -> None:
    found = matched(Entry(uid=7, keys=("storm",), content="Rain."), Entry(uid=8, keys=("x",)))
    by_match = compile_profile(CompileInput(match=found))
    assert by_match == compile_profile(CompileInput(lore=lore_entries(found.placement)))
    with pytest.raises(ValueError, match="not from both"):
        CompileInput(match=found, lore=LORE)


def test_book_is_named_as_the_caller_keeps_it() -> None:
    found = matched(Entry(uid=7, constant=True, content="Rain."))
    books = {"file": BookRef(id="wb1", revision="r1")}
    profile = compile_profile(CompileInput(match=found, books=books))
    (part,) = profile.parts
    assert part.sources == (
        PartSource(
            kind=SourceKind.WORLD_BOOK,
            field="content",
            text="Rain.",
            resource_id="wb1",
            resource_revision="r1",
            entry_id="7",
            qualified_entry_id="wb1:7",
        ),
    )
    assert profile.active_lore == ("wb1:7",)


def test_text_that_the_scan_has_rewritten_stands_as_it_is() -> None:
    entry = Entry(uid=7, constant=True, content="{{char}} is here.", position=Position.BEFORE)
    index = compile_index([NamedBook(name="b", book=WorldBook(entries=(entry,)))])
    found = match(
        index, ScanContext(), expand=lambda text: text.replace("{{char}}", "Aria"),
        rewrite=lambda text, _: text.upper().replace("ARIA", "{{user}}"),
    )  # fmt: skip
    (part,) = compile_profile(CompileInput(match=found)).parts
    assert (part.text, part.sources[0].text) == ("{{user}} IS HERE.", "{{char}} is here.")


def test_equal_macros_of_two_texts_draw_for_themselves() -> None:
    told: list[str] = []

    def dice(purpose: str) -> float:
        told.append(purpose)
        return 0.0

    roll = "{{random::a::b}}"
    preset = Preset(
        prompts=parse_preset(
            b'{"prompts": [{"content": "%s", "enabled": true}]}' % roll.encode()
        ).value.prompts
    )
    lore = (evolve(LORE[0], content=roll), evolve(LORE[1], content=roll))
    given = CompileInput(
        preset=preset, character=evolve(CARD, description=roll), user=User(description=roll),
        lore=lore, macros=MacroContext(dice=dice),
    )  # fmt: skip
    compile_profile(given)
    assert told == [
        "/preset/prompts/0/content:random@0",
        "/user/description:random@0",
        "/character/description:random@0",
        "/lore/b:1:random@0",
        "/lore/b:2:random@0",
    ]
    seeded = evolve(given, macros=MacroContext(dice=SeededDice("s")))
    last = compile_profile(seeded).parts[-1].text
    assert compile_profile(evolve(seeded, lore=lore[1:])).parts[-1].text == last


# --- limits -----------------------------------------------------------------------------------


def test_limit_says_what_it_did() -> None:
    lore = tuple(LoreEntry(book="b", uid=str(uid), content="x" * 41) for uid in range(8))
    profile = compile_profile(CompileInput(lore=lore, max_profile_bytes=150))
    assert profile.lore_limit == LoreLimit(
        max_profile_bytes=150,
        max_lore_input_bytes=300,
        measured_bytes=7 * 43 - 2,
        retained_entries=3,
        omitted_entries=5,
    )
    assert compile_profile(CompileInput(lore=lore[:3], max_profile_bytes=150)).lore_limit is None


def test_no_more_than_4096_entries_are_tried() -> None:
    lore = tuple(LoreEntry(book="b", uid=str(uid), content="x") for uid in range(4097))
    profile = compile_profile(CompileInput(lore=lore))
    assert (len(profile.parts), profile.lore_limit and profile.lore_limit.omitted_entries) == (
        4096,
        1,
    )


@pytest.mark.parametrize("limit", range(2, 130, 7))
@pytest.mark.parametrize("macro", ["", "{{setvar::x::abcdefgh}}", "{{getvar::x}}{{getvar::x}}"])
def test_as_many_entries_stay_as_fit(macro: str, limit: int) -> None:
    lore = tuple(
        LoreEntry(book="b", uid=str(uid), content=f"{'xyz' * (uid % 4)}{macro}.")
        for uid in range(12)
    )
    given = CompileInput(lore=lore, max_profile_bytes=limit)
    found = compile_profile(given)
    assert found.size_utf8_bytes <= limit
    kept = len(found.active_lore)
    if kept < len(lore):
        roomy = evolve(given, max_profile_bytes=100_000)
        one_more = compile_profile(evolve(roomy, lore=lore[: kept + 1]))
        content = sum(len(one.content) for one in lore[: kept + 1])
        assert one_more.size_utf8_bytes > limit or content > 2 * limit


# --- persona ----------------------------------------------------------------------------------


def test_persona_that_gives_no_text_is_not_inserted() -> None:
    profile = compile_profile(CompileInput(user=User(description="{{setvar::x::1}}")))
    injection = profile.user_injection
    assert (profile.parts, injection.description_insertions, injection.description_placement) == (
        (), 0, "none",
    )  # fmt: skip
    assert (profile.variables.local, profile.diagnostics) == ({"x": "1"}, ())


def test_names_of_the_macros_stand_in_where_nobody_has_one() -> None:
    preset = parse_preset(b'{"prompts": [{"content": "{{char}}/{{user}}", "enabled": true}]}').value
    given = CompileInput(preset=preset, macros=MacroContext(char="Cy", user="Di"))
    assert texts(compile_profile(given).parts) == ["Cy/Di"]
    named = evolve(given, character=CARD, user=USER)
    assert texts(compile_profile(named).parts)[0] == "Aria/Bo"


def test_profile_of_nothing_has_empty_settings() -> None:
    assert compile_profile(CompileInput()).call_config == CallConfig()
    assert Profile().fingerprint == compile_profile(CompileInput()).fingerprint
