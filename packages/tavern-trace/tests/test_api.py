"""The documents of the interface are the recorded ones."""

import json
from typing import Any

from attrs import evolve

from tavern_trace import (
    Draw,
    LegacyRecord,
    StoreLimits,
    TraceStore,
    audits_document,
    begin,
    capabilities_document,
    detail_document,
    index_document,
    index_row,
    json_stringify,
    load_store,
    put,
    record_from_json,
    storage_document,
    verify,
)


def recorded_store(given: Any) -> TraceStore:
    return load_store((given.VECTORS / "tavern-trace-records.json").read_bytes())


def test_capabilities_are_the_recorded_ones(given: Any) -> None:
    found = capabilities_document(StoreLimits())
    assert json_stringify(found) == json_stringify(given.sample("capabilities_2_3"))


def test_index_is_the_recorded_one(given: Any) -> None:
    store = put(TraceStore(), record_from_json(given.sample("record_2_request_observed")))
    found = index_document(store, "session-demo")
    assert json_stringify(found) == json_stringify(given.sample("index"))


def test_legacy_record_without_a_capture_id_is_listed_beside_a_record_without_one(
    given: Any,
) -> None:
    document = dict(given.sample("record_2_request_observed"))
    document["audit"] = {**document["audit"], "captureId": None}
    record = evolve(record_from_json(document), legacy_capture_id=None)
    assert record.capture_id is None
    old = LegacyRecord(
        id="old",
        session_id="session-demo",
        recorded_at_ms=1,
        status="assembled",
        content_status="available",
        audit_only=False,
        document={"id": "old"},
    )
    found = index_document(put(TraceStore(), record), "session-demo", [old])
    assert [row["id"] for row in found["records"]] == ["old", record.id]


def test_index_of_all_statuses_is_the_recorded_one(given: Any) -> None:
    wanted = given.sample("index_all_statuses")
    rows = index_document(recorded_store(given), "session-demo")["records"]
    assert [{key: row.get(key) for key in wanted[0]} for row in rows] == wanted


def test_audits_are_the_recorded_ones(given: Any) -> None:
    found = audits_document(recorded_store(given), "session-demo")
    assert json_stringify(found["records"]) == json_stringify(given.sample("v1_audits"))
    assert found["storage"] == storage_document(StoreLimits())


def test_row_of_an_omitted_record_keeps_its_capture_id(given: Any) -> None:
    document = given.sample("record_omitted_size_limit")
    assert index_row(record_from_json(document)) == {**document, "sectionCount": 0}


def test_row_leaves_out_what_may_be_long(given: Any) -> None:
    capture = given.capture(
        given.sample("record_1_assembled"), draws=(Draw(purpose="p", value=0.5),)
    )
    first = begin(capture)
    row = index_row(begin(capture, first))
    assert {"sections", "contexts", "audit", "draws", "changes"}.isdisjoint(row)


def test_documents_are_plain_and_new_each_time(given: Any) -> None:
    record = record_from_json(given.sample("record_3_with_failure_ref"))
    found = verify(record, given.history("session_demo"))
    document = detail_document(record, found)
    document["record"]["sections"][0]["sources"].append("x")
    document["record"]["selection"]["presetId"] = "x"
    again = detail_document(record, found)
    assert json.loads(json.dumps(again)) == given.sample("detail_failure")
