"""The rows that all kinds of resources have, made of what differs between the kinds.

Owns reading, editing, deleting and handing out a resource, its scripts, the world books it brings.
Must not know how a document of a kind looks.

Source: the plugin contract, section F.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from tavern_loader.adapters.http.faults import Family
from tavern_loader.adapters.http.route import (
    MIB,
    WHILE_RUNNING,
    Body,
    Error,
    Route,
    Success,
)
from tavern_loader.adapters.http.schema import (
    IDS,
    OBJECTS,
    OPEN_OBJECT,
    TEXT,
    Schema,
    closed,
    needed,
    nullable,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call, attachment, ok
from tavern_loader.domain.bindings import OWNER_KINDS, Owner
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.preset_editing import regex_scripts_of
from tavern_loader.ports import JsonObject
from tavern_loader.service.catalog import Form
from tavern_loader.service.changing import Terms
from tavern_loader.store_ports import Stored

NAMED: Schema = {"type": "object", "properties": {"name": nullable(TEXT)}}
"""What a resource of which only the name is said is made of."""
_KEYS = {
    Kind.PRESET: "preset",
    Kind.CHARACTER: "character",
    Kind.WORLD_BOOK: "worldBook",
    Kind.USER: "user",
}
_OWNER_KEYS = {
    Owner.USER: "userId",
    Owner.PRESET: "presetId",
    Owner.CHARACTER: "characterCardId",
}


@frozen(kw_only=True)
class Resource:
    """One kind of resource as it is served."""

    kind: Kind
    family: Family
    path: str
    """Of the list of them."""
    answer: Schema
    """Of the routes that answer with a document."""
    key: str = field(init=False)
    """What stands before a document in an answer."""
    noun: str = field(init=False)

    @key.default
    def _its_key(self) -> str:
        return _KEYS[self.kind]

    @noun.default
    def _its_noun(self) -> str:
        return str(self.kind).replace("-", " ")

    @property
    def parameter(self) -> str:
        """The parameter of a path that is the id of one."""
        return f"{self.key}Id"

    @property
    def one(self) -> str:
        """The path of one of them."""
        return f"{self.path}/{{{self.parameter}}}"

    @property
    def not_found(self) -> Error:
        """The error of an id that is none."""
        return (404, f"{self.kind.code}_NOT_FOUND")

    @property
    def running(self) -> Error:
        """The error of a change that would reach a running session."""
        return (409, f"{self.kind.code}_AGENT_RUNNING")

    def made(self, answer: Schema | None = None) -> Success:
        """Describe the answer of a route that makes one."""
        gives = (self.parameter, f"/{self.key}/id")
        return Success(schema=answer or self.answer, status=201, has_etag=True, gives=gives)

    def document(self, stored: Stored, status: int = 200) -> Answer:
        """Answer with a document."""
        return ok(status, revision=stored.revision, **{self.key: stored.document})

    # The rows.

    def document_routes(self, method: str, change: str, body: Body) -> tuple[Route, ...]:
        """Read one, change it by a method with a body, delete it."""
        done = Success(schema=self.answer, has_etag=True)
        return (
            self._row("GET", "", f"Read a {self.noun}", self._get, done),
            self._row(method, "", change, self._edit, done, body=body),
            self._row(
                "DELETE",
                "",
                f"Delete a {self.noun} and unbind it everywhere",
                self._delete,
                Success(schema=success()),
                minds_running=True,
            ),
        )

    def export_route(self, name: str, summary: str, form: Form = Form.JSON) -> Route:
        """Hand one out as a file that SillyTavern reads."""

        def save(services: HttpServices, call: Call) -> Answer:
            return _file_answer(services, self.kind, self._id(call), form)

        is_json = form is Form.JSON
        media_type = "application/json" if is_json else f"image/{form}"
        done = Success(
            schema=OPEN_OBJECT if is_json else None, media_type=media_type, has_etag=True
        )
        return self._row("GET", f"/{name}", summary, save, done)

    def script_routes(self, limit_bytes: int, too_large: str | None = None) -> tuple[Route, ...]:
        """Read and replace the regular expression scripts of one."""
        what = f"the regular expression scripts of a {self.noun}"
        body = Body(
            limit_bytes=limit_bytes, schema=needed(regexScripts=OBJECTS), too_large=too_large
        )
        done = Success(schema=success(regexScripts=OBJECTS), has_etag=True)
        return (
            self._row("GET", "/regex-scripts", f"Read {what}", self._scripts, done),
            self._row(
                "PUT", "/regex-scripts", f"Replace {what}", self._put_scripts, done, body=body
            ),
        )

    def book_routes(self) -> tuple[Route, ...]:
        """Read and replace the world books that one brings."""
        owner = OWNER_KINDS[self.kind]
        binding = needed(**{_OWNER_KEYS[owner]: TEXT, "worldBookIds": IDS})
        code = "USER" if owner is Owner.USER else "RESOURCE"
        done = Success(schema=success(binding=binding))
        return (
            self._row(
                "GET",
                "/world-books",
                f"Read which world books a {self.noun} brings",
                self._books,
                done,
            ),
            self._row(
                "PUT",
                "/world-books",
                f"Replace the world books a {self.noun} brings",
                self._put_books,
                done,
                body=Body(limit_bytes=MIB, schema=closed(worldBookIds={**IDS, "maxItems": 100})),
                errors=(
                    (404, "WORLD_BOOK_NOT_FOUND"),
                    (409, f"{code}_WORLD_BOOK_BINDING_LIMIT_REACHED"),
                    (413, f"{code}_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED"),
                ),
                minds_running=True,
            ),
        )

    def _row(  # noqa: PLR0913 - a row has many columns
        self,
        method: str,
        below: str,
        summary: str,
        handle: Callable[[HttpServices, Call], Answer],
        done: Success,
        *,
        body: Body | None = None,
        errors: tuple[Error, ...] = (),
        minds_running: bool = False,
    ) -> Route:
        """Make a row about one of them; every change of it can be made conditional."""
        return Route(
            method=method,
            path=self.one + below,
            summary=summary,
            family=self.family,
            handle=handle,
            success=done,
            body=body,
            query=(WHILE_RUNNING,) if minds_running else (),
            errors=(self.not_found, *errors, *((self.running,) if minds_running else ())),
            takes_revision=method != "GET",
            asks_host=minds_running,
        )

    # What the rows do.

    def _id(self, call: Call) -> str:
        return call.path[self.parameter]

    def _get(self, services: HttpServices, call: Call) -> Answer:
        return self.document(services.catalog.get(self.kind, self._id(call)))

    def _edit(self, services: HttpServices, call: Call) -> Answer:
        return self.document(
            services.catalog.edit(self.kind, self._id(call), call.object, expected=call.revision)
        )

    def _delete(self, services: HttpServices, call: Call) -> Answer:
        services.changing.delete(self.kind, self._id(call), terms(call))
        return ok()

    def _scripts(self, services: HttpServices, call: Call) -> Answer:
        return _scripts_answer(services.catalog.get(self.kind, self._id(call)))

    def _put_scripts(self, services: HttpServices, call: Call) -> Answer:
        scripts = call.object["regexScripts"]
        return _scripts_answer(
            services.changing.on_terms(
                self.kind,
                self._id(call),
                edit_terms(call),
                lambda: services.catalog.replace_regex_scripts(self.kind, self._id(call), scripts),
            )
        )

    def _books(self, services: HttpServices, call: Call) -> Answer:
        owner, owner_id = OWNER_KINDS[self.kind], self._id(call)
        services.catalog.get(self.kind, owner_id)
        books = services.binding.books_of(owner, owner_id)
        return ok(binding={_OWNER_KEYS[owner]: owner_id, "worldBookIds": list(books)})

    def _put_books(self, services: HttpServices, call: Call) -> Answer:
        owner, owner_id = OWNER_KINDS[self.kind], self._id(call)
        services.changing.on_terms(
            self.kind,
            owner_id,
            terms(call),
            lambda: services.binding.bind_books(owner, owner_id, call.object["worldBookIds"]),
        )
        return self._books(services, call)


def terms(call: Call) -> Terms:
    """Read on what terms a change is wanted."""
    return Terms(revision=call.revision, ignores_running=call.ignores_running)


def edit_terms(call: Call) -> Terms:
    """Read on what terms an edit is wanted: a running session does not hold it up."""
    return Terms(revision=call.revision, ignores_running=True)


def lines(
    services: HttpServices, kind: Kind, line: Callable[[str, JsonObject], dict[str, Any]]
) -> list[dict[str, Any]]:
    """List the documents of a kind, the latest change first; what cannot be read is left out."""
    readable = services.stores.documents(kind).readable()
    found = [line(stored.id, stored.document) for stored in readable]
    found.sort(key=lambda one: str(one["id"]))
    return sorted(found, key=lambda one: str(one["updatedAt"]), reverse=True)


def _file_answer(services: HttpServices, kind: Kind, document_id: str, form: Form) -> Answer:
    file = services.catalog.exported(kind, document_id, form)
    is_json = file.media_type == "application/json"
    return Answer(
        body=file.data,
        headers={
            "Content-Type": f"{file.media_type}; charset=utf-8" if is_json else file.media_type,
            "ETag": f'"sha256-{hashlib.sha256(file.data).hexdigest()}"',
            **attachment(file.name),
        },
    )


def _scripts_answer(stored: Stored) -> Answer:
    return ok(revision=stored.revision, regexScripts=list(regex_scripts_of(stored.document)))
