"""The steps of a compile: each turns what is consumed so far into parts and what is consumed then.

Owns markers, overrides and the appending of what no prompt asked for. Nothing is changed in
place: a step returns a `Step`. Must not know limits or the whole result.

Source: the plugin contract, sections A4 to A6, with the repairs that COMPATIBILITY.md lists.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from tavern_compiler._text import trim
from tavern_compiler.inputs import FALLBACK_FIELDS, CompileInput
from tavern_compiler.lore import LoreEntry, LoreSide, side_of
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
    return Step(consumed=consumed, diagnostics=(_info("MARKER_REPEATED", placed.path, message),))


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
    """Emit every fired entry of one side, a part each; a mention in lore consumes nothing."""
    entries = [
        (place, entry, expand_macros(entry.content, job.context))
        for place, entry in enumerate(job.given.lore)
        if side_of(entry) is side
    ]
    return Step(
        consumed=evolve(consumed, lore=consumed.lore | {side}),
        parts=tuple(
            _part(expansion, _lore_source(entry), *_contributors(job, expansion.used))
            for _, entry, expansion in entries
        ),
        diagnostics=tuple(
            found
            for place, _, expansion in entries
            for found in at_path(expansion.diagnostics, f"/lore/{place}/content")
        ),
    )


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
        parts=(_part(shown.expansion, *shown.sources, *_contributors(job, shown.used)),),
        diagnostics=shown.diagnostics,
    )


def _own_text(job: Job, consumed: Consumed, placed: PlacedPrompt) -> _Shown:
    own = expand_macros(placed.prompt.content, job.context_after(consumed))
    return _Shown(
        own,
        (_prompt_source(job, placed),),
        own.used,
        diagnostics=at_path(own.diagnostics, f"{placed.path}/content"),
    )


def _override_text(job: Job, consumed: Consumed, placed: PlacedPrompt, name: str) -> _Shown:
    """Put the card's text in place of the prompt's; `{{original}}` brings that back in."""
    own = _own_text(job, consumed, placed)
    context = evolve(job.context_after(_after(consumed, own, "")), original=own.expansion.text)
    shown = expand_macros(job.texts[name], context)
    keeps = any(use.name == "original" for use in shown.used)
    relationship = Relationship.INPUT if keeps else Relationship.PLACEMENT_ONLY
    remark = FIELD_REMARKS.get(name)
    return _Shown(
        shown,
        (
            evolve(own.sources[0], relationship=relationship),
            _source(job, SourceKind.CHARACTER, name, job.texts[name]),
        ),
        (*own.used, *shown.used) if keeps else shown.used,
        frozenset({name}),
        (
            *(own.diagnostics if keeps else ()),
            *at_path(shown.diagnostics, f"/character/{_PATHS[name]}"),
            *(() if remark is None else (remark,)),
        ),
    )


def _after(consumed: Consumed, shown: _Shown, placement: str) -> Consumed:
    """Add what the macros of a prompt have shown."""
    names = {use.field for use in shown.used if use.result_chars}
    persona = placement if PERSONA in names and consumed.persona is None else consumed.persona
    fields = {name for name in CONTRIBUTORS if name in names}
    return evolve(consumed, fields=consumed.fields | shown.fields | fields, persona=persona)


def fallback_actions(off: Mapping[Marker, str]) -> Iterator[Action]:
    """List the steps for whatever no prompt asked for; `off` has the switched-off markers' paths.

    The persona first, then the card's fields, then lore.
    """
    yield lambda job, consumed: _persona_fallback(job, consumed, off)
    for name in FALLBACK_FIELDS:
        yield _field_fallback(name, off)
    for side in LoreSide:
        yield _lore_fallback(side, off)


def _persona_fallback(job: Job, consumed: Consumed, off: Mapping[Marker, str]) -> Step:
    if not job.persona or consumed.persona is not None:
        return Step(consumed=consumed)
    message = "No prompt asks for the persona; it stands before the card's remaining fields."
    remark = _warning("USER_PERSONA_MARKER_FALLBACK", "/user/description", message)
    step = _persona_step(job, consumed, "fallback")
    return _with(step, remark, *_switched_off(off, Marker(MarkerKind.PERSONA)))


def _field_fallback(name: str, off: Mapping[Marker, str]) -> Action:
    def act(job: Job, consumed: Consumed) -> Step:
        if name not in job.texts or name in consumed.fields:
            return Step(consumed=consumed)
        step = _field_step(job, consumed, name)
        return _with(step, *_switched_off(off, Marker(MarkerKind.CHARACTER, name)))

    return act


def _lore_fallback(side: LoreSide, off: Mapping[Marker, str]) -> Action:
    def act(job: Job, consumed: Consumed) -> Step:
        if side in consumed.lore:
            return Step(consumed=consumed)
        step = lore_step(job, consumed, side)
        return _with(
            step, *(_switched_off(off, Marker(MarkerKind.LORE, side)) if step.parts else ())
        )

    return act


def _switched_off(off: Mapping[Marker, str], marker: Marker) -> Iterator[Diagnostic]:
    if marker in off:
        message = "The marker is switched off; SillyTavern leaves out what is appended here."
        yield _info("MARKER_OFF_APPENDED", off[marker], message)


def _with(step: Step, *diagnostics: Diagnostic) -> Step:
    return evolve(step, diagnostics=(*step.diagnostics, *diagnostics))


def _part(expansion: Expansion, *sources: PartSource) -> Part:
    return Part(text=trim(expansion.text), sources=sources)


def _contributors(job: Job, used: Sequence[MacroUse]) -> Iterator[PartSource]:
    """List the resources that macros brought into a text."""
    names = {use.field for use in used if use.result_chars}
    for name in CONTRIBUTORS:
        if name in names:
            yield _source(job, SourceKind.CHARACTER, name, job.texts[name])
    if PERSONA in names:
        yield _source(job, SourceKind.USER, "description", job.persona)


def _source(job: Job, kind: SourceKind, name: str, text: str) -> PartSource:
    ref = job.given.resources.get(kind)
    return PartSource(
        kind=kind,
        field=name,
        text=text,
        resource_id=ref.id if ref else None,
        resource_revision=ref.revision if ref else None,
    )


def _prompt_source(job: Job, placed: PlacedPrompt) -> PartSource:
    name = f"prompts/{placed.index}/content"
    source = _source(job, SourceKind.PRESET, name, placed.prompt.content)
    return evolve(source, identifier=placed.identifier, role=placed.role)


def _lore_source(entry: LoreEntry) -> PartSource:
    return PartSource(
        kind=SourceKind.WORLD_BOOK,
        field="content",
        text=entry.content,
        resource_id=entry.book,
        entry_id=entry.uid,
        qualified_entry_id=entry.qualified_id,
    )
