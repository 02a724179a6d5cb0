"""The steps for whatever no prompt of the preset asked for.

Owns their order and the remark about switched-off markers. Must not know prompts.

Source: the plugin contract, section A4.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve

from tavern_compiler.inputs import FALLBACK_FIELDS
from tavern_compiler.job import Action, Consumed, Job, Step
from tavern_compiler.lore import LoreChannel, LoreSide
from tavern_compiler.markers import Marker, MarkerKind
from tavern_compiler.steps import field_step, info, lore_step, persona_step, warning
from tavern_format import Diagnostic


def fallback_actions(job: Job, off: Mapping[Marker, str]) -> Iterator[Action]:
    """List the steps for whatever no prompt asked for; `off` has the switched-off markers' paths.

    The persona first, then the card's fields, then lore.
    """
    if job.persona:
        yield lambda job, consumed: _persona_fallback(job, consumed, off)
    for name in FALLBACK_FIELDS:
        if name in job.texts:
            yield _field_fallback(name, off)
    if job.lore and job.given.lore_channel is LoreChannel.SYSTEM:
        for side in LoreSide:
            yield _lore_fallback(side, off)


def late_actions(channel: LoreChannel) -> Iterator[Action]:
    """List the steps for the group of its own that lore may stand in.

    They come behind all others, so that nothing a macro in lore stores can change what stands in
    front.
    """
    if channel is LoreChannel.LATE:
        for side in LoreSide:
            yield _late(side)


def _late(side: LoreSide) -> Action:
    return lambda job, consumed: lore_step(job, consumed, side)


def _persona_fallback(job: Job, consumed: Consumed, off: Mapping[Marker, str]) -> Step:
    if consumed.persona is not None:
        return Step(consumed=consumed)
    step = persona_step(job, consumed, "fallback")
    if not step.consumed.persona:
        return step
    message = "No prompt asks for the persona; it stands before the card's remaining fields."
    remark = warning("USER_PERSONA_MARKER_FALLBACK", "/user/description", message)
    return _with(step, remark, *_switched_off(off, Marker(MarkerKind.PERSONA)))


def _field_fallback(name: str, off: Mapping[Marker, str]) -> Action:
    def act(job: Job, consumed: Consumed) -> Step:
        if name in consumed.fields:
            return Step(consumed=consumed)
        step = field_step(job, consumed, name)
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
        yield info("MARKER_OFF_APPENDED", off[marker], message)


def _with(step: Step, *diagnostics: Diagnostic) -> Step:
    return evolve(step, diagnostics=(*step.diagnostics, *diagnostics))
