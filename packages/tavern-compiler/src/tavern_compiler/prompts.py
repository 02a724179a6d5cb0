"""The step for one prompt of a preset: a marker, a text, or a card's text in its place.

Owns overrides and the once-only rule of markers. Must not know what comes before or after a prompt.

Source: the plugin contract, sections A4 to A6, with the repairs that COMPATIBILITY.md lists.
"""

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from tavern_compiler.lore import LoreSide
from tavern_compiler.macros import Expansion, MacroUse, at_path
from tavern_compiler.markers import MARKERS, Marker, MarkerKind
from tavern_compiler.order import PlacedPrompt
from tavern_compiler.parts import PartSource, Relationship, SourceKind
from tavern_compiler.steps import (
    CONTRIBUTORS,
    FIELD_PATHS,
    FIELD_REMARKS,
    PERSONA,
    Action,
    Consumed,
    Job,
    Step,
    contributors,
    field_step,
    info,
    lore_step,
    part_of,
    persona_step,
    source_of,
    warning,
)
from tavern_format import Diagnostic


@frozen
class Override:
    """How a field of the card takes the place of a prompt."""

    field: str
    forbidden: Diagnostic


OVERRIDES: Mapping[str, Override] = {
    "main": Override(
        "systemPrompt",
        info(
            "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN",
            "/character/system_prompt",
            "The preset's main prompt may not be replaced; the card's is appended instead.",
        ),
    ),
    "jailbreak": Override(
        "postHistoryInstructions",
        info(
            "CHARACTER_PHI_OVERRIDE_FORBIDDEN",
            "/character/post_history_instructions",
            "The preset's closing prompt may not be replaced; the card's is appended instead.",
        ),
    ),
}
"""By identifier of the prompt."""


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
    return warning("MARKER_UNKNOWN", placed.path, message)


def _repeated(consumed: Consumed, placed: PlacedPrompt) -> Step:
    message = "What the marker stands for is in the prompt already and is not repeated."
    return Step(consumed=consumed, diagnostics=(info("MARKER_REPEATED", placed.path, message),))


def _character_marker(job: Job, consumed: Consumed, placed: PlacedPrompt, marker: Marker) -> Step:
    if marker.target not in job.texts:
        return Step(consumed=consumed)
    if marker.target in consumed.fields:
        return _repeated(consumed, placed)
    return field_step(job, consumed, marker.target)


def _persona_marker(job: Job, consumed: Consumed, placed: PlacedPrompt, _: Marker) -> Step:
    if not job.persona:
        return Step(consumed=consumed)
    if consumed.persona:
        return _repeated(consumed, placed)
    return persona_step(job, consumed, f"preset-marker:{placed.identifier}")


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


@frozen
class _Shown:
    """The text of a prompt, and what went into it."""

    expansion: Expansion
    sources: tuple[PartSource, ...]
    used: tuple[MacroUse, ...]
    fields: frozenset[str] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()


def _text_step(job: Job, consumed: Consumed, placed: PlacedPrompt) -> Step:
    """Emit a prompt with a text of its own, or the card's text in its place."""
    override = OVERRIDES.get(placed.identifier)
    if override is None or override.field not in job.texts or override.field in consumed.fields:
        shown = _own_text(job, consumed, placed)
    elif placed.prompt.forbid_overrides:
        shown = _own_text(job, consumed, placed)
        shown = evolve(shown, diagnostics=(*shown.diagnostics, override.forbidden))
    else:
        shown = _override_text(job, consumed, placed, override.field)
    return Step(
        consumed=_after(consumed, shown, f"preset-macro:{placed.identifier}"),
        parts=(part_of(shown.expansion, *shown.sources, *contributors(job, shown.used)),),
        diagnostics=shown.diagnostics,
    )


def _own_text(job: Job, consumed: Consumed, placed: PlacedPrompt) -> _Shown:
    own = job.expand(placed.prompt.content, job.context_after(consumed), consumed)
    return _Shown(
        own,
        (_prompt_source(job, placed),),
        own.used,
        diagnostics=at_path(own.diagnostics, f"{placed.path}/content"),
    )


def _override_text(job: Job, consumed: Consumed, placed: PlacedPrompt, name: str) -> _Shown:
    """Put the card's text in place of the prompt's; `{{original}}` brings that back in."""
    own = _own_text(job, consumed, placed)
    context = evolve(job.context_after(consumed), original=own.expansion.text)
    after = evolve(consumed, variables=own.expansion.variables)
    shown = job.expand(job.texts[name], context, after)
    keeps = any(use.name == "original" for use in shown.used)
    relationship = Relationship.INPUT if keeps else Relationship.PLACEMENT_ONLY
    remark = FIELD_REMARKS.get(name)
    return _Shown(
        shown,
        (
            evolve(own.sources[0], relationship=relationship),
            source_of(job, SourceKind.CHARACTER, name, job.texts[name]),
        ),
        (*own.used, *shown.used) if keeps else shown.used,
        frozenset({name}),
        (
            *(own.diagnostics if keeps else ()),
            *at_path(shown.diagnostics, f"/character/{FIELD_PATHS[name]}"),
            *(() if remark is None else (remark,)),
        ),
    )


def _after(consumed: Consumed, shown: _Shown, placement: str) -> Consumed:
    """Add what the macros of a prompt have shown."""
    names = {use.field for use in shown.used if use.result_chars}
    persona = placement if PERSONA in names and consumed.persona is None else consumed.persona
    fields = {name for name in CONTRIBUTORS if name in names}
    return evolve(
        consumed,
        fields=consumed.fields | shown.fields | fields,
        persona=persona,
        variables=shown.expansion.variables,
    )


def _prompt_source(job: Job, placed: PlacedPrompt) -> PartSource:
    name = f"prompts/{placed.index}/content"
    source = source_of(job, SourceKind.PRESET, name, placed.prompt.content)
    return evolve(source, identifier=placed.identifier, role=placed.role)
