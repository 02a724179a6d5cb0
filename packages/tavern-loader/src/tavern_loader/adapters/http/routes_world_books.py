"""World books over HTTP, and which of them a session has.

Source: the plugin contract, section F.
"""

import hashlib

from tavern_loader.adapters.http import resources
from tavern_loader.adapters.http.faults import WORLD_BOOKS
from tavern_loader.adapters.http.route import (
    MIB,
    SESSION,
    WHILE_RUNNING,
    Body,
    Parameter,
    Route,
    Success,
)
from tavern_loader.adapters.http.schema import (
    IDS,
    OPEN_OBJECT,
    SESSION_ID,
    TEXT,
    needed,
    nullable,
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
from tavern_loader.service.catalog import Form
from tavern_loader.service.reading import SourceFile

BODY_BYTES = 4 * MIB
FILE_NAME = Parameter(
    name="filename",
    schema={"type": "string", "maxLength": 1024},
    about="Name of the file; a resource without a name is named after it.",
)
WORLD_BOOK = success(worldBook=needed(id=TEXT, name=TEXT, book=OPEN_OBJECT))
SELECTION = success(selection=needed(worldBookIds=IDS), worldBooks=objects(id=TEXT))
NOT_FOUND = (404, "WORLD_BOOK_NOT_FOUND")
RUNNING = (409, "WORLD_BOOK_AGENT_RUNNING")


def _list(services: HttpServices, _: Call) -> Answer:
    return ok(worldBooks=resources.lines(services, Kind.WORLD_BOOK, world_book_line))


def _create(services: HttpServices, call: Call) -> Answer:
    stored = services.changing.new_world_book(call.object.get("name") or "")
    return resources.document_answer("worldBook", stored, 201)


def _import(services: HttpServices, call: Call) -> Answer:
    name = file_name_of(call.query.get("filename", ""), "world-book.json")
    stored = services.changing.take(Kind.WORLD_BOOK, SourceFile(name=name, data=call.body))
    return resources.document_answer("worldBook", stored, 201)


def _get(services: HttpServices, call: Call) -> Answer:
    stored = services.catalog.get(Kind.WORLD_BOOK, call.path["worldBookId"])
    return resources.document_answer("worldBook", stored)


def _json(services: HttpServices, call: Call) -> Answer:
    file = services.catalog.exported(Kind.WORLD_BOOK, call.path["worldBookId"], Form.JSON)
    return resources.file_answer(file, revision=hashlib.sha256(file.data).hexdigest())


def _patch(services: HttpServices, call: Call) -> Answer:
    stored = services.catalog.edit(
        Kind.WORLD_BOOK, call.path["worldBookId"], call.object, expected=call.revision
    )
    return resources.document_answer("worldBook", stored)


def _delete(services: HttpServices, call: Call) -> Answer:
    return resources.delete(services, Kind.WORLD_BOOK, call.path["worldBookId"], call)


def _selected(services: HttpServices, call: Call) -> Answer:
    return _selection_answer(services, call.query["sessionId"])


def _select(services: HttpServices, call: Call) -> Answer:
    session_id = call.object["sessionId"]
    wish = Wish(world_book_ids=tuple(call.object["worldBookIds"]))
    resources.bind_session(services, session_id, wish, "WORLD_BOOK_AGENT_RUNNING")
    return _selection_answer(services, session_id)


def _selection_answer(services: HttpServices, session_id: str) -> Answer:
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


ROUTES = (
    Route(
        method="GET",
        path="/v1/world-books",
        summary="List the world books, the latest change first",
        family=WORLD_BOOKS,
        handle=_list,
        success=Success(schema=success(worldBooks={"type": "array", "items": WORLD_BOOK_LINE})),
    ),
    Route(
        method="POST",
        path="/v1/world-books",
        summary="Make a world book without entries",
        family=WORLD_BOOKS,
        handle=_create,
        success=Success(
            schema=WORLD_BOOK, status=201, has_etag=True, gives=("worldBookId", "/worldBook/id")
        ),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema={"type": "object", "properties": {"name": nullable(TEXT)}},
        ),
    ),
    Route(
        method="POST",
        path="/v1/world-books/import",
        summary="Import a world book from the bytes of its file",
        family=WORLD_BOOKS,
        handle=_import,
        success=Success(
            schema=WORLD_BOOK, status=201, has_etag=True, gives=("worldBookId", "/worldBook/id")
        ),
        body=Body(limit_bytes=BODY_BYTES),
        query=(FILE_NAME,),
    ),
    Route(
        method="GET",
        path="/v1/world-books/{worldBookId}",
        summary="Read a world book",
        family=WORLD_BOOKS,
        handle=_get,
        success=Success(schema=WORLD_BOOK, has_etag=True),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PATCH",
        path="/v1/world-books/{worldBookId}",
        summary="Change a world book: name, description, settings, entries; what is left out stays",
        family=WORLD_BOOKS,
        handle=_patch,
        success=Success(schema=WORLD_BOOK, has_etag=True),
        body=Body(limit_bytes=BODY_BYTES, schema=OPEN_OBJECT),
        errors=(NOT_FOUND,),
        takes_revision=True,
    ),
    Route(
        method="DELETE",
        path="/v1/world-books/{worldBookId}",
        summary="Delete a world book and unbind it everywhere",
        family=WORLD_BOOKS,
        handle=_delete,
        success=Success(schema=success()),
        query=(WHILE_RUNNING,),
        errors=(NOT_FOUND, RUNNING),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/world-books/{worldBookId}/json",
        summary="Save a world book as SillyTavern reads it",
        family=WORLD_BOOKS,
        handle=_json,
        success=Success(schema=OPEN_OBJECT, has_etag=True),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="GET",
        path="/v1/world-book-selection",
        summary="Read which world books a session itself has",
        family=WORLD_BOOKS,
        handle=_selected,
        success=Success(schema=SELECTION),
        query=(SESSION,),
    ),
    Route(
        method="POST",
        path="/v1/world-book-selection",
        summary="Replace the world books a session itself has",
        family=WORLD_BOOKS,
        handle=_select,
        success=Success(schema=SELECTION),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema=needed(sessionId=SESSION_ID, worldBookIds={**IDS, "maxItems": 100}),
        ),
        errors=(NOT_FOUND, RUNNING, *resources.SELECTION_LIMITS),
    ),
)
