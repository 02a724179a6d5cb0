"""Users over HTTP, and which of them a session has.

Source: the plugin contract, section F.
"""

from tavern_loader.adapters.http.choices import Choice
from tavern_loader.adapters.http.faults import USERS
from tavern_loader.adapters.http.resources import Resource
from tavern_loader.adapters.http.route import KIB, Body, Route, Success
from tavern_loader.adapters.http.schema import (
    RESOURCE_ID,
    SESSION_ID,
    TEXT,
    Schema,
    closed,
    needed,
    nullable,
    objects,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import text_of
from tavern_loader.domain.user_document import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS
from tavern_loader.service.binding import Wish

BODY_BYTES = 256 * KIB
FACTS = {"id": TEXT, "name": TEXT, "description": TEXT}
NAME: Schema = {
    "type": "string",
    "pattern": r"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s][^\x00-\x1f\x7f]*$",
    "maxLength": MAX_NAME_CHARS,
}
DESCRIPTION: Schema = {"type": "string", "maxLength": MAX_DESCRIPTION_CHARS}
USER = Resource(
    kind=Kind.USER, family=USERS, path="/v1/users", answer=success(user=needed(**FACTS))
)


def _list(services: HttpServices, _: Call) -> Answer:
    users = [stored.document for stored in services.stores.users.readable()]
    users.sort(key=lambda one: (text_of(one.get("name")).casefold(), text_of(one.get("id"))))
    return ok(users=users)


def _create(services: HttpServices, call: Call) -> Answer:
    given = call.object
    description = given.get("description", "")
    return USER.document(
        services.changing.new_user(given["name"], description, given.get("id")), 201
    )


def _selection(services: HttpServices, session_id: str) -> Answer:
    user_id = services.library.selection(session_id).user_id
    if user_id is None:
        return ok(selection=None, user=None)
    user = services.catalog.get(Kind.USER, user_id).document
    return ok(selection={"userId": user_id}, user=user)


SELECTION = Choice(
    resource=USER,
    path="/v1/user-selection",
    reading="Read which user a session has",
    writing="Give a session a user, or none",
    body=Body(
        limit_bytes=BODY_BYTES,
        schema=needed(sessionId=SESSION_ID, userId=nullable(RESOURCE_ID)),
    ),
    wish=lambda body: Wish(user_id=body["userId"] or ""),
    answer=_selection,
    success=Success(
        schema=success(selection=nullable(needed(userId=TEXT)), user=nullable(needed(**FACTS)))
    ),
    read_errors=(USER.not_found,),
)
ROUTES = (
    Route(
        method="GET",
        path=USER.path,
        summary="List the users by name",
        family=USERS,
        handle=_list,
        success=Success(schema=success(users=objects(**FACTS))),
    ),
    Route(
        method="POST",
        path=USER.path,
        summary="Make a user",
        family=USERS,
        handle=_create,
        success=USER.made(),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema=closed(name=NAME, optional={"id": RESOURCE_ID, "description": DESCRIPTION}),
        ),
        errors=((409, "USER_ID_EXISTS"),),
    ),
    *USER.document_routes(
        "PATCH",
        "Change a user",
        Body(
            limit_bytes=BODY_BYTES,
            schema=closed(optional={"name": NAME, "description": DESCRIPTION}),
        ),
    ),
    *USER.book_routes(),
    *SELECTION.routes(),
)
