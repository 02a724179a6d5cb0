"""The step for one prompt of a preset: a marker, a text, or a card's text in its place.

Owns overrides and the once-only rule of markers. Must not know what comes before or after a prompt.

Source: the plugin contract, sections A4 to A6, with the repairs that COMPATIBILITY.md lists.
"""

import re
from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from tavern_compiler._text import JS_WHITE_SPACE
from tavern_compiler.job import Action, Consumed, Job, Step
from tavern_compiler.lore import LoreChannel, LoreSide
from tavern_compiler.macros import Expansion, at_path
from tavern_compiler.markers import MARKERS, Marker, MarkerKind
from tavern_compiler.order import PlacedPrompt
from tavern_compiler.parts import PartSource, Relationship, SourceKind
from tavern_compiler.rules import Rules
from tavern_compiler.steps import (
    CONTRIBUTORS,
    FIELD_PATHS,
    FIELD_REMARKS,
    PERSONA,
    contributors,
    field_step,
    fields_of,
    info,
    lore_step,
    part_of,
    persona_step,
    source_of,
    warning,
)
from tavern_format import Diagnostic

_BLANK = f"[{JS_WHITE_SPACE}]*"
_ORIGINAL = re.compile(rf"\{{\{{{_BLANK}original{_BLANK}\}}\}}", re.IGNORECASE | re.ASCII)


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


def prompt_action(placed: PlacedPrompt, rules: Rules) -> Action:
    """Choose the step for one prompt that is switched on."""
    marker = None
    if placed.prompt.marker or not rules.slots_by_flag:
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
    if job.rules.slots_once and marker.target in consumed.fields:
        return _repeated(consumed, placed)
    return field_step(job, consumed, marker.target)


def _persona_marker(job: Job, consumed: Consumed, placed: PlacedPrompt, _: Marker) -> Step:
    if not job.persona:
        return Step(consumed=consumed)
    if consumed.persona is not None:
        return _repeated(consumed, placed)
    return persona_step(job, consumed, f"preset-marker:{placed.identifier}")


def _lore_marker(job: Job, consumed: Consumed, placed: PlacedPrompt, marker: Marker) -> Step:
    if job.given.lore_channel is LoreChannel.LATE:
        return Step(consumed=consumed)
    if job.rules.slots_once and marker.target in consumed.lore:
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
    further: tuple[Expansion, ...] = ()
    """Other texts whose macros show in it."""
    fields: frozenset[str] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()


def _text_step(job: Job, consumed: Consumed, placed: PlacedPrompt) -> Step:
    """Emit a prompt with a text of its own, or the card's text in its place."""
    override = OVERRIDES.get(placed.identifier)
    if override is not None and override.field not in job.texts:
        override = None
    if override is None and not placed.prompt.content:
        return Step(consumed=consumed)
    if override is None or not _has_override(job, consumed, override):
        shown = _own_text(job, consumed, placed)
    elif placed.prompt.forbid_overrides:
        shown = _own_text(job, consumed, placed)
        shown = evolve(shown, diagnostics=(*shown.diagnostics, override.forbidden))
    elif job.rules.original_is_raw:
        shown = _composed_text(job, consumed, placed, override.field)
    else:
        shown = _override_text(job, consumed, placed, override.field)
    used = (shown.expansion, *shown.further)
    return Step(
        consumed=_after(job, consumed, shown, f"preset-macro:{placed.identifier}"),
        parts=(part_of(shown.expansion, *shown.sources, *contributors(job, *used)),),
        diagnostics=shown.diagnostics,
    )


def _has_override(job: Job, consumed: Consumed, override: Override) -> bool:
    return not (job.rules.override_once and override.field in consumed.fields)


def _own_text(job: Job, consumed: Consumed, placed: PlacedPrompt) -> _Shown:
    path = f"{placed.path}/content"
    own = job.expand(placed.prompt.content, job.context_after(consumed), consumed.variables, path)
    return _Shown(own, (_prompt_source(job, placed),), diagnostics=at_path(own.diagnostics, path))


def _override_text(job: Job, consumed: Consumed, placed: PlacedPrompt, name: str) -> _Shown:
    """Put the card's text in place of the prompt's; `{{original}}` brings that back in."""
    own = _own_text(job, consumed, placed)
    context = evolve(job.context_after(consumed), original=own.expansion.text)
    path = f"/character/{FIELD_PATHS[name]}"
    shown = job.expand(job.texts[name], context, own.expansion.variables, path)
    keeps = any(use.name == "original" for use in shown.used)
    found = _overridden(job, placed, name, shown, keeps=keeps)
    if not keeps:
        return found
    return evolve(
        found, further=(own.expansion,), diagnostics=(*own.diagnostics, *found.diagnostics)
    )


def _composed_text(job: Job, consumed: Consumed, placed: PlacedPrompt, name: str) -> _Shown:
    """Write the prompt into the card's text first, and run the macros of both together."""
    own, text = placed.prompt.content, job.texts[name]
    composed = _ORIGINAL.sub(lambda _: own, text)
    path = f"/character/{FIELD_PATHS[name]}"
    shown = job.expand(composed, job.context_after(consumed), consumed.variables, path)
    return _overridden(job, placed, name, shown, keeps=bool(_ORIGINAL.search(text)))


def _overridden(
    job: Job, placed: PlacedPrompt, name: str, shown: Expansion, *, keeps: bool
) -> _Shown:
    relationship = Relationship.INPUT if keeps else Relationship.PLACEMENT_ONLY
    remark = FIELD_REMARKS.get(name)
    return _Shown(
        shown,
        (
            _prompt_source(job, placed, relationship),
            source_of(job, SourceKind.CHARACTER, name, job.texts[name]),
        ),
        fields=frozenset({name}),
        diagnostics=(
            *at_path(shown.diagnostics, f"/character/{FIELD_PATHS[name]}"),
            *(() if remark is None else (remark,)),
        ),
    )


def _after(job: Job, consumed: Consumed, shown: _Shown, placement: str) -> Consumed:
    """Add what the macros of a prompt have shown."""
    used = [use for one in (shown.expansion, *shown.further) for use in one.used]
    has_persona = any(use.field == PERSONA and use.result_chars for use in used)
    fields = fields_of(job, *used).intersection(CONTRIBUTORS) if job.rules.macros_consume else ()
    return consumed.plus(
        shown.expansion.variables,
        fields=shown.fields.union(fields),
        persona=placement if has_persona else None,
    )


def _prompt_source(
    job: Job, placed: PlacedPrompt, relationship: Relationship = Relationship.INPUT
) -> PartSource:
    ref = job.given.resources.get(SourceKind.PRESET)
    return PartSource(
        kind=SourceKind.PRESET,
        field=f"prompts/{placed.number}/content",
        text=placed.prompt.content,
        resource_id=ref.id if ref else None,
        resource_revision=ref.revision if ref else None,
        relationship=relationship,
        identifier=placed.identifier,
        role=placed.role,
    )
