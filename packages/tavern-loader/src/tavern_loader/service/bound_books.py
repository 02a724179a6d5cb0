"""The world books of a selection: read in their order, without those that say the same, indexed.

Owns which books are left out, and what is said of them. Must not know how a selection came about.

Source: the plugin contract, sections A10 and B2.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from tavern_format import Diagnostic, Severity, WorldBook
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import list_of, object_of, text_of
from tavern_loader.domain.selection import BindingSource, WorldBookSelection
from tavern_loader.domain.world_book_limits import MAX_RUNTIME_ENTRIES
from tavern_loader.lru import Lru
from tavern_loader.service.models import Model, Models, remark
from tavern_loader.service.resolved import EMBEDDED, STANDALONE, BoundBook
from tavern_loader.service.resources import DEFAULT_SETTINGS, Remark, says
from tavern_matcher import (
    BookSource,
    CharacterStrategy,
    Index,
    MatchSettings,
    NamedBook,
    compile_index,
)

LIBRARY_SETTINGS = evolve(DEFAULT_SETTINGS, character_strategy=CharacterStrategy.GLOBAL_FIRST)
"""Books of the preset are visited before those of the character, as the contract orders them."""
KEPT_BOOKS = 128
KEPT_INDEXES = 16
MAX_BOOK_REMARKS = 64
"""Kept remarks of one book that are repeated for a step."""
_BOOK_SOURCES: Mapping[BindingSource, BookSource] = {
    BindingSource.SESSION: BookSource.CHAT,
    BindingSource.USER: BookSource.PERSONA,
    BindingSource.PRESET: BookSource.GLOBAL,
    BindingSource.CHARACTER: BookSource.CHARACTER,
}


@frozen
class ReadBook:
    """A book with what its index is known by."""

    bound: BoundBook
    revision: str


class BoundBooks:
    """Reads and indexes the books of selections. Safe to use from several threads."""

    def __init__(self, models: Models, settings: MatchSettings) -> None:
        """Read from models; `settings` are those of every scan."""
        self._models = models
        self._settings = settings
        self._indexes: Lru[tuple[tuple[str, str, str], ...], Index] = Lru(KEPT_INDEXES)
        self._said: Lru[tuple[str, str], tuple[object, ...]] = Lru(KEPT_BOOKS)

    def read(
        self, chosen: WorldBookSelection, character: Model | None, remarks: list[Remark]
    ) -> tuple[ReadBook, ...]:
        """Give the books that are used, in the order of the contract; the card's own one last."""
        bound = [*self._bound(chosen, character, remarks)]
        return tuple(_within_limit(self._distinct(bound, remarks), remarks))

    def index(self, books: Sequence[ReadBook]) -> Index:
        """Give the index over books: the same object as long as none of them changes."""
        key = tuple((book.bound.id, book.revision, str(book.bound.named.source)) for book in books)
        named = [book.bound.named for book in books]
        return self._indexes.made(key, lambda: compile_index(named, self._settings))

    def _bound(
        self, chosen: WorldBookSelection, character: Model | None, remarks: list[Remark]
    ) -> Iterator[ReadBook]:
        for book_id in chosen.effective:
            model = self._models.find(Kind.WORLD_BOOK, book_id, remarks)
            if model is not None:
                remarks.extend(_book_remarks(model))
                yield _standalone(model, chosen.sources(book_id))
        if character is not None and character.value.character_book is not None:
            yield _embedded(character)

    def _distinct(self, books: Sequence[ReadBook], remarks: list[Remark]) -> Iterator[ReadBook]:
        """Leave out a book that says what an earlier one says: a card often brings a bound one."""
        kept: dict[str, tuple[object, ...]] = {}
        for book in books:
            said = self._what_is_said(book) if len(books) > 1 else ()
            twin = next((one for one, known in kept.items() if said and known == said), None)
            if twin is None:
                kept[book.bound.id] = said
                yield book
                continue
            message = f"The book says the same as {twin}: it is used once."
            remarks.append(remark(book.bound.id, "BOOK_REPEATED", Severity.INFO, message))

    def _what_is_said(self, book: ReadBook) -> tuple[object, ...]:
        key = (book.bound.id, book.revision)
        known = self._said.get(key)
        return self._said.put(key, says(book.bound.named.book)) if known is None else known


def _standalone(model: Model, sources: tuple[BindingSource, ...]) -> ReadBook:
    document = model.document
    book: WorldBook = model.value
    bound = BoundBook(
        id=model.id,
        title=text_of(document.get("name")),
        kind=STANDALONE,
        named=NamedBook(name=model.id, book=book, source=_BOOK_SOURCES[sources[0]]),
        sources=sources,
        format=text_of(object_of(document.get("source")).get("format")),
        updated_at=text_of(document.get("updatedAt")) or None,
    )
    return ReadBook(bound, model.revision)


def _embedded(character: Model) -> ReadBook:
    book: WorldBook = character.value.character_book
    book_id = f"character:{character.id}:embedded-world-book"
    bound = BoundBook(
        id=book_id,
        title=book.name or text_of(character.document.get("name")),
        kind=EMBEDDED,
        named=NamedBook(name=book_id, book=book, source=BookSource.CHARACTER),
        owner_character_id=character.id,
        format="character-book-v2",
    )
    return ReadBook(bound, character.revision)


def _within_limit(books: Iterable[ReadBook], remarks: list[Remark]) -> Iterator[ReadBook]:
    """Leave out whole books from the one on that does not fit, unless a later one does."""
    total = 0
    for book in books:
        amount = len(book.bound.named.book.entries)
        if total + amount <= MAX_RUNTIME_ENTRIES:
            total += amount
            yield book
            continue
        alone = amount > MAX_RUNTIME_ENTRIES
        code = f"WORLD_BOOK_RUNTIME_{'ENTRY' if alone else 'TOTAL'}_LIMIT"
        message = f"The book is left out: at most {MAX_RUNTIME_ENTRIES} entries are scanned."
        remarks.append(remark(book.bound.id, code, Severity.WARNING, message))


def _book_remarks(model: Model) -> Iterator[Remark]:
    kept = list_of(object_of(model.document.get("book")).get("diagnostics"))
    for found in map(object_of, kept[:MAX_BOOK_REMARKS]):
        code, severity = text_of(found.get("code")), text_of(found.get("severity"))
        if code and severity in tuple(Severity):
            place, message = text_of(found.get("path")), text_of(found.get("message"))
            yield Remark(model.id, Diagnostic(code, Severity(severity), place, message))


def book_document(book: BoundBook) -> dict[str, Any]:
    """Write what an audit says of a book whatever becomes of it."""
    told: dict[str, Any] = {"id": book.id, "name": book.title, "kind": book.kind}
    if book.kind == EMBEDDED:
        told["ownerCharacterId"] = book.owner_character_id
    else:
        told["updatedAt"] = book.updated_at
        told["bindingSources"] = [str(source) for source in book.sources]
    return {**told, "format": book.format, "entryCount": len(book.named.book.entries)}
