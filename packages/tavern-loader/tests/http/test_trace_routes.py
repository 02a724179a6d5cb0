"""The trace over HTTP gives the recorded documents, and its errors are the listed ones."""

import json
from typing import Any

import pytest

from tavern_loader.adapters.stored_bytes import OLD_ASSEMBLIES, OLD_AUDITS, TRACE_RECORDS
from tavern_loader.errors import HostError
from tests.http_scene import Client, HttpScene
from tests.trace_scenario import VECTORS, case, sample

SESSION = "/v3/sessions/session-demo/assemblies"
FIRST = "60c4706e-c4ee-4d0e-a1ea-10b7e369022f"


@pytest.fixture
def kept(scene: HttpScene) -> Client:
    """Give a client of an API with the recorded records and the recorded session."""
    (scene.folder / TRACE_RECORDS).write_bytes((VECTORS / TRACE_RECORDS).read_bytes())
    scene.host.logs["session-demo"] = case("session_demo")
    return scene.client


def keep(scene: HttpScene, name: str, document: object) -> None:
    (scene.folder / name).write_text(json.dumps(document), encoding="utf-8")


def test_capabilities_are_the_recorded_ones(client: Client) -> None:
    assert client.get("/v3/capabilities").json == sample("capabilities_2_3")


def test_the_index_lists_all_statuses_without_texts(kept: Client) -> None:
    reply = kept.get(SESSION)
    wanted = sample("index_all_statuses")
    rows = reply.json["records"]
    assert [{key: row.get(key) for key in wanted[0]} for row in rows] == wanted
    assert all("sections" not in row and "audit" not in row for row in rows)
    assert reply.headers["cache-control"] == "no-store"


def test_a_session_without_records_has_an_empty_index(kept: Client) -> None:
    assert kept.get("/v3/sessions/another/assemblies").json["records"] == []


def test_one_record_comes_with_its_texts(kept: Client) -> None:
    record = kept.get(f"{SESSION}/{FIRST}").json["record"]
    wanted = sample("detail_available")
    wanted = wanted.get("record", wanted)
    assert record["contentStatus"] == "available"
    texts = [one["text"] for one in record["sections"] if one["characters"]]
    assert texts == [one["text"] for one in wanted["sections"] if one["characters"]]


def test_without_a_history_the_record_says_so(scene: HttpScene, kept: Client) -> None:
    scene.host.logs.clear()
    record = kept.get(f"{SESSION}/{FIRST}").json["record"]
    assert (record["contentStatus"], record["referenceError"]) == (
        "reference-unavailable",
        "history-unavailable",
    )


@pytest.mark.parametrize("log", [HostError("HOST_TIMEOUT", "late"), {"meta": {}, "events": 7}])
def test_a_history_that_cannot_be_read_is_another_thing(
    scene: HttpScene, kept: Client, log: Any
) -> None:
    def inspect(_: str) -> Any:
        if isinstance(log, HostError):
            raise log
        return log

    scene.services.traces.inspect = inspect
    record = kept.get(f"{SESSION}/{FIRST}").json["record"]
    assert record["referenceError"] == "history-read-failed"


def test_audits_are_the_recorded_ones(kept: Client) -> None:
    reply = kept.get("/v1/traces?sessionId=session-demo").json
    assert reply["records"] == sample("v1_audits")
    assert sorted(reply) == ["authority", "ok", "records", "sessionId", "storage"]


def test_records_of_earlier_versions_stand_beside_todays(scene: HttpScene, kept: Client) -> None:
    audit = {**sample("v1_audits")[0], "captureId": "older", "id": "9:1:1", "recordedAt": 5}
    sessions = {"session-demo": {"updatedAt": 1, "records": [audit]}}
    keep(scene, OLD_AUDITS, {"schemaVersion": 1, "sessions": sessions})
    whole = {
        "schemaVersion": 3,
        "id": "record-of-3",
        "sessionId": "session-demo",
        "turn": 1,
        "step": 1,
        "attempt": 1,
        "recordedAt": 6,
        "status": "request-observed",
        "contentStatus": "available",
        "audit": {"captureId": "of-its-own"},
        "sections": [{"name": "s", "text": "as it was"}],
    }
    keep(scene, OLD_ASSEMBLIES, {"schemaVersion": 3, "records": [whole]})
    ids = [row["id"] for row in kept.get(SESSION).json["records"]]
    assert ids[:2] == ["legacy:9:1:1", "record-of-3"]
    assert kept.get(f"{SESSION}/legacy:9:1:1").json["record"]["audit"] == audit
    old = kept.get(f"{SESSION}/record-of-3").json["record"]
    assert old["sections"][0]["text"] == "as it was"
    audits = kept.get("/v1/traces?sessionId=session-demo").json["records"]
    assert audits[0] == audit


def test_damaged_files_of_earlier_versions_count_as_empty(scene: HttpScene, kept: Client) -> None:
    before = kept.get(SESSION).json
    (scene.folder / OLD_AUDITS).write_bytes(b"{")
    keep(scene, OLD_ASSEMBLIES, {"schemaVersion": 9})
    assert kept.get(SESSION).json == before


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (f"{SESSION}/gone", (404, "ASSEMBLY_NOT_FOUND")),
        (f"/v3/sessions/session-alt/assemblies/{FIRST}", (404, "ASSEMBLY_NOT_FOUND")),
        ("/v3/sessions/-x/assemblies", (400, "PROMPT_SESSION_INVALID")),
        ("/v3/sessions/a%20b/assemblies", (400, "PROMPT_SESSION_INVALID")),
        (f"/v3/sessions/{'s' * 201}/assemblies", (400, "PROMPT_SESSION_INVALID")),
        (f"{SESSION}/a%20b", (400, "INVALID_REQUEST")),
        (f"{SESSION}/..", (404, "ASSEMBLY_NOT_FOUND")),
        ("/v3/sessions/session-demo/sources", (404, "NOT_FOUND")),
        ("/v3/sessions/session-demo", (404, "NOT_FOUND")),
        ("/v3", (404, "NOT_FOUND")),
        ("/v1/traces", (400, "INVALID_PRESET_REQUEST")),
    ],
)
def test_errors_are_the_listed_ones(kept: Client, target: str, error: tuple[int, str]) -> None:
    reply = kept.get(target)
    assert reply.error == error
    assert set(reply.json) == {"ok", "code", "error"}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("target", ["/v3/capabilities", SESSION, f"{SESSION}/{FIRST}"])
def test_it_is_only_read(kept: Client, method: str, target: str) -> None:
    assert kept.send(method, target, content={}).error == (405, "METHOD_NOT_ALLOWED")


def test_a_defect_while_reading_says_one_fixed_thing(
    kept: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a text of the history")

    monkeypatch.setattr("tavern_loader.service.trace_reading.verify", broken)
    reply = kept.get(f"{SESSION}/{FIRST}")
    assert reply.json == {
        "ok": False,
        "code": "TRACE_READ_FAILED",
        "error": "Unable to read prompt data",
    }
    assert reply.status == 500
