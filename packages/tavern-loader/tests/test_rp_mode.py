"""RP mode of one session as a state machine."""

import pytest

from tavern_loader.domain.rp_mode import (
    OFF,
    Change,
    RpOutcome,
    RpSession,
    RpSource,
    RpState,
    SandboxMode,
    at_boundary,
    begin,
    commit,
    follow_character,
    highest_active,
    observe,
    pin,
    request,
    rp_from_json,
    rp_to_json,
)

ON = RpState(active=True, source=RpSource.COMMAND)
FOLLOWED = RpState(active=True, source=RpSource.CHARACTER_FOLLOW)
OFF_BY_USER = RpState(follow_suppressed=True)
READ, WRITE, FULL = (
    SandboxMode.READ_ONLY,
    SandboxMode.WORKSPACE_WRITE,
    SandboxMode.DANGER_FULL_ACCESS,
)


def locked(before: SandboxMode | None, *, source: RpSource = RpSource.COMMAND) -> RpState:
    return RpState(active=True, source=source, sandbox_before=before)


def test_between_turns_a_wish_is_stored_and_the_sandbox_closed() -> None:
    assert request(RpSession(sandbox=WRITE), ON) == Change(
        session=RpSession(stored=locked(WRITE), sandbox=WRITE),
        outcome=RpOutcome.COMMITTED,
        append=READ,
    )


def test_a_sandbox_that_is_read_only_already_is_left_alone() -> None:
    assert request(RpSession(sandbox=READ), ON) == Change(
        session=RpSession(stored=locked(None), sandbox=READ), outcome=RpOutcome.COMMITTED
    )


def test_within_a_turn_a_wish_waits_for_the_next_step() -> None:
    queued = request(RpSession(sandbox=FULL, is_turn_open=True), ON)
    assert queued == Change(
        session=RpSession(pending=ON, sandbox=FULL, is_turn_open=True), outcome=RpOutcome.QUEUED
    )
    assert queued.session.is_active
    assert at_boundary(queued.session) == Change(
        session=RpSession(stored=locked(FULL), sandbox=FULL, is_turn_open=True),
        outcome=RpOutcome.COMMITTED,
        append=READ,
    )


def test_a_waiting_wish_can_be_taken_back() -> None:
    waiting = RpSession(stored=OFF_BY_USER, pending=ON, is_turn_open=True)
    assert request(waiting, OFF_BY_USER) == Change(
        session=RpSession(stored=OFF_BY_USER, is_turn_open=True), outcome=RpOutcome.CANCELLED
    )


@pytest.mark.parametrize(
    ("session", "wanted"),
    [
        (RpSession(stored=ON), ON),
        (RpSession(stored=locked(WRITE), sandbox=READ), ON),
        (RpSession(stored=OFF_BY_USER), OFF_BY_USER),
        (RpSession(pending=ON, is_turn_open=True), ON),
        (RpSession(stored=ON, pending=OFF_BY_USER, is_turn_open=True), OFF_BY_USER),
    ],
)
def test_asking_for_what_holds_or_waits_changes_nothing(
    session: RpSession, wanted: RpState
) -> None:
    assert request(session, wanted) == Change(session=session, outcome=RpOutcome.NOOP)


def test_a_command_takes_over_what_a_character_switched_on() -> None:
    session = RpSession(stored=locked(WRITE, source=RpSource.CHARACTER_FOLLOW), sandbox=READ)
    assert request(session, ON) == Change(
        session=RpSession(stored=locked(WRITE), sandbox=READ), outcome=RpOutcome.COMMITTED
    )


@pytest.mark.parametrize(
    ("before", "sandbox", "append"),
    [
        (WRITE, READ, WRITE),
        (FULL, READ, FULL),
        (READ, READ, None),
        (None, READ, None),
        (WRITE, FULL, None),  # somebody else opened it: that stays
        (WRITE, None, None),
    ],
)
def test_switching_off_opens_the_sandbox_only_if_it_is_the_one_we_closed(
    before: SandboxMode | None, sandbox: SandboxMode | None, append: SandboxMode | None
) -> None:
    session = RpSession(stored=locked(before), sandbox=sandbox)
    assert request(session, OFF_BY_USER) == Change(
        session=RpSession(stored=OFF_BY_USER, sandbox=sandbox),
        outcome=RpOutcome.COMMITTED,
        append=append,
    )


def test_a_boundary_without_a_wish_does_nothing() -> None:
    session = RpSession(stored=ON, sandbox=WRITE)
    assert at_boundary(session) == Change(session=session, outcome=RpOutcome.NOOP)


def test_a_new_session_that_took_over_a_lock_remembers_its_own_sandbox() -> None:
    session = RpSession(stored=locked(FULL), sandbox=WRITE)
    assert begin(session, is_new=True, is_child=False).session.stored == locked(WRITE)


def test_a_fork_keeps_what_its_parent_remembered() -> None:
    session = RpSession(stored=locked(FULL), sandbox=READ)
    assert begin(session, is_new=True, is_child=True) == Change(
        session=session, outcome=RpOutcome.COMMITTED
    )


def test_a_resumed_session_still_knows_where_to_go_back_to() -> None:
    session = RpSession(stored=locked(FULL), sandbox=READ)
    assert begin(session, is_new=False, is_child=False) == Change(
        session=session, outcome=RpOutcome.COMMITTED
    )


@pytest.mark.parametrize(
    ("parent", "source"),
    [(ON, RpSource.COMMAND), (FOLLOWED, RpSource.CHARACTER_FOLLOW), (OFF, RpSource.COMMAND)],
)
def test_a_delegated_child_of_a_locked_lineage_is_locked(parent: RpState, source: RpSource) -> None:
    session = RpSession(stored=RpState(follow_suppressed=True), sandbox=FULL)
    assert begin(session, is_new=True, is_child=True, delegated_by=parent) == Change(
        session=RpSession(stored=locked(FULL, source=source), sandbox=FULL),
        outcome=RpOutcome.COMMITTED,
        append=READ,
    )


@pytest.mark.parametrize(
    ("stored", "follows", "expected"),
    [
        (OFF, True, FOLLOWED),
        (OFF, False, OFF),
        (OFF_BY_USER, True, OFF_BY_USER),
    ],
)
def test_a_bound_character_switches_it_on_unless_the_user_switched_it_off(
    stored: RpState, *, follows: bool, expected: RpState
) -> None:
    session = RpSession(stored=stored, sandbox=READ)
    assert begin(session, is_new=True, is_child=False, follows=follows).session.stored == expected


@pytest.mark.parametrize(
    ("stored", "previous_id", "next_id", "follows", "expected"),
    [
        (OFF, None, "maren", True, FOLLOWED),
        (OFF, None, "maren", False, OFF),
        (OFF_BY_USER, None, "maren", True, FOLLOWED),
        (ON, "maren", "odo", True, ON),
        (FOLLOWED, "maren", None, True, OFF),
        (ON, "maren", None, False, OFF),
        (OFF_BY_USER, "maren", None, True, OFF),
        (OFF_BY_USER, "maren", "maren", True, OFF_BY_USER),
    ],
)
def test_it_follows_the_bound_character(
    stored: RpState,
    previous_id: str | None,
    next_id: str | None,
    *,
    follows: bool,
    expected: RpState,
) -> None:
    change = follow_character(
        RpSession(stored=stored, sandbox=READ),
        previous_id=previous_id,
        next_id=next_id,
        follows=follows,
    )
    assert change.session.stored == expected


def test_the_log_says_whether_a_turn_is_open_and_where_the_sandbox_is() -> None:
    session = RpSession()
    for kind, data in (
        ("sandbox/mode", {"mode": "workspace-write"}),
        ("turn/start", {}),
        ("sandbox/mode", {"mode": "of another kind"}),
        ("sandbox/mode", {}),
        ("user/message", {"mode": "read-only"}),
    ):
        session = observe(session, kind, data)
    assert session == RpSession(is_turn_open=True, sandbox=WRITE)
    assert observe(session, "turn/end", {}) == RpSession(sandbox=WRITE)


@pytest.mark.parametrize(("sandbox", "expected"), [(READ, None), (WRITE, READ), (None, READ)])
def test_a_pin_brings_the_sandbox_back(
    sandbox: SandboxMode | None, expected: SandboxMode | None
) -> None:
    assert pin(RpSession(sandbox=sandbox)) == expected


def test_the_top_most_locked_session_is_found() -> None:
    assert highest_active([("child", True), ("fork", False), ("root", True)]) == "root"
    assert highest_active([("child", True), ("root", False)]) == "child"
    assert highest_active([("child", False)]) is None


@pytest.mark.parametrize(
    "state",
    [OFF, ON, FOLLOWED, OFF_BY_USER, locked(FULL)],
)
def test_a_state_survives_its_stored_form(state: RpState) -> None:
    assert rp_from_json(rp_to_json(state)) == state


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "on",
        {"active": "true", "source": "whim", "followSuppressed": 1, "sandboxBefore": "open"},
        {"active": 1, "source": None, "sandboxBefore": ["read-only"]},
    ],
)
def test_what_is_not_understood_counts_as_not_set(value: object) -> None:
    assert rp_from_json(value) == OFF


def test_commit_forgets_a_waiting_wish() -> None:
    session = RpSession(pending=ON, sandbox=READ, is_turn_open=True)
    assert commit(session, OFF_BY_USER).session == RpSession(
        stored=OFF_BY_USER, sandbox=READ, is_turn_open=True
    )
