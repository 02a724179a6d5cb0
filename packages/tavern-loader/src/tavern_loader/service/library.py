"""What a session has bound, and the parsed resources behind it.

Owns the freeze of a session's selection at its first sight, and the way from bound ids to parsed
resources, which are kept by revision. Must not know files, hosts, or how a prompt is made.

Source: the plugin contract, sections A9, A10, E1 and F.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from tavern_compiler import (
    CharacterOptions,
    ResourceRef,
    SourceKind,
    SystemPromptMode,
    User,
)
from tavern_format import CharacterCard, Preset
from tavern_loader.domain.selection import (
    EMPTY_SELECTION,
    BindingSource,
    LoreChannel,
    Selection,
    WorldBookSelection,
)
from tavern_loader.ports import Clock, JsonObject
from tavern_loader.service.resources import DEFAULT_SETTINGS, Remark
from tavern_loader.store_ports import Stores
from tavern_matcher import CharacterStrategy, Index, MatchSettings, NamedBook, compile_index

LIBRARY_SETTINGS = evolve(DEFAULT_SETTINGS, character_strategy=CharacterStrategy.GLOBAL_FIRST)
"""Books of the preset are visited before those of the character, as the contract orders them."""


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


class Library:
    """The selections and resources of one installation. Safe to use from several threads."""

    def __init__(
        self, stores: Stores, clock: Clock, settings: MatchSettings = LIBRARY_SETTINGS
    ) -> None:
        """Work on stores; `settings` are those of every scan."""
        self._stores = stores
        self._clock = clock
        self._settings = settings
        self._selections: dict[str, Selection] = {}

    def ensure_selection(self, session_id: str, parent_id: str | None = None) -> Selection:
        """Give a session's selection, fixed at its first sight.

        A session with a parent, fork or subagent, begins with what its parent has at that moment,
        any other with the defaults. Raises StoreError if it cannot be kept.
        """
        if session_id not in self._selections:
            parent = self._selections.get(parent_id or "")
            self._selections[session_id] = parent or self.defaults()
        return self._selections[session_id]

    def has_selection(self, session_id: str) -> bool:
        """Whether a session has been seen."""
        return session_id in self._selections

    def selection(self, session_id: str) -> Selection:
        """Give a session's selection; for one that was never seen, what it would begin with."""
        return self._selections.get(session_id) or self.defaults()

    def defaults(self) -> Selection:
        """Give what a new session without a parent begins with."""
        return EMPTY_SELECTION

    def set_selection(self, session_id: str, selection: Selection) -> Selection:
        """Replace a session's selection. Raises StoreError if it cannot be kept."""
        return self.change_selection(session_id, lambda _: selection)

    def change_selection(
        self, session_id: str, change: Callable[[Selection], Selection]
    ) -> Selection:
        """Replace a session's selection by what is made of it, while nobody else can."""
        self._selections[session_id] = change(self.selection(session_id))
        return self._selections[session_id]

    def resolve(self, selection: Selection) -> Resolved:
        """Give the resources of a selection. What cannot be found or read gets a diagnostic."""
        books: Sequence[BoundBook] = ()
        return Resolved(
            selection=selection,
            world_books=WorldBookSelection(explicit=selection.world_book_ids),
            books=tuple(books),
            index=compile_index([book.named for book in books], self._settings),
        )
