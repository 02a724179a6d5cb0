"""What is known of a session's requests while they are under way.

Owns the values, and which events of the log a record may point to. Must not know how a record moves
on.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from tavern_loader.domain.session import SessionFacts
from tavern_loader.ports import JsonObject
from tavern_loader.service.step_values import Configured, StepRun
from tavern_trace import (
    CaptureIdentity,
    HeaderFacts,
    HistorySnapshot,
    OfficialAssembly,
    TraceRecord,
    history_from_json,
)

_UNKNOWN_FORMAT = -1


@frozen(kw_only=True)
class WaitingRequest:
    """A request that is not recorded yet."""

    identity: CaptureIdentity
    run: StepRun | None
    assembly: OfficialAssembly | None
    configured: Configured | None = None


@define(kw_only=True)
class TracedSession:
    """What is known of a session's requests."""

    facts: SessionFacts
    header: JsonObject | None = None
    """The latest `request/header` event, inherited ones included."""
    is_header_new: bool = False
    """It was logged for the request that is under way."""
    in_force: HeaderFacts | None = None
    """What the request that is under way is sent with."""
    assembly: tuple[int, int, OfficialAssembly] | None = None
    """Of which turn and step, and what the host assembled."""
    waiting: WaitingRequest | None = None
    record: TraceRecord | None = None
    """The latest one."""
    profile_text: str = field(default="", repr=False)
    """Of the request that is under way."""

    def history(self, events: Sequence[JsonObject], log_cut_seq: int) -> HistorySnapshot:
        """Make a snapshot of those events that a record may point to."""
        facts = self.facts
        header = () if self.header is None else (self.header,)
        version = facts.format_version
        snapshot = history_from_json(
            {
                "meta": {
                    "id": facts.id,
                    "version": _UNKNOWN_FORMAT if version is None else version,
                    "createdAt": facts.created_at,
                },
                "events": [*header, *events],
                "surface": [seq_of(event) for event in events],
            }
        )
        return evolve(snapshot, cut=log_cut_seq)


def seq_of(event: Mapping[str, Any]) -> int:
    """Give the number of an event; -1 if it has none."""
    seq = event.get("seq")
    return seq if isinstance(seq, int) else -1
