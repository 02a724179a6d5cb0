"""Records are read and written to the byte, and what is unknown survives."""

import json
from typing import Any

import pytest
from attrs import evolve

from tavern_trace import (
    ContentStatus,
    RecordStatus,
    SchemaError,
    dump_record,
    json_stringify,
    load_record,
    record_from_json,
    record_to_json,
)

WRITTEN = (
    "record_1_assembled",
    "record_2_request_observed",
    "record_3_with_failure_ref",
    "record_omitted_size_limit",
    "record_unverified",
    "record_v2_log",
)
MINIMAL = {
    "schemaVersion": 4,
    "id": "r",
    "sessionId": "s",
    "turn": 1,
    "step": 1,
    "attempt": 1,
    "recordedAt": 5,
    "status": "assembled",
    "contentStatus": "reference-only",
    "bodyStorage": "official-session",
    "sourceTextStored": False,
}


@pytest.mark.parametrize("name", WRITTEN)
def test_written_record_is_read_and_written_to_the_byte(name: str, given: Any) -> None:
    document = given.sample(name)
    record = record_from_json(document)
    assert dump_record(record).decode() == json_stringify(document)
    assert load_record(dump_record(record)) == record


def test_attributes_say_what_the_json_says(given: Any) -> None:
    record = record_from_json(given.sample("record_3_with_failure_ref"))
    assert (record.turn, record.step, record.attempt) == (1, 1, 1)
    assert record.status is RecordStatus.REQUEST_OBSERVED
    assert record.recorded_at_ms == 1764500000014
    fourth = record.sections[4]
    assert (fourth.chars, fourth.utf16, fourth.utf8_bytes) == (10, 11, 17)
    assert fourth.sources[0].identifier == "style"
    assert record.contexts[0].reference is not None
    assert record.contexts[0].reference.source_section_name == "env"
    assert record.failure_ref is not None
    assert record.failure_ref.session.log_cut_seq == 7
    assert record.failure_status is ContentStatus.REFERENCE_ONLY


def test_unknown_fields_survive_at_every_level(given: Any) -> None:
    document = given.sample("record_3_with_failure_ref")
    for place in (
        document,
        document["sections"][0],
        document["sections"][1]["sources"][0],
        document["sections"][1]["reference"],
        document["sections"][1]["reference"]["range"],
        document["delivery"],
        document["sessionRef"],
        document["failureRef"],
    ):
        place["later"] = {"b": [1.5, None, {"x": "ä"}], "a": True}
    record = record_from_json(document)
    assert dump_record(record).decode() == json_stringify(document)
    assert load_record(dump_record(record)) == record


def test_order_of_keys_survives_and_is_no_part_of_the_value(given: Any) -> None:
    document = given.sample("record_2_request_observed")
    turned = dict(reversed(document.items()))
    turned["delivery"] = dict(reversed(document["delivery"].items()))
    assert dump_record(record_from_json(turned)).decode() == json_stringify(turned)
    assert record_from_json(turned) == record_from_json(document)


def test_new_fields_follow_those_that_were_there() -> None:
    turned = {**dict(reversed(MINIMAL.items())), "later": 1}
    record = evolve(record_from_json(turned), compiler_fingerprint="f")
    assert list(record_to_json(record)) == [*turned, "compilerFingerprint"]


def test_field_that_is_null_where_it_may_be_absent_stays_null() -> None:
    document = {**MINIMAL, "audit": None, "delivery": None, "later": None}
    assert record_to_json(record_from_json(document)) == document


def test_texts_and_verdicts_of_a_reading_are_left_behind(given: Any) -> None:
    detail = given.sample("detail_failure")["record"]
    stored = given.sample("record_3_with_failure_ref")
    assert dump_record(record_from_json(detail)).decode() == json_stringify(stored)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"schemaVersion": 3}, "WRONG_SCHEMA: no record of schema 4"),
        ({"schemaVersion": True}, "WRONG_SCHEMA: no record of schema 4"),
        ({"turn": "1"}, "FIELD_INVALID: /turn: no whole number"),
        ({"turn": True}, "FIELD_INVALID: /turn: no whole number"),
        ({"turn": 1.5}, "FIELD_INVALID: /turn: no whole number"),
        ({"status": "gone"}, "FIELD_INVALID: /status: no known RecordStatus"),
        ({"contentStatus": []}, "FIELD_INVALID: /contentStatus: no known ContentStatus"),
        ({"sections": {}}, "FIELD_INVALID: /sections: no array"),
        ({"sections": [1]}, "FIELD_INVALID: /sections/0: no object"),
        ({"sections": [{}]}, "FIELD_INVALID: /sections/0/name: it is missing"),
        ({"audit": 1}, "FIELD_INVALID: /audit: no object"),
        ({"delivery": {"assemblyVerified": 1}},
         "FIELD_INVALID: /delivery/assemblyVerified: no true or false"),
        ({"draws": [{"purpose": "p", "value": "x"}]},
         "FIELD_INVALID: /draws/0/value: no number"),
        ({"assemblyHash": 1}, "FIELD_INVALID: /assemblyHash: no text"),
    ],
)  # fmt: skip
def test_fault_of_a_field_is_named(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(SchemaError) as caught:
        record_from_json({**MINIMAL, **change})
    assert str(caught.value) == fault
    assert isinstance(caught.value, ValueError)


def test_missing_identity_is_a_fault() -> None:
    document = {key: value for key, value in MINIMAL.items() if key != "id"}
    with pytest.raises(SchemaError, match="FIELD_INVALID: /id: it is missing"):
        record_from_json(document)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff", "NOT_UTF8"),
        (b"{", "INVALID_JSON"),
        (b"\xef\xbb\xbf{}", "INVALID_JSON"),
        (b"[NaN]", "INVALID_JSON"),
        (b"1" * 5000, "WRONG_SCHEMA"),
        (b"[]", "WRONG_SCHEMA"),
        (b"[" * 200_000 + b"]" * 200_000, "NESTED_TOO_DEEP"),
    ],
)
def test_bytes_that_are_no_record_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(SchemaError) as caught:
        load_record(data)
    assert caught.value.code == code


@pytest.mark.parametrize("levels", [150, 900])
def test_deep_field_is_refused(levels: int) -> None:
    document = json.dumps({**MINIMAL, "later": "@"}).replace('"@"', "[" * levels + "]" * levels)
    with pytest.raises(SchemaError) as caught:
        load_record(document.encode())
    assert caught.value.code == "NESTED_TOO_DEEP"


def test_whole_number_may_be_written_with_a_fraction_of_zero() -> None:
    data = json.dumps(MINIMAL).replace('"turn": 1,', '"turn": 1.0,').encode()
    assert load_record(data).turn == 1


def test_number_too_large_for_one_is_no_draw() -> None:
    document = json.dumps({**MINIMAL, "draws": [{"purpose": "p", "value": "@"}]})
    with pytest.raises(SchemaError, match="FIELD_INVALID: /draws/0/value: no number"):
        load_record(document.replace('"@"', "1e999").encode())


def test_half_surrogate_pair_survives() -> None:
    data = json_stringify({**MINIMAL, "later": "\ud83e"}).encode()
    assert b"\\ud83e" in data
    assert dump_record(load_record(data)) == data
