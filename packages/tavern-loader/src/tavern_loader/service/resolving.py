"""From a selection to everything it stands for.

Owns what of a selection goes to which field, and which books its resources bring along. Must not
know sessions, or how a prompt is made.

Source: the plugin contract, sections A3, A9, A10, B2 and F.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tavern_compiler import CharacterOptions, ResourceRef, SourceKind, SystemPromptMode
from tavern_format import CharacterCard, Severity
from tavern_loader.domain import bindings
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.character_remarks import compatibility_remarks
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.preset_document import is_replacing
from tavern_loader.domain.selection import Selection, WorldBookSelection, join_books
from tavern_loader.errors import StoreError
from tavern_loader.service.bound_books import (
    LIBRARY_SETTINGS,
    BoundBooks,
    ReadBook,
    book_document,
)
from tavern_loader.service.models import Model, Models, remark
from tavern_loader.service.resolved import Resolved
from tavern_loader.service.resources import Remark
from tavern_loader.store_ports import StateFile, Stores
from tavern_matcher import MatchSettings


class Resolver:
    """Resolves selections. Safe to use from several threads."""

    def __init__(self, stores: Stores, settings: MatchSettings = LIBRARY_SETTINGS) -> None:
        """Read from stores; `settings` are those of every scan."""
        self._stores = stores
        self._models = Models(stores)
        self._books = BoundBooks(self._models, settings)

    def resolve(self, selection: Selection) -> Resolved:
        """Give the resources of a selection. What cannot be found or read gets a diagnostic."""
        remarks: list[Remark] = []
        find = self._models.find
        preset = find(Kind.PRESET, selection.preset_id, remarks)
        character = find(Kind.CHARACTER, selection.character_id, remarks)
        remarks.extend(() if character is None else _character_remarks(character, selection))
        user = find(Kind.USER, selection.user_id, remarks)
        chosen = self._world_books(selection, preset, character, user, remarks)
        books = self._books.read(chosen, character, remarks)
        return Resolved(
            selection=selection,
            world_books=chosen,
            preset=None if preset is None else preset.value,
            character=None if character is None else character.value,
            user=None if user is None else user.value,
            options=_options(selection),
            system_prompt_mode=_mode(preset),
            references=_references(preset, character, user),
            books=tuple(book.bound for book in books),
            index=self._books.index(books),
            documents=_documents(preset, character, user, books),
            diagnostics=tuple(remarks),
        )

    def _world_books(
        self,
        selection: Selection,
        preset: Model | None,
        character: Model | None,
        user: Model | None,
        remarks: list[Remark],
    ) -> WorldBookSelection:
        def of(file: StateFile, owner: Owner, model: Model | None) -> tuple[str, ...]:
            if model is None:
                return ()
            try:
                return bindings.books_of(file.read().document, owner, model.id)
            except StoreError as error:
                remarks.append(remark(model.id, error.code, Severity.ERROR, error.message))
                return ()

        return join_books(
            selection.world_book_ids,
            of(self._stores.user_books, Owner.USER, user),
            of(self._stores.resource_books, Owner.PRESET, preset),
            of(self._stores.resource_books, Owner.CHARACTER, character),
        )


def _options(selection: Selection) -> CharacterOptions:
    choice = selection.character
    return CharacterOptions(
        prefer_system_prompt=choice.prefer_system_prompt,
        prefer_post_history=choice.prefer_post_history,
        greeting_index=choice.greeting_index,
    )


def _mode(preset: Model | None) -> SystemPromptMode:
    replaces = preset is not None and is_replacing(preset.document)
    return SystemPromptMode.REPLACE if replaces else SystemPromptMode.APPEND


def _character_remarks(character: Model, selection: Selection) -> Iterator[Remark]:
    for code, message in compatibility_remarks(character.document):
        yield remark(character.id, code, Severity.INFO, message)
    card: CharacterCard = character.value
    if selection.character.greeting_index > len(card.alternate_greetings):
        message = "The card has no greeting of the chosen number; none is sent."
        yield remark(character.id, "CHARACTER_GREETING_MISSING", Severity.WARNING, message)


def _references(
    preset: Model | None, character: Model | None, user: Model | None
) -> dict[SourceKind, ResourceRef]:
    found = (
        (SourceKind.PRESET, preset),
        (SourceKind.CHARACTER, character),
        (SourceKind.USER, user),
    )
    return {
        kind: ResourceRef(id=model.id, revision=model.revision)
        for kind, model in found
        if model is not None
    }


def _documents(
    preset: Model | None, character: Model | None, user: Model | None, books: Sequence[ReadBook]
) -> dict[str, Any]:
    return {
        "preset": _named(preset),
        "characterCard": _named(character),
        "user": None
        if user is None
        else {"id": user.id, "name": user.value.name, "description": user.value.description},
        "worldBooks": [book_document(book.bound) for book in books],
    }


def _named(model: Model | None) -> dict[str, Any] | None:
    if model is None:
        return None
    document = model.document
    return {"id": model.id, "name": document.get("name"), "updatedAt": document.get("updatedAt")}
