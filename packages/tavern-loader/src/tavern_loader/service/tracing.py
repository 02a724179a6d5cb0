"""What becomes of each request, as records that prove it.

Owns when a record begins and which event of the host moves it on. A request is recorded when it is
seen on its way to the model, or when something else happens to it first, so that recording costs no
step any time. Must not know where records are kept.

Source: the plugin contract, sections D2 to D5 and E; the host contract, section 4.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import define, evolve, field

from tavern_loader.domain.session import SessionFacts
from tavern_loader.ports import Clock, Identities, JsonObject
from tavern_loader.service.capturing import capture_of
from tavern_loader.service.step_values import Configured, StepRun
from tavern_loader.service.trace_shelf import TraceShelf
from tavern_loader.service.traced_session import TracedSession, WaitingRequest, seq_of
from tavern_trace import (
    CaptureIdentity,
    OfficialAssembly,
    Privacy,
    SentRequest,
    TraceRecord,
    begin,
    begin_failed,
    fail,
    header_facts,
    is_session_id,
    note_parameters,
    observe_failure,
    observe_header,
    observe_message,
    observe_stream,
    observe_turn_end,
    supersede,
    supersede_excess,
    unload,
)

REQUEST_HEADER = "request/header"
ASSISTANT_MESSAGE = "assistant/message"
ASSISTANT_ATTEMPT = "assistant/attempt"
TURN_END = "turn/end"
EVENT_TYPES = (REQUEST_HEADER, ASSISTANT_MESSAGE, ASSISTANT_ATTEMPT, TURN_END)


@define(kw_only=True)
class Tracing:
    """The records of all sessions. Messages of one session must come in their order."""

    shelf: TraceShelf
    clock: Clock
    identities: Identities
    privacy: Privacy = Privacy.NORMAL
    is_on: bool = True
    """False: nothing is recorded."""
    _sessions: dict[str, TracedSession] = field(factory=dict, init=False)

    # --- what the host reports -----------------------------------------------------------

    def on_sync(self, facts: SessionFacts, request_header: JsonObject | None) -> None:
        """Learn which request header is in force."""
        self._session(facts).header = request_header

    def on_assembled(
        self, facts: SessionFacts, turn: int, step: int, assembly: OfficialAssembly
    ) -> None:
        """Take the assembly of a step, after every plugin has had its turn."""
        self._session(facts).assembly = (turn, step, assembly)

    def on_request(self, facts: SessionFacts, turn: int, step: int, run: StepRun | None) -> None:
        """A request, or the next attempt at one, is being prepared."""
        if not self._records(facts):
            return
        session = self._session(facts)
        self._supersede(session)
        assembly = session.assembly
        is_same = assembly is not None and assembly[:2] == (turn, step)
        session.waiting = WaitingRequest(
            identity=self._identity(session, turn, step),
            run=run,
            assembly=assembly[2] if assembly is not None and is_same else None,
        )
        session.is_header_new = False
        session.in_force = None
        session.profile_text = run.system_text if run is not None else ""

    def on_configured(self, session_id: str, configured: Configured) -> None:
        """The call of the request is configured, perhaps not for the first time."""
        session = self._sessions.get(session_id)
        if session is not None and session.waiting is not None:
            session.waiting = evolve(session.waiting, configured=configured)

    def on_stream(
        self,
        facts: SessionFacts,
        request: SentRequest,
        surface: Sequence[JsonObject],
        log_cut_seq: int,
    ) -> None:
        """A request leaves for the model; `surface` are the events that it may point to."""
        session = self._session(facts)
        self._record_waiting(session)
        if session.record is None or not session.record.status.is_pending:
            return
        history = session.history(surface, log_cut_seq)
        session.in_force = header_facts(history)
        record = session.record
        if session.is_header_new and session.in_force is not None:
            record = observe_header(
                record,
                session.in_force,
                at_ms=self.clock.now_ms(),
                profile_text=session.profile_text,
            )
        self._put(session, observe_stream(record, request, history))

    def on_event(self, session_id: str, event: JsonObject) -> None:
        """Take in an event that the host has just logged."""
        session = self._sessions.get(session_id)
        handler = _EVENTS.get(str(event.get("type")))
        if session is not None and handler is not None:
            handler(self, session, event)

    def on_request_error(self, facts: SessionFacts) -> None:
        """A request failed; whether it is tried again makes no difference to this one."""
        session = self._session(facts)
        self._record_waiting(session)
        self._failed(session)

    def on_agent_error(self, facts: SessionFacts, turn: int, step: int) -> None:
        """A step failed: in its request, or before there was one."""
        session = self._session(facts)
        self._record_waiting(session)
        record = session.record
        if record is not None and (
            record.status.is_pending or (record.turn, record.step) == (turn, step)
        ):
            self._failed(session)
        elif self._records(facts):
            self._put(session, begin_failed(self._identity(session, turn, step)))

    def on_session_end(self, session_id: str) -> None:
        """The host has closed a session."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._unload(session)
            self.shelf.flush_soon()

    def close(self) -> None:
        """Everything ends; what is under way is not seen any more."""
        for session in tuple(self._sessions.values()):
            self._unload(session)
        self._sessions.clear()
        self.shelf.flush()

    # --- events --------------------------------------------------------------------------

    def _header_logged(self, session: TracedSession, event: JsonObject) -> None:
        session.header = event
        session.is_header_new = True

    def _message_logged(self, session: TracedSession, _: JsonObject) -> None:
        self._record_waiting(session)
        if session.record is not None:
            self._put(
                session,
                observe_message(
                    session.record,
                    at_ms=self.clock.now_ms(),
                    header=session.in_force,
                    profile_text=session.profile_text,
                ),
            )

    def _attempt_logged(self, session: TracedSession, event: JsonObject) -> None:
        self._record_waiting(session)
        self._point_to_failure(session, event)

    def _turn_ended(self, session: TracedSession, event: JsonObject) -> None:
        self._record_waiting(session)
        self._point_to_failure(session, event)
        if session.record is not None:
            self._put(
                session,
                observe_turn_end(
                    session.record,
                    at_ms=self.clock.now_ms(),
                    header=session.in_force,
                    profile_text=session.profile_text,
                ),
            )
        session.assembly = session.in_force = None
        session.profile_text = ""
        self.shelf.flush_soon()

    def _point_to_failure(self, session: TracedSession, event: JsonObject) -> None:
        if session.record is None:
            return
        history = session.history((event,), seq_of(event))
        found = next((one for one in history.events if one.seq == seq_of(event)), None)
        if found is not None:
            self._put(session, observe_failure(session.record, history, found))

    # --- records -------------------------------------------------------------------------

    def _records(self, facts: SessionFacts) -> bool:
        return self.is_on and is_session_id(facts.id)

    def _session(self, facts: SessionFacts) -> TracedSession:
        session = self._sessions.setdefault(facts.id, TracedSession(facts=facts))
        session.facts = facts
        return session

    def _identity(self, session: TracedSession, turn: int, step: int) -> CaptureIdentity:
        last = session.record
        is_again = last is not None and (last.turn, last.step) == (turn, step)
        return CaptureIdentity(
            record_id=self.identities.new(),
            session_id=session.facts.id,
            turn=turn,
            step=step,
            attempt=last.attempt + 1 if last is not None and is_again else 1,
            at_ms=self.clock.now_ms(),
        )

    def _record_waiting(self, session: TracedSession) -> None:
        """Record a request that was prepared."""
        waiting, session.waiting = session.waiting, None
        if waiting is None:
            return
        record = begin(capture_of(session.facts, waiting, self.privacy), previous=session.record)
        configured = waiting.configured
        noted = configured and configured.parameters(waiting.identity.attempt)
        self._put(session, note_parameters(record, noted) if noted else record)
        self._give_up_excess()

    def _put(self, session: TracedSession, record: TraceRecord) -> None:
        if record is not session.record:
            session.record = record
            self.shelf.put(record)

    def _failed(self, session: TracedSession) -> None:
        if session.record is not None:
            failed = fail(
                session.record,
                at_ms=self.clock.now_ms(),
                header=session.in_force,
                profile_text=session.profile_text,
            )
            self._put(session, failed)

    def _supersede(self, session: TracedSession) -> None:
        self._record_waiting(session)
        if session.record is not None and session.record.status.is_pending:
            self._put(session, supersede(session.record, at_ms=self.clock.now_ms()))

    def _unload(self, session: TracedSession) -> None:
        self._record_waiting(session)
        if session.record is not None and session.record.status.is_pending:
            self._put(session, unload(session.record, at_ms=self.clock.now_ms()))

    def _give_up_excess(self) -> None:
        """Too many sessions wait for their request to be seen: the oldest are given up."""
        waiting = [
            (session, session.record)
            for session in tuple(self._sessions.values())
            if session.record is not None and session.record.status.is_pending
        ]
        waiting.sort(key=lambda pair: pair[1].recorded_at_ms)
        given_up, _ = supersede_excess([record for _, record in waiting], at_ms=self.clock.now_ms())
        for (session, _), record in zip(waiting, given_up, strict=False):
            self._put(session, record)


_EVENTS: Mapping[str, Callable[[Tracing, TracedSession, JsonObject], None]] = {
    REQUEST_HEADER: Tracing._header_logged,  # noqa: SLF001 - the table of this very class
    ASSISTANT_MESSAGE: Tracing._message_logged,  # noqa: SLF001
    ASSISTANT_ATTEMPT: Tracing._attempt_logged,  # noqa: SLF001
    TURN_END: Tracing._turn_ended,  # noqa: SLF001
}
