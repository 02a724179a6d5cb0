"""Which reason an entry gets, what is said about it, and that nothing is passed over in silence."""

import gc
import json
import weakref
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tavern_format import (
    CharacterFilter,
    Diagnostic,
    Entry,
    Position,
    SelectiveLogic,
    Severity,
    WorldBook,
    parse_world_book,
)
from tavern_matcher import (
    Decision,
    EntryId,
    MatchProfile,
    MatchResult,
    MatchSettings,
    NamedBook,
    Reason,
    ScanCharacter,
    ScanContext,
    ScanMessage,
    ScanState,
    compile_index,
    explain,
    match,
)
from tavern_matcher.explain import SENTENCES as SENTENCES_BY_REASON

Scan = Callable[..., Any]

CONTEXT = ScanContext(
    messages=(
        ScanMessage(identity="1", speaker="Bo", text="the old mill"),
        ScanMessage(identity="2", speaker="Ann", text="a red fox"),
    ),
    character=ScanCharacter(avatar_name="Maren", tags=("t1",)),
)
BASE = Entry(uid=7, comment="Fox", keys=("fox",), content="text")

SENTENCES = [
    (
        {},
        Reason.PRIMARY_KEY_MATCH,
        "“Fox” fired because its key “fox” occurs in message 2 (characters 6-9).",
    ),
    (
        {"comment": "", "match_whole_words": True},
        Reason.PRIMARY_KEY_MATCH,
        "Entry 7 fired because its key “fox” occurs in message 2 (characters 6-9) as a whole word.",
    ),
    (
        {"comment": "", "uid": None, "keys": ("ann",)},
        Reason.PRIMARY_KEY_MATCH,
        (
            "Entry #0 fired because its key “ann” occurs in message 2 (characters 0-3,"
            " counted with the speaker's name)."
        ),
    ),
    (
        {"secondary_keys": ("red", "blue")},
        Reason.SECONDARY_KEYS_MATCH,
        (
            "“Fox” fired because its key “fox” occurs in message 2 (characters 6-9), and it wants"
            " at least one of the secondary keys (“red” found; “blue” not found)."
        ),
    ),
    (
        {"secondary_keys": ("red",), "selective_logic": SelectiveLogic.NOT_ANY},
        Reason.SECONDARY_KEYS_MISS,
        (
            "“Fox” did not fire although its key “fox” occurs in message 2 (characters 6-9): it"
            " wants none of the secondary keys (“red” found)."
        ),
    ),
    (
        {"constant": True, "keys": ()},
        Reason.CONSTANT,
        "“Fox” fired because it is constant: it needs no key.",
    ),
    (
        {"content": "@@activate\ntext", "keys": ()},
        Reason.DECORATOR_ACTIVATE,
        "“Fox” fired because its content begins with @@activate.",
    ),
    (
        {"content": "@@dont_activate\ntext", "constant": True},
        Reason.DECORATOR_DONT_ACTIVATE,
        "“Fox” did not fire because its content begins with @@dont_activate.",
    ),
    (
        {"enabled": False, "constant": True},
        Reason.DISABLED,
        "“Fox” did not fire because it is switched off.",
    ),
    (
        {"triggers": ("swipe", "continue")},
        Reason.TRIGGER_MISMATCH,
        (
            "“Fox” did not fire because it is limited to swipe, continue generations and this is a"
            " normal one."
        ),
    ),
    (
        {"character_filter": CharacterFilter(names=("Other",))},
        Reason.CHARACTER_FILTERED,
        "“Fox” did not fire because its character filter shuts this character out.",
    ),
    (
        {"delay": 3},
        Reason.DELAYED,
        "“Fox” did not fire because it waits until the chat has 3 messages, and it has 2.",
    ),
    (
        {"delay": 10**400},
        Reason.DELAYED,
        "“Fox” did not fire because it waits until the chat has very many messages, and it has 2.",
    ),
    (
        {"probability": 0},
        Reason.PROBABILITY_FAILED,
        (
            "“Fox” did not fire although its key “fox” occurs in message 2 (characters 6-9): 50 was"
            " drawn, above its chance of 0 %."
        ),
    ),
    (
        {"probability": 60},
        Reason.PRIMARY_KEY_MATCH,
        (
            "“Fox” fired because its key “fox” occurs in message 2 (characters 6-9); its chance of"
            " 60 % came up."
        ),
    ),
    (
        {"delay_until_recursion": 2, "constant": True},
        Reason.WAITS_FOR_RECURSION,
        ("“Fox” did not fire because it waits for recursion at level 2, which was not reached."),
    ),
    (
        {"keys": ("/f[aeiou]x/",)},
        Reason.PRIMARY_KEY_MATCH,
        (
            "“Fox” fired because its key “/f[aeiou]x/” occurs in message 2 (characters 6-9) as a"
            " regular expression."
        ),
    ),
    (
        {"keys": (f"/{'f' * 5000}/",)},
        Reason.REGEX_UNTRANSLATABLE,
        (
            "“Fox” did not fire because no key was found, and a regular expression key cannot be"
            " run here."
        ),
    ),
    (
        {"secondary_keys": (f"/{'f' * 5000}/",)},
        Reason.REGEX_UNTRANSLATABLE,
        (
            "“Fox” did not fire although its key “fox” occurs in message 2 (characters 6-9): a"
            " secondary regular expression key cannot be run here."
        ),
    ),
    (
        {"keys": ("/(/",)},
        Reason.REGEX_INVALID,
        (
            "“Fox” did not fire because no key was found, and a regular expression key is none:"
            " JavaScript refuses it."
        ),
    ),
    (
        {"keys": ()},
        Reason.NO_KEYS,
        "“Fox” did not fire because it has no key and is not constant.",
    ),
    (
        {"scan_depth": 0},
        Reason.NOTHING_SCANNED,
        "“Fox” did not fire because its scan depth is 0, so nothing is searched for it.",
    ),
    (
        {"keys": ("owl",), "scan_depth": 1},
        Reason.PRIMARY_KEY_MISS,
        "“Fox” did not fire because its key “owl” does not occur in the newest message.",
    ),
    (
        {"keys": ("a1", "b1", "c1", "d1", "e1", "f1", "g1")},
        Reason.PRIMARY_KEY_MISS,
        (
            "“Fox” did not fire because none of its keys (“a1”, “b1”, “c1”, “d1”, “e1” and 2 more)"
            " occurs in the newest 2 messages."
        ),
    ),
]


def scan(entry: Entry, context: ScanContext = CONTEXT) -> MatchResult:
    books = [NamedBook(name="b", book=WorldBook(entries=(entry,)))]
    return match(compile_index(books, MatchSettings()), context, dice=lambda _: 0.5)


def codes(diagnostics: tuple[Diagnostic, ...]) -> list[str]:
    """List the codes, less the one that every scan with a hit and no budget has."""
    return [found.code for found in diagnostics if found.code != "BUDGET_NOT_EXECUTED"]


@pytest.mark.parametrize(("changes", "reason", "sentence"), SENTENCES)
def test_reason_and_sentence(changes: dict[str, object], reason: Reason, sentence: str) -> None:
    result = scan(attrs.evolve(BASE, **changes))  # type: ignore[arg-type]
    (decision,) = result.decisions
    assert (decision.reason, explain(decision)) == (reason, sentence)
    assert explain(result, decision.entry) == sentence
    assert len(result.activated) == decision.fired


def test_result_is_explained_entry_by_entry() -> None:
    result = scan(BASE)
    with pytest.raises(TypeError, match="needs the entry"):
        explain(result)  # type: ignore[call-overload]
    with pytest.raises(LookupError, match="no entry 3 of a book b"):
        explain(result, EntryId(book="b", index=3))


def test_every_reason_has_a_sentence() -> None:
    assert set(SENTENCES_BY_REASON) == set(Reason)


def test_sentence_without_any_text_says_so() -> None:
    (decision,) = scan(BASE, ScanContext()).decisions
    assert explain(decision) == "“Fox” did not fire because there is no text to search."


def test_decision_holds_all_that_decided() -> None:
    entry = attrs.evolve(BASE, keys=("owl", "mill"), secondary_keys=("no",))
    (decision,) = scan(entry).decisions
    assert attrs.evolve(decision, matches=()) == Decision(
        entry=EntryId(book="b", index=0, uid=7),
        title="Fox",
        reason=Reason.SECONDARY_KEYS_MISS,
        keys=("owl", "mill"),
        secondary_keys=("no",),
        logic=SelectiveLogic.AND_ANY,
        scan_depth_messages=2,
        scanned_messages=2,
        loop=1,
        state=ScanState.INITIAL,
        position=Position.BEFORE,
    )
    assert [(hit.key, hit.place) for hit in decision.matches] == [("mill", "1")]


@pytest.mark.parametrize(
    ("changes", "code", "attribute"),
    [
        ({"keys": ("fox", "/(/")}, "REGEX_KEY_INVALID", "keys/1"),
        (
            {"secondary_keys": ("red", f"/{'x' * 5000}/")},
            "REGEX_KEY_UNTRANSLATABLE",
            "secondary_keys/1",
        ),
        ({"vectorized": True}, "VECTORS_NOT_EXECUTED", "vectorized"),
        ({"automation_id": "x"}, "AUTOMATION_NOT_EXECUTED", "automation_id"),
    ],
)
def test_what_is_not_executed_is_named(
    changes: dict[str, object], code: str, attribute: str
) -> None:
    result = scan(attrs.evolve(BASE, **changes))  # type: ignore[arg-type]
    found = [one for one in result.diagnostics if one.code == code]
    assert [one.path for one in found] == [f"/books/0/entries/0/{attribute}"]
    assert found[0].message.startswith('Entry 7 of book "b" ')


@pytest.mark.parametrize("entry", [BASE, attrs.evolve(BASE, enabled=False, keys=("/x/",))])
def test_plain_entry_and_one_that_is_off_give_no_remark(entry: Entry) -> None:
    assert codes(scan(entry).diagnostics) == []


def test_lack_of_a_budget_is_named_once_something_fired() -> None:
    budget = Diagnostic(
        "BUDGET_NOT_EXECUTED",
        Severity.INFO,
        "/settings/budget_percent",
        (
            "No token budget is applied: the size of the context, or what counts tokens, was not"
            " given. Every entry that fired is in the result."
        ),
    )
    assert scan(BASE).diagnostics == (budget,)
    assert scan(attrs.evolve(BASE, keys=("owl",))).diagnostics == ()


def test_decisions_are_a_sequence_made_on_demand() -> None:
    entries = (BASE, attrs.evolve(BASE, uid=8, keys=("owl",)))
    index = compile_index([NamedBook(name="b", book=WorldBook(entries=entries))])
    first, second = match(index, CONTEXT), match(index, CONTEXT)
    assert first.decisions[1] is first.decisions[1]
    assert first.decisions[:] == (first.decisions[0], first.decisions[1])
    assert first.decisions == second.decisions == tuple(second.decisions)
    assert (first == second, hash(first) == hash(second)) == (True, True)
    assert first.decisions != first.decisions[:1]
    assert repr(first) == "<MatchResult: 1 fired (b:7)>"
    assert repr(first.decisions) == "<Decisions: 2 entries>"


@pytest.mark.parametrize(
    ("found", "character", "lets_in"),
    [
        (CharacterFilter(names=("Maren",)), ScanCharacter(avatar_name="Maren"), True),
        (CharacterFilter(names=("Maren",)), None, False),
        (
            CharacterFilter(names=("Maren",), is_exclude=True),
            ScanCharacter(avatar_name="Maren"),
            False,
        ),
        (CharacterFilter(tags=("t1", "t2")), ScanCharacter(tags=("t2",)), True),
        (CharacterFilter(tags=("t1",)), ScanCharacter(tags=()), False),
        (CharacterFilter(tags=("t1",), is_exclude=True), ScanCharacter(tags=("t1",)), False),
        (
            CharacterFilter(names=("A",), tags=("t1",)),
            ScanCharacter(avatar_name="A", tags=("t2",)),
            False,
        ),
    ],
)
def test_character_filter(
    found: CharacterFilter,
    character: ScanCharacter | None,
    lets_in: bool,  # noqa: FBT001
) -> None:
    context = attrs.evolve(CONTEXT, character=character)
    (decision,) = scan(attrs.evolve(BASE, character_filter=found), context).decisions
    assert decision.fired is lets_in


@pytest.mark.parametrize("character", [None, ScanCharacter(avatar_name="Maren")])
def test_filter_by_tags_that_are_not_known_lets_in_and_is_named(
    character: ScanCharacter | None,
) -> None:
    entry = attrs.evolve(BASE, character_filter=CharacterFilter(tags=("t1",)))
    result = scan(entry, attrs.evolve(CONTEXT, character=character))
    assert [decision.fired for decision in result.decisions] == [True]
    assert codes(result.diagnostics) == ["CHARACTER_TAGS_UNKNOWN"]


def test_decision_of_an_entry_shows_no_control_over_the_sentence() -> None:
    entry = attrs.evolve(BASE, comment="A\nvery  long " + "title " * 20, keys=("owl",))
    (decision,) = scan(entry).decisions
    assert explain(decision) == (
        "“A very long title title title title tit…” did not fire because its key “owl” does not"
        " occur in the newest 2 messages."
    )


def test_item_that_is_no_entry_is_called_by_its_key_in_the_file() -> None:
    document = {"entries": {"4": {"uid": 4, "key": ["k"], "content": "x"}, "9": 5}}
    book = parse_world_book(json.dumps(document).encode()).value
    settings = MatchSettings(profile=MatchProfile.SAFE)
    index = compile_index([NamedBook(name="b", book=book)], settings)
    assert [one.qualified for one in index.order] == ["b:4", "b:9"]
    result = match(index, ScanContext())
    assert explain(result, index.order[1]) == "Item 9 did not fire because it is no entry at all."


@pytest.mark.parametrize(
    ("fields", "settings", "told"),
    [
        ({}, {}, "its probability is no number, and no draw is below that."),
        ({"probability": 20}, {}, "50 was drawn, above its chance of 20 %."),
        (
            {"probability": 50},
            {"profile": "dsh-tavern"},
            "50 was drawn, not below its chance of 50 %.",
        ),
    ],
)
def test_draw_is_told_as_it_was_held_against_the_chance(
    scan: Scan, fields: dict[str, object], settings: dict[str, object], told: str
) -> None:
    base = {"uid": 0, "constant": True, "content": "x", "position": 0, "useProbability": True}
    sentence = explain(scan([base | fields], settings=settings).decisions[0])
    assert sentence == f"Entry 0 did not fire although it is constant: {told}"


def test_budget_is_told_by_what_would_be_used(scan: Scan) -> None:
    entries = [
        {"uid": uid, "constant": True, "content": "xxx", "position": 0, "order": -uid}
        for uid in range(2)
    ]
    result = scan(entries, settings={"budget_cap_tokens": 7}, count_tokens=len)
    assert explain(result.decisions[1]) == (
        "Entry 1 did not fire although it is constant: with it 8 tokens would be used, which uses"
        " up the budget of 7."
    )


def test_widening_is_told_also_of_entries_that_it_did_not_help(scan: Scan) -> None:
    entry = {"uid": 0, "key": ["owl"], "keysecondary": ["wolf"], "selective": True, "content": "x"}
    settings = {"scan_depth_messages": 1, "min_activations": 1}
    decision = scan([entry], "-", "-", "-", "owl", settings=settings).decisions[0]
    assert (decision.reason, decision.scanned_messages) == (Reason.SECONDARY_KEYS_MISS, 4)
    assert (decision.loop, decision.state) == (5, ScanState.MIN_ACTIVATIONS)


def test_result_that_nobody_holds_is_free_without_a_collection(scan: Scan) -> None:
    entry = {"uid": 0, "key": ["owl"], "content": "x", "probability": 50, "useProbability": True}
    gc.collect()
    gc.disable()
    try:
        result = scan([entry], "owl", settings={"recursive": True})
        assert len(result.activated) == 1
        held = weakref.ref(result._scan)
        del result
        assert held() is None
    finally:
        gc.enable()
