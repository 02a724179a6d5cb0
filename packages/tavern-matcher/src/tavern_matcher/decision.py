"""What is recorded about every entry: the closed set of reasons, the hits, and the decision.

Owns values only. `explain` turns a decision into a sentence; `decisions` makes them.
"""

from enum import IntEnum, StrEnum

from attrs import field, frozen

from tavern_format import Position, SelectiveLogic
from tavern_matcher._js import comparable
from tavern_matcher.keys import KeyKind


@frozen(kw_only=True)
class EntryId:
    """Which entry of which book: two entries with one uid are two."""

    book: str
    """Name the book was given to the index under."""
    index: int
    """Place in `WorldBook.entries`, from 0; items that are no entries count on from its end."""
    uid: int | float | str | None = None
    """As the file says; unique in a healthy book only. Of an item that is no entry, its key in the
    file, or its place in the list."""

    @property
    def qualified(self) -> str:
        """`book:uid`, as other tools name an entry; the place stands in for a missing uid."""
        return f"{self.book}:{self.index if self.uid is None else self.uid}"


class Reason(StrEnum):
    """Why an entry fired or did not. The values are stable."""

    DECORATOR_ACTIVATE = "decorator-activate"
    FORCED = "forced"
    CONSTANT = "constant"
    STICKY = "sticky"
    PRIMARY_KEY_MATCH = "primary-key-match"
    SECONDARY_KEYS_MATCH = "secondary-keys-match"
    VECTOR_MATCH = "vector-match"

    DISABLED = "disabled"
    TRIGGER_MISMATCH = "trigger-mismatch"
    CHARACTER_FILTERED = "character-filtered"
    DELAYED = "delayed"
    COOLDOWN = "cooldown"
    WAITS_FOR_RECURSION = "waits-for-recursion"
    EXCLUDED_FROM_RECURSION = "excluded-from-recursion"
    """It could have fired on the text of another entry only."""
    DECORATOR_DONT_ACTIVATE = "decorator-dont-activate"
    VECTOR_MATCH_REQUIRED = "vector-match-required"
    NO_KEYS = "no-keys"
    NOTHING_SCANNED = "nothing-scanned"
    PRIMARY_KEY_MISS = "primary-key-miss"
    SECONDARY_KEYS_MISS = "secondary-keys-miss"
    REGEX_TIMEOUT = "regex-timeout"
    """A pattern took too long, and could have made the difference."""
    REGEX_UNTRANSLATABLE = "regex-untranslatable"
    """A pattern that JavaScript would run is not run here, and could have made the difference."""
    REGEX_INVALID = "regex-invalid"
    """No key was found, and one that looks like a pattern is none: it counts as plain text."""
    REGEX_DISABLED = "regex-disabled"
    """Patterns are switched off, and one could have made the difference."""
    SCAN_ENDED = "scan-ended"
    """Its key is in the text of an entry that fired, and no further loop searched that."""
    GROUP_STICKY = "group-sticky"
    """Another member of its inclusion group is sticky."""
    GROUP_TIMED = "group-timed"
    """Its cooldown or delay took it out of its inclusion group."""
    GROUP_SCORE = "group-score"
    """Another member had more keys found."""
    GROUP_ACTIVE = "group-active"
    """A member of its inclusion group fired in an earlier loop."""
    GROUP_LOSER = "group-loser"
    GROUP_COLLATERAL = "group-collateral"
    """Removed in place of a loser that was gone already: a fault of SillyTavern."""
    PROBABILITY_FAILED = "probability-failed"
    PROBABILITY_ZERO = "probability-zero"
    BUDGET_EXCEEDED = "budget-exceeded"
    AFTER_BUDGET_OVERFLOW = "after-budget-overflow"
    REPLACED = "replaced"
    """Another entry with the same book name and uid fired in its place."""
    MALFORMED = "malformed"
    """An item that is no entry."""
    SCAN_ABORTED = "scan-aborted"
    """Something in the books ends every scan in SillyTavern."""

    @property
    def fires(self) -> bool:
        """Whether the entry is activated."""
        return self in _FIRES


_FIRES = frozenset(
    {
        Reason.DECORATOR_ACTIVATE,
        Reason.FORCED,
        Reason.CONSTANT,
        Reason.STICKY,
        Reason.PRIMARY_KEY_MATCH,
        Reason.SECONDARY_KEYS_MATCH,
        Reason.VECTOR_MATCH,
    }
)


class ScanState(IntEnum):
    """What a loop of a scan is for; SillyTavern's numbers."""

    NONE = 0
    """No further loop."""
    INITIAL = 1
    RECURSION = 2
    """Searches the texts of entries that fired, too."""
    MIN_ACTIVATIONS = 3
    """Searches one message further back."""


class PlaceKind(StrEnum):
    """What sort of text a key was found in."""

    MESSAGE = "message"
    SOURCE = "source"
    """The persona, a card field."""
    INJECTED = "injected"
    ENTRY = "entry"
    """The content of an entry that fired: recursion."""
    BETWEEN = "between"
    """Several texts together, or the marks between them."""


@frozen(kw_only=True)
class KeyMatch:
    """One hit of one key: in the newest text that has it, or where a pattern matched."""

    key: str
    """As it stands in the entry."""
    kind: KeyKind
    secondary: bool = False
    place: str
    """Identity of the message, name of the source, number of the injected text, or the entry.

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
class Draw:
    """One random number that was drawn."""

    purpose: str
    """What for, with the number of the loop: unique in one scan."""
    value: float
    """From 0, below 1."""


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
    cause: Reason | None = None
    """Why it was about to fire, for one that something else then held back."""
    loop: int = 0
    """Number of the loop in which this was decided, from 1; 0: before the first."""
    state: ScanState = ScanState.NONE
    """What that loop was for."""
    group: str = ""
    """The inclusion group that decided, or in which it won."""
    group_share: tuple[float, float] | None = None
    """From and to which draw its weight wins the group, from 0 to 1; None: none was drawn."""
    draw: Draw | None = None
    """The random number that decided."""
    threshold: float | None = field(default=None, eq=comparable)
    """Percent the draw was held against."""
    tokens: int | None = None
    """Tokens of its own text, or of the loop's text up to and with it, as the profile counts."""
    budget_before_tokens: int | None = None
    """Tokens that were spent before it."""
    budget_after_tokens: int | None = None
    """Tokens that were, or would have been, spent after it."""
    budget_tokens: int | None = None
    """The budget; None: none was applied."""
    position: Position | None = None
    """Where it asks to stand; None for an unknown place."""
    applied_position: Position | None = None
    """Where its text stands; None if it has none or was placed nowhere."""

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
