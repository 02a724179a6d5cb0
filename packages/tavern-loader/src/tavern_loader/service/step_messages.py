"""What a host asks and tells of a step: from its assembly to the request on its way to the model.

Owns the reading of parameters, and which service hears of it, in which order. Must not know the
link, nor what a service does.

Source: the plugin contract, section E; the messages are those of DESIGN.md.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tavern_loader.domain.call_settings import Refusal
from tavern_loader.ports import Cancellation, JsonObject
from tavern_loader.service.answers import answer_to_json
from tavern_loader.service.compiling import Lapse
from tavern_loader.service.host_parts import HostParts
from tavern_loader.service.parameters import Parameters
from tavern_loader.service.step_values import AssembleRequest
from tavern_trace import AssembledText, OfficialAssembly, SentMessage, SentRequest


def _assemble(parts: HostParts, params: JsonObject, cancellation: Cancellation) -> JsonObject:
    read = Parameters(params)
    request = AssembleRequest(
        session=read.session(),
        turn=read.whole_or_none("turn"),
        step=read.whole_or_none("step"),
        variables=read.object_or_empty("variables"),
        history=read.objects("history"),
        earlier=read.counts("earlier"),
        lapses=tuple(map(_lapse, read.each("lapses"))),
    )
    return answer_to_json(parts.steps.assemble(request, cancellation))


def _assembled(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    read = Parameters(params)
    facts, (turn, step) = parts.place(read)
    variables = read.object_or_empty("variables")
    assembly = OfficialAssembly(
        sections=tuple(_assembled_texts(read.each("sections"))),
        contexts=tuple(_assembled_texts(read.each("contexts"))),
        variables={name: value for name, value in variables.items() if isinstance(value, str)},
    )
    parts.trace(partial(parts.tracing.on_assembled, facts, turn, step, assembly))


def _pre_step(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    read = Parameters(params)
    session_id = parts.facts(read).id
    if not read.flag("rejected"):
        parts.each(partial(parts.roleplay.on_pre_step, session_id))


def _request(parts: HostParts, params: JsonObject, _: Cancellation) -> JsonObject:
    read = Parameters(params)
    facts, place = parts.place(read)
    config = read.object_or_empty("config")
    refusal = None if read.object_or_none("refused") is None else _refusal(read)
    if refusal is None:
        run = parts.steps.run_of(facts.id, *place)
        parts.trace(partial(parts.tracing.on_request, facts, *place, run))
    configured = parts.steps.configure(read.session(), place, config, refusal)
    parts.trace(partial(parts.tracing.on_configured, facts.id, configured))
    return {"config": configured.config}


def _request_error(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    parts.trace(partial(parts.tracing.on_request_error, parts.facts(Parameters(params))))


def _agent_error(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    facts, (turn, step) = parts.place(Parameters(params))
    parts.trace(partial(parts.tracing.on_agent_error, facts, turn, step))


def _stream(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    read = Parameters(params)
    facts = parts.facts(read)
    if read.text_or_none("purpose"):
        return  # a title or a compaction: no step of ours
    request = SentRequest(
        provider=read.text_or_none("provider"),
        model=read.text_or_none("model"),
        tool_names=read.texts("toolNames"),
        system=read.text_or_none("system"),
        messages=tuple(_sent_messages(read.each("messages"))),
    )
    cut = read.whole_or_none("logCutSeq")
    surface = read.objects("surface")
    sent_at = facts.seq - 1 if cut is None else cut
    parts.trace(partial(parts.tracing.on_stream, facts, request, surface, sent_at))
    parts.each(partial(parts.steps.settle, facts.id))


STEP_MESSAGES: Mapping[str, Callable[[HostParts, JsonObject, Cancellation], JsonObject | None]] = {
    "assemble": _assemble,
    "assembled": _assembled,
    "pre-step": _pre_step,
    "request": _request,
    "request-error": _request_error,
    "agent-error": _agent_error,
    "stream": _stream,
}


# --- reading ---------------------------------------------------------------------------------


def _assembled_texts(found: Iterable[Parameters]) -> Iterable[AssembledText]:
    for one in found:
        interpolate = one.values.get("interpolate") is not False
        yield AssembledText(name=one.text("name"), text=one.text("text"), interpolate=interpolate)


def _sent_messages(found: Iterable[Parameters]) -> Iterable[SentMessage]:
    for one in found:
        content: Any = one.values.get("content")
        yield SentMessage(role=one.text("role"), id=one.text_or_none("id"), content=content or ())


def _lapse(found: Parameters) -> Lapse:
    return Lapse(
        method=found.text("method"),
        turn=found.whole_or_none("turn"),
        step=found.whole_or_none("step"),
        reason=found.text_or_none("reason") or "",
    )


def _refusal(read: Parameters) -> Refusal:
    found = read.nested("refused")
    return Refusal(
        code=found.text_or_none("code") or "",
        message=found.text_or_none("message") or "",
        status=found.whole_or_none("status"),
    )
