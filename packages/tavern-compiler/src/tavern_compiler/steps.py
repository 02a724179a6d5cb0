"""The steps that fill slots: one field of the card, the persona, one side of the lore.

Owns which texts and sources go into such a part. Must not know which prompt or rule asks for it.

Source: the plugin contract, sections A3 to A6.
"""

from collections.abc import Iterator, Mapping

from tavern_compiler._macro_run import MacroUse
from tavern_compiler._text import trim
from tavern_compiler.job import Consumed, FiredLore, Job, Step
from tavern_compiler.lore import LoreSide
from tavern_compiler.macro_context import MacroContext, Variables
from tavern_compiler.macros import Expansion, at_path
from tavern_compiler.parts import Part, PartSource, SourceKind
from tavern_format import Diagnostic, Severity

PERSONA = "persona"
"""The user's description, where macros name the field they render."""

CONTRIBUTORS = ("description", "personality", "scenario", "messageExample")
"""Fields that macros render, in the order of a part's sources."""


def info(code: str, path: str, message: str) -> Diagnostic:
    """Make a diagnostic of a matter that is in order."""
    return Diagnostic(code, Severity.INFO, path, message)


def warning(code: str, path: str, message: str) -> Diagnostic:
    """Make a diagnostic of something that is not as SillyTavern has it."""
    return Diagnostic(code, Severity.WARNING, path, message)


FIELD_REMARKS: Mapping[str, Diagnostic] = {
    "postHistoryInstructions": warning(
        "CHARACTER_PHI_APPROXIMATE",
        "/character/post_history_instructions",
        "The card's post-history instructions are a section, not behind the chat history.",
    ),
    "greeting": warning(
        "CHARACTER_GREETING_REFERENCE",
        "/character/greeting",
        "The greeting is a section, as an example of style, not a message of the chat.",
    ),
    "depthPrompt": warning(
        "CHARACTER_DEPTH_APPROXIMATE",
        "/character/depth_prompt",
        "The card's depth prompt is a section, not at its depth in the chat.",
    ),
}
"""What is said when a field stands elsewhere than in SillyTavern."""

FIELD_PATHS: Mapping[str, str] = {
    "systemPrompt": "system_prompt",
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "messageExample": "message_examples",
    "postHistoryInstructions": "post_history_instructions",
    "greeting": "greeting",
    "depthPrompt": "depth_prompt",
}
"""Name of a field in parts to its attribute of the card."""


def field_step(job: Job, consumed: Consumed, name: str) -> Step:
    """Emit one field of the card."""
    path = f"/character/{FIELD_PATHS[name]}"
    expansion = job.expand(job.texts[name], job.names, consumed.variables, path)
    remark = FIELD_REMARKS.get(name)
    return Step(
        consumed=consumed.plus(expansion.variables, fields=(name,)),
        parts=(part_of(expansion, source_of(job, SourceKind.CHARACTER, name, job.texts[name])),),
        diagnostics=(
            *at_path(expansion.diagnostics, path),
            *_emptied(expansion.used, path),
            *(() if remark is None else (remark,)),
        ),
    )


def _emptied(used: tuple[MacroUse, ...], path: str) -> Iterator[Diagnostic]:
    for use in used:
        if use.field is not None:
            message = f"{{{{{use.name}}}}} gives nothing inside a card's own field."
            yield info("MACRO_EMPTY_IN_FIELD", path, message)


def persona_step(job: Job, consumed: Consumed, placement: str) -> Step:
    """Emit the user's description."""
    path = "/user/description"
    expansion = job.expand(job.persona, job.names, consumed.variables, path)
    part = part_of(expansion, source_of(job, SourceKind.USER, "description", job.persona))
    persona = placement if part.text else ""
    return Step(
        consumed=consumed.plus(expansion.variables, persona=persona),
        parts=(part,),
        diagnostics=(
            *at_path(expansion.diagnostics, path),
            *_emptied(expansion.used, path),
        ),
    )


def lore_step(job: Job, consumed: Consumed, side: LoreSide) -> Step:
    """Emit every fired entry of one side, a part each; a mention in lore consumes nothing."""
    context = job.context if job.rules.lore_sees_card else job.names
    parts: list[Part] = []
    diagnostics: list[Diagnostic] = []
    variables = consumed.variables
    for one in job.lore:
        if one.side is not side:
            continue
        expansion = _lore_text(job, one, context, variables)
        variables = expansion.variables
        more = contributors(job, expansion) if expansion.used else ()
        parts.append(part_of(expansion, _lore_source(job, one), *more))
        if expansion.diagnostics:
            diagnostics += at_path(expansion.diagnostics, f"/lore/{one.place}/content")
    return Step(
        consumed=consumed.plus(variables, lore=(side,)),
        parts=tuple(parts),
        diagnostics=tuple(diagnostics),
    )


def _lore_text(job: Job, one: FiredLore, context: MacroContext, variables: Variables) -> Expansion:
    if one.entry.text is not None:
        return Expansion(text=one.entry.text, variables=variables)
    return job.expand(one.entry.content, context, variables, one.dice_place)


def part_of(expansion: Expansion, *sources: PartSource) -> Part:
    """Make a part without a name of an expanded text."""
    return Part(text=trim(expansion.text), sources=sources)


def contributors(job: Job, *shown: Expansion) -> Iterator[PartSource]:
    """List the resources that macros brought into a text."""
    names = fields_of(job, *(use for one in shown for use in one.used))
    for name in CONTRIBUTORS:
        if name in names:
            yield source_of(job, SourceKind.CHARACTER, name, job.texts.get(name, ""))
    if PERSONA in names:
        yield source_of(job, SourceKind.USER, "description", job.persona)


def fields_of(job: Job, *used: MacroUse) -> set[str]:
    """Name the fields that macros have shown, or only asked for where that is the rule."""
    everything = job.rules.empty_macros_are_sources
    return {use.field for use in used if use.field and (use.result_chars or everything)}


def source_of(job: Job, kind: SourceKind, name: str, text: str) -> PartSource:
    """Record a text of the preset, the card or the user."""
    ref = job.given.resources.get(kind)
    return PartSource(
        kind=kind,
        field=name,
        text=text,
        resource_id=ref.id if ref else None,
        resource_revision=ref.revision if ref else None,
    )


def _lore_source(job: Job, one: FiredLore) -> PartSource:
    entry = one.entry
    ref = job.given.books.get(entry.book)
    return PartSource(
        kind=SourceKind.WORLD_BOOK,
        field="content",
        text=entry.content,
        resource_id=one.book_id,
        resource_revision=ref.revision if ref else None,
        entry_id=entry.uid,
        qualified_entry_id=one.qualified_id,
    )
