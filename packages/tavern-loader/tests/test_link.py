"""The link: order, cancellation, errors, limits, and calls in both directions."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tavern_loader.adapters import link_lines
from tavern_loader.adapters.host_proxy import HostProxy
from tavern_loader.adapters.keyed_threads import KeyedThreads
from tavern_loader.adapters.link import Handler, Inline, Link
from tavern_loader.adapters.link_lines import BadLine, decode_line, encode_line
from tavern_loader.errors import HostError, InputError, ParametersError
from tavern_loader.ports import Cancellation, JsonObject

WAIT_S = 5.0


class Bridge:
    """The other end of a link that serves on a thread."""

    def __init__(self, methods: Mapping[str, Handler], inline: Mapping[str, Inline]) -> None:
        theirs, to_link = os.pipe()
        from_link, ours = os.pipe()
        self.lines: list[str] = []
        self._input = os.fdopen(theirs, "rb")
        self._output = os.fdopen(ours, "wb")
        self._writer = os.fdopen(to_link, "wb")
        self._reader = os.fdopen(from_link, "rb")
        self.link = Link(self._input, self._output, self.lines.append)
        self._thread = threading.Thread(target=self.link.serve, args=(methods, inline))
        self._thread.start()

    def send(self, **message: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        self.write(line.encode() + b"\n")

    def write(self, data: bytes) -> None:
        self._writer.write(data)
        self._writer.flush()

    def receive(self) -> Any:
        message = json.loads(self._reader.readline())
        assert message.pop("jsonrpc") == "2.0"
        return message

    def hang_up(self) -> None:
        self._writer.close()

    def ended(self) -> bool:
        self._thread.join(WAIT_S)
        return not self._thread.is_alive()

    def close(self) -> None:
        self._writer.close()
        assert self.ended()
        for stream in (self._input, self._output, self._reader):
            stream.close()


@contextmanager
def linked(inline: Mapping[str, Inline] | None = None, **methods: Handler) -> Iterator[Bridge]:
    bridge = Bridge(methods, inline or {})
    try:
        yield bridge
    finally:
        bridge.close()


def echo(params: JsonObject, _: Cancellation) -> JsonObject:
    return params


def failing(error: Exception) -> Handler:
    def handler(_: JsonObject, __: Cancellation) -> JsonObject:
        raise error

    return handler


def test_call_is_answered_and_a_notification_is_not() -> None:
    with linked(echo=echo) as bridge:
        bridge.send(method="echo", params={"n": 1})
        bridge.send(id=7, method="echo", params={"n": 2})
        assert bridge.receive() == {"id": 7, "result": {"n": 2}}


def test_messages_of_one_session_keep_their_order() -> None:
    seen: list[Any] = []

    def note(params: JsonObject, _: Cancellation) -> None:
        seen.append(params["n"])

    def call(params: JsonObject, _: Cancellation) -> JsonObject:
        return {"before": len(seen), "session": params["session"]["id"]}

    with linked(note=note, call=call) as bridge:
        for number in range(500):
            bridge.send(method="note", params={"sessionId": "a", "n": number})
        bridge.send(id=1, method="call", params={"session": {"id": "a"}})
        assert bridge.receive() == {"id": 1, "result": {"before": 500, "session": "a"}}
    assert seen == list(range(500))


def test_slow_session_holds_up_only_itself() -> None:
    go_on = threading.Event()

    def slow(params: JsonObject, _: Cancellation) -> JsonObject:
        assert params["session"]["id"] != "slow" or go_on.wait(WAIT_S)
        return {}

    with linked(slow=slow) as bridge:
        bridge.send(id=1, method="slow", params={"session": {"id": "slow"}})
        bridge.send(id=2, method="slow", params={"session": {"id": "slow"}})
        bridge.send(id=3, method="slow", params={"session": {"id": "quick"}})
        assert bridge.receive()["id"] == 3
        go_on.set()
        assert [bridge.receive()["id"], bridge.receive()["id"]] == [1, 2]


def test_cancelled_call_sees_it_and_one_that_waits_does_not_run() -> None:
    started = threading.Event()
    runs: list[int] = []

    def work(params: JsonObject, cancellation: Cancellation) -> JsonObject:
        runs.append(params["n"])
        started.set()
        while True:
            cancellation.raise_if_requested()

    with linked(work=work) as bridge:
        for number in (1, 2):
            bridge.send(id=number, method="work", params={"sessionId": "a", "n": number})
        assert started.wait(WAIT_S)
        bridge.send(method="$/cancel", params={"id": 2})
        bridge.send(method="$/cancel", params={"id": 1})
        answers = [bridge.receive() for _ in range(2)]
    error = {"code": -32800, "message": "the call was cancelled", "data": {"code": "CANCELLED"}}
    assert answers == [{"id": number, "error": error} for number in (1, 2)]
    assert runs == [1]


def test_cancelling_what_is_not_there_is_nothing() -> None:
    with linked(echo=echo) as bridge:
        unknown: list[Any] = [{"id": 9}, {"id": []}, {}, None]
        for params in unknown:
            bridge.send(method="$/cancel", params=params)
        bridge.send(id=1, method="echo", params={})
        assert bridge.receive() == {"id": 1, "result": {}}
    assert bridge.lines == []


ERRORS: list[tuple[Exception, dict[str, Any]]] = [
    (
        InputError("TOO_ODD", "it is odd", file="a.json"),
        {"code": -32000, "message": "it is odd", "data": {"code": "TOO_ODD", "file": "a.json"}},
    ),
    (
        ParametersError("session is missing"),
        {
            "code": -32602,
            "message": "session is missing",
            "data": {"code": "INVALID_PARAMETERS"},
        },
    ),
    (
        KeyError("secret words of a card"),
        {
            "code": -32603,
            "message": "a fault inside Tavern",
            "data": {"code": "INTERNAL_ERROR", "class": "KeyError"},
        },
    ),
]


@pytest.mark.parametrize(("error", "expected"), ERRORS, ids=lambda one: type(one).__name__)
def test_error_reaches_the_other_side(error: Exception, expected: Any) -> None:
    with linked(work=failing(error)) as bridge:
        bridge.send(id=1, method="work", params={})
        assert bridge.receive() == {"id": 1, "error": expected}


def test_fault_inside_is_told_by_class_and_place_only() -> None:
    with linked(work=failing(KeyError("secret"))) as bridge:
        bridge.send(id=1, method="work")
        bridge.receive()
    (line,) = bridge.lines
    assert line.startswith("work failed: KeyError (test_link.py:")
    assert "secret" not in line


def test_failed_notification_leaves_a_line() -> None:
    with linked(work=failing(ParametersError("x"))) as bridge:
        bridge.send(method="work", params={})
        bridge.send(id=1, method="ping")
        bridge.receive()
    assert [line.split(" (")[0] for line in bridge.lines] == ["work failed: INVALID_PARAMETERS"]


def test_unknown_method_and_params_of_another_kind_are_errors() -> None:
    with linked(echo=echo) as bridge:
        bridge.send(id=1, method="nothing", params={})
        bridge.send(id=2, method="echo", params=[1])
        codes = {one["id"]: one["error"]["code"] for one in (bridge.receive(), bridge.receive())}
    assert codes == {1: -32601, 2: -32602}


BAD_LINES = [
    (b"{nothing\n", "MESSAGE_NOT_JSON", None),
    (b"[1]\n", "MESSAGE_INVALID", None),
    (b'{"jsonrpc":"2.0","id":[],"method":"echo"}\n', "MESSAGE_INVALID", None),
    (b'{"jsonrpc":"2.0","id":true,"method":"echo"}\n', "MESSAGE_INVALID", None),
    (b'{"jsonrpc":"2.0","id":4,"method":[]}\n', "MESSAGE_INVALID", 4),
    (b'{"jsonrpc":"2.0","id":5,"method":"echo","params":\xff}\n', "MESSAGE_NOT_JSON", 5),
    (
        b'{"jsonrpc":"2.0","id":6,"method":"echo","params":' + b"[" * 200_000 + b"\n",
        "MESSAGE_TOO_DEEP",
        6,
    ),
]


@pytest.mark.parametrize(("line", "reason", "number"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_line_that_is_no_message_is_dropped_and_the_link_goes_on(
    line: bytes, reason: str, number: int | None
) -> None:
    assert decode_line(line) == BadLine(reason=reason, call_id=number)
    with linked(echo=echo) as bridge:
        bridge.write(line)
        if number is not None:
            error = bridge.receive()["error"]
            assert (error["code"], error["data"]) == (-32700, {"code": reason})
        bridge.send(id=1, method="echo", params={})
        assert bridge.receive() == {"id": 1, "result": {}}
    assert bridge.lines == [f"a line of the link was dropped: {reason}"]


def test_line_over_the_limit_is_skipped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_lines, "MAX_LINE_BYTES", 1000)
    with linked(echo=echo) as bridge:
        bridge.send(id=3, method="echo", params={"text": "x" * 5000})
        assert bridge.receive()["error"]["data"] == {"code": "MESSAGE_TOO_LARGE"}
        bridge.send(id=4, method="echo", params={"text": "x" * 900})
        assert bridge.receive()["id"] == 4


def test_answer_over_the_limit_becomes_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_lines, "MAX_LINE_BYTES", 1000)
    with linked(work=lambda _, __: {"text": "x" * 2000}) as bridge:
        bridge.send(id=1, method="work", params={})
        error = bridge.receive()["error"]
    assert (error["code"], error["data"]["code"]) == (-32000, "MESSAGE_TOO_LARGE")
    assert error["data"]["max_bytes"] == 1000


@pytest.mark.parametrize("text", ["龙 \U0001f409", "\ud83d half", "a\nb\r\u2028\x00"])
def test_any_text_goes_through(text: str) -> None:
    line = encode_line({"text": text})
    assert line.count(b"\n") == 1
    assert decode_line(line) == {"text": text}


def test_number_that_json_does_not_have_is_an_error() -> None:
    with linked(work=lambda _, __: {"n": float("nan")}) as bridge:
        bridge.send(id=1, method="work", params={})
        assert bridge.receive()["error"]["data"]["class"] == "ValueError"


def test_inline_notification_runs_on_the_reading_thread_in_order() -> None:
    seen: list[tuple[int, str]] = []
    inline = {
        "chunk": lambda params: seen.append((params["n"], threading.current_thread().name)),
        "bad": lambda params: params["missing"],
    }
    with linked(inline) as bridge:
        bridge.send(method="bad", params={})
        for number in range(20):
            bridge.send(method="chunk", params={"n": number})
        bridge.send(id=1, method="ping")
        assert bridge.receive() == {"id": 1, "result": {}}
    assert [number for number, _ in seen] == list(range(20))
    assert len({thread for _, thread in seen}) == 1
    assert bridge.lines[0].startswith("bad failed: KeyError")


def answering(bridge: Bridge, answer: Callable[[Any], JsonObject]) -> threading.Thread:
    def run() -> None:
        asked = bridge.receive()
        bridge.send(id=asked["id"], **answer(asked))

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_host_is_asked_while_its_own_call_waits() -> None:
    def tool(params: JsonObject, _: Cancellation) -> JsonObject:
        HostProxy(bridge.link).set_sandbox_mode(params["sessionId"], "read-only")
        return {"deny": "no"}

    with linked(tool=tool) as bridge:
        bridge.send(id=1, method="tool", params={"sessionId": "a"})
        asked = bridge.receive()
        assert (asked["method"], asked["params"]) == (
            "host/sandbox-mode",
            {"sessionId": "a", "mode": "read-only"},
        )
        bridge.send(id=asked["id"], result={})
        assert bridge.receive() == {"id": 1, "result": {"deny": "no"}}


def test_refusal_of_the_host_is_an_error_with_its_code() -> None:
    with linked() as bridge:
        refusal = {"code": -32000, "message": "not open", "data": {"code": "SESSION_NOT_OPEN"}}
        thread = answering(bridge, lambda _: {"error": refusal})
        with pytest.raises(HostError, match="not open") as caught:
            HostProxy(bridge.link).cancel("a", "because")
        thread.join()
    assert caught.value.code == "SESSION_NOT_OPEN"


def test_host_that_does_not_answer_is_not_waited_for() -> None:
    with linked() as bridge:
        with pytest.raises(HostError) as caught:
            bridge.link.call("host/cancel", {}, timeout_s=0.05)
        assert caught.value.code == "HOST_TIMEOUT"
        bridge.send(id=bridge.receive()["id"], result={})  # too late: it goes nowhere


def test_call_is_given_up_when_the_host_goes() -> None:
    caught: list[HostError] = []

    def run() -> None:
        try:
            bridge.link.call("host/sessions", {})
        except HostError as error:
            caught.append(error)

    with linked() as bridge:
        thread = threading.Thread(target=run)
        thread.start()
        bridge.receive()
        bridge.hang_up()
        assert bridge.ended()
        thread.join(WAIT_S)
    assert [error.code for error in caught] == ["HOST_GONE"]


def test_log_comes_in_pages() -> None:
    pages = [
        {"meta": {"id": "a"}, "events": [{"seq": 0}], "more": True, "last": 4},
        {"meta": {"id": "a"}, "events": [{"seq": 7}], "more": False, "last": 7},
    ]
    asked: list[Any] = []

    class Pages:
        def call(self, method: str, params: JsonObject) -> JsonObject:
            asked.append((method, params))
            return pages[len(asked) - 1]

        def notify(self, method: str, params: JsonObject) -> None:
            raise AssertionError(method, params)

    found = HostProxy(Pages()).inspect("a")
    assert found == {"meta": {"id": "a"}, "events": [{"seq": 0}, {"seq": 7}]}
    assert [params["after"] for _, params in asked] == [-1, 4]


def test_head_of_a_log_comes_without_the_log() -> None:
    asked: list[Any] = []

    class Heads:
        def call(self, method: str, params: JsonObject) -> JsonObject:
            asked.append((method, params))
            return {"meta": {"parentSession": "b"} if params["sessionId"] == "a" else None}

        def notify(self, method: str, params: JsonObject) -> None:
            raise AssertionError(method, params)

    host = HostProxy(Heads())
    assert [host.session_header(one) for one in ("a", "b")] == [{"parentSession": "b"}, None]
    assert asked == [("host/inspect", {"sessionId": one, "after": 2**53 - 1}) for one in "ab"]


def test_end_of_input_ends_and_shows_work_that_nobody_waits() -> None:
    begun, seen = threading.Event(), threading.Event()

    def work(_: JsonObject, cancellation: Cancellation) -> JsonObject:
        begun.set()
        while not cancellation.requested:
            time.sleep(0.001)
        seen.set()
        return {}

    with linked(work=work) as bridge:
        bridge.send(id=1, method="work", params={})
        assert begun.wait(WAIT_S)
        bridge.hang_up()
        assert bridge.ended()
    assert seen.wait(WAIT_S)


def test_shutdown_is_answered_when_earlier_work_is_done() -> None:
    done: list[int] = []
    go_on = threading.Event()

    def work(params: JsonObject, _: Cancellation) -> None:
        go_on.wait(WAIT_S)
        done.append(params["n"])

    with linked(work=work) as bridge:
        for number in range(3):
            bridge.send(method="work", params={"sessionId": str(number), "n": number})
        bridge.send(id=1, method="shutdown", params={})
        go_on.set()
        assert bridge.receive() == {"id": 1, "result": {}}
        assert sorted(done) == [0, 1, 2]


def test_more_keys_than_threads_share_them() -> None:
    threads = KeyedThreads(max_threads=2)
    seen: dict[str, list[int]] = {str(key): [] for key in range(50)}
    for number in range(20):
        for key, numbers in seen.items():
            threads.submit(key, lambda numbers=numbers, number=number: numbers.append(number))  # type: ignore[misc]
    assert threads.wait_idle(WAIT_S)
    assert set(map(tuple, seen.values())) == {tuple(range(20))}


def test_shutdown_does_not_wait_for_a_session_that_is_stuck() -> None:
    """Calls are given up first; what does not heed that is left behind."""
    begun, go_on = threading.Event(), threading.Event()
    at_shutdown: list[bool] = []
    stuck: list[Cancellation] = []

    def work(_: JsonObject, cancellation: Cancellation) -> None:
        stuck.append(cancellation)
        begun.set()
        go_on.wait(WAIT_S)

    def shutdown(_: JsonObject, cancellation: Cancellation) -> None:
        at_shutdown.extend([cancellation.requested, stuck[0].requested, go_on.is_set()])

    with linked(work=work, shutdown=shutdown) as bridge:
        bridge.send(id=1, method="work", params={"sessionId": "a"})
        assert begun.wait(WAIT_S)
        bridge.send(id=2, method="shutdown", params={})
        assert bridge.receive() == {"id": 2, "result": {}}
        bridge.hang_up()
        assert bridge.ended()
        go_on.set()
    assert at_shutdown == [False, True, False]
