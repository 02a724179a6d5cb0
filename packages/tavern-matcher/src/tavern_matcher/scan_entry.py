"""One entry as the scan meets it: its content ready, everything else made when first needed.

Owns the reading of what an index needs of every entry, and nothing more: a large book has thousands
that no scan ever touches. Must not know messages.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, getSortedEntries, checkWorldInfo.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from tavern_format import Entry, split_decorators
from tavern_matcher._js import UNDEFINED, to_number, to_text, truthy
from tavern_matcher._js_json import string_hash, stringify
from tavern_matcher.conduct import Conduct, read_conduct
from tavern_matcher.decision import EntryId
from tavern_matcher.entry_fields import Fields
from tavern_matcher.keys import Key, KeyReader
from tavern_matcher.settings import MatchSettings

SOURCES = (
    ("matchPersonaDescription", "persona_description"),
    ("matchCharacterDescription", "character_description"),
    ("matchCharacterPersonality", "character_personality"),
    ("matchCharacterDepthPrompt", "character_depth_prompt"),
    ("matchScenario", "scenario"),
    ("matchCreatorNotes", "creator_notes"),
)
"""Field of the entry and the source it opens, in the order of the scanned text."""
_SOURCE_FLAGS = tuple(flag for flag, _ in SOURCES)
_ALL_OFF = [False] * len(SOURCES)
"""What nearly every entry has."""

_SHOWN_CHARS = 40
_SAFE_INTEGER = 2**53
ACTIVATE = "@@activate"
DONT_ACTIVATE = "@@dont_activate"


@define(eq=False)
class ScanEntry:
    """An entry, at its place in the order of visiting."""

    number: int
    """Place in the order of visiting; -1 for one that was forced from outside."""
    book: str
    index: int
    """Place in the book."""
    place: int
    """Place of the book in what was given to `compile_index`."""
    entry: Entry | None = field(repr=False)
    """None for an item of the book that is no entry."""
    fields: Fields = field(repr=False)
    reader: "EntryReader" = field(repr=False)
    world: str
    content: str = field(repr=False)
    decorators: tuple[str, ...]
    key_texts: list[str] = field(repr=False)
    """The primary keys as texts, empty for what matches nothing."""
    secondary_texts: list[str] = field(repr=False)
    """The secondary keys, also where they do not count."""
    case_sensitive: bool
    whole_words: bool
    own_depth: float | None
    sources: tuple[str, ...]
    """Names of the further texts that are searched for it."""
    order: float
    enabled: bool
    key: str
    """What the scan takes for its identity."""
    special: bool = False
    """One of its keys is not simply a text to look for."""
    unread: tuple[int, str | int] | None = field(default=None, repr=False)
    """Of an item that is no entry: its place in `WorldBook.unread`, and its key in the file."""
    identity: EntryId = field(init=False, repr=False)
    conduct: Conduct = field(init=False, repr=False)
    keys: tuple[Key, ...] = field(init=False, repr=False)
    secondary_keys: tuple[Key, ...] = field(init=False, repr=False)
    hash: int = field(init=False, repr=False)
    """SillyTavern's identity hash."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as attribute access is
        """Make a value when it is first asked for; afterwards it is a plain attribute."""
        make = _ON_DEMAND.get(name)
        if make is None:
            raise AttributeError(name)
        value = make(self)
        setattr(self, name, value)
        return value

    @property
    def title(self) -> str:
        """What the book calls the entry, for people."""
        return "" if self.entry is None else self.entry.comment or self.entry.name

    @property
    def path(self) -> str:
        """JSON pointer to the entry in the books that were given to `compile_index`."""
        item = f"entries/{self.index}" if self.unread is None else f"unread/{self.unread[0]}"
        return f"/books/{self.place}/{item}"

    @property
    def uid(self) -> int | float | str | None:
        """As the file says."""
        uid = self.fields.get("uid")
        return uid if isinstance(uid, int | float | str) else None

    @property
    def secondary_count(self) -> int:
        """How many secondary keys count."""
        return len(self.secondary_texts) if self.conduct.selective else 0

    @property
    def label(self) -> str:
        """Name of the entry in a message, without any text of it but its uid, or its key."""
        if self.unread is not None:
            name = self.unread[1]
            shown = f'"{name[:_SHOWN_CHARS]}"' if isinstance(name, str) else f"#{name}"
            return f'Item {shown} of book "{self.book}"'
        name = f"#{self.index}" if self.uid is None else str(self.uid)
        return f'Entry {name} of book "{self.book}"'


def _hash(entry: ScanEntry) -> int:
    rest = {name: value for name, value in entry.fields.items() if name != "uid"}
    members: dict[str, Any] = {"uid": entry.fields.get("uid", UNDEFINED), "world": entry.world}
    members |= rest
    members["decorators"] = list(entry.decorators)
    members["content"] = entry.content
    return string_hash(stringify(members))


_ON_DEMAND: dict[str, Callable[[ScanEntry], object]] = {
    "identity": lambda one: EntryId(
        book=one.book, index=one.index, uid=one.uid if one.unread is None else one.unread[1]
    ),
    "conduct": lambda one: read_conduct(one.fields),
    "keys": lambda one: one.reader.keys_of(one, one.key_texts),
    "secondary_keys": lambda one: one.reader.keys_of(one, one.secondary_texts),
    "hash": _hash,
}
"""What most entries of a large book are never asked for."""


@frozen
class EntryReader:
    """Makes entries ready for the settings of an index."""

    settings: MatchSettings
    keys: KeyReader

    def read(
        self, book: str, index: int, place: int, entry: Entry | None, fields: Fields
    ) -> ScanEntry:
        """Make one entry ready; `place` is that of its book."""
        get = fields.get
        settings = self.settings
        content = get("content") or ""
        content = content if isinstance(content, str) else ""
        decorators: tuple[str, ...] = ()
        if content.startswith("@@") and settings.rules.decorators:
            done = split_decorators(content)
            decorators, content = done.decorators, done.content
        case, words, depth = get("caseSensitive"), get("matchWholeWords"), get("scanDepth")
        uid = get("uid", UNDEFINED)
        world = to_text(fields["world"]) if self._names_its_book(fields) else book
        order = get("order", UNDEFINED)
        disabled = get("disable")
        return ScanEntry(
            -1,
            book,
            index,
            place,
            entry,
            fields,
            self,
            world,
            content,
            decorators,
            _texts(get("key")),
            _texts(get("keysecondary")),
            settings.case_sensitive if case is None else truthy(case),
            settings.match_whole_words if words is None else truthy(words),
            None if depth is None else to_number(depth),
            _sources(get),
            order if _is_plain_number(order) else to_number(order),
            disabled is False or not _is_disabled(disabled),
            f"{world}.{uid if _is_plain_number(uid) or type(uid) is str else to_text(uid)}",
        )

    def _names_its_book(self, fields: Fields) -> bool:
        """A field `world` in an entry overrides the name of the book it stands in."""
        return "world" in fields and self.settings.rules.reads_fields_raw

    def keys_of(self, entry: ScanEntry, texts: list[str]) -> tuple[Key, ...]:
        """Make keys of an entry ready."""
        case, words = entry.case_sensitive, entry.whole_words
        return tuple(self.keys.read(text, case_sensitive=case, whole_words=words) for text in texts)

    def read_raw(self, entry: ScanEntry, text: str) -> Key:
        """Make a key of an entry ready as it stands, for scores."""
        case, words = entry.case_sensitive, entry.whole_words
        return self.keys.read(text, case_sensitive=case, whole_words=words, raw=True)

    def read_expanded(self, entry: ScanEntry, text: str) -> Key:
        """Make ready what macros made of a key of an entry."""
        case, words = entry.case_sensitive, entry.whole_words
        return self.keys.read_expanded(text, case_sensitive=case, whole_words=words)


def _texts(written: object) -> list[str]:
    if not isinstance(written, list):
        return []
    # A plain loop: a list of keys is so short that `all` would cost more to set up.
    for key in written:
        if type(key) is not str:
            return [to_text(key) if truthy(key) else "" for key in written]
    return written


def _is_plain_number(value: object) -> bool:
    """Whether a value is a number that both languages hold and write alike."""
    return type(value) is int and -_SAFE_INTEGER < value < _SAFE_INTEGER


def _sources(get: Callable[[str], Any]) -> tuple[str, ...]:
    if list(map(get, _SOURCE_FLAGS)) == _ALL_OFF:
        return ()
    return tuple(name for flag, name in SOURCES if truthy(get(flag)))


def _is_disabled(value: object) -> bool:
    """JavaScript's `value == true`: 1 and "1" disable an entry, "true" does not."""
    if type(value) is bool or value is None:
        return bool(value)
    return not isinstance(value, dict) and to_number(value) == 1


def score_keys(entry: ScanEntry, name: str) -> list[Any]:
    """Give the keys of a field as they stand there, for scores."""
    written = entry.fields.get(name)
    return written if isinstance(written, list) else []
