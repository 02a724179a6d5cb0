"""One step, from what a session has bound to what the host assembles and asks the model.

Owns the order of the work within a step, what a step leaves to the next one, and what becomes of a
step that is tried again. Must not know the link, files, or how a record of it is made.

Source: the plugin contract, section E; the host contract, sections 4 and 6.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from attrs import define, evolve, field

from tavern_compiler import CompilerError, SystemPromptMode
from tavern_loader.domain.activation import ActivationContext, activate
from tavern_loader.domain.call_settings import Refusal, apply_settings, refused_setting
from tavern_loader.domain.history import History, read_history
from tavern_loader.domain.host_settings import DEFAULT_PROFILE_BYTES
from tavern_loader.domain.inbox import reclaim
from tavern_loader.domain.memory import (
    START,
    Checkpoint,
    SessionMemory,
    after_step,
    before_step,
    new_memory,
)
from tavern_loader.domain.names import LORE_CONTEXT, PART_PREFIX, PROFILE_SECTION
from tavern_loader.domain.protection import VARIABLES, protect
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import CancelledError, LoaderError
from tavern_loader.ports import Cancellation, JsonObject, TokenCounter
from tavern_loader.service.answers import AssembleAnswer, NamedText
from tavern_loader.service.compiling import StepInput, StepResult, run_step
from tavern_loader.service.library import Resolved
from tavern_loader.service.private_variables import private_variables
from tavern_loader.service.session_state import LiveSession, SessionStates
from tavern_loader.service.shared_variables import SharedVariables
from tavern_loader.service.step_values import AssembleRequest, Configured, StepRun
from tavern_matcher import MatcherError

POLICY_SECTION = "rp:policy"
KEPT_IN_REPLACE = (PROFILE_SECTION, PART_PREFIX, POLICY_SECTION)
"""What of the host's sections stays where a preset replaces the system prompt."""


class StepLibrary(Protocol):
    """What steps need of `service.library`."""

    def ensure_selection(self, session_id: str, parent_id: str | None = None) -> Selection:
        """Give a session's selection, fixed at its first sight."""
        ...

    def resolve(self, selection: Selection) -> Resolved:
        """Give the resources of a selection."""
        ...


@define(kw_only=True)
class Steps:
    """The steps of all sessions. Messages of one session must come in their order."""

    library: StepLibrary
    states: SessionStates
    shared: SharedVariables
    policy_text: Callable[[str], str]
    """Text of the policy section of a session; empty for none."""
    local_time: Callable[[], datetime]
    count_tokens: TokenCounter | None = None
    max_profile_bytes: int = DEFAULT_PROFILE_BYTES
    budget_tokens: int | None = None
    """Of lore in one step; None: a share of the model's context."""
    _runs: dict[str, StepRun] = field(factory=dict, init=False)
    """The latest step of each session, until its turn ends."""
    _unsettled: set[str] = field(factory=set, init=False)

    def assemble(self, request: AssembleRequest, cancellation: Cancellation) -> AssembleAnswer:
        """Make a step's parts. What cannot be made is told in the answer, not raised.

        A step that is tried again reads the same input and begins with the same memory. Raises
        CancelledError; then nothing has changed.
        """
        live = self.states.take_in(request.session)
        turn, step = _place(live, request)
        tried = self.run_of(live.facts.id, turn, step)
        pending = live.pending if tried is None else reclaim(live.pending, tried.claimed)
        history = read_history(request.history, request.earlier)
        activation, read = activate(history, pending)
        result: StepResult | None = None
        try:
            cancellation.raise_if_requested()
            given = self._input(live, (turn, step), request.variables)
            said = evolve(given, history=history, activation=activation, lapses=request.lapses)
            result = run_step(said)
            cancellation.raise_if_requested()
            answer = self._answer(live.facts.id, result)
        except CancelledError:
            raise
        except (LoaderError, CompilerError, MatcherError) as error:
            answer = AssembleAnswer(failed=str(error))
        else:
            live.memory = after_step(live.memory, result.after)
        live.pending = read
        self._runs[live.facts.id] = StepRun(
            turn=turn, step=step, answer=answer, claimed=pending, result=result
        )
        self._unsettled.add(live.facts.id)
        return answer

    def run_of(self, session_id: str, turn: int, step: int) -> StepRun | None:
        """Give the run of a step, if it is the session's latest."""
        run = self._runs.get(session_id)
        return run if run is not None and (run.turn, run.step) == (turn, step) else None

    def latest(self, session_id: str) -> StepRun | None:
        """Give the latest run of the session's turn."""
        return self._runs.get(session_id)

    def configure(
        self,
        session: JsonObject,
        place: tuple[int, int],
        config: Mapping[str, Any],
        refusal: Refusal | None = None,
    ) -> Configured:
        """Give the whole configuration of a call: the preset's values over the host's.

        With a refusal of the last one, what it is about is withdrawn, in this session for good.
        """
        live = self.states.take_in(session)
        run = self.run_of(live.facts.id, *place)
        asked = {} if run is None else run.call_settings
        route = f"{config.get('provider')}/{config.get('model')}"
        wanted = {name: asked[name] for name in asked if (route, name) not in live.refused}
        about = None if refusal is None else refused_setting(refusal, wanted)
        if refusal is not None and about is not None:
            live.refused[route, about] = refusal.code
            del wanted[about]
        configured, applied = apply_settings(config, wanted, live.memory.applied)
        live.memory = evolve(live.memory, applied=applied)
        withdrawn = {name: live.refused[route, name] for name in asked if name not in wanted}
        return Configured(config=configured, requested=asked, withdrawn=withdrawn)

    def settle(self, session_id: str) -> None:
        """Keep what a step has left. Raises StoreError."""
        live, run = self.states.live(session_id), self._runs.get(session_id)
        if live is None:
            return
        is_new = session_id in self._unsettled
        self._unsettled.discard(session_id)
        if is_new and run is not None and run.result is not None:
            self._settle_variables(live, run.result)
        self.states.keep(live)

    def end_turn(self, session_id: str) -> None:
        """Keep what is left of a turn, and forget its texts. Raises StoreError."""
        try:
            self.settle(session_id)
        finally:
            self._runs.pop(session_id, None)

    def preview(
        self,
        session_id: str,
        selection: Selection,
        history: History | None = None,
        activation: ActivationContext | None = None,
        context_tokens: int | None = None,
    ) -> StepResult:
        """Show what would be sent now; nothing is changed.

        Without history and activation, as if nothing had been said. The size of the model's context
        is known of live sessions, and is given for others. Raises CompilerError, MatcherError,
        StoreError.
        """
        live = self.states.live(session_id)
        memory = self.states.memory(session_id) or new_memory(session_id)
        base = memory.checkpoints[-1] if memory.checkpoints else START
        given = self._any_input(session_id, memory, base, self.library.resolve(selection))
        return run_step(
            evolve(
                given,
                turn=base.turn + 1,
                step=1,
                history=history or History(),
                activation=activation or ActivationContext(),
                context_tokens=context_tokens if live is None else live.context_tokens,
            )
        )

    def _input(
        self, live: LiveSession, place: tuple[int, int], variables: Mapping[str, Any]
    ) -> StepInput:
        facts = live.facts
        turn, step = place
        selection = self.library.ensure_selection(facts.id, facts.parent_id)
        base = before_step(live.memory, facts.seq, turn, step)
        given = self._any_input(facts.id, live.memory, base, self.library.resolve(selection))
        model = variables.get("model")
        return evolve(
            given,
            turn=turn,
            step=step,
            seq=facts.seq,
            model=model if isinstance(model, str) else "",
            context_tokens=live.context_tokens,
        )

    def _any_input(
        self, session_id: str, memory: SessionMemory, base: Checkpoint, resolved: Resolved
    ) -> StepInput:
        return StepInput(
            session_id=session_id,
            chat_id=memory.chat_id,
            resolved=resolved,
            base=base,
            shared=self.shared.read(),
            now=self.local_time(),
            count_tokens=self.count_tokens,
            max_profile_bytes=self.max_profile_bytes,
            budget_tokens=self.budget_tokens,
        )

    def _answer(self, session_id: str, done: StepResult) -> AssembleAnswer:
        profile = done.profile
        policy = self.policy_text(session_id)
        replaces = profile.system_prompt_mode is SystemPromptMode.REPLACE
        return AssembleAnswer(
            parts=tuple(
                NamedText(name=part.name, text=protect(part.text)) for part in profile.parts
            ),
            keep=KEPT_IN_REPLACE if replaces else None,
            set_sections=(
                (NamedText(name=POLICY_SECTION, text=protect(policy)),) if policy else ()
            ),
            contexts=(
                (NamedText(name=LORE_CONTEXT, text=protect(profile.late_text)),)
                if profile.late_parts
                else ()
            ),
            variables=VARIABLES,
        )

    def _settle_variables(self, live: LiveSession, done: StepResult) -> None:
        private = private_variables(done)
        last = live.memory.checkpoints[-1] if live.memory.checkpoints else START
        if (last.turn, last.step) == (done.after.turn, done.after.step):
            public = frozenset(last.variables) - private.local
            checkpoints = (*live.memory.checkpoints[:-1], evolve(last, public=public))
            live.memory = evolve(live.memory, checkpoints=checkpoints)
        self.shared.change(done.given.shared.values, done.profile.variables.shared, private.shared)


def _place(live: LiveSession, request: AssembleRequest) -> tuple[int, int]:
    """Say which step of which turn this is: as the host says, else as its events do."""
    turn = live.turn if request.turn is None else request.turn
    began = live.step if turn == live.turn else 0
    return turn, began + 1 if request.step is None else request.step
