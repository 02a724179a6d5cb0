"""Regular expression keys: JavaScript's matches, and never longer than allowed."""

import threading
import time
from collections.abc import Callable

import pytest

from tavern_format import Entry, parse_key_regex
from tavern_matcher import (
    BoundedPattern,
    KeyKind,
    MatchResult,
    PlaceKind,
    Reason,
    RegexFault,
    RegexLimits,
    compile_bounded,
)

Scan = Callable[..., MatchResult]
Fired = Callable[[MatchResult], list[object]]
SLOW = ("/(a|aa)+$/", "/(a|a)+$/", "/^.?(a+)+$/s", "/(?:\\w+\\s?)*end/", "/(x+x+)+y/")
BAIT = "a" * 60 + "x" * 60 + " " + "word " * 40 + "!"


def pattern_of(key: str, limits: RegexLimits | None = None) -> BoundedPattern:
    source = parse_key_regex(key)
    assert source is not None
    done = compile_bounded(source, limits)
    assert isinstance(done, BoundedPattern)
    return done


@pytest.mark.parametrize("key", SLOW)
def test_slow_pattern_costs_its_time_and_no_more(scan: Scan, fired: Fired, key: str) -> None:
    began = time.perf_counter()
    result = scan([Entry(uid=0, keys=(key,)), Entry(uid=1, keys=("word",))], BAIT)
    took = time.perf_counter() - began
    assert fired(result) == [1]
    assert result.decisions[0].reason in (Reason.REGEX_TIMEOUT, Reason.PRIMARY_KEY_MISS)
    assert took < 2


def test_time_out_is_a_reason_and_a_diagnostic(scan: Scan) -> None:
    result = scan([Entry(uid=0, keys=("ok", SLOW[0]))], BAIT)
    assert result.decisions[0].reason is Reason.REGEX_TIMEOUT
    (found,) = result.diagnostics
    assert (found.code, found.path) == ("REGEX_KEY_TIMEOUT", "/books/0/entries/0/keys/1")


def test_many_slow_patterns_share_one_limit(scan: Scan, fired: Fired) -> None:
    entries = [Entry(uid=at, keys=(f"/(a|aa|{at}b)+$/",)) for at in range(60)]
    limits = RegexLimits(search_s=0.02, match_s=0.1)
    began = time.process_time()
    result = scan(
        [*entries, Entry(uid=99, keys=("word",))], BAIT, settings={"regex_limits": limits}
    )
    took = time.process_time() - began
    assert fired(result) == [99]
    assert {one.reason for one in result.decisions[:60]} == {Reason.REGEX_TIMEOUT}
    assert took < 1


def test_pattern_that_overruns_on_a_long_text_uses_up_what_is_left(scan: Scan) -> None:
    entries = [Entry(uid=at, keys=(f"/\\w+\\d{{1,{at + 1}}}/",)) for at in range(40)]
    began = time.process_time()
    result = scan(entries, "a" * 65_000)
    assert time.process_time() - began < 0.75
    assert {one.reason for one in result.decisions} == {Reason.REGEX_TIMEOUT}


def test_pattern_that_was_given_up_is_not_tried_again_on_the_same_text(
    scan: Scan, fired: Fired
) -> None:
    entries = [Entry(uid=at, keys=(SLOW[0],)) for at in range(40)]
    other = Entry(uid=99, keys=("/(?:w|q)ord/",), order=1)
    result = scan([*entries, other], BAIT)
    assert fired(result) == [99]
    assert {one.reason for one in result.decisions[:40]} == {Reason.REGEX_TIMEOUT}
    assert len(result.diagnostics) == 40 + 1


def test_slow_patterns_in_threads_stop_too(scan: Scan) -> None:
    reasons: list[Reason] = []

    def work() -> None:
        reasons.append(scan([Entry(keys=(SLOW[0],))], BAIT).decisions[0].reason)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert reasons == [Reason.REGEX_TIMEOUT] * 4


@pytest.mark.parametrize(
    ("key", "text", "at"),
    [
        ("/m[oö]{2}n/", "the moon", [4, 8]),
        ("/MOON/i", "the moon", [4, 8]),
        ("/moon\\/sun/", "moon/sun", [0, 8]),
        ("/.$/u", "a🦊", [1, 2]),
        ("/\\bmoon\\b/", "moonlight, moon", [11, 15]),
    ],
)
def test_place_of_a_match_is_told(scan: Scan, key: str, text: str, at: list[int]) -> None:
    (decision,) = scan([Entry(keys=(key,))], text).decisions
    (hit,) = decision.matches
    assert (hit.kind, hit.place, [hit.start_chars, hit.end_chars]) == (KeyKind.REGEX, "0", at)


def test_match_over_two_messages_is_told_as_such(scan: Scan) -> None:
    (decision,) = scan([Entry(keys=("/one[^]+two/",))], "two", "one").decisions
    (hit,) = decision.matches
    assert (hit.place_kind, hit.place, hit.start_chars, hit.end_chars) == (
        PlaceKind.BETWEEN, "", 1, 9,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("key", "exact", "repaired"),
    [
        ("/^cat/", False, True),
        ("/^\\x01cat/", True, True),
        ("/^dog/", False, False),
        ("/^dog/m", False, True),
        ("/\\x01dog/", True, True),
        ("/dog$/", True, True),
        ("/cat$/", False, False),
    ],
)
def test_start_of_the_newest_message(
    scan: Scan,
    key: str,
    exact: bool,  # noqa: FBT001
    repaired: bool,  # noqa: FBT001
) -> None:
    for profile, fires in (("st-1.19", exact), ("safe", repaired)):
        result = scan([Entry(keys=(key,))], "dog", "cat", settings={"profile": profile})
        assert result.decisions[0].fired is fires, profile


def test_patterns_can_be_switched_off(scan: Scan) -> None:
    result = scan([Entry(keys=("/cat/",))], "cat", settings={"regex_keys": False})
    assert result.decisions[0].reason is Reason.REGEX_DISABLED
    assert [one.code for one in result.diagnostics] == ["REGEX_KEY_DISABLED"]


def test_what_is_no_pattern_is_searched_as_text(scan: Scan) -> None:
    result = scan([Entry(keys=("/(/",))], "look: /(/")
    assert result.decisions[0].reason is Reason.PRIMARY_KEY_MATCH
    assert result.diagnostics[0].code == "REGEX_KEY_INVALID"


def test_slow_pattern_matters_only_where_it_would_decide(scan: Scan) -> None:
    both = {"keys": ("word",), "secondary_keys": ("word", SLOW[0])}
    assert scan([Entry(**both)], BAIT).decisions[0].fired  # type: ignore[arg-type]
    slow = {"keys": ("word",), "secondary_keys": (SLOW[0],), "selective_logic": 2}
    (decision,) = scan([Entry(**slow)], BAIT).decisions  # type: ignore[arg-type]
    assert decision.reason is Reason.REGEX_TIMEOUT


def test_search_gives_groups_and_goes_on_where_it_is_told() -> None:
    pattern = pattern_of("/(c)(x)?at/")
    subject = pattern.subject("cat cat")
    first = pattern.search(subject)
    assert first.spans == ((0, 3), (0, 1), (-1, -1))
    second = pattern.search(subject, start=3)
    assert second.spans is not None
    assert second.spans[0] == (4, 7)
    assert pattern.search(subject, start=5).spans is None
    assert 0 < first.spent_s < 0.025


def test_sticky_pattern_matches_where_the_search_begins() -> None:
    pattern = pattern_of("/cat/y")
    assert pattern.search("a cat").spans is None
    assert pattern.search("a cat", start=2).spans == ((2, 5),)


def test_time_that_is_left_bounds_a_search() -> None:
    pattern = pattern_of(SLOW[0], RegexLimits(search_s=5))
    began = time.process_time()
    done = pattern.search(BAIT, time_left_s=0.01)
    assert (done.timed_out, done.spans) == (True, None)
    assert time.process_time() - began < 1
    assert pattern.search("b", time_left_s=0).timed_out


@pytest.mark.parametrize("separator", ["\n", " "])
def test_long_text_is_searched_in_pieces(separator: str) -> None:
    pattern = pattern_of("/needle$/", RegexLimits(text_chars=1000))
    line = f"hay{separator}" * 100
    assert pattern.search(f"{line * 20}needle").spans == ((8000, 8006),)
    # The end of a piece is not the end of the text.
    assert pattern.search(f"needle{separator}{line * 20}").spans is None


def test_pattern_that_cannot_be_run_says_why() -> None:
    source = parse_key_regex(f"/{'a' * 5000}/")
    assert source is not None
    fault = compile_bounded(source)
    assert isinstance(fault, RegexFault)
    assert (fault.code, fault.invalid) == ("PATTERN_TOO_LONG", False)
