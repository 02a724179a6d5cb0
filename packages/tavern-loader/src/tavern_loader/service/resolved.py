"""What a selection stands for, as values: parsed resources, books, remarks.

Must not know where resources are kept, or how they are found.

Source: the plugin contract, sections A3, A9, A10 and B2.
"""

from collections.abc import Mapping

from attrs import field, frozen

from tavern_compiler import CharacterOptions, ResourceRef, SourceKind, SystemPromptMode, User
from tavern_format import CharacterCard, Preset
from tavern_loader.domain.selection import (
    BindingSource,
    LoreChannel,
    Selection,
    WorldBookSelection,
)
from tavern_loader.ports import JsonObject
from tavern_loader.service.resources import Remark
from tavern_matcher import Index, NamedBook

STANDALONE = "standalone-world-book"
EMBEDDED = "embedded-character-book"


@frozen(kw_only=True)
class BoundBook:
    """A world book that a session uses."""

    id: str
    """Of the document, or `character:<id>:embedded-world-book`."""
    title: str
    kind: str
    """`standalone-world-book` or `embedded-character-book`."""
    named: NamedBook
    """Its name is `id`: entries are qualified by it."""
    sources: tuple[BindingSource, ...] = ()
    """Why it counts; empty for the book inside the card."""
    owner_character_id: str | None = None
    format: str = ""
    updated_at: str | None = None


@frozen(kw_only=True)
class Resolved:
    """Everything a selection stands for. What is missing has a diagnostic."""

    selection: Selection
    world_books: WorldBookSelection
    preset: Preset | None = None
    character: CharacterCard | None = None
    user: User | None = None
    options: CharacterOptions = field(factory=CharacterOptions)
    system_prompt_mode: SystemPromptMode = SystemPromptMode.APPEND
    references: Mapping[SourceKind, ResourceRef] = field(factory=dict)
    """Ids and revisions of preset, character and user."""
    books: tuple[BoundBook, ...] = ()
    """In the order of the contract: session, user, preset, character, inside the card."""
    index: Index = field(repr=False)
    """Over `books`; the same object as long as no book of it changes."""
    documents: JsonObject = field(factory=dict, repr=False)
    """`resources` of the audit (contract A10), without what matching adds to the books."""
    diagnostics: tuple[Remark, ...] = ()
    """`source` is the id the remark is about."""

    @property
    def lore_channel(self) -> LoreChannel:
        """Where fired lore goes."""
        return self.selection.lore_channel
