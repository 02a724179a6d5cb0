"""What every step of a compile shares: the job, what is consumed, and one field, persona or side.

A step turns what is consumed so far into parts and what is consumed then; nothing is changed in
place. Must not know which prompt or rule asks for a step.

Source: the plugin contract, sections A3 to A6.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from tavern_compiler._macro_variables import MacroRefusal
from tavern_compiler._text import trim
from tavern_compiler.inputs import CompileInput
from tavern_compiler.lore import LoreEntry, LoreSide, NumberedLore, side_of
from tavern_compiler.macro_context import MacroContext, Variables
from tavern_compiler.macro_table import Macro, MacroCall
from tavern_compiler.macros import (
    MACROS,
    Expansion,
    MacroSettings,
    MacroUse,
    at_path,
    expand_macros,
    names_only,
)
from tavern_compiler.parts import Part, PartSource, SourceKind
from tavern_format import Diagnostic, Severity

PERSONA = "persona"
"""The user's description, where macros name the field they render."""

CONTRIBUTORS = ("description", "personality", "scenario", "messageExample")
"""Fields that macros render, in the order of a part's sources."""


@frozen(kw_only=True)
class Consumed:
    """What stands in a part already and is not appended again."""

    fields: frozenset[str] = frozenset()
    """Of the card."""
    lore: frozenset[str] = frozenset()
    """Sides."""
    persona: str | None = None
    """Where the persona stands: `preset-marker:<identifier>`, `preset-macro:<identifier>`,
    `fallback`."""
    variables: Variables = field(factory=Variables)
    """Of macros, as the parts before have left them."""


@frozen(kw_only=True)
class Step:
    """What one step gives."""

    consumed: Consumed
    parts: tuple[Part, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@frozen(kw_only=True)
class Job:
    """What all steps share."""

    given: CompileInput
    texts: Mapping[str, str]
    """Fields of the card that may be sent, trimmed, in fallback order."""
    lore: tuple[NumberedLore, ...]
    """What of the lore fits."""
    persona: str
    context: MacroContext
    """With the persona, whether or not it stands somewhere already."""
    macro_settings: MacroSettings

    def context_after(self, consumed: Consumed) -> MacroContext:
        """Give the macros' values: the persona is shown once only."""
        persona = "" if consumed.persona else self.context.persona
        return evolve(self.context, persona=persona)

    def expand(self, text: str, context: MacroContext, consumed: Consumed) -> Expansion:
        """Expand the macros of a text, with the variables as they are by then."""
        return expand_macros(
            text, evolve(context, variables=consumed.variables), self.macro_settings
        )


Action = Callable[[Job, Consumed], Step]


def _repeated_original(_: MacroCall, context: MacroContext) -> str:
    if context.original is None:
        message = "nothing is replaced here"
        raise MacroRefusal(message)
    return context.original


_SECTION_MACROS = (
    Macro(
        name="mesExamples",
        value=lambda call, _: call.field("message_examples"),
        field="messageExample",
    ),
    Macro(name="original", value=_repeated_original),
)
"""Rows that differ in sections: examples without headings, `{{original}}` as often as it stands."""


def macro_settings(context: MacroContext) -> MacroSettings:
    """Choose what is executed: without dice or a time not what needs them."""
    idle = (
        row
        for row in MACROS
        if (row.draws and context.dice is None) or (row.reads_clock and context.now is None)
    )
    without = frozenset(name for row in idle for name in row.names)
    return MacroSettings(macros=_SECTION_MACROS, without=without)


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


def field_step(job: Job, consumed: Consumed, name: str) -> Step:
    """Emit one field of the card."""
    path = f"/character/{FIELD_PATHS[name]}"
    expansion = job.expand(job.texts[name], names_only(job.context), consumed)
    remark = FIELD_REMARKS.get(name)
    return Step(
        consumed=evolve(consumed, fields=consumed.fields | {name}, variables=expansion.variables),
        parts=(part_of(expansion, source_of(job, SourceKind.CHARACTER, name, job.texts[name])),),
        diagnostics=(
            *at_path(expansion.diagnostics, path),
            *_emptied(expansion.used, path),
            *(() if remark is None else (remark,)),
        ),
    )


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


def _emptied(used: tuple[MacroUse, ...], path: str) -> Iterator[Diagnostic]:
    for use in used:
        if use.field is not None:
            message = f"{{{{{use.name}}}}} gives nothing inside a card's own field."
            yield info("MACRO_EMPTY_IN_FIELD", path, message)


def persona_step(job: Job, consumed: Consumed, placement: str) -> Step:
    """Emit the user's description."""
    expansion = job.expand(job.persona, names_only(job.context), consumed)
    return Step(
        consumed=evolve(consumed, persona=placement, variables=expansion.variables),
        parts=(part_of(expansion, source_of(job, SourceKind.USER, "description", job.persona)),),
        diagnostics=(
            *at_path(expansion.diagnostics, "/user/description"),
            *_emptied(expansion.used, "/user/description"),
        ),
    )


def lore_step(job: Job, consumed: Consumed, side: LoreSide) -> Step:
    """Emit every fired entry of one side, a part each; a mention in lore consumes nothing."""
    entries = []
    for place, entry in job.lore:
        if side_of(entry) is side:
            expansion = job.expand(entry.content, job.context, consumed)
            consumed = evolve(consumed, variables=expansion.variables)
            entries.append((place, entry, expansion))
    return Step(
        consumed=evolve(consumed, lore=consumed.lore | {side}),
        parts=tuple(
            part_of(expansion, _lore_source(entry), *contributors(job, expansion.used))
            for _, entry, expansion in entries
        ),
        diagnostics=tuple(
            found
            for place, _, expansion in entries
            for found in at_path(expansion.diagnostics, f"/lore/{place}/content")
        ),
    )


def part_of(expansion: Expansion, *sources: PartSource) -> Part:
    """Make a part without a name of an expanded text."""
    return Part(text=trim(expansion.text), sources=sources)


def contributors(job: Job, used: Sequence[MacroUse]) -> Iterator[PartSource]:
    """List the resources that macros brought into a text."""
    names = {use.field for use in used if use.result_chars}
    for name in CONTRIBUTORS:
        if name in names:
            yield source_of(job, SourceKind.CHARACTER, name, job.texts[name])
    if PERSONA in names:
        yield source_of(job, SourceKind.USER, "description", job.persona)


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


def _lore_source(entry: LoreEntry) -> PartSource:
    return PartSource(
        kind=SourceKind.WORLD_BOOK,
        field="content",
        text=entry.content,
        resource_id=entry.book,
        entry_id=entry.uid,
        qualified_entry_id=entry.qualified_id,
    )
