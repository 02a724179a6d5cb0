"""The steps of a compile: each turns what is consumed so far into parts and what is consumed then.

Owns markers, overrides and the appending of what no prompt asked for. Nothing is changed in
place: a step returns a `Step`. Must not know limits or the whole result.

Source: the plugin contract, sections A4 to A6, with the repairs that COMPATIBILITY.md lists.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from attrs import evolve, frozen

from tavern_compiler._text import trim
from tavern_compiler.inputs import FALLBACK_FIELDS, CompileInput
from tavern_compiler.lore import LoreSide, side_of
from tavern_compiler.macros import (
    Expansion,
    MacroContext,
    MacroUse,
    at_path,
    expand_macros,
    names_only,
)
from tavern_compiler.markers import MARKERS, Marker, MarkerKind
from tavern_compiler.order import PlacedPrompt
from tavern_compiler.parts import Part, PartSource, Relationship, SourceKind
from tavern_format import Diagnostic, Severity

PERSONA = "persona"


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
    persona: str
    context: MacroContext
    """With the persona, whether or not it stands somewhere already."""

    def context_after(self, consumed: Consumed) -> MacroContext:
        """Give the macros' values: the persona is shown once only."""
        return evolve(self.context, persona="") if consumed.persona else self.context


Action = Callable[[Job, Consumed], Step]


@frozen
class Override:
    """How a field of the card takes the place of a prompt."""

    field: str
    forbidden: Diagnostic


def _info(code: str, path: str, message: str) -> Diagnostic:
    return Diagnostic(code, Severity.INFO, path, message)


def _warning(code: str, path: str, message: str) -> Diagnostic:
    return Diagnostic(code, Severity.WARNING, path, message)


OVERRIDES: Mapping[str, Override] = {
    "main": Override(
        "systemPrompt",
        _info(
            "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN",
            "/character/system_prompt",
            "The preset's main prompt may not be replaced; the card's is appended instead.",
        ),
    ),
    "jailbreak": Override(
        "postHistoryInstructions",
        _info(
            "CHARACTER_PHI_OVERRIDE_FORBIDDEN",
            "/character/post_history_instructions",
            "The preset's closing prompt may not be replaced; the card's is appended instead.",
        ),
    ),
}
"""By identifier of the prompt."""

FIELD_REMARKS: Mapping[str, Diagnostic] = {
    "postHistoryInstructions": _warning(
        "CHARACTER_PHI_APPROXIMATE",
        "/character/post_history_instructions",
        "The card's post-history instructions are a section, not behind the chat history.",
    ),
    "greeting": _warning(
        "CHARACTER_GREETING_REFERENCE",
        "/character/greeting",
        "The greeting is a section, as an example of style, not a message of the chat.",
    ),
    "depthPrompt": _warning(
        "CHARACTER_DEPTH_APPROXIMATE",
        "/character/depth_prompt",
        "The card's depth prompt is a section, not at its depth in the chat.",
    ),
}
"""What is said when a field stands elsewhere than in SillyTavern."""


def prompt_action(placed: PlacedPrompt) -> Action:
    """Choose the step for one prompt that is switched on."""
    marker = MARKERS.get(placed.identifier)
    if marker is not None:
        return lambda job, consumed: _MARKER_STEPS[marker.kind](job, consumed, placed, marker)
    if placed.prompt.marker:
        return lambda _, consumed: Step(consumed=consumed, diagnostics=(_unknown(placed),))
    return lambda job, consumed: _text_step(job, consumed, placed)


def _unknown(placed: PlacedPrompt) -> Diagnostic:
    message = "Nothing is known to fill this marker with; it is left out."
    return _warning("MARKER_UNKNOWN", placed.path, message)


def _repeated(consumed: Consumed, placed: PlacedPrompt) -> Step:
    message = "What the marker stands for is in the prompt already and is not repeated."
    return Step(
        consumed=consumed, diagnostics=(_info("MARKER_REPEATED", placed.path, message),)
    )


def _character_marker(job: Job, consumed: Consumed, placed: PlacedPrompt, marker: Marker) -> Step:
    if marker.target not in job.texts:
        return Step(consumed=consumed)
    if marker.target in consumed.fields:
        return _repeated(consumed, placed)
    return _field_step(job, consumed, marker.target)


def _persona_marker(job: Job, consumed: Consumed, placed: PlacedPrompt, _: Marker) -> Step:
    if not job.persona:
        return Step(consumed=consumed)
    if consumed.persona:
        return _repeated(consumed, placed)
    return _persona_step(job, consumed, f"preset-marker:{placed.identifier}")


def _lore_marker(job: Job, consumed: Consumed, placed: PlacedPrompt, marker: Marker) -> Step:
    if marker.target in consumed.lore:
        return _repeated(consumed, placed)
    return lore_step(job, consumed, LoreSide(marker.target))


def _history_marker(_: Job, consumed: Consumed, __: PlacedPrompt, ___: Marker) -> Step:
    return Step(consumed=consumed)


_MARKER_STEPS: Mapping[MarkerKind, Callable[[Job, Consumed, PlacedPrompt, Marker], Step]] = {
    MarkerKind.CHARACTER: _character_marker,
    MarkerKind.PERSONA: _persona_marker,
    MarkerKind.LORE: _lore_marker,
    MarkerKind.HISTORY: _history_marker,
}


def _field_step(job: Job, consumed: Consumed, name: str) -> Step:
    """Emit one field of the card."""
    path = f"/character/{_PATHS[name]}"
    expansion = expand_macros(job.texts[name], names_only(job.context))
    remark = FIELD_REMARKS.get(name)
    return Step(
        consumed=evolve(consumed, fields=consumed.fields | {name}),
        parts=(_part(expansion, _source(job, SourceKind.CHARACTER, name, job.texts[name])),),
        diagnostics=(
            *at_path(expansion.diagnostics, path),
            *_emptied(expansion.used, path),
            *(() if remark is None else (remark,)),
        ),
    )


_PATHS: Mapping[str, str] = {
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
            yield _info("MACRO_EMPTY_IN_FIELD", path, message)


def _persona_step(job: Job, consumed: Consumed, placement: str) -> Step:
    expansion = expand_macros(job.persona, names_only(job.context))
    return Step(
        consumed=evolve(consumed, persona=placement),
        parts=(_part(expansion, _source(job, SourceKind.USER, "description", job.persona)),),
        diagnostics=(
            *at_path(expansion.diagnostics, "/user/description"),
            *_emptied(expansion.used, "/user/description"),
        ),
    )


def lore_step(job: Job, consumed: Consumed, side: LoreSide) -> Step:
    """Emit every fired entry of one side, a part each."""
    context = job.context_after(consumed)
    entries = [
        (place, entry, expand_macros(entry.content, context))
        for place, entry in enumerate(job.given.lore)
        if side_of(entry) is side
    ]
    parts = [
        _part(
            expansion,
            PartSource(
                kind=SourceKind.WORLD_BOOK,
                field="content",
                text=entry.content,
                resource_id=entry.book,
                entry_id=entry.uid,
                qualified_entry_id=entry.qualified_id,
            ),
        )
        for _, entry, expansion in entries
    ]
    used = [use for _, _, expansion in entries for use in expansion.used]
    return Step(
        consumed=_after_macros(
            job, evolve(consumed, lore=consumed.lore | {side}), used, f"worldbook:{side}"
        ),
        parts=tuple(parts),
        diagnostics=tuple(
            found
            for place, _, expansion in entries
            for found in at_path(expansion.diagnostics, f"/lore/{place}")
        ),
    )


def _text_step(job: Job, consumed: Consumed, placed: PlacedPrompt) -> Step:
    """Emit a prompt with a text of its own, or the card's text in its place."""
    own = expand_macros(placed.prompt.content, job.context_after(consumed))
    override = OVERRIDES.get(placed.identifier)
    source = _prompt_source(job, placed)
    path = f"{placed.path}/content"
    if override is None or override.field not in job.texts or override.field in consumed.fields:
        return _finish_text(job, consumed, placed, Step(
            consumed=consumed,
            parts=(_part(own, source, *_contributors(job, own.used)),),
            diagnostics=at_path(own.diagnostics, path),
        ), own.used)  # fmt: skip
    if placed.prompt.forbid_overrides:
        return _finish_text(job, consumed, placed, Step(
            consumed=consumed,
            parts=(_part(own, source, *_contributors(job, own.used)),),
            diagnostics=(*at_path(own.diagnostics, path), override.forbidden),
        ), own.used)  # fmt: skip
    return Step(consumed=consumed)


def _part(expansion: Expansion, *sources: PartSource) -> Part:
    return Part(text=trim(expansion.text), sources=sources)
