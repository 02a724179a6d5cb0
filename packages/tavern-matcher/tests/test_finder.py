"""Two ways to find many texts at once, and what is kept of a text."""

import random
from collections.abc import Sequence

import pytest

from tavern_format import Entry, WorldBook
from tavern_matcher import (
    FinderKind,
    Index,
    MatchSettings,
    NamedBook,
    ScanCache,
    ScanContext,
    ScanMessage,
    compile_index,
    match,
)
from tavern_matcher.finder import Finder, build_finder
from tavern_matcher.keys import is_whole_word
from tavern_matcher.nested_needles import deep_needles
from tavern_matcher.scan_cache import TextHits
from tavern_matcher.text_search import TextSearch

KINDS = (FinderKind.AUTOMATON, FinderKind.PYTHON)
LETTERS = "aab é猫🦊 "


def occurrences(finder: Finder, text: str) -> list[tuple[int, int, int]]:
    return sorted(finder.occurrences(text))


def slowly(needles: Sequence[str], text: str) -> list[tuple[int, int, int]]:
    return sorted(
        (number, at, at + len(needle))
        for number, needle in enumerate(needles)
        for at in range(len(text))
        if text.startswith(needle, at)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(30))
def test_every_occurrence_is_found(kind: FinderKind, seed: int) -> None:
    if kind is FinderKind.AUTOMATON:
        pytest.importorskip("ahocorasick_rs")
    luck = random.Random(seed)  # noqa: S311 - a repeatable test
    needles = list({"".join(luck.choices(LETTERS, k=luck.randint(1, 7))) for _ in range(40)})
    text = "".join(luck.choices(LETTERS, k=300))
    assert occurrences(build_finder(needles, kind), text) == slowly(needles, text)


@pytest.mark.parametrize("kind", FinderKind)
def test_nothing_is_found_where_nothing_is_looked_for(kind: FinderKind) -> None:
    assert occurrences(build_finder((), kind), "text") == []


def test_fallback_is_taken_where_there_is_no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tavern_matcher.finder._automaton", None)
    assert occurrences(build_finder(["a"]), "cat") == [(0, 1, 2)]
    with pytest.raises(ValueError, match="needs the distribution ahocorasick-rs"):
        build_finder(["a"], FinderKind.AUTOMATON)


# Sigma in its three forms, the dotted and the dotless i, the Kelvin sign, half a pair.
ODD_LETTERS = "aAb\u03c3\u03c2\u03a3i\u0130\u0131ß\u212ak龙🦊\u0307\ud83e _1"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(60))
def test_one_pass_finds_what_each_text_holds(kind: FinderKind, seed: int) -> None:
    """Whether the case of a needle counts or not, and whatever its letters become in lower case."""
    if kind is FinderKind.AUTOMATON:
        pytest.importorskip("ahocorasick_rs")
    luck = random.Random(seed)  # noqa: S311 - a repeatable test
    letters = ODD_LETTERS.replace("\ud83e", "")
    words = ["".join(luck.choices(letters, k=luck.randint(1, 3))) for _ in range(30)]
    folded = {needle: at for at, needle in enumerate(sorted({word.lower() for word in words[:15]}))}
    exact = {needle: len(folded) + at for at, needle in enumerate(sorted(set(words[15:])))}
    texts = ["".join(luck.choices(ODD_LETTERS, k=luck.randint(0, 30))) for _ in range(8)]
    search = TextSearch(folded, exact, bytearray([1] * 30), kind)
    expected = [hits_by_hand(text, folded, exact) for text in texts]
    assert search.hits(texts, None) == expected
    assert [search.hits([text], None)[0] for text in texts] == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_needles_that_end_in_very_many_others_are_found_like_any(
    kind: FinderKind, seed: int
) -> None:
    if kind is FinderKind.AUTOMATON:
        pytest.importorskip("ahocorasick_rs")
    luck = random.Random(seed)  # noqa: S311 - a repeatable test
    base = "".join(luck.choices("aA_İ-", k=4))
    ends = [(base * 20)[-length:] for length in range(1, 60)]
    folded = {needle: at for at, needle in enumerate(sorted({end.lower() for end in ends}))}
    exact = {needle: len(folded) + at for at, needle in enumerate(sorted(set(ends)))}
    texts = [
        " ".join("".join(luck.choices((base, "b", "a", "İ"), (9, 1, 1, 1), k=12)) for _ in "ab")
        for _ in range(5)
    ]
    wants_word = bytearray([1] * (len(folded) + len(exact)))
    search = TextSearch(folded, exact, wants_word, kind)
    assert search.hits(texts, None) == [hits_by_hand(text, folded, exact) for text in texts]


def test_run_of_one_letter_is_no_trap_for_a_book_of_its_runs() -> None:
    """All keys at all places together would be eight million hits."""
    entries = tuple(Entry(uid=at, keys=("a" * (at + 1),)) for at in range(500))
    book = NamedBook(name="b", book=WorldBook(entries=entries))
    for words in (False, True):
        index = compile_index([book], MatchSettings(match_whole_words=words))
        fired = match(index, context_of("a" * 16_384)).activated
        # As a whole word only the speaker's name is there.
        assert len(fired) == (1 if words else 500)
    counted = len(deep_needles(key for entry in entries for key in entry.keys))
    assert counted == 500 - 24


def hits_by_hand(text: str, folded: dict[str, int], exact: dict[str, int]) -> TextHits:
    text = text.replace("\ud83e", "\uffff")
    found = {
        (number, is_whole_word(searched, start, end))
        for needles, searched in ((folded, text.lower()), (exact, text))
        for at, start, end in slowly(tuple(needles), searched)
        for number in [tuple(needles.values())[at]]
    }
    return TextHits(
        tuple(sorted({number for number, _ in found})),
        tuple(sorted(number for number, whole in found if whole)),
    )


def index_of(cache: ScanCache | None = None) -> Index:
    entries = tuple(
        Entry(uid=at, keys=(f"k{at}", f"word{at}"), content=f"word{at + 1}") for at in range(50)
    )
    settings = MatchSettings(recursive=True, match_whole_words=True, scan_depth_messages=9)
    return compile_index(
        [NamedBook(name="b", book=WorldBook(entries=entries))], settings, cache=cache
    )


def context_of(*texts: str) -> ScanContext:
    return ScanContext(
        messages=tuple(
            ScanMessage(identity=str(at), speaker="A", text=text) for at, text in enumerate(texts)
        )
    )


def test_what_is_kept_changes_no_result() -> None:
    index = index_of()
    contexts = [
        context_of("k3 and", "k40"),
        context_of("k3 and", "k7"),
        context_of("k40", "k3 and"),
    ]
    for context in (*contexts, *contexts):
        assert match(index, context) == match(index, context, cache=ScanCache(max_texts=1))


def test_each_text_is_searched_once() -> None:
    index = index_of()
    match(index, context_of("k48", "two"))
    known = len(index.cache)
    match(index, context_of("k48", "two", "k48"))
    assert len(index.cache) == known
    index.cache.clear()
    assert (len(index.cache), index.cache.size_chars) == (0, 0)


def test_indexes_can_share_what_is_kept() -> None:
    cache = ScanCache()
    entries = (Entry(uid=0, keys=("other",)), Entry(uid=1, keys=("k3",)))
    other = compile_index([NamedBook(name="b", book=WorldBook(entries=entries))], cache=cache)
    index = index_of(cache)
    context = context_of("k3 and", "word7")
    for _ in range(2):
        assert [one.entry.uid for one in match(other, context).activated] == [1]
        assert match(index, context) == match(index, context, cache=ScanCache())


def test_what_macros_make_of_keys_is_not_kept_for_ever() -> None:
    entries = (Entry(uid=0, keys=("{{time}} o'clock",)),)
    index = compile_index([NamedBook(name="b", book=WorldBook(entries=entries))])
    for turn in range(3000):
        match(index, context_of("noon"), expand=lambda text, turn=turn: f"{turn}{text}")  # type: ignore[misc]
    assert len(index.reader.keys._expanded) <= 1024


def test_cache_is_bounded_by_number_and_by_size() -> None:
    few = ScanCache(max_texts=3)
    short = ScanCache(max_chars=20)
    for cache in (few, short):
        index = index_of(cache)
        for turn in range(20):
            match(index, context_of(f"message {turn}"))
    assert 0 < len(few) <= 3
    assert 0 < short.size_chars <= 20
    index = index_of(short)
    match(index, context_of("a message of more than twenty characters"))
    assert short.size_chars <= 20


def test_halves_of_characters_in_a_text_do_no_harm() -> None:
    index = index_of()
    assert len(match(index, context_of("\ud83e k49 \udd8a")).activated) == 1
