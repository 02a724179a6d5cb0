"""What a host tells of its sessions: their past, their start, each event, their end.

Owns which service hears of it, in which order. Must not know the link, nor what a service does.

Source: the plugin contract, section E; the messages are those of DESIGN.md.
"""

from collections.abc import Callable, Mapping
from functools import partial

from tavern_loader.ports import Cancellation, JsonObject
from tavern_loader.service.host_parts import HostParts
from tavern_loader.service.parameters import Parameters
from tavern_loader.service.roleplay import HostWord
from tavern_loader.service.session_state import TURN_END


def _start(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    read = Parameters(params)
    session = read.session()
    source = read.text_or_none("source") or "startup"
    parts.each(
        partial(_take_in, parts, session),
        partial(parts.roleplay.on_session_start, session, source),
    )


def _take_in(parts: HostParts, session: JsonObject) -> None:
    facts = parts.states.take_in(session).facts
    selection = parts.steps.library.ensure_selection(facts.id, facts.parent_id)
    # Books are parsed and indexed while the user still types.
    parts.steps.library.resolve(selection)


def _sync(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    read = Parameters(params)
    session, events = read.session(), read.objects("events")
    is_first, is_last = read.flag("first"), read.flag("last")
    header, context = (
        read.object_or_none("requestHeader"),
        read.object_or_none("requestContext"),
    )
    live = parts.states.sync(
        session, events, is_first=is_first, is_last=is_last, request_context=context
    )
    if is_last:
        parts.trace(partial(parts.tracing.on_sync, live.facts, header))
    known = HostWord(
        sandbox=read.text_or_none("sandboxMode"), was_locked=params.get("wasLocked") is True
    )
    parts.roleplay.on_sync(session, events, is_first=is_first, is_last=is_last, known=known)


def _event(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    read = Parameters(params)
    session_id, event = read.text("sessionId"), read.nested("event")
    event_type = event.text("type")
    parts.states.observe(session_id, event.values)
    parts.trace(partial(parts.tracing.on_event, session_id, event.values))
    if event_type == TURN_END:
        parts.each(partial(parts.steps.end_turn, session_id))
    parts.each(partial(parts.roleplay.on_event, session_id, event.values))


def _end(parts: HostParts, params: JsonObject, _: Cancellation) -> None:
    session_id = Parameters(params).text("sessionId")
    parts.trace(partial(parts.tracing.on_session_end, session_id))
    parts.each(
        partial(parts.steps.end_turn, session_id),
        partial(parts.roleplay.on_session_end, session_id),
        partial(parts.states.end, session_id),
    )


SESSION_MESSAGES: Mapping[str, Callable[[HostParts, JsonObject, Cancellation], None]] = {
    "session/start": _start,
    "session/sync": _sync,
    "session/event": _event,
    "session/end": _end,
}
