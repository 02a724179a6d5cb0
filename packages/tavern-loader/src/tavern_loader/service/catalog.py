"""The stored resources as a user sees them: list, show, edit, hand out, delete.

Owns what deleting a resource does to everything that names it, and the forms of an exported file.
Must not know files; how a resource is read from one is `importing`'s.

Source: the plugin contract, section F.
"""

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from attrs import evolve, frozen

from tavern_format import CardCarrier, Diagnostic, FormatError, Severity, dump_card_png
from tavern_loader.domain import bindings, documents
from tavern_loader.domain.bindings import OWNER_KINDS, RESOURCE_FILE, USER_FILE, Owner
from tavern_loader.domain.character_document import (
    card_of,
    edited_character,
    exported_card,
    with_embedded_book,
)
from tavern_loader.domain.documents import Kind, Summary, summary
from tavern_loader.domain.js_values import iso_time, object_of, text_of
from tavern_loader.domain.preset_document import exported_preset
from tavern_loader.domain.preset_editing import edited_preset, with_regex_scripts
from tavern_loader.domain.user_document import edited_user
from tavern_loader.domain.world_book_document import exported_world_book
from tavern_loader.domain.world_book_editing import edited_world_book
from tavern_loader.errors import NotFoundError, StoreError
from tavern_loader.ports import Clock, JsonObject
from tavern_loader.service.finding import find
from tavern_loader.service.library import Library
from tavern_loader.service.making import TRANSFER
from tavern_loader.service.resources import Remark
from tavern_loader.store_ports import Stored, Stores

KIB = 1024
MAX_EMBEDDED_BOOK_BYTES = 4 * KIB * KIB

Edit = Callable[[dict[str, Any], JsonObject, str], dict[str, Any]]
_EDITS: Mapping[Kind, Edit] = {
    Kind.PRESET: edited_preset,
    Kind.CHARACTER: edited_character,
    Kind.WORLD_BOOK: edited_world_book,
    Kind.USER: lambda document, patch, _now: edited_user(document, patch),
}


class Form(StrEnum):
    """How a resource is handed out."""

    JSON = "json"
    PNG = "png"
    """A character in its picture."""
    ORIGINAL = "original"
    """The archive a character came in, without later edits."""


@frozen(kw_only=True)
class ExportedFile:
    """A file to hand out."""

    name: str
    media_type: str
    data: bytes


@frozen(kw_only=True)
class Listing:
    """The resources of a kind, and what is wrong with those that cannot be read."""

    summaries: tuple[Summary, ...]
    problems: tuple[Remark, ...] = ()


class Catalog:
    """The resources of one installation."""

    def __init__(self, stores: Stores, clock: Clock, library: Library) -> None:
        """Work on stores; deleting takes a resource out of the library's selections."""
        self._stores = stores
        self._clock = clock
        self._library = library

    def listing(self, kind: Kind) -> Listing:
        """List the resources of a kind by name; of equal names the newest first."""
        store = self._stores.documents(kind)
        summaries: list[Summary] = []
        problems: list[Remark] = []
        for document_id in store.ids():
            try:
                summaries.append(summary(kind, document_id, store.get(document_id).document))
            except StoreError as error:
                found = Diagnostic(error.code, Severity.ERROR, "", error.message)
                problems.append(Remark(document_id, found))
        summaries.sort(key=lambda one: one.updated_at, reverse=True)
        summaries.sort(key=lambda one: one.name.casefold())
        return Listing(summaries=tuple(summaries), problems=tuple(problems))

    def find(self, reference: str, kind: Kind | None = None) -> tuple[Kind, str]:
        """Find the one resource that a person means: by id, by the beginning of an id, or by name.

        Raises UnclearReferenceError (RESOURCE_NOT_FOUND, RESOURCE_AMBIGUOUS).
        """
        kinds = tuple(Kind) if kind is None else (kind,)
        listed = [one for each in kinds for one in self.listing(each).summaries]
        found = find(listed, reference, "resource" if kind is None else kind)
        return found.kind, found.id

    def get(self, kind: Kind, document_id: str) -> Stored:
        """Give a document. Raises NotFoundError, StoreError."""
        return self._stores.documents(kind).get(document_id)

    def edit(
        self, kind: Kind, document_id: str, patch: JsonObject, *, expected: str | None = None
    ) -> Stored:
        """Change fields of a resource; `expected` is the revision the caller has seen.

        Raises ValueError for a field or value that cannot be, RevisionConflictError, StoreError.
        """
        now = self._now()
        return self._stores.documents(kind).change(
            document_id, lambda document: _EDITS[kind](document, patch, now), expected=expected
        )

    def replace_regex_scripts(self, kind: Kind, document_id: str, scripts: object) -> Stored:
        """Replace all regular expression scripts of a preset or a character. Raises as `edit`."""
        now = self._now()
        return self._stores.documents(kind).change(
            document_id, lambda document: with_regex_scripts(document, kind, scripts, now)
        )

    def replace_embedded_book(self, character_id: str, book: JsonObject) -> Stored:
        """Replace the book inside a card. Raises as `edit`, StoreError for more than 4 MiB."""
        if len(json.dumps(book, ensure_ascii=False)) > MAX_EMBEDDED_BOOK_BYTES:
            message = f"a book inside a card has at most {MAX_EMBEDDED_BOOK_BYTES} bytes"
            raise StoreError("CHARACTER_WORLD_BOOK_TOO_LARGE", message)
        now = self._now()
        return self._stores.characters.change(
            character_id, lambda document: with_embedded_book(document, book, now)
        )

    def delete(self, kind: Kind, document_id: str) -> bool:
        """Delete a resource and unbind it everywhere; False if there is none.

        Raises StoreError; then the resource is still there.
        """
        with self._stores.exclusive():
            self._library.unbind_everywhere(kind, document_id)
            self._forget_books(kind, document_id)
            if kind is Kind.PRESET:
                self._stores.preset_state.change(
                    lambda state: (
                        {**state, "selectedId": None}
                        if state.get("selectedId") == document_id
                        else state
                    )
                )
            if kind is Kind.CHARACTER:
                self._remember_missing(document_id)
            is_gone = self._stores.documents(kind).delete(document_id)
            if kind is Kind.CHARACTER:
                # Last: pictures without a character are seen by nobody.
                self._stores.character_covers.delete(document_id)
                self._stores.character_originals.delete(document_id)
            return is_gone

    def select_preset(self, preset_id: str | None) -> None:
        """Choose the preset that new sessions begin with. Raises NotFoundError, StoreError."""
        if preset_id is not None:
            self._stores.presets.get(preset_id)
        self._stores.preset_state.change(lambda state: {**state, "selectedId": preset_id})

    def exported(self, kind: Kind, document_id: str, form: Form | None = None) -> ExportedFile:
        """Hand out a resource as a file that SillyTavern reads.

        Without a form a character with a picture is a PNG, everything else JSON. Raises
        NotFoundError, StoreError, ValueError for a form the kind does not have.
        """
        document = self.get(kind, document_id).document
        name = text_of(document.get("name")) or str(kind)
        if kind is not Kind.CHARACTER:
            if form not in (None, Form.JSON):
                raise ValueError(f"a {kind} is handed out as json only")
            return _json_file(name, _EXPORTS[kind](document))
        cover = self._stores.character_covers.get(document_id)
        if form is Form.ORIGINAL:
            return self._original(document_id, document)
        if form is Form.PNG or (form is None and cover is not None):
            return _png_file(name, document, cover)
        return _json_file(name, exported_card(document))

    def _original(self, character_id: str, document: JsonObject) -> ExportedFile:
        data = self._stores.character_originals.get(character_id)
        if data is None:
            message = "the character did not come in an archive"
            raise StoreError("CHARACTER_ORIGINAL_NOT_FOUND", message)
        name = text_of(object_of(document.get("source")).get("fileName"))
        return ExportedFile(name=name, media_type="application/octet-stream", data=data)

    def _forget_books(self, kind: Kind, gone: str) -> None:
        now = self._now()
        if kind is Kind.WORLD_BOOK:
            self._stores.user_books.change(
                lambda found: bindings.without_book(found, USER_FILE, gone, now)
            )
            self._stores.resource_books.change(
                lambda found: bindings.without_book(found, RESOURCE_FILE, gone, now)
            )
            return
        owner = OWNER_KINDS[kind]
        file = self._stores.user_books if owner is Owner.USER else self._stores.resource_books
        file.change(lambda found: bindings.with_books(found, owner, gone, (), now))

    def _remember_missing(self, character_id: str) -> None:
        missing = {"id": character_id}
        try:
            document = self._stores.characters.get(character_id).document
        except NotFoundError:
            return
        except StoreError:
            document = {}  # of a damaged one no more is known than its id
        missing["name"] = text_of(document.get("name")) or character_id
        sha256 = text_of(object_of(document.get("source")).get("sha256"))
        missing.update({"sha256": sha256} if sha256 else {})
        self._stores.character_state.change(
            lambda state: documents.without_character(state, missing)
        )

    def _now(self) -> str:
        return iso_time(self._clock.now_ms())


def transfer(resource: str, data: JsonObject) -> dict[str, Any]:
    """Wrap a resource that SillyTavern has no file for."""
    return {**TRANSFER, "resourceType": resource, "data": dict(data)}


def _exported_user(document: JsonObject) -> dict[str, Any]:
    return transfer("user", {name: one for name, one in document.items() if name != "id"})


_EXPORTS: Mapping[Kind, Callable[[JsonObject], dict[str, Any]]] = {
    Kind.PRESET: exported_preset,
    Kind.WORLD_BOOK: exported_world_book,
    Kind.USER: _exported_user,
}


def _json_file(name: str, document: JsonObject) -> ExportedFile:
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    data = text.encode("utf-8", "backslashreplace")
    return ExportedFile(name=f"{name}.json", media_type="application/json", data=data)


def _png_file(name: str, document: JsonObject, cover: bytes | None) -> ExportedFile:
    try:
        card = evolve(card_of(document).value, carrier=CardCarrier.PNG, picture=cover or b"")
        data = dump_card_png(card, v3_copy=False)
    except FormatError as error:
        message = f"the character cannot be written as a PNG ({error.code})"
        raise StoreError("CHARACTER_EXPORT_FAILED", message) from error
    return ExportedFile(name=f"{name}.png", media_type="image/png", data=data)
