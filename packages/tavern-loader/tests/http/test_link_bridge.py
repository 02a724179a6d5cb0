"""Requests that come over the link, in pieces and windows."""

import base64
import json
import time
from collections.abc import Iterator
from threading import Condition
from typing import Any

import pytest
from attrs import define, field

from tavern_loader.adapters.http import link_bridge
from tavern_loader.adapters.http.link_bridge import (
    CHUNK_BYTES,
    MAX_STREAMS,
    WINDOW_BYTES,
    LinkBridge,
)
from tavern_loader.errors import HostError
from tests.http_scene import HOST, OWN_PAGE, HttpScene

SETTINGS = "/pmp-dsh-tavern/api/v1/ui-settings"


@define
class Wire:
    """What the bridge was told."""

    told: list[tuple[str, dict[str, Any]]] = field(factory=list)
    news: Condition = field(factory=Condition)
    is_cut: bool = False

    def tell(self, method: str, params: Any) -> None:
        if self.is_cut:
            raise HostError("HOST_GONE", "gone")
        with self.news:
            self.told.append((method, dict(params)))
            self.news.notify_all()

    def of(self, stream: int, *methods: str) -> list[dict[str, Any]]:
        return [
            params
            for method, params in self.told
            if params["stream"] == stream and method in methods
        ]

    def wait(self, stream: int, method: str, number: int = 1) -> list[dict[str, Any]]:
        with self.news:
            arrived = self.news.wait_for(lambda: len(self.of(stream, method)) >= number, timeout=5)
        assert arrived, self.told
        return self.of(stream, method)

    def body(self, stream: int) -> bytes:
        return b"".join(base64.b64decode(one["data"]) for one in self.of(stream, "http/chunk"))


@define
class Host:
    """The other end of the link."""

    wire: Wire
    bridge: LinkBridge

    def request(
        self, stream: int, method: str = "GET", target: str = SETTINGS, **more: Any
    ) -> None:
        headers = {**OWN_PAGE, **more.pop("headers", {})}
        self.bridge.inline["http/request"](
            {
                "stream": stream,
                "method": method,
                "target": target,
                "headers": [[name, value] for name, value in headers.items()],
                "remote": {"address": "127.0.0.1", "port": 50_000},
                "local": {"address": "127.0.0.1", "port": 7777},
                **more,
            }
        )

    def body(self, stream: int, data: bytes) -> None:
        encoded = base64.b64encode(data).decode()
        self.bridge.inline["http/body"]({"stream": stream, "data": encoded})

    def end(self, stream: int) -> None:
        self.bridge.inline["http/end"]({"stream": stream})

    def say(self, method: str, **params: Any) -> None:
        self.bridge.inline[method](params)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def host(scene: HttpScene, wire: Wire) -> Iterator[Host]:
    bridge = LinkBridge(scene.api, wire.tell)
    yield Host(wire, bridge)
    bridge.close()


def hosting(app: Any, wire: Wire) -> Host:
    return Host(wire, LinkBridge(app, wire.tell))


def test_a_request_is_answered_in_head_chunks_and_end(host: Host, wire: Wire) -> None:
    host.request(1)
    host.end(1)
    wire.wait(1, "http/done")
    assert [method for method, _ in wire.told] == ["http/head", "http/chunk", "http/done"]
    head = wire.of(1, "http/head")[0]
    assert head["status"] == 200
    assert ["cache-control", "no-store"] in head["headers"]
    assert json.loads(wire.body(1))["settings"]["locale"] == "zh-CN"


def test_a_body_in_pieces_is_put_together_and_acknowledged(host: Host, wire: Wire) -> None:
    host.request(1, "PUT")
    host.body(1, b'{"locale": "en",')
    host.body(1, b' "scale": 1}')
    host.end(1)
    wire.wait(1, "http/done")
    assert [one["bytes"] for one in wire.of(1, "http/ack")] == [16, 12]
    assert json.loads(wire.body(1))["settings"]["locale"] == "en"


def test_the_walls_stand_here_too(host: Host, wire: Wire) -> None:
    for stream, (code, more) in enumerate(
        (
            ("TAVERN_API_REMOTE_FORBIDDEN", {"remote": {"address": "10.0.0.1", "port": 1}}),
            ("TAVERN_API_REMOTE_FORBIDDEN", {"remote": {}}),
            ("TAVERN_API_HOST_FORBIDDEN", {"headers": {"host": "evil.example"}}),
            (
                "TAVERN_API_ORIGIN_FORBIDDEN",
                {"method": "PUT", "headers": {"origin": "http://evil.example"}},
            ),
            (
                "TAVERN_API_CONTENT_TYPE_REQUIRED",
                {"method": "PUT", "headers": {"content-type": "text/plain"}},
            ),
        )
    ):
        host.request(stream, **more)  # type: ignore[arg-type] # rows of keyword arguments
        host.end(stream)
        wire.wait(stream, "http/done")
        assert json.loads(wire.body(stream))["code"] == code


def test_streams_do_not_mix(host: Host, wire: Wire) -> None:
    for stream in range(20):
        host.request(stream, "PUT")
    for stream in range(20):
        host.body(stream, json.dumps({"locale": "en", "scale": 0.75 + stream % 16 * 0.05}).encode())
    for stream in reversed(range(20)):
        host.end(stream)
    for stream in range(20):
        wire.wait(stream, "http/done")
        scale = json.loads(wire.body(stream))["settings"]["scale"]
        assert scale == pytest.approx(0.75 + stream % 16 * 0.05)


async def large(_: Any, receive: Any, send: Any) -> None:
    """An application that answers with a megabyte."""
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": bytes(1024 * 1024)})


def test_a_reader_that_does_not_read_is_sent_one_window(wire: Wire) -> None:
    host = hosting(large, wire)
    host.request(1)
    host.end(1)
    wire.wait(1, "http/chunk", WINDOW_BYTES // CHUNK_BYTES)
    time.sleep(0.1)
    assert len(wire.body(1)) == WINDOW_BYTES
    taken = 0
    while taken < 1024 * 1024:
        arrived = len(wire.body(1))
        host.say("http/ack", stream=1, bytes=arrived - taken)
        taken = arrived
        time.sleep(0.01)
    wire.wait(1, "http/done")
    assert len(wire.body(1)) == 1024 * 1024
    host.bridge.close()


def test_a_reader_that_reads_nothing_for_long_is_given_up(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_bridge, "STALL_S", 0.1)
    host = hosting(large, wire)
    host.request(1)
    host.end(1)
    assert wire.wait(1, "http/abort") == [{"stream": 1, "reason": "stalled"}]
    assert len(wire.body(1)) == WINDOW_BYTES
    host.bridge.close()


def test_a_reader_that_leaves_ends_its_stream(wire: Wire) -> None:
    host = hosting(large, wire)
    host.request(1)
    host.end(1)
    wire.wait(1, "http/chunk", WINDOW_BYTES // CHUNK_BYTES)
    host.say("http/abort", stream=1, reason="closed")
    host.request(2)
    host.end(2)
    wire.wait(2, "http/chunk")
    assert wire.of(1, "http/done", "http/abort") == []
    host.bridge.close()


def test_a_sender_that_overruns_the_window_is_dropped(wire: Wire) -> None:
    async def lazy(_: Any, __: Any, ___: Any) -> None:
        import asyncio

        await asyncio.sleep(10)

    host = hosting(lazy, wire)
    host.request(1, "PUT")
    for _ in range(WINDOW_BYTES // CHUNK_BYTES + 1):
        host.body(1, bytes(CHUNK_BYTES))
    assert wire.wait(1, "http/abort") == [{"stream": 1, "reason": "window"}]
    host.bridge.close()


def test_what_is_no_base64_drops_the_stream(host: Host, wire: Wire) -> None:
    host.request(1, "PUT")
    host.say("http/body", stream=1, data="%%%")
    assert wire.wait(1, "http/abort") == [{"stream": 1, "reason": "data"}]


@pytest.mark.parametrize("target", ["http://evil.example/", f"http://{HOST}{SETTINGS}", "*", ""])
def test_what_is_no_path_leads_nowhere(host: Host, wire: Wire, target: str) -> None:
    host.request(1, target=target)
    assert wire.wait(1, "http/head")[0]["status"] == 404


def test_what_no_server_lets_through_is_dropped(host: Host, wire: Wire) -> None:
    host.request(1, target="/caf\u00e9")
    assert wire.wait(1, "http/abort") == [{"stream": 1, "reason": "target"}]


def test_a_broken_application_drops_its_stream_only(wire: Wire) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("a defect")

    host = hosting(broken, wire)
    host.request(1)
    host.request(2)
    assert wire.wait(1, "http/abort") == [{"stream": 1, "reason": "fault"}]
    assert wire.wait(2, "http/abort") == [{"stream": 2, "reason": "fault"}]
    host.bridge.close()


def test_one_stream_too_many_is_dropped(wire: Wire) -> None:
    async def waiting(_: Any, receive: Any, __: Any) -> None:
        await receive()

    host = hosting(waiting, wire)
    for stream in range(MAX_STREAMS + 1):
        host.request(stream)
    assert wire.wait(MAX_STREAMS, "http/abort") == [{"stream": MAX_STREAMS, "reason": "busy"}]
    host.bridge.close()


def test_messages_about_unknown_streams_are_ignored(host: Host, wire: Wire) -> None:
    host.body(7, b"x")
    host.end(7)
    host.say("http/ack", stream=7, bytes=1)
    host.say("http/abort", stream=7, reason="closed")
    host.request(1)
    host.end(1)
    wire.wait(1, "http/done")
    assert {params["stream"] for _, params in wire.told} == {1}


def test_a_link_that_is_gone_ends_quietly(host: Host, wire: Wire) -> None:
    wire.is_cut = True
    host.request(1)
    host.end(1)
    time.sleep(0.05)
    wire.is_cut = False
    host.request(2)
    host.end(2)
    wire.wait(2, "http/done")


def test_nothing_is_taken_after_the_end(host: Host, wire: Wire) -> None:
    host.bridge.close()
    host.request(1)
    assert wire.told == []
