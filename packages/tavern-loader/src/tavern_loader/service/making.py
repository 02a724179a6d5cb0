"""From the bytes of one file to documents that are ready to be kept, a function for each kind.

Owns sizes, names and origins of what comes in. Must not know stores.

Source: the plugin contract, section F.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from attrs import evolve, field, frozen

from tavern_format import (
    BookSpelling,
    CardCarrier,
    CharacterCard,
    Diagnostic,
    Report,
    ResourceKind,
    WorldBook,
    book_to_json,
    card_picture,
    convert_world_book,
    parse_card,
    parse_personas,
    parse_preset,
    parse_world_book,
)
from tavern_loader.domain.character_document import new_character
from tavern_loader.domain.character_remarks import CardOrigin
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import object_of, text_of
from tavern_loader.domain.preset_document import new_preset
from tavern_loader.domain.user_document import new_user
from tavern_loader.domain.world_book_document import BookOrigin, new_world_book
from tavern_loader.errors import InputError
from tavern_loader.service.reading import SourceFile, stem

KIB = 1024
MIB = KIB * KIB
TRANSFER = {"format": "pmp-dsh-tavern", "version": 1}
"""Head of a file with a resource that SillyTavern has no file for."""
TRANSFERRED_USER = "user"
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
class Given:
    """A file, and what its documents need that is not in it."""

    file: SourceFile
    name: str
    """For a resource that has none of its own."""
    new_id: Callable[[], str]
    """Gives a random UUID."""
    now: str


@frozen(kw_only=True)
class Made:
    """A document that is ready to be kept, and the bytes beside it."""

    kind: Kind
    id: str
    document: dict[str, Any] = field(repr=False)
    remarks: tuple[Diagnostic, ...] = ()
    cover: bytes | None = field(default=None, repr=False)
    original: bytes | None = field(default=None, repr=False)


def make_character(given: Given) -> Iterator[Made]:
    """Make a character of a card in any carrier. Raises FormatError, InputError."""
    _require_size(given.file, Kind.CHARACTER)
    parsed = parse_card(given.file.data)
    card = parsed.value
    document_id = given.new_id()
    origin = CardOrigin(
        file_name=given.file.name,
        sha256=sha256(given.file.data).hexdigest(),
        byte_length=len(given.file.data),
        png_keywords=_card_texts(card, given.file.data),
    )
    name = card.name.strip() or given.name
    yield Made(
        kind=Kind.CHARACTER,
        id=document_id,
        document=new_character(card, origin, document_id=document_id, name=name, now=given.now),
        remarks=parsed.diagnostics,
        cover=card_picture(card),
        original=given.file.data if card.carrier in _ARCHIVES else None,
    )


def make_preset(given: Given) -> Iterator[Made]:
    """Make a preset. Raises FormatError, InputError."""
    _require_size(given.file, Kind.PRESET)
    parsed = parse_preset(given.file.data)
    raw = parsed.value.raw
    name = text_of(raw.get("name")).strip() or given.name
    document_id = given.new_id()
    yield Made(
        kind=Kind.PRESET,
        id=document_id,
        document=new_preset(raw, document_id=document_id, name=name, now=given.now),
        remarks=parsed.diagnostics,
    )


def make_world_book(given: Given) -> Iterator[Made]:
    """Make a world book; one of another application is converted. Raises as `make_preset`."""
    _require_size(given.file, Kind.WORLD_BOOK)
    parsed = parse_world_book(given.file.data)
    remarks = list(parsed.diagnostics)
    raw = _book_object(parsed.value, given.name, remarks.append)
    document_id = f"world-book-{given.new_id().replace('-', '')[:16]}"
    origin = BookOrigin(
        file_name=given.file.name,
        sha256=sha256(given.file.data).hexdigest(),
        byte_length=len(given.file.data),
    )
    yield Made(
        kind=Kind.WORLD_BOOK,
        id=document_id,
        document=new_world_book(
            raw, origin, document_id=document_id, name=given.name, now=given.now
        ),
        remarks=tuple(remarks),
    )


def make_personas(given: Given) -> Iterator[Made]:
    """Make a user of every persona of a backup. Raises FormatError, ValueError."""
    parsed = parse_personas(given.file.data)
    remarks = parsed.diagnostics
    for persona in parsed.value.personas:
        name = persona.name.strip() or stem(persona.avatar)
        yield user_made(given, name, persona.description, remarks)
        remarks = ()  # they are about the whole file: once is enough


def make_user(given: Given) -> Iterator[Made]:
    """Make a user of a file that this or the plugin handed out. Raises ValueError, InputError."""
    _require_size(given.file, Kind.USER)
    data = object_of(object_of(json.loads(given.file.data)).get("data"))
    made = user_made(given, text_of(data.get("name")), text_of(data.get("description")))
    picture = {key: data[key] for key in ("avatar",) if data.get(key) is not None}
    yield evolve(made, document={**made.document, **picture})


def user_made(
    given: Given, name: str, description: str, remarks: tuple[Diagnostic, ...] = ()
) -> Made:
    """Make a user. Raises ValueError for a name or description that cannot be."""
    document_id = f"user-{given.new_id()}"
    document = new_user(document_id=document_id, name=name, description=description)
    return Made(kind=Kind.USER, id=document_id, document=document, remarks=remarks)


MAKERS: Mapping[str, Callable[[Given], Iterator[Made]]] = {
    ResourceKind.CHARACTER_CARD: make_character,
    ResourceKind.CHAT_COMPLETION_PRESET: make_preset,
    ResourceKind.WORLD_BOOK: make_world_book,
    ResourceKind.PERSONAS: make_personas,
    TRANSFERRED_USER: make_user,
}
"""What is made of a file, by what it is."""


def _require_size(file: SourceFile, kind: Kind) -> None:
    code, limit = _LIMITS[kind]
    if len(file.data) > limit:
        message = f"a file with a {kind} has at most {limit} bytes"
        raise InputError(code, message, file=file.name)


def _card_texts(card: CharacterCard, data: bytes) -> tuple[str, ...]:
    """Name the texts of a PNG that hold a card; the one for V3 is taken where it is there."""
    if card.carrier is not CardCarrier.PNG:
        return ()
    found = tuple(name for name in _CARD_TEXTS if b"tEXt" + name.encode() + b"\0" in data)
    return found or ("chara",)


def _book_object(book: WorldBook, name: str, report: Report) -> dict[str, Any]:
    """Give a book in one of the two spellings that are kept."""
    kept = (BookSpelling.WORLD_INFO, BookSpelling.CHARACTER_BOOK)
    if book.spelling not in kept:
        book = convert_world_book(book, BookSpelling.WORLD_INFO, name=name, report=report)
    raw = book_to_json(book)
    inner = raw.get("data")
    return dict(inner if "entries" not in raw and isinstance(inner, Mapping) else raw)
