"""What holds on every way of a record: no body, no name where it is strict, a defined status."""

import json
import os
from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tavern_trace import (
    AssembledText,
    AuditStatus,
    Capture,
    CaptureIdentity,
    CompiledProfile,
    ContentStatus,
    Draw,
    HeaderFacts,
    HistoryEvent,
    HistorySnapshot,
    OfficialAssembly,
    OwnPart,
    Privacy,
    RecordStatus,
    SentMessage,
    SentRequest,
    SourceText,
    TraceRecord,
    TraceStore,
    begin,
    detail_document,
    dump_record,
    dump_store,
    fail,
    history_from_json,
    load_record,
    new_audit,
    note_parameters,
    observe_failure,
    observe_header,
    observe_message,
    observe_stream,
    observe_turn_end,
    put,
    put_audits,
    record_from_json,
    redact,
    supersede,
    unload,
    verify,
)
from tests.trace_scenario import strings

pytestmark = pytest.mark.fuzz
budget = settings(
    max_examples=int(os.environ.get("TAVERN_FUZZ_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


# --- bodies ----------------------------------------------------------------------------------

MARK = "\u2020body\u2020"
"""Stands in every text of a resource below, and nowhere else."""
bodies = st.text(max_size=8).map(lambda text: text.replace("{", "") + MARK)


@st.composite
def captures(draw: st.DrawFn) -> tuple[Capture, list[str], CompiledProfile]:
    """Make the facts of a request of which every text is marked."""
    texts = draw(st.lists(bodies, min_size=1, max_size=4))
    own = tuple(
        OwnPart(
            name=f"p:{at}",
            text=text,
            sources=(SourceText(kind="preset", field="f", text=draw(bodies)),),
        )
        for at, text in enumerate(texts)
    )
    user = {"id": "u", "name": "Bo", "description": draw(bodies)}
    lore = {"resourceId": "b", "content": draw(bodies), "decision": "included"}
    audit = {
        "resources": {"user": user, "preset": {"id": "p", "raw": draw(bodies)}},
        "worldBooks": {"resources": [{"resource": {"id": "b"}, "decisions": [lore]}]},
        "activation": {"text": draw(bodies)},
        "systemText": draw(bodies),
    }
    profile = CompiledProfile(system_text=draw(bodies), audit=audit)
    identity = CaptureIdentity(record_id="r", session_id="s", turn=1, step=1, attempt=1, at_ms=1)
    capture = Capture(
        identity=identity,
        assembly=OfficialAssembly(
            sections=tuple(AssembledText(name=part.name, text=part.text) for part in own),
            contexts=(AssembledText(name="env", text="{{env}}"),),
            variables={"env": draw(bodies)},
        ),
        own_parts=own,
        audit=new_audit(profile, identity),
        privacy=draw(st.sampled_from(Privacy)),
    )
    return capture, texts, profile


def history_of(texts: list[str], env: str) -> HistorySnapshot:
    """Log a system message and a context snapshot with all texts, and a failure."""
    system = [{"type": "text", "text": "\n\n".join(texts)}]
    source = {
        "kind": "runtime-context", "form": "snapshot", "sections": [{"name": "env", "text": env}],
    }  # fmt: skip
    context = {"id": "c", "content": [{"type": "text", "text": env}], "source": source}
    error = {"code": "X", "message": MARK}
    return history_from_json(
        {
            "meta": {"version": 3, "id": "s", "createdAt": 1},
            "events": [
                {"seq": 0, "type": "system/message", "data": {"message": {
                    "id": "m", "content": system}}},
                {"seq": 1, "type": "user/message", "data": context},
                {"seq": 2, "type": "request/header", "data": {"header": {"system": MARK}}},
                {"seq": 3, "type": "turn/end", "data": {"turn": 1, "reason": {
                    "kind": "error", "error": error}}},
            ],
            "surface": [0, 1],
        }
    )  # fmt: skip


@budget
@given(captures())
def test_no_body_survives_in_a_written_record(
    facts: tuple[Capture, list[str], CompiledProfile],
) -> None:
    capture, texts, profile = facts
    assert capture.assembly is not None
    env = capture.assembly.variables["env"]
    history = history_of(texts, env)
    request = SentRequest(
        messages=(
            SentMessage(role="system", content=[{"type": "text", "text": "\n\n".join(texts)}]),
            SentMessage(role="user", id="c", content=[{"type": "text", "text": env}]),
        )
    )
    record = begin(capture)
    assert_bodiless(record)
    header = HeaderFacts(event_seq=2, header={"system": MARK}, system_text=MARK)
    record = observe_header(record, header, at_ms=2, profile_text=profile.system_text)
    record = observe_stream(record, request, history)
    record = observe_failure(record, history, history.events[3])
    record = begin(capture, record) if len(texts) == 1 else record
    assert_bodiless(record)
    found = verify(record, history)
    # What a reading gave back does not come into the store again.
    assert_bodiless(record_from_json(detail_document(record, found)["record"]))


def assert_bodiless(record: TraceRecord) -> None:
    store = put(TraceStore(), record)
    for data in (dump_record(record), dump_store(store)):
        assert [text for text in strings(json.loads(data)) if "\u2020" in text] == []
    assert MARK not in repr(record)


@budget
@given(captures())
def test_every_text_of_an_observed_request_can_be_had_again(
    facts: tuple[Capture, list[str], CompiledProfile],
) -> None:
    capture, texts, _ = facts
    assert capture.assembly is not None
    history = history_of(texts, capture.assembly.variables["env"])
    request = SentRequest(
        messages=tuple(
            SentMessage(role="system" if at == 0 else "user", content=(event.message or {}).get(
                "content"))
            for at, event in enumerate(history.events[:2])
        )
    )  # fmt: skip
    found = verify(observe_stream(begin(capture), request, history), history)
    assert found.content_status is ContentStatus.AVAILABLE
    assert [one.text for one in found.sections] == texts


# --- statuses --------------------------------------------------------------------------------

HEADER = HeaderFacts(event_seq=1, header={"config": {}}, system_text="x")
HISTORY = HistorySnapshot(
    session_id="s",
    format_version=3,
    created_at=1,
    cut=0,
    events=(
        HistoryEvent(
            seq=0,
            type="turn/end",
            data={"turn": 1, "reason": {"kind": "error", "error": {"code": "X"}}},
        ),
    ),
)
MOVES: dict[str, Callable[[TraceRecord], TraceRecord]] = {
    "header": lambda record: observe_header(record, HEADER, at_ms=2),
    "stream": lambda record: observe_stream(record, SentRequest(system="x"), HISTORY),
    "message": lambda record: observe_message(record, at_ms=3, header=HEADER),
    "end": lambda record: observe_turn_end(record, at_ms=4),
    "fail": lambda record: fail(record, at_ms=5, header=HEADER),
    "failure": lambda record: observe_failure(record, HISTORY, HISTORY.events[0]),
    "supersede": lambda record: supersede(record, at_ms=6),
    "unload": lambda record: unload(record, at_ms=7),
    "redact": lambda record: redact(record, "strict"),
}
SETTLING = {"stream", "message", "end", "fail", "supersede", "unload"}


@budget
@given(st.lists(st.sampled_from(sorted(MOVES)), max_size=8), st.booleans())
def test_every_path_of_events_ends_in_a_defined_status(
    path: list[str],
    audited: bool,  # noqa: FBT001
) -> None:
    identity = CaptureIdentity(record_id="r", session_id="s", turn=1, step=1, attempt=1, at_ms=1)
    audit = new_audit(CompiledProfile(system_text="x"), identity) if audited else {}
    record = begin(Capture(identity=identity, assembly=OfficialAssembly(), audit=audit))
    settled: RecordStatus | None = None
    for step in path:
        record = MOVES[step](record)
        if settled is None and step in SETTLING:
            settled = record.status
        assert record.status in RecordStatus
        assert record.status is (settled or RecordStatus.ASSEMBLED)
        assert not audited or AuditStatus(str((record.audit or {})["status"]))
    assert record.status.is_pending is SETTLING.isdisjoint(path)
    assert load_record(dump_record(record)) == record
    assert verify(record, HISTORY).content_status in ContentStatus


# --- privacy ---------------------------------------------------------------------------------

NAME = "\u2020name\u2020"
"""Stands in every key, and in every name of an entry, a group or a user below."""
names = st.text(max_size=8).map(lambda text: text + NAME)


@st.composite
def named(draw: st.DrawFn) -> Capture:
    """Make the facts of a strict request of which every name is marked."""
    lists = st.lists(names, max_size=3)
    decision = {
        **{key: draw(names) for key in ("entryName", "groupName")},
        **{key: draw(lists) for key in ("primaryKeys", "secondaryKeys", "primaryMatches",
                                        "secondaryMatches")},
    }  # fmt: skip
    found = {
        "resources": {"user": {"id": "u", "name": draw(names)}},
        "worldBooks": {"resources": [{"resource": {"id": "b"}, "decisions": [decision]}]},
        "diagnostics": [{"code": "C", "message": draw(names)}],
    }
    profile = CompiledProfile(system_text="x", call_config={"stop": draw(lists)}, audit=found)
    identity = CaptureIdentity(record_id="r", session_id="s", turn=1, step=1, attempt=1, at_ms=1)
    return Capture(
        identity=identity,
        assembly=OfficialAssembly(sections=(AssembledText(name="n", text="x"),)),
        audit=new_audit(profile, identity),
        draws=tuple(Draw(purpose=name, value=0.5) for name in draw(lists)),
        privacy=Privacy.STRICT,
    )


@budget
@given(named(), names, st.lists(st.sampled_from(sorted(MOVES)), max_size=4))
def test_no_name_survives_in_a_strict_record(capture: Capture, told: str, path: list[str]) -> None:
    record = begin(capture)
    record = note_parameters(record, {"requested": {"stop": [told]}, "fallbacks": [{
        "message": told}]})  # fmt: skip
    for step in path:
        record = MOVES[step](record)
    store = put_audits(put(TraceStore(), record), "s", [capture.audit])
    for data in (dump_record(record), dump_store(store)):
        assert [text for text in strings(json.loads(data)) if "\u2020" in text] == []
    normal = begin(evolve(capture, privacy=Privacy.NORMAL))
    assert NAME in "".join(strings(json.loads(dump_record(normal))))
