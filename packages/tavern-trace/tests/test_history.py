"""A snapshot is made of an inspection or of a log file, and says what it cannot read."""

import json
from typing import Any

import pytest

from tavern_trace import (
    HistorySnapshot,
    SchemaError,
    extend_history,
    history_from_json,
    load_history,
)


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


def test_only_events_that_a_trace_looks_at_are_kept() -> None:
    found = load_history(lines(HEADER, {"seq": 0, "type": "tool/result", "data": {"x": 1}}, END))
    assert [(event.seq, event.data) for event in found.events] == [(1, {"turn": 1})]
    assert load_history(lines(HEADER, END, {"seq": 2, "type": "x"})).cut == 2


def test_events_are_put_in_the_order_of_their_numbers() -> None:
    first = {"seq": 0, "type": "user/message", "data": {}}
    found = history_from_json({"meta": HEADER, "events": [END, first]})
    assert ([event.seq for event in found.events], found.cut) == ([0, 1], 1)


@pytest.mark.parametrize("kind", ["text-chunks", "reasoning-chunks", "tool-call-chunks"])
def test_packed_run_counts_as_all_its_events(kind: str) -> None:
    packed = {"type": kind, "seq0": 2, "time0": 9, "data": {"dt": [1, 1, 1]}}
    assert load_history(lines(HEADER, END, packed)).cut == 5
    assert load_history(lines(HEADER, END, {**packed, "data": 5})).cut == 2


# --- the surface -----------------------------------------------------------------------------


def said(seq: int, operation: Any) -> dict[str, Any]:
    return {"seq": seq, "type": "assistant/message", "data": {}, "surfaceOp": operation}


def replaced(start: Any, end: Any) -> dict[str, Any]:
    return {"op": "replace", "start": start, "end": end}


@pytest.mark.parametrize(
    ("operation", "surface"),
    [
        ("append", (0, 1, 2, 3)),
        (replaced(0, 1), (3, 2)),
        (replaced(1, 1), (0, 3, 2)),
        (replaced(0, 2), (3,)),
        (replaced(2, 0), (0, 1, 2)),
        (replaced(0, 7), (0, 1, 2)),
        (replaced([], None), (0, 1, 2)),
        ("later", (0, 1, 2)),
        (None, (0, 1, 2)),
    ],
)
def test_surface_follows_from_the_events(operation: Any, surface: tuple[int, ...]) -> None:
    rows = [*(said(seq, "append") for seq in range(3)), said(3, operation)]
    assert load_history(lines(HEADER, *rows)).surface == surface


def test_what_the_host_says_of_the_surface_counts() -> None:
    document = {"meta": HEADER, "events": [said(0, "append")], "surface": {"nodes": [4, "x", 7]}}
    assert history_from_json(document).surface == (4, 7)


# --- a session that goes on ------------------------------------------------------------------


def test_history_may_be_followed_event_by_event() -> None:
    rows = [said(0, "append"), END, {"seq": 2, "type": "x"}, said(3, replaced(0, 0))]
    found = load_history(lines(HEADER))
    for row in rows:
        found = extend_history(found, [row])
    assert found == load_history(lines(HEADER, *rows))
    assert extend_history(found, rows) == found


def test_event_of_a_session_that_goes_on_must_be_one() -> None:
    with pytest.raises(SchemaError, match="HISTORY_UNREADABLE: an event has no seq or type"):
        extend_history(load_history(lines(HEADER)), [{"seq": 0}])


# --- what is broken --------------------------------------------------------------------------


def test_session_without_events_has_no_end() -> None:
    assert load_history(lines(HEADER)) == HistorySnapshot(
        session_id="s", format_version=0, created_at=5
    )


@pytest.mark.parametrize("rest", [b'{"seq": 2, "ty', b'{"seq":2,"type":"a\xe7', b"\xe7\x81"])
def test_line_that_was_still_being_written_is_left_out(rest: bytes) -> None:
    assert load_history(lines(HEADER, END) + rest).cut == 1


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
        (b"", "INVALID_JSON: it is empty"),
        (b" \n\n", "INVALID_JSON: it is empty"),
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
        (lines(HEADER) + b"\xff\n", "NOT_UTF8: line 2: not JSON"),
        (lines(HEADER, {"type": "text-chunks", "seq": 1}),
         "HISTORY_UNREADABLE: an event has no seq or type"),
        (lines({"meta": HEADER, "events": []}, END),
         "HISTORY_UNREADABLE: an inspection stands alone"),
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
