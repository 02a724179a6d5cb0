"""What the routes of all kinds of resources have in common.

Owns the answers about documents, files, scripts and bound books. Must not know paths.
"""

from collections.abc import Callable
from typing import Any

from tavern_loader.adapters.http.route import MIB, Body, Success
from tavern_loader.adapters.http.schema import IDS, OPEN_OBJECT, Schema, closed, needed, success
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call, attachment, ok
from tavern_loader.domain.bindings import OWNER_KINDS, Owner
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.preset_editing import regex_scripts_of
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import StoreError
from tavern_loader.ports import JsonObject
from tavern_loader.service.binding import Wish
from tavern_loader.service.catalog import ExportedFile, Form
from tavern_loader.service.changing import Terms
from tavern_loader.store_ports import Stored

Line = Callable[[str, JsonObject], dict[str, Any]]

SCRIPTS: Schema = {"type": "array", "items": OPEN_OBJECT}
SCRIPTS_ANSWER = Success(schema=success(regexScripts=SCRIPTS), has_etag=True)
SCRIPTS_BODY = needed(regexScripts=SCRIPTS)
BOOKS_BODY = Body(limit_bytes=MIB, schema=closed(worldBookIds={**IDS, "maxItems": 100}))
SELECTION_LIMITS = (
    (409, "SESSION_SELECTION_LIMIT_REACHED"),
    (413, "SESSION_SELECTION_STORAGE_LIMIT_REACHED"),
)
BOOK_LIMITS = (
    (409, "RESOURCE_WORLD_BOOK_BINDING_LIMIT_REACHED"),
    (413, "RESOURCE_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED"),
)
OWNER_KEYS = {
    Owner.USER: "userId",
    Owner.PRESET: "presetId",
    Owner.CHARACTER: "characterCardId",
}
_KINDS = {owner: kind for kind, owner in OWNER_KINDS.items()}


def terms(call: Call) -> Terms:
    """Read on what terms a change is wanted."""
    return Terms(revision=call.revision, ignores_running=call.ignores_running)


def document_answer(key: str, stored: Stored, status: int = 200, **more: object) -> Answer:
    """Answer with a document."""
    return ok(status, revision=stored.revision, **{key: stored.document}, **more)


def lines(services: HttpServices, kind: Kind, line: Line) -> list[dict[str, Any]]:
    """List the documents of a kind, the latest change first; what cannot be read is left out."""
    store = services.stores.documents(kind)
    found: list[dict[str, Any]] = []
    for document_id in store.ids():
        try:
            found.append(line(document_id, store.get(document_id).document))
        except StoreError:
            continue
    found.sort(key=lambda one: str(one["id"]))
    return sorted(found, key=lambda one: str(one["updatedAt"]), reverse=True)


def file_answer(file: ExportedFile, *, revision: str | None = None) -> Answer:
    """Answer with a file to save."""
    is_json = file.media_type == "application/json"
    headers = {
        "Content-Type": f"{file.media_type}; charset=utf-8" if is_json else file.media_type,
        **attachment(file.name),
    }
    if revision is not None:
        headers["ETag"] = f'"sha256-{revision}"'
    return Answer(body=file.data, headers=headers)


def export_answer(services: HttpServices, kind: Kind, document_id: str, form: Form) -> Answer:
    """Answer with a resource as SillyTavern reads it."""
    return file_answer(services.catalog.exported(kind, document_id, form))


def delete(services: HttpServices, kind: Kind, document_id: str, call: Call) -> Answer:
    """Delete a resource."""
    services.changing.delete(kind, document_id, terms(call))
    return ok()


def scripts_answer(stored: Stored) -> Answer:
    """Answer with the regular expression scripts of a document."""
    return ok(revision=stored.revision, regexScripts=list(regex_scripts_of(stored.document)))


def replace_scripts(services: HttpServices, kind: Kind, document_id: str, call: Call) -> Answer:
    """Replace the regular expression scripts of a document."""
    stored = services.changing.on_terms(
        kind,
        document_id,
        Terms(revision=call.revision, ignores_running=True),
        lambda: services.catalog.replace_regex_scripts(
            kind, document_id, call.object["regexScripts"]
        ),
    )
    return scripts_answer(stored)


def books_schema(owner: Owner) -> Schema:
    """Describe the answer about the books of an owner."""
    return success(binding=needed(**{OWNER_KEYS[owner]: {"type": "string"}, "worldBookIds": IDS}))


def books_answer(services: HttpServices, owner: Owner, owner_id: str) -> Answer:
    """Answer with the books of an owner."""
    services.catalog.get(_KINDS[owner], owner_id)
    books = services.binding.books_of(owner, owner_id)
    return ok(binding={OWNER_KEYS[owner]: owner_id, "worldBookIds": list(books)})


def bind_books(services: HttpServices, owner: Owner, owner_id: str, call: Call) -> Answer:
    """Bind books to an owner."""
    services.changing.on_terms(
        _KINDS[owner],
        owner_id,
        terms(call),
        lambda: services.binding.bind_books(owner, owner_id, call.object["worldBookIds"]),
    )
    return books_answer(services, owner, owner_id)


def bind_session(services: HttpServices, session_id: str, wish: Wish, code: str) -> Selection:
    """Change what a session has bound, unless it runs; RP mode follows."""
    services.running.require_idle(session_id, code)
    before = services.library.selection(session_id)
    after = services.binding.bind_session(session_id, wish)
    services.roleplay.on_selection_change(session_id, before, after)
    return services.library.selection(session_id)
