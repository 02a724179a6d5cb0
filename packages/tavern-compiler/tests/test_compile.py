"""Whole compiles: markers, overrides, what is appended, names, sources, limits."""

import attrs
import pytest

from tavern_compiler import (
    CallConfig,
    CharacterOptions,
    CompileInput,
    LoreEntry,
    Part,
    PartSource,
    Profile,
    ProfileTooLargeError,
    Relationship,
    ResourceRef,
    SourceKind,
    SystemPromptMode,
    User,
    UserInjection,
    compile_profile,
    lore_entries,
)
from tavern_format import (
    CharacterCard,
    DepthPrompt,
    Diagnostic,
    Entry,
    OrderEntry,
    Position,
    Preset,
    Prompt,
    PromptOrder,
    RegexScript,
    Severity,
    WorldBook,
    parse_preset,
)
from tavern_matcher import NamedBook, ScanContext, compile_index, match

CARD = CharacterCard(
    name="Aria",
    description="{{char}} is a fox.",
    personality="Warm",
    scenario="An inn.",
    message_examples="<START>",
    system_prompt="Card system.",
    post_history_instructions="Card closing.",
    greeting="Welcome, {{user}}.",
    depth_prompt=DepthPrompt(prompt="It rains."),
)
USER = User(name="Bo", description="A courier.")
LORE = (
    LoreEntry(book="b", uid="1", content="Dragons sleep."),
    LoreEntry(book="b", uid="2", content="{{char}} knows.", position=Position.AFTER),
)
ALL_MARKERS = (
    "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario",
    "worldInfoAfter", "dialogueExamples", "chatHistory",
)  # fmt: skip


def preset_of(*prompts: Prompt, off: tuple[str, ...] = ()) -> Preset:
    order = tuple(
        OrderEntry(identifier=prompt.identifier, enabled=prompt.identifier not in off)
        for prompt in prompts
    )
    orders = (PromptOrder(character_id=100001, order=order),)
    return Preset(prompts=prompts, prompt_orders=orders)


def text(identifier: str, content: str, **more: object) -> Prompt:
    return Prompt(identifier=identifier, content=content, role="system", **more)  # type: ignore[arg-type]


def markers(*identifiers: str) -> tuple[Prompt, ...]:
    return tuple(Prompt(identifier=identifier, marker=True) for identifier in identifiers)


def texts(profile: Profile) -> list[str]:
    return [part.text for part in profile.parts]


def codes(profile: Profile) -> list[str]:
    return [found.code for found in profile.diagnostics]


def test_nothing_compiles_to_nothing() -> None:
    assert compile_profile(CompileInput()) == Profile()


def test_markers_are_filled_in_the_order_of_the_preset() -> None:
    preset = preset_of(
        text("main", "Main for {{char}} and {{user}}."),
        *markers(*ALL_MARKERS),
        text("jailbreak", "Tail."),
    )
    card = attrs.evolve(CARD, system_prompt="", post_history_instructions="", depth_prompt=None)
    profile = compile_profile(CompileInput(preset=preset, character=card, user=USER, lore=LORE))
    prefix = "pmp-dsh-tavern:part:"
    assert [(part.name.removeprefix(prefix), part.text) for part in profile.parts] == [
        ("0000:preset:prompts_0_content", "Main for Aria and Bo."),
        ("0001:worldbook:content", "Dragons sleep."),
        ("0002:user:description", "A courier."),
        ("0003:character:description", "Aria is a fox."),
        ("0004:character:personality", "Warm"),
        ("0005:character:scenario", "An inn."),
        ("0006:worldbook:content", "Aria knows."),
        ("0007:character:messageExample", "<START>"),
        ("0008:preset:prompts_9_content", "Tail."),
        ("0009:character:greeting", "Welcome, Bo."),
    ]  # fmt: skip
    assert profile.system_text == "\n\n".join(texts(profile))
    assert profile.active_lore == ("b:1", "b:2")


def test_without_a_preset_everything_is_appended_in_a_fixed_order() -> None:
    profile = compile_profile(CompileInput(character=CARD, user=USER, lore=LORE))
    assert texts(profile) == [
        "A courier.", "Card system.", "Aria is a fox.", "Warm", "An inn.", "<START>",
        "Card closing.", "Welcome, Bo.", "It rains.", "Dragons sleep.", "Aria knows.",
    ]  # fmt: skip
    assert codes(profile) == [
        "USER_PERSONA_MARKER_FALLBACK",
        "CHARACTER_PHI_APPROXIMATE",
        "CHARACTER_GREETING_REFERENCE",
        "CHARACTER_DEPTH_APPROXIMATE",
    ]


def test_part_and_sources_are_recorded_whole() -> None:
    preset = preset_of(text("main", "🦊 {{description}} {{persona}}"))
    profile = compile_profile(
        CompileInput(
            preset=preset,
            character=CharacterCard(name="Aria", description="{{char}}."),
            user=USER,
            resources={
                SourceKind.PRESET: ResourceRef(id="p1", revision="r1"),
                SourceKind.CHARACTER: ResourceRef(id="c1"),
            },
        )
    )
    (part,) = profile.parts
    assert part == Part(
        name="pmp-dsh-tavern:part:0000:preset:prompts_0_content",
        text="🦊 Aria. A courier.",
        sources=(
            PartSource(
                kind=SourceKind.PRESET,
                field="prompts/0/content",
                text="🦊 {{description}} {{persona}}",
                resource_id="p1",
                resource_revision="r1",
                identifier="main",
                role="system",
            ),
            PartSource(
                kind=SourceKind.CHARACTER, field="description", text="{{char}}.", resource_id="c1"
            ),
            PartSource(kind=SourceKind.USER, field="description", text="A courier."),
        ),
    )
    assert (part.size_chars, part.size_utf16, part.size_utf8_bytes) == (18, 19, 21)
    assert (
        part.sources[0].hash == "1fbf182abf548cfd2e78f2b5b0a5d04f16d6d171c2389b4dc5ed5fa5ab77f754"
    )
    assert profile.user_injection == UserInjection(
        selected=True,
        description_available=True,
        description_utf16=10,
        description_insertions=1,
        description_placement="preset-macro:main",
    )


def test_lore_names_its_entry() -> None:
    (part, _) = compile_profile(CompileInput(lore=LORE)).parts
    assert part.sources == (
        PartSource(
            kind=SourceKind.WORLD_BOOK,
            field="content",
            text="Dragons sleep.",
            resource_id="b",
            entry_id="1",
            qualified_entry_id="b:1",
        ),
    )


@pytest.mark.parametrize(
    ("identifier", "field"), [("main", "system_prompt"), ("jailbreak", "post_history_instructions")]
)
class TestOverride:
    def run(
        self, identifier: str, field: str, card_text: str, **more: object
    ) -> tuple[Part, Profile]:
        preset = preset_of(text(identifier, "Own {{user}}", **more))
        card = CharacterCard(name="Aria", **{field: card_text})  # type: ignore[arg-type]
        profile = compile_profile(CompileInput(preset=preset, character=card))
        return profile.parts[0], profile

    def test_card_takes_the_place_of_the_prompt(self, identifier: str, field: str) -> None:
        part, profile = self.run(identifier, field, "By {{char}}")
        assert texts(profile) == ["By Aria"]
        assert [source.relationship for source in part.sources] == [
            Relationship.PLACEMENT_ONLY,
            Relationship.INPUT,
        ]

    def test_original_brings_the_prompt_back_in(self, identifier: str, field: str) -> None:
        part, profile = self.run(identifier, field, "{{original}}, by {{char}}")
        assert texts(profile) == ["Own User, by Aria"]
        assert {source.relationship for source in part.sources} == {Relationship.INPUT}

    def test_forbidden_override_is_appended_and_named(self, identifier: str, field: str) -> None:
        _, profile = self.run(identifier, field, "By card", forbid_overrides=True)
        assert texts(profile) == ["Own User", "By card"]
        assert any(code.endswith("_OVERRIDE_FORBIDDEN") for code in codes(profile))

    def test_blank_card_text_overrides_nothing(self, identifier: str, field: str) -> None:
        _, profile = self.run(identifier, field, " \n ")
        assert texts(profile) == ["Own User"]


def test_field_that_was_declined_is_not_sent_and_named() -> None:
    options = CharacterOptions(prefer_system_prompt=False, prefer_post_history=False)
    card = CharacterCard(name="A", system_prompt="S", post_history_instructions="P", greeting="G")
    profile = compile_profile(CompileInput(character=card, options=options, include_greeting=False))
    assert profile.parts == ()
    assert [(found.code, found.path) for found in profile.diagnostics] == [
        ("CHARACTER_FIELD_NOT_SENT", "/character/system_prompt"),
        ("CHARACTER_FIELD_NOT_SENT", "/character/post_history_instructions"),
        ("CHARACTER_FIELD_NOT_SENT", "/character/greeting"),
    ]


def test_repeated_marker_emits_once_and_is_named() -> None:
    preset = preset_of(
        *markers("charDescription", "worldInfoBefore", "personaDescription", "userPersona"),
        off=(),
    )
    doubled = attrs.evolve(preset, prompts=preset.prompts * 2, prompt_orders=())
    prompts = tuple(attrs.evolve(prompt, enabled=True) for prompt in doubled.prompts)
    card = CharacterCard(name="Aria", description="D")
    profile = compile_profile(
        CompileInput(
            preset=attrs.evolve(doubled, prompts=prompts), character=card, user=USER, lore=LORE[:1]
        )
    )
    assert texts(profile) == ["D", "Dragons sleep.", "A courier."]
    assert codes(profile).count("MARKER_REPEATED") == 5


def test_field_macro_consumes_the_field() -> None:
    preset = preset_of(
        text("main", "{{description}}|{{personality}}|{{scenario}}|{{mesExamples}}"),
        *markers("charDescription"),
    )
    card = CharacterCard(
        name="A", description="D", personality="P", scenario="S", message_examples="E"
    )
    profile = compile_profile(CompileInput(preset=preset, character=card))
    assert (texts(profile), codes(profile)) == (["D|P|S|E"], ["MARKER_REPEATED"])


def test_persona_is_shown_once() -> None:
    preset = preset_of(*markers("personaDescription"), text("x", "[{{persona}}]"))
    profile = compile_profile(CompileInput(preset=preset, user=USER))
    assert texts(profile) == ["A courier.", "[]"]
    assert [source.kind for source in profile.parts[1].sources] == [SourceKind.PRESET]
    assert profile.user_injection.description_placement == "preset-marker:personaDescription"


def test_marker_that_nothing_fills_is_named() -> None:
    profile = compile_profile(CompileInput(preset=preset_of(*markers("mystery"))))
    assert (profile.parts, codes(profile)) == ((), ["MARKER_UNKNOWN"])


def test_prompt_of_a_markers_name_is_filled_without_the_flag() -> None:
    preset = preset_of(text("scenario", "own text"))
    card = CharacterCard(name="A", scenario="S")
    assert texts(compile_profile(CompileInput(preset=preset, character=card))) == ["S"]


def test_content_of_a_switched_off_marker_is_appended_and_named() -> None:
    preset = preset_of(*markers("charDescription", "worldInfoAfter"), off=ALL_MARKERS)
    card = CharacterCard(name="A", description="D")
    profile = compile_profile(CompileInput(preset=preset, character=card, lore=LORE[1:]))
    assert texts(profile) == ["D", "A knows."]
    assert [(found.code, found.path) for found in profile.diagnostics] == [
        ("MARKER_OFF_APPENDED", "/preset/prompts/0"),
        ("MARKER_OFF_APPENDED", "/preset/prompts/1"),
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"name": "Aria", "nickname": "Ari"}, "Ari"),
        ({"name": "Aria", "nickname": "  "}, "Aria"),
        ({"name": ""}, "Assistant"),
    ],
)
def test_name_of_the_character(names: dict[str, str], expected: str) -> None:
    preset = preset_of(text("main", "{{char}}/{{user}}"))
    card = CharacterCard(**names)  # type: ignore[arg-type]
    profile = compile_profile(CompileInput(preset=preset, character=card))
    assert texts(profile) == [f"{expected}/User"]


@pytest.mark.parametrize(
    ("index", "expected", "code"),
    [(0, ["G0"], None), (2, ["G2"], None), (3, [], "GREETING_NOT_FOUND")],
)
def test_greeting_is_chosen(index: int, expected: list[str], code: str | None) -> None:
    card = CharacterCard(name="A", greeting="G0", alternate_greetings=("G1", "G2"))
    options = CharacterOptions(greeting_index=index)
    profile = compile_profile(CompileInput(character=card, options=options))
    assert texts(profile) == expected
    assert "GREETINGS_NOT_CHOSEN" in codes(profile)
    assert ("GREETING_NOT_FOUND" in codes(profile)) is (code is not None)


def test_every_other_field_of_the_card_is_named_as_never_sent() -> None:
    card = CharacterCard(
        name="A",
        creator_notes="n",
        creator_notes_multilingual={"en": "n"},
        group_only_greetings=("g",),
        tags=("t",),
        creator="c",
        character_version="1",
        regex_scripts=(RegexScript(name="s"),),
    )
    assert compile_profile(CompileInput(character=card)).diagnostics == (
        Diagnostic(
            "CHARACTER_FIELDS_NEVER_SENT",
            Severity.INFO,
            "/character",
            "Never sent to a model: creator_notes, creator_notes_multilingual,"
            " group_only_greetings, tags, creator, character_version.",
        ),
        Diagnostic(
            "REGEX_SCRIPTS_NOT_EXECUTED",
            Severity.WARNING,
            "/character/regex_scripts",
            "Parts are not rewritten: regex scripts that do not run here, 1.",
        ),
    )


def test_formats_that_would_change_a_text_are_named() -> None:
    preset = Preset(
        world_info_format="[{0}]", scenario_format="{{scenario}}", personality_format="is {{x}}"
    )
    profile = compile_profile(CompileInput(preset=preset))
    paths = [found.path for found in profile.diagnostics if found.code == "FORMAT_NOT_EXECUTED"]
    assert paths == ["/preset/world_info_format", "/preset/personality_format"]


def test_macros_that_stay_are_named_where_they_stand() -> None:
    preset = preset_of(text("main", "{{roll:1d6}}"))
    card = CharacterCard(name="A", description="{{x}} {{persona}}", system_prompt="{{y}}")
    lore = (LoreEntry(book="b", uid="1", content="{{z}}"),)
    user = User(name="Bo", description="{{w}}")
    profile = compile_profile(CompileInput(preset=preset, character=card, user=user, lore=lore))
    assert [(found.code, found.path) for found in profile.diagnostics] == [
        ("MACRO_NOT_EXECUTED", "/character/system_prompt"),
        ("MACRO_NOT_EXECUTED", "/user/description"),
        ("USER_PERSONA_MARKER_FALLBACK", "/user/description"),
        ("MACRO_NOT_EXECUTED", "/character/description"),
        ("MACRO_EMPTY_IN_FIELD", "/character/description"),
        ("MACRO_NOT_EXECUTED", "/lore/0/content"),
    ]


def test_positions_that_sections_do_not_have_are_approximated_and_named() -> None:
    positions = (
        Position.BEFORE, Position.AFTER, Position.AN_TOP, Position.AN_BOTTOM, Position.EM_TOP,
        Position.EM_BOTTOM, Position.AT_DEPTH, Position.OUTLET, None,
    )  # fmt: skip
    entries = tuple(
        Entry(uid=uid, constant=True, content=str(position), position=position, outlet_name="o")
        for uid, position in enumerate(positions)
    )
    index = compile_index([NamedBook(name="w", book=WorldBook(entries=entries))])
    lore = lore_entries(match(index, ScanContext()).placement)
    profile = compile_profile(CompileInput(lore=lore))
    assert [part.sources[0].entry_id for part in profile.parts] == [
        "0",
        "2",
        "4",
        "1",
        "3",
        "5",
        "6",
    ]
    assert codes(profile) == [
        "WORLD_BOOK_POSITION_APPROXIMATED",
        "WORLD_BOOK_POSITION_APPROXIMATED",
        "WORLD_BOOK_POSITION_APPROXIMATED",
        "WORLD_BOOK_POSITION_APPROXIMATED",
        "WORLD_BOOK_POSITION_APPROXIMATED",
        "WORLD_BOOK_OUTLET_SKIPPED",
        "POSITION_NOT_PLACED",
    ]
    assert profile.active_lore == ("w:0", "w:2", "w:4", "w:1", "w:3", "w:5", "w:6")


def test_lore_that_does_not_fit_is_left_out_and_named() -> None:
    lore = tuple(LoreEntry(book="b", uid=str(uid), content="x" * 40) for uid in range(8))
    given = CompileInput(preset=preset_of(text("main", "M")), lore=lore, max_profile_bytes=150)
    profile = compile_profile(given)
    assert profile.active_lore == ("b:0", "b:1", "b:2")
    assert profile.size_utf8_bytes == 1 + 3 * 42
    assert [(found.code, found.message) for found in profile.diagnostics] == [
        (
            "TAVERN_PROFILE_LORE_LIMITED",
            "5 of 8 lore entries are left out to keep the profile within 150 bytes.",
        )
    ]


def test_lore_of_the_highest_order_stays_in_its_place() -> None:
    orders = (1, 9, 5, 9)
    lore = tuple(
        LoreEntry(
            book="b", uid=str(uid), content="x" * 40, order=order, position=Position.EM_BOTTOM
        )
        for uid, order in enumerate(orders)
    )
    profile = compile_profile(CompileInput(lore=lore, max_profile_bytes=3 * 42))
    assert profile.active_lore == ("b:1", "b:2", "b:3")
    assert [found.path for found in profile.diagnostics] == [
        "/lore/1",
        "/lore/2",
        "/lore/3",
        "/lore",
    ]


def test_what_is_not_lore_is_never_cut() -> None:
    given = CompileInput(
        preset=preset_of(text("main", "龙" * 50)), max_profile_bytes=149, lore=LORE
    )
    with pytest.raises(ProfileTooLargeError) as caught:
        compile_profile(given)
    error = caught.value
    assert (error.code, error.actual_bytes, error.limit_bytes) == (
        "TAVERN_PROFILE_TOO_LARGE", 150, 149,
    )  # fmt: skip


@pytest.mark.parametrize("size", [0, 2 * 1024 * 1024 + 1])
def test_limit_out_of_range_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="max_profile_bytes"):
        CompileInput(max_profile_bytes=size)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("{}", CallConfig()),
        ('{"temperature": 3.5}', CallConfig(temperature=3.5)),
        ('{"temperature": 0}', CallConfig(temperature=0)),
        ('{"openai_max_tokens": 400}', CallConfig(max_tokens=400)),
        ('{"openai_max_tokens": 0, "max_tokens": 50}', CallConfig(max_tokens=50)),
        ('{"openai_max_tokens": 1.5}', CallConfig()),
        ('{"openai_max_tokens": 9007199254740992}', CallConfig()),
        ('{"reasoning_effort": "high"}', CallConfig(reasoning_effort="high")),
        ('{"reasoning_effort": "auto"}', CallConfig()),
        ('{"prompts": [], "stop": ["#", "", 1, "b"]}', CallConfig(stop=("#", "b"))),
        ('{"prompts": [], "stop": "#"}', CallConfig()),
    ],
)
def test_settings_for_the_call(document: str, expected: CallConfig) -> None:
    preset = parse_preset(document.encode()).value
    assert compile_profile(CompileInput(preset=preset)).call_config == expected


def test_number_that_no_double_can_hold_is_no_setting() -> None:
    preset = Preset(temperature=10**400, reply_size_tokens=float("inf"))
    assert compile_profile(CompileInput(preset=preset)).call_config == CallConfig()


def test_mode_is_passed_on() -> None:
    given = CompileInput(system_prompt_mode=SystemPromptMode.REPLACE)
    assert compile_profile(given).system_prompt_mode == "replace"


def test_half_a_surrogate_pair_is_measured_as_node_does() -> None:
    source = PartSource(kind=SourceKind.USER, field="description", text="\ud83e")
    assert (source.size_chars, source.size_utf16, source.size_utf8_bytes) == (1, 1, 3)
    assert source.hash == "83d544ccc223c057d2bf80d3f2a32982c32c3c0db8e2674820da5064783fb097"
