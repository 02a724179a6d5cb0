"""From a step that was prepared to what the record of its request begins with.

Owns which fact of a step goes to which field. Must not know what becomes of the request.

Source: the plugin contract, sections D2, D3 and D8.
"""

from collections.abc import Iterable

from attrs import evolve

from tavern_loader.domain.session import SessionFacts
from tavern_loader.domain.session_selections import selection_to_json
from tavern_loader.service.audit import audit_of
from tavern_loader.service.step_values import StepRun
from tavern_loader.service.traced_session import WaitingRequest
from tavern_trace import (
    Capture,
    CompiledProfile,
    Draw,
    OwnPart,
    Privacy,
    SourceText,
    new_audit,
)

MAX_DECISIONS = 128
"""As many as an audit keeps."""


def capture_of(facts: SessionFacts, waiting: WaitingRequest, privacy: Privacy) -> Capture:
    """Say everything of a request that its record begins with."""
    run = waiting.run
    done = None if run is None else run.result
    capture = Capture(identity=waiting.identity, assembly=waiting.assembly, privacy=privacy)
    if run is None or done is None:
        return capture
    audit = audit_of(done, max_decisions=MAX_DECISIONS)
    compiled = CompiledProfile(
        system_text=done.profile.system_text,
        system_prompt_mode=str(done.profile.system_prompt_mode),
        call_config=run.call_settings,
        audit=audit,
    )
    return evolve(
        capture,
        own_parts=tuple(_own_parts(run)),
        audit=new_audit(
            compiled,
            waiting.identity,
            session_format_version=facts.format_version,
            privacy=privacy,
        ),
        selection=selection_to_json(done.given.resolved.selection),
        compiler_fingerprint=done.profile.fingerprint,
        draws=tuple(Draw(purpose=one.purpose, value=one.value) for one in done.match.draws),
    )


def _own_parts(run: StepRun) -> Iterable[OwnPart]:
    """Give our sections as they went into the assembly, with where their texts are from."""
    if run.result is None:
        return
    for sent, part in zip(run.answer.parts, run.result.profile.parts, strict=True):
        sources = tuple(
            SourceText(
                kind=str(source.kind),
                resource_id=source.resource_id,
                resource_revision=source.resource_revision,
                field=source.field,
                text=source.text,
                relationship=str(source.relationship),
                identifier=source.identifier,
                role=source.role,
                entry_id=source.entry_id,
                qualified_entry_id=source.qualified_entry_id,
            )
            for source in part.sources
        )
        yield OwnPart(name=sent.name, text=sent.text, sources=sources)
