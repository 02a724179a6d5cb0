"""The recorded scenario of the folder `trace`: its sessions, and what its records were made of.

The tests of tavern-trace and the conformance of the folder make the same records of it. The
sessions are data of the package's own tests: their hashes are those of the records.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tavern_trace import (
    AssembledText,
    Capture,
    CaptureIdentity,
    CompiledProfile,
    HistorySnapshot,
    OfficialAssembly,
    OwnPart,
    ReferenceFault,
    SentMessage,
    SentRequest,
    SourceText,
    StoreLimits,
    TraceRecord,
    TraceStore,
    Verification,
    begin,
    header_facts,
    history_from_json,
    new_audit,
    observe_failure,
    observe_header,
    observe_stream,
    put,
    record_from_json,
    verify,
)

ROOT = Path(__file__).parents[1]
VECTORS = ROOT / "tests" / "vectors" / "trace"
CASES = ROOT / "packages" / "tavern-trace" / "tests" / "cases"

Document = dict[str, Any]


@cache
def _bytes(path: Path) -> bytes:
    return path.read_bytes()


def sample(name: str) -> Any:
    """Read a recorded sample, anew each time: a test may change it."""
    return json.loads(_bytes(VECTORS / f"{name}.json"))


def case(name: str) -> Any:
    """Read a file of cases of the package, anew each time."""
    return json.loads(_bytes(CASES / f"{name}.json"))


def history(name: str, *, until: int | None = None) -> HistorySnapshot:
    """Make a snapshot of a session, as it was when its log had so many events."""
    document = case(name)
    return history_from_json({**document, "events": document["events"][:until]})


def strings(value: Any) -> Iterator[str]:
    """Walk every text of a document, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


# --- facts -----------------------------------------------------------------------------------


def identity(record: Document, at_ms: int | None = None) -> CaptureIdentity:
    """Name the request of a recorded record; it began when that says, or at another time."""
    return CaptureIdentity(
        record_id=record["id"],
        session_id=record["sessionId"],
        turn=record["turn"],
        step=record["step"],
        attempt=record["attempt"],
        at_ms=record["recordedAt"] if at_ms is None else at_ms,
    )


def own_parts(snapshot: Document) -> tuple[OwnPart, ...]:
    """List the sections of a recorded compilation."""
    return tuple(
        OwnPart(name=one["name"], text=one["text"], sources=tuple(map(_source, one["sources"])))
        for one in snapshot["sections"]
    )


def _source(source: Document) -> SourceText:
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


def assembly(own: tuple[OwnPart, ...] | None = None) -> OfficialAssembly:
    """Make what the host assembled: its own section, ours, an empty one, a context."""
    ours = own_parts(sample("compile_snapshot")) if own is None else own
    return OfficialAssembly(
        sections=(
            AssembledText(name="identity", text="You are DSH {{kind}}."),
            *(AssembledText(name=part.name, text=part.text) for part in ours),
            AssembledText(name="nothing", text=""),
        ),
        contexts=(AssembledText(name="env", text="cwd=/tmp"),),
        variables={"kind": "harness"},
    )


def profile(snapshot: Document | None = None) -> CompiledProfile:
    """Make what an audit takes in of a recorded compilation."""
    found = snapshot or sample("compile_snapshot")
    return CompiledProfile(
        system_text=found["systemText"],
        system_prompt_mode=found["systemPromptMode"],
        call_config=found["callConfig"],
        audit=found["audit"],
    )


def capture(record: Document, snapshot: Document | None = None, **changes: Any) -> Capture:
    """Make the facts of a recorded request."""
    found = snapshot or sample("compile_snapshot")
    own = own_parts(found)
    facts: Document = {
        "identity": identity(record),
        "assembly": assembly(own),
        "own_parts": own,
        "selection": found["audit"]["sessionSelection"],
    }
    if record.get("audit"):
        begun = identity(record, record["audit"]["recordedAt"])
        facts["audit"] = new_audit(profile(found), begun, session_format_version=3)
    return Capture(**facts | changes)


def sent_request(name: str, **facts: Any) -> SentRequest:
    """Make a request that sends all messages of a session's surface."""
    document = case(name)
    data = [document["events"][seq]["data"] for seq in document["surface"]["nodes"]]
    messages = (one.get("message", one) for one in data)
    route = {"provider": "deepseek", "model": "deepseek-chat", "tool_names": ("read", "web_search")}
    return SentRequest(
        messages=tuple(
            SentMessage(role=one["role"], id=one["id"], content=one["content"]) for one in messages
        ),
        **route | facts,
    )


# --- the recorded records, made anew ---------------------------------------------------------


def _assembled(record: Document) -> TraceRecord:
    return begin(capture(record))


def _observed(record: Document) -> TraceRecord:
    then = history("session_demo", until=7)
    header = header_facts(then)
    assert header is not None
    seen_at_ms = record["audit"]["updatedAt"]
    text = profile().system_text
    seen = observe_header(_assembled(record), header, at_ms=seen_at_ms, profile_text=text)
    return observe_stream(seen, sent_request("session_demo"), then)


def _failed(record: Document) -> TraceRecord:
    end = history("session_demo")
    return observe_failure(_observed(record), end, end.events[-1])


def _unverified(record: Document) -> TraceRecord:
    request = sent_request("session_alt", provider="p", model="m", tool_names=())
    return observe_stream(_assembled(record), request, history("session_alt"))


def _of_old_log(record: Document) -> TraceRecord:
    old = history("session_v2")
    request = SentRequest(provider="p", model="m", system=old.events[-1].header_system)
    return observe_stream(_assembled(record), request, old)


def _omitted(_: Document) -> TraceRecord:
    large = record_from_json(sample("record_2_request_observed"))
    row = put(TraceStore(limits=StoreLimits(record_bytes=4096)), large).rows[0].record
    assert row is not None
    return row


MADE_ANEW: Mapping[str, Callable[[Document], TraceRecord]] = {
    "record_1_assembled": _assembled,
    "record_2_request_observed": _observed,
    "record_3_with_failure_ref": _failed,
    "record_unverified": _unverified,
    "record_v2_log": _of_old_log,
    "record_omitted_size_limit": _omitted,
}
"""Each sample of a record, and how it comes about."""


# --- the recorded verification matrix --------------------------------------------------------


def _cut(session: Document) -> None:
    del session["events"][6:]


def _system(session: Document) -> Document:
    message: Document = session["events"][3]["data"]["message"]
    return message


def _context(session: Document) -> Document:
    section: Document = session["events"][4]["data"]["source"]["sections"][0]
    return section


MATRIX: Mapping[str, ReferenceFault | Callable[[Document], None]] = {
    "ok": lambda _: None,
    "no_inspect": ReferenceFault.HISTORY_UNAVAILABLE,
    "not_found": ReferenceFault.HISTORY_UNAVAILABLE,
    "read_failed": ReferenceFault.HISTORY_READ_FAILED,
    "format_mismatch": lambda session: session["meta"].update(version=2),
    "session_mismatch_created": lambda session: session["meta"].update(createdAt="other"),
    "cut_unavailable": _cut,
    "system_text_changed": lambda session: _system(session)["content"][0].update(text="changed"),
    "system_id_changed": lambda session: _system(session).update(id="changed"),
    "system_event_type_changed": lambda session: session["events"][3].update(type="turn/start"),
    "context_section_renamed": lambda session: _context(session).update(name="changed"),
    "context_section_text_changed": lambda session: _context(session).update(text="changed"),
}
"""What makes each row: a change of the session, or the reason why there is no history."""


def matrix_row(change: ReferenceFault | Callable[[Document], None]) -> Document:
    """Verify the observed record against the session so changed, and sum up."""
    record = record_from_json(sample("record_2_request_observed"))
    if isinstance(change, ReferenceFault):
        return summary(verify(record, change))
    session = case("session_demo")
    change(session)
    return summary(verify(record, history_from_json(session)))


def summary(found: Verification) -> Document:
    """Sum a verification up as the matrix does."""
    request = found.request_content_status
    return {
        "contentStatus": found.content_status.value,
        "referenceError": found.fault.value if found.fault else None,
        "requestContentStatus": request.value if request else None,
        "sectionErrors": sorted({one.fault or "ok" for one in found.sections}),
        "contextErrors": sorted({one.fault or "ok" for one in found.contexts}),
        "systemMessages": found.system_messages is not None,
    }
