"""References are made where a history proves them, for each shape of history, and nowhere else."""

from typing import Any

import pytest
from attrs import evolve

from tavern_trace import (
    HistorySnapshot,
    SentMessage,
    SentRequest,
    TraceRecord,
    begin,
    header_facts,
    history_from_json,
    observe_stream,
)


def observed(given: Any, document: dict[str, Any] | None, request: SentRequest) -> TraceRecord:
    record = begin(given.capture(given.sample("record_1_assembled")))
    history = None if document is None else history_from_json(document)
    return observe_stream(record, request, history)


def kinds(record: TraceRecord) -> tuple[list[str | None], list[str | None], list[str | None]]:
    """List the kinds of reference: of system texts, sections and contexts."""
    refs = (
        record.system_message_refs or (),
        [part.reference for part in record.sections],
        [part.reference for part in record.contexts],
    )
    return tuple([ref and ref.kind for ref in some] for some in refs)  # type: ignore[return-value]


MESSAGE = (["system-message"], ["system-message"] * 10, ["context-section"])
HEADER = (["request-header-system"], ["request-header-system"] * 10, [None])
NOTHING = ([None], [None] * 10, [None])
UNKNOWN: tuple[list[str | None], list[str | None], list[str | None]] = ([], [None] * 10, [None])


@pytest.mark.parametrize("version", [3, 4])
def test_history_of_messages_is_pointed_into(version: int, given: Any) -> None:
    document = given.case("session_demo")
    document["meta"]["version"] = version
    record = observed(given, document, given.sent_request("session_demo"))
    assert kinds(record) == MESSAGE
    assert record.delivery is not None
    assert (record.delivery.assembly_verified, record.delivery.history_verified) == (True, True)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_history_of_headers_is_pointed_into(version: int, given: Any) -> None:
    document = given.case("session_v2")
    document["meta"]["version"] = version
    text = document["events"][1]["data"]["header"]["system"]
    record = observed(given, document, SentRequest(system=text))
    assert kinds(record) == HEADER
    second = record.sections[1].reference
    assert second is not None
    assert second.range is not None
    assert (second.range.start_utf16, second.range.end_utf16) == (22, 45)


def test_newest_kind_of_snapshot_is_known_too(given: Any) -> None:
    document = given.case("session_demo")
    document["events"][4]["data"]["source"]["kind"] = "runtime-context"
    document["events"][4]["data"]["source"]["plugin"] = "other"
    assert kinds(observed(given, document, given.sent_request("session_demo"))) == MESSAGE


def test_only_the_latest_header_counts(given: Any) -> None:
    document = given.case("session_v2")
    text = document["events"][1]["data"]["header"]["system"]
    document["events"].append({"seq": 2, "type": "request/header", "data": {"header": {}}})
    assert kinds(observed(given, document, SentRequest(system=text))) == NOTHING


def test_header_must_hold_the_very_text(given: Any) -> None:
    document = given.case("session_v2")
    text = document["events"][1]["data"]["header"]["system"]
    document["events"][1]["data"]["header"]["system"] += " "
    assert kinds(observed(given, document, SentRequest(system=text))) == NOTHING


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda found: found["meta"].update(version=5), UNKNOWN),
        (lambda found: found["meta"].pop("createdAt"), UNKNOWN),
        (lambda found: found["events"].clear(), UNKNOWN),
        (lambda found: found.pop("surface"), NOTHING),
        (lambda found: found["surface"].update(nodes=[]), NOTHING),
        (lambda found: found["surface"].update(nodes=[5]), NOTHING),
        (lambda found: found["surface"].update(nodes=[3, 3, 4, 5]),
         (*NOTHING[:2], ["context-section"])),
        (lambda found: found["events"][3]["data"]["message"].pop("id"),
         (*NOTHING[:2], ["context-section"])),
        (lambda found: found["events"][3]["data"]["message"].update(id="other"),
         (*NOTHING[:2], ["context-section"])),
        (lambda found: found["events"][4]["data"]["source"].update(form="other"),
         (*MESSAGE[:2], [None])),
        (lambda found: found["events"][4]["data"]["source"].update(plugin="other"),
         (*MESSAGE[:2], [None])),
        (lambda found: found["events"][4]["data"]["source"]["sections"].append(
            {"name": "env", "text": "cwd=/tmp"}), (*MESSAGE[:2], [None])),
        (lambda found: found["events"][4]["data"]["source"]["sections"][0].update(text="x"),
         (*MESSAGE[:2], [None])),
        (lambda found: found["events"][4]["data"]["source"]["sections"][0].pop("text"),
         (*MESSAGE[:2], [None])),
        (lambda found: found["events"][4]["data"]["content"].append({"type": "image"}),
         (*MESSAGE[:2], [None])),
    ],
)  # fmt: skip
def test_what_is_not_proven_has_no_reference(change: Any, expected: Any, given: Any) -> None:
    document = given.case("session_demo")
    change(document)
    assert kinds(observed(given, document, given.sent_request("session_demo"))) == expected


def test_session_without_events_has_no_cut(given: Any) -> None:
    document = given.case("session_demo")
    document["events"].clear()
    record = observed(given, document, given.sent_request("session_demo"))
    assert record.delivery is not None
    assert (record.delivery.log_cut_seq, record.delivery.session_version) == (None, 3)
    assert record.session_ref is None


def test_surface_of_a_log_is_as_good_as_one_that_is_given(given: Any) -> None:
    document = given.case("session_demo")
    for seq in document.pop("surface")["nodes"]:
        document["events"][seq]["surfaceOp"] = "append"
    assert kinds(observed(given, document, given.sent_request("session_demo"))) == MESSAGE


def test_request_without_a_history_has_no_reference(given: Any) -> None:
    record = observed(given, None, given.sent_request("session_demo"))
    assert kinds(record) == UNKNOWN
    assert (record.session_ref, record.system_message_refs) == (None, None)
    assert record.delivery is not None
    assert record.delivery.log_cut_seq is None
    assert record.delivery.assembly_verified


def test_message_without_an_id_is_found_by_its_content(given: Any) -> None:
    request = given.sent_request("session_demo")
    bare = tuple(evolve(message, id=None) for message in request.messages)
    record = observed(given, given.case("session_demo"), evolve(request, messages=bare))
    assert kinds(record) == MESSAGE


def test_snapshot_must_be_in_the_request_once(given: Any) -> None:
    request = given.sent_request("session_demo")
    bare = tuple(evolve(message, id=None) for message in request.messages)
    twice = evolve(request, messages=(*bare, bare[1]))
    record = observed(given, given.case("session_demo"), twice)
    assert kinds(record) == (*MESSAGE[:2], [None])


def test_request_without_system_text_is_unverified(given: Any) -> None:
    request = SentRequest(messages=(SentMessage(role="user", content="text as it is"),))
    record = observed(given, given.case("session_demo"), request)
    assert kinds(record) == UNKNOWN
    assert record.system_message_refs == ()


def test_header_in_force_and_its_system_text_are_found(given: Any) -> None:
    demo, old = given.history("session_demo"), given.history("session_v2")
    ours, theirs = header_facts(demo), header_facts(old)
    assert ours is not None
    assert theirs is not None
    assert (ours.event_seq, ours.reason, ours.system_source) == (6, "initial", "system/message")
    assert (theirs.event_seq, theirs.system_source) == (1, "request/header")
    assert ours.system_text == theirs.system_text != ""
    nothing = HistorySnapshot(session_id="s", format_version=3, created_at=1)
    assert header_facts(nothing) is None
