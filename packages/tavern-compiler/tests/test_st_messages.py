import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from tavern_compiler import (
    AuthorsNote,
    Expanded,
    ExtensionPosition,
    ExtensionPrompt,
    GroupChat,
    GroupMember,
    HostFacts,
    MacroContext,
    MemberCard,
    MessageSource,
    MessageSourceKind,
    Projection,
    ProjectionInput,
    ProjectionProfile,
    ProjectionSettings,
    ProjectionTools,
    PromptMessage,
    Rewritten,
    TextToRewrite,
    Variables,
    expand_with,
    project_messages,
)
from tavern_format import (
    CharacterCard,
    ChatMessage,
    DepthPrompt,
    GenerationMode,
    Persona,
    PersonaPosition,
    Position,
    Preset,
    Role,
    parse_preset,
)
from tavern_format import Placement as ScriptPlacement
from tavern_matcher import Activated, DepthBlock, EntryId, Placement

REPAIRS = json.loads((Path(__file__).parent / "cases" / "projection_repairs.json").read_text())
CHAT = ("user: 1", "assistant: 2", "user: 3")
ST, SAFE = ProjectionProfile.ST_1_19, ProjectionProfile.SAFE


def preset_of(
    order: list[str], prompts: list[dict[str, Any]] | None = None, **settings: object
) -> Preset:
    """Make a preset of its lines (`!` switches one off); a budget that nothing exceeds."""
    lines = [
        {"identifier": name.removeprefix("!"), "enabled": not name.startswith("!")}
        for name in order
    ]
    document = {
        "openai_max_context": 100_000,
        "openai_max_tokens": 0,
        "new_chat_prompt": "",
        **settings,
        "prompts": prompts or [],
        "prompt_order": [{"character_id": 100001, "order": lines}],
    }
    return parse_preset(json.dumps(document).encode()).value


def chat_of(*lines: str) -> tuple[ChatMessage, ...]:
    pairs = (line.split(": ", 1) for line in lines)
    return tuple(
        ChatMessage(name="User" if role == "user" else "Ada", is_user=role == "user", text=text)
        for role, text in pairs
    )


def shown(done: Projection) -> list[str]:
    return [f"{one.role}: {one.content}" for one in done.messages]


def project(
    preset: Preset, profile: ProjectionProfile = ST, chat: tuple[str, ...] = CHAT, **given: Any
) -> Projection:
    card = given.pop("character", CharacterCard(name="Ada"))
    made = ProjectionInput(preset=preset, chat=chat_of(*chat), character=card, **given)
    tools = ProjectionTools(profile=profile)
    return project_messages(made, count_tokens=len, tools=tools)


# --- faults and repairs ------------------------------------------------------------------------


def run_repair(case: Mapping[str, Any], profile: ProjectionProfile) -> Projection:
    given: dict[str, Any] = {"type": case.get("type", "normal")}
    if "note" in case:
        note = case["note"]
        given["note"] = AuthorsNote(text=note["text"], position=ExtensionPosition(note["position"]))
    if "persona" in case:
        raw = {**case["persona"], "position": PersonaPosition(case["persona"]["position"])}
        given["persona"] = Persona(**raw)
    return project(
        preset_of(
            case["order"],
            case.get("prompts"),
            **{"openai_max_context": case.get("context", 100_000), **case.get("settings", {})},
        ),
        profile,
        tuple(case.get("chat", CHAT)),
        character=CharacterCard(name="Ada", **case.get("card", {})),
        **given,
    )


@pytest.mark.parametrize("case", REPAIRS["cases"], ids=lambda case: case["id"])
def test_fault_is_kept_by_one_profile_and_repaired_by_the_other(case: Mapping[str, Any]) -> None:
    strict, safe = run_repair(case, ST), run_repair(case, SAFE)
    assert shown(strict) == case["st"]
    assert shown(safe) == case["safe"]
    lost = {one.diagnostic.code: one.tokens for one in strict.dropped}
    assert lost == case.get("lost", {})
    assert safe.dropped == ()


# --- sources -----------------------------------------------------------------------------------


def source(kind: MessageSourceKind, identifier: str, field: str) -> MessageSource:
    return MessageSource(kind=kind, identifier=identifier, field=field)


def activated(index: int, content: str, **place: Any) -> Activated:
    return Activated(entry=EntryId(book="b", index=index, uid=index + 10), content=content, **place)


def test_every_message_names_its_sources() -> None:
    note = activated(1, "L1", position=Position.AT_DEPTH, depth=1)
    done = project(
        preset_of(
            ["main", "worldInfoBefore", "charDescription", "d", "chatHistory"],
            [
                {"identifier": "main", "role": "system", "content": "M", "system_prompt": True},
                {
                    "identifier": "d",
                    "role": "system",
                    "content": "D",
                    "system_prompt": False,
                    "injection_position": 1,
                    "injection_depth": 1,
                },
            ],
        ),
        chat=("user: 1",),
        character=CharacterCard(name="Ada", description="DESC", system_prompt="C {{original}}"),
        lore=Placement(
            before=(activated(0, "L0"),),
            at_depth=(DepthBlock(depth=1, role=Role.SYSTEM, texts=(note,)),),
        ),
        note=AuthorsNote(text="N", position=ExtensionPosition.IN_PROMPT, role=Role.USER),
    )
    kind = MessageSourceKind
    found = {one.content: one.sources for one in done.messages}
    assert found == {
        "C M": (
            source(kind.CHARACTER, "Ada", "system_prompt"),
            source(kind.PRESET, "main", "prompts/0/content"),
        ),
        "N": (source(kind.NOTE, "", "text"),),
        "L0": (
            source(kind.WORLD_BOOK, "b:10", "b/0/content"),
            source(kind.PRESET, "worldInfoBefore", "prompts/7/content"),
        ),
        "DESC": (
            source(kind.CHARACTER, "Ada", "description"),
            source(kind.PRESET, "charDescription", "prompts/9/content"),
        ),
        "D\nL1": (
            source(kind.PRESET, "d", "prompts/1/content"),
            source(kind.WORLD_BOOK, "b:11", "b/1/content"),
        ),
        "1": (source(kind.CHAT, "0", "0/text"),),
    }
    assert done.messages[0].sources[0].path == "/character/system_prompt"
    assert done.overridden == ("main",)


def test_merged_neighbours_keep_all_sources() -> None:
    preset = preset_of(
        ["main", "nsfw"],
        [
            {"identifier": "main", "role": "system", "content": "A", "system_prompt": True},
            {"identifier": "nsfw", "role": "system", "content": "B", "system_prompt": True},
        ],
        squash_system_messages=True,
    )
    (only,) = project(preset).messages
    assert (only.content, only.identifier, only.collection) == ("A\nB", "main", None)
    assert [row.identifier for row in only.sources] == ["main", "nsfw"]
    preview = project(preset, settings=ProjectionSettings(dry_run=True))
    assert shown(preview) == ["system: A", "system: B"]


# --- budget ------------------------------------------------------------------------------------


def test_what_has_no_room_is_named_with_its_cost() -> None:
    preset = preset_of(
        ["chatHistory", "dialogueExamples"], openai_max_context=7, new_example_chat_prompt="EX"
    )
    chat = ("user: aaaa", "assistant: bb", "user: cc")
    card = CharacterCard(name="Ada", message_examples="<START>\nUser: q\n<START>\nAda: r")
    done = project(preset, chat=chat, character=card)
    assert shown(done) == ["assistant: bb", "user: cc"]
    found = [
        (one.diagnostic.code, one.identifier, one.tokens, one.diagnostic.path)
        for one in done.dropped
    ]
    examples = "/character/message_examples"
    assert found == [
        ("HISTORY_MESSAGE_DROPPED", "chatHistory-1", 4, "/chat/0/text"),
        ("EXAMPLES_DROPPED", "dialogueExamples 0", 2 + 1 + len("example_user"), examples),
        ("EXAMPLES_DROPPED", "dialogueExamples 1", 2 + 1 + len("example_assistant"), examples),
    ]
    assert [one.diagnostic for one in done.dropped] == [
        one for one in done.diagnostics if one.code.endswith("_DROPPED")
    ]
    assert (done.tokens_left, done.over_budget) == (0, None)


def test_pinned_examples_are_paid_before_the_chat() -> None:
    preset = preset_of(
        ["chatHistory", "dialogueExamples"], openai_max_context=20, new_example_chat_prompt=""
    )
    card = CharacterCard(name="Ada", message_examples="User: q")
    pinned = ProjectionSettings(pin_examples=True)
    chat = ("user: aaaa", "assistant: bbbb")
    assert shown(project(preset, chat=chat, character=card)) == ["user: aaaa", "assistant: bbbb"]
    done = project(preset, chat=chat, character=card, settings=pinned)
    assert shown(done) == ["assistant: bbbb", "system: q"]


def test_a_mandatory_prompt_without_room_ends_the_request() -> None:
    prompts = [{"identifier": "main", "role": "system", "content": "MMMM", "system_prompt": True}]
    preset = preset_of(["main", "chatHistory"], prompts, openai_max_context=6)
    done = project(preset)
    assert (done.over_budget, shown(done)) == ("main", [])
    assert [(one.diagnostic.code, one.tokens) for one in done.dropped] == [
        ("MANDATORY_OVER_BUDGET", 4),
        ("NOT_REACHED", 3),
    ]


def test_each_message_may_cost_more_than_its_text() -> None:
    preset = preset_of(["chatHistory"], openai_max_context=3 + 2 * (1 + 4))
    done = project(preset, settings=ProjectionSettings(tokens_per_message=4))
    assert [(one.content, one.tokens) for one in done.messages] == [("2", 5), ("3", 5)]


# --- macros and scripts ------------------------------------------------------------------------


def counting(text: str, _: MacroContext, state: object) -> Expanded:
    """Expand `#` to the number of calls so far."""
    calls = (state if isinstance(state, int) else 0) + text.count("#")
    return Expanded(text=text.replace("#", str(calls)), state=calls)


def test_the_state_of_macros_goes_through_all_texts_in_order() -> None:
    prompts = [{"identifier": "main", "role": "system", "content": "#", "system_prompt": True}]
    given = ProjectionInput(
        preset=preset_of(["main", "chatHistory"], prompts),
        character=CharacterCard(name="Ada", description="#"),
        chat=chat_of("user: x", "assistant: #", "user: #"),
        quiet_prompt="#",
    )
    tools = ProjectionTools(expand=counting, macro_state=10)
    done = project_messages(given, count_tokens=len, tools=tools)
    assert shown(done) == [
        "system: 13",  # after the quiet prompt and the description
        "user: x",
        "assistant: 15",  # the chat runs from its newest message
        "user: 14",
        "system: 12",
        "system: 11",
    ]
    assert done.macro_state == 15


def test_scripts_see_place_and_depth() -> None:
    seen: list[tuple[str, ScriptPlacement, float | None]] = []

    def rewrite(given: TextToRewrite) -> Rewritten:
        seen.append((given.text, given.placement, given.depth))
        return Rewritten(text=f"<{given.text}>", state=given.state)

    given = ProjectionInput(
        preset=preset_of(["chatHistory"]),
        chat=chat_of("user: 1", "assistant: 2"),
        lore=Placement(before=(activated(0, "L"),)),
        type="continue",
    )
    done = project_messages(given, count_tokens=len, tools=ProjectionTools(rewrite=rewrite))
    assert seen == [
        ("1", ScriptPlacement.USER_INPUT, 0),
        ("2", ScriptPlacement.AI_OUTPUT, -1),
        ("L", ScriptPlacement.WORLD_INFO, None),
    ]
    assert shown(done) == ["user: <1>", "system: <L>", "assistant: <2>"]


def test_macros_show_what_a_scope_has() -> None:
    scope = MacroContext(
        user="Bo",
        char="Ada",
        group=(GroupMember(name="Ada"), GroupMember(name="Cy")),
        description="D of {{char}}",
        host=HostFacts(outlets={"box": "L"}),
        dynamic={"lastChatMessage": "go"},
    )
    expand = expand_with(MacroContext(variables=Variables(local={"n": "1"})))
    text = (
        "{{group}}|{{description}}|{{outlet::box}}|{{outlet::no}}|{{lastchatmessage}}|{{incvar::n}}"
    )
    done = expand(text, scope, None)
    assert (done.text, done.state) == ("Ada, Cy|D of Ada|L||go|2", Variables(local={"n": 2}))
    inside = attrs.evolve(scope, card=False)
    assert expand("{{description}}{{getvar::n}}", inside, done.state).text == "2"


def test_lore_that_a_scan_has_finished_is_taken_as_it_is() -> None:
    done = activated(0, "{{char}}", text="{{char}} F")
    given = ProjectionInput(
        preset=preset_of(["worldInfoBefore"]), lore=Placement(before=(done,)), char_name="Ada"
    )
    wanted = {False: ["system: Ada"], True: ["system: Ada F"]}
    for finished, messages in wanted.items():
        own = attrs.evolve(given, lore_expanded=finished)
        assert shown(project_messages(own, count_tokens=len)) == messages


@pytest.mark.parametrize(
    ("depth", "strict", "safe"), [(None, 3, 0), ("1", 2, 2), ("x", None, None), (2.0, 1, 1)]
)
def test_depth_of_lore_is_read_as_a_number(
    depth: float | str | None, strict: int | None, safe: int | None
) -> None:
    one = activated(0, "L", position=Position.AT_DEPTH, depth=depth)
    block = DepthBlock(depth=depth, role=Role.SYSTEM, texts=(one,))
    for profile, place in ((ST, strict), (SAFE, safe)):
        done = project(preset_of(["chatHistory"]), profile, lore=Placement(at_depth=(block,)))
        texts = [message.content for message in done.messages]
        assert (texts.index("L") if "L" in texts else None) == place


# --- what is said ------------------------------------------------------------------------------


def test_what_no_message_holds_is_named() -> None:
    picture = ChatMessage(name="User", is_user=True, text="1", extra={"media": [{"url": "x"}]})
    given = ProjectionInput(
        preset=preset_of(["chatHistory"]),
        chat=(picture,),
        persona=Persona(name="User", description="P", position=PersonaPosition.TOP_AN),
        note=AuthorsNote(text="N", interval_messages=2),
        lore=Placement(an_top=(activated(0, "T"),), unplaced=(activated(1, "U", position=None),)),
        extension_prompts={
            "k": ExtensionPrompt(value="E", position=ExtensionPosition.IN_CHAT, depth=0.5)
        },
    )
    done = project_messages(given, count_tokens=len)
    assert shown(done) == ["user: 1"]
    assert [(one.code, one.path) for one in done.diagnostics] == [
        ("NOTE_NOT_DUE", "/lore/b/0/content"),
        ("NOTE_NOT_DUE", "/persona/description"),
        ("LORE_NOT_PLACED", "/lore/b/1"),
        ("MESSAGE_EXTRA_NOT_SENT", "/chat/0/extra"),
        ("INJECTION_LOST", "/extension_prompts/k/value"),
    ]


def test_without_history_in_the_order_injections_are_lost_with_their_cost() -> None:
    done = project(preset_of(["!chatHistory"]), note=AuthorsNote(text="NOTE"))
    assert [(one.diagnostic.code, one.tokens) for one in done.dropped] == [
        ("INJECTION_LOST", 4),
        ("HISTORY_NOT_PLACED", 3),
    ]


def test_what_stands_behind_too_large_a_prompt_is_named_with_its_cost() -> None:
    prompts = [{"identifier": "main", "content": "M" * 9, "system_prompt": True}]
    order = ["main", "charDescription", "dialogueExamples", "chatHistory"]
    card = CharacterCard(
        name="Ada", description="DD", message_examples="<START>\nAda: hm", scenario="S"
    )
    done = project(
        preset_of(order, prompts, openai_max_context=10),
        character=card,
        note=AuthorsNote(text="NOTE"),
        quiet_prompt="Q",
        type="quiet",
    )
    assert [(one.identifier, one.tokens, one.diagnostic.code) for one in done.dropped] == [
        ("main", 9, "MANDATORY_OVER_BUDGET"),
        ("charDescription", 2, "NOT_REACHED"),
        ("scenario", 1, "NOT_REACHED"),
        ("quietPrompt", 1, "NOT_REACHED"),
        ("2_floating_prompt", 4, "NOT_REACHED"),
        ("chatHistory", 3, "NOT_REACHED"),
        ("dialogueExamples", 19, "NOT_REACHED"),
    ]
    assert [source.path for source in done.dropped[-2].sources] == [
        "/chat/0/text",
        "/chat/1/text",
        "/chat/2/text",
    ]


def test_texts_whose_marker_is_off_are_named_with_their_cost() -> None:
    card = CharacterCard(name="Ada", description="DD", message_examples="<START>\nAda: hm")
    done = project(
        preset_of(["!charDescription", "!dialogueExamples", "chatHistory"]), character=card
    )
    assert [(one.identifier, one.tokens, one.diagnostic.code) for one in done.dropped] == [
        ("charDescription", 2, "PROMPT_OFF"),
        ("dialogueExamples", 19, "EXAMPLES_NOT_PLACED"),
    ]


def test_messages_are_frozen_values() -> None:
    first, second = project(preset_of(["chatHistory"])), project(preset_of(["chatHistory"]))
    assert first == second
    assert isinstance(first.messages[0], PromptMessage)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        first.messages[0].content = "x"  # type: ignore[misc]


def test_texts_of_a_group_are_named_and_draw_one_by_one() -> None:
    told: list[str] = []

    def dice(purpose: str) -> float:
        told.append(purpose)
        return 0.0

    roll = "{{random::a::b}}{{nobody}}"
    members = tuple(
        MemberCard(card=CharacterCard(name=name, description=roll, depth_prompt=DepthPrompt()))
        for name in ("Ada", "Cy")
    )
    group = GroupChat(members=members, mode=GenerationMode.APPEND, join_prefix=roll)
    given = ProjectionInput(preset=preset_of(["charDescription"]), group=group)
    given = attrs.evolve(given, character=members[0].card)
    tools = ProjectionTools(expand=expand_with(MacroContext(dice=dice)))
    done = project_messages(given, count_tokens=len, tools=tools)
    assert told == [
        "/group/join_prefix:/group/members/0/card/description:random@0",
        "/group/members/0/card/description:random@0",
        "/group/join_prefix:/group/members/1/card/description:random@0",
        "/group/members/1/card/description:random@0",
    ]
    paths = dict.fromkeys(one.path for one in done.diagnostics if one.code == "MACRO_NOT_EXECUTED")
    assert list(paths) == [
        "/group/join_prefix",
        "/group/members/0/card/description",
        "/group/members/1/card/description",
    ]
    sources = [source.path for one in done.messages for source in one.sources]
    assert sources[:2] == list(paths)[1:]


def test_names_in_paths_are_escaped() -> None:
    book = Activated(entry=EntryId(book="a/b~c", index=3), content="{{nobody}}")
    rows = {"x/y": ExtensionPrompt(value="{{nobody}}")}
    given = ProjectionInput(
        preset=preset_of(["main", "worldInfoBefore"], [{"identifier": "main", "content": "m"}]),
        lore=Placement(before=(book,), unplaced=(book,)),
        extension_prompts=rows,
    )
    done = project_messages(given, count_tokens=len)
    assert {one.path for one in done.diagnostics} >= {
        "/lore/a~1b~0c/3",
        "/lore/a~1b~0c/3/content",
        "/extension_prompts/x~1y/value",
    }
