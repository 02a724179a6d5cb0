"""Area `dsh_tavern/compile_vectors`: the JavaScript plugin's own compile, profile `dsh-tavern`.

Four kinds of cases. `compile`: text, sections with all their sources, call settings, mode, active
lore, diagnostics with their facts, and what became of the persona; or the error. `callConfig`: the
settings that go to the host. `presetParse`: the prompts as they are sent, and the settings.
`macros`: one text.

Not compared: the English of a message; remarks that the plugin does not have; of a parsed preset
what its store adds (ids, dates, made-up names for people).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from tavern_compiler import (
    BookRef,
    CharacterOptions,
    CompileInput,
    CompileProfile,
    LoreEntry,
    MacroChat,
    MacroContext,
    MacroMessage,
    MacroProfile,
    MacroSettings,
    Part,
    PartSource,
    Profile,
    ProfileTooLargeError,
    ResourceRef,
    SourceKind,
    SystemPromptMode,
    User,
    call_config_json,
    compile_profile,
    expand_macros,
)
from tavern_compiler.order import PlacedPrompt, order_prompts
from tavern_compiler.rules import RULES
from tavern_format import CharacterCard, Position, Preset, parse_card, parse_preset
from tests.conformance._cases import Case
from tests.conformance._findings import Findings

Fields = Mapping[str, Any]

_CODES = frozenset(
    {
        "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN", "CHARACTER_PHI_APPROXIMATE",
        "USER_PERSONA_MARKER_FALLBACK", "CHARACTER_GREETING_REFERENCE",
        "CHARACTER_DEPTH_APPROXIMATE", "TAVERN_PROFILE_LORE_LIMITED",
    }
)  # fmt: skip
"""Everything the plugin's compiler has to say."""
_CARD_FIELDS: Mapping[str, str] = {
    "messageExample": "mes_example",
    "systemPrompt": "system_prompt",
    "postHistoryInstructions": "post_history_instructions",
    "firstMessage": "first_mes",
    "alternateGreetings": "alternate_greetings",
}
_SETTINGS: Mapping[str, str] = {
    "maxTokens": "openai_max_tokens",
    "reasoningEffort": "reasoning_effort",
    "topP": "top_p",
}
_OPTIONS: Mapping[str, str] = {
    "greetingIndex": "greeting_index",
    "preferCharacterSystemPrompt": "prefer_system_prompt",
    "preferCharacterPostHistory": "prefer_post_history",
}
_SIDES: Mapping[str, Position] = {"before": Position.BEFORE, "before-character": Position.BEFORE}


def load(area: str, document: Any) -> Iterator[Case]:
    """Read the four lists; what has no name is numbered."""
    kinds = {"compile": "cases"} | {one: one for one in ("callConfig", "presetParse", "macros")}
    for kind, key in kinds.items():
        for at, fields in enumerate(document[key]):
            name = f"{kind}/{fields.get('name', at)}"
            yield Case(area, f"dsh_{name}", {**fields, "kind": kind})


def check(case: Case, findings: Findings) -> None:
    """Compare one case of any kind."""
    _CHECKS[case.fields["kind"]](case.fields, findings)


# --- compile ----------------------------------------------------------------------------------


def _check_compile(fields: Fields, findings: Findings) -> None:
    try:
        profile = compile_profile(_input(fields["input"]))
    except ProfileTooLargeError as fault:
        wanted = fields.get("error", {})
        facts = {
            "code": fault.code,
            "actualBytes": fault.actual_bytes,
            "maxBytes": fault.limit_bytes,
        }
        findings.same("error", facts, {key: wanted.get(key) for key in facts}, ordered=False)
        return
    if not findings.require("error", "output" in fields, "the plugin refuses this"):
        return
    ours = _result(profile)
    wanted = fields["output"]
    known = [_without(one, "message") for one in wanted["diagnostics"]]
    findings.same("output", ours, {**wanted, "diagnostics": known}, ordered=False)


def _input(given: Fields) -> CompileInput:
    preset, character, user = (given.get(key) for key in ("preset", "character", "user"))
    if "note" in given:
        preset = {"prompts": [_prompt("main", "x" * 200)]}
    refs = {SourceKind.PRESET: preset, SourceKind.CHARACTER: character, SourceKind.USER: user}
    options = given.get("characterSelection", {})
    limits = {"max_profile_bytes": given["maxProfileBytes"]} if "maxProfileBytes" in given else {}
    lore = given.get("loreEntries", ())
    return CompileInput(
        profile=CompileProfile.DSH_TAVERN,
        preset=None if preset is None else _preset(preset),
        character=None if character is None else _card(character),
        user=None if user is None else User(name=user["name"], description=user["description"]),
        lore=tuple(_lore(lore)),
        books={one["resourceId"]: BookRef(id=one["resourceId"]) for one in lore},
        options=CharacterOptions(**{_OPTIONS[key]: value for key, value in options.items()}),
        include_greeting=given.get("includeGreetingReference", True),
        system_prompt_mode=SystemPromptMode((preset or {}).get("systemPromptMode", "append")),
        resources={
            kind: ResourceRef(id=found["id"])
            for kind, found in refs.items()
            if found is not None and "id" in found
        },
        **limits,
    )


def _prompt(identifier: str, content: str) -> dict[str, Any]:
    return {"identifier": identifier, "role": "system", "content": content, "enabled": True,
            "marker": False, "st": {}}  # fmt: skip


def _preset(document: Fields) -> Preset:
    """Read the plugin's own form of a preset as the file it was made of."""
    prompts = [{**one["st"], **_without(one, "st")} for one in document["prompts"]]
    settings = {
        _SETTINGS.get(key, key): value
        for key, value in document.get("sampling", {}).items()
        if key != "st"
    }
    return parse_preset(json.dumps({**settings, "prompts": prompts}).encode()).value


def _card(document: Fields) -> CharacterCard:
    data = {_CARD_FIELDS.get(key, key): value for key, value in document["data"].items()}
    card = {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}
    return parse_card(json.dumps(card).encode()).value


def _lore(entries: Sequence[Fields]) -> Iterator[LoreEntry]:
    for one in entries:
        yield LoreEntry(
            book=one["resourceId"],
            uid=str(one["uid"]),
            content=one["content"],
            position=_SIDES.get(one["position"], Position.AFTER),
        )


def _result(profile: Profile) -> dict[str, Any]:
    injection = profile.user_injection
    return {
        "systemText": profile.system_text,
        "sections": [_section(part) for part in profile.parts],
        "callConfig": call_config_json(profile.call_config),
        "systemPromptMode": profile.system_prompt_mode,
        "activeLoreEntries": list(profile.active_lore),
        "diagnostics": list(_diagnostics(profile)),
        "userInjection": {
            "selected": injection.selected,
            "descriptionAvailable": injection.description_available,
            "descriptionCharacters": injection.description_utf16,
            "descriptionInsertions": injection.description_insertions,
            "descriptionPlacement": injection.description_placement,
        },
    }


def _section(part: Part) -> dict[str, Any]:
    sources = [_source(one) for one in part.sources]
    fields = attrs.asdict(part, recurse=False)
    return {**{key: fields[key] for key in ("name", "text", "provenance")}, "sources": sources}


def _source(source: PartSource) -> dict[str, Any]:
    more = {
        "identifier": source.identifier,
        "role": source.role,
        "entryId": source.entry_id,
        "qualifiedEntryId": source.qualified_entry_id,
    }
    return {
        "kind": source.kind,
        "resourceId": source.resource_id,
        "field": source.field,
        "text": source.text,
        "relationship": source.relationship,
        "characters": source.size_chars,
        "utf16Units": source.size_utf16,
        "utf8Bytes": source.size_utf8_bytes,
        **{key: value for key, value in more.items() if value is not None},
    }


def _diagnostics(profile: Profile) -> Iterator[dict[str, Any]]:
    limit = profile.lore_limit
    for found in profile.diagnostics:
        if found.code not in _CODES:
            continue
        row: dict[str, Any] = {"code": found.code, "severity": found.severity}
        if found.code == "TAVERN_PROFILE_LORE_LIMITED" and limit is not None:
            row |= {
                "maxProfileBytes": limit.max_profile_bytes,
                "measuredCandidateBytes": limit.measured_bytes,
                "maxLoreInputBytes": limit.max_lore_input_bytes,
                "retainedLoreEntries": limit.retained_entries,
                "omittedLoreEntries": limit.omitted_entries,
            }
        yield row


def _without(fields: Fields, *names: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in names}


# --- the other kinds --------------------------------------------------------------------------


def _check_config(fields: Fields, findings: Findings) -> None:
    preset = _preset({"sampling": fields["sampling"], "prompts": []})
    findings.same("callConfig", _config_of(preset), fields["callConfig"], ordered=False)


def _config_of(preset: Preset) -> dict[str, object]:
    given = CompileInput(profile=CompileProfile.DSH_TAVERN, preset=preset)
    return call_config_json(compile_profile(given).call_config)


def _check_parse(fields: Fields, findings: Findings) -> None:
    expected = fields["output"]
    preset = parse_preset(json.dumps(fields["input"]).encode()).value
    ordered = order_prompts(preset, "normal", RULES[CompileProfile.DSH_TAVERN]).prompts
    wanted = [_without(one, "name") for one in expected["prompts"]]
    findings.same("prompts", [_parsed(preset, one) for one in ordered], wanted, ordered=False)
    sampling = expected["sampling"]
    findings.same("sampling", _config_of(preset), _without(sampling, "st"), ordered=False)
    kept = {key: preset.raw.get(key) for key in sampling["st"]}
    findings.same("sampling/st", kept, sampling["st"], ordered=False)


def _parsed(preset: Preset, placed: PlacedPrompt) -> dict[str, Any]:
    prompt = placed.prompt
    raw = preset.raw["prompts"][placed.index]
    places = {"injectionPosition": "injection_position", "injectionDepth": "injection_depth"}
    return {
        "identifier": placed.identifier,
        "role": placed.role,
        "content": prompt.content,
        "enabled": placed.enabled,
        "marker": prompt.marker,
        "systemPrompt": prompt.system_prompt,
        **{ours: raw[key] for ours, key in places.items() if key in raw},
        "st": raw,
    }


def _check_macro(fields: Fields, findings: Findings) -> None:
    given = fields["context"]
    draw = float(str(given["random"]).rpartition("=>")[2]) if "random" in given else None
    said = ("lastUserMessage", "lastAssistantMessage")
    context = MacroContext(
        user=given.get("user", "User"),
        char=given.get("character", "Assistant"),
        chat=MacroChat(
            messages=tuple(
                MacroMessage(text=given.get(key, ""), is_user=key == said[0]) for key in said
            )
        ),
        dice=None if draw is None else lambda _: draw,
    )
    settings = MacroSettings(profile=MacroProfile.DSH_TAVERN)
    found = expand_macros(fields["template"], context, settings)
    findings.same("output", found.text, fields["output"])


_CHECKS = {
    "compile": _check_compile,
    "callConfig": _check_config,
    "presetParse": _check_parse,
    "macros": _check_macro,
}
