"""Area `dsh_tavern/inbox_vectors`: the plugin's mirrored inbox and what a scan reads of it.

A case replays the session's own events and then takes steps: an event is observed, a scan is
prepared, the claimed batch is dropped. Compared are which events count, and each scan: messages,
joined text and the counts beside it. Profile `dsh-tavern`; what is repaired in the default is in
the package's COMPATIBILITY.md.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tavern_loader.domain.activation import activate
from tavern_loader.domain.history import read_history
from tavern_loader.domain.inbox import (
    InboxProfile,
    PendingInput,
    bounds_from_options,
    clear_claimed,
    observe,
    replay,
)
from tests.conformance._cases import Case
from tests.conformance._findings import Findings

Fields = Mapping[str, Any]
Answer = tuple[PendingInput, dict[str, Any]]

_BOUNDS: Mapping[str, str] = {
    "maxScanCharacters": "scan_utf16",
    "maxScanMessages": "scan_messages",
    "maxQueuedCharacters": "queued_utf16",
    "maxQueuedMessages": "queued_messages",
}


def check(case: Case, findings: Findings) -> None:
    """Compare one session."""
    fields = case.fields
    bounds = bounds_from_options(fields["options"])
    in_force = {name: getattr(bounds, ours) for name, ours in _BOUNDS.items()}
    findings.same("effectiveBounds", in_force, fields["effectiveBounds"], ordered=False)
    pending = replay(
        PendingInput(bounds=bounds, profile=InboxProfile.DSH_TAVERN),
        [(event["type"], event["data"], event["seq"]) for event in fields["seedOwnEvents"]],
        is_running=False,
    )
    answers = []
    for step in fields["steps"]:
        pending, answer = _STEPS[step["op"]](pending, step)
        answers.append(answer)
    findings.same("expected", answers, fields["expected"], ordered=False)


def _observe(pending: PendingInput, step: Fields) -> Answer:
    event = step["event"]
    observed = observe(pending, event["type"], event["data"], event["seq"])
    return observed.pending, {"accepted": observed.accepted}


def _activation(pending: PendingInput, step: Fields) -> Answer:
    context, after = activate(read_history(step["history"]), pending)
    messages = [
        {
            "id": message.id,
            "role": str(message.speaker),
            "text": message.text,
            "truncated": message.is_truncated,
            "source": str(message.origin),
        }
        for message in context.messages
    ]
    return after, {"messages": messages, "text": context.text, "metadata": context.metadata()}


def _clear(pending: PendingInput, _: Fields) -> Answer:
    return clear_claimed(pending), {}


_STEPS: Mapping[str, Callable[[PendingInput, Fields], Answer]] = {
    "observe": _observe,
    "activation": _activation,
    "clearClaimed": _clear,
}
