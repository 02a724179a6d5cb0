"""World books (World Info, lorebooks): one model for every spelling.

Owns the models and the reading and writing of a whole book. Which key an attribute has in which
spelling is in `_entry_spellings`; foreign books are in `_foreign_books`; converting between
SillyTavern's file and a card's `character_book` is in `book_conversion`. Nothing here decides
whether an entry fires: that is tavern-matcher.

Source: SillyTavern 1.19.0, public/scripts/world-info.js (newWorldInfoEntryDefinition,
convertCharacterBook, convertWorldInfoToCharacterBook); Character Card V2 and V3 specifications.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Any

from attrs import field, frozen

from tavern_format._models import as_models
from tavern_format._structure import Origin


class Position(IntEnum):
    """Where the text of an entry goes; SillyTavern's numbers."""

    BEFORE = 0
    AFTER = 1
    AN_TOP = 2
    AN_BOTTOM = 3
    AT_DEPTH = 4
    EM_TOP = 5
    EM_BOTTOM = 6
    OUTLET = 7


class SelectiveLogic(IntEnum):
    """How secondary keys join the primary ones; SillyTavern's numbers."""

    AND_ANY = 0
    NOT_ALL = 1
    NOT_ANY = 2
    AND_ALL = 3


class Role(IntEnum):
    """Role of a message injected at a depth; SillyTavern's numbers."""

    SYSTEM = 0
    USER = 1
    ASSISTANT = 2


class BookSpelling(StrEnum):
    """The shapes in which books are found."""

    WORLD_INFO = "world-info"
    """SillyTavern's own file."""
    CHARACTER_BOOK = "character-book"
    """`character_book` of a V2 or V3 card, in a card or as a file of its own."""
    AGNAI = "agnai"
    RISU = "risu"
    NOVEL = "novelai"


@frozen(kw_only=True, weakref_slot=False)
class CharacterFilter:
    """Restricts an entry to some characters."""

    is_exclude: bool = False
    """True: the listed ones are shut out; False: only they are let in."""
    names: tuple[str, ...] = ()
    """Avatar file names without extension."""
    tags: tuple[str, ...] = ()
    """SillyTavern's tag ids."""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class Entry:
    """One entry of a world book.

    The defaults are those of SillyTavern's new-entry template. Numbers are kept as they stand in
    the file, without clamping. `raw` gives the JSON object the entry was read from.
    """

    uid: int | float | str | None = None
    """`uid` in SillyTavern files, `id` in cards; unique in a healthy book only."""
    keys: tuple[str, ...] = ()
    """Primary keys: plain text, or JavaScript regular expressions written `/body/flags`."""
    secondary_keys: tuple[str, ...] = ()
    comment: str = ""
    """Title or memo; never sent."""
    content: str = ""
    """The text, decorator lines included."""
    constant: bool = False
    vectorized: bool = False
    selective: bool = True
    """False: secondary keys are ignored."""
    selective_logic: SelectiveLogic = SelectiveLogic.AND_ANY
    add_memo: bool = False
    order: float = 100
    """Insertion order; higher stands later in the text."""
    position: Position | None = Position.BEFORE
    """None where the file names no known position: such an entry is placed nowhere."""
    enabled: bool = True
    ignore_budget: bool = False
    exclude_recursion: bool = False
    prevent_recursion: bool = False
    match_persona_description: bool = False
    match_character_description: bool = False
    match_character_personality: bool = False
    match_character_depth_prompt: bool = False
    match_scenario: bool = False
    match_creator_notes: bool = False
    delay_until_recursion: float = 0
    """0: off; n: from the n-th delay level on (`true` in a file reads as 1)."""
    probability: float | None = 100
    """Percent; None where the file says `null`."""
    use_probability: bool = True
    depth: float = 4
    """Messages from the end, for position AT_DEPTH."""
    outlet_name: str = ""
    group: str = ""
    """Inclusion groups, separated by commas."""
    group_override: bool = False
    group_weight: float | None = 100
    scan_depth: float | None = None
    """Messages scanned for this entry; None: the global setting."""
    case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    use_group_scoring: bool | None = None
    automation_id: str = ""
    role: Role = Role.SYSTEM
    sticky: float | None = None
    """Messages."""
    cooldown: float | None = None
    """Messages."""
    delay: float | None = None
    """Messages."""
    triggers: tuple[str, ...] = ()
    """Generation types the entry is limited to; empty: all."""
    display_index: float | None = None
    character_filter: CharacterFilter | None = None
    extensions: Mapping[str, Any] = field(factory=dict)
    """Other applications' data, as it stands in the file."""
    name: str = ""
    """`name` of a `character_book` entry; SillyTavern does not read it."""
    priority: float | None = None
    """`priority` of a `character_book` entry; SillyTavern does not read it."""
    use_regex: bool | None = None
    """`use_regex` of a V3 entry; SillyTavern decides by the shape of each key instead."""
    origin: Origin | None = field(default=None, repr=False, eq=False)

    @property
    def raw(self) -> Mapping[str, Any]:
        """The JSON object the entry was read from, before any edit; empty for a new entry."""
        return {} if self.origin is None else self.origin.raw


@frozen
class Unread:
    """An item among the entries that is no entry (`null`, a text, a number): kept for writing."""

    index: int
    """Its place among the items of the container."""
    key: str | int
    value: Any


def _entries(given: Iterable[Entry]) -> Sequence[Entry]:
    return as_models(given)


@frozen(kw_only=True, weakref_slot=False)
class WorldBook:
    """A whole book, entries in the order of the file."""

    name: str | None = None
    entries: Sequence[Entry] = field(default=(), converter=_entries)
    description: str = ""
    scan_depth: float | None = None
    """Messages; of `character_book`. SillyTavern keeps it but uses its global setting."""
    token_budget: float | None = None
    """Tokens; of `character_book`. SillyTavern keeps it but uses its global setting."""
    recursive_scanning: bool | None = None
    extensions: Mapping[str, Any] = field(factory=dict)
    spelling: BookSpelling = BookSpelling.WORLD_INFO
    unread: tuple[Unread, ...] = ()
    origin: Origin | None = field(default=None, repr=False, eq=False)

    @property
    def raw(self) -> Mapping[str, Any]:
        """The JSON object the book was read from, before any edit; empty for a new book."""
        return {} if self.origin is None else self.origin.raw
