"""A session as DSH 0.1.0-rc.8 logs it: every request is recorded, and proven by the finished log.

`cases/dsh_session.jsonl` has the shape of a real log: two steps of a turn, a resumed session, a try
that fails and is repeated, a failure for good. `cases/dsh_session.json` says of each request what
the hooks were given, and how many events there were then.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tavern_trace import (
    AssembledText,
    AuditStatus,
    Capture,
    CaptureIdentity,
    CompiledProfile,
    ContentStatus,
    Failure,
    HistorySnapshot,
    OfficialAssembly,
    OwnPart,
    SentMessage,
    SentRequest,
    TraceRecord,
    TraceStore,
    begin,
    dump_store,
    extend_history,
    fail,
    header_facts,
    history_from_json,
    load_history,
    load_store,
    new_audit,
    next_attempt,
    observe_failure,
    observe_header,
    observe_message,
    observe_stream,
    observe_turn_end,
    put,
    verify,
)
from tavern_trace.cli import main
from tests.trace_scenario import CASES, Document, case, summary

LOG = CASES / "dsh_session.jsonl"
SESSION = "session-00000000-0000-4000-8000-000000000001"


def log_rows() -> list[Document]:
    return [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]


def live_events() -> list[Document]:
    """List the events as the host gives them while it runs: nothing is packed."""
    return [event for row in log_rows()[1:] for event in unpacked(row)]


def unpacked(row: Document) -> list[Document]:
    if "seq0" not in row:
        return [row]
    run = range(row["seq0"], row["seq0"] + len(row["data"]["dt"]) + 1)
    return [{"type": "assistant/chunk", "seq": seq, "data": {}} for seq in run]


def test_log_is_the_session_that_the_host_shows() -> None:
    found = load_history(LOG.read_bytes())
    assert (found.session_id, found.format_version, found.created_at) == (
        SESSION, 0, 1796000000000,
    )  # fmt: skip
    assert found.cut == case("dsh_session")["events"] - 1
    assert found.surface == tuple(case("dsh_session")["surface"])
    assert [(event.seq, event.type) for event in found.events] == [
        (7, "user/message"),
        (8, "user/message"),
        (10, "request/header"),
        (32, "turn/end"),
        (38, "user/message"),
        (39, "user/message"),
        (40, "request/header"),
        (46, "turn/end"),
    ]
    meta = log_rows()[0]
    assert history_from_json({"meta": meta, "events": live_events()}) == found


MOVES: dict[str, Callable[..., TraceRecord]] = {
    "request/header": observe_header,
    "assistant/message": observe_message,
    "turn/end": observe_turn_end,
    "llm/retry": fail,
}


class Plugin:
    """Does with each event what a plugin does, and keeps the records."""

    def __init__(self) -> None:
        self.store = TraceStore()
        self.history = history_from_json({"meta": log_rows()[0], "events": []})
        self.current: TraceRecord | None = None
        self.profile_text = ""

    def keep(self, record: TraceRecord) -> None:
        self.current = record
        self.store = put(self.store, record)

    def request(self, step: Document) -> None:
        """`agent/request`."""
        texts = {name: tuple(AssembledText(**one) for one in step[name])
                 for name in ("sections", "contexts")}  # fmt: skip
        own = tuple(
            OwnPart(name=one["name"], text=one["text"])
            for one in step["sections"]
            if one["name"] in step["own"]
        )
        self.profile_text = "\n\n".join(part.text.replace("{{tavern_lb}}", "{{") for part in own)
        before = self.store.records(SESSION)
        place = {"session_id": SESSION, "turn": step["turn"], "step": step["step"]}
        identity = CaptureIdentity(
            record_id=f"r{len(before)}",
            attempt=next_attempt(before, **place),
            at_ms=len(before),
            **place,
        )
        profile = CompiledProfile(system_text=self.profile_text, call_config={"temperature": 0.5})
        variables = case("dsh_session")["variables"]
        capture = Capture(
            identity=identity,
            assembly=OfficialAssembly(variables=variables, **texts),
            own_parts=own,
            audit=new_audit(profile, identity, session_format_version=0),
        )
        self.keep(begin(capture, before[-1] if before else None))

    def event(self, event: Document) -> None:
        """`session/event`; a try that failed is a hook of its own, at this very place."""
        self.history = extend_history(self.history, [event])
        move, header = MOVES.get(event["type"]), header_facts(self.history)
        if self.current is None or move is None:
            return
        self.keep(move(self.current, header=header, at_ms=99, profile_text=self.profile_text))
        if event["type"] == "turn/end":
            self.keep(observe_failure(self.current, self.history, self.history.events[-1]))

    def stream(self, step: Document) -> None:
        """`llm/stream`."""
        assert self.current is not None
        events = {event["seq"]: event["data"] for event in live_events()}
        messages = [events[seq].get("message", events[seq]) for seq in step["surface"]]
        header = header_facts(self.history)
        assert header is not None
        request = SentRequest(
            system=header.system_text,
            messages=tuple(
                SentMessage(role=one["role"], id=one["id"], content=one["content"])
                for one in messages
            ),
        )
        self.keep(observe_stream(self.current, request, self.history))


@pytest.fixture(scope="module")
def store() -> TraceStore:
    """Run the whole session."""
    plugin = Plugin()
    steps = case("dsh_session")["steps"]
    for event in live_events():
        if steps and steps[0]["events"] == event["seq"]:
            plugin.stream(steps.pop(0))
        plugin.event(event)
        begins = event["type"] in ("step/start", "llm/retry-started")
        if begins and steps:
            plugin.request(steps[0])
    return load_store(dump_store(plugin.store))


@pytest.fixture(scope="module")
def history() -> HistorySnapshot:
    return load_history(LOG.read_bytes())


def test_every_text_of_every_request_is_proven(store: TraceStore, history: HistorySnapshot) -> None:
    steps = case("dsh_session")["steps"]
    records = store.records(SESSION)
    assert len(records) == len(steps) == 4
    for record, step in zip(records, steps, strict=True):
        found = verify(record, history)
        assert found.content_status is ContentStatus.AVAILABLE
        assert [one.text for one in found.contexts] == [
            one["text"] for one in step["contexts"] if one["text"]
        ]
        assert [one.text for one in found.sections] == [
            one["text"].replace("{{tavern_lb}}", "{{").replace("{{cwd}}", "/story")
            for one in step["sections"]
            if one["text"]
        ]


def replaced(seq: int, old: str, new: str) -> Callable[[list[Document]], list[Document]]:
    """Change a text inside of one event of the log."""

    def change(rows: list[Document]) -> list[Document]:
        texts = [json.dumps(row) for row in rows]
        at = next(at for at, row in enumerate(rows) if row.get("seq") == seq)
        assert old in texts[at]
        texts[at] = texts[at].replace(old, new)
        return [json.loads(text) for text in texts]

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda rows: rows, ("available", None, ["ok"], ["ok"])),
        (lambda rows: [row for row in rows if "seq0" not in row],
         ("available", None, ["ok"], ["ok"])),
        (lambda rows: rows[:-10],
         ("reference-unavailable", "cut-unavailable", ["cut-unavailable"], ["cut-unavailable"])),
        (lambda rows: [{**rows[0], "version": 3}, *rows[1:]],
         ("reference-unavailable", "format-mismatch", ["format-mismatch"], ["format-mismatch"])),
        (lambda rows: [{**rows[0], "createdAt": 5}, *rows[1:]],
         ("reference-unavailable", "session-mismatch", ["session-mismatch"], ["session-mismatch"])),
        (replaced(40, "Fog", "Sun"), ("partially-available", None, ["hash-mismatch"], ["ok"])),
        (replaced(40, "request/header", "turn/start"),
         ("partially-available", None, ["event-unavailable"], ["ok"])),
        (replaced(10, "Rain", "Sun"), ("available", None, ["ok"], ["ok"])),
        (replaced(39, "lighthouse", "tower"),
         ("partially-available", None, ["ok"], ["hash-mismatch"])),
        (replaced(39, '"sandbox:policy"', '"other"'),
         ("partially-available", None, ["ok"], ["identity-mismatch", "ok"])),
        (replaced(39, '"snapshot"', '"other"'),
         ("partially-available", None, ["ok"], ["identity-mismatch"])),
    ],
)  # fmt: skip
def test_log_that_was_changed_proves_the_rest(
    change: Any, expected: tuple[Any, ...], store: TraceStore
) -> None:
    rows = change(log_rows())
    log = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = summary(verify(store.records(SESSION)[2], load_history(log)))
    keys = ("contentStatus", "referenceError", "sectionErrors", "contextErrors")
    assert tuple(found[key] for key in keys) == expected


def test_records_say_what_became_of_each_request(store: TraceStore) -> None:
    records = store.records(SESSION)
    assert [(one.turn, one.step, one.attempt) for one in records] == [
        (1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 1, 2),
    ]  # fmt: skip
    assert {one.status.value for one in records} == {"request-observed"}
    assert [one.session_ref and one.session_ref.log_cut_seq for one in records] == [11, 23, 40, 43]
    audits: list[Any] = [one.audit for one in records]
    assert [AuditStatus(one["status"]).value for one in audits] == [
        "header-observed", "header-reused-or-observed", "header-observed", "request-not-confirmed",
    ]  # fmt: skip
    authorities = [one["authority"] for one in audits]
    assert [(one["headerEventSeq"], one["headerReused"]) for one in authorities] == [
        (10, False), (10, True), (40, False), (40, True),
    ]  # fmt: skip
    assert {one["systemSource"] for one in authorities} == {"request/header"}
    assert {one["tavernProfilePresent"] for one in authorities} == {True}
    assert {one["tavernCallConfigApplied"] for one in authorities} == {True}


def test_records_say_what_changed(store: TraceStore) -> None:
    changes = [one.changes for one in store.records(SESSION)]
    assert [one and (one.common_prefix_utf16, one.changed) for one in changes] == [
        None,
        (96, ()),
        (44, ("pmp-dsh-tavern:part:0001:worldbook:content", "probe:scene")),
        (95, ()),
    ]


def test_failure_for_good_is_told_of_the_last_try(
    store: TraceStore, history: HistorySnapshot
) -> None:
    found = [verify(record, history).failure for record in store.records(SESSION)]
    assert found == [
        None, None, None, Failure(code="SERVER", message="The service is overloaded."),
    ]  # fmt: skip


def test_command_proves_the_store_by_the_log(store: TraceStore, tmp_path: Path) -> None:
    path = tmp_path / "tavern-trace-records.json"
    path.write_bytes(dump_store(store))
    assert main(["verify", str(path), "--history", str(LOG)]) == 0
