"""Users over HTTP, and which of them a session has.

Source: the plugin contract, section F.
"""

from tavern_loader.adapters.http import resources
from tavern_loader.adapters.http.faults import USERS
from tavern_loader.adapters.http.route import KIB, SESSION, WHILE_RUNNING, Body, Route, Success
from tavern_loader.adapters.http.schema import (
    RESOURCE_ID,
    SESSION_ID,
    TEXT,
    Schema,
    closed,
    needed,
    nullable,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import text_of
from tavern_loader.domain.user_document import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS
from tavern_loader.errors import StoreError
from tavern_loader.service.binding import Wish

BODY_BYTES = 256 * KIB
USER = needed(id=TEXT, name=TEXT, description=TEXT)
NAME: Schema = {
    "type": "string",
    "pattern": r"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s][^\x00-\x1f\x7f]*$",
    "maxLength": MAX_NAME_CHARS,
}
DESCRIPTION: Schema = {"type": "string", "maxLength": MAX_DESCRIPTION_CHARS}
SELECTION = success(selection=nullable(needed(userId=TEXT)), user=nullable(USER))
NOT_FOUND = (404, "USER_NOT_FOUND")
RUNNING = (409, "USER_AGENT_RUNNING")


def _list(services: HttpServices, _: Call) -> Answer:
    store = services.stores.users
    users = []
    for user_id in store.ids():
        try:
            users.append(store.get(user_id).document)
        except StoreError:
            continue
    users.sort(key=lambda one: (text_of(one.get("name")).casefold(), text_of(one.get("id"))))
    return ok(users=users)


def _create(services: HttpServices, call: Call) -> Answer:
    given = call.object
    stored = services.changing.new_user(
        given["name"], given.get("description", ""), given.get("id")
    )
    return resources.document_answer("user", stored, 201)


def _get(services: HttpServices, call: Call) -> Answer:
    return resources.document_answer("user", services.catalog.get(Kind.USER, call.path["userId"]))


def _patch(services: HttpServices, call: Call) -> Answer:
    stored = services.catalog.edit(
        Kind.USER, call.path["userId"], call.object, expected=call.revision
    )
    return resources.document_answer("user", stored)


def _delete(services: HttpServices, call: Call) -> Answer:
    return resources.delete(services, Kind.USER, call.path["userId"], call)


def _books(services: HttpServices, call: Call) -> Answer:
    return resources.books_answer(services, Owner.USER, call.path["userId"])


def _put_books(services: HttpServices, call: Call) -> Answer:
    return resources.bind_books(services, Owner.USER, call.path["userId"], call)


def _selected(services: HttpServices, call: Call) -> Answer:
    return _selection_answer(services, call.query["sessionId"])


def _select(services: HttpServices, call: Call) -> Answer:
    session_id = call.object["sessionId"]
    wish = Wish(user_id=call.object["userId"] or "")
    resources.bind_session(services, session_id, wish, "USER_AGENT_RUNNING")
    return _selection_answer(services, session_id)


def _selection_answer(services: HttpServices, session_id: str) -> Answer:
    user_id = services.library.selection(session_id).user_id
    if user_id is None:
        return ok(selection=None, user=None)
    user = services.catalog.get(Kind.USER, user_id).document
    return ok(selection={"userId": user_id}, user=user)


ROUTES = (
    Route(
        method="GET",
        path="/v1/users",
        summary="List the users by name",
        family=USERS,
        handle=_list,
        success=Success(schema=success(users={"type": "array", "items": USER})),
    ),
    Route(
        method="POST",
        path="/v1/users",
        summary="Make a user",
        family=USERS,
        handle=_create,
        success=Success(
            schema=success(user=USER), status=201, has_etag=True, gives=("userId", "/user/id")
        ),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema=closed(name=NAME, optional={"id": RESOURCE_ID, "description": DESCRIPTION}),
        ),
        errors=((409, "USER_ID_EXISTS"),),
    ),
    Route(
        method="GET",
        path="/v1/users/{userId}",
        summary="Read a user",
        family=USERS,
        handle=_get,
        success=Success(schema=success(user=USER), has_etag=True),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PATCH",
        path="/v1/users/{userId}",
        summary="Change a user",
        family=USERS,
        handle=_patch,
        success=Success(schema=success(user=USER), has_etag=True),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema=closed(optional={"name": NAME, "description": DESCRIPTION}),
        ),
        errors=(NOT_FOUND,),
        takes_revision=True,
    ),
    Route(
        method="DELETE",
        path="/v1/users/{userId}",
        summary="Delete a user and unbind it everywhere",
        family=USERS,
        handle=_delete,
        success=Success(schema=success()),
        query=(WHILE_RUNNING,),
        errors=(NOT_FOUND, RUNNING),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/users/{userId}/world-books",
        summary="Read which world books a user brings",
        family=USERS,
        handle=_books,
        success=Success(schema=resources.books_schema(Owner.USER)),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PUT",
        path="/v1/users/{userId}/world-books",
        summary="Replace the world books a user brings",
        family=USERS,
        handle=_put_books,
        success=Success(schema=resources.books_schema(Owner.USER)),
        body=resources.BOOKS_BODY,
        query=(WHILE_RUNNING,),
        errors=(
            NOT_FOUND,
            (404, "WORLD_BOOK_NOT_FOUND"),
            RUNNING,
            (409, "USER_WORLD_BOOK_BINDING_LIMIT_REACHED"),
            (413, "USER_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED"),
        ),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/user-selection",
        summary="Read which user a session has",
        family=USERS,
        handle=_selected,
        success=Success(schema=SELECTION),
        query=(SESSION,),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="POST",
        path="/v1/user-selection",
        summary="Give a session a user, or none",
        family=USERS,
        handle=_select,
        success=Success(schema=SELECTION),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema=needed(sessionId=SESSION_ID, userId=nullable(RESOURCE_ID)),
        ),
        errors=(NOT_FOUND, RUNNING, *resources.SELECTION_LIMITS),
    ),
)
