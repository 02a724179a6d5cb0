"""The small values around a step: memories, call settings, sessions, settings of the host."""

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as some

from tavern_loader.adapters.tokens import estimate_tokens
from tavern_loader.domain.call_settings import (
    NOTHING_APPLIED,
    AppliedSettings,
    Refusal,
    applied_from_json,
    applied_to_json,
    apply_settings,
    refused_setting,
)
from tavern_loader.domain.host_settings import HostSettings, host_settings
from tavern_loader.domain.inbox import InboxBounds
from tavern_loader.domain.memory import (
    MAX_CHECKPOINTS,
    START,
    Checkpoint,
    SessionMemory,
    after_step,
    before_step,
    clock,
    essence,
    fork_memory,
    memory_from_json,
    memory_to_json,
    new_memory,
)
from tavern_loader.domain.session import SessionFacts, session_facts
from tavern_matcher import MatchState, TimedRecord


def at(seq: int, turn: int, **values: Any) -> Checkpoint:
    return Checkpoint(seq=seq, turn=turn, step=1, length_messages=turn, **values)


def held(*values: str) -> SessionMemory:
    """Take one step for each value of a variable."""
    memory = new_memory("s")
    for turn, value in enumerate(values, start=1):
        memory = after_step(memory, at(10 * turn, turn, variables={"v": value}))
    return memory


def test_a_step_begins_with_what_the_one_before_left() -> None:
    assert before_step(held("a", "b"), 30, 3, 1).variables == {"v": "b"}
    assert before_step(held("a", "b"), 21, 2, 1).variables == {"v": "a"}
    assert before_step(new_memory("s"), 5, 1, 1) == START


def test_of_a_step_that_is_tried_again_the_last_time_counts() -> None:
    memory = after_step(held("a", "b"), at(24, 2, variables={"v": "c"}))
    assert [one.variables["v"] for one in memory.checkpoints] == ["a", "c"]


def test_of_equal_checkpoints_the_first_and_the_last_stay() -> None:
    memory = held("a", "a", "a", "a", "b", "b", "b")
    assert [one.seq for one in memory.checkpoints] == [10, 40, 50, 70]
    assert before_step(memory, 35, 9, 1).variables == {"v": "a"}


def test_only_so_many_checkpoints_stay() -> None:
    memory = held(*map(str, range(MAX_CHECKPOINTS + 9)))
    assert len(memory.checkpoints) == MAX_CHECKPOINTS
    assert memory.checkpoints[0].variables == {"v": "9"}


@pytest.mark.parametrize(("seed_length", "found"), [(10, None), (11, "a"), (20, "a"), (99, "c")])
def test_a_fork_has_what_held_at_its_cut(seed_length: int, found: str | None) -> None:
    fork = fork_memory(held("a", "b", "c"), seed_length)
    assert [one.variables["v"] for one in fork.checkpoints] == ([] if found is None else [found])
    assert fork.chat_id == "s"
    # The first turn of the fork has the number of a turn of its parent.
    assert before_step(fork, 0, 1, 1).variables == ({} if found is None else {"v": found})


@pytest.mark.parametrize(
    ("length", "unseen", "counted", "expected"),
    [(5, 0, 7, (7, 0)), (5, 0, 5, (5, 0)), (5, 0, 1, (6, 5)), (6, 5, 3, (8, 5)), (8, 5, 1, (9, 8))],
)
def test_the_clock_never_goes_back(
    length: int, unseen: int, counted: int, expected: tuple[int, int]
) -> None:
    base = Checkpoint(length_messages=length, unseen_messages=unseen)
    assert clock(base, counted) == expected


def test_a_memory_is_the_same_after_it_was_written() -> None:
    record = TimedRecord(hash=7, start_messages=1, end_messages=4, protected=True)
    memory = SessionMemory(
        chat_id="root",
        checkpoints=(
            at(
                4,
                1,
                timed=MatchState(sticky={"b.1": record}),
                variables={"v": [1]},
                public=frozenset({"v"}),
            ),
        ),
        applied=AppliedSettings(ours={"temperature": 1}, before={}),
    )
    document = json.loads(json.dumps(memory_to_json(memory)))
    assert memory_from_json("s", document) == memory


def test_variables_are_written_only_if_they_are_known_to_be_public() -> None:
    public = frozenset({"w"})
    memory = after_step(held("a"), at(20, 2, variables={"v": "x", "w": "y"}, public=public))
    assert memory_to_json(memory)["checkpoints"][-1]["variables"] == {"w": "y"}


def test_a_memory_that_is_not_understood_is_empty() -> None:
    odd = {"chatId": 3, "checkpoints": [1, {"seq": "x", "variables": []}], "callSettings": 2}
    assert memory_from_json("s", odd) == SessionMemory(chat_id="s", checkpoints=(START,))
    assert essence(memory_from_json("s", odd)) == essence(new_memory("s"))


# --- call settings -----------------------------------------------------------------------------

CONFIGS = some.dictionaries(
    some.sampled_from(["temperature", "maxTokens", "stop", "model"]), some.integers(0, 3)
)


@given(CONFIGS, CONFIGS, CONFIGS)
def test_after_unbinding_the_host_has_what_it_had(
    host: dict[str, int], first: dict[str, int], second: dict[str, int]
) -> None:
    config, applied = apply_settings(host, _ours(first))
    assert config == {**host, **_ours(first)}
    config, applied = apply_settings(config, _ours(second), applied)
    assert config == {**host, **_ours(second)}
    applied = applied_from_json(json.loads(json.dumps(applied_to_json(applied))))
    assert apply_settings(config, {}, applied) == (host, NOTHING_APPLIED)


def _ours(wanted: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in wanted.items() if name != "model"}


def test_a_value_that_somebody_else_has_set_since_stays() -> None:
    config, applied = apply_settings({}, {"temperature": 1})
    assert apply_settings({**config, "temperature": 2}, {}, applied)[0] == {"temperature": 2}


def test_settings_that_are_not_understood_count_as_none() -> None:
    assert applied_from_json({"ours": {"model": "x"}, "before": 3}) == NOTHING_APPLIED
    assert applied_from_json(None) == NOTHING_APPLIED


WANTED = {"temperature": 1, "maxTokens": 2, "reasoningEffort": "low"}


@pytest.mark.parametrize(
    ("code", "status", "message", "setting"),
    [
        ("UNSUPPORTED_REASONING_EFFORT", None, "anything", "reasoningEffort"),
        ("INVALID_REQUEST", None, "temperature must be at most 2", "temperature"),
        ("HTTP_400", None, "Unknown parameter: max_completion_tokens", "maxTokens"),
        ("", 422, "unsupported value for reasoning_effort", "reasoningEffort"),
        ("UNSUPPORTED_PARAMETER", None, "stop is not supported", None),
        ("INVALID_REQUEST", None, "temperature and max_tokens are invalid", None),
        ("INVALID_REQUEST", None, "the context length is exceeded", None),
        ("INVALID_REQUEST", None, "temperature", None),
        ("HTTP_401", 401, "invalid temperature", None),
        ("HTTP_500", 500, "invalid temperature", None),
        ("RATE_LIMIT", 429, "unsupported temperature", None),
    ],
)
def test_a_refusal_is_about_the_one_setting_that_it_names(
    code: str, status: int | None, message: str, setting: str | None
) -> None:
    refusal = Refusal(code=code, status=status, message=message)
    assert refused_setting(refusal, WANTED) == setting


# --- sessions and settings of the host ---------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "changes"),
    [
        ({}, {}),
        (
            {"version": 3, "createdAt": "2026-01-01", "parentSession": "p", "seedLength": 7},
            {"format_version": 3, "created_at": "2026-01-01", "parent_id": "p", "seed_length": 7},
        ),
        ({"version": True, "createdAt": None, "parentSession": "", "seedLength": "7"}, {}),
        (None, {}),
    ],
)
def test_a_session_is_read_as_far_as_it_says(header: Any, changes: dict[str, Any]) -> None:
    expected = evolve(SessionFacts(id="s", seq=4, is_running=True), **changes)
    session = {"id": "s", "header": header, "seq": 4, "running": True}
    assert session_facts(session) == expected


@pytest.mark.parametrize("session", [{}, {"id": 3}, {"id": ""}])
def test_a_session_has_an_id(session: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs an id"):
        session_facts(session)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, HostSettings()),
        ({"limits": {"maxProfileBytes": 10**9}}, HostSettings(max_profile_bytes=2_097_152)),
        ({"limits": {"maxProfileBytes": -1}}, HostSettings()),
        ({"limits": [], "storageDir": 3, "trace": True}, HostSettings()),
        ({"trace": False}, HostSettings(is_traced=False)),
        ({"trace": {"privacy": "strict"}}, HostSettings(privacy="strict")),
        (
            {"pendingInput": {"maxQueuedCharacters": 9}, "worldBook": {"maxScanMessages": 5000}},
            HostSettings(bounds=InboxBounds(queued_utf16=9, scan_messages=1024)),
        ),
        (
            {"security": {"allowedHosts": ["A.b", 1], "allowRemoteClients": True}},
            HostSettings(allowed_hosts=("a.b",), allow_remote_clients=True),
        ),
        (
            {"traceAssemblies": {"maxRecordBytes": 5000, "maxTotalBytes": "x"}},
            HostSettings(trace_record_bytes=5000),
        ),
    ],
)
def test_settings_of_the_host(config: dict[str, Any], expected: HostSettings) -> None:
    assert host_settings(config) == expected


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("A bell?", 3), ("龙与酒馆", 3), ("龙 a", 2)]
)
def test_tokens_are_estimated(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
