"""What one scan looks at: messages, further texts, the character and the kind of generation.

Owns plain values that a caller fills in. Must not know books, settings or hosts.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, the arguments of checkWorldInfo.
"""

from attrs import frozen

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
class ScanContext:
    """Everything one scan looks at besides books and settings."""

    messages: tuple[ScanMessage, ...] = ()
    """Oldest first, without hidden ones. Their number is the clock of timed effects."""
    sources: ScanSources = ScanSources()
    injected: tuple[str, ...] = ()
    """Texts of other parts of the prompt that are to be scanned."""
    trigger: str = NORMAL
    """normal, continue, impersonate, swipe, regenerate or quiet."""
    character: ScanCharacter | None = None
    """None: no character is open."""
    context_size_tokens: int | None = None
    """Size of the whole prompt, of which a budget is a share."""
