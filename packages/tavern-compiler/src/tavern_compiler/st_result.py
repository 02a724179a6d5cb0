"""What a projection gives: messages with their sources, and what did not get in with its cost.

Owns values only. Must not know how a message came to be.

Source: SillyTavern 1.19.0, public/scripts/openai.js (Message, ChatCompletion).
"""

from enum import StrEnum

from attrs import field, frozen

from tavern_compiler.regex_values import ScriptUse
from tavern_format import Diagnostic


class MessageSourceKind(StrEnum):
    """What sort of thing a text of a message is from; also the first step of a path."""

    PRESET = "preset"
    CHARACTER = "character"
    MEMBER = "group/members"
    """The card of one who is in the group."""
    PERSONA = "persona"
    WORLD_BOOK = "lore"
    CHAT = "chat"
    NOTE = "note"
    """The author's note."""
    EXTENSION = "extension_prompts"
    GENERATION = "generation"
    """What only this one generation asks for: a quiet prompt, a bias."""


@frozen(kw_only=True)
class MessageSource:
    """One text that went into a message."""

    kind: MessageSourceKind
    identifier: str
    """Of the preset's prompt, the entry (`book:uid`), the extension prompt; number of the message
    in the chat; name of the character or the user."""
    field: str
    """Where in its resource: `prompts/3/content`, `description`, `12/text`, ..."""

    @property
    def path(self) -> str:
        """JSON pointer for diagnostics: kind and field."""
        return f"/{self.kind}/{self.field}"


@frozen(kw_only=True)
class PromptMessage:
    """One message of the request."""

    role: str
    """`system`, `user` or `assistant`; another word only where a preset has one."""
    content: str = field(repr=False)
    name: str | None = None
    identifier: str | None = None
    """SillyTavern's internal name: `main`, `chatHistory-3`, `newChat`, ..."""
    collection: str | None = None
    """The slot that holds it; None after neighbours were merged."""
    tokens: int = 0
    """What it was counted with. Merging neighbours does not change the budget any more."""
    sources: tuple[MessageSource, ...] = ()
    """In the order in which they went in."""


@frozen(kw_only=True)
class Dropped:
    """A message, or a block of them, that is not in the request."""

    identifier: str
    tokens: int
    """Its cost, macros not expanded where SillyTavern does not get that far."""
    sources: tuple[MessageSource, ...] = ()
    diagnostic: Diagnostic
    """Why; also in `Projection.diagnostics`."""


@frozen(kw_only=True)
class Projection:
    """A request's messages."""

    messages: tuple[PromptMessage, ...]
    dropped: tuple[Dropped, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    overridden: tuple[str, ...] = ()
    """Identifiers of the prompts that the card replaced."""
    over_budget: str | None = None
    """The mandatory message that did not fit: what came after it is missing. SillyTavern shows an
    error, and sends what there is."""
    tokens_left: float = 0
    """Of the budget; below 0 where a reserve was larger than what was left."""
    scripts: tuple[ScriptUse, ...] = ()
    """What regex scripts replaced, and which failed, in the order of the texts."""
    macro_state: object = None
    """What the last macro left behind: variables, in the form of the `expand` that was used."""
