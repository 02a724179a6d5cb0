"""Documents of earlier versions are read, labelled, and never written."""

import json
from typing import Any

import pytest

from tavern_trace import (
    SchemaError,
    TraceStore,
    audits_document,
    index_document,
    legacy_detail_document,
    load_legacy_assemblies,
    load_legacy_audits,
    put,
    record_from_json,
)


def audit(**changes: Any) -> dict[str, Any]:
    return {
        "schemaVersion": 1, "id": "1:1:1", "turn": 1, "step": 1, "attempt": 1, "recordedAt": 7,
    } | changes  # fmt: skip


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def audits_file(sessions: Any, version: int = 1) -> bytes:
    return json.dumps({"schemaVersion": version, "sessions": sessions}).encode()


def of_session(*audits: Any, updated_at: Any = 1) -> dict[str, Any]:
    return {"updatedAt": updated_at, "records": list(audits)}


SCHEMA_3 = {
    "schemaVersion": 3,
    "id": "old",
    "sessionId": "session-demo",
    "turn": 1,
    "step": 1,
    "attempt": 1,
    "recordedAt": 3,
    "status": "request-observed",
    "contentStatus": "available",
    "sections": [{"name": "n", "text": "BODY"}],
    "audit": {"captureId": "c", "id": "1:1:1"},
}


def assemblies_file(*records: Any, version: int = 3) -> bytes:
    return json.dumps({"schemaVersion": version, "records": list(records)}).encode()


def test_audits_are_shown_as_metadata_only() -> None:
    (one,) = load_legacy_audits(audits_file({"s": of_session(audit())}))
    document = index_document(TraceStore(), "s", [one])
    assert document["records"] == [
        {
            "schemaVersion": 3,
            "id": "legacy:1:1:1",
            "sessionId": "s",
            "turn": 1,
            "step": 1,
            "attempt": 1,
            "recordedAt": 7,
            "status": "legacy-metadata-only",
            "contentStatus": "legacy-metadata-only",
            "audit": audit(),
            "sectionCount": 0,
        }
    ]
    assert audits_document(TraceStore(), "s", [one])["records"] == [audit()]


def test_texts_of_schema_3_are_labelled_as_legacy() -> None:
    (one,) = load_legacy_assemblies(assemblies_file(SCHEMA_3))
    assert legacy_detail_document(one) == {
        "ok": True,
        "record": {**SCHEMA_3, "bodyStorage": "legacy-record"},
    }
    (row,) = index_document(TraceStore(), "session-demo", [one])["records"]
    assert "sections" not in row
    assert "BODY" not in json.dumps(row)
    assert (row["sectionCount"], row["contentStatus"], row["bodyStorage"]) == (
        1, "available", "legacy-record",
    )  # fmt: skip
    assert "BODY" not in repr(one)


def test_only_the_capture_id_tells_that_two_are_the_same(given: Any) -> None:
    document = given.sample("record_2_request_observed")
    store = put(TraceStore(), record_from_json(document))
    same = audit(captureId=document["id"], id="9:9:9")
    (other, known) = load_legacy_audits(audits_file({"session-demo": of_session(audit(), same)}))
    rows = index_document(store, "session-demo", [other, known])["records"]
    assert [row["id"] for row in rows] == ["legacy:1:1:1", document["id"]]
    listed = audits_document(store, "session-demo", [other, known])["records"]
    assert [one["id"] for one in listed] == ["1:1:1", "1:1:1"]


def test_rows_are_listed_by_time_and_session(given: Any) -> None:
    (one,) = load_legacy_assemblies(assemblies_file(SCHEMA_3))
    store = put(TraceStore(), record_from_json(given.sample("record_2_request_observed")))
    rows = index_document(store, "session-demo", [one])["records"]
    assert [row["recordedAt"] for row in rows] == [3, 1764500000014]
    assert index_document(store, "other", [one])["records"] == []


@pytest.mark.parametrize(
    "odd",
    [
        None,
        5,
        {},
        audit(id=5),
        audit(turn="1"),
        audit(attempt=None),
        audit(x="y" * 70_000),
        audit(x=nested(150)),
    ],
)
def test_what_is_no_audit_is_left_out(odd: Any) -> None:
    data = audits_file({"s": of_session(odd, audit()), "-": of_session(audit()), "t": 5})
    assert [one.session_id for one in load_legacy_audits(data)] == ["s"]


def test_newest_sessions_and_audits_are_kept() -> None:
    many = {f"s{at:03}": of_session(audit(id=str(at)), updated_at=at) for at in range(130)}
    found = load_legacy_audits(audits_file(many))
    assert [found[0].session_id, len(found)] == ["s002", 128]
    rows = of_session(*(audit(id=str(at)) for at in range(130)), updated_at="x")
    found = load_legacy_audits(audits_file({"s": rows}))
    assert [found[0].id, len(found)] == ["legacy:2", 128]


def test_file_of_audits_that_is_too_large_counts_as_empty() -> None:
    assert load_legacy_audits(b" " * (16 * 1024 * 1024 + 1)) == ()


@pytest.mark.parametrize(
    "odd", [None, {}, {**SCHEMA_3, "id": ""}, {**SCHEMA_3, "sessionId": "-"},
            {**SCHEMA_3, "schemaVersion": 4}, {**SCHEMA_3, "later": nested(150)}],
)  # fmt: skip
def test_what_is_no_record_of_schema_3_is_left_out(odd: Any) -> None:
    found = load_legacy_assemblies(assemblies_file(odd, SCHEMA_3))
    assert [one.id for one in found] == ["old"]


def test_newest_records_of_schema_3_are_kept() -> None:
    rows = ({**SCHEMA_3, "id": str(at)} for at in range(260))
    found = load_legacy_assemblies(assemblies_file(*rows))
    assert [found[0].id, len(found)] == ["4", 256]


@pytest.mark.parametrize(
    ("load", "data", "code"),
    [
        (load_legacy_audits, b"{", "INVALID_JSON"),
        (load_legacy_audits, audits_file({}, version=2), "WRONG_SCHEMA"),
        (load_legacy_audits, audits_file([]), "WRONG_SCHEMA"),
        (load_legacy_audits, b"[]", "WRONG_SCHEMA"),
        (load_legacy_assemblies, b"{", "INVALID_JSON"),
        (load_legacy_assemblies, assemblies_file(version=4), "WRONG_SCHEMA"),
        (load_legacy_assemblies, b'{"schemaVersion":3}', "WRONG_SCHEMA"),
    ],
)
def test_broken_file_fails_visibly(load: Any, data: bytes, code: str) -> None:
    with pytest.raises(SchemaError) as caught:
        load(data)
    assert caught.value.code == code
