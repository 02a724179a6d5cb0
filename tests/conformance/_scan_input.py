"""A recorded scan as arguments of the matcher: what SillyTavern's page would hand over.

Knows the layout of the cases (their README) and the matcher's public names. Used by the
`world_info` adapter, by random cases, and in part by `public_reports`.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field

from tavern_format import parse_world_book
from tavern_matcher import (
    BookSource,
    CharacterStrategy,
    ForcedEntry,
    MatchProfile,
    MatchSettings,
    NamedBook,
    RegexLimits,
    ScanCharacter,
    ScanContext,
    ScanMessage,
    ScanSources,
)

Fields = Mapping[str, Any]

_SETTINGS: Mapping[str, str] = {
    "world_info_depth": "scan_depth_messages",
    "world_info_min_activations": "min_activations",
    "world_info_min_activations_depth_max": "min_activations_depth_max_messages",
    "world_info_budget": "budget_percent",
    "world_info_include_names": "include_names",
    "world_info_recursive": "recursive",
    "world_info_overflow_alert": "overflow_alert",
    "world_info_case_sensitive": "case_sensitive",
    "world_info_match_whole_words": "match_whole_words",
    "world_info_use_group_scoring": "use_group_scoring",
    "world_info_budget_cap": "budget_cap_tokens",
    "world_info_max_recursion_steps": "max_recursion_steps",
}
_SOURCES: Mapping[str, str] = {
    "personaDescription": "persona_description",
    "characterDescription": "character_description",
    "characterPersonality": "character_personality",
    "characterDepthPrompt": "character_depth_prompt",
    "scenario": "scenario",
    "creatorNotes": "creator_notes",
}
_STRATEGIES: Mapping[int, CharacterStrategy] = {int(one): one for one in CharacterStrategy}
# A busy machine must not turn a pattern of these cases into a time-out.
_PATIENT = RegexLimits(search_s=10, match_s=60)
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_SUFFIX = re.compile(r"\.[^/.]+$")
# The macros that the recording program knew.
_MACRO = re.compile(r"\{\{(user|char|noop|newline|space)\}\}", re.IGNORECASE)
_JS_SPACE = "\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_JS_WORD = re.compile(f"[^{_JS_SPACE}]+")

TOKENIZERS: Mapping[str, Callable[[str], int]] = {
    "len4": lambda text: math.ceil(len(text.encode("utf-16-le", "surrogatepass")) / 8),
    "words": lambda text: len(_JS_WORD.findall(text)),
    "chars": len,
}
"""How a case counts tokens; an empty text has none in each."""


def settings_of(recorded: Fields, profile: MatchProfile) -> MatchSettings:
    """Translate SillyTavern's settings; a strategy it does not know sorts as EVENLY there."""
    unknown = recorded.keys() - _SETTINGS.keys() - {"world_info_character_strategy"}
    if unknown:
        raise KeyError(f"unknown settings {sorted(unknown)}")
    values = {_SETTINGS[name]: value for name, value in recorded.items() if name in _SETTINGS}
    strategy = recorded.get("world_info_character_strategy", CharacterStrategy.CHARACTER_FIRST)
    chosen = _STRATEGIES.get(strategy, CharacterStrategy.EVENLY)
    return MatchSettings(
        **values, character_strategy=chosen, profile=profile, regex_limits=_PATIENT
    )


def books_of(books: Sequence[Fields]) -> tuple[NamedBook, ...]:
    """Read the books; one that is bound more than once is given once for each binding."""
    named = []
    for book in books:
        keys = book.get("entry_keys") or [
            _key(entry, at) for at, entry in enumerate(book["entries"])
        ]
        document = {"entries": dict(zip(keys, book["entries"], strict=True))}
        read = parse_world_book(json.dumps(document).encode()).value
        bound = book["source"] if isinstance(book["source"], list) else [book["source"]]
        named += [
            NamedBook(name=book["name"], book=read, source=BookSource(source)) for source in bound
        ]
    return tuple(named)


def _key(entry: Any, at: int) -> str:
    uid = entry.get("uid") if isinstance(entry, dict) else None
    return str(at) if uid is None else str(uid)


def context_of(fields: Fields) -> ScanContext:
    """Gather messages, sources, prompts, character and the rest."""
    macros = Macros.of(fields)
    return ScanContext(
        messages=tuple(
            ScanMessage(identity=str(at), speaker=message["name"], text=message["text"])
            for at, message in enumerate(fields["chat"])
        ),
        sources=ScanSources(
            **{_SOURCES[name]: text for name, text in fields.get("scan_data", {}).items()}
        ),
        injected=tuple(_injected(fields, macros)),
        trigger=fields.get("trigger", "normal"),
        character=_character(fields.get("character") or {}),
        context_size_tokens=fields["max_context"],
        forced=tuple(map(_forced, fields.get("forced", ()))),
        dry_run=bool(fields.get("dry_run")),
    )


def _injected(fields: Fields, macros: "Macros") -> list[str]:
    """List the prompts that are to be scanned, as the keys of a JavaScript object come."""
    prompts = fields.get("extension_prompts", {})
    names = sorted(prompts, key=lambda name: int(name) if _ARRAY_INDEX.fullmatch(name) else 2**32)
    texts = (macros.expand(prompts[name]["value"]) for name in names if prompts[name].get("scan"))
    return [text for text in texts if text]


def _character(who: Fields) -> ScanCharacter | None:
    if who.get("none"):
        return None
    tags = None if who.get("no_tag_key") else tuple(who.get("tags", ()))
    return ScanCharacter(avatar_name=_SUFFIX.sub("", who.get("avatar", "Char.png")), tags=tags)


def _forced(entry: Fields) -> ForcedEntry:
    """Read a forced object as a book with one entry."""
    document = json.dumps({"entries": {"0": entry}}).encode()
    return ForcedEntry(book=entry["world"], entry=parse_world_book(document).value.entries[0])


@define
class Macros:
    """The recording program's macros, for one case."""

    values: Mapping[str, str]

    @classmethod
    def of(cls, fields: Fields) -> "Macros":
        """Take the names of a case."""
        names = {"user": fields.get("user_name", "User"), "noop": "", "newline": "\n", "space": " "}
        return cls({**names, "char": (fields.get("character") or {}).get("name", "Char")})

    def expand(self, text: str) -> str:
        """Replace the known macros; others stay as they are."""
        return _MACRO.sub(lambda found: self.values[found[1].lower()], text)


@define
class ServedDice:
    """Serves the numbers of a case in order, the last one again and again, and counts them."""

    numbers: Any
    drawn_count: int = field(default=0, init=False)

    def start(self) -> None:
        """Begin anew."""
        self.drawn_count = 0

    def __call__(self, *_: object) -> float:
        """Give the next number."""
        at, self.drawn_count = self.drawn_count, self.drawn_count + 1
        if not isinstance(self.numbers, list):
            return float(self.numbers)
        return float(self.numbers[min(at, len(self.numbers) - 1)])
