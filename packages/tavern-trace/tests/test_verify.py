"""A history proves each text of a record, or the precise reason is said."""

from typing import Any

import pytest
from attrs import evolve

from tavern_trace import (
    ContentStatus,
    Failure,
    FailureRef,
    Part,
    RecordStatus,
    Reference,
    ReferenceFault,
    SessionRef,
    TraceRecord,
    Utf16Range,
    Verification,
    begin,
    begin_failed,
    detail_document,
    digest,
    history_from_json,
    json_stringify,
    observe_stream,
    record_from_json,
    verify,
)
from tests.trace_scenario import MATRIX, Document, case


def of_demo(given: Any) -> TraceRecord:
    return record_from_json(given.sample("record_3_with_failure_ref"))


def against(record: TraceRecord, document: Document) -> Verification:
    return verify(record, history_from_json(document))


# --- the recorded readings -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("detail", "stored", "session"),
    [
        ("detail_failure", "record_3_with_failure_ref", "session_demo"),
        ("detail_available", "record_2_request_observed", "session_demo"),
        ("detail_unverified", "record_unverified", "session_alt"),
    ],
)
def test_reading_is_the_recorded_one(detail: str, stored: str, session: str, given: Any) -> None:
    record = record_from_json(given.sample(stored))
    found = detail_document(record, verify(record, given.history(session)))
    assert json_stringify(found) == json_stringify(given.sample(detail))


def test_every_row_of_the_recorded_matrix_is_made_here(given: Any) -> None:
    assert list(given.sample("verification_matrix")) == list(MATRIX)


@pytest.mark.parametrize("row", MATRIX)
def test_row_of_the_recorded_matrix(row: str, given: Any) -> None:
    assert given.matrix_row(MATRIX[row]) == given.sample("verification_matrix")[row]


# --- the same of other kinds of reference ----------------------------------------------------

KINDS = case("verification_matrix")


def edited(node: Any, keys: list[str], row: Document) -> None:
    """Set what stands under some keys to the row's value, or take it out if the row has none."""
    key: Any = int(keys[0]) if isinstance(node, list) else keys[0]
    if len(keys) > 1:
        edited(node[key], keys[1:], row)
    elif "value" in row:
        node[key] = row["value"]
    else:
        del node[key]


@pytest.mark.parametrize("row", KINDS["rows"], ids=lambda row: f"{row['record']}: {row['change']}")
def test_row_of_the_matrix_of_other_kinds(row: Document, given: Any) -> None:
    stored, session = KINDS["records"][row["record"]]
    record = record_from_json(given.sample(stored))
    document = given.case(session)
    if "at" in row:
        edited(document, row["at"].split("/")[1:], row)
    history = ReferenceFault(row["fault"]) if "fault" in row else history_from_json(document)
    assert given.summary(verify(record, history)) == row["expected"]


# --- each fault of a reference ---------------------------------------------------------------


def first_section(found: Verification) -> ReferenceFault | None:
    return found.sections[0].fault


def with_reference(record: TraceRecord, **changes: Any) -> TraceRecord:
    """Change the reference of the first section only."""
    first, *others = record.sections
    assert first.reference is not None
    changed = evolve(first, reference=evolve(first.reference, **changes))
    return evolve(record, sections=(changed, *others))


def range_of(start: int, end: int) -> Utf16Range:
    return Utf16Range(start_utf16=start, end_utf16=end)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, None),
        ({"event_seq": -1}, "event-unavailable"),
        ({"event_seq": 2}, "event-unavailable"),
        ({"event_seq": 7, "event_type": "turn/end"}, "event-unavailable"),
        ({"event_seq": 99}, "event-unavailable"),
        ({"event_type": "user/message"}, "event-unavailable"),
        ({"event_seq": 6, "event_type": "request/header"}, "identity-mismatch"),
        ({"event_seq": 5, "event_type": "user/message"}, "identity-mismatch"),
        ({"message_id": "x"}, "identity-mismatch"),
        ({"message_id": None}, "identity-mismatch"),
        ({"message_hash": "x"}, "hash-mismatch"),
        ({"text_hash": "x"}, "hash-mismatch"),
        ({"kind": "later-kind"}, "identity-mismatch"),
        ({"kind": "request-header-system"}, "identity-mismatch"),
        ({"kind": "context-section"}, "identity-mismatch"),
        ({"range": range_of(-1, 20)}, "range-mismatch"),
        ({"range": range_of(20, 0)}, "range-mismatch"),
        ({"range": range_of(0, 100_000)}, "range-mismatch"),
        ({"range": range_of(0, 19)}, "hash-mismatch"),
        ({"range": None}, "hash-mismatch"),
    ],
)
def test_fault_of_a_system_reference(changes: Document, fault: str | None, given: Any) -> None:
    found = verify(with_reference(of_demo(given), **changes), given.history("session_demo"))
    assert first_section(found) == fault
    assert [part.fault for part in found.sections[1:]] == [None] * 9
    assert found.content_status.value == ("partially-available" if fault else "available")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"text_hash": "x"}, "hash-mismatch"),
        ({"message_hash": "x"}, "hash-mismatch"),
        ({"source_section_index": 1}, "identity-mismatch"),
        ({"source_section_index": -1}, "identity-mismatch"),
        ({"source_section_index": None}, "identity-mismatch"),
        ({"source_section_name": "x"}, "identity-mismatch"),
        ({"kind": "system-message"}, "identity-mismatch"),
        ({"range": range_of(0, 3)}, "hash-mismatch"),
        ({"range": range_of(0, 8)}, None),
        ({"range": range_of(0, 9)}, "range-mismatch"),
    ],
)
def test_fault_of_a_context_reference(changes: Document, fault: str | None, given: Any) -> None:
    record = of_demo(given)
    (context,) = record.contexts
    assert context.reference is not None
    changed = evolve(context, reference=evolve(context.reference, **changes))
    found = verify(evolve(record, contexts=(changed,)), given.history("session_demo"))
    assert found.contexts[0].fault == fault


def test_context_without_a_text_is_unavailable(given: Any) -> None:
    document = given.case("session_demo")
    document["events"][4]["data"]["source"]["sections"][0]["text"] = 5
    assert against(of_demo(given), document).contexts[0].fault == "event-unavailable"


def test_message_that_is_no_snapshot_any_more_is_another(given: Any) -> None:
    document = given.case("session_demo")
    document["events"][4]["data"]["source"]["form"] = "other"
    assert against(of_demo(given), document).contexts[0].fault == "identity-mismatch"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda _: None, None),
        (lambda found: found["events"][1].update(type="x"), "event-unavailable"),
        (lambda found: found["events"][1]["data"]["header"].update(system=5), "event-unavailable"),
        (lambda found: found["events"][1]["data"]["header"].pop("system"), "event-unavailable"),
        (lambda found: found["events"][1]["data"]["header"].update(system="x"), "hash-mismatch"),
        (lambda found: found["events"].pop(0), None),
    ],
)
def test_fault_of_a_header_reference(change: Any, fault: str | None, given: Any) -> None:
    document = given.case("session_v2")
    change(document)
    found = against(record_from_json(given.sample("record_v2_log")), document)
    assert {part.fault for part in found.sections} == {fault}
    assert found.contexts[0].fault == "unverified"
    assert found.content_status.value == (
        "reference-unavailable" if fault else "partially-available"
    )


def test_part_without_a_reference_is_unverified(given: Any) -> None:
    record = of_demo(given)
    parts = tuple(evolve(part, reference=None) for part in record.sections)
    found = verify(evolve(record, sections=parts), given.history("session_demo"))
    assert {part.fault for part in found.sections} == {"unverified"}
    assert found.system_messages is not None


def test_pair_that_a_range_cuts_is_still_hashed_as_node_does() -> None:
    text = "a🦊b"
    message = {"id": "m", "content": [{"type": "text", "text": text}]}
    history = history_from_json(
        {
            "meta": {"version": 3, "id": "s", "createdAt": 1},
            "events": [{"seq": 0, "type": "system/message", "data": {"message": message}}],
        }
    )
    reference = Reference(
        kind="system-message",
        event_seq=0,
        event_type="system/message",
        message_id="m",
        message_hash=digest(message["content"]),
        text_hash=digest(text),
        range=range_of(0, 2),
    )
    part = Part(
        name="n", index=0, chars=2, utf16=2, utf8_bytes=4,
        text_hash=digest("a\ud83e"), reference=reference,
    )  # fmt: skip
    session = SessionRef(session_id="s", format_version=3, created_at=1, log_cut_seq=0)
    record = TraceRecord(
        id="r", session_id="s", turn=1, step=1, attempt=1, recorded_at_ms=1,
        status=RecordStatus.REQUEST_OBSERVED, sections=(part,), session_ref=session,
    )  # fmt: skip
    assert verify(record, history).sections[0].text == "a\ud83e"


# --- the record as a whole -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"session_id": "other"}, "session-mismatch"),
        ({"format_version": 4}, "format-mismatch"),
        ({"created_at": 5}, "session-mismatch"),
        ({"log_cut_seq": 8}, "cut-unavailable"),
        ({"log_cut_seq": -1}, "cut-unavailable"),
    ],
)
def test_fault_of_the_session(changes: Document, fault: str, given: Any) -> None:
    record = of_demo(given)
    assert record.session_ref is not None
    record = evolve(record, session_ref=evolve(record.session_ref, **changes))
    found = verify(record, given.history("session_demo"))
    assert found.fault == fault
    assert {part.fault for part in (*found.sections, *found.contexts)} == {fault}
    assert found.system_messages is None
    assert found.request_content_status is ContentStatus.REFERENCE_UNAVAILABLE


def test_record_of_another_session_is_a_mismatch(given: Any) -> None:
    found = verify(evolve(of_demo(given), session_id="x"), given.history("session_demo"))
    assert (found.fault, found.failure_fault) == ("session-mismatch", "session-mismatch")


def test_record_that_was_never_seen_is_unverified(given: Any) -> None:
    record = begin(given.capture(given.sample("record_1_assembled")))
    found = verify(record, given.history("session_demo"))
    assert found.fault is ReferenceFault.UNVERIFIED
    assert found.content_status is ContentStatus.REFERENCE_UNAVAILABLE
    assert found.request_content_status is None


@pytest.mark.parametrize("history", [None, ReferenceFault.HISTORY_UNAVAILABLE])
def test_final_content_status_is_never_overwritten(history: Any, given: Any) -> None:
    omitted = record_from_json(given.sample("record_omitted_size_limit"))
    failed = begin_failed(given.identity(given.sample("record_1_assembled")))
    for record, status in ((omitted, "omitted-size-limit"), (failed, "assembly-unavailable")):
        found = verify(record, history or given.history("session_demo"))
        assert found.content_status.value == status


def test_record_without_parts_has_nothing_available(given: Any) -> None:
    record = evolve(of_demo(given), sections=(), contexts=())
    found = verify(record, given.history("session_demo"))
    assert found.content_status is ContentStatus.REFERENCE_UNAVAILABLE


def test_system_texts_are_given_only_if_all_are_found(given: Any) -> None:
    record = of_demo(given)
    refs = record.system_message_refs or ()
    found = verify(evolve(record, system_message_refs=(*refs, None)), given.history("session_demo"))
    assert found.system_messages is None
    assert found.request_content_status is ContentStatus.REFERENCE_UNAVAILABLE
    assert found.content_status is ContentStatus.AVAILABLE


def test_another_fault_does_not_stand_for_a_history(given: Any) -> None:
    with pytest.raises(ValueError, match="hash-mismatch does not say why there is no history"):
        verify(of_demo(given), ReferenceFault.HASH_MISMATCH)


def test_history_that_went_on_proves_the_same(given: Any) -> None:
    document = given.case("session_demo")
    document["events"] += [
        {"seq": 8, "type": "system/message", "data": {"message": {"id": "sys-2", "content": []}}},
        {"seq": 9, "type": "request/header", "data": {"header": {}}},
    ]
    assert against(of_demo(given), document) == verify(
        of_demo(given), given.history("session_demo")
    )


def test_present_texts_are_never_looked_at(given: Any) -> None:
    # The same texts stand elsewhere in the history: the reference does not lead there.
    document = given.case("session_demo")
    again = document["events"][3]
    document["events"][3] = {"seq": 3, "type": "turn/start", "data": {}}
    document["events"].append({**again, "seq": 8})
    assert first_section(against(of_demo(given), document)) == "event-unavailable"


# --- the failure -----------------------------------------------------------------------------


def test_failure_is_told_from_the_history(given: Any) -> None:
    found = verify(of_demo(given), given.history("session_demo"))
    assert found.failure == Failure(code="HTTP_500", message="upstream exploded")
    assert (found.failure_status, found.failure_fault) == ("available", None)
    assert "exploded" not in repr(found)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda found: found["meta"].update(id="x"), "session-mismatch"),
        (lambda found: found["meta"].update(version=4), "format-mismatch"),
        (lambda found: found["events"].pop(), "cut-unavailable"),
        (lambda found: found["events"][7].update(type="x"), "event-unavailable"),
        (lambda found: found["events"][7]["data"].update(turn=2), "identity-mismatch"),
        (lambda found: found["events"][7]["data"].update(more=2), "hash-mismatch"),
    ],
)
def test_fault_of_a_failure(change: Any, fault: str, given: Any) -> None:
    document = given.case("session_demo")
    change(document)
    found = against(of_demo(given), document)
    assert (found.failure, found.failure_fault) == (None, fault)
    assert found.failure_status is ContentStatus.REFERENCE_UNAVAILABLE
    assert detail_document(of_demo(given), found)["record"]["failureReferenceError"] == fault


def with_failure(record: TraceRecord, data: Document, event_type: str) -> tuple[Any, Document]:
    """Point to an event that replaces the last one."""
    reference = record.failure_ref
    assert reference is not None
    changed: FailureRef = evolve(reference, event_type=event_type, event_hash=digest(data))
    return evolve(record, failure_ref=changed), {"seq": 7, "type": event_type, "data": data}


@pytest.mark.parametrize(
    ("data", "event_type", "fault"),
    [
        ({"turn": 1, "reason": {"kind": "completed"}}, "turn/end", "event-unavailable"),
        ({"turn": 1, "step": 2, "stream": []}, "assistant/attempt", "identity-mismatch"),
        ({"turn": 1, "step": 1, "stream": []}, "assistant/attempt", "event-unavailable"),
    ],
)
def test_event_that_tells_no_failure(
    data: Document, event_type: str, fault: str, given: Any
) -> None:
    record, event = with_failure(of_demo(given), data, event_type)
    document = given.case("session_demo")
    document["events"][7] = event
    assert against(record, document).failure_fault == fault


def test_failure_is_told_where_the_request_was_never_seen(given: Any) -> None:
    failed = begin_failed(given.identity(given.sample("record_1_assembled")))
    record = evolve(failed, failure_ref=of_demo(given).failure_ref)
    found = verify(record, given.history("session_demo"))
    assert (found.fault, found.failure_status) == (None, "available")
    gone = verify(record, ReferenceFault.HISTORY_READ_FAILED)
    assert (gone.fault, gone.failure_fault) == ("history-read-failed", "history-read-failed")


def test_failure_stays_reachable_although_the_request_is_not(given: Any) -> None:
    record = observe_stream(
        begin(given.capture(given.sample("record_1_assembled"))),
        given.sent_request("session_demo"),
        given.history("session_demo", until=7),
    )
    assert verify(record, given.history("session_demo")).failure_status is None
