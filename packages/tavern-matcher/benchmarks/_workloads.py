"""What is timed: books, chats and settings in SillyTavern's terms, the same for every engine.

Made from a fixed seed. Entries have all 39 fields, one to three keys each; some have secondary
keys, regular expression keys, groups, chances, timed effects, a depth or a case rule of their own.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from attrs import field, frozen

from tavern_format._entry_spellings import TEMPLATE

Json = dict[str, Any]

TEXT_CHARS = 64 * 1024
MESSAGES = 40
_HITS = 60
"""Entries that the text is meant to name, whatever the size of the book."""
_ENTRIES_A_BOOK = 10_000
_SYLLABLES = ("ka", "ro", "mi", "ten", "sul", "var", "eth", "lo", "ny", "dra", "qui", "bor")


@frozen(kw_only=True)
class Workload:
    """One thing to time."""

    name: str
    entries: Sequence[Json] = field(repr=False)
    messages: Sequence[str] = field(repr=False)
    depth_messages: int
    least_ratio: float | None = None
    """How many times faster than SillyTavern the matcher has to be; None: only shown."""
    new_message: str | None = None
    """Comes after everything else was matched once; None: nothing is cached."""
    rounds: int = 5
    recursion_limit: int = 5
    """What fast-tavern must be told; the others find out."""

    @property
    def settings(self) -> Json:
        """SillyTavern's settings, all features on."""
        return {
            "world_info_depth": self.depth_messages,
            "world_info_min_activations": 0,
            "world_info_min_activations_depth_max": 0,
            "world_info_budget": 100,
            "world_info_include_names": True,
            "world_info_recursive": True,
            "world_info_overflow_alert": False,
            "world_info_case_sensitive": False,
            "world_info_match_whole_words": True,
            "world_info_use_group_scoring": True,
            "world_info_character_strategy": 1,
            "world_info_budget_cap": 0,
            "world_info_max_recursion_steps": 0,
        }

    @property
    def all_messages(self) -> Sequence[str]:
        """The messages of the timed scan, oldest first."""
        return self.messages if self.new_message is None else (*self.messages, self.new_message)

    def as_case(self) -> Json:
        """Write it as the real engine takes it."""
        chat = [{"name": "User", "text": text} for text in self.all_messages]
        book = {"name": "book", "source": "global", "entries": list(self.entries)}
        return {
            "settings": self.settings,
            "books": [book],
            "chat": chat,
            "max_context": 10_000_000,
            "random": 0.5,
        }

    def as_file(self) -> bytes:
        """Write the book as SillyTavern's file."""
        return _file(self.entries)

    def as_files(self) -> list[bytes]:
        """Write it as several books that are not too large to be read."""
        starts = range(0, len(self.entries), _ENTRIES_A_BOOK)
        return [_file(self.entries[start : start + _ENTRIES_A_BOOK]) for start in starts]


def workloads() -> tuple[Workload, ...]:
    """List what the targets are about."""
    return (
        cold(10_000, least_ratio=100),
        one_new_message(10_000, least_ratio=300),
        chain(1000, loops=100, least_ratio=1000),
        long_chat(2000, least_ratio=500),
        cold(100, least_ratio=15, rounds=25),
    )


def cold(count: int, *, least_ratio: float | None = None, rounds: int = 5) -> Workload:
    """Scan a text with nothing known of it."""
    return Workload(
        name=f"{count:,} entries, nothing cached",
        entries=_entries(count),
        messages=_messages(count, MESSAGES, TEXT_CHARS // MESSAGES),
        depth_messages=MESSAGES,
        least_ratio=least_ratio,
        rounds=rounds,
    )


def one_new_message(count: int, *, least_ratio: float | None = None) -> Workload:
    """Scan a chat of which all but the newest message was scanned before."""
    *older, newest = _messages(count, MESSAGES + 1, TEXT_CHARS // MESSAGES)
    return Workload(
        name=f"{count:,} entries, one new message",
        entries=_entries(count),
        messages=older,
        depth_messages=MESSAGES,
        least_ratio=least_ratio,
        new_message=newest,
    )


def chain(count: int, *, loops: int, least_ratio: float) -> Workload:
    """Let one entry name the next, as often as there are loops.

    The chain runs against the order of the book, so that no engine can follow it within one pass.
    """
    entries = [{**entry, "content": "Nothing.", "order": 100} for entry in _plain(count)]
    for link in range(loops):
        place = loops - 1 - link
        text = f"Then link{link + 1}x."
        entries[place] = {**entries[place], "key": [f"link{link}x"], "content": text}
    texts = list(_messages(0, MESSAGES, TEXT_CHARS // MESSAGES))
    texts[-1] += " link0x"
    return Workload(
        name=f"{count:,} entries, recursion chain of {loops} loops",
        entries=entries,
        messages=texts,
        depth_messages=MESSAGES,
        least_ratio=least_ratio,
        rounds=1,
        recursion_limit=loops + 1,
    )


def long_chat(count: int, *, least_ratio: float) -> Workload:
    """Scan as deep as SillyTavern goes."""
    return Workload(
        name=f"2,116 messages of 600 characters, {count:,} entries, depth 1000",
        entries=_entries(count),
        messages=_messages(count, 2116, 600),
        depth_messages=1000,
        least_ratio=least_ratio,
        rounds=2,
    )


def _file(entries: Sequence[Json]) -> bytes:
    return json.dumps({"entries": {str(one["uid"]): one for one in entries}}).encode()


@cache
def _word(number: int) -> str:
    """Make a word that no other number has and no other word contains by accident."""
    random = Random(number)  # noqa: S311 - no secret
    return "".join(random.choices(_SYLLABLES, k=3)) + f"{number:x}"


@cache
def _plain(count: int) -> Sequence[Json]:
    return [
        {
            "uid": uid,
            **TEMPLATE,
            "key": [_word(3 * uid + place) for place in range(1 + uid % 3)],
            "comment": f"Entry {uid}",
            "content": f"What is to be known about number {uid}. " * 3,
            "order": uid % 200,
            "displayIndex": uid,
        }
        for uid in range(count)
    ]


@cache
def _entries(count: int) -> Sequence[Json]:
    return [{**entry, **_extras(entry["uid"])} for entry in _plain(count)]


def _extras(uid: int) -> Mapping[str, Any]:
    """Give every feature its share of the entries."""
    extras: Json = {}
    if uid % 5 == 0:
        extras |= {"keysecondary": [_word(3 * uid + 7), "river"], "selectiveLogic": uid % 4}
    if uid % 50 == 1:
        extras |= {"key": [f"/{_word(3 * uid)}s?\\b/i"]}
    if uid % 20 == 2:
        extras |= {"group": f"group {uid % 100}", "groupWeight": 50}
    if uid % 10 == 3:
        extras |= {"probability": 60}
    if uid % 25 == 4:
        extras |= {"sticky": 2, "cooldown": 3}
    if uid % 10 == 6:
        extras |= {"scanDepth": 4}
    if uid % 12 == 7:
        extras |= {"caseSensitive": True}
    if uid % 15 == 8:
        extras |= {"position": 4, "depth": uid % 5}
    return extras


def _messages(count: int, number: int, size_chars: int) -> Sequence[str]:
    """Write prose of which a few words are keys."""
    random = Random(f"{count}/{number}")  # noqa: S311 - no secret
    common = [_word(10**6 + at) for at in range(800)] + ["river", "the", "and", "stone"] * 20
    named = [_word(3 * random.randrange(count)) for _ in range(_HITS)] if count else []
    texts = []
    for _ in range(number):
        words = random.choices(common, k=size_chars // 9)
        for _ in range(-(-_HITS // number)) if named else ():
            if random.random() < _HITS / number:
                words[random.randrange(len(words))] = random.choice(named)
        texts.append(" ".join(words)[:size_chars])
    return texts
