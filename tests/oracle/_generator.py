"""Random cases, in the layout of the recorded ones; the same seed makes the same cases.

One number makes a series of scans over the same books: the chat goes on (or is cut), and the timed
state that the real engine left behind, now and then disturbed, is the state before the next scan.
"""

import json
from collections.abc import Generator, Mapping
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

from tests.oracle._words import Lexicon

Json = dict[str, Any]
Series = Generator[Json, Json, None]
"""Yields a case; takes the timed state that is left after it."""

_CHOICES: Mapping[str, Mapping[str, Any]] = json.loads(
    (Path(__file__).parent / "choices.json").read_text(encoding="utf-8")
)
"""What a case may hold.

`other_settings` and `other_fields`: how often a value is not the default, and what it is then.
`odd_fields`: what only a file made by hand or by another program holds.
"""

TEMPLATE = _CHOICES["entry"]
"""The fields of a new entry and their values."""
SETTINGS = _CHOICES["settings"]
"""The settings of SillyTavern's code."""

SOURCES = (
    "personaDescription", "characterDescription", "characterPersonality", "characterDepthPrompt",
    "scenario", "creatorNotes",
)  # fmt: skip
TRIGGERS = ("normal", "continue", "impersonate", "swipe", "regenerate", "quiet")
SOURCES_OF_BOOKS = ("character", "chat", "persona")
AVATARS = ("Char.png", "mira.v2.png", "noext")
_CONTEXT_SIZES = (*(10_000,) * 4, 1000, 200, 50, 0, 33, 33.3, -200)


def series(seed: int, number: int) -> Series:
    """Make the scans of one number."""
    random = Random(f"{seed}/{number}")  # noqa: S311 - a game of dice, not a secret
    words = Lexicon(random)
    case = _first(words)
    turns = random.choice((1, 1, 2, 3, 4, 8))
    for turn in range(1, turns + 1):
        case = {**case, "id": f"random-{seed}-{number}-{turn}"}
        state = yield deepcopy(case)
        case = _later(words, case, state)


def _first(words: Lexicon) -> Json:
    random = words.random
    count = random.choice((1, 1, 1, 2, 3))
    who = _character(random)
    free = ["global", "chat", "persona"] if who.get("none") else ["global", *SOURCES_OF_BOOKS]
    books = [_book(words, place, _bindings(random, free)) for place in range(count)]
    case = {
        "note": "random",
        "settings": _settings(words),
        "books": books,
        "chat": [_message(words) for _ in range(random.choice((0, 1, 2, 3, 5, 5, 8, 20)))],
        "scan_data": {name: _sometimes(random, 0.3, words.text(4)) for name in SOURCES},
        "trigger": "normal" if random.random() < 0.8 else random.choice(TRIGGERS),
        "dry_run": random.random() < 0.05,
        "random": _random_numbers(random),
        "tokenizer": random.choice(("len4", "words", "chars")),
        "max_context": random.choice(_CONTEXT_SIZES),
        "user_name": "User",
        "character": who,
        "extension_prompts": _prompts(words),
        "forced": _forced(random, books),
        "timed_state_before": _stored(random),
        "regex_scripts": [_script(words)] if random.random() < 0.05 else [],
    }
    if random.random() < 0.1:
        case |= {"author_note_active": True, "author_note": words.text(2)}
    return case | {"chat_length": len(case["chat"])}


def _later(words: Lexicon, case: Json, state: Json) -> Json:
    """Go on from a scan: messages come, sometimes some go, an entry is edited, records change."""
    random = words.random
    chat = list(case["chat"])
    if random.random() < 0.15:
        chat = chat[: -random.randint(1, 2)]
    else:
        chat += [_message(words) for _ in range(random.choice((0, 1, 1, 2, 2)))]
    books = deepcopy(case["books"])
    entry = random.choice(random.choice(books)["entries"])
    if random.random() < 0.1 and isinstance(entry, dict):
        entry["content"] = words.text(3)
    state = deepcopy(state)
    for kind in ("sticky", "cooldown"):
        for name in list(state.get(kind) or {}):
            if random.random() < 0.1:
                _disturb(random, state[kind], name)
    return {
        **case,
        "chat": chat,
        "chat_length": len(chat),
        "books": books,
        "timed_state_before": state,
        "random": _random_numbers(random),
        "forced": [],
    }


def _disturb(random: Random, records: Json, name: str) -> None:
    record = records[name]
    change = random.choice(("rename", "replace", "hash", "protected", "end", "start"))
    if change == "rename":
        records[f"{name}x"] = records.pop(name)
    elif change == "replace":
        records[name] = random.choice((None, 5, "x", True))
    elif isinstance(record, dict):
        record[change] = {
            "hash": str(record.get("hash")),
            "protected": not record.get("protected"),
        }.get(change, random.randint(0, 12))


def _stored(random: Random) -> Any:
    """Give the timed effects of a chat in which none is running yet."""
    if random.random() < 0.95:
        return {"sticky": {}, "cooldown": {}}
    records = {"g0.0": None, "g0.1": {"hash": 1, "end": 2}, "x": {}}
    return random.choice((None, {}, {"sticky": {}}, {"sticky": records, "cooldown": records}))


def _settings(words: Lexicon) -> Json:
    return {**SETTINGS, **_others(words.random, _CHOICES["other_settings"])}


def _others(random: Random, table: Mapping[str, Any]) -> Json:
    """Draw what is not the default."""
    drawn = {}
    for name, (share, values) in table.items():
        if random.random() < share:
            drawn[name] = deepcopy(random.choice(values))
    return drawn


def _bindings(random: Random, free: list[str]) -> str | list[str]:
    """Bind a book, now and then twice; a chat has one book, and so has a persona."""
    count = 2 if random.random() < 0.06 else 1
    bound = ["global"] if random.random() < 0.55 else random.sample(free, min(count, len(free)))
    for single in ("chat", "persona"):
        if single in bound:
            free.remove(single)
    return bound[0] if len(bound) == 1 else bound


def _book(words: Lexicon, place: int, source: str | list[str]) -> Json:
    random = words.random
    count = 30 if random.random() < 0.06 else random.randint(1, 9)
    entries = [_entry(words, uid) for uid in range(count)]
    book = {
        "name": random.choice(("g", "lore", "书", "b.0")) + str(place),
        "source": source,
        "entries": entries,
    }
    keys = [str(uid) for uid in range(len(entries))]
    if random.random() < 0.1:
        # Keys of an object need not be the uids, and whole numbers among them come first.
        keys = [random.choice(("", "k", "0", "-")) + key for key in keys]
        random.shuffle(keys)
    uids = [str(entry.get("uid")) if isinstance(entry, dict) else None for entry in entries]
    return book if uids == keys else {**book, "entry_keys": keys}


def _entry(words: Lexicon, uid: int) -> Any:
    random = words.random
    if random.random() < 0.004:
        return random.choice(("text", ["a"], None))
    entry: Json = {"uid": uid, **deepcopy(dict(TEMPLATE))}
    entry["key"] = [words.key() for _ in range(random.choice((0, 1, 1, 1, 2, 3)))]
    entry["content"] = _content(words, uid)
    entry |= _others(random, _CHOICES["other_fields"])
    if random.random() < 0.25:
        entry["keysecondary"] = words.keys()
    if random.random() < 0.25:
        entry["group"] = words.group()
    if random.random() < 0.06:
        entry["triggers"] = random.sample(TRIGGERS, random.randint(1, 3))
    if random.random() < 0.08:
        entry["characterFilter"] = _character_filter(random)
    return _spoilt(random, entry)


def _spoilt(random: Random, entry: Json) -> Json:
    """Give an entry, now and then, what only other hands put into a file."""
    if random.random() < 0.06:
        for name in random.sample(list(_CHOICES["odd_fields"]), random.randint(1, 2)):
            entry[name] = deepcopy(random.choice(_CHOICES["odd_fields"][name]))
    if random.random() < 0.02:
        entry["uid"] = random.randrange(9)
    if random.random() < 0.12:
        for name in random.sample(list(entry), random.randint(1, 6)):
            del entry[name]
    return entry


def _content(words: Lexicon, uid: int) -> str:
    random = words.random
    body = f"{words.text(4)}n{uid}" if random.random() < 0.95 else ""
    if random.random() < 0.05:
        body += random.choice(("{{char}}", "{{user}}!", "{{noop}}", "{{newline}}"))
    if random.random() < 0.07:
        lines = random.choices(DECORATORS, k=random.randint(1, 3))
        return "\n".join((*lines, body))
    return body


DECORATORS = (
    "@@activate", "@@activate", "@@dont_activate", "@@activate_me", "@@activate now", "@@unknown",
    "@@@activate", "@@@dont_activate", "@@@@activate", "@@", "", "@@activate\r",
)  # fmt: skip


def _character_filter(random: Random) -> Json:
    return {
        "isExclude": random.random() < 0.3,
        "names": random.sample(("Char", "mira.v2", "noext", "other"), random.randint(0, 2)),
        "tags": random.sample(("t1", "t2", "t3"), random.randint(0, 2)),
    }


def _character(random: Random) -> Json:
    who: Json = {"name": random.choice(("Char", "Mira")), "avatar": random.choice(AVATARS)}
    who["tags"] = random.sample(("t1", "t2"), random.randint(0, 2))
    if random.random() < 0.05:
        who["none"] = True
    return who


def _message(words: Lexicon) -> Json:
    random = words.random
    is_user = random.random() < 0.5
    padding = random.choice(("", "", "", " ", "\n"))
    name = random.choice(("User", "cat")) if is_user else random.choice(("Char", "ΟΔΟΣ"))
    return {"name": name, "text": padding + words.text(6) + padding, "is_user": is_user}


def _prompts(words: Lexicon) -> Json:
    random = words.random
    if random.random() < 0.9:
        return {}
    names = random.sample(("note", "2", "1", "quiet"), random.randint(1, 3))
    return {
        name: {"value": random.choice((words.text(3), "", "{{char}}")),
               "scan": random.random() < 0.7}
        for name in names
    }  # fmt: skip


def _forced(random: Random, books: list[Json]) -> list[Json]:
    if random.random() < 0.95:
        return []
    book = random.choice(books)
    entry = random.choice(book["entries"])
    if not isinstance(entry, dict) or "uid" not in entry:
        return []
    edits = {"world": book["name"], "order": random.choice((1, 100, 500)), "content": "forced"}
    return [{**entry, **edits}]


def _script(words: Lexicon) -> Json:
    random = words.random
    return {
        "id": "s", "scriptName": "s", "findRegex": f"/{random.choice(('n[0-9]', 'cat', '.+'))}/g",
        "replaceString": random.choice(("", "<$&>", "z")), "trimStrings": [], "placement": [5],
        "disabled": False, "markdownOnly": False, "promptOnly": random.random() < 0.8,
        "runOnEdit": False, "substituteRegex": 0,
        "minDepth": random.choice((None, None, 1, 3)), "maxDepth": random.choice((None, None, 2)),
    }  # fmt: skip


def _random_numbers(random: Random) -> Any:
    if random.random() < 0.3:
        return random.choice((0, 0.5, 0.999999))
    return [random.choice((0, 0.25, 0.5, random.random())) for _ in range(random.randint(1, 6))]


def _sometimes(random: Random, share: float, value: str) -> str:
    return value if random.random() < share else ""
