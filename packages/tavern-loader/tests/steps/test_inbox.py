"""The mirrored inbox and what a scan reads of it, beyond the recorded cases of conformance.

Those are cases of the plugin's own rules; here are the repaired ones, and what no record covers.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tavern_loader.domain.activation import ActivationContext, activate
from tavern_loader.domain.history import History, Speaker, SpokenMessage, read_history
from tavern_loader.domain.inbox import (
    SPLICED,
    InboxBounds,
    InboxProfile,
    PendingInput,
    clear_claimed,
    observe,
    reclaim,
    replay,
)
from tavern_loader.domain.utf16 import size_utf16, tail_utf16

SMILE = "\U0001f600"


def message(text: str, identity: str | None = None, **changes: Any) -> dict[str, Any]:
    made = {"id": identity, "role": "user", "content": [{"type": "text", "text": text}]}
    return {**made, **changes}


def insert(*messages: dict[str, Any], start: int = 0) -> dict[str, Any]:
    return {"target": "next-turn", "start": start, "inserted": list(messages)}


def remove(count: int, **changes: Any) -> dict[str, Any]:
    return {"target": "next-turn", "start": 0, "removedCount": count, "inserted": [], **changes}


def observed(*edits: dict[str, Any], **given: Any) -> PendingInput:
    pending = PendingInput(**given)
    for seq, edit in enumerate(edits):
        pending = observe(pending, SPLICED, edit, seq).pending
    return pending


def claimed(*texts: str, **given: Any) -> PendingInput:
    edits = (insert(*map(message, texts)), remove(len(texts)))
    return observed(*edits, **given)


def read(pending: PendingInput, *history: SpokenMessage) -> ActivationContext:
    return activate(History(messages=history), pending)[0]


def spoken(text: str, identity: str | None = None) -> SpokenMessage:
    return SpokenMessage(id=identity, speaker=Speaker.ASSISTANT, text=text)


@pytest.mark.parametrize(
    ("profile", "truncated"), [(InboxProfile.SAFE, False), (InboxProfile.DSH_TAVERN, True)]
)
def test_a_message_without_text_is_read_in_full(profile: InboxProfile, *, truncated: bool) -> None:
    context = read(claimed("", "bell", profile=profile))
    assert (context.text, context.is_truncated) == ("bell", truncated)
    assert context.pending_messages == 2


@pytest.mark.parametrize(
    ("profile", "text"),
    [(InboxProfile.SAFE, SMILE), (InboxProfile.DSH_TAVERN, f"\ude00{SMILE}")],
)
def test_a_character_is_kept_whole_or_not_at_all(profile: InboxProfile, text: str) -> None:
    bounds = InboxBounds(scan_utf16=3)
    context = read(claimed(SMILE * 2, bounds=bounds, profile=profile))
    assert (context.text, context.is_truncated) == (text, True)


def test_what_is_in_the_history_is_not_read_twice() -> None:
    pending = observed(insert(message("a", "1"), message("b", "2"), message("a")), remove(3))
    context = read(pending, spoken("a", "1"))
    assert [one.text for one in context.messages] == ["a", "b", "a"]
    assert (context.duplicate_messages, context.pending_messages) == (1, 2)


def test_a_batch_is_read_once_and_can_be_put_back() -> None:
    before = claimed("bell")
    _, after = activate(History(), before)
    assert read(after).text == ""
    assert read(reclaim(after, before)).text == "bell"


def test_messages_of_other_sources_have_no_text() -> None:
    edits = (
        insert(message("bell", source={"kind": "subagent-settled"}), message("x", role="system")),
        remove(2),
    )
    context = read(observed(*edits))
    assert (context.text, context.pending_messages, context.length_messages) == ("", 2, 0)


def test_a_long_batch_keeps_its_end() -> None:
    bounds = InboxBounds(queued_utf16=10, scan_messages=5)
    pending = PendingInput(bounds=bounds)
    for text in ("aaaaaaaa", "bbbbbbbb"):
        pending = observe(pending, SPLICED, insert(message(text))).pending
        pending = observe(pending, SPLICED, remove(1), 7).pending
    assert [one.text for one in pending.claimed] == ["bbbbbbbb"]
    assert pending.claimed_omitted == 1


def test_messages_in_front_push_the_last_ones_out() -> None:
    bounds = InboxBounds(queued_messages=2)
    edits = (insert(message("a"), message("b")), insert(message("c")))
    queue = observed(*edits, bounds=bounds).queues["next-turn"]
    assert [one.text for one in queue.items] == ["c", "a"]
    assert (queue.omitted, len(queue)) == (1, 3)


def test_messages_that_were_not_kept_can_be_removed() -> None:
    bounds = InboxBounds(queued_messages=1)
    edits = (
        insert(message("a"), message("b"), message("c")),
        {"target": "next-turn", "start": 1, "removedCount": 2, "inserted": [message("d")]},
    )
    queue = observed(*edits, bounds=bounds).queues["next-turn"]
    assert ([one.text for one in queue.items], queue.omitted) == (["a"], 1)


def event(kind: str, data: dict[str, Any]) -> tuple[str, object, int]:
    return kind, data, 0


PAST = [
    event(SPLICED, insert(message("old"))),
    event("turn/start", {}),
    event(SPLICED, remove(1)),
    event("step/start", {}),
    event("turn/end", {}),
    event(SPLICED, insert(message("new"), message("next"))),
    event("turn/start", {}),
    event(SPLICED, remove(1)),
]


def test_a_session_between_turns_has_no_batch() -> None:
    pending = replay(PendingInput(), PAST, is_running=False)
    assert read(pending).text == ""
    assert [one.text for one in pending.queues["next-turn"].items] == ["next"]


def test_a_session_whose_step_is_being_prepared_has_its_batch() -> None:
    assert read(replay(PendingInput(), PAST, is_running=True)).text == "new"


def test_a_session_whose_step_has_begun_has_no_batch() -> None:
    past = [*PAST, event("step/start", {})]
    assert read(replay(PendingInput(), past, is_running=True)).text == ""


def test_numbers_of_claims_are_the_latest_four() -> None:
    pending = PendingInput()
    for seq in range(6):
        pending = observe(pending, SPLICED, insert(message("a")), seq).pending
        pending = observe(pending, SPLICED, remove(1), 10 + seq).pending
    assert pending.claim_event_seqs == (12, 13, 14, 15)
    assert clear_claimed(pending).claim_event_seqs == ()


TEXTS = some.lists(some.text(alphabet=f"ab{SMILE}\n\ud83d", max_size=12), max_size=6)


@given(TEXTS, TEXTS, some.integers(1, 40), some.integers(1, 8))
def test_no_bound_is_exceeded_and_no_character_cut(
    durable: list[str], pending: list[str], limit: int, messages: int
) -> None:
    bounds = InboxBounds(scan_utf16=limit, scan_messages=messages)
    context = read(claimed(*pending, bounds=bounds), *map(spoken, durable))
    whole = [text for text in (*durable, *pending) if text]
    assert size_utf16(context.text) <= limit
    assert len(context.messages) <= messages
    for found, given_text in zip(reversed(context.messages), reversed(whole), strict=False):
        assert given_text.endswith(found.text)
    assert context.is_truncated == ([one.text for one in context.messages] != whole)


@given(some.text(max_size=30), some.integers(0, 40))
def test_the_end_of_a_text_is_its_longest_that_fits(text: str, limit: int) -> None:
    tail = tail_utf16(text, limit)
    assert text.endswith(tail)
    assert size_utf16(tail) <= limit
    longer = text[len(text) - len(tail) - 1 :]
    assert tail == text or size_utf16(longer) > limit


# --- which messages are conversation -----------------------------------------------------------

DERIVED: list[dict[str, Any]] = [
    message("one", "1", source={"kind": "user"}),
    message("plain", "2"),
    message("Current runtime context.", "3", source={"kind": "plugin", "form": "snapshot"}),
    message("Current runtime context.", "4", source={"kind": "runtime-context"}),
    message("settled", "5", source={"kind": "subagent-settled"}),
    message("said", "6", role="assistant", source={"kind": "model"}),
    message("system", "7", role="system", source={"kind": "system"}),
    message("answer of a tool", "8", source={"kind": "tool", "callId": "c"}),
    {"id": "9", "role": "user", "source": {"kind": "user"}, "content": [{"type": "image"}]},
    {"id": "10", "role": "user", "content": "a text by itself"},
    {"role": ["user"], "content": None},
]


def test_only_what_people_and_the_model_say_is_conversation() -> None:
    found = read_history(
        DERIVED, {"user/user": 2, "assistant/model": 1, "user/tool": 9, "user/": 1}
    )
    assert [(one.id, one.speaker.value) for one in found.messages] == [
        ("1", "user"),
        ("2", "user"),
        ("6", "assistant"),
        ("10", "user"),
    ]
    assert (found.earlier_user, found.earlier_assistant, found.earlier) == (3, 1, 4)


@pytest.mark.parametrize(
    ("messages", "earlier", "opens"),
    [
        ([], {}, True),
        ([message("a")], {}, True),
        ([message("a"), message("b")], {}, False),
        ([message("a")], {"user/": 1}, False),
        ([message("a"), message("b", role="assistant")], {}, False),
        ([], {"assistant/model": 1}, False),
        ([message("a"), message("b", source={"kind": "tool"})], {"user/tool": 3}, True),
    ],
)
def test_a_chat_opens_until_somebody_answers(
    messages: list[dict[str, Any]], earlier: dict[str, int], *, opens: bool
) -> None:
    assert read_history(messages, earlier).is_opening is opens


def test_blocks_of_a_message_are_lines() -> None:
    blocks = [
        {"type": "text", "text": "a"},
        {"type": "image"},
        {"type": "text", "text": 1},
        3,
        {"type": "text", "text": "b"},
    ]
    (found,) = read_history([{"role": "user", "content": blocks}]).messages
    assert found.text == "a\nb"
