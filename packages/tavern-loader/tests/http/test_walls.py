"""Who may talk to the API, and what a request may look like."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tavern_loader.adapters.http.api import TimeLimits
from tavern_loader.adapters.http.walls import (
    MAX_HEADERS,
    MAX_HEADERS_BYTES,
    MAX_TARGET_BYTES,
    Security,
)
from tests.http_scene import HOST, SAFE_HEADERS, Client, HttpScene

SETTINGS = "/v1/ui-settings"
GOOD = {"locale": "en", "scale": 1}
Headers = Mapping[str, str | None]
DIRECT = pytest.mark.usefixtures("direct")


def test_every_answer_forbids_to_keep_sniff_and_refer(client: Client) -> None:
    for reply in (
        client.get(SETTINGS),
        client.get("/nowhere"),
        client.get(SETTINGS, peer="10.0.0.1"),
        client.put(SETTINGS, {}),
    ):
        assert SAFE_HEADERS.items() <= reply.headers.items()
        assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_this_machine_may_read(client: Client, peer: str) -> None:
    assert client.get(SETTINGS, peer=peer).status == 200


@pytest.mark.parametrize(
    "peer", ["10.0.0.1", "192.168.1.4", "::ffff:10.0.0.1", "2001:db8::1", "", None, "x"]
)
def test_another_machine_may_not(client: Client, peer: str | None) -> None:
    reply = client.get(SETTINGS, peer=peer)
    assert reply.json == {
        "ok": False,
        "code": "TAVERN_API_REMOTE_FORBIDDEN",
        "error": "only this machine may use the API",
    }
    assert reply.status == 403


def test_the_owner_can_let_other_machines_in(tmp_path: Path) -> None:
    scene = HttpScene(tmp_path, Security(allow_remote_clients=True))
    assert scene.client.get(SETTINGS, peer="10.0.0.1").status == 200
    scene.api.close()


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.0.0.1:7777", "127.9.9.9:1", "localhost", "LOCALHOST:7777"),
        *("[::1]", "[::1]:7777"),
    ],
)
def test_loopback_names_are_served(client: Client, host: str) -> None:
    assert client.get(SETTINGS, headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",  # DNS rebinding: the name leads here, the page came from elsewhere
        "evil.example:7777",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "evil.example#localhost",
        "localhost\\.evil.example",
        "127.0.0.1:7777:1",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "localhost.",
        "localhost\xa0",
        "[::1",
        "[::2]",
        "10.0.0.1",
        "",
    ],
)
def test_other_names_are_not(client: Client, host: str) -> None:
    reply = client.get(SETTINGS, headers={"host": host})
    assert reply.error == (403, "TAVERN_API_HOST_FORBIDDEN")


@DIRECT
def test_no_name_is_not(client: Client) -> None:
    reply = client.get(SETTINGS, headers={"host": None})
    assert reply.error == (403, "TAVERN_API_HOST_FORBIDDEN")


def test_two_host_headers_are_refused(client: Client) -> None:
    reply = client.get(SETTINGS, more_headers=[("host", HOST)])
    assert reply.error == (403, "TAVERN_API_HOST_FORBIDDEN")


def test_the_owner_can_name_further_hosts(tmp_path: Path) -> None:
    scene = HttpScene(tmp_path, Security(allowed_hosts=["tea.LOCAL"]))
    headers = {"host": "Tea.Local:80", "origin": "http://tea.local"}
    assert scene.client.put(SETTINGS, GOOD, headers=headers).status == 200
    assert scene.client.get(SETTINGS, headers={"host": "cup.local"}).status == 403
    scene.api.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": None},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": f"http://evil.example/{HOST}"},
        {"origin": f"http://{HOST}/path"},
        {"origin": f"http://user@{HOST}"},
        {"origin": "http://127.0.0.1:8888"},
        {"origin": f"ftp://{HOST}"},
        {"origin": f"file://{HOST}"},
        {"origin": "http://[::1"},
        {"origin": HOST},
        {"sec-fetch-site": "cross-site"},
        # What a form of a foreign page can send.
        {
            "origin": "http://evil.example",
            "content-type": "text/plain",
            "sec-fetch-mode": "navigate",
        },
    ],
)
@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE", "PROPFIND"])
def test_a_foreign_page_can_change_nothing(client: Client, headers: Headers, method: str) -> None:
    reply = client.send(method, SETTINGS, content=GOOD, headers=headers)
    assert reply.error == (403, "TAVERN_API_ORIGIN_FORBIDDEN")
    assert client.get(SETTINGS).json["settings"]["locale"] == "zh-CN"


def test_two_origins_are_none(client: Client) -> None:
    reply = client.put(SETTINGS, GOOD, more_headers=[("origin", f"http://{HOST}")])
    assert reply.error == (403, "TAVERN_API_ORIGIN_FORBIDDEN")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (HOST, f"http://{HOST}"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("localhost", "https://localhost:443"),
        ("[::1]:7777", "http://[::1]:7777"),
        ("LocalHost:7777", "http://localhost:7777"),
    ],
)
def test_the_page_of_the_same_origin_can(client: Client, host: str, origin: str) -> None:
    headers = {"host": host, "origin": origin, "sec-fetch-site": "same-origin"}
    assert client.put(SETTINGS, GOOD, headers=headers).status == 200


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json",
        "application/json, text/plain",
        "application/jsonp",
        "image/png",
    ],
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_changes_are_json(client: Client, content_type: str | None, method: str) -> None:
    reply = client.send(method, SETTINGS, content=GOOD, headers={"content-type": content_type})
    assert reply.error == (415, "TAVERN_API_CONTENT_TYPE_REQUIRED")


def test_a_charset_may_be_named(client: Client) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert client.put(SETTINGS, GOOD, headers=headers).status == 200


@DIRECT
def test_a_body_that_says_it_is_too_large_is_not_read(client: Client) -> None:
    reply = client.send("PUT", SETTINGS, pieces=[], headers={"content-length": "1025"})
    assert reply.json == {
        "ok": False,
        "code": "SETTINGS_BODY_TOO_LARGE",
        "error": "the body must not have more than 1024 bytes",
    }
    assert reply.status == 413
    assert "connection" not in reply.headers


def test_the_connection_of_a_giant_body_is_closed(client: Client) -> None:
    reply = client.send("PUT", SETTINGS, pieces=[], headers={"content-length": str(10**12)})
    assert (reply.status, reply.headers["connection"]) == (413, "close")


def test_a_body_without_a_length_is_cut_off(client: Client) -> None:
    reply = client.send("PUT", SETTINGS, pieces=[b" " * 1000, b" " * 25, b"never read"])
    assert reply.error == (413, "SETTINGS_BODY_TOO_LARGE")


@DIRECT
def test_a_body_that_says_it_is_small_is_counted_nevertheless(client: Client) -> None:
    reply = client.send("PUT", SETTINGS, data=b" " * 1025, headers={"content-length": "10"})
    assert reply.error == (413, "SETTINGS_BODY_TOO_LARGE")


def test_a_slow_body_is_not_waited_for(tmp_path: Path) -> None:
    scene = HttpScene(tmp_path, limits=TimeLimits(body_s=0.1))
    began = time.monotonic()
    reply = scene.client.send("PUT", SETTINGS, pieces=[b"{"] * 100, pause_s=0.05)
    assert reply.error == (408, "TAVERN_API_TIMEOUT")
    assert reply.headers["connection"] == "close"
    assert time.monotonic() - began < 2
    scene.api.close()


@DIRECT
def test_a_client_that_leaves_gets_nothing(client: Client) -> None:
    with pytest.raises(ValueError, match="not enough values"):
        client.send("PUT", SETTINGS, pieces=[])


def test_a_long_address_is_refused(client: Client) -> None:
    reply = client.get(SETTINGS + "?a=" + "b" * MAX_TARGET_BYTES)
    assert reply.error == (414, "TAVERN_API_TARGET_TOO_LONG")


@pytest.mark.parametrize(
    "more",
    [
        [("x-a", "b" * MAX_HEADERS_BYTES)],
        [(f"x-{number}", "b") for number in range(MAX_HEADERS)],
    ],
    ids=["one large", "many"],
)
@DIRECT
def test_too_many_headers_are_refused(client: Client, more: list[tuple[str, str]]) -> None:
    reply = client.get(SETTINGS, more_headers=more)
    assert reply.error == (431, "TAVERN_API_HEADERS_TOO_LARGE")


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"nothing",
        b"\xff\xfe",
        b'{"locale": "en", "scale": NaN}',
        b'{"locale": "en", "scale": 1e999}',
        b'{"locale": "en", "scale": -Infinity}',
        b'{"locale": "en", "scale": ' + b"9" * 900 + b"}",
        b'\xef\xbb\xbf{"locale": "en", "scale": 1}',
        b"[" * 1000,
        b"[" * 500 + b"]" * 500,
        b"[]",
        b"null",
        b'"locale"',
        b"",
    ],
)
def test_what_is_no_json_object_is_refused_without_being_repeated(
    client: Client, data: bytes
) -> None:
    reply = client.send("PUT", SETTINGS, data=data)
    assert reply.error == (400, "INVALID_SETTINGS_REQUEST")
    assert len(data) < 5 or data not in reply.body


def test_a_number_that_is_none_is_called_that(client: Client) -> None:
    reply = client.send("PUT", SETTINGS, data=b'{"locale": "en", "scale": NaN}')
    assert reply.json["error"] == "the body has a number that JSON cannot hold"


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "",
        "/v1",
        "/v1/",
        "/v1/ui-settings/",
        "/v1//ui-settings",
        "/v1/../v1/ui-settings",
        "/v1/%2e%2e/v1/ui-settings",
        "/v1/ui-settings%00",
        "/v1/ui-settings%2f..%2frp-policy",
        "/v2/chrome",
        "/v1/UI-Settings",
    ],
)
def test_paths_that_are_none_lead_nowhere(client: Client, target: str) -> None:
    assert client.get(target).error == (404, "NOT_FOUND")


@pytest.mark.parametrize("authority", [HOST, "evil.example"])
def test_an_absolute_address_leads_nowhere(client: Client, authority: str) -> None:
    reply = client.get(SETTINGS, root=f"http://{authority}/pmp-dsh-tavern/api")
    assert reply.error == (404, "NOT_FOUND")


def test_the_retired_root_is_gone(client: Client) -> None:
    assert client.get("/ui-settings", root="/dsh-tavern/api").status == 404


def test_a_method_that_is_none_names_those_that_are(client: Client) -> None:
    reply = client.post(SETTINGS, GOOD)
    assert reply.error == (405, "METHOD_NOT_ALLOWED")
    assert reply.headers["allow"] == "DELETE, GET, HEAD, PUT"
    assert client.send("OPTIONS", SETTINGS).status == 405


def test_a_head_is_answered_without_a_body(client: Client) -> None:
    reply = client.send("HEAD", SETTINGS)
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-length"] == str(len(client.get(SETTINGS).body))


def test_a_defect_is_told_without_what_caused_it(
    scene: HttpScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the diary says: ...")

    monkeypatch.setattr("tavern_loader.service.settings.ui_from_json", broken)
    reply = scene.client.put(SETTINGS, GOOD)
    assert reply.json == {
        "ok": False,
        "code": "SETTINGS_API_ERROR",
        "error": "the request failed here",
    }
    assert reply.status == 500
    assert scene.complaints == ["PUT /v1/ui-settings: RuntimeError"]


def test_work_that_takes_long_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = HttpScene(tmp_path, limits=TimeLimits(work_s=0.05))
    monkeypatch.setattr("tavern_loader.service.settings.ui_to_json", lambda _: time.sleep(0.3))
    assert scene.client.put(SETTINGS, GOOD).error == (503, "TAVERN_API_TIMEOUT")
    scene.api.close()


@DIRECT
def test_other_protocols_are_closed(client: Client) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    import asyncio

    asyncio.run(client.app({"type": "websocket", "path": "/"}, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
