"""World books over HTTP, and which of them a session has.

Source: the plugin contract, section F.
"""

from tavern_loader.adapters.http.choices import Choice
from tavern_loader.adapters.http.faults import WORLD_BOOKS
from tavern_loader.adapters.http.resources import NAMED, Resource, lines
from tavern_loader.adapters.http.route import FILE_NAME, MIB, Body, Route, Success
from tavern_loader.adapters.http.schema import (
    IDS,
    OPEN_OBJECT,
    SESSION_ID,
    TEXT,
    needed,
    objects,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.summaries import WORLD_BOOK_LINE, world_book_line
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import file_name_of
from tavern_loader.errors import StoreError
from tavern_loader.service.binding import Wish
from tavern_loader.service.reading import SourceFile

BODY_BYTES = 4 * MIB
WORLD_BOOK = Resource(
    kind=Kind.WORLD_BOOK,
    family=WORLD_BOOKS,
    path="/v1/world-books",
    answer=success(worldBook=needed(id=TEXT, name=TEXT, book=OPEN_OBJECT)),
)


def _list(services: HttpServices, _: Call) -> Answer:
    return ok(worldBooks=lines(services, Kind.WORLD_BOOK, world_book_line))


def _create(services: HttpServices, call: Call) -> Answer:
    stored = services.changing.new_world_book(call.object.get("name") or "")
    return WORLD_BOOK.document(stored, 201)


def _import(services: HttpServices, call: Call) -> Answer:
    name = file_name_of(call.query.get("filename", ""), "world-book.json")
    stored = services.changing.take(Kind.WORLD_BOOK, SourceFile(name=name, data=call.body))
    return WORLD_BOOK.document(stored, 201)


def _selection(services: HttpServices, session_id: str) -> Answer:
    ids = services.library.selection(session_id).world_book_ids
    return ok(
        selection={"worldBookIds": list(ids)},
        worldBooks=[_line_of(services, book_id) for book_id in ids],
    )


def _line_of(services: HttpServices, book_id: str) -> dict[str, object]:
    try:
        return world_book_line(book_id, services.catalog.get(Kind.WORLD_BOOK, book_id).document)
    except StoreError:
        return {"id": book_id, "missing": True}


SELECTION = Choice(
    resource=WORLD_BOOK,
    path="/v1/world-book-selection",
    reading="Read which world books a session itself has",
    writing="Replace the world books a session itself has",
    body=Body(
        limit_bytes=BODY_BYTES,
        schema=needed(sessionId=SESSION_ID, worldBookIds={**IDS, "maxItems": 100}),
    ),
    wish=lambda body: Wish(world_book_ids=tuple(body["worldBookIds"])),
    answer=_selection,
    success=Success(
        schema=success(selection=needed(worldBookIds=IDS), worldBooks=objects(id=TEXT))
    ),
)
ROUTES = (
    Route(
        method="GET",
        path=WORLD_BOOK.path,
        summary="List the world books, the latest change first",
        family=WORLD_BOOKS,
        handle=_list,
        success=Success(schema=success(worldBooks={"type": "array", "items": WORLD_BOOK_LINE})),
    ),
    Route(
        method="POST",
        path=WORLD_BOOK.path,
        summary="Make a world book without entries",
        family=WORLD_BOOKS,
        handle=_create,
        success=WORLD_BOOK.made(),
        body=Body(limit_bytes=BODY_BYTES, schema=NAMED),
    ),
    Route(
        method="POST",
        path=f"{WORLD_BOOK.path}/import",
        summary="Import a world book from the bytes of its file",
        family=WORLD_BOOKS,
        handle=_import,
        success=WORLD_BOOK.made(),
        body=Body(limit_bytes=BODY_BYTES),
        query=(FILE_NAME,),
        errors=((400, "WRONG_KIND"),),
    ),
    *WORLD_BOOK.document_routes(
        "PATCH",
        "Change a world book: name, description, settings, entries; what is left out stays",
        Body(limit_bytes=BODY_BYTES, schema=OPEN_OBJECT),
    ),
    WORLD_BOOK.export_route("json", "Save a world book as SillyTavern reads it"),
    *SELECTION.routes(),
)
