"""A store keeps the newest that fits, says what it lost, and reads what it wrote."""

import copy
import json
import pickle
from typing import Any

import pytest
from attrs import evolve

from tavern_trace import (
    AssembledText,
    Capture,
    CaptureIdentity,
    ContentStatus,
    OfficialAssembly,
    SchemaError,
    StoreLimits,
    StoreRemark,
    StoreTooLargeError,
    TraceRecord,
    TraceStore,
    begin,
    dump_record,
    dump_store,
    is_session_id,
    json_stringify,
    load_record,
    load_store,
    open_store,
    put,
    put_audits,
    record_from_json,
    store_document,
)

MIB = 1024 * 1024


def small(record_id: str, session_id: str = "s", *, size: int = 0, **changes: Any) -> TraceRecord:
    """Make a record; `size` is about how many bytes it has too many."""
    identity = CaptureIdentity(
        record_id=record_id, session_id=session_id, turn=1, step=1, attempt=1, at_ms=1
    )
    sections = (AssembledText(name="n" * size, text="t"),) if size else ()
    record = begin(Capture(identity=identity, assembly=OfficialAssembly(sections=sections)))
    return evolve(record, **changes)


def ids(store: TraceStore) -> list[str]:
    return [row.id for row in store.rows]


def encode_store(*rows: Any) -> bytes:
    """Write rows as they are, in the layout of a store."""
    return json_stringify({"schemaVersion": 4, "records": list(rows)}).encode()


def document_of(*rows: Any) -> bytes:
    return json.dumps({"schemaVersion": 4, "records": list(rows)}).encode()


# --- the recorded store ----------------------------------------------------------------------


def test_recorded_store_is_read_and_written_to_the_byte(given: Any) -> None:
    data = (given.VECTORS / "tavern-trace-records.json").read_bytes()
    store = load_store(data)
    assert dump_store(store) == data
    assert store.size_bytes == len(data)
    assert store.remarks == ()
    assert load_store(dump_store(store)) == store


def test_recorded_store_is_made_of_its_records(given: Any) -> None:
    document = given.sample("tavern-trace-records")
    store = TraceStore()
    for row in document["records"]:
        store = put(store, record_from_json(row))
    assert dump_store(store).decode() == json_stringify(document)


def test_oversize_record_is_omitted_as_recorded(given: Any) -> None:
    record = record_from_json(given.sample("record_2_request_observed"))
    store = put(TraceStore(limits=StoreLimits(record_bytes=4096)), record)
    assert store.rows[0].data.decode() == json_stringify(given.sample("record_omitted_size_limit"))
    assert put(store, record_from_json(given.sample("record_omitted_size_limit"))) == store


def test_empty_store_is_a_document() -> None:
    assert dump_store(TraceStore()) == b'{"schemaVersion":4,"records":[]}'
    assert TraceStore().size_bytes == len(dump_store(TraceStore()))


# --- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "record_bytes", "total_bytes"),
    [
        (None, 2 * MIB, 16 * MIB),
        (4095, 2 * MIB, 16 * MIB),
        (-1, 2 * MIB, 16 * MIB),
        (True, 2 * MIB, 16 * MIB),
        ("8192", 2 * MIB, 16 * MIB),
        (4096.5, 2 * MIB, 16 * MIB),
        (4096, 4096, 4096),
        (3 * MIB, 3 * MIB, 3 * MIB),
        (64 * MIB, 4 * MIB, 32 * MIB),
    ],
)
def test_setting_is_brought_within_reach(setting: Any, record_bytes: int, total_bytes: int) -> None:
    limits = StoreLimits(record_bytes=setting, total_bytes=setting)
    assert (limits.record_bytes, limits.total_bytes) == (record_bytes, total_bytes)


def test_oldest_of_too_many_records_goes() -> None:
    store = TraceStore()
    for at in range(258):
        store = put(store, small(str(at)))
    assert ids(store) == [str(at) for at in range(2, 258)]


def test_oldest_go_until_the_size_fits() -> None:
    limits = StoreLimits(record_bytes=4096, total_bytes=10_000)
    store = TraceStore(limits=limits)
    for at in range(5):
        store = put(store, small(str(at), size=3000 - 500))
        assert store.size_bytes == len(dump_store(store)) <= 10_000
    assert ids(store) == ["2", "3", "4"]


def test_store_may_be_filled_to_the_byte() -> None:
    rows = [small("1", size=3000), small("2", size=3000)]
    full = len(dump_store(put(put(TraceStore(), rows[0]), rows[1])))
    for limit, expected in ((full, ["1", "2"]), (full - 1, ["2"])):
        store = TraceStore(limits=StoreLimits(total_bytes=limit))
        assert ids(put(put(store, rows[0]), rows[1])) == expected


def test_record_may_be_filled_to_the_byte() -> None:
    record = small("1", size=5000)
    for limit, kept in ((len(dump_record(record)), True), (len(dump_record(record)) - 1, False)):
        store = put(TraceStore(limits=StoreLimits(record_bytes=limit)), record)
        assert (store.rows[0].record == record) is kept


def test_one_record_leaves_room_for_the_document() -> None:
    limits = StoreLimits(total_bytes=4096)
    store = put(TraceStore(limits=limits), small("1", size=3500))
    assert store.rows[0].record is not None
    assert store.rows[0].record.content_status is ContentStatus.OMITTED_SIZE_LIMIT


def test_row_that_never_fits_leaves_an_empty_store() -> None:
    store = put(TraceStore(limits=StoreLimits(total_bytes=4096)), small("i" * 5000))
    assert dump_store(store) == dump_store(TraceStore())


# --- putting ---------------------------------------------------------------------------------


def test_record_put_again_is_the_newest() -> None:
    store = TraceStore()
    for record_id in ("1", "2", "1"):
        store = put(store, small(record_id))
    assert ids(store) == ["2", "1"]


def test_same_id_in_another_session_is_another_record() -> None:
    store = put(put(TraceStore(), small("1", "a")), small("1", "b"))
    assert [(row.session_id, row.id) for row in store.rows] == [("a", "1"), ("b", "1")]
    assert store.find("b", "1") == small("1", "b")
    assert store.find("c", "1") is None


def test_putting_leaves_the_old_store_alone() -> None:
    empty = TraceStore()
    put(empty, small("1"))
    assert empty.rows == ()


@pytest.mark.parametrize(
    ("present", "given_at", "kept"), [(5, 4, "old"), (5, 5, "old"), (5, 6, "new")]
)
def test_later_audit_stays(present: int, given_at: int, kept: str) -> None:
    store = put(TraceStore(), small("1", audit={"updatedAt": present, "id": "old"}))
    store = put(store, small("1", audit={"updatedAt": given_at, "id": "new"}))
    assert store.rows[0].record is not None
    assert (store.rows[0].record.audit or {})["id"] == kept


def test_audit_is_not_lost_to_a_record_without_one() -> None:
    store = put(TraceStore(), small("1", audit={"id": "old"}))
    store = put(store, small("1", audit=None))
    assert store.rows[0].record == small("1", audit={"id": "old"})


@pytest.mark.parametrize("session_id", ["", "-a", "a b", "a/b", "ä", "a" * 201, "a\n"])
def test_session_id_that_cannot_be_stored_is_a_mistake(session_id: str) -> None:
    assert not is_session_id(session_id)
    with pytest.raises(ValueError, match="session id"):
        put(TraceStore(), small("1", session_id))


@pytest.mark.parametrize("session_id", ["a", "9", "A._:-z", "a" * 200])
def test_session_id_that_can_be_stored(session_id: str) -> None:
    assert is_session_id(session_id)


def test_record_needs_an_id() -> None:
    with pytest.raises(ValueError, match="needs an id"):
        put(TraceStore(), small(""))


def test_audits_go_into_their_records_or_become_records() -> None:
    store = put(put(TraceStore(), small("1")), small("2"))
    new = {"captureId": "3", "turn": 2, "step": 1, "attempt": 1, "recordedAt": 9, "id": "2:1:1"}
    store = put_audits(store, "s", [{"captureId": "1", "updatedAt": 0}, new])
    assert ids(store) == ["1", "2", "3"]
    assert store.rows[0].record == small("1", audit={"captureId": "1", "updatedAt": 0})
    assert json.loads(store.rows[2].data) == {
        "schemaVersion": 4,
        "id": "3",
        "sessionId": "s",
        "turn": 2,
        "step": 1,
        "attempt": 1,
        "recordedAt": 9,
        "status": "assembled",
        "contentStatus": "assembly-unavailable",
        "entersModelHistory": False,
        "bodyStorage": "official-session",
        "sourceTextStored": False,
        "audit": new,
    }


@pytest.mark.parametrize(
    ("session_id", "audit"), [("s", {}), ("s", {"captureId": ""}), ("s", {"captureId": "1"}),
                              ("-", {"captureId": "1"})],
)  # fmt: skip
def test_audit_that_cannot_be_placed_is_a_mistake(session_id: str, audit: Any) -> None:
    with pytest.raises(ValueError, match=r"session id|audit"):
        put_audits(TraceStore(), session_id, [audit])


# --- loading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "INVALID_JSON"),
        (b'{"schemaVersion":4,"records":[', "INVALID_JSON"),
        (b"[]", "WRONG_SCHEMA"),
        (b"{}", "WRONG_SCHEMA"),
        (b'{"schemaVersion":3,"records":[]}', "WRONG_SCHEMA"),
        (b'{"schemaVersion":4}', "WRONG_SCHEMA"),
        (b'{"schemaVersion":4,"records":{}}', "WRONG_SCHEMA"),
        (b"\xff", "NOT_UTF8"),
    ],
)
def test_document_that_is_no_store_fails_visibly(data: bytes, code: str) -> None:
    with pytest.raises(SchemaError) as caught:
        load_store(data)
    assert caught.value.code == code


def test_file_that_is_too_large_is_not_read() -> None:
    with pytest.raises(StoreTooLargeError) as caught:
        load_store(b" " * (32 * MIB + 1))
    assert (caught.value.actual_bytes, caught.value.limit_bytes) == (32 * MIB + 1, 32 * MIB)


@pytest.mark.parametrize(
    "row",
    [None, 1, [], {}, {"schemaVersion": 4, "id": "", "sessionId": "s"},
     {"schemaVersion": 4, "id": "1", "sessionId": "-"},
     {"schemaVersion": 4, "id": 1, "sessionId": "s"},
     {"schemaVersion": 3, "id": "1", "sessionId": "s"}],
)  # fmt: skip
def test_row_that_is_no_record_is_left_out_and_told(row: Any) -> None:
    store = load_store(document_of(row, json.loads(dump_record(small("1")))))
    assert ids(store) == ["1"]
    assert store.remarks == (StoreRemark(code="ROW_INVALID", row=0),)


def test_row_of_a_later_version_is_kept_as_it_is() -> None:
    row = {
        "schemaVersion": 4, "id": "9", "sessionId": "s", "turn": "later", "status": "later",
        "bodyStorage": "official-session", "sourceTextStored": False, "later": [1, {"b": None}],
    }  # fmt: skip
    store = load_store(document_of({**row, "text": "body"}))
    assert store.rows[0].record is None
    assert json.loads(dump_store(store))["records"] == [row]
    assert store.remarks == (
        StoreRemark(
            code="ROW_UNREADABLE", row=0,
            message="FIELD_INVALID: /records/0/turn: no whole number",
        ),
    )  # fmt: skip
    assert store.records("s") == ()
    assert ids(put(store, small("9"))) == ["9"]


def test_row_that_can_neither_be_read_nor_kept_is_told() -> None:
    row = {"schemaVersion": 4, "id": "9", "sessionId": "s", "later": "@"}
    deep = json.dumps(row).replace('"@"', "[" * 120 + "]" * 120).encode()
    data = b'{"schemaVersion":4,"records":[' + deep + b"]}"
    (remark,) = load_store(data).remarks
    assert (remark.code, remark.row) == ("ROW_INVALID", 0)
    large = {**row, "later": "x" * 5000}
    (remark,) = load_store(document_of(large), StoreLimits(record_bytes=4096)).remarks
    assert (remark.code, remark.row) == ("ROW_INVALID", 0)


def test_lower_limits_leave_the_identity_of_large_rows() -> None:
    data = dump_store(put(put(TraceStore(), small("1", size=5000)), small("2")))
    store = load_store(data, StoreLimits(record_bytes=4096))
    assert [row.record and row.record.content_status.value for row in store.rows] == [
        "omitted-size-limit",
        "reference-only",
    ]
    assert store.remarks == (StoreRemark(code="ROW_OMITTED", row=0),)


def test_too_many_rows_are_told() -> None:
    rows = [json.loads(dump_record(small(str(at)))) for at in range(259)]
    store = load_store(document_of(*rows))
    assert len(store.rows) == 256
    assert store.remarks == (StoreRemark(code="ROWS_EVICTED", row=3),)


def test_records_of_a_session_are_listed_by_the_time_they_began() -> None:
    store = TraceStore()
    for record_id, at_ms in (("1", 30), ("2", 10), ("3", 10)):
        store = put(store, small(record_id, recorded_at_ms=at_ms))
    store = put(store, small("4", "other"))
    assert [record.id for record in store.records("s")] == ["2", "3", "1"]


# --- opening ---------------------------------------------------------------------------------


def rows_of(store: TraceStore) -> list[tuple[str, str, bytes]]:
    return [(row.id, row.session_id, row.data) for row in store.rows]


def test_opened_store_is_the_loaded_one(given: Any) -> None:
    data = (given.VECTORS / "tavern-trace-records.json").read_bytes()
    opened, loaded = open_store(data), load_store(data)
    assert opened == loaded
    assert [row.record for row in opened.rows] == [row.record for row in loaded.rows]
    assert dump_store(open_store(data)) == data


def test_row_is_read_when_its_record_is_asked_for(
    given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (given.VECTORS / "tavern-trace-records.json").read_bytes()
    read: list[bytes] = []

    def load(row: bytes) -> TraceRecord:
        read.append(row)
        return load_record(row)

    monkeypatch.setattr(store_document, "load_record", load)
    store = open_store(data)
    first = store.rows[0]
    assert read == []
    assert store.find(first.session_id, first.id) is store.find(first.session_id, first.id)
    assert read == [first.data]


@pytest.mark.parametrize(
    "change",
    [
        {"audit": {"a": [{"text": "a body"}]}},
        {"audit": {"systemMessages": ["a body"]}},
        {"failure": {"message": "a body"}},
        {"requestContentStatus": "available"},
        {"contentStatus": "available"},
        {"bodyStorage": "inline"},
        {"sourceTextStored": True},
        {"unknown": {"contentStatus": "available"}},
        {"sections": "no list"},
        {"unknown": 1e400},
        {"unknown": 12345678901234567890},
    ],
    ids=str,
)
def test_opened_row_stores_no_more_than_a_loaded_one(given: Any, change: Any) -> None:
    row = given.sample("record_2_request_observed") | change
    data = encode_store(row)
    assert dump_store(open_store(data)) == dump_store(load_store(data))


def test_body_under_an_escaped_name_is_not_stored(given: Any) -> None:
    row = given.sample("record_2_request_observed") | {"audit": {"text": "a body"}}
    data = encode_store(row).replace(b'"text"', rb'"te\u0078t"')
    assert b"a body" in data
    assert b"a body" not in dump_store(open_store(data))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"schemaVersion":4,"records":[NaN]}', "INVALID_JSON"),
        (b'{"schemaVersion":4,"records":[{}}]}', "INVALID_JSON"),
        (b'{"schemaVersion":4,"records":[{} {}]}', "INVALID_JSON"),
        (b'{"schemaVersion":4,"records":[{},]}', "INVALID_JSON"),
        (b'{"schemaVersion":4,"records":[{"cut off":[]}', "INVALID_JSON"),
        (b'{"schemaVersion":4,"records":[{"a":1,"cut off":{"a":[]}', "INVALID_JSON"),
        (b'{"schemaVersion":4,"records":[' + b"[" * 100_000 + b"]}", "NESTED_TOO_DEEP"),
        (b'{"schemaVersion":3,"records":[]}', "WRONG_SCHEMA"),
        (b"\xff", "NOT_UTF8"),
        (b"", "INVALID_JSON"),
    ],
    ids=repr,
)
def test_what_is_no_store_cannot_be_opened_either(data: bytes, code: str) -> None:
    for read in (load_store, open_store):
        with pytest.raises(SchemaError) as raised:
            read(data)
        assert raised.value.code == code


def test_document_of_another_layout_is_opened_as_it_is_loaded(given: Any) -> None:
    document = given.sample("tavern-trace-records")
    data = json.dumps(document, indent=1).encode()
    assert open_store(data) == load_store(data)


def test_row_that_is_too_large_is_omitted_when_opened(given: Any) -> None:
    limits = StoreLimits(record_bytes=4096)
    data = encode_store(given.sample("record_2_request_observed"))
    store = open_store(data, limits)
    assert store.remarks == (StoreRemark(code="ROW_OMITTED", row=0),)
    assert store == load_store(data, limits)


def test_opened_row_that_cannot_be_read_is_kept(given: Any) -> None:
    row = given.sample("record_2_request_observed") | {"turn": "first"}
    store = open_store(encode_store(row))
    assert store.rows[0].record is None
    assert dump_store(store) == encode_store(row)


def test_stores_are_copied_and_pickled_like_any_other_value(given: Any) -> None:
    data = (given.VECTORS / "tavern-trace-records.json").read_bytes()
    unread = encode_store(given.sample("record_2_request_observed") | {"turn": "first"})
    for store in (load_store(data), open_store(data), load_store(unread), TraceStore()):
        for copied in (pickle.loads(pickle.dumps(store)), copy.deepcopy(store)):  # noqa: S301
            assert copied == store
            assert [row.record for row in copied.rows] == [row.record for row in store.rows]
