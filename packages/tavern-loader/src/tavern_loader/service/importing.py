"""Files to stored resources: says what each file is, and keeps what can be kept.

Owns ids, names and sizes of what comes in. Must not know where the bytes come from.

Source: the plugin contract, section F.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from attrs import frozen

from tavern_format import (
    BookSpelling,
    CardCarrier,
    CharacterCard,
    Detection,
    Diagnostic,
    FormatError,
    ResourceKind,
    WorldBook,
    book_to_json,
    card_picture,
    convert_world_book,
    detect,
    parse_card,
    parse_personas,
    parse_preset,
    parse_world_book,
)
from tavern_loader.domain import documents
from tavern_loader.domain.character_document import new_character
from tavern_loader.domain.character_remarks import CardOrigin
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import iso_time, object_of, text_of
from tavern_loader.domain.preset_document import new_preset
from tavern_loader.domain.user_document import new_user
from tavern_loader.domain.world_book_document import BookOrigin, new_world_book
from tavern_loader.errors import InputError, LoaderError
from tavern_loader.ports import Clock, Identities
from tavern_loader.service.reading import SourceFile, stem
from tavern_loader.store_ports import Stores

KIB = 1024
MIB = KIB * KIB
TRANSFER_FORMAT = "pmp-dsh-tavern"
TRANSFER_VERSION = 1
_ARCHIVES = (CardCarrier.CHARX, CardCarrier.BYAF)
_CARD_TEXTS = ("ccv3", "chara")
_LIMITS: Mapping[Kind, tuple[str, int]] = {
    Kind.PRESET: ("PRESET_ARTIFACT_TOO_LARGE", 2 * MIB),
    Kind.CHARACTER: ("ARTIFACT_TOO_LARGE", 32 * MIB),
    Kind.WORLD_BOOK: ("WORLD_BOOK_ARTIFACT_TOO_LARGE", 4 * MIB),
    Kind.USER: ("USER_BODY_TOO_LARGE", 256 * KIB),
}
"""Code and size of a file that is too large for its kind."""


@frozen(kw_only=True)
class Imported:
    """One resource that was kept."""

    kind: Kind
    id: str
    name: str
    remarks: tuple[Diagnostic, ...] = ()
    """What was odd about it."""


@frozen(kw_only=True)
class ImportedFile:
    """What became of a file."""

    name: str
    detection: Detection
    resources: tuple[Imported, ...]
    """More than one of a backup of personas."""


@frozen(kw_only=True)
class _Made:
    """A document that is ready to be kept, and the bytes beside it."""

    kind: Kind
    id: str
    document: dict[str, Any]
    remarks: tuple[Diagnostic, ...] = ()
    cover: bytes | None = None
    original: bytes | None = None


class Importing:
    """Takes files into the stores of one installation."""

    def __init__(self, stores: Stores, clock: Clock, identities: Identities) -> None:
        """Keep in stores; new resources get random ids and the time of their import."""
        self._stores = stores
        self._clock = clock
        self._identities = identities

    def take(self, file: SourceFile, *, name: str = "") -> ImportedFile:
        """Keep what is in a file; `name` is for a resource that has none of its own.

        Raises InputError with the reason why a file cannot be kept; StoreError.
        """
        try:
            found = _detect(file)
            make = _MAKERS.get(found.kind)
            if make is None:
                message = f"this is a file of kind {found.kind}, and none of that kind are kept"
                raise InputError("NOT_KEPT", message, file=file.name)
            made = make(self, file, name or stem(file.name))
            resources = tuple(self._keep(one) for one in made)
        except FormatError as error:
            message = str(error).removeprefix(f"{error.code}: ")
            raise InputError(error.code, message, file=file.name) from error
        except ValueError as error:
            raise InputError("NOT_USABLE", str(error), file=file.name) from error
        return ImportedFile(name=file.name, detection=found, resources=resources)

    def _keep(self, made: _Made) -> Imported:
        with self._stores.exclusive():
            # What belongs to a document comes before it: without it, nobody sees them.
            if made.cover is not None:
                self._stores.character_covers.put(made.id, made.cover)
            if made.original is not None:
                self._stores.character_originals.put(made.id, made.original)
            try:
                self._stores.documents(made.kind).create(made.id, made.document)
            except LoaderError:
                self._stores.character_covers.delete(made.id)
                self._stores.character_originals.delete(made.id)
                raise
            if made.kind is Kind.CHARACTER:
                self._stores.character_state.change(
                    lambda state: documents.with_character(state, made.id)
                )
        name = text_of(made.document.get("name"))
        return Imported(kind=made.kind, id=made.id, name=name, remarks=made.remarks)

    def _now(self) -> str:
        return iso_time(self._clock.now_ms())

    def _character(self, file: SourceFile, name: str) -> Iterator[_Made]:
        _require_size(file, Kind.CHARACTER)
        parsed = parse_card(file.data)
        card = parsed.value
        document_id = self._identities.new()
        origin = CardOrigin(
            file_name=file.name,
            sha256=sha256(file.data).hexdigest(),
            byte_length=len(file.data),
            png_keywords=_card_texts(card, file.data),
        )
        document = new_character(
            card, origin, document_id=document_id, name=card.name.strip() or name, now=self._now()
        )
        yield _Made(
            kind=Kind.CHARACTER,
            id=document_id,
            document=document,
            remarks=parsed.diagnostics,
            cover=card_picture(card),
            original=file.data if card.carrier in _ARCHIVES else None,
        )

    def _preset(self, file: SourceFile, name: str) -> Iterator[_Made]:
        _require_size(file, Kind.PRESET)
        parsed = parse_preset(file.data)
        document_id = self._identities.new()
        raw = parsed.value.raw
        yield _Made(
            kind=Kind.PRESET,
            id=document_id,
            document=new_preset(
                raw,
                document_id=document_id,
                name=text_of(raw.get("name")).strip() or name,
                now=self._now(),
            ),
            remarks=parsed.diagnostics,
        )

    def _world_book(self, file: SourceFile, name: str) -> Iterator[_Made]:
        _require_size(file, Kind.WORLD_BOOK)
        parsed = parse_world_book(file.data)
        remarks = list(parsed.diagnostics)
        raw = _book_object(parsed.value, name, remarks.append)
        document_id = f"world-book-{self._identities.new().replace('-', '')[:16]}"
        origin = BookOrigin(
            file_name=file.name,
            sha256=sha256(file.data).hexdigest(),
            byte_length=len(file.data),
        )
        document = new_world_book(
            raw, origin, document_id=document_id, name=name, now=self._now()
        )
        yield _Made(
            kind=Kind.WORLD_BOOK, id=document_id, document=document, remarks=tuple(remarks)
        )

    def _personas(self, file: SourceFile, _name: str) -> Iterator[_Made]:
        parsed = parse_personas(file.data)
        remarks = parsed.diagnostics
        for persona in parsed.value.personas:
            name = persona.name or stem(persona.avatar)
            yield self._user(name, persona.description, remarks)
            remarks = ()  # they are about the whole file: once is enough

    def _transferred(self, file: SourceFile, _name: str) -> Iterator[_Made]:
        _require_size(file, Kind.USER)
        data = object_of(json.loads(file.data).get("data"))
        made = self._user(text_of(data.get("name")), text_of(data.get("description")), ())
        more = {key: one for key, one in data.items() if key == "avatar" and one is not None}
        yield _Made(kind=made.kind, id=made.id, document={**made.document, **more})

    def _user(self, name: str, description: str, remarks: tuple[Diagnostic, ...]) -> _Made:
        document_id = f"user-{self._identities.new()}"
        document = new_user(document_id=document_id, name=name, description=description)
        return _Made(kind=Kind.USER, id=document_id, document=document, remarks=remarks)

    def new_user(self, name: str, description: str = "") -> Imported:
        """Keep a user that came in no file. Raises ValueError, StoreError."""
        return self._keep(self._user(name, description, ()))


_TRANSFERRED_USER = "transferred-user"
_MAKERS: Mapping[str, Callable[[Importing, SourceFile, str], Iterator[_Made]]] = {
    ResourceKind.CHARACTER_CARD: Importing._character,  # noqa: SLF001 - the table of this class
    ResourceKind.CHAT_COMPLETION_PRESET: Importing._preset,  # noqa: SLF001
    ResourceKind.WORLD_BOOK: Importing._world_book,  # noqa: SLF001
    ResourceKind.PERSONAS: Importing._personas,  # noqa: SLF001
}
