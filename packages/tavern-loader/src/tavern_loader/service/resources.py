"""From the files of a request to parsed resources, with a name for every book.

Owns the request, the reading of its files, and which books count. Must not know what is made of
them.
"""

from collections.abc import Iterable, Iterator
from itertools import count

from attrs import evolve, field, frozen

from tavern_format import (
    CharacterCard,
    Chat,
    Diagnostic,
    Preset,
    ResourceKind,
    Severity,
    WorldBook,
    parse_card,
    parse_chat,
    parse_preset,
    parse_world_book,
)
from tavern_loader.service.reading import SourceFile, read, stem
from tavern_matcher import SHIPPED_SETTINGS, BookSource, MatchProfile, MatchSettings, NamedBook

DEFAULT_SETTINGS = evolve(SHIPPED_SETTINGS, profile=MatchProfile.SAFE)
"""What a fresh SillyTavern scans with, under the repaired rules."""


@frozen(kw_only=True)
class CompileRequest:
    """What a person gives; everything may be left out."""

    card: SourceFile | None = None
    worlds: tuple[SourceFile, ...] = ()
    preset: SourceFile | None = None
    chat: SourceFile | None = None
    input_text: str = field(default="", repr=False)
    """The message that is about to be sent."""
    user_name: str = ""
    """Empty: as in the chat, else "User"."""
    persona: str = field(default="", repr=False)
    use_card_book: bool = True
    """False: the book inside the card is left alone."""
    use_scripts: bool = True
    """False: regex scripts of card and preset are left alone."""
    settings: MatchSettings = DEFAULT_SETTINGS
    seed: str = ""
    """Chances and draws of groups follow from it: equal requests give equal results."""


@frozen
class Remark:
    """A diagnostic and what it is about."""

    source: str
    """Name of a file, or the step that made it."""
    diagnostic: Diagnostic


@frozen(kw_only=True)
class Resources:
    """The files after parsing."""

    card: CharacterCard | None = None
    preset: Preset | None = None
    chat: Chat | None = None
    books: tuple[NamedBook, ...] = ()
    """Given ones first, then the card's own; each with a name of its own."""
    remarks: tuple[Remark, ...] = ()


@frozen
class _Book:
    """A book before it is known whether it counts."""

    named: NamedBook
    file: str


def read_resources(request: CompileRequest) -> Resources:
    """Parse the files of a request. Raises InputError for one that cannot be used."""
    card = read(request.card, parse_card, ResourceKind.CHARACTER_CARD)
    worlds = [read(file, parse_world_book, ResourceKind.WORLD_BOOK) for file in request.worlds]
    preset = read(request.preset, parse_preset, ResourceKind.CHAT_COMPLETION_PRESET)
    chat = read(request.chat, parse_chat, ResourceKind.CHAT)
    files = (request.card, *request.worlds, request.preset, request.chat)
    own = _card_book(request, card.value if card else None)
    given = [
        _Book(NamedBook(name=stem(file.name), book=world.value), file.name)
        for file, world in zip(request.worlds, worlds, strict=True)
        if world
    ]
    books, repeated = _distinct([*given, *own])
    return Resources(
        card=card.value if card else None,
        preset=preset.value if preset else None,
        chat=chat.value if chat else None,
        books=books,
        remarks=(
            *(
                Remark(file.name, diagnostic)
                for file, parsed in zip(files, (card, *worlds, preset, chat), strict=True)
                if file and parsed
                for diagnostic in parsed.diagnostics
            ),
            *_card_remarks(request, card.value if card else None),
            *repeated,
        ),
    )


def _card_book(request: CompileRequest, card: CharacterCard | None) -> list[_Book]:
    if request.card is None or card is None or card.character_book is None:
        return []
    if not request.use_card_book:
        return []
    book = card.character_book
    name = book.name or f"{card.name} (card)"
    return [_Book(NamedBook(name=name, book=book, source=BookSource.CHARACTER), request.card.name)]


def _distinct(books: Iterable[_Book]) -> tuple[tuple[NamedBook, ...], tuple[Remark, ...]]:
    """Leave out a book that says what an earlier one says, and give each its own name."""
    kept: list[_Book] = []
    remarks: list[Remark] = []
    for book in books:
        twin = next((one for one in kept if says(one.named.book) == says(book.named.book)), None)
        if twin is None:
            name = _free_name(book.named.name, {one.named.name for one in kept})
            kept.append(evolve(book, named=evolve(book.named, name=name)))
        else:
            message = f"The book in this file says the same as the one in {twin.file}: used once."
            remarks.append(
                Remark(book.file, Diagnostic("BOOK_REPEATED", Severity.INFO, "", message))
            )
    return tuple(book.named for book in kept), tuple(remarks)


def says(book: WorldBook) -> tuple[object, ...]:
    """Give what tells books apart whatever file they came in."""
    said = ("keys", "secondary_keys", "content", "enabled", "constant", "order", "position")
    return tuple(tuple(getattr(entry, name) for name in said) for entry in book.entries)


def _free_name(name: str, taken: Iterable[str]) -> str:
    numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
    return next(candidate for candidate in numbered if candidate not in taken)


def _card_remarks(request: CompileRequest, card: CharacterCard | None) -> Iterator[Remark]:
    """Say what a person would not expect who knows SillyTavern."""
    if request.card is None or card is None:
        return
    if card.character_book is not None:
        message = (
            "The book inside the card is used; SillyTavern asks to import it first."
            if request.use_card_book
            else "The book inside the card is left alone, as asked."
        )
        found = Diagnostic("CARD_BOOK", Severity.INFO, "/data/character_book", message)
        yield Remark(request.card.name, found)
    if card.world and not request.worlds:
        message = "The card is linked to a world book file, and none was given."
        found = Diagnostic("CARD_WORLD_LINK", Severity.INFO, "/data/extensions/world", message)
        yield Remark(request.card.name, found)
