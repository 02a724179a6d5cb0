"""Stored documents as parsed values, each parsed once as long as it stays the same.

Owns what is said about a document that is missing or cannot be used. Must not know what a selection
is.

Source: the plugin contract, sections A3 and A9.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from tavern_format import Diagnostic, FormatError, Severity
from tavern_loader.domain.character_document import card_of
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.preset_document import preset_of
from tavern_loader.domain.user_document import user_of
from tavern_loader.domain.world_book_document import world_book_of
from tavern_loader.errors import NotFoundError, StoreError
from tavern_loader.lru import Lru
from tavern_loader.ports import JsonObject
from tavern_loader.service.resources import Remark
from tavern_loader.store_ports import Stored, Stores
from tavern_trace import digest

KEPT_MODELS = 128
_MISSING: Mapping[Kind, str] = {
    Kind.PRESET: "PRESET_NOT_FOUND",
    Kind.CHARACTER: "character-card-not-found",
    Kind.USER: "user-not-found",
    Kind.WORLD_BOOK: "WORLD_BOOK_NOT_FOUND",
}
_BAD_ID: Mapping[Kind, str] = {
    Kind.PRESET: "PRESET_NOT_FOUND",
    Kind.CHARACTER: "invalid-character-card-selection",
    Kind.USER: "invalid-user-selection",
    Kind.WORLD_BOOK: "WORLD_BOOK_NOT_FOUND",
}


@frozen
class Model:
    """A parsed document."""

    id: str
    value: Any = field(repr=False)
    document: JsonObject = field(repr=False)
    revision: str
    """Of a book its file's, else of the document's JSON, as sources of parts have it."""


class Models:
    """The documents of all stores, parsed. Safe to use from several threads."""

    def __init__(self, stores: Stores) -> None:
        """Read from stores."""
        self._stores = stores
        self._models: Lru[tuple[Kind, str, str], Model] = Lru(KEPT_MODELS)

    def find(self, kind: Kind, found_id: str | None, remarks: list[Remark]) -> Model | None:
        """Give a document; None, with a remark, if it cannot be found or read."""
        if found_id is None:
            return None
        try:
            return self._model(kind, found_id)
        except NotFoundError as error:
            codes = _BAD_ID if error.code.endswith("_ID_INVALID") else _MISSING
            remarks.append(remark(found_id, codes[kind], Severity.WARNING, error.message))
        except StoreError as error:
            remarks.append(remark(found_id, error.code, Severity.ERROR, error.message))
        except FormatError as error:
            message = f"the {kind} cannot be used ({error.code})"
            code = f"{kind.code}_DOCUMENT_INVALID"
            remarks.append(remark(found_id, code, Severity.ERROR, message))
        return None

    def _model(self, kind: Kind, found_id: str) -> Model:
        stored = self._stores.documents(kind).get(found_id)
        key = (kind, found_id, stored.revision)
        return self._models.made(key, lambda: _read_model(kind, found_id, stored))


_READERS: Mapping[Kind, Callable[[JsonObject], object]] = {
    Kind.PRESET: lambda document: preset_of(document).value,
    Kind.CHARACTER: lambda document: card_of(document).value,
    Kind.WORLD_BOOK: lambda document: world_book_of(document).value,
    Kind.USER: user_of,
}


def _read_model(kind: Kind, found_id: str, stored: Stored) -> Model:
    value = _READERS[kind](stored.document)
    # A source of lore has no revision, and the digest of a large book takes seconds.
    is_book = kind is Kind.WORLD_BOOK
    revision = stored.revision if is_book else digest(stored.document)
    return Model(found_id, value, stored.document, revision)


def remark(source: str, code: str, severity: Severity, message: str) -> Remark:
    """Say something about a document as a whole."""
    return Remark(source, Diagnostic(code, severity, "", message))
