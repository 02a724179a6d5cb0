"""No text of a resource gets into a record, and a strict one says less still."""

import json
from typing import Any

import pytest

from tavern_trace import (
    Draw,
    Privacy,
    TraceStore,
    begin,
    dump_record,
    dump_store,
    json_stringify,
    load_store,
    note_parameters,
    observe_header,
    observe_stream,
    put,
    put_audits,
    record_from_json,
    redact,
)
from tavern_trace import header_facts as facts_of
from tests.trace_scenario import strings


def bodies(given: Any) -> set[str]:
    """Collect every resource text of the sample: parts, sources, persona, the system text."""
    snapshot = given.sample("compile_snapshot")
    found = {snapshot["systemText"], snapshot["resources"]["user"]["description"]}
    for section in snapshot["sections"]:
        found.add(section["text"])
        found |= {source["text"] for source in section["sources"]}
    found |= {text.text for text in (*given.assembly().sections, *given.assembly().contexts)}
    found |= {"You are DSH harness.", "upstream exploded"}
    return {text for text in found if text}


def test_no_body_is_in_a_record_made_of_them(given: Any) -> None:
    record = begin(given.capture(given.sample("record_1_assembled")))
    history = given.history("session_demo")
    header = facts_of(history)
    assert header is not None
    text = given.profile().system_text
    record = observe_header(record, header, at_ms=9, profile_text=text)
    record = observe_stream(record, given.sent_request("session_demo"), history)
    assert_bodiless(json.loads(dump_record(record)), given)


def assert_bodiless(document: Any, given: Any) -> None:
    written = list(strings(document))
    assert written
    assert [body for body in bodies(given) for text in written if body in text] == []


def test_no_body_is_in_the_recorded_records(given: Any) -> None:
    data = (given.VECTORS / "tavern-trace-records.json").read_bytes()
    assert_bodiless(json.loads(dump_store(load_store(data))), given)


@pytest.mark.parametrize("name", ["detail_available", "detail_failure", "detail_unverified"])
def test_bodies_of_a_reading_do_not_come_back(name: str, given: Any) -> None:
    detail = given.sample(name)["record"]
    assert any("harness" in text or "else" in text for text in strings(detail))
    assert_bodiless(json.loads(dump_record(record_from_json(detail))), given)


@pytest.mark.parametrize(
    "planted",
    [
        {"text": "BODY"},
        {"systemMessages": ["BODY"]},
        {"failure": {"code": "BODY"}},
        {"requestAssembly": {"x": ["BODY"]}},
        {"nativeRequest": {"messages": ["BODY"]}},
        {"nativeProvenance": "BODY"},
        {"nativeSourceRefs": [{"id": 1, "children": [{"text": "BODY", "children": [
            {"messages": ["BODY"]}]}]}]},
        {"later": {"deep": [{"content": "BODY"}, {"body": "BODY"}]}},
        {"audit": {"resources": {"user": {"id": "u", "description": "BODY"}}}},
    ],
)  # fmt: skip
def test_body_under_a_name_of_bodies_is_taken_out(planted: dict[str, Any], given: Any) -> None:
    document = {**given.sample("record_1_assembled"), **planted}
    document["sections"][0] |= {"text": "BODY"}
    document["sections"][1]["sources"][0] |= {"text": "BODY"}
    document["contexts"][0] |= {"text": "BODY", "referenceError": "x"}
    assert "BODY" not in dump_record(record_from_json(document)).decode()


def test_stored_verdicts_are_references_again(given: Any) -> None:
    document = {**given.sample("detail_available")["record"], "sourceTextStored": True,
                "bodyStorage": "elsewhere"}  # fmt: skip
    assert dump_record(record_from_json(document)).decode() == json_stringify(
        given.sample("record_2_request_observed")
    )


# --- strict ----------------------------------------------------------------------------------


def test_strict_record_says_numbers_ids_and_reasons_only(given: Any) -> None:
    draws = (Draw(purpose="probability:Lantern", value=0.5),)
    capture = given.capture(given.sample("record_1_assembled"), privacy="strict", draws=draws)
    record = begin(capture)
    written = list(strings(json.loads(dump_record(record))))
    told = ("dragon", "lantern", "Dragon", "Lantern", "Sea", "/sea.*/i", "Bo", "###")
    assert [name for name in told for text in written if name == text] == []
    assert [text for text in written if "/sea" in text or "Lantern" in text] == []
    audit = json.loads(dump_record(record))["audit"]
    assert audit["worldBooks"][0]["decisions"][1] == {
        "resourceId": "book-1",
        "entryId": "0",
        "entryName": "",
        "decision": "included",
        "reason": "primary-key-match",
        "primaryKeys": [],
        "secondaryKeys": [],
        "primaryMatches": [],
        "secondaryMatches": [],
        "secondaryLogic": "and_any",
        "groupName": None,
        "groupWeight": 100,
        "groupOverride": False,
        "probability": 100,
        "probabilityRoll": 0,
        "tokenCost": 8,
        "requestedPosition": "before_character_definition",
        "appliedPosition": "before",
        "approximatePosition": False,
    }
    assert audit["resources"]["userProfile"]["name"] == ""
    assert audit["resources"]["userProfile"]["id"] == "user-1"
    assert audit["assembly"]["callConfig"] == {
        "temperature": 0.8, "maxTokens": 1024, "reasoningEffort": "medium",
    }  # fmt: skip
    assert audit["diagnostics"][0]["code"] == "WORLD_BOOK_REGEX_DISABLED"
    assert {one["message"] for one in audit["diagnostics"]} == {""}
    assert [(draw.purpose, draw.value) for draw in record.draws] == [("", 0.5)]


def test_stored_record_can_be_made_strict(given: Any) -> None:
    document = given.sample("record_1_assembled")
    record = redact(record_from_json({**document, "later": "x"}), "strict")
    assert "later" not in json.loads(dump_record(record))
    assert "dragon" not in dump_record(record).decode().lower()
    assert redact(record, Privacy.STRICT) == record
    assert redact(record, Privacy.NORMAL) is record


def test_what_comes_later_is_strict_too(given: Any) -> None:
    record = begin(given.capture(given.sample("record_1_assembled"), privacy="strict"))
    told = {
        "requested": {"temperature": 3.5, "stop": ["Bo:"]},
        "effective": {"stop": ["Bo:"]},
        "fallbacks": [{"field": "temperature", "code": "HTTP_400", "message": "Bo: too hot"}],
        "attempt": 2,
    }
    record = note_parameters(record, told)
    assert record.parameters == {
        "requested": {"temperature": 3.5},
        "effective": {},
        "fallbacks": ({"field": "temperature", "code": "HTTP_400", "message": ""},),
        "attempt": 2,
    }
    named = given.sample("record_1_assembled")["audit"]
    store = put_audits(put(TraceStore(), record), record.session_id, [named])
    (row,) = load_store(dump_store(store)).rows
    assert row.record is not None
    assert row.record.privacy is Privacy.STRICT
    assert {"dragon", "Dragon", "Bo"} & set(strings(json.loads(row.data))) == set()


def test_strict_record_has_no_unknown_field_at_any_level(given: Any) -> None:
    document = given.sample("record_3_with_failure_ref")
    for place in (
        document,
        document["sections"][1],
        document["sections"][1]["sources"][0],
        document["sections"][1]["reference"]["range"],
        document["failureRef"]["sessionRef"],
    ):
        place["later"] = "Bo"
    record = record_from_json(document)
    assert "later" not in set(strings(json.loads(dump_record(redact(record, "strict")))))
    assert dump_record(record).count(b"later") == 5


def test_unknown_privacy_is_a_mistake(given: Any) -> None:
    with pytest.raises(ValueError, match="secret"):
        redact(record_from_json(given.sample("record_1_assembled")), "secret")
