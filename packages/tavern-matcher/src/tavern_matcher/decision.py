"""What is recorded about every entry: the closed set of reasons, the hits, and the decision.

Owns values only. `explain` turns a decision into a sentence; `decide` makes them.
"""

from enum import StrEnum

from attrs import field, frozen

from tavern_format import SelectiveLogic
from tavern_matcher.keys import KeyKind


@frozen(kw_only=True)
class EntryId:
    """Which entry of which book: two entries with one uid are two."""

    book: str
    """Name the book was given to the index under."""
    index: int
    """Place in `WorldBook.entries`, from 0."""
    uid: int | float | str | None = None
    """As the file says; unique in a healthy book only."""

    @property
    def qualified(self) -> str:
        """`book:uid`, as other tools name an entry; the place stands in for a missing uid."""
        return f"{self.book}:{self.index if self.uid is None else self.uid}"


class Reason(StrEnum):
    """Why an entry fired or did not. The values are stable."""

    DECORATOR_ACTIVATE = "decorator-activate"
    CONSTANT = "constant"
    PRIMARY_KEY_MATCH = "primary-key-match"
    SECONDARY_KEYS_MATCH = "secondary-keys-match"

    DISABLED = "disabled"
    TRIGGER_MISMATCH = "trigger-mismatch"
    CHARACTER_FILTERED = "character-filtered"
    DELAYED = "delayed"
    WAITS_FOR_RECURSION = "waits-for-recursion"
    DECORATOR_DONT_ACTIVATE = "decorator-dont-activate"
    NO_KEYS = "no-keys"
    NOTHING_SCANNED = "nothing-scanned"
    PRIMARY_KEY_MISS = "primary-key-miss"
    SECONDARY_KEYS_MISS = "secondary-keys-miss"
    REGEX_KEYS_NOT_EXECUTED = "regex-keys-not-executed"
    """Only a regular expression key could have made the difference."""
    PROBABILITY_ZERO = "probability-zero"

    @property
    def fires(self) -> bool:
        """Whether the entry is activated."""
        return self in _FIRES


_FIRES = frozenset(
    {
        Reason.DECORATOR_ACTIVATE,
        Reason.CONSTANT,
        Reason.PRIMARY_KEY_MATCH,
        Reason.SECONDARY_KEYS_MATCH,
    }
)


class PlaceKind(StrEnum):
    """What sort of text a key was found in."""

    MESSAGE = "message"
    SOURCE = "source"
    """The persona, a card field."""
    INJECTED = "injected"


@frozen(kw_only=True)
class KeyMatch:
    """The first hit of one key, in the newest text that has it."""

    key: str
    """As it stands in the entry."""
    kind: KeyKind
    secondary: bool = False
    place: str
    """Identity of the message, name of the source, or number of the injected text.

    Empty where a blank key was found although there was no text.
    """
    place_kind: PlaceKind = PlaceKind.MESSAGE
    in_speaker: bool = False
    """The hit touches the speaker's name: the range then counts in `speaker: text`."""
    start_chars: int
    """Code points before the hit, in the text as it was given."""
    end_chars: int
    start_utf16: int
    """UTF-16 code units before the hit."""
    end_utf16: int


@frozen(kw_only=True)
class Decision:
    """What became of one entry, and why."""

    entry: EntryId
    title: str = ""
    """What the book calls the entry, for people."""
    reason: Reason
    matches: tuple[KeyMatch, ...] = ()
    """Every key that was found: primary ones first, each in the entry's order."""
    keys: tuple[str, ...] = field(default=(), repr=False)
    """The entry's primary keys."""
    secondary_keys: tuple[str, ...] = field(default=(), repr=False)
    """Its secondary keys; empty where they do not count."""
    logic: SelectiveLogic | None = None
    """How the secondary keys were joined; None where they do not count."""
    scan_depth_messages: int = 0
    """Messages that were to be searched for this entry; 0: nothing at all was."""
    scanned_messages: int = 0
    """Messages that were searched: no more than there are."""
    facts: tuple[str, ...] = ()
    """What else decided: triggers, the delay, ...; see `explain`."""

    @property
    def fired(self) -> bool:
        """Whether the entry is activated."""
        return self.reason.fires

    @property
    def primary_matches(self) -> tuple[KeyMatch, ...]:
        """The primary keys that were found."""
        return tuple(found for found in self.matches if not found.secondary)

    @property
    def secondary_matches(self) -> tuple[KeyMatch, ...]:
        """The secondary keys that were found."""
        return tuple(found for found in self.matches if found.secondary)
