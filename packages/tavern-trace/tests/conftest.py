"""Recorded samples, histories that belong to them, and the facts they were made of."""

import json
from pathlib import Path
from typing import Any

import pytest

from tavern_trace import (
    AssembledText,
    Capture,
    CaptureIdentity,
    CompiledProfile,
    HistorySnapshot,
    OfficialAssembly,
    OwnPart,
    SentMessage,
    SentRequest,
    SourceText,
    history_from_json,
    new_audit,
)

CASES = Path(__file__).parent / "cases"
VECTORS = Path(__file__).parents[3] / "tests" / "vectors" / "trace"


def sample(name: str) -> Any:
    """Read a recorded sample."""
    return json.loads((VECTORS / f"{name}.json").read_bytes())


def case(name: str) -> Any:
    """Read a file of cases."""
    return json.loads((CASES / f"{name}.json").read_bytes())


def history(name: str, *, until: int | None = None) -> HistorySnapshot:
    """Make a snapshot of a session, as it was when its log had so many events."""
    document = case(name)
    events = document["events"][:until]
    return history_from_json({**document, "events": events})


def identity(record: dict[str, Any], at_ms: int | None = None) -> CaptureIdentity:
    return CaptureIdentity(
        record_id=record["id"],
        session_id=record["sessionId"],
        turn=record["turn"],
        step=record["step"],
        attempt=record["attempt"],
        at_ms=record["recordedAt"] if at_ms is None else at_ms,
    )


def own_parts() -> tuple[OwnPart, ...]:
    return tuple(
        OwnPart(
            name=section["name"],
            text=section["text"],
            sources=tuple(map(source_text, section["sources"])),
        )
        for section in sample("compile_snapshot")["sections"]
    )


def source_text(source: dict[str, Any]) -> SourceText:
    return SourceText(
        kind=source["kind"],
        resource_id=source["resourceId"],
        resource_revision=source["resourceRevision"],
        field=source["field"],
        text=source["text"],
        relationship=source["relationship"],
        identifier=source.get("identifier"),
        role=source.get("role"),
        entry_id=source.get("entryId"),
        qualified_entry_id=source.get("qualifiedEntryId"),
    )


def assembly() -> OfficialAssembly:
    """Make what the host assembled: its own section, ours, an empty one, a context."""
    return OfficialAssembly(
        sections=(
            AssembledText(name="identity", text="You are DSH {{kind}}."),
            *(AssembledText(name=part.name, text=part.text) for part in own_parts()),
            AssembledText(name="nothing", text=""),
        ),
        contexts=(AssembledText(name="env", text="cwd=/tmp"),),
        variables={"kind": "harness"},
    )


def profile() -> CompiledProfile:
    snapshot = sample("compile_snapshot")
    return CompiledProfile(
        system_text=snapshot["systemText"],
        system_prompt_mode=snapshot["systemPromptMode"],
        call_config=snapshot["callConfig"],
        audit=snapshot["audit"],
    )


def capture(record: dict[str, Any], **changes: Any) -> Capture:
    """Make the facts of a recorded request."""
    facts: dict[str, Any] = {
        "identity": identity(record),
        "assembly": assembly(),
        "own_parts": own_parts(),
        "selection": sample("compile_snapshot")["audit"]["sessionSelection"],
    }
    if record.get("audit"):
        begun = identity(record, record["audit"]["recordedAt"])
        facts["audit"] = new_audit(profile(), begun, session_format_version=3)
    return Capture(**facts | changes)


def sent_request(name: str) -> SentRequest:
    """Make a request that sends all messages of a session's surface."""
    document = case(name)
    events = [document["events"][seq] for seq in document["surface"]["nodes"]]
    messages = [event["data"].get("message", event["data"]) for event in events]
    return SentRequest(
        provider="deepseek",
        model="deepseek-chat",
        tool_names=("read", "web_search"),
        messages=tuple(
            SentMessage(role=one["role"], id=one["id"], content=one["content"]) for one in messages
        ),
    )


class Samples:
    """Everything above, for tests."""

    sample = staticmethod(sample)
    case = staticmethod(case)
    history = staticmethod(history)
    identity = staticmethod(identity)
    own_parts = staticmethod(own_parts)
    assembly = staticmethod(assembly)
    profile = staticmethod(profile)
    capture = staticmethod(capture)
    sent_request = staticmethod(sent_request)
    vectors = VECTORS


@pytest.fixture
def given() -> type[Samples]:
    return Samples
