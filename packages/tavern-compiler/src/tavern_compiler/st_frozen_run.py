"""Frozen run inputs: the prompt builder's texts, kept to build the prompt again with any preset.

Owns the mapping between the captured object and `PromptInputs`. Must not know presets.

Source: the shape that agent front ends on SillyTavern's base use
(`tauritavern.agentFrozenRunInputSnapshot`, version 1), of 2026.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen

from tavern_compiler._st_json import (
    Report,
    number_of,
    object_of,
    objects_in,
    objects_of,
    odd,
    read_object,
    text_of,
    write_object,
)
from tavern_compiler.errors import CompilerError
from tavern_compiler.macro_context import GroupMember, HostFacts, MacroContext
from tavern_compiler.st_input import ExtensionPosition, ExtensionPrompt
from tavern_compiler.st_prompt_inputs import (
    ExampleBlock,
    ExampleMessage,
    HistoryMessage,
    PromptInputs,
)
from tavern_compiler.st_result import MessageSource, MessageSourceKind
from tavern_format import Diagnostic, Parsed, Role, Severity

KIND = "tauritavern.agentFrozenRunInputSnapshot"
SCHEMA_VERSION = 1
_INPUTS, _CONTEXT = "promptInputs", "macroContext"
_PERSONA = "personaDescription"
_NO_DEPTH = -1.0

_TEXTS: Mapping[str, str] = {
    "description": "charDescription",
    "personality": "charPersonality",
    "scenario": "scenario",
    "lore_before": "worldInfoBefore",
    "lore_after": "worldInfoAfter",
    "bias": "bias",
    "quiet_prompt": "quietPrompt",
    "cycle_prompt": "cyclePrompt",
    "system_prompt": "systemPromptOverride",
    "post_history": "jailbreakPromptOverride",
}
"""Attribute of `PromptInputs` to key of `promptInputs`."""
_CARD: Mapping[str, str] = {
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "persona": "persona",
    "message_examples": "mesExamplesRaw",
    "system_prompt": "charPrompt",
    "post_history_instructions": "charInstruction",
    "depth_prompt": "charDepthPrompt",
    "creator_notes": "creatorNotes",
    "greeting": "firstMessage",
    "character_version": "version",
}
"""Attribute of `MacroContext` to key of `macroContext`."""
_IDENTIFIERS: Mapping[str, str] = {
    "worldInfoBefore": "worldInfoBefore",
    "worldInfoAfter": "worldInfoAfter",
    "charDescription": "charDescription",
    "charPersonality": "charPersonality",
    "scenario": "scenario",
    "quietPrompt": "quietPrompt",
    "bias": "bias",
    "main": "systemPromptOverride",
    "jailbreak": "jailbreakPromptOverride",
    _PERSONA: _PERSONA,
}


@frozen(kw_only=True)
class FrozenRun:
    """The input of a run."""

    inputs: PromptInputs
    raw: Mapping[str, Any] = field(factory=dict, repr=False, eq=False)
    """As it was read: the lore that was active, and fields that are not known here."""


def limit_history(inputs: PromptInputs, count: int) -> PromptInputs:
    """Keep at most so many of the newest messages; below 0: all."""
    return inputs if count < 0 else evolve(inputs, messages=inputs.messages[:count])


def parse_frozen_run(data: bytes) -> Parsed[FrozenRun]:
    """Read a frozen run input.

    Where the persona stands is not part of the shape: it takes its marker's place unless it is in
    one of the extension prompts. Raises CompilerError: SNAPSHOT_TOO_LARGE, SNAPSHOT_JSON,
    SNAPSHOT_SHAPE (another kind), SNAPSHOT_VERSION.
    """
    found: list[Diagnostic] = []
    document = read_object(data, "a frozen run input")
    if document.get("kind") != KIND:
        raise CompilerError("SNAPSHOT_SHAPE", f"the document does not say that it is a {KIND}")
    if document.get("schemaVersion") != SCHEMA_VERSION:
        raise CompilerError("SNAPSHOT_VERSION", f"only version {SCHEMA_VERSION} can be read")
    raw = object_of(document, _INPUTS, "", found.append)
    scope = _scope(object_of(document, _CONTEXT, "", found.append), raw, found.append)
    texts = {name: text_of(raw, key, f"/{_INPUTS}", found.append) for name, key in _TEXTS.items()}
    prompts = _extension_prompts(object_of(raw, "extensionPrompts", f"/{_INPUTS}", found.append))
    inputs = PromptInputs(
        **texts,
        type=text_of(document, "generationType", "", found.append) or "normal",
        scope=scope,
        persona=_persona(raw, scope, prompts, found.append),
        extension_prompts=prompts,
        messages=tuple(_messages(raw, found.append)),
        examples=tuple(_examples(raw, found.append)),
        in_group=scope.group is not None,
        sources={name: (_source(name, key),) for name, key in _IDENTIFIERS.items()},
    )
    return Parsed(FrozenRun(inputs=inputs, raw=document), tuple(found))


def _source(name: str, key: str) -> MessageSource:
    return MessageSource(
        kind=MessageSourceKind.GENERATION, identifier=name, field=f"{_INPUTS}/{key}"
    )


def _scope(context: Mapping[str, Any], raw: Mapping[str, Any], report: Report) -> MacroContext:
    """Read names and fields, at the top or in `names` and `character`."""
    names = {**context, **object_of(context, "names", f"/{_CONTEXT}", report)}
    card = {**context, **object_of(context, "character", f"/{_CONTEXT}", report)}
    char = text_of(names, "char", f"/{_CONTEXT}", report)
    char = char or text_of(raw, "name2", f"/{_INPUTS}", report)
    group = text_of(names, "group", f"/{_CONTEXT}", report)
    fields: dict[str, Any] = {
        name: text_of(card, key, f"/{_CONTEXT}", report) for name, key in _CARD.items()
    }
    members = group.split(", ") if group and group != char else ()
    outlets = _extension_prompts(object_of(raw, "extensionPrompts", "", report))
    return MacroContext(
        user=text_of(names, "user", f"/{_CONTEXT}", report) or "User",
        char=char or "Assistant",
        group=tuple(GroupMember(name=name) for name in members) or None,
        host=HostFacts(
            outlets={
                key.removeprefix(_OUTLET): row.value
                for key, row in outlets.items()
                if key.startswith(_OUTLET)
            }
        ),
        **fields,
    )


_OUTLET = "customWIOutlet_"


def _group_text(scope: MacroContext) -> str:
    """Name the group: all members, or the character."""
    return ", ".join(one.name for one in scope.group or ()) or scope.char


def _persona(
    raw: Mapping[str, Any],
    scope: MacroContext,
    prompts: Mapping[str, ExtensionPrompt],
    report: Report,
) -> str:
    if _PERSONA in raw:
        return text_of(raw, _PERSONA, f"/{_INPUTS}", report)
    persona = scope.persona
    if not persona or any(persona in row.value for row in prompts.values()):
        return ""
    message = "The snapshot does not say where the persona stands; it takes its marker's place."
    path = f"/{_CONTEXT}/persona"
    report(Diagnostic("SNAPSHOT_PERSONA_PLACE", Severity.INFO, path, message))
    return persona


def _extension_prompts(raw: Mapping[str, Any]) -> dict[str, ExtensionPrompt]:
    found = {}
    for key, row in raw.items():
        if isinstance(row, dict) and isinstance(row.get("value"), str):
            position, role = number_of(row, "position", -1), number_of(row, "role", 0)
            found[key] = ExtensionPrompt(
                value=row["value"],
                position=(
                    ExtensionPosition(int(position))
                    if position in tuple(ExtensionPosition)
                    else ExtensionPosition.NONE
                ),
                depth=number_of(row, "depth", _NO_DEPTH),
                role=Role(int(role)) if role in tuple(Role) else Role.SYSTEM,
                scan=row.get("scan") is True,
            )
    return found


def _messages(raw: Mapping[str, Any], report: Report) -> Iterator[HistoryMessage]:
    path = f"/{_INPUTS}"
    for at, one in objects_of(raw, "messages", path, report):
        place = f"{path}/messages/{at}"
        source = MessageSource(
            kind=MessageSourceKind.CHAT, identifier=str(at), field=f"messages/{at}/content"
        )
        yield HistoryMessage(
            role=text_of(one, "role", place, report) or "system",
            content=text_of(one, "content", place, report),
            name=text_of(one, "name", place, report) or None,
            injected=one.get("injected") is True,
            sources=(source,),
        )


def _examples(raw: Mapping[str, Any], report: Report) -> Iterator[ExampleBlock]:
    blocks = raw.get("messageExamples")
    for at, block in enumerate(blocks if isinstance(blocks, list) else []):
        path = f"/{_INPUTS}/messageExamples/{at}"
        if not isinstance(block, list):
            report(odd(path, "an array"))
            continue
        turns = objects_in(block, path, report)
        yield ExampleBlock(
            messages=tuple(
                ExampleMessage(
                    content=text_of(one, "content", path, report),
                    name=text_of(one, "name", path, report),
                )
                for _, one in turns
            ),
            sources=(_source(f"messageExamples/{at}", f"messageExamples/{at}"),),
        )


def dump_frozen_run(run: FrozenRun) -> bytes:
    """Write a frozen run input; fields that were read and are not known here survive."""
    inputs, scope = run.inputs, run.inputs.scope
    before = object_of(run.raw, _INPUTS, "", _ignore)
    texts = {key: getattr(inputs, name) for name, key in _TEXTS.items()}
    context = {
        "names": {"user": scope.user, "char": scope.char, "group": _group_text(scope)},
        "character": {key: getattr(scope, name) for name, key in _CARD.items()},
    }
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "kind": KIND,
        **run.raw,
        "generationType": inputs.type,
        _INPUTS: {
            **before,
            **texts,
            "type": inputs.type,
            "name2": scope.char,
            _PERSONA: inputs.persona,
            "extensionPrompts": {
                key: _row_to_json(row) for key, row in inputs.extension_prompts.items()
            },
            "messages": [_message_to_json(one) for one in inputs.messages],
            "messageExamples": [
                [
                    {"role": "system", "content": one.content, "name": one.name}
                    for one in block.messages
                ]
                for block in inputs.examples
            ],
        },
        "worldInfoActivation": run.raw.get("worldInfoActivation", {}),
        _CONTEXT: {**object_of(run.raw, _CONTEXT, "", _ignore), **context},
    }
    return write_object(document)


def _ignore(_: Diagnostic) -> None:
    """Take a remark that was made when the document was read."""


def _row_to_json(row: ExtensionPrompt) -> dict[str, Any]:
    return {
        "value": row.value,
        "position": row.position.value,
        "depth": row.depth,
        "scan": row.scan,
        "role": row.role.value,
    }


def _message_to_json(message: HistoryMessage) -> dict[str, Any]:
    shown: dict[str, Any] = {"role": message.role, "content": message.content}
    return {**shown, "name": message.name} if message.name else shown
