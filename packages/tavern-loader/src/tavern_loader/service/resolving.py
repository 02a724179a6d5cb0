"""From bound ids to parsed resources, each parsed once as long as its document stays the same.

Owns what a selection stands for, the order of its books, and what is said about a resource that is
missing. Must not know sessions, or how a prompt is made.

Source: the plugin contract, sections A3, A9, A10, B2 and F.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from tavern_compiler import CharacterOptions, ResourceRef, SourceKind, SystemPromptMode, User
from tavern_format import CharacterCard, Diagnostic, FormatError, Preset, Severity, WorldBook
from tavern_loader.domain import bindings
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.character_document import card_of
from tavern_loader.domain.character_remarks import compatibility_remarks
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import list_of, object_of, text_of
from tavern_loader.domain.preset_document import is_replacing, preset_of
from tavern_loader.domain.selection import (
    BindingSource,
    LoreChannel,
    Selection,
    WorldBookSelection,
    join_books,
)
from tavern_loader.domain.user_document import user_of
from tavern_loader.domain.world_book_document import world_book_of
from tavern_loader.domain.world_book_limits import MAX_RUNTIME_ENTRIES
from tavern_loader.errors import NotFoundError, StoreError
from tavern_loader.lru import Lru
from tavern_loader.ports import JsonObject
from tavern_loader.service.resources import DEFAULT_SETTINGS, Remark, says
from tavern_loader.store_ports import StateFile, Stored, Stores
from tavern_matcher import (
    BookSource,
    CharacterStrategy,
    Index,
    MatchSettings,
    NamedBook,
    compile_index,
)
from tavern_trace import digest

M = TypeVar("M")

LIBRARY_SETTINGS = evolve(DEFAULT_SETTINGS, character_strategy=CharacterStrategy.GLOBAL_FIRST)
"""Books of the preset are visited before those of the character, as the contract orders them."""
KEPT_MODELS = 128
KEPT_INDEXES = 16
MAX_BOOK_REMARKS = 64
"""Kept remarks of one book that are repeated for a step."""
STANDALONE = "standalone-world-book"
EMBEDDED = "embedded-character-book"
_BOOK_SOURCES: Mapping[BindingSource, BookSource] = {
    BindingSource.SESSION: BookSource.CHAT,
    BindingSource.USER: BookSource.PERSONA,
    BindingSource.PRESET: BookSource.GLOBAL,
    BindingSource.CHARACTER: BookSource.CHARACTER,
}
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


@frozen
class _Model:
    """A parsed document."""

    id: str
    value: Any = field(repr=False)
    document: JsonObject = field(repr=False)
    revision: str
    """Of a book its file's, else of the document's JSON, as sources of parts have it."""


@frozen
class _Book:
    """A book with what its index is known by."""

    bound: BoundBook
    revision: str


class Resolver:
    """Resolves selections. Safe to use from several threads."""

    def __init__(self, stores: Stores, settings: MatchSettings = LIBRARY_SETTINGS) -> None:
        """Read from stores; `settings` are those of every scan."""
        self._stores = stores
        self._settings = settings
        self._models: Lru[tuple[Kind, str, str], _Model] = Lru(KEPT_MODELS)
        self._indexes: Lru[tuple[tuple[str, str, str], ...], Index] = Lru(KEPT_INDEXES)
        self._said: Lru[tuple[str, str], tuple[object, ...]] = Lru(KEPT_MODELS)

    def resolve(self, selection: Selection) -> Resolved:
        """Give the resources of a selection. What cannot be found or read gets a diagnostic."""
        remarks: list[Remark] = []
        preset = self._find(Kind.PRESET, selection.preset_id, remarks)
        character = self._find(Kind.CHARACTER, selection.character_id, remarks)
        remarks.extend(() if character is None else _character_remarks(character, selection))
        user = self._find(Kind.USER, selection.user_id, remarks)
        chosen = self._world_books(selection, preset, character, user, remarks)
        bound = [*self._bound(chosen, character, remarks)]
        books = [*_within_limit(self._distinct(bound, remarks), remarks)]
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
            index=self._index(books),
            documents=_documents(preset, character, user, books),
            diagnostics=tuple(remarks),
        )

    def _world_books(
        self,
        selection: Selection,
        preset: _Model | None,
        character: _Model | None,
        user: _Model | None,
        remarks: list[Remark],
    ) -> WorldBookSelection:
        def of(file: StateFile, owner: Owner, model: _Model | None) -> tuple[str, ...]:
            if model is None:
                return ()
            try:
                return bindings.books_of(file.read().document, owner, model.id)
            except StoreError as error:
                remarks.append(_remark(model.id, error.code, Severity.ERROR, error.message))
                return ()

        return join_books(
            selection.world_book_ids,
            of(self._stores.user_books, Owner.USER, user),
            of(self._stores.resource_books, Owner.PRESET, preset),
            of(self._stores.resource_books, Owner.CHARACTER, character),
        )

    def _bound(
        self, chosen: WorldBookSelection, character: _Model | None, remarks: list[Remark]
    ) -> Iterator[_Book]:
        for book_id in chosen.effective:
            model = self._find(Kind.WORLD_BOOK, book_id, remarks)
            if model is not None:
                remarks.extend(_book_remarks(model))
                yield _standalone(model, chosen.sources(book_id))
        if character is not None and character.value.character_book is not None:
            yield _embedded(character)

    def _distinct(self, books: Sequence[_Book], remarks: list[Remark]) -> Iterator[_Book]:
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
            remarks.append(_remark(book.bound.id, "BOOK_REPEATED", Severity.INFO, message))

    def _what_is_said(self, book: _Book) -> tuple[object, ...]:
        key = (book.bound.id, book.revision)
        known = self._said.get(key)
        return self._said.put(key, says(book.bound.named.book)) if known is None else known

    def _find(self, kind: Kind, found_id: str | None, remarks: list[Remark]) -> _Model | None:
        if found_id is None:
            return None
        try:
            return self._model(kind, found_id)
        except NotFoundError as error:
            codes = _BAD_ID if error.code.endswith("_ID_INVALID") else _MISSING
            remarks.append(_remark(found_id, codes[kind], Severity.WARNING, error.message))
        except StoreError as error:
            remarks.append(_remark(found_id, error.code, Severity.ERROR, error.message))
        except FormatError as error:
            message = f"the {kind} cannot be used ({error.code})"
            code = f"{kind.code}_DOCUMENT_INVALID"
            remarks.append(_remark(found_id, code, Severity.ERROR, message))
        return None

    def _model(self, kind: Kind, found_id: str) -> _Model:
        stored = self._stores.documents(kind).get(found_id)
        key = (kind, found_id, stored.revision)
        return self._models.made(key, lambda: _read_model(kind, found_id, stored))

    def _index(self, books: Sequence[_Book]) -> Index:
        key = tuple((book.bound.id, book.revision, str(book.bound.named.source)) for book in books)
        named = [book.bound.named for book in books]
        return self._indexes.made(key, lambda: compile_index(named, self._settings))


_READERS: Mapping[Kind, Callable[[JsonObject], object]] = {
    Kind.PRESET: lambda document: preset_of(document).value,
    Kind.CHARACTER: lambda document: card_of(document).value,
    Kind.WORLD_BOOK: lambda document: world_book_of(document).value,
    Kind.USER: user_of,
}


def _read_model(kind: Kind, found_id: str, stored: Stored) -> _Model:
    value = _READERS[kind](stored.document)
    # A source of lore has no revision, and the digest of a large book takes seconds.
    is_book = kind is Kind.WORLD_BOOK
    revision = stored.revision if is_book else digest(stored.document)
    return _Model(found_id, value, stored.document, revision)


def _remark(source: str, code: str, severity: Severity, message: str) -> Remark:
    return Remark(source, Diagnostic(code, severity, "", message))


# --- books -----------------------------------------------------------------------------------


def _standalone(model: _Model, sources: tuple[BindingSource, ...]) -> _Book:
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
    return _Book(bound, model.revision)


def _embedded(character: _Model) -> _Book:
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
    return _Book(bound, character.revision)


def _within_limit(books: Iterable[_Book], remarks: list[Remark]) -> Iterator[_Book]:
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
        remarks.append(_remark(book.bound.id, code, Severity.WARNING, message))


def _book_remarks(model: _Model) -> Iterator[Remark]:
    kept = list_of(object_of(model.document.get("book")).get("diagnostics"))
    for found in map(object_of, kept[:MAX_BOOK_REMARKS]):
        code, severity = text_of(found.get("code")), text_of(found.get("severity"))
        if code and severity in tuple(Severity):
            place, message = text_of(found.get("path")), text_of(found.get("message"))
            yield Remark(model.id, Diagnostic(code, Severity(severity), place, message))


# --- what a selection says -------------------------------------------------------------------


def _options(selection: Selection) -> CharacterOptions:
    choice = selection.character
    return CharacterOptions(
        prefer_system_prompt=choice.prefer_system_prompt,
        prefer_post_history=choice.prefer_post_history,
        greeting_index=choice.greeting_index,
    )


def _mode(preset: _Model | None) -> SystemPromptMode:
    replaces = preset is not None and is_replacing(preset.document)
    return SystemPromptMode.REPLACE if replaces else SystemPromptMode.APPEND


def _character_remarks(character: _Model, selection: Selection) -> Iterator[Remark]:
    for code, message in compatibility_remarks(character.document):
        yield _remark(character.id, code, Severity.INFO, message)
    card: CharacterCard = character.value
    if selection.character.greeting_index > len(card.alternate_greetings):
        message = "The card has no greeting of the chosen number; none is sent."
        yield _remark(character.id, "CHARACTER_GREETING_MISSING", Severity.WARNING, message)


def _references(
    preset: _Model | None, character: _Model | None, user: _Model | None
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
    preset: _Model | None, character: _Model | None, user: _Model | None, books: Sequence[_Book]
) -> dict[str, Any]:
    return {
        "preset": _named(preset),
        "characterCard": _named(character),
        "user": None
        if user is None
        else {"id": user.id, "name": user.value.name, "description": user.value.description},
        "worldBooks": [_book_document(book.bound) for book in books],
    }


def _named(model: _Model | None) -> dict[str, Any] | None:
    if model is None:
        return None
    document = model.document
    return {"id": model.id, "name": document.get("name"), "updatedAt": document.get("updatedAt")}


def _book_document(book: BoundBook) -> dict[str, Any]:
    told: dict[str, Any] = {"id": book.id, "name": book.title, "kind": book.kind}
    if book.kind == EMBEDDED:
        told["ownerCharacterId"] = book.owner_character_id
    else:
        told["updatedAt"] = book.updated_at
        told["bindingSources"] = [str(source) for source in book.sources]
    return {**told, "format": book.format, "entryCount": len(book.named.book.entries)}
