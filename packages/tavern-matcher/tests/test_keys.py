"""How one key is searched in one message."""

import json
from pathlib import Path
from typing import Any

import pytest

from tavern_format import Entry, WorldBook
from tavern_matcher import (
    Index,
    KeyKind,
    KeyMatch,
    MatchProfile,
    MatchSettings,
    NamedBook,
    Reason,
    ScanContext,
    ScanMessage,
    compile_index,
    match,
)

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases" / "keys.json").read_text(encoding="utf-8")
)


def index_of(entry: Entry, settings: MatchSettings) -> Index:
    return compile_index([NamedBook(name="b", book=WorldBook(entries=(entry,)))], settings)


def context_of(text: str) -> ScanContext:
    return ScanContext(messages=(ScanMessage(identity="m", speaker="Ann", text=text),))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_key(case: dict[str, Any]) -> None:
    settings = MatchSettings(
        include_names=False,
        case_sensitive=case.get("case_sensitive", False),
        match_whole_words=case.get("whole_words", False),
    )
    index = index_of(Entry(keys=(case["key"],)), settings)
    (decision,) = match(index, context_of(case["text"])).decisions
    if case["at"] is None:
        assert (decision.reason, decision.matches) == (Reason.PRIMARY_KEY_MISS, ())
        return
    start, end = case["at"]
    start_utf16, end_utf16 = case.get("utf16", case["at"])
    expected = KeyMatch(
        key=case["key"],
        kind=KeyKind(case["kind"]),
        place="m",
        start_chars=start,
        end_chars=end,
        start_utf16=start_utf16,
        end_utf16=end_utf16,
    )
    assert (decision.reason, decision.matches) == (Reason.PRIMARY_KEY_MATCH, (expected,))


@pytest.mark.parametrize(
    ("own", "setting", "fires"),
    [(None, True, False), (None, False, True), (False, True, True), (True, False, False)],
)
def test_switch_of_the_entry_wins_over_the_setting(
    own: bool | None,  # noqa: FBT001 - a case
    setting: bool,  # noqa: FBT001
    fires: bool,  # noqa: FBT001
) -> None:
    by_case = Entry(keys=("Cat",), case_sensitive=own)
    by_word = Entry(keys=("ca",), match_whole_words=own)
    for entry, settings in (
        (by_case, MatchSettings(case_sensitive=setting)),
        (by_word, MatchSettings(match_whole_words=setting)),
    ):
        (decision,) = match(index_of(entry, settings), context_of("a cat")).decisions
        assert decision.fired is fires


@pytest.mark.parametrize(
    ("profile", "fires", "code"),
    [
        (MatchProfile.ST_1_19, True, "BLANK_KEY_MATCHES_EVERYTHING"),
        (MatchProfile.SAFE, False, "BLANK_KEY_IGNORED"),
    ],
)
@pytest.mark.parametrize("messages", [(), (ScanMessage(identity="m", text="anything"),)])
def test_blank_key_is_a_matter_of_the_profile(
    profile: MatchProfile,
    fires: bool,  # noqa: FBT001
    code: str,
    messages: tuple[ScanMessage, ...],
) -> None:
    index = index_of(Entry(keys=("  ",)), MatchSettings(profile=profile))
    assert [found.code for found in index.diagnostics] == [code]
    (decision,) = match(index, ScanContext(messages=messages)).decisions
    assert decision.fired is fires
    assert [hit.kind for hit in decision.matches] == [KeyKind.BLANK] * fires


def test_macros_in_keys_are_expanded_by_the_caller() -> None:
    index = index_of(Entry(keys=("{{char}}",)), MatchSettings())
    result = match(index, context_of("I met Maren."), expand=lambda _: "maren")
    (decision,) = result.decisions
    assert decision.matches[0].key == "{{char}}"
    assert (decision.matches[0].start_chars, decision.matches[0].end_chars) == (6, 11)


def test_macros_in_keys_without_expansion_are_named() -> None:
    index = index_of(Entry(uid=4, keys=("{{char}}",)), MatchSettings())
    result = match(index, context_of("I met Maren."))
    assert [(found.code, found.path) for found in result.diagnostics] == [
        ("KEY_MACRO_NOT_EXPANDED", "/books/0/entries/0/keys")
    ]


def test_every_primary_key_that_is_found_is_recorded() -> None:
    index = index_of(Entry(keys=("cat", "dog", "owl")), MatchSettings())
    (decision,) = match(index, context_of("owl and cat")).decisions
    assert [hit.key for hit in decision.primary_matches] == ["cat", "owl"]
