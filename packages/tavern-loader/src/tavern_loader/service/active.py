"""What a session would send now, and how much of it stays the same when something is said.

Owns the joining of a session's log with an input nobody has sent. Must not know where a log is.
"""

from collections.abc import Sequence
from typing import Protocol

from attrs import evolve, field, frozen

from tavern_compiler import Profile, ProfileChanges, diff
from tavern_loader.domain.activation import ActivationContext, activate
from tavern_loader.domain.history import History, Speaker, read_history
from tavern_loader.domain.inbox import PendingInput, PendingMessage
from tavern_loader.domain.js_values import list_of, object_of
from tavern_loader.domain.log_messages import messages_of
from tavern_loader.domain.selection import LoreChannel, Selection
from tavern_loader.ports import JsonObject
from tavern_loader.service.compiling import StepResult
from tavern_loader.service.session_state import REQUEST_CONTEXT, context_window


class Previewing(Protocol):
    """What is needed of `service.steps`."""

    def __call__(
        self,
        session_id: str,
        selection: Selection,
        history: History | None = None,
        activation: ActivationContext | None = None,
        context_tokens: int | None = None,
    ) -> StepResult:
        """Show what would be sent now."""
        ...


@frozen(kw_only=True)
class Prefix:
    """How much of the system text stays, from its beginning, when an input is sent."""

    channel: LoreChannel
    is_bound: bool
    """Whether the session has this channel."""
    changes: ProfileChanges = field(repr=False)


@frozen(kw_only=True)
class Active:
    """What a session would send now."""

    step: StepResult = field(repr=False)
    history: History = field(repr=False)
    prefixes: tuple[Prefix, ...] = ()
    """For both channels, the bound one first; empty without an input."""


def active(
    preview: Previewing,
    session_id: str,
    selection: Selection,
    log: JsonObject | None = None,
    input_text: str = "",
) -> Active:
    """Compile what a session would send for an input that nobody has sent.

    Raises CompilerError, MatcherError, StoreError.
    """
    events = [object_of(one) for one in list_of((log or {}).get("events"))]
    history = read_history(messages_of(events))
    size = _context_tokens(events)
    with_input, _ = activate(history, _pending(input_text))
    step = preview(session_id, selection, history, with_input, size)
    if not input_text:
        return Active(step=step, history=history)
    without, _ = activate(history, _pending(""))
    channels = sorted(LoreChannel, key=lambda one: one is not selection.lore_channel)
    prefixes: list[Prefix] = []
    for channel in channels:
        wanted = evolve(selection, lore_channel=channel)
        before: Profile = preview(session_id, wanted, history, without, size).profile
        after = preview(session_id, wanted, history, with_input, size).profile
        is_bound = channel is selection.lore_channel
        prefixes.append(Prefix(channel=channel, is_bound=is_bound, changes=diff(before, after)))
    return Active(step=step, history=history, prefixes=tuple(prefixes))


def _context_tokens(events: Sequence[JsonObject]) -> int | None:
    """Give the size of the model's context that the log says last."""
    found = (one for one in reversed(events) if one.get("type") == REQUEST_CONTEXT)
    return next((context_window(object_of(one.get("data"))) for one in found), None)


def _pending(text: str) -> PendingInput:
    if not text:
        return PendingInput()
    message = PendingMessage(id=None, speaker=Speaker.USER, text=text)
    return PendingInput(claimed=(message,))
