"""Settings, the policy of RP mode, and RP mode of a session over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from tavern_loader.domain.rp_guard import REFUSAL
from tavern_loader.domain.settings import MAX_POLICY_BYTES
from tests.http_scene import Client, HttpScene

UI, TALK, POLICY = "/v1/ui-settings", "/v1/conversation-settings", "/v1/rp-policy"
DEFAULT_UI = {"schemaVersion": 1, "locale": "zh-CN", "scale": 1, "rpFollowCharacter": True}
DEFAULT_TALK = {"schemaVersion": 1, "textScale": 1, "actionScale": 1}
DEFAULT_POLICY = {
    "ok": True,
    "section": REFUSAL,
    "defaultSection": REFUSAL,
    "custom": False,
    "allowedTools": [],
}
INVALID = (400, "INVALID_SETTINGS_REQUEST")
OFF = {"active": False, "source": None, "followSuppressed": False, "sandboxBefore": None}
ON = {**OFF, "active": True, "source": "command"}


def kept(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_bytes())


def test_interface_settings_are_replaced_and_reset(scene: HttpScene) -> None:
    client = scene.client
    assert client.get(UI).json == {"ok": True, "settings": DEFAULT_UI}
    wanted = {"locale": "en", "scale": 1.15, "rpFollowCharacter": False}
    done = {"schemaVersion": 1, **wanted}
    assert client.put(UI, wanted).json == {"ok": True, "settings": done}
    assert client.get(UI).json["settings"] == done
    assert kept(scene.folder, "ui-settings.json") == done
    assert client.delete(UI).json == {"ok": True, "settings": DEFAULT_UI}
    assert kept(scene.folder, "ui-settings.json") == DEFAULT_UI


def test_conversation_settings_keep_what_newer_pages_set(scene: HttpScene) -> None:
    client = scene.client
    assert client.get(TALK).json == {"ok": True, "settings": DEFAULT_TALK}
    wanted = {
        "textScale": 0.75,
        "actionScale": 1.5,
        "bubbleStyle": {"radius": 4},
        "interactiveCards": True,
    }
    assert client.put(TALK, wanted).json["settings"] == {"schemaVersion": 1, **wanted}
    assert client.get(TALK).json["settings"] == {"schemaVersion": 1, **wanted}
    assert client.delete(TALK).json["settings"] == DEFAULT_TALK


@pytest.mark.parametrize(
    ("target", "content"),
    [
        (UI, {}),
        (UI, {"locale": "en"}),
        (UI, {"locale": "fr", "scale": 1}),
        (UI, {"locale": "en", "scale": 1, "theme": "dark"}),
        (UI, {"locale": "en", "scale": True}),
        (UI, {"locale": "en", "scale": "1"}),
        (UI, {"locale": "en", "scale": 0.7}),
        (UI, {"locale": "en", "scale": 1.55}),
        (UI, {"locale": "en", "scale": 1.01}),
        (UI, {"locale": "en", "scale": 1, "rpFollowCharacter": 1}),
        (UI, []),
        (TALK, {"textScale": 1}),
        (TALK, {"textScale": 1, "actionScale": None}),
        (TALK, {"textScale": 1, "actionScale": 1, "bubbleStyle": "round"}),
        (TALK, {"textScale": 1, "actionScale": 1, "interactiveCards": "yes"}),
        (TALK, {"textScale": 1, "actionScale": 1, "more": 1}),
        (POLICY, {}),
        (POLICY, {"section": None}),
        (POLICY, {"section": 7}),
        (POLICY, {"section": "é" * (MAX_POLICY_BYTES // 2 + 1)}),
        (POLICY, {"allowedTools": "bash"}),
        (POLICY, {"allowedTools": ["*"]}),
        (POLICY, {"allowedTools": ["a b"]}),
        (POLICY, {"allowedTools": ["tool"] * 201}),
        (POLICY, {"allowedTools": ["a*b"]}),
        (POLICY, {"allowedTools": ["tool\n"]}),
    ],
)
def test_settings_of_another_form_are_refused(client: Client, target: str, content: object) -> None:
    before = client.get(target).json
    assert client.put(target, content).error == INVALID
    assert client.get(target).json == before


@pytest.mark.parametrize(("sent", "stored"), [(1.1500000000000001, 1.15), (1.0, 1), (0.8, 0.8)])
def test_a_scale_need_not_be_a_step_to_the_last_bit(
    client: Client, sent: float, stored: float
) -> None:
    reply = client.put(UI, {"locale": "en", "scale": sent})
    assert reply.json["settings"]["scale"] == stored
    assert f'"scale":{stored},'.encode() in reply.body


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'{"locale": "xx"}', b'{"locale":"en","scale":1,"x":1}', b" " * 2000],
)
def test_a_damaged_file_counts_as_the_defaults(scene: HttpScene, data: bytes) -> None:
    (scene.folder / "ui-settings.json").write_bytes(data)
    assert scene.client.get(UI).json["settings"] == DEFAULT_UI


def test_a_file_that_changes_is_read_again(scene: HttpScene) -> None:
    scene.client.put(UI, {"locale": "en", "scale": 1})
    written = {**DEFAULT_UI, "locale": "en", "scale": 1.25}
    (scene.folder / "ui-settings.json").write_text(json.dumps(written), encoding="utf-8")
    assert scene.client.get(UI).json["settings"] == written


def test_the_policy_is_replaced_and_reset(scene: HttpScene) -> None:
    client = scene.client
    assert client.get(POLICY).json == DEFAULT_POLICY
    reply = client.put(POLICY, {"section": "Stay\r\nhere."})
    assert reply.json == {**DEFAULT_POLICY, "section": "Stay\nhere.", "custom": True}
    assert kept(scene.folder, "rp-policy.json") == {"schemaVersion": 1, "section": "Stay\nhere."}
    assert client.put(POLICY, {"section": " \n"}).json["section"] == ""
    assert scene.services.settings.section() == ""
    assert client.delete(POLICY).json == DEFAULT_POLICY
    assert not (scene.folder / "rp-policy.json").exists()
    assert client.delete(POLICY).json == DEFAULT_POLICY


def test_a_policy_of_just_the_limit_is_kept(client: Client) -> None:
    text = '"' * MAX_POLICY_BYTES
    assert client.put(POLICY, {"section": text}).json["section"] == text
    assert client.get(POLICY).json["section"] == text


def test_the_list_of_tools_is_kept_beside_the_text(scene: HttpScene) -> None:
    client = scene.client
    tools = ["mcp__dice__*", "mcp__dice__*", "lookup"]
    assert client.put(POLICY, {"allowedTools": tools}).json == {
        **DEFAULT_POLICY,
        "allowedTools": ["mcp__dice__*", "lookup"],
    }
    client.delete(POLICY)
    assert client.get(POLICY).json["allowedTools"] == ["mcp__dice__*", "lookup"]
    assert scene.services.settings.allowed_tools() == ("mcp__dice__*", "lookup")


def test_half_a_surrogate_pair_comes_back_as_it_was_sent(client: Client) -> None:
    reply = client.send("PUT", POLICY, data=b'{"section": "a\\ud800b"}')
    assert reply.json["section"] == "a\ud800b"
    assert client.get(POLICY).json["section"] == "a\ud800b"


def test_rp_mode_is_switched_and_read(client: Client) -> None:
    target = "/v1/rp-mode?sessionId=s-1"
    view = {"ok": True, "rp": OFF, "pending": None, "followCharacter": True}
    assert client.get(target).json == view
    reply = client.put("/v1/rp-mode", {"sessionId": "s-1", "active": True})
    assert reply.json == {**view, "outcome": "committed", "rp": ON}
    again = client.put("/v1/rp-mode", {"sessionId": "s-1", "active": True})
    assert again.json["outcome"] == "noop"
    off = client.put("/v1/rp-mode", {"sessionId": "s-1", "active": False})
    assert off.json["rp"] == {**OFF, "followSuppressed": True}
    assert client.get(target).json["rp"] == {**OFF, "followSuppressed": True}


def test_within_a_turn_the_wish_is_shown_as_pending(scene: HttpScene) -> None:
    turn = {"type": "turn/start", "data": {}}
    scene.services.roleplay.on_sync({"id": "s-1"}, [turn])
    reply = scene.client.put("/v1/rp-mode", {"sessionId": "s-1", "active": True})
    assert reply.json == {
        "ok": True,
        "outcome": "queued",
        "rp": ON,
        "pending": ON,
        "followCharacter": True,
    }
    view = scene.client.get("/v1/rp-mode?sessionId=s-1").json
    assert (view["rp"], view["pending"]) == (OFF, ON)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"sessionId": "s-1"},
        {"sessionId": "s-1", "active": "yes"},
        {"sessionId": "", "active": True},
        {"sessionId": "../s", "active": True},
        {"sessionId": "-s", "active": True},
        {"sessionId": "s" * 201, "active": True},
        {"sessionId": None, "active": True},
    ],
)
def test_a_switch_needs_a_session_and_a_side(client: Client, content: object) -> None:
    assert client.put("/v1/rp-mode", content).error == INVALID


@pytest.mark.parametrize("target", ["/v1/rp-mode", "/v1/rp-alert"])
@pytest.mark.parametrize("query", ["", "?sessionId=", "?sessionId=a/b", "?sessionid=a", "?x=1"])
def test_reading_needs_a_session(client: Client, target: str, query: str) -> None:
    assert client.get(target + query).error == INVALID


def test_an_alert_waits_until_it_is_taken(scene: HttpScene) -> None:
    client, roleplay = scene.client, scene.services.roleplay
    assert client.get("/v1/rp-alert?sessionId=s-1").json == {"ok": True, "alert": None}
    roleplay.set_active("s-1", active=True)
    roleplay.on_tool({"id": "s-1", "header": {}}, "bash", {})
    alert = client.get("/v1/rp-alert?sessionId=s-1").json["alert"]
    at = alert["at"]
    assert alert == {"id": 1, "sessionId": "s-1", "toolName": "bash", "at": at}
    assert at > 1_700_000_000_000
    assert client.delete("/v1/rp-alert?sessionId=s-1&id=2").json["alert"] is None
    assert client.delete("/v1/rp-alert?sessionId=s-1&id=1").json["alert"] == alert
    assert client.delete("/v1/rp-alert?sessionId=s-1").json == {"ok": True, "alert": None}
    assert client.delete("/v1/rp-alert?sessionId=s-1&id=x").error == INVALID
