"""What one scan looks at: messages, further texts, the character and the kind of generation.

Owns plain values that a caller fills in. Must not know settings or hosts.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, the arguments of checkWorldInfo.
"""

from attrs import frozen

from tavern_format import Entry
from tavern_matcher.decision import EntryId

NORMAL = "normal"
"""The ordinary kind of generation."""


@frozen(kw_only=True)
class ScanMessage:
    """One chat message."""

    identity: str
    """Name that stays the same from scan to scan; decisions point to it."""
    speaker: str = ""
    text: str


@frozen(kw_only=True)
class ScanSources:
    """Further texts that an entry is matched against if it asks for them."""

    persona_description: str = ""
    character_description: str = ""
    character_personality: str = ""
    character_depth_prompt: str = ""
    scenario: str = ""
    creator_notes: str = ""


@frozen(kw_only=True)
class ScanCharacter:
    """The character that speaks, as character filters know it."""

    avatar_name: str = ""
    """File name of the avatar without extension; the display name does not count."""
    tags: tuple[str, ...] | None = None
    """SillyTavern's tag ids. None: not known, and filters by tag let everyone in."""


@frozen(kw_only=True)
class ForcedEntry:
    """An entry that is made to fire, whatever its keys say.

    The entry of the books with this book name and uid fires as what stands here: content, order,
    group and chance are those of `entry`, and decorators in its content are text. Switches,
    triggers, filters, delay and `@@dont_activate` of the book's own entry still hold it back.
    """

    book: str
    entry: Entry


@frozen(kw_only=True)
class ScanContext:
    """Everything one scan looks at besides books and settings."""

    messages: tuple[ScanMessage, ...] = ()
    """Oldest first, without hidden ones. Their number is the clock of timed effects."""
    sources: ScanSources = ScanSources()
    injected: tuple[str, ...] = ()
    """Texts of other parts of the prompt that are to be scanned, macros expanded."""
    trigger: str = NORMAL
    """normal, continue, impersonate, swipe, regenerate or quiet."""
    character: ScanCharacter | None = None
    """None: no character is open."""
    context_size_tokens: int | None = None
    """Size of the whole prompt, of which a budget is a share."""
    budget_tokens: int | None = None
    """The budget itself, in place of a share of the context size and its cap."""
    forced: tuple[ForcedEntry, ...] = ()
    """Of two with one book and uid the later one counts."""
    vector_matches: tuple[EntryId, ...] = ()
    """Entries that a search by meaning found; for profiles that take them."""
    dry_run: bool = False
    """Look only: stored timed effects are neither used nor changed."""
