"""Every status moves as the contract says, by every event, and nothing is undefined."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tavern_trace import AuditStatus, RecordStatus, TraceEvent, next_audit_status, next_status

TABLE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "cases" / "transitions.json").read_bytes()
)


def test_the_cases_name_every_status_and_event() -> None:
    assert [event.value for event in TraceEvent] == TABLE["events"]
    assert {status.value for status in RecordStatus} == set(TABLE["record"])
    assert {status.value for status in AuditStatus} == set(TABLE["audit"])


@pytest.mark.parametrize(("status", "event"), [*product(RecordStatus, TraceEvent)])
def test_record_status(status: RecordStatus, event: TraceEvent) -> None:
    expected = TABLE["record"][status.value].get(event.value, status.value)
    assert next_status(status, event).value == expected


@pytest.mark.parametrize(("status", "event"), [*product(AuditStatus, TraceEvent)])
def test_audit_status(status: AuditStatus, event: TraceEvent) -> None:
    expected = TABLE["audit"][status.value].get(event.value, status.value)
    assert next_audit_status(status, event).value == expected


def test_only_an_assembled_record_is_pending() -> None:
    assert [status for status in RecordStatus if status.is_pending] == [RecordStatus.ASSEMBLED]
