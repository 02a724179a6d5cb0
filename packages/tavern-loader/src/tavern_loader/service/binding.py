"""Binding resources: to a session, as the default of new sessions, and books to their owners.

Owns the checks that what is bound is there. Must not know files, or what a binding does to a
prompt.

Source: the plugin contract, sections E1 and F.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from tavern_loader.domain import bindings
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import iso_time, object_of
from tavern_loader.domain.selection import MAX_BOOKS, CharacterChoice, LoreChannel, Selection
from tavern_loader.ports import Clock
from tavern_loader.service.library import Library
from tavern_loader.service.templates import SessionTemplates
from tavern_loader.store_ports import StateFile, Stores

DEFAULT_TEMPLATE_NAME = "Default"
_OWNER_KINDS: Mapping[Owner, Kind] = {owner: kind for kind, owner in bindings.OWNER_KINDS.items()}


@frozen(kw_only=True)
class Wish:
    """What is to be bound; None leaves a thing as it is, an empty text or tuple unbinds it."""

    preset_id: str | None = None
    character_id: str | None = None
    user_id: str | None = None
    world_book_ids: tuple[str, ...] | None = None
    greeting_index: int | None = None
    prefer_system_prompt: bool | None = None
    prefer_post_history: bool | None = None
    lore_channel: LoreChannel | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to change."""
        return self == Wish()

    @property
    def is_preset_only(self) -> bool:
        """Whether nothing but the preset is to change."""
        return self.preset_id is not None and self == Wish(preset_id=self.preset_id)


class Binding:
    """Binds the resources of one installation."""

    def __init__(
        self, stores: Stores, clock: Clock, library: Library, session_templates: SessionTemplates
    ) -> None:
        """Work on stores through the library and the templates."""
        self._stores = stores
        self._clock = clock
        self._library = library
        self._templates = session_templates

    def bind_session(self, session_id: str, wish: Wish) -> Selection:
        """Change what a session has bound.

        Raises NotFoundError for a resource that is not there, ValueError for a greeting the
        character does not have and for too many books, StoreError.
        """
        with self._stores.exclusive():
            return self._library.change_selection(
                session_id, lambda before: self._granted(before, wish)
            )

    def bind_default(self, wish: Wish) -> Selection:
        """Change what sessions without a parent begin with; those seen already stay as they are.

        The preset alone is the chosen preset; anything more is kept in the chosen session template,
        which is made if there is none. Raises as `bind_session`.
        """
        with self._stores.exclusive():
            selection = self._granted(self._library.defaults(), wish)
            chosen = self._templates.selected()
            if chosen is None and not wish.is_preset_only:
                chosen = self._templates.save(DEFAULT_TEMPLATE_NAME, selection)
            elif chosen is not None:
                self._templates.change(chosen.id, selection=selection)
            if wish.preset_id is not None:
                self._stores.preset_state.change(
                    lambda state: {**state, "selectedId": selection.preset_id}
                )
            return selection

    def books_of(self, owner: Owner, owner_id: str) -> tuple[str, ...]:
        """List the books bound to a user, a preset or a character. Raises StoreError."""
        return bindings.books_of(self._file(owner).read().document, owner, owner_id)

    def bind_books(self, owner: Owner, owner_id: str, book_ids: Sequence[str]) -> tuple[str, ...]:
        """Bind books to a user, a preset or a character, in place of those bound before.

        Raises NotFoundError for an owner or a book that is not there, ValueError for more than 100
        books, StoreError.
        """
        with self._stores.exclusive():
            self._require(_OWNER_KINDS[owner], owner_id)
            for book_id in book_ids:
                self._require(Kind.WORLD_BOOK, book_id)
            now = iso_time(self._clock.now_ms())
            self._file(owner).change(
                lambda found: bindings.with_books(found, owner, owner_id, book_ids, now)
            )
            return self.books_of(owner, owner_id)

    def _file(self, owner: Owner) -> StateFile:
        return self._stores.user_books if owner is Owner.USER else self._stores.resource_books

    def _require(self, kind: Kind, document_id: str) -> Mapping[str, Any]:
        return self._stores.documents(kind).get(document_id).document

    def _granted(self, before: Selection, wish: Wish) -> Selection:
        """Apply a wish to a selection, if everything it names is there."""
        after = evolve(
            before,
            preset_id=self._wanted(Kind.PRESET, wish.preset_id, before.preset_id),
            character_id=self._wanted(Kind.CHARACTER, wish.character_id, before.character_id),
            user_id=self._wanted(Kind.USER, wish.user_id, before.user_id),
            world_book_ids=self._wanted_books(wish.world_book_ids, before.world_book_ids),
            lore_channel=wish.lore_channel or before.lore_channel,
        )
        is_same = after.character_id == before.character_id
        held = before.character if is_same else CharacterChoice()
        return evolve(after, character=self._choice(after.character_id, held, wish))

    def _wanted(self, kind: Kind, wanted: str | None, held: str | None) -> str | None:
        if wanted:
            self._require(kind, wanted)
        return held if wanted is None else wanted or None

    def _wanted_books(
        self, wanted: tuple[str, ...] | None, held: tuple[str, ...]
    ) -> tuple[str, ...]:
        if wanted is None:
            return held
        books = tuple(dict.fromkeys(wanted))
        if len(books) > MAX_BOOKS:
            raise ValueError(f"at most {MAX_BOOKS} world books can be bound to one session")
        for book_id in books:
            self._require(Kind.WORLD_BOOK, book_id)
        return books

    def _choice(
        self, character_id: str | None, held: CharacterChoice, wish: Wish
    ) -> CharacterChoice:
        told = {
            name: value
            for name in ("greeting_index", "prefer_system_prompt", "prefer_post_history")
            if (value := getattr(wish, name)) is not None
        }
        if wish.greeting_index is not None and wish.greeting_index != 0:
            self._require_greeting(character_id, wish.greeting_index)
        return evolve(held, **told)

    def _require_greeting(self, character_id: str | None, index: int) -> None:
        if character_id is None:
            raise ValueError("without a character there is no greeting to choose")
        data = object_of(self._require(Kind.CHARACTER, character_id).get("data"))
        last = len(data.get("alternateGreetings") or ())
        if not 0 <= index <= last:
            raise ValueError(f"the character has greetings from 0 to {last}")
