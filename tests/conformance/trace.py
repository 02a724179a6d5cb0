"""Folder `trace`: records, their index, what a reading proves of them, and the documents around.

Every record is read and written again to the byte. Those of the scenario are also made anew from
its facts (`tests.trace_scenario`: the compiled profile, the host's assembly, the session's events)
and must be the recorded ones. Index, details and audits are made of the recorded store, the matrix
by changing the session one thing at a time.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tavern_trace import (
    StoreLimits,
    TraceError,
    TraceRecord,
    TraceStore,
    audits_document,
    begin,
    capabilities_document,
    detail_document,
    digest,
    dump_record,
    dump_store,
    history_from_json,
    index_document,
    json_stringify,
    load_store,
    put,
    record_from_json,
    verify,
)
from tests.conformance._cases import Case, Loader, keyed_values
from tests.conformance._findings import Findings, NotComparable
from tests.trace_scenario import MADE_ANEW, MATRIX, Document, capture, matrix_row, sample

_KNOWN_SESSIONS = frozenset({"session-demo", "session-alt", "session-v2"})


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
    findings.same("audit", made["audit"], recorded["audit"])


def _check_bytes(ours: bytes, document: Any, findings: Findings) -> None:
    findings.same("round-trip", json.loads(ours), document)
    same = ours == json_stringify(document).encode()
    findings.require("round-trip", same, "other bytes than JSON.stringify writes")


def _check_snapshot(fields: Any, findings: Findings) -> None:
    recorded = sample("record_1_assembled")
    made = begin(capture(recorded, fields["document"]))
    _same_side(findings, fields["kind"], made, recorded)


def _check_store(fields: Any, findings: Findings) -> None:
    document = fields["document"]
    store = load_store(json_stringify(document).encode())
    findings.same("remarks", [one.code for one in store.remarks], [])
    _check_bytes(dump_store(store), document, findings)


def _check_capabilities(fields: Any, findings: Findings) -> None:
    findings.same("capabilities", capabilities_document(StoreLimits()), fields["document"])


def _check_index(fields: Any, findings: Findings) -> None:
    store = put(TraceStore(), record_from_json(sample("record_2_request_observed")))
    _require_known(fields["document"]["records"], "id")
    findings.same("index", index_document(store, "session-demo"), fields["document"])


def _store() -> TraceStore:
    return load_store(json_stringify(sample("tavern-trace-records")).encode())


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


def _check_row(fields: Any, findings: Findings) -> None:
    change = MATRIX.get(fields["key"])
    if change is None:
        raise NotComparable("nobody knows what makes this row")
    findings.same("verification", matrix_row(change), fields["expected"])


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
