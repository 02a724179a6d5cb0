"""A record made of facts is the recorded one, byte for byte, and moves on as the host does."""

import json
from typing import Any

import pytest
from attrs import evolve

from tavern_trace import (
    AssembledText,
    Capture,
    CaptureIdentity,
    Changes,
    ContentStatus,
    Draw,
    HistoryEvent,
    OfficialAssembly,
    OwnPart,
    RecordStatus,
    SentMessage,
    SentRequest,
    SourceText,
    TraceRecord,
    begin,
    begin_failed,
    changed_since,
    digest,
    dump_record,
    fail,
    header_facts,
    json_stringify,
    load_record,
    next_attempt,
    note_parameters,
    observe_failure,
    observe_message,
    observe_stream,
    observe_turn_end,
    redact,
    supersede,
    supersede_excess,
    unload,
)
from tests.trace_scenario import MADE_ANEW

IDENTITY = CaptureIdentity(record_id="r", session_id="s", turn=1, step=1, attempt=1, at_ms=1)


def begun(*sections: str, record_id: str = "r", **facts: Any) -> TraceRecord:
    """Begin a record of some texts."""
    named = tuple(AssembledText(name=f"s{at}", text=text) for at, text in enumerate(sections))
    return begin(
        Capture(
            identity=evolve(IDENTITY, record_id=record_id),
            assembly=OfficialAssembly(sections=named),
            **facts,
        )
    )


def as_recorded(record: TraceRecord) -> dict[str, Any]:
    """Give a record's JSON with what the recording plugin lost of its books left out.

    COMPATIBILITY.md says why ours has more.
    """
    document: dict[str, Any] = json.loads(dump_record(record))
    books = document.get("audit", {}).get("worldBookSelection", {})
    for key in ("presetBoundIds", "characterBoundIds"):
        books.pop(key, None)
    if books:
        books["order"] = None
    return document


# --- the recorded records --------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE_ANEW)
def test_record_made_of_its_facts_is_the_recorded_one(name: str, given: Any) -> None:
    wanted = given.sample(name)
    record = MADE_ANEW[name](wanted)
    assert json_stringify(as_recorded(record)) == json_stringify(wanted)


def test_books_keep_their_order_and_all_four_sources(given: Any) -> None:
    record = begin(given.capture(given.sample("record_1_assembled")))
    assert record.audit is not None
    assert record.audit["worldBookSelection"] == {
        "explicitIds": ("book-1",),
        "userBoundIds": ("book-1",),
        "presetBoundIds": (),
        "characterBoundIds": (),
        "effectiveIds": ("book-1",),
        "duplicateIds": ("book-1",),
        "order": "session-explicit-then-user-then-preset-then-character",
    }


def test_failed_preparation_is_the_recorded_one(given: Any) -> None:
    wanted = given.sample("tavern-trace-records")["records"][3]
    record = begin_failed(given.identity(wanted))
    assert dump_record(record).decode() == json_stringify(wanted)


def test_unloaded_record_without_assembly_is_the_recorded_one(given: Any) -> None:
    wanted = given.sample("tavern-trace-records")["records"][4]
    record = unload(begin(given.capture(wanted, assembly=None)), at_ms=1764500000070)
    assert json_stringify(as_recorded(record)) == json_stringify(wanted)


# --- what begin measures ---------------------------------------------------------------------


def test_part_keeps_its_sources_only_with_its_own_name_and_text() -> None:
    source = SourceText(kind="character", field="description", text="A fox.")
    own = (OwnPart(name="ours", text="A fox.", sources=(source,)),)
    texts = (
        AssembledText(name="ours", text="A fox."),
        AssembledText(name="ours", text="A fox!"),
        AssembledText(name="theirs", text="A fox."),
    )
    capture = Capture(identity=IDENTITY, assembly=OfficialAssembly(sections=texts), own_parts=own)
    parts = begin(capture).sections
    assert [part.provenance for part in parts] == ["section-contributors", "unknown", "unknown"]
    assert [len(part.sources) for part in parts] == [1, 0, 0]


def test_empty_parts_are_left_out_and_keep_their_number() -> None:
    record = begun("a", "", "🦊", "b")
    assert [(part.index, part.offset_utf16) for part in record.sections] == [(0, 0), (2, 3), (3, 7)]
    assert record.assembly_hash == digest("a\n\n🦊\n\nb")


@pytest.mark.parametrize("text", ["{{unknown}}", "{{}}", "{{ a }}", "{{A}}", "{{a::b}}"])
def test_unknown_variable_makes_the_assembly_unavailable(text: str) -> None:
    assembly = OfficialAssembly(
        sections=(AssembledText(name="n", text="known {{a}}"), AssembledText(name="m", text=text)),
        variables={"a": "1", "A": "1", "": "1", " a ": "1", "a::b": "1"},
    )
    record = begin(Capture(identity=IDENTITY, assembly=assembly))
    assert record.content_status is ContentStatus.ASSEMBLY_UNAVAILABLE
    assert (record.sections, record.contexts, record.assembly_hash) == ((), (), None)


def test_braces_around_a_variable_stay() -> None:
    text = AssembledText(name="n", text="x{{{a}}}")
    assembly = OfficialAssembly(sections=(text,), variables={"a": "1"})
    record = begin(Capture(identity=IDENTITY, assembly=assembly))
    assert record.sections[0].text_hash == digest("x{1}")


def test_draw_is_a_finite_number() -> None:
    with pytest.raises(ValueError, match="a draw is a finite number"):
        Draw(purpose="p", value=float("nan"))


def test_value_of_a_variable_is_not_looked_at_again() -> None:
    assembly = OfficialAssembly(
        sections=(AssembledText(name="n", text="{{a}}"),), variables={"a": "{{a}}"}
    )
    record = begin(Capture(identity=IDENTITY, assembly=assembly))
    assert record.sections[0].text_hash == digest("{{a}}")


def test_section_may_stand_outside_of_interpolation() -> None:
    text = AssembledText(name="n", text="{{unknown}}", interpolate=False)
    record = begin(Capture(identity=IDENTITY, assembly=OfficialAssembly(sections=(text,))))
    assert record.sections[0].text_hash == digest("{{unknown}}")


def test_record_carries_fingerprint_and_draws() -> None:
    draws = (Draw(purpose="probability:b:1", value=0.25), Draw(purpose="group:g", value=0.5))
    record = begun("a", compiler_fingerprint="f", draws=draws)
    document = json.loads(dump_record(record))
    assert document["compilerFingerprint"] == "f"
    assert document["draws"] == [
        {"purpose": "probability:b:1", "value": 0.25},
        {"purpose": "group:g", "value": 0.5},
    ]
    assert load_record(dump_record(record)) == record


def test_fitted_settings_are_noted() -> None:
    parameters = {
        "requested": {"temperature": 3.5, "stop": ["Bo:"]},
        "effective": {"stop": ["Bo:"]},
        "fallbacks": [{"field": "temperature", "code": "HTTP_400", "message": "too hot"}],
        "attempt": 2,
    }
    record = note_parameters(begun("a"), parameters)
    assert json.loads(dump_record(record))["parameters"] == parameters
    assert load_record(dump_record(record)) == record
    strict = json.loads(dump_record(redact(record, "strict")))["parameters"]
    assert strict == {
        "requested": {"temperature": 3.5},
        "effective": {},
        "fallbacks": [{"field": "temperature", "code": "HTTP_400", "message": ""}],
        "attempt": 2,
    }


# --- what changed ----------------------------------------------------------------------------


def ours(ordinal: int, kind: str, text: str, entry: str | None = None) -> OwnPart:
    source = SourceText(kind=kind, resource_id="b", field="content", text=text, entry_id=entry)
    return OwnPart(name=f"p:part:{ordinal:04}:{kind}:content", text=text, sources=(source,))


def of_parts(record_id: str, *parts: OwnPart, previous: TraceRecord | None = None) -> TraceRecord:
    texts = tuple(AssembledText(name=part.name, text=part.text) for part in parts)
    capture = Capture(
        identity=evolve(IDENTITY, record_id=record_id),
        assembly=OfficialAssembly(sections=texts),
        own_parts=parts,
    )
    return begin(capture, previous)


def test_record_says_what_changed_since_the_previous_one() -> None:
    first = of_parts(
        "1",
        ours(0, "preset", "You tell."),
        ours(1, "worldbook", "Storm.", "7"),
        ours(2, "user", "Bo."),
    )
    second = of_parts(
        "2",
        ours(0, "preset", "You tell."),
        ours(1, "worldbook", "Lantern.", "8"),
        ours(2, "worldbook", "Storm!", "7"),
        ours(3, "user", "Bo."),
        previous=first,
    )
    assert second.changes == Changes(
        previous_id="1",
        common_prefix_utf16=len("You tell.\n\n"),
        added=("p:part:0001:worldbook:content",),
        changed=("p:part:0002:worldbook:content",),
    )
    assert changed_since(second, first).removed == ("p:part:0001:worldbook:content",)


def test_common_prefix_ends_with_the_shorter_text() -> None:
    short, long = begun("a", "bb"), begun("a", "bb", "c")
    assert changed_since(short, long).common_prefix_utf16 == len("a\n\nbb")
    assert changed_since(begun(), long).common_prefix_utf16 == 0
    assert changed_since(long, long) == Changes(previous_id="r", common_prefix_utf16=8)


def test_part_without_sources_is_known_by_its_name() -> None:
    assert changed_since(begun("a", "b"), begun("a", "c")).changed == ("s1",)


def test_nothing_is_compared_with_a_record_without_parts() -> None:
    assert of_parts("2", ours(0, "user", "Bo."), previous=begin_failed(IDENTITY)).changes is None


# --- moving on -------------------------------------------------------------------------------


def test_fact_of_a_request_that_is_settled_changes_nothing(given: Any) -> None:
    record = begin(given.capture(given.sample("record_1_assembled")))
    seen = observe_stream(record, given.sent_request("session_demo"), None)
    assert seen.status is RecordStatus.REQUEST_OBSERVED
    assert observe_stream(seen, SentRequest(system="other"), None) is seen
    assert fail(seen, at_ms=9).status is RecordStatus.REQUEST_OBSERVED
    assert unload(seen, at_ms=9) == seen


def test_audit_is_aligned_where_the_record_is_observed_already(given: Any) -> None:
    record = begin(given.capture(given.sample("record_1_assembled")))
    record = observe_stream(record, given.sent_request("session_demo"), None)
    header = header_facts(given.history("session_demo"))
    record = observe_message(record, at_ms=99, header=header, profile_text="not there")
    assert record.audit is not None
    assert record.audit["status"] == "header-reused-or-observed"
    assert record.audit["updatedAt"] == 99
    assert record.audit["authority"] == {
        "kind": "dsh-request-header",
        "headerEventSeq": 6,
        "headerReason": "initial",
        "headerReused": True,
        "headerFingerprint": digest(header.header) if header else None,
        "systemFingerprint": record.assembly_hash,
        "systemSource": "system/message",
        "configFingerprint": digest(header.header["config"]) if header else None,
        "tavernProfilePresent": False,
        "tavernCallConfigApplied": True,
    }


@pytest.mark.parametrize(
    ("move", "status", "audit_status"),
    [
        (supersede, "superseded-unconfirmed", "superseded-unconfirmed"),
        (unload, "unloaded-unconfirmed", "awaiting-header"),
        (fail, "request-failed-before-observation", "request-error"),
        (observe_message, "request-unconfirmed", "header-reused-or-observed"),
        (observe_turn_end, "request-unconfirmed", "request-not-confirmed"),
    ],
)
def test_pending_record_is_settled(move: Any, status: str, audit_status: str, given: Any) -> None:
    record = move(begin(given.capture(given.sample("record_1_assembled"))), at_ms=99)
    assert record.status.value == status
    assert record.audit["status"] == audit_status
    assert record.audit["updatedAt"] == (1764500000007 if move is unload else 99)


def test_attempts_are_counted_per_step() -> None:
    records = [
        evolve(begun("a"), attempt=2),
        evolve(begun("a"), attempt=7, step=2),
        evolve(begun("a"), attempt=9, session_id="other"),
    ]
    assert next_attempt(records, session_id="s", turn=1, step=1) == 3
    assert next_attempt(records, session_id="s", turn=2, step=1) == 1


def test_oldest_of_too_many_waiting_sessions_are_given_up() -> None:
    pending = [evolve(begun("a"), id=str(at), session_id=f"s{at}") for at in range(130)]
    given_up, waiting = supersede_excess(pending, at_ms=5)
    assert [(one.id, one.status.value) for one in given_up] == [
        ("0", "superseded-unconfirmed"),
        ("1", "superseded-unconfirmed"),
    ]
    assert waiting == tuple(pending[2:])
    assert supersede_excess(pending[:128], at_ms=5) == ((), tuple(pending[:128]))


def test_first_failure_counts_and_only_of_this_step(given: Any) -> None:
    record = begin(given.capture(given.sample("record_1_assembled")))
    history = given.history("session_demo")
    end = history.events[-1]
    assert observe_failure(evolve(record, turn=2), history, end).failure_ref is None
    attempt = HistoryEvent(
        seq=6,
        type="assistant/attempt",
        data={
            "turn": 1,
            "step": 2,
            "stream": (
                {"type": "chunk", "chunk": {"type": "text"}},
                {
                    "type": "chunk",
                    "chunk": {
                        "type": "finish",
                        "reason": {"kind": "aborted", "failure": {"message": "gone"}},
                    },
                },
            ),
        },
    )
    assert observe_failure(record, history, attempt).failure_ref is None
    failed = observe_failure(evolve(record, step=2), history, attempt)
    assert failed.failure_ref is not None
    assert (failed.failure_ref.event_seq, failed.failure_ref.session.log_cut_seq) == (6, 6)
    assert observe_failure(failed, history, end) is failed
    assert observe_failure(record, history, history.latest("assistant/attempt")) is record


@pytest.mark.parametrize(
    "reason",
    [
        {"kind": "completed"},
        {"kind": "error"},
        {"kind": "error", "error": {"code": 1}},
        {"kind": "aborted", "error": {"code": "X"}},
    ],
)
def test_end_of_a_turn_without_a_failure_is_none(reason: dict[str, Any], given: Any) -> None:
    record = begin(given.capture(given.sample("record_1_assembled")))
    history = given.history("session_demo")
    event = HistoryEvent(seq=7, type="turn/end", data={"turn": 1, "reason": reason})
    assert observe_failure(record, history, event).failure_ref is None


def test_text_of_two_equal_system_messages_is_not_verified() -> None:
    record = begun("a")
    twice = (SentMessage(role="system", content=[{"type": "text", "text": "a"}]),) * 2
    seen = observe_stream(record, SentRequest(messages=twice), None)
    assert seen.delivery is not None
    assert (seen.delivery.assembly_verified, seen.delivery.system_message_index) == (False, None)
    assert seen.delivery.system_hashes == (digest("a"), digest("a"))


def test_title_of_a_message_is_no_text() -> None:
    blocks = [{"type": "image", "text": "no"}, {"type": "text", "text": "a"}, {"type": "text"}]
    seen = observe_stream(
        begun("a"), SentRequest(messages=(SentMessage(role="system", content=blocks),)), None
    )
    assert seen.delivery is not None
    assert seen.delivery.assembly_verified
