"""Sticky, cooldown and delay over the turns of a chat."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tavern_format import Entry, WorldBook
from tavern_matcher import (
    EntryId,
    MatchResult,
    MatchSettings,
    MatchState,
    NamedBook,
    Reason,
    ScanContext,
    ScanMessage,
    TimedRecord,
    compile_index,
    match,
    state_from_json,
    state_to_json,
)

Scan = Callable[..., MatchResult]
Fired = Callable[[MatchResult], list[object]]
KEYED = Entry(uid=0, keys=("key",), content="x", scan_depth=1)


def turns(entries: list[Entry], chat: str, **settings: Any) -> list[str]:
    """Scan after every message of a chat; `k` is one with the key. Gives the reasons."""
    book = NamedBook(name="b", book=WorldBook(entries=tuple(entries)))
    index = compile_index([book], MatchSettings(scan_depth_messages=1, **settings))
    state = MatchState()
    reasons = []
    for length in range(1, len(chat) + 1):
        messages = tuple(
            ScanMessage(identity=str(at), text="key" if one == "k" else "-")
            for at, one in enumerate(chat[:length])
        )
        result = match(index, ScanContext(messages=messages), state, dice=lambda _: 0.5)
        state = result.state
        reasons.append(" ".join(one.reason.value for one in result.decisions))
    return reasons


def test_sticky_entry_stays_for_its_messages() -> None:
    fires, stays, misses = "primary-key-match", "sticky", "primary-key-miss"
    assert turns([attrs.evolve(KEYED, sticky=2)], "-k---") == [misses, fires, stays, misses, misses]


def test_cooldown_holds_back_after_firing() -> None:
    fires, pauses = "primary-key-match", "cooldown"
    assert turns([attrs.evolve(KEYED, cooldown=2)], "kkkk") == [fires, pauses, fires, pauses]


def test_cooldown_begins_when_sticky_ends() -> None:
    fires, stays, pauses = "primary-key-match", "sticky", "cooldown"
    entry = attrs.evolve(KEYED, sticky=2, cooldown=2)
    assert turns([entry], "kkkkkk") == [fires, stays, pauses, pauses, fires, stays]


def test_sticky_is_not_refreshed() -> None:
    assert turns([attrs.evolve(KEYED, sticky=3)], "kkkk")[-1] == "primary-key-match"
    assert turns([attrs.evolve(KEYED, sticky=3)], "kkk-")[-1] == "primary-key-miss"


def test_delay_waits_for_a_length_of_the_chat() -> None:
    waits, fires = "delayed", "primary-key-match"
    assert turns([attrs.evolve(KEYED, delay=3)], "kkk") == [waits, waits, fires]


def test_sticky_member_takes_its_group(scan: Scan) -> None:
    entries = [attrs.evolve(KEYED, group="g", sticky=9), attrs.evolve(KEYED, uid=1, group="g")]
    first = scan(entries, "key", dice=lambda _: 0.0)
    second = scan(entries, "key", "key", state=first.state, dice=lambda _: 0.9)
    assert [one.reason.value for one in second.decisions] == ["sticky", "group-sticky"]
    assert second.draws == ()


def test_cooldown_of_a_sticky_member_is_a_matter_of_the_profile() -> None:
    entry = attrs.evolve(KEYED, group="g", sticky=3, cooldown=3)
    assert turns([entry], "k--") == ["primary-key-match", "group-timed", "group-timed"]
    assert turns([entry], "k--", profile="safe") == ["primary-key-match", "sticky", "sticky"]


def test_sticky_skips_chance_and_keys_but_not_the_switch(scan: Scan, fired: Fired) -> None:
    entry = attrs.evolve(KEYED, sticky=5, probability=50, exclude_recursion=True)
    state = scan([entry], "key").state
    assert fired(scan([entry], "key", "-", state=state, dice=None)) == [0]


def test_chat_that_did_not_grow_ends_an_effect(scan: Scan, fired: Fired) -> None:
    entry = attrs.evolve(KEYED, sticky=5)
    first = scan([entry], "-", "key")
    assert fired(scan([entry], "-", "swiped", state=first.state)) == []


def test_edited_entry_loses_its_effect_and_the_record_stays(scan: Scan) -> None:
    entry = attrs.evolve(KEYED, sticky=2)
    first = scan([entry], "key")
    edited = attrs.evolve(entry, content="y")
    second = scan([edited], "key", "-", state=first.state)
    assert second.decisions[0].reason is Reason.PRIMARY_KEY_MISS
    assert second.state == first.state
    assert scan([edited], "key", "-", "-", state=second.state).state == MatchState()


def test_dry_run_neither_uses_nor_changes_effects(scan: Scan, fired: Fired) -> None:
    entry = attrs.evolve(KEYED, sticky=5)
    first = scan([entry], "key")
    dry = {"dry_run": True}
    assert fired(scan([entry], "key", "-", state=first.state, context=dry)) == []
    assert scan([entry], "key", context=dry).state == MatchState()


def test_record_of_an_entry_is_known_by_its_hash(scan: Scan) -> None:
    entry = attrs.evolve(KEYED, sticky=5)
    (record,) = scan([entry], "key").state.sticky.values()
    book = NamedBook(name="b", book=WorldBook(entries=(entry,)))
    index = compile_index([book])
    assert index.hash_of(EntryId(book="b", index=0)) == record.hash
    with pytest.raises(LookupError):
        index.hash_of(EntryId(book="c", index=0))


def test_record_under_another_name_is_a_matter_of_the_profile(scan: Scan, fired: Fired) -> None:
    entry = attrs.evolve(KEYED, sticky=5)
    (record,) = scan([entry], "key").state.sticky.values()
    state = MatchState(sticky={"other.9": record})
    assert fired(scan([entry], "key", "-", state=state)) == [0]
    assert fired(scan([entry], "key", "-", state=state, settings={"profile": "safe"})) == []


def test_entry_without_the_effect_loses_its_record(scan: Scan) -> None:
    entry = attrs.evolve(KEYED, cooldown=9)
    (record,) = scan([entry], "key").state.cooldown.values()
    state = MatchState(sticky={"b.0": record})
    assert scan([entry], "key", "-", state=state).state == MatchState()


def test_state_is_that_of_the_chat_metadata() -> None:
    document = {
        "sticky": {"b.0": {"hash": 5, "start": 1, "end": 3, "protected": False, "by": "x"}},
        "cooldown": {},
    }
    state = state_from_json(document)
    assert state.sticky["b.0"] == TimedRecord(hash=5, start_messages=1, end_messages=3)
    assert state_to_json(state) == document


@pytest.mark.parametrize(
    "odd", [None, 0, "", [], {"sticky": 3}, {"sticky": {"a.1": None, "a.2": 7, "a.3": "x"}}]
)
def test_odd_state_is_dropped(odd: object) -> None:
    assert state_from_json(odd) == MatchState()


def test_record_without_an_end_never_ends(scan: Scan) -> None:
    entries = [{"uid": 0, "key": ["key"], "sticky": "soon", "content": "x"}]
    state = scan(entries, "key").state
    assert state_to_json(state)["sticky"]["b.0"]["end"] is None
    later = scan(entries, *(["-"] * 50), state=state)
    assert later.decisions[0].reason is Reason.STICKY
