"""What would have to change for an entry to fire."""

import random
from typing import Any

import attrs
import pytest

from tavern_format import CharacterFilter, Entry, WorldBook
from tavern_matcher import (
    ChangeKind,
    EntryId,
    MatchSettings,
    MatchState,
    NamedBook,
    Reason,
    ScanContext,
    ScanMessage,
    SeededDice,
    TimedRecord,
    WhatIf,
    compile_index,
    what_if,
)

BASE = Entry(uid=0, keys=("Fox",), content="text")
CONTEXT = ScanContext(
    messages=tuple(
        ScanMessage(identity=str(at), text=text)
        for at, text in enumerate(("the Fox", "a foxglove", "nothing", "here"))
    )
)


def ask(changes: dict[str, Any], *others: Entry, **more: Any) -> WhatIf:
    settings = MatchSettings(**more.pop("settings", {}))
    entries = (attrs.evolve(BASE, **changes), *others)
    index = compile_index([NamedBook(name="b", book=WorldBook(entries=entries))], settings)
    more.setdefault("dice", lambda _: 0.5)
    return what_if(index, CONTEXT, EntryId(book="b", index=0), **more)


def kinds(answer: WhatIf) -> list[tuple[str, list[str]]]:
    return [
        (one.reason.value, [change.kind.value for change in one.changes])
        for one in answer.obstacles
    ]


def test_entry_that_fires_has_nothing_in_its_way() -> None:
    answer = ask({"constant": True})
    assert (answer.obstacles, answer.decision.reason) == ((), Reason.CONSTANT)
    assert answer.sentence == "Entry 0 fired because it is constant: it needs no key."


@pytest.mark.parametrize(
    ("changes", "expected", "value"),
    [
        ({}, ["scan-depth", "text"], 3),
        ({"case_sensitive": True}, ["scan-depth", "text"], 4),
        ({"match_whole_words": True, "scan_depth": 3}, ["scan-depth", "whole-words", "text"], 4),
        ({"case_sensitive": True, "scan_depth": 3}, ["scan-depth", "case", "text"], 4),
        ({"keys": ("owl",)}, ["text"], "owl"),
    ],
)
def test_keys_are_looked_for_where_the_scan_did_not_look(
    changes: dict[str, Any], expected: list[str], value: object
) -> None:
    answer = ask(changes)
    assert kinds(answer) == [("primary-key-miss", expected)]
    assert answer.obstacles[0].changes[0].value == value


@pytest.mark.parametrize(
    ("changes", "reason", "kind"),
    [
        ({"keys": ()}, Reason.NO_KEYS, ChangeKind.KEYS),
        ({"content": "@@dont_activate\nx"}, Reason.DECORATOR_DONT_ACTIVATE, ChangeKind.DECORATOR),
        (
            {"constant": True, "delay_until_recursion": 1},
            Reason.WAITS_FOR_RECURSION,
            ChangeKind.RECURSION,
        ),
        ({"keys": ("here",), "secondary_keys": ("zebra",)}, Reason.SECONDARY_KEYS_MISS,
         ChangeKind.SECONDARY_KEYS),
        ({"keys": ("/(/",)}, Reason.REGEX_INVALID, ChangeKind.REGEX),
        ({"constant": True, "probability": 20}, Reason.PROBABILITY_FAILED, ChangeKind.PROBABILITY),
    ],
)  # fmt: skip
def test_reason_has_its_way_out(changes: dict[str, Any], reason: Reason, kind: ChangeKind) -> None:
    answer = ask(changes)
    assert kinds(answer) == [(reason.value, [kind.value])]
    assert all(one.sentence.endswith(".") for one in answer.obstacles[0].changes)


def test_all_obstacles_are_named_not_only_the_first() -> None:
    answer = ask(
        {
            "enabled": False,
            "triggers": ("swipe", "continue"),
            "delay": 9,
            "character_filter": CharacterFilter(names=("Ann",)),
            "keys": ("nothing", "x"),
            "scan_depth": 1,
        }
    )
    assert kinds(answer) == [
        ("disabled", ["entry-switch"]),
        ("trigger-mismatch", ["generation", "generation"]),
        ("character-filtered", ["character"]),
        ("delayed", ["chat-length"]),
        ("primary-key-miss", ["scan-depth", "text"]),
    ]
    assert [one.changes[0].value for one in answer.obstacles] == [None, "swipe", None, 9, 2]


def test_cooldown_says_how_long() -> None:
    entry = attrs.evolve(BASE, constant=True, cooldown=5)
    index = compile_index([NamedBook(name="b", book=WorldBook(entries=(entry,)))])
    record = TimedRecord(
        hash=index.hash_of(EntryId(book="b", index=0)), start_messages=1, end_messages=6
    )
    answer = ask({"constant": True, "cooldown": 5}, state=MatchState(cooldown={"b.0": record}))
    assert kinds(answer) == [("cooldown", ["chat-length"])]
    assert answer.obstacles[0].changes[0].value == 6


def test_group_and_budget_are_named() -> None:
    rival = Entry(uid=1, constant=True, group="g", group_override=True)
    assert kinds(ask({"constant": True, "group": "g"}, rival)) == [("group-loser", ["group"])]
    answer = ask({"constant": True}, settings={"budget_cap_tokens": 3}, count_tokens=len)
    assert kinds(answer) == [("budget-exceeded", ["budget"])]
    assert answer.obstacles[0].changes[0].value == 6


def test_what_waits_behind_the_keys_is_foreseen() -> None:
    fox = {"keys": ("owl",), "group": "g", "probability": 20, "content": "x" * 20}
    rival = Entry(uid=1, constant=True, group="g", group_override=True, content="y")
    answer = ask(fox, rival, settings={"budget_cap_tokens": 9}, count_tokens=len)
    first, *others = answer.obstacles
    assert (first.reason, first.foreseen, first.sentence) == (
        Reason.PRIMARY_KEY_MISS,
        False,
        answer.sentence,
    )
    start = "Entry 0 would still not fire although nothing else holds it back: "
    assert [(one.reason.value, one.sentence.removeprefix(start)) for one in others] == [
        ("group-loser", "in its inclusion group “g” another member was taken."),
        ("probability-failed", "50 was drawn, above its chance of 20 %."),
        ("budget-exceeded", "with it 21 tokens would be used, which uses up the budget of 9."),
    ]
    assert all(one.foreseen for one in others)
    assert [one.changes[0].value for one in answer.obstacles] == ["owl", None, 50, 22]


def test_draw_that_nobody_has_is_named_and_not_guessed() -> None:
    fox = {"keys": ("owl",), "group": "g", "probability": 20, "delay_until_recursion": 1}
    answer = ask(fox, Entry(uid=1, constant=True, group="g"), dice=None)
    open_ends = {
        one.reason.value: one.sentence.removeprefix("Whether it would pass ")
        for one in answer.obstacles
        if one.foreseen
    }
    assert open_ends == {
        "group-loser": "the inclusion group “g” is up to a draw, and no dice says which.",
        "probability-failed": "its chance is up to a draw, and no dice says which.",
    }
    assert [one.reason.value for one in answer.obstacles if not one.foreseen] == [
        "waits-for-recursion",
        "primary-key-miss",
    ]


def test_weight_and_its_share_of_the_draws_are_told() -> None:
    answer = ask(
        {"keys": ("owl",), "group": "g", "group_weight": 50},
        Entry(uid=1, constant=True, group="g", group_weight=150),
    )
    (change,) = answer.obstacles[1].changes
    assert change.value == 50
    assert "raise its weight of 50, which wins 25 % of the draws" in change.sentence


@pytest.mark.parametrize("profile", ["st-1.19", "safe"])
def test_what_is_foreseen_comes_true(profile: str) -> None:
    """A key that is found instead of missed changes nothing else: constant entries need none."""
    reasons: set[Reason] = set()
    for seed in range(150):
        luck = random.Random(seed)  # noqa: S311 - a repeatable test
        others = [
            Entry(
                uid=uid,
                constant=luck.random() < 0.6,
                keys=("here",),
                group=luck.choice(("", "g", "h", "g, h")),
                probability=luck.choice((100, 100, 40)),
                content="fox " * luck.randint(1, 4),
                order=luck.randint(0, 9),
            )
            for uid in range(1, 6)
        ]
        own = {"keys": ("owl",), "group": luck.choice(("", "g", "g, h")), "order": 5}
        own["probability"] = luck.choice((100, 30))
        more = {
            "settings": {"profile": profile, "recursive": True, "budget_cap_tokens": 30},
            "count_tokens": len,
            "dice": SeededDice(str(seed)),
        }
        foreseen = [one.reason for one in ask(own, *others, **more).obstacles if one.foreseen]
        real = ask(own | {"constant": True}, *others, **more).decision
        assert real.reason is (foreseen[0] if foreseen else Reason.CONSTANT)
        reasons.add(real.reason)
    assert len(reasons) >= 5


def test_entry_of_no_book_is_the_callers_mistake() -> None:
    with pytest.raises(LookupError):
        what_if(compile_index([]), CONTEXT, EntryId(book="b", index=0))


def test_newest_message_is_not_called_an_older_one() -> None:
    answer = ask({"keys": ("here",), "scan_depth": 0})
    assert answer.obstacles[0].changes[0].sentence == (
        "Raise the scan depth to 1: the newest message has one of its keys."
    )
