"""Everything one projection is made from.

Owns plain values, and the numbers SillyTavern has for places. Must not know the order of anything.

Source: SillyTavern 1.19.0, public/script.js (Generate, extension_prompt_types),
public/scripts/authors-note.js, public/scripts/group-chats.js.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum, StrEnum

from attrs import field, frozen

from tavern_compiler.st_result import MessageSource
from tavern_format import (
    CharacterCard,
    ChatMessage,
    GenerationMode,
    Persona,
    Preset,
    Role,
)
from tavern_matcher import Placement


class ProjectionProfile(StrEnum):
    """How SillyTavern's own faults are treated."""

    ST_1_19 = "st-1.19"
    """Exactly as SillyTavern 1.19 does, faults included."""
    SAFE = "safe"
    """Repaired, each as COMPATIBILITY.md says."""


class ExtensionPosition(IntEnum):
    """Where an extension prompt goes; SillyTavern's numbers."""

    NONE = -1
    IN_PROMPT = 0
    """After the main prompt."""
    IN_CHAT = 1
    """At a depth of the chat."""
    BEFORE_PROMPT = 2
    """Before the main prompt."""


@frozen(kw_only=True)
class ExtensionPrompt:
    """A text that something beside the preset puts into the prompt."""

    value: str = field(repr=False)
    position: ExtensionPosition = ExtensionPosition.IN_PROMPT
    depth: float = 0
    """Messages from the end; only a whole number is ever reached."""
    role: Role = Role.SYSTEM
    scan: bool = False
    """Whether lore looks at it; of no consequence here."""
    sources: tuple[MessageSource, ...] = ()
    """Empty: the extension itself, under its key."""


@frozen(kw_only=True)
class AuthorsNote:
    """The note of a chat, with SillyTavern's defaults."""

    text: str = field(default="", repr=False)
    interval_messages: float = 1
    """Due with every n-th message of the user; 1: always; 0 or less: never."""
    position: ExtensionPosition = ExtensionPosition.IN_CHAT
    depth: float = 4
    role: Role = Role.SYSTEM


@frozen(kw_only=True)
class ChatOverrides:
    """What the metadata of a chat puts in place of the card's fields; empty: nothing."""

    system_prompt: str = ""
    scenario: str = ""
    message_examples: str = ""


@frozen(kw_only=True)
class MemberCard:
    """One member of a group."""

    card: CharacterCard
    muted: bool = False
    speaking: bool = False
    """True: the one who is to answer."""


@frozen(kw_only=True)
class GroupChat:
    """The group that a chat belongs to."""

    members: tuple[MemberCard, ...] = ()
    """In the group's order, muted ones too."""
    mode: GenerationMode = GenerationMode.SWAP
    """Whose cards are sent: the speaker's, those of all who are not muted, those of all."""
    join_prefix: str = ""
    """In front of each joined field; `<FIELDNAME>` stands for the field's name."""
    join_suffix: str = ""


@frozen(kw_only=True)
class ReasoningSettings:
    """Whether what earlier answers were thought out with is sent, with SillyTavern's defaults."""

    send: bool = False
    max_messages: float = 1
    """How many messages have theirs, from the newest on."""
    prefix: str = "<think>"
    suffix: str = "</think>"
    separator: str = "\n"
    """Between suffix and answer."""


@frozen(kw_only=True)
class ProjectionSettings:
    """What a user has set outside of the preset, with SillyTavern's defaults."""

    prefer_card_system_prompt: bool = True
    prefer_card_post_history: bool = True
    pin_examples: bool = False
    """True: examples are paid before the history."""
    strip_examples: bool = False
    collapse_newlines: bool = False
    """In fields of cards only."""
    reasoning: ReasoningSettings = field(factory=ReasoningSettings)
    user_bias: str = ""
    """Start of every answer, where the chat names none."""
    completion_source: str | None = None
    """Only `claude` makes a difference; None: as the preset's file says."""
    dry_run: bool = False
    """True: as for a preview; neighbouring system messages are not merged then."""
    tokens_per_message: int = 0
    """Added to what `count_tokens` says of text and name."""


@frozen(kw_only=True)
class ProjectionInput:
    """The input of `project_messages`. Whatever is left out is simply not there."""

    preset: Preset
    character: CharacterCard | None = None
    char_name: str = ""
    """Stands in front of the card's own names."""
    persona: Persona | None = None
    chat: tuple[ChatMessage, ...] = ()
    """Oldest first, hidden messages too."""
    lore: Placement = field(factory=Placement)
    """Fired entries by place."""
    lore_expanded: bool = False
    """True: `Activated.text` is what is placed, macros and scripts done. False: both run here, from
    `Activated.content`, highest order first."""
    note: AuthorsNote = field(factory=AuthorsNote)
    overrides: ChatOverrides = field(factory=ChatOverrides)
    group: GroupChat | None = None
    extension_prompts: Mapping[str, ExtensionPrompt] = field(factory=dict)
    """By key, in the order in which they were set."""
    type: str = "normal"
    """normal, regenerate, swipe, continue, quiet or impersonate."""
    quiet_prompt: str = ""
    skip_notes: bool = False
    """True: lore at a depth and in outlets is left out, as some quiet prompts ask."""
    settings: ProjectionSettings = field(factory=ProjectionSettings)


CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""
