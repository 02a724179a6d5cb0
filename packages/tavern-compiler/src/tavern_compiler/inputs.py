"""Everything one compile is made from.

Owns plain values and the table of a card's fields. Must not know the order of anything.

Source: the plugin contract, sections A1, A4 and A6.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

from attrs import Attribute, field, frozen
from attrs.validators import ge, le

from tavern_compiler._text import trim
from tavern_compiler.lore import LoreChannel, LoreEntry, lore_entries
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.parts import SourceKind
from tavern_compiler.rules import RULES, CompileProfile, Rules
from tavern_format import CharacterCard, Preset
from tavern_matcher import MatchResult

KIB = 1024
DEFAULT_PROFILE_BYTES = 512 * KIB
MAX_PROFILE_BYTES = 2048 * KIB
_NO_MACROS = MacroContext()
"""Made once: it is the largest of all values of an input."""


class SystemPromptMode(StrEnum):
    """What a host does with its own system prompt."""

    APPEND = "append"
    """It keeps its own and adds the parts."""
    REPLACE = "replace"


@frozen(kw_only=True)
class User:
    """The person who plays."""

    name: str = ""
    description: str = ""
    """The persona."""


@frozen(kw_only=True)
class CharacterOptions:
    """What a person may choose about a card."""

    prefer_system_prompt: bool = True
    """False: the card's system prompt is not sent at all."""
    prefer_post_history: bool = True
    """False: the card's post-history instructions are not sent at all."""
    greeting_index: int = 0
    """0: the first message; n: the n-th alternate greeting."""


@frozen(kw_only=True)
class ResourceRef:
    """Under which id and revision a resource is kept; both go into the sources of parts."""

    id: str
    revision: str | None = None
    name: str = ""
    """For people; goes into the audit."""


@frozen(kw_only=True)
class BookRef(ResourceRef):
    """The same of a world book, and why it takes part."""

    embedded: bool = False
    """Whether it is the book inside the card."""
    bindings: tuple[str, ...] = ()
    """Who brought it in: `session`, `user`, `preset`, `character`."""


def _one_source_of_lore(
    given: "CompileInput", attribute: "Attribute[MatchResult | None]", value: MatchResult | None
) -> None:
    if value is not None and given.lore:
        message = f"lore comes from either lore or {attribute.name}, not from both"
        raise ValueError(message)


@frozen(kw_only=True)
class CompileInput:
    """The input of `compile_profile`. Whatever is left out is simply not there."""

    preset: Preset | None = None
    character: CharacterCard | None = None
    user: User | None = None
    lore: tuple[LoreEntry, ...] = ()
    """Fired entries in their order. Give these, or the result of a match."""
    match: MatchResult | None = field(default=None, validator=_one_source_of_lore, repr=False)
    """Stands for `lore_entries(match.placement)`, and brings its decisions into the audit."""
    options: CharacterOptions = field(factory=CharacterOptions)
    include_greeting: bool = True
    """Only while the opening lasts: no answer yet, and at most one message of the user."""
    trigger: str = "normal"
    """Kind of generation; prompts may be limited to some kinds."""
    system_prompt_mode: SystemPromptMode = SystemPromptMode.APPEND
    char_name: str = ""
    """Stands in front of the card's own names."""
    resources: Mapping[SourceKind, ResourceRef] = field(factory=dict)
    """Of preset, character and user."""
    books: Mapping[str, BookRef] = field(factory=dict)
    """By the name that entries give for their book; one that is not here is named by that."""
    max_profile_bytes: int = field(
        default=DEFAULT_PROFILE_BYTES, validator=[ge(1), le(MAX_PROFILE_BYTES)]
    )
    """UTF-8 bytes of all parts together, with what stands between them."""
    lore_channel: LoreChannel = LoreChannel.SYSTEM
    profile: CompileProfile = CompileProfile.SAFE
    macros: MacroContext = _NO_MACROS
    """What macros stand for beside card and persona, which come from the other values. Its names
    count where neither these nor the card give one. Without dice or a time the macros that need
    them stay as they are, with a diagnostic."""

    @property
    def rules(self) -> Rules:
        """Give the column of the rule table."""
        return RULES[self.profile]

    def fired(self) -> tuple[LoreEntry, ...]:
        """List the lore, from wherever it comes: `/lore/<n>` in a diagnostic is the n-th."""
        return self.lore if self.match is None else lore_entries(self.match.placement)

    def book_id(self, entry: LoreEntry) -> str:
        """Give the id of an entry's book."""
        ref = self.books.get(entry.book)
        return entry.book if ref is None else ref.id

    def qualified_id(self, entry: LoreEntry) -> str:
        """Give `<book id>:<uid>`."""
        return f"{self.book_id(entry)}:{entry.uid}"


FALLBACK_FIELDS = (
    "systemPrompt",
    "description",
    "personality",
    "scenario",
    "messageExample",
    "postHistoryInstructions",
    "greeting",
    "depthPrompt",
)
"""Names of the card's fields in parts, in the order in which leftovers are appended."""

_FIELDS: Mapping[str, Callable[[CharacterCard, CharacterOptions], str]] = {
    "systemPrompt": lambda card, _: card.system_prompt,
    "description": lambda card, _: card.description,
    "personality": lambda card, _: card.personality,
    "scenario": lambda card, _: card.scenario,
    "messageExample": lambda card, _: card.message_examples,
    "postHistoryInstructions": lambda card, _: card.post_history_instructions,
    "greeting": lambda card, options: _greeting(card, options.greeting_index),
    "depthPrompt": lambda card, _: "" if card.depth_prompt is None else card.depth_prompt.prompt,
}


def character_texts(given: CompileInput, *, declined: bool = False) -> dict[str, str]:
    """Read the fields of the card that have a text and may be sent, trimmed, in fallback order.

    With `declined`, read those instead that have a text and may not.
    """
    card = given.character
    if card is None:
        return {}
    refused = {name for name, is_refused in _REFUSALS.items() if is_refused(given)}
    names = [name for name in FALLBACK_FIELDS if (name in refused) is declined]
    texts = ((name, trim(_FIELDS[name](card, given.options))) for name in names)
    return {name: text for name, text in texts if text}


_REFUSALS: Mapping[str, Callable[[CompileInput], bool]] = {
    "systemPrompt": lambda given: not given.options.prefer_system_prompt,
    "postHistoryInstructions": lambda given: not given.options.prefer_post_history,
    "greeting": lambda given: not given.include_greeting,
}
"""Fields that a caller may keep from being sent."""


def _greeting(card: CharacterCard, index: int) -> str:
    greetings = (card.greeting, *card.alternate_greetings)
    return greetings[index] if 0 <= index < len(greetings) else ""


def char_name(given: CompileInput) -> str:
    """Name the character: the first of all its names that is not blank."""
    card = given.character
    names = (given.char_name, *(() if card is None else (card.nickname, card.name)))
    return next((name for name in names if trim(name)), given.macros.char)


def user_name(given: CompileInput) -> str:
    """Name the user."""
    return (given.user.name if given.user else "") or given.macros.user
