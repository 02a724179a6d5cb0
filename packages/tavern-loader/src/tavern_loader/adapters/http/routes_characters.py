"""Characters over HTTP, and which of them a session has.

Source: the plugin contract, section F.
"""

from tavern_loader.adapters.http import resources
from tavern_loader.adapters.http.faults import CHARACTERS
from tavern_loader.adapters.http.route import (
    MIB,
    SESSION,
    WHILE_RUNNING,
    Body,
    Route,
    Success,
)
from tavern_loader.adapters.http.routes_cast import DOCUMENT_TOO_LARGE, NOT_FOUND, RUNNING
from tavern_loader.adapters.http.schema import (
    BOOLEAN,
    OPEN_OBJECT,
    RESOURCE_ID,
    SESSION_ID,
    TEXT,
    closed,
    needed,
    nullable,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.summaries import WHOLE
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.character_document import EDITABLE, TEXT_KEYS
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import object_of, text_of
from tavern_loader.service.binding import Wish
from tavern_loader.service.catalog import Form
from tavern_loader.service.changing import Terms

DOCUMENT_BYTES = 16 * MIB
BOOK_BYTES = 4 * MIB
CHARACTER = success(character=needed(id=TEXT, name=TEXT, source=OPEN_OBJECT, data=OPEN_OBJECT))
CHOICE = needed(
    greetingIndex=WHOLE,
    preferCharacterSystemPrompt=BOOLEAN,
    preferCharacterPostHistory=BOOLEAN,
)
SELECTION = success(
    selection=nullable(needed(characterCardId=TEXT, character=CHOICE)),
    character=nullable(needed(id=TEXT, name=TEXT)),
)
EDIT = closed(
    optional={
        name: TEXT if name in TEXT_KEYS else {"type": "array", "items": TEXT}
        for name in sorted(EDITABLE)
    }
)


def _get(services: HttpServices, call: Call) -> Answer:
    stored = services.catalog.get(Kind.CHARACTER, call.path["characterId"])
    return resources.document_answer("character", stored)


def _patch(services: HttpServices, call: Call) -> Answer:
    stored = services.catalog.edit(
        Kind.CHARACTER, call.path["characterId"], call.object, expected=call.revision
    )
    return resources.document_answer("character", stored)


def _delete(services: HttpServices, call: Call) -> Answer:
    return resources.delete(services, Kind.CHARACTER, call.path["characterId"], call)


def _json(services: HttpServices, call: Call) -> Answer:
    return resources.export_answer(services, Kind.CHARACTER, call.path["characterId"], Form.JSON)


def _png(services: HttpServices, call: Call) -> Answer:
    return resources.export_answer(services, Kind.CHARACTER, call.path["characterId"], Form.PNG)


def _patch_book(services: HttpServices, call: Call) -> Answer:
    character_id = call.path["characterId"]
    stored = services.changing.on_terms(
        Kind.CHARACTER,
        character_id,
        Terms(revision=call.revision, ignores_running=True),
        lambda: services.catalog.replace_embedded_book(character_id, call.object["characterBook"]),
    )
    return resources.document_answer("character", stored)


def _scripts(services: HttpServices, call: Call) -> Answer:
    return resources.scripts_answer(services.catalog.get(Kind.CHARACTER, call.path["characterId"]))


def _put_scripts(services: HttpServices, call: Call) -> Answer:
    return resources.replace_scripts(services, Kind.CHARACTER, call.path["characterId"], call)


def _books(services: HttpServices, call: Call) -> Answer:
    return resources.books_answer(services, Owner.CHARACTER, call.path["characterId"])


def _put_books(services: HttpServices, call: Call) -> Answer:
    return resources.bind_books(services, Owner.CHARACTER, call.path["characterId"], call)


def _selected(services: HttpServices, call: Call) -> Answer:
    return _selection_answer(services, call.query["sessionId"])


def _select(services: HttpServices, call: Call) -> Answer:
    session_id = call.object["sessionId"]
    character_id = call.object["characterCardId"]
    choice = object_of(call.object.get("character"))
    # As in the API this one stands in for, a selection is replaced: what is left out is default.
    wish = (
        Wish(character_id="")
        if character_id is None
        else Wish(
            character_id=character_id,
            greeting_index=choice.get("greetingIndex", 0),
            prefer_system_prompt=choice.get("preferCharacterSystemPrompt", True),
            prefer_post_history=choice.get("preferCharacterPostHistory", True),
        )
    )
    resources.bind_session(services, session_id, wish, "CHARACTER_AGENT_RUNNING")
    return _selection_answer(services, session_id)


def _selection_answer(services: HttpServices, session_id: str) -> Answer:
    selection = services.library.selection(session_id)
    if selection.character_id is None:
        return ok(selection=None, character=None)
    document = services.catalog.get(Kind.CHARACTER, selection.character_id).document
    source = object_of(document.get("source"))
    facts = {"sourceFormat": source.get("format"), "specVersion": source.get("specVersion")}
    return ok(
        selection={
            "characterCardId": selection.character_id,
            "character": {
                "greetingIndex": selection.character.greeting_index,
                "preferCharacterSystemPrompt": selection.character.prefer_system_prompt,
                "preferCharacterPostHistory": selection.character.prefer_post_history,
            },
        },
        character={
            "id": selection.character_id,
            "name": text_of(document.get("name")),
            **{key: value for key, value in facts.items() if value is not None},
        },
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/characters/{characterId}",
        summary="Read a character",
        family=CHARACTERS,
        handle=_get,
        success=Success(schema=CHARACTER, has_etag=True),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PATCH",
        path="/v1/characters/{characterId}",
        summary="Change fields of a character; what is left out stays",
        family=CHARACTERS,
        handle=_patch,
        success=Success(schema=CHARACTER, has_etag=True),
        body=Body(limit_bytes=DOCUMENT_BYTES, schema=EDIT, too_large=DOCUMENT_TOO_LARGE),
        errors=(NOT_FOUND,),
        takes_revision=True,
    ),
    Route(
        method="DELETE",
        path="/v1/characters/{characterId}",
        summary="Delete a character and unbind it everywhere",
        family=CHARACTERS,
        handle=_delete,
        success=Success(schema=success()),
        query=(WHILE_RUNNING,),
        errors=(NOT_FOUND, RUNNING),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/characters/{characterId}/json",
        summary="Save a character as JSON",
        family=CHARACTERS,
        handle=_json,
        success=Success(schema=OPEN_OBJECT),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="GET",
        path="/v1/characters/{characterId}/png",
        summary="Save a character as a picture that carries it",
        family=CHARACTERS,
        handle=_png,
        success=Success(media_type="image/png"),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PATCH",
        path="/v1/characters/{characterId}/world-book",
        summary="Replace the world book inside a card",
        family=CHARACTERS,
        handle=_patch_book,
        success=Success(schema=CHARACTER, has_etag=True),
        body=Body(
            limit_bytes=BOOK_BYTES,
            schema=needed(characterBook=needed(entries={"type": "array", "items": OPEN_OBJECT})),
            too_large="CHARACTER_WORLD_BOOK_TOO_LARGE",
        ),
        errors=(NOT_FOUND, (413, DOCUMENT_TOO_LARGE)),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/characters/{characterId}/regex-scripts",
        summary="Read the regular expression scripts of a character",
        family=CHARACTERS,
        handle=_scripts,
        success=resources.SCRIPTS_ANSWER,
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PUT",
        path="/v1/characters/{characterId}/regex-scripts",
        summary="Replace the regular expression scripts of a character",
        family=CHARACTERS,
        handle=_put_scripts,
        success=resources.SCRIPTS_ANSWER,
        body=Body(
            limit_bytes=DOCUMENT_BYTES,
            schema=resources.SCRIPTS_BODY,
            too_large=DOCUMENT_TOO_LARGE,
        ),
        errors=(NOT_FOUND,),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/characters/{characterId}/world-books",
        summary="Read which world books a character brings",
        family=CHARACTERS,
        handle=_books,
        success=Success(schema=resources.books_schema(Owner.CHARACTER)),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PUT",
        path="/v1/characters/{characterId}/world-books",
        summary="Replace the world books a character brings",
        family=CHARACTERS,
        handle=_put_books,
        success=Success(schema=resources.books_schema(Owner.CHARACTER)),
        body=resources.BOOKS_BODY,
        query=(WHILE_RUNNING,),
        errors=(
            NOT_FOUND,
            (404, "WORLD_BOOK_NOT_FOUND"),
            RUNNING,
            *resources.BOOK_LIMITS,
        ),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/character-selection",
        summary="Read which character a session has, and how it is used",
        family=CHARACTERS,
        handle=_selected,
        success=Success(schema=SELECTION),
        query=(SESSION,),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="POST",
        path="/v1/character-selection",
        summary="Give a session a character, or none",
        family=CHARACTERS,
        handle=_select,
        success=Success(schema=SELECTION),
        body=Body(
            limit_bytes=MIB,
            schema={
                "type": "object",
                "properties": {
                    "sessionId": SESSION_ID,
                    "characterCardId": nullable(RESOURCE_ID),
                    "character": {
                        "type": "object",
                        "properties": {
                            "greetingIndex": {"type": "integer", "minimum": 0},
                            "preferCharacterSystemPrompt": BOOLEAN,
                            "preferCharacterPostHistory": BOOLEAN,
                        },
                    },
                },
                "required": ["sessionId", "characterCardId"],
            },
        ),
        errors=(NOT_FOUND, RUNNING, *resources.SELECTION_LIMITS),
    ),
)
