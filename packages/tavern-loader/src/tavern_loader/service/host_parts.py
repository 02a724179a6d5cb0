"""The services that messages of a host go to, and how they are called.

A part that fails does not keep the others from a message: it is reported. Must not know any
message.
"""

from collections.abc import Callable
from functools import partial

from attrs import define

from tavern_loader.domain.session import SessionFacts
from tavern_loader.errors import LoaderError
from tavern_loader.ports import Background, Cancellation, JsonObject
from tavern_loader.service.parameters import Parameters
from tavern_loader.service.roleplay import Roleplay
from tavern_loader.service.session_state import SessionStates
from tavern_loader.service.steps import Steps
from tavern_loader.service.tracing import Tracing

Handler = Callable[[JsonObject, Cancellation], JsonObject | None]

CLOSING_S = 1.0
"""What is not recorded by then, when the process ends, is not."""


@define(kw_only=True)
class HostParts:
    """The services of one installation that a host has to do with."""

    steps: Steps
    tracing: Tracing
    roleplay: Roleplay
    complain: Callable[[str], None]
    """Told of a part that failed: a code, no text."""
    background: Background | None = None
    """Does what no step waits for; None: it is done at once."""

    @property
    def states(self) -> SessionStates:
        """The live sessions."""
        return self.steps.states

    def close(self) -> None:
        """Write what is not written yet."""
        for live in self.states.all:
            session_id = live.facts.id
            self.each(
                partial(self.roleplay.on_session_end, session_id),
                partial(self.steps.end_turn, session_id),
            )
        if self.background is not None:
            self.background.drain(CLOSING_S)  # the host waits twice as long, for the writing too
        self.each(self.tracing.close)

    def each(self, *parts: Callable[[], object]) -> None:
        """Do every part of a message, whatever becomes of the others."""
        for part in parts:
            try:
                part()
            except LoaderError as error:
                self.complain(f"a part of a message failed: {error.code}")

    def trace(self, part: Callable[[], object]) -> None:
        """Do a part of the trace, behind those before it."""
        if self.background is None:
            self.each(part)
        else:
            self.background.submit(part)

    def facts(self, read: Parameters) -> SessionFacts:
        """Take in what a message says about its session."""
        return self.states.take_in(read.session()).facts

    def place(self, read: Parameters) -> tuple[SessionFacts, tuple[int, int]]:
        """Say which step of which turn a message is about; the latest run if it does not say."""
        live = self.states.take_in(read.session())
        run = self.steps.latest(live.facts.id)
        known = (live.turn, max(live.step, 1)) if run is None else (run.turn, run.step)
        turn, step = read.whole_or_none("turn"), read.whole_or_none("step")
        return live.facts, (
            known[0] if turn is None else turn,
            known[1] if step is None else step,
        )
