"""Characters over HTTP, and which of them a session has.

Source: the plugin contract, section F.
"""

from collections.abc import Mapping
from typing import Any

from tavern_loader.adapters.http.choices import Choice
from tavern_loader.adapters.http.resources import edit_terms
from tavern_loader.adapters.http.route import MIB, Body, Route, Success
from tavern_loader.adapters.http.routes_cast import CHARACTER, DOCUMENT_TOO_LARGE
from tavern_loader.adapters.http.schema import (
    BOOLEAN,
    OBJECTS,
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
from tavern_loader.domain.character_document import EDITABLE, TEXT_KEYS
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import object_of, text_of
from tavern_loader.service.binding import Wish
from tavern_loader.service.catalog import Form

DOCUMENT_BYTES = 16 * MIB
BOOK_BYTES = 4 * MIB
EDIT = closed(
    optional={
        name: TEXT if name in TEXT_KEYS else {"type": "array", "items": TEXT}
        for name in sorted(EDITABLE)
    }
)


def _patch_book(services: HttpServices, call: Call) -> Answer:
    character_id = call.path[CHARACTER.parameter]
    book = call.object["characterBook"]
    return CHARACTER.document(
        services.changing.on_terms(
            Kind.CHARACTER,
            character_id,
            edit_terms(call),
            lambda: services.catalog.replace_embedded_book(character_id, book),
        )
    )


def _wish(body: Mapping[str, Any]) -> Wish:
    """Read what is wanted of a character.

    As in the API this one stands in for, a selection is replaced: what is left out is default.
    """
    if body["characterCardId"] is None:
        return Wish(character_id="")
    choice = object_of(body.get("character"))
    return Wish(
        character_id=body["characterCardId"],
        greeting_index=choice.get("greetingIndex", 0),
        prefer_system_prompt=choice.get("preferCharacterSystemPrompt", True),
        prefer_post_history=choice.get("preferCharacterPostHistory", True),
    )


def _selection(services: HttpServices, session_id: str) -> Answer:
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


SELECTION = Choice(
    resource=CHARACTER,
    path="/v1/character-selection",
    reading="Read which character a session has, and how it is used",
    writing="Give a session a character, or none",
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
    wish=_wish,
    answer=_selection,
    success=Success(
        schema=success(
            selection=nullable(
                needed(
                    characterCardId=TEXT,
                    character=needed(
                        greetingIndex=WHOLE,
                        preferCharacterSystemPrompt=BOOLEAN,
                        preferCharacterPostHistory=BOOLEAN,
                    ),
                )
            ),
            character=nullable(needed(id=TEXT, name=TEXT)),
        )
    ),
    read_errors=(CHARACTER.not_found,),
)
ROUTES = (
    *CHARACTER.document_routes(
        "PATCH",
        "Change fields of a character; what is left out stays",
        Body(limit_bytes=DOCUMENT_BYTES, schema=EDIT, too_large=DOCUMENT_TOO_LARGE),
    ),
    CHARACTER.export_route("json", "Save a character as JSON"),
    CHARACTER.export_route("png", "Save a character as a picture that carries it", Form.PNG),
    Route(
        method="PATCH",
        path=f"{CHARACTER.one}/world-book",
        summary="Replace the world book inside a card",
        family=CHARACTER.family,
        handle=_patch_book,
        success=Success(schema=CHARACTER.answer, has_etag=True),
        body=Body(
            limit_bytes=BOOK_BYTES,
            schema=needed(characterBook=needed(entries=OBJECTS)),
            too_large="CHARACTER_WORLD_BOOK_TOO_LARGE",
        ),
        errors=(CHARACTER.not_found, (413, DOCUMENT_TOO_LARGE)),
        takes_revision=True,
    ),
    *CHARACTER.script_routes(DOCUMENT_BYTES, DOCUMENT_TOO_LARGE),
    *CHARACTER.book_routes(),
    *SELECTION.routes(),
)
