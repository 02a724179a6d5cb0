"""A snapshot is made of an inspection or of a log file, and says what it cannot read."""

import json
from typing import Any

import pytest

from tavern_trace import HistorySnapshot, SchemaError, history_from_json, load_history


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


HEADER = {"version": 0, "id": "s", "createdAt": 5}
END = {"seq": 1, "type": "turn/end", "data": {"turn": 1}}


def test_inspection_and_log_give_the_same_snapshot(given: Any) -> None:
    document = given.case("session_v2")
    inspected = history_from_json(document)
    log = load_history(lines({"type": "session", **document["meta"]}, *document["events"]))
    assert (inspected.session_id, inspected.format_version, inspected.cut) == ("session-v2", 2, 1)
    assert (log.events, log.cut, log.created_at) == (
        inspected.events, inspected.cut, inspected.created_at,
    )  # fmt: skip
    assert (inspected.surface, log.surface) == ((), None)


@pytest.mark.parametrize("indent", [None, 2])
def test_inspection_may_be_a_file(indent: int | None, given: Any) -> None:
    document = given.case("session_demo")
    data = json.dumps(document, indent=indent).encode()
    assert load_history(data) == history_from_json(document)


@pytest.mark.parametrize("place", ["meta", "header", "session", "data"])
def test_header_may_be_inside_of_the_first_line(place: str) -> None:
    found = load_history(lines({"type": "session", place: HEADER}, END))
    assert (found.session_id, found.format_version, found.created_at) == ("s", 0, 5)


def test_only_events_that_a_trace_looks_at_keep_their_data() -> None:
    found = load_history(lines(HEADER, {"seq": 0, "type": "tool/result", "data": {"x": 1}}, END))
    assert [event.data for event in found.events] == [{}, {"turn": 1}]


def test_events_are_put_in_the_order_of_their_numbers() -> None:
    found = history_from_json({"meta": HEADER, "events": [END, {"seq": 0, "type": "a"}]})
    assert ([event.seq for event in found.events], found.cut) == ([0, 1], 1)


def test_packed_run_counts_as_all_its_events() -> None:
    packed = {"seq": 2, "type": "text-chunks", "data": {"dt": [1, 1, 1], "texts": list("abcd")}}
    assert load_history(lines(HEADER, END, packed)).cut == 5


def test_session_without_events_has_no_end() -> None:
    assert load_history(lines(HEADER)) == HistorySnapshot(
        session_id="s", format_version=0, created_at=5
    )


def test_line_that_was_still_being_written_is_left_out() -> None:
    assert load_history(lines(HEADER, END) + b'{"seq": 2, "ty').cut == 1


def test_event_nested_without_measure_is_kept_without_its_data() -> None:
    deep = '{"seq": 0, "type": "user/message", "data": {"x": ' + "[" * 200 + "]" * 200 + "}}\n"
    found = load_history(lines(HEADER) + deep.encode() + lines(END))
    assert [event.data for event in found.events] == [{}, {"turn": 1}]


def test_blank_lines_are_nothing() -> None:
    assert load_history(b"\n" + lines(HEADER) + b"\r\n \n" + lines(END)).cut == 1


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\xff", "NOT_UTF8: byte 0 is not UTF-8"),
        (b"", "INVALID_JSON: not JSON at line 1 column 1"),
        (b"no", "INVALID_JSON: not JSON at line 1 column 1"),
        (b"[]", "HISTORY_UNREADABLE: a line is no object"),
        (b"[\n]", "HISTORY_UNREADABLE: it is no object"),
        (b"{\n}", "HISTORY_UNREADABLE: there is no list of events"),
        (b'{"events": []}', "HISTORY_UNREADABLE: there is no session header"),
        (lines({"id": "s"}), "HISTORY_UNREADABLE: the session header has no version"),
        (lines({"id": "s", "version": "3"}),
         "HISTORY_UNREADABLE: the session header has no version"),
        (lines(HEADER, {"type": "x"}), "HISTORY_UNREADABLE: an event has no seq or type"),
        (lines(HEADER, {"seq": 1}), "HISTORY_UNREADABLE: an event has no seq or type"),
        (lines(HEADER, [1]), "HISTORY_UNREADABLE: a line is no object"),
        (lines(HEADER) + b"{\n" + lines(END), "INVALID_JSON: line 2: not JSON"),
        (lines(HEADER) + b"{\n", "INVALID_JSON: line 2: not JSON"),
        (b'{"events": [1], "id": "s", "version": 1}',
         "HISTORY_UNREADABLE: an event has no seq or type"),
    ],
)  # fmt: skip
def test_what_is_no_history_is_refused(data: bytes, fault: str) -> None:
    with pytest.raises(SchemaError) as caught:
        load_history(data)
    assert str(caught.value) == fault


def test_no_text_of_a_session_is_in_a_repr(given: Any) -> None:
    assert "fox" not in repr(given.history("session_demo"))
    assert "fox" not in repr(given.history("session_demo").events)
