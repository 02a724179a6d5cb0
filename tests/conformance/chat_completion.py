"""Area `chat_completion`: the request's messages of SillyTavern 1.19.0, with internal identifiers.

`about.defaults` of the file is what every case starts from; `preset` and `character` of a case are
merged into it one level deep. Compared are the messages with role, text, name, identifier and the
slot that holds them, which prompts the card replaced, and whether mandatory prompts had no room;
`stage` compares the texts of lore, bias and continuation on the way there. A token is one UTF-16
unit of text and name, as in the record.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tavern_compiler import (
    AuthorsNote,
    ChatOverrides,
    ExtensionPosition,
    ExtensionPrompt,
    GroupChat,
    MacroContext,
    MemberCard,
    ProjectionInput,
    ProjectionSettings,
    ProjectionTools,
    PromptMessage,
    Rewrite,
    ScriptLists,
    Variables,
    expand_with,
    project_messages,
    prompt_inputs,
    rewrite_with,
)
from tavern_format import (
    CharacterCard,
    DepthPrompt,
    GenerationMode,
    Persona,
    PersonaPosition,
    Position,
    Role,
    message_from_json,
    parse_preset,
    parse_regex_scripts,
)
from tavern_matcher import Activated, DepthBlock, EntryId, Placement
from tests.conformance._cases import Case
from tests.conformance._findings import Findings

_OVER_BUDGET = "mandatory_over_budget"
_VECTORS = Path(__file__).parents[1] / "vectors"
_NOW = datetime(2024, 1, 1, tzinfo=UTC)


def load(area: str, document: Any) -> Iterator[Case]:
    """Merge every case into the defaults of its file."""
    defaults = document["about"]["defaults"]
    for fields in document["cases"]:
        given = {**defaults, **fields["input"]}
        for name in ("preset", "character"):
            given[name] = {**defaults[name], **fields["input"].get(name, {})}
        yield Case(area, fields["id"], {**fields, "given": given})


def check(case: Case, findings: Findings) -> None:
    """Compare one request."""
    given = case.fields["given"]
    wanted = case.fields["expected"]
    projection_input = _input(given)
    tools = ProjectionTools(
        expand=expand_with(_context(given)),
        rewrite=_rewrite(given),
        default_texts=_default_texts(),
    )
    done = project_messages(projection_input, count_tokens=_units, tools=tools)
    findings.same("messages", [_message(one) for one in done.messages], wanted["messages"])
    error = None if done.over_budget is None else _OVER_BUDGET
    findings.same("error", error, wanted["error"])
    findings.same("overridden", list(done.overridden), wanted["overridden"])
    inputs = prompt_inputs(projection_input, tools=tools)
    stage = {
        "worldInfoBefore": inputs.lore_before,
        "worldInfoAfter": inputs.lore_after,
        "bias": inputs.bias,
        "cyclePrompt": inputs.cycle_prompt,
    }
    findings.same("stage", stage, case.fields["stage"], ordered=False)


@cache
def _default_texts() -> dict[str, str]:
    """Take SillyTavern's own main prompt from the record of a preset without prompts."""
    document = json.loads((_VECTORS / "formats" / "oai_prompts.json").read_text(encoding="utf-8"))
    empty = next(case for case in document["cases"] if case["id"] == "oai_prompts/empty")
    return {"main": empty["oracles"]["st_promptManager"]["main_content"]}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _message(message: PromptMessage) -> dict[str, Any]:
    shown = {"role": message.role, "content": message.content}
    if message.name:
        shown["name"] = message.name
    if message.identifier is not None:
        shown["identifier"] = message.identifier
    return {**shown, "collection": message.collection}


def _context(given: Mapping[str, Any]) -> MacroContext:
    variables = given.get("variables", {})
    return MacroContext(
        variables=Variables(local=variables.get("local", {}), shared=variables.get("global", {})),
        now=_NOW,
        dice=lambda _: 0.0,
    )


def _rewrite(given: Mapping[str, Any]) -> Rewrite:
    scripts = json.dumps(given.get("regex_scripts", [])).encode()
    lists = ScriptLists(shared=parse_regex_scripts(scripts).value.scripts)
    return rewrite_with(lists, _context(given))


def _input(given: Mapping[str, Any]) -> ProjectionInput:
    metadata = given.get("chat_metadata", {})
    group = _group(given)
    speaker = next((one.card for one in group.members if one.speaking), None) if group else None
    return ProjectionInput(
        preset=parse_preset(json.dumps(given["preset"]).encode()).value,
        character=_card(given["character"], given["char"]) if speaker is None else speaker,
        char_name=given["char"],
        persona=Persona(
            name=given["user"],
            description=given["persona"],
            position=PersonaPosition(given.get("persona_position", 0)),
            depth=given.get("persona_depth", 2),
            role=given.get("persona_role", 0),
        ),
        chat=tuple(message_from_json(raw) for raw in given["chat"]),
        lore=_lore(given.get("world_info", [])),
        note=_note(metadata),
        overrides=ChatOverrides(
            system_prompt=metadata.get("system_prompt", ""),
            scenario=metadata.get("scenario", ""),
            message_examples=metadata.get("mes_example", ""),
        ),
        group=group,
        extension_prompts={
            key: _extension_prompt(raw) for key, raw in given.get("extension_prompts", {}).items()
        },
        type=given["type"],
        quiet_prompt=given.get("quiet_prompt", ""),
        skip_notes=given.get("skipWIAN", False),
        settings=_settings(given),
    )


def _settings(given: Mapping[str, Any]) -> ProjectionSettings:
    power_user = given.get("power_user", {})
    return ProjectionSettings(
        prefer_card_system_prompt=power_user.get("prefer_character_prompt", True),
        prefer_card_post_history=power_user.get("prefer_character_jailbreak", True),
        pin_examples=power_user.get("pin_examples", False),
        strip_examples=power_user.get("strip_examples", False),
        collapse_newlines=power_user.get("collapse_newlines", False),
        user_bias=power_user.get("user_prompt_bias", ""),
        dry_run=given.get("live", True) is False,
    )


def _card(raw: Mapping[str, Any], name: str) -> CharacterCard:
    note = raw.get("depth_prompt")
    return CharacterCard(
        name=name,
        description=raw.get("description", ""),
        personality=raw.get("personality", ""),
        scenario=raw.get("scenario", ""),
        greeting=raw.get("first_mes", ""),
        message_examples=raw.get("mes_example", ""),
        system_prompt=raw.get("system_prompt", ""),
        post_history_instructions=raw.get("post_history_instructions", ""),
        depth_prompt=None if note is None else _depth_note(note),
    )


def _depth_note(raw: Mapping[str, Any]) -> DepthPrompt:
    depth = raw.get("depth")
    return DepthPrompt(
        prompt=raw.get("prompt", ""),
        depth=4 if depth is None else depth,
        role=raw.get("role") or "system",
    )


def _role(number: Any) -> Role:
    return Role(number) if number in tuple(Role) else Role.SYSTEM


def _group(given: Mapping[str, Any]) -> GroupChat | None:
    raw = given.get("group")
    if raw is None:
        return None
    speaking = given.get("chid", 0)
    places = {f"{one['name']}.png": at for at, one in enumerate(given["characters"])}
    members = [
        MemberCard(
            card=_card(given["characters"][places[avatar]], given["characters"][at]["name"]),
            muted=avatar in raw.get("disabled_members", []),
            speaking=places[avatar] == speaking,
        )
        for at, avatar in enumerate(raw["members"])
        if avatar in places
    ]
    return GroupChat(
        members=tuple(members),
        mode=GenerationMode(raw.get("generation_mode", 0)),
        join_prefix=raw.get("generation_mode_join_prefix", ""),
        join_suffix=raw.get("generation_mode_join_suffix", ""),
    )


def _note(metadata: Mapping[str, Any]) -> AuthorsNote:
    return AuthorsNote(
        text=metadata.get("note_prompt", ""),
        interval_messages=metadata.get("note_interval", 1),
        position=ExtensionPosition(metadata.get("note_position", 1)),
        depth=metadata.get("note_depth", 4),
        role=_role(metadata.get("note_role")),
    )


def _extension_prompt(raw: Mapping[str, Any]) -> ExtensionPrompt:
    return ExtensionPrompt(
        value=raw["value"],
        position=ExtensionPosition(raw["position"]),
        depth=raw.get("depth", 0),
        role=_role(raw.get("role")),
    )


def _lore(entries: list[Mapping[str, Any]]) -> Placement:
    """Place the entries: all of them fire, the highest order first."""
    fired = [_fired(at, raw) for at, raw in enumerate(entries) if not raw.get("disable")]
    descending = sorted(fired, key=lambda one: -one.order)
    at = {
        place: tuple(one for one in reversed(descending) if one.position is place)
        for place in Position
    }
    outlets: dict[str, tuple[Activated, ...]] = {}
    for one in descending:
        if one.position is Position.OUTLET and one.outlet_name:
            outlets[one.outlet_name] = (*outlets.get(one.outlet_name, ()), one)
    return Placement(
        before=at[Position.BEFORE],
        after=at[Position.AFTER],
        an_top=at[Position.AN_TOP],
        an_bottom=at[Position.AN_BOTTOM],
        em_top=at[Position.EM_TOP],
        em_bottom=at[Position.EM_BOTTOM],
        at_depth=tuple(_depth_blocks(at[Position.AT_DEPTH])),
        outlets=outlets,
    )


def _depth_blocks(ascending: tuple[Activated, ...]) -> Iterator[DepthBlock]:
    for depth, role in dict.fromkeys((one.depth, one.role) for one in ascending):
        texts = tuple(one for one in ascending if (one.depth, one.role) == (depth, role))
        yield DepthBlock(depth=depth, role=role, texts=texts)


def _fired(at: int, raw: Mapping[str, Any]) -> Activated:
    place = raw.get("position", 0)
    return Activated(
        entry=EntryId(book="book", index=at, uid=at),
        content=raw["content"],
        position=Position(place) if place in tuple(Position) else None,
        order=raw.get("order", 100),
        depth=raw.get("depth", 4),
        role=_role(raw.get("role")),
        outlet_name=raw.get("outletName", ""),
    )
