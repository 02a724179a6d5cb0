"""What each message of the host means: which services it goes to, in which order.

Owns the table of methods and the reading of their parameters. A part that fails does not keep the
others from a message: it is reported. Must not know the link, nor what a service does.

Source: the plugin contract, section E; the messages are those of DESIGN.md.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from attrs import define

from tavern_loader._version import __version__
from tavern_loader.domain.call_settings import Refusal
from tavern_loader.domain.names import PROFILE_ORDER, PROFILE_SECTION
from tavern_loader.domain.session import SessionFacts
from tavern_loader.errors import LoaderError, ParametersError
from tavern_loader.ports import Background, Cancellation, JsonObject
from tavern_loader.service import roleplay, rp_command, session_state, tracing
from tavern_loader.service.answers import answer_to_json
from tavern_loader.service.compiling import Lapse
from tavern_loader.service.parameters import Parameters
from tavern_loader.service.roleplay import HostWord, Roleplay
from tavern_loader.service.session_state import TURN_END, SessionStates
from tavern_loader.service.step_values import AssembleRequest
from tavern_loader.service.steps import Steps
from tavern_loader.service.tracing import Tracing
from tavern_trace import AssembledText, OfficialAssembly, SentMessage, SentRequest

PROTOCOL = 1
EVENT_TYPES = tuple(
    dict.fromkeys((*session_state.EVENT_TYPES, *tracing.EVENT_TYPES, *roleplay.EVENT_TYPES))
)
"""Events that the host is asked to forward."""
REPLAYED_TYPES = tuple(dict.fromkeys((*session_state.REPLAYED_TYPES, *roleplay.EVENT_TYPES)))
"""Those of them that rebuild a session."""

Handler = Callable[[JsonObject, Cancellation], JsonObject | None]


@define(kw_only=True)
class HostService:
    """All that a host can ask of one installation."""

    steps: Steps
    tracing: Tracing
    roleplay: Roleplay
    history_messages: int
    """As many messages of a session's history are asked for."""
    complain: Callable[[str], None]
    """Told of a part that failed: a code, no text."""
    background: Background | None = None
    """Does what no step waits for; None: it is done at once."""

    @property
    def methods(self) -> Mapping[str, Handler]:
        """The function for each method."""
        return {
            "initialize": self._initialize,
            "session/start": self._session_start,
            "session/sync": self._session_sync,
            "session/event": self._session_event,
            "session/end": self._session_end,
            "assemble": self._assemble,
            "assembled": self._assembled,
            "pre-step": self._pre_step,
            "request": self._request,
            "request-error": self._request_error,
            "agent-error": self._agent_error,
            "stream": self._stream,
            "tool": self._tool,
            "command": self._command,
            "shutdown": self._shutdown,
        }

    def close(self) -> None:
        """Write what is not written yet."""
        for live in self._states.all:
            self._each(partial(self.steps.end_turn, live.facts.id))
        if self.background is not None:
            self.background.drain()
        self._each(self.tracing.close)

    @property
    def _states(self) -> SessionStates:
        return self.steps.states

    def _each(self, *parts: Callable[[], object]) -> None:
        """Do every part of a message, whatever becomes of the others."""
        for part in parts:
            try:
                part()
            except LoaderError as error:
                self.complain(f"a part of a message failed: {error.code}")

    def _trace(self, part: Callable[[], object]) -> None:
        """Do a part of the trace, behind those before it."""
        if self.background is None:
            self._each(part)
        else:
            self.background.submit(part)

    # --- sessions ------------------------------------------------------------------------

    def _initialize(self, params: JsonObject, _: Cancellation) -> JsonObject:
        if Parameters(params).whole("protocol") != PROTOCOL:
            message = f"this version speaks protocol {PROTOCOL}"
            raise LoaderError("PROTOCOL_UNSUPPORTED", message)
        return {
            "protocol": PROTOCOL,
            "version": __version__,
            "events": list(EVENT_TYPES),
            "replay": list(REPLAYED_TYPES),
            "historyMessages": self.history_messages,
            "sections": [
                {"name": PROFILE_SECTION, "order": PROFILE_ORDER},
                {"name": roleplay.SECTION_NAME, "order": roleplay.SECTION_ORDER},
            ],
            "commands": [
                {"name": rp_command.COMMAND_NAME, "description": rp_command.COMMAND_DESCRIPTION}
            ],
        }

    def _session_start(self, params: JsonObject, _: Cancellation) -> None:
        read = Parameters(params)
        session = read.session()
        source = read.text_or_none("source") or "startup"
        self._each(
            partial(self._take_in, session),
            partial(self.roleplay.on_session_start, session, source),
        )

    def _take_in(self, session: JsonObject) -> None:
        facts = self._states.take_in(session).facts
        selection = self.steps.library.ensure_selection(facts.id, facts.parent_id)
        # Books are parsed and indexed while the user still types.
        self.steps.library.resolve(selection)

    def _session_sync(self, params: JsonObject, _: Cancellation) -> None:
        read = Parameters(params)
        session, events = read.session(), read.objects("events")
        is_first, is_last = read.flag("first"), read.flag("last")
        header, context = (
            read.object_or_none("requestHeader"),
            read.object_or_none("requestContext"),
        )
        live = self._states.sync(
            session, events, is_first=is_first, is_last=is_last, request_context=context
        )
        if is_last:
            self._trace(partial(self.tracing.on_sync, live.facts, header))
        known = HostWord(
            sandbox=read.text_or_none("sandboxMode"), was_locked=params.get("wasLocked") is True
        )
        self.roleplay.on_sync(session, events, is_first=is_first, is_last=is_last, known=known)

    def _session_event(self, params: JsonObject, _: Cancellation) -> None:
        read = Parameters(params)
        session_id, event = read.text("sessionId"), read.nested("event")
        event_type = event.text("type")
        self._states.observe(session_id, event.values)
        self._trace(partial(self.tracing.on_event, session_id, event.values))
        if event_type == TURN_END:
            self._each(partial(self.steps.end_turn, session_id))
        self._each(partial(self.roleplay.on_event, session_id, event.values))

    def _session_end(self, params: JsonObject, _: Cancellation) -> None:
        session_id = Parameters(params).text("sessionId")
        self._trace(partial(self.tracing.on_session_end, session_id))
        self._each(
            partial(self.steps.end_turn, session_id),
            partial(self.roleplay.on_session_end, session_id),
            partial(self._states.end, session_id),
        )

    # --- a step --------------------------------------------------------------------------

    def _assemble(self, params: JsonObject, cancellation: Cancellation) -> JsonObject:
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
        return answer_to_json(self.steps.assemble(request, cancellation))

    def _assembled(self, params: JsonObject, _: Cancellation) -> None:
        read = Parameters(params)
        facts, (turn, step) = self._place(read)
        variables = read.object_or_empty("variables")
        assembly = OfficialAssembly(
            sections=tuple(_assembled_texts(read.each("sections"))),
            contexts=tuple(_assembled_texts(read.each("contexts"))),
            variables={name: value for name, value in variables.items() if isinstance(value, str)},
        )
        self._trace(partial(self.tracing.on_assembled, facts, turn, step, assembly))

    def _pre_step(self, params: JsonObject, _: Cancellation) -> None:
        read = Parameters(params)
        session_id = self._facts(read).id
        if not read.flag("rejected"):
            self._each(partial(self.roleplay.on_pre_step, session_id))

    def _request(self, params: JsonObject, _: Cancellation) -> JsonObject:
        read = Parameters(params)
        facts, place = self._place(read)
        config = read.object_or_empty("config")
        refusal = None if read.object_or_none("refused") is None else _refusal(read)
        if refusal is None:
            run = self.steps.run_of(facts.id, *place)
            self._trace(partial(self.tracing.on_request, facts, *place, run))
        configured = self.steps.configure(read.session(), place, config, refusal)
        self._trace(partial(self.tracing.on_configured, facts.id, configured))
        return {"config": configured.config}

    def _request_error(self, params: JsonObject, _: Cancellation) -> None:
        self._trace(partial(self.tracing.on_request_error, self._facts(Parameters(params))))

    def _agent_error(self, params: JsonObject, _: Cancellation) -> None:
        facts, (turn, step) = self._place(Parameters(params))
        self._trace(partial(self.tracing.on_agent_error, facts, turn, step))

    def _stream(self, params: JsonObject, _: Cancellation) -> None:
        read = Parameters(params)
        facts = self._facts(read)
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
        self._trace(partial(self.tracing.on_stream, facts, request, surface, sent_at))
        self._each(partial(self.steps.settle, facts.id))

    # --- tools and commands --------------------------------------------------------------

    def _tool(self, params: JsonObject, _: Cancellation) -> JsonObject:
        read = Parameters(params)
        verdict = self.roleplay.on_tool(read.session(), read.text("name"), params.get("arguments"))
        answer = {"deny": verdict.deny, "cancel": verdict.cancel}
        return {name: text for name, text in answer.items() if text is not None}

    def _command(self, params: JsonObject, _: Cancellation) -> JsonObject:
        read = Parameters(params)
        name = read.text("name")
        if name != rp_command.COMMAND_NAME:
            raise ParametersError("/name: there is no such command")
        session_id = self._facts(read).id
        return {"text": self.roleplay.on_command(session_id, read.text_or_none("arguments") or "")}

    def _shutdown(self, _: JsonObject, __: Cancellation) -> None:
        self.close()

    # --- reading -------------------------------------------------------------------------

    def _facts(self, read: Parameters) -> SessionFacts:
        return self._states.take_in(read.session()).facts

    def _place(self, read: Parameters) -> tuple[SessionFacts, tuple[int, int]]:
        """Say which step of which turn a message is about; the latest run if it does not say."""
        live = self._states.take_in(read.session())
        run = self.steps.latest(live.facts.id)
        known = (live.turn, max(live.step, 1)) if run is None else (run.turn, run.step)
        turn, step = read.whole_or_none("turn"), read.whole_or_none("step")
        return live.facts, (
            known[0] if turn is None else turn,
            known[1] if step is None else step,
        )


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
