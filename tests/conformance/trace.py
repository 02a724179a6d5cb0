"""Folder `trace`: records, their index, what a reading proves of them, and the documents around.

Every record is read and written again to the byte. Those of the scenario are also made anew from
its facts (the compiled profile, the host's assembly, the session's events) and must be the recorded
ones; what only the recording plugin knew, its request header, is set aside. Index, details and
audits are made of the recorded store, the matrix by changing the session one thing at a time.
The sessions are data of the package's own tests: their hashes are those of the records.
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
    TraceError,
    TraceRecord,
    TraceStore,
    Verification,
    audits_document,
    begin,
    capabilities_document,
    detail_document,
    digest,
    dump_record,
    dump_store,
    header_facts,
    history_from_json,
    index_document,
    json_stringify,
    load_store,
    new_audit,
    observe_failure,
    observe_header,
    observe_stream,
    put,
    record_from_json,
    verify,
)
from tests.conformance._cases import Case, Loader, keyed_values
from tests.conformance._findings import Findings, NotComparable

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "vectors" / "trace"
SESSIONS = ROOT / "packages" / "tavern-trace" / "tests" / "cases"
_OF_THE_HEADER = ("headerFingerprint", "configFingerprint")
"""Hashes of a request header that is not in the records."""

_KNOWN_SESSIONS = frozenset({"session-demo", "session-alt", "session-v2"})

Document = dict[str, Any]


def whole_file(area: str, document: Any) -> Iterator[Case]:
    """Read a file that is one case."""
    yield Case(area, area.rpartition("/")[2], {"document": document})


def bytes_facts_audit(area: str, document: Any) -> Iterator[Case]:
    """Read a record as three cases: its bytes, what was made of facts, and the audit of these."""
    name = area.rpartition("/")[2]
    kinds = ("bytes", "facts", "audit") if document.get("audit") else ("bytes", "facts")
    for kind in kinds:
        yield Case(area, f"{name}/{kind}", {"kind": kind, "document": document})


def facts_audit(area: str, document: Any) -> Iterator[Case]:
    """Read what the compiler made as two cases: the record of it, and its audit."""
    name = area.rpartition("/")[2]
    for kind in ("facts", "audit"):
        yield Case(area, f"{name}/{kind}", {"kind": kind, "document": document})


def check(case: Case, findings: Findings) -> None:
    """Compare one file, a side of it, or one row of the matrix."""
    name = case.area.rpartition("/")[2]
    try:
        CHECKS[name](case.fields, findings)
    except TraceError as fault:
        findings.add("refused", str(fault))


# --- the recorded scenario -------------------------------------------------------------------


@cache
def _recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_bytes())


def _session(name: str) -> Document:
    document: Document = json.loads((SESSIONS / f"{name}.json").read_bytes())
    return document


def _history(name: str, until: int | None = None) -> HistorySnapshot:
    document = _session(name)
    return history_from_json({**document, "events": document["events"][:until]})


def _store() -> TraceStore:
    return load_store((RECORDED / "tavern-trace-records.json").read_bytes())


def _identity(record: Document, at_ms: int) -> CaptureIdentity:
    numbers = {key: record[key] for key in ("turn", "step", "attempt")}
    return CaptureIdentity(
        record_id=record["id"], session_id=record["sessionId"], at_ms=at_ms, **numbers
    )


def _begun(record: Document, snapshot: Document) -> TraceRecord:
    """Begin the record of the scenario's request, from what the compiler made."""
    own = tuple(
        OwnPart(name=one["name"], text=one["text"], sources=tuple(map(_source, one["sources"])))
        for one in snapshot["sections"]
    )
    texts = (AssembledText(name=part.name, text=part.text) for part in own)
    facts: Document = {}
    if record.get("audit"):
        profile = CompiledProfile(
            system_text=snapshot["systemText"],
            system_prompt_mode=snapshot["systemPromptMode"],
            call_config=snapshot["callConfig"],
            audit=snapshot["audit"],
        )
        begun = _identity(record, record["audit"]["recordedAt"])
        facts["audit"] = new_audit(profile, begun, session_format_version=3)
    return begin(
        Capture(
            identity=_identity(record, record["recordedAt"]),
            assembly=OfficialAssembly(
                sections=(AssembledText(name="identity", text="You are DSH harness."), *texts),
                contexts=(AssembledText(name="env", text="cwd=/tmp"),),
            ),
            own_parts=own,
            selection=snapshot["audit"]["sessionSelection"],
            **facts,
        )
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


def _request(name: str, **facts: Any) -> SentRequest:
    """Send every message of a session's surface."""
    document = _session(name)
    data = [document["events"][seq]["data"] for seq in document["surface"]["nodes"]]
    messages = (one.get("message", one) for one in data)
    sent = tuple(SentMessage(role=m["role"], id=m["id"], content=m["content"]) for m in messages)
    return SentRequest(messages=sent, **facts)


def _assembled(record: Document) -> TraceRecord:
    return _begun(record, _recorded("compile_snapshot"))


def _observed(record: Document) -> TraceRecord:
    history = _history("session_demo", until=7)
    header = header_facts(history)
    if header is None:
        message = "the session has no request header"
        raise ValueError(message)
    text = _recorded("compile_snapshot")["systemText"]
    seen_at_ms = record["audit"]["updatedAt"]
    seen = observe_header(_assembled(record), header, at_ms=seen_at_ms, profile_text=text)
    request = _request(
        "session_demo",
        provider="deepseek",
        model="deepseek-chat",
        tool_names=("read", "web_search"),
    )
    return observe_stream(seen, request, history)


def _failed(record: Document) -> TraceRecord:
    history = _history("session_demo")
    return observe_failure(_observed(record), history, history.events[-1])


def _unverified(record: Document) -> TraceRecord:
    request = _request("session_alt", provider="p", model="m")
    return observe_stream(_assembled(record), request, _history("session_alt"))


def _of_old_log(record: Document) -> TraceRecord:
    history = _history("session_v2")
    request = SentRequest(provider="p", model="m", system=history.events[1].header_system)
    return observe_stream(_assembled(record), request, history)


def _omitted(_: Document) -> TraceRecord:
    large = record_from_json(_recorded("record_2_request_observed"))
    row = put(TraceStore(limits=StoreLimits(record_bytes=4096)), large).rows[0].record
    return row or large


MADE_ANEW: Mapping[str, Callable[[Document], TraceRecord]] = {
    "record_1_assembled": _assembled,
    "record_2_request_observed": _observed,
    "record_3_with_failure_ref": _failed,
    "record_unverified": _unverified,
    "record_v2_log": _of_old_log,
    "record_omitted_size_limit": _omitted,
}


# --- records and documents -------------------------------------------------------------------


def _check_record(make: Callable[[Document], TraceRecord]) -> Callable[[Any, Findings], None]:
    def check_one(fields: Any, findings: Findings) -> None:
        document = fields["document"]
        if document["sessionId"] not in _KNOWN_SESSIONS:
            raise NotComparable("it is of a session that is not recorded")
        if fields["kind"] == "bytes":
            _check_bytes(dump_record(record_from_json(document)), document, findings)
        else:
            _same_side(findings, fields["kind"], make(document), document)

    return check_one


def _same_side(findings: Findings, kind: str, record: TraceRecord, recorded: Document) -> None:
    """Compare the audit of a record, or everything else."""
    made = json.loads(dump_record(record))
    if kind == "facts":
        sides = [{key: item for key, item in one.items() if key != "audit"} for one in
                 (made, recorded)]  # fmt: skip
        findings.same("record", *sides)
        return
    authority = recorded["audit"]["authority"]
    if authority["headerFingerprint"]:
        made["audit"]["authority"] |= {key: authority[key] for key in _OF_THE_HEADER}
    findings.same("audit", made["audit"], recorded["audit"])


def _check_bytes(ours: bytes, document: Any, findings: Findings) -> None:
    findings.same("round-trip", json.loads(ours), document)
    same = ours == json_stringify(document).encode()
    findings.require("round-trip", same, "other bytes than JSON.stringify writes")


def _check_snapshot(fields: Any, findings: Findings) -> None:
    recorded = _recorded("record_1_assembled")
    _same_side(findings, fields["kind"], _begun(recorded, fields["document"]), recorded)


def _check_store(fields: Any, findings: Findings) -> None:
    document = fields["document"]
    store = load_store(json_stringify(document).encode())
    findings.same("remarks", [one.code for one in store.remarks], [])
    _check_bytes(dump_store(store), document, findings)


def _check_capabilities(fields: Any, findings: Findings) -> None:
    findings.same("capabilities", capabilities_document(StoreLimits()), fields["document"])


def _check_index(fields: Any, findings: Findings) -> None:
    store = put(TraceStore(), record_from_json(_recorded("record_2_request_observed")))
    _require_known(fields["document"]["records"], "id")
    findings.same("index", index_document(store, "session-demo"), fields["document"])


def _require_known(rows: list[Document], key: str) -> None:
    known = {row.id for row in _store().rows}
    if not known.issuperset(row[key] for row in rows):
        raise NotComparable("the records themselves are not recorded")


def _check_statuses(fields: Any, findings: Findings) -> None:
    """Compare the fields that a row names; an absent one is null."""
    _require_known(fields["document"], "id")
    rows = index_document(_store(), "session-demo")["records"]
    ours = [{key: row.get(key) for key in row_of} for row, row_of in
            zip(rows, fields["document"], strict=True)]  # fmt: skip
    findings.same("index", ours, fields["document"])


def _check_audits(fields: Any, findings: Findings) -> None:
    _require_known(fields["document"], "captureId")
    ours = audits_document(_store(), "session-demo")["records"]
    findings.same("audits", ours, fields["document"])


def _check_detail(fields: Any, findings: Findings) -> None:
    """Read what is stored of a detail again, by a session that its own texts make."""
    detail = fields["document"]["record"]
    record = record_from_json(detail)
    again = detail_document(record, verify(record, history_from_json(_session_of(detail))))
    findings.same("detail", again, fields["document"])
    stored = json.loads(dump_record(record))
    texts = [part.get("text") for key in ("sections", "contexts") for part in stored[key]]
    findings.same("stored/text", texts, [None] * len(texts))


def _session_of(detail: Document) -> Document:
    """Make the events that a record points to, of the texts that were recovered from them."""
    session = detail["sessionRef"]
    events = []
    for reference, text in zip(
        detail["systemMessageRefs"], detail.get("systemMessages", ()), strict=True
    ):
        message = _message(reference, text)
        events.append({**_place(reference), "data": {"message": message}})
    named = [part for part in detail["contexts"] if "reference" in part]
    for part in named[:1]:
        listed = [{"name": one["name"], "text": one["text"]} for one in named]
        text = "[context]\n" + "\n".join(one["text"] for one in listed)
        source = {"kind": "runtime-context", "form": "snapshot", "sections": listed}
        data = {**_message(part["reference"], text), "source": source}
        events.append({**_place(part["reference"]), "data": data})
    if "failureRef" in detail:
        reason = {"kind": "error", "error": detail["failure"]}
        data = {"turn": detail["turn"], "reason": reason}
        events.append({**_place(detail["failureRef"]), "data": data})
    return {
        "meta": {
            "version": session["sessionFormatVersion"],
            "id": session["sessionId"],
            "createdAt": session["sessionCreatedAt"],
        },
        "events": [*events, {"seq": session["logCutSeq"] + 1, "type": "step/end"}],
    }


def _place(reference: Document) -> Document:
    return {"seq": reference["eventSeq"], "type": reference["eventType"]}


def _message(reference: Document, text: str) -> Document:
    content = [{"type": "text", "text": text}]
    if digest(content) != reference["messageHash"]:
        raise NotComparable("the messages cannot be told from it")
    return {"id": reference["messageId"], "content": content}


# --- the matrix ------------------------------------------------------------------------------


def _cut(session: Document) -> None:
    del session["events"][6:]


MATRIX: Mapping[str, ReferenceFault | Callable[[Document], None]] = {
    "ok": lambda _: None,
    "no_inspect": ReferenceFault.HISTORY_UNAVAILABLE,
    "not_found": ReferenceFault.HISTORY_UNAVAILABLE,
    "read_failed": ReferenceFault.HISTORY_READ_FAILED,
    "format_mismatch": lambda session: session["meta"].update(version=2),
    "session_mismatch_created": lambda session: session["meta"].update(createdAt="other"),
    "cut_unavailable": _cut,
    "system_text_changed": lambda session: session["events"][3]["data"]["message"]["content"][
        0
    ].update(text="changed"),
    "system_id_changed": lambda session: session["events"][3]["data"]["message"].update(
        id="changed"
    ),
    "system_event_type_changed": lambda session: session["events"][3].update(type="turn/start"),
    "context_section_renamed": lambda session: session["events"][4]["data"]["source"]["sections"][
        0
    ].update(name="changed"),
    "context_section_text_changed": lambda session: session["events"][4]["data"]["source"][
        "sections"
    ][0].update(text="changed"),
}
"""What makes each row: a change of the session, or the reason why there is no history."""


def _check_row(fields: Any, findings: Findings) -> None:
    record = record_from_json(_recorded("record_2_request_observed"))
    change = MATRIX.get(fields["key"])
    if change is None:
        raise NotComparable("nobody knows what makes this row")
    if isinstance(change, ReferenceFault):
        found = verify(record, change)
    else:
        session = _session("session_demo")
        change(session)
        found = verify(record, history_from_json(session))
    findings.same("verification", _summary(found), fields["expected"])


def _summary(found: Verification) -> Document:
    request = found.request_content_status
    return {
        "contentStatus": found.content_status.value,
        "referenceError": found.fault.value if found.fault else None,
        "requestContentStatus": request.value if request else None,
        "sectionErrors": sorted({one.fault or "ok" for one in found.sections}),
        "contextErrors": sorted({one.fault or "ok" for one in found.contexts}),
        "systemMessages": found.system_messages is not None,
    }


CHECKS: Mapping[str, Callable[[Any, Findings], None]] = {
    **{name: _check_record(make) for name, make in MADE_ANEW.items()},
    "compile_snapshot": _check_snapshot,
    "tavern-trace-records": _check_store,
    "capabilities_2_3": _check_capabilities,
    "index": _check_index,
    "index_all_statuses": _check_statuses,
    "v1_audits": _check_audits,
    "detail_available": _check_detail,
    "detail_failure": _check_detail,
    "detail_unverified": _check_detail,
    "verification_matrix": _check_row,
}
LOADERS: Mapping[str, Loader] = {
    **{f"trace/{name}": whole_file for name in CHECKS},
    **{f"trace/{name}": bytes_facts_audit for name in MADE_ANEW},
    "trace/compile_snapshot": facts_audit,
    "trace/verification_matrix": keyed_values,
}
