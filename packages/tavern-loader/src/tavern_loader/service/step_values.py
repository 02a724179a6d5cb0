"""What goes into a step and what is known of it afterwards, as values.

Must not know how a step is made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from tavern_compiler import call_config_json
from tavern_loader.domain.inbox import PendingInput
from tavern_loader.ports import JsonObject
from tavern_loader.service.answers import AssembleAnswer
from tavern_loader.service.compiling import Lapse, StepResult


@frozen(kw_only=True)
class AssembleRequest:
    """What the host tells of a step that it is about to assemble."""

    session: JsonObject = field(repr=False)
    turn: int | None = None
    """None: as the session's events say."""
    step: int | None = None
    variables: Mapping[str, Any] = field(factory=dict, repr=False)
    """Of the host's templates."""
    history: Sequence[JsonObject] = field(default=(), repr=False)
    """The latest messages that have a text, of whatever source."""
    earlier: Mapping[str, int] = field(factory=dict)
    """Older ones, counted by `<role>/<kind of source>`."""
    lapses: tuple[Lapse, ...] = ()


@frozen(kw_only=True)
class StepRun:
    """A step that was assembled."""

    turn: int
    step: int
    answer: AssembleAnswer = field(repr=False)
    claimed: PendingInput = field(repr=False)
    """The inbox as it was read."""
    result: StepResult | None = field(default=None, repr=False)
    """None: the parts could not be made."""

    @property
    def system_text(self) -> str:
        """What was compiled, as the model is to see it."""
        return "" if self.result is None else self.result.profile.system_text

    @property
    def call_settings(self) -> dict[str, Any]:
        """What the preset asks of the call, in the host's names."""
        return {} if self.result is None else call_config_json(self.result.profile.call_config)


@frozen(kw_only=True)
class Configured:
    """The configuration of a call."""

    config: Mapping[str, Any]
    requested: Mapping[str, Any] = field(factory=dict)
    """What the preset asks for."""
    withdrawn: Mapping[str, str] = field(factory=dict)
    """Settings of the preset that the model does not take, each with the code of the refusal."""

    def parameters(self, attempt: int) -> dict[str, Any] | None:
        """Write what was withdrawn, as traces have it; None if nothing was."""
        if not self.withdrawn:
            return None
        return {
            "requested": dict(self.requested),
            "effective": {name: self.config.get(name) for name in self.requested},
            "fallbacks": [
                {"parameter": name, "code": code} for name, code in self.withdrawn.items()
            ],
            "attempt": attempt,
        }
