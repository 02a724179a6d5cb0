"""The list of characters over HTTP: what is there, in which order, what comes in, what is missing.

Source: the plugin contract, section F.
"""

from typing import Any

from tavern_loader.adapters.http.faults import CHARACTERS
from tavern_loader.adapters.http.resources import NAMED, Resource
from tavern_loader.adapters.http.route import (
    FILE_NAME,
    KIB,
    MIB,
    WHILE_RUNNING,
    Body,
    Route,
    Success,
)
from tavern_loader.adapters.http.schema import (
    IDS,
    OPEN_OBJECT,
    RESOURCE_ID,
    TEXT,
    Schema,
    closed,
    needed,
    objects,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.summaries import CHARACTER_LINE, WHOLE, character_line
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.character_list import SortMode
from tavern_loader.domain.documents import MAX_ORDERED_CHARACTERS, Kind
from tavern_loader.domain.js_values import file_name_of, object_of
from tavern_loader.service.cast import Recovery, Relinked
from tavern_loader.service.reading import SourceFile
from tavern_loader.store_ports import Stored

CHARACTER = Resource(
    kind=Kind.CHARACTER,
    family=CHARACTERS,
    path="/v1/characters",
    answer=success(character=needed(id=TEXT, name=TEXT, source=OPEN_OBJECT, data=OPEN_OBJECT)),
)
IMPORT_BYTES = 32 * MIB
IMPORT_TYPES = ("application/json", "application/octet-stream", "image/png")
LINES: Schema = {"type": "array", "items": CHARACTER_LINE}
SORTING = needed(mode={"type": "string", "enum": [str(mode) for mode in SortMode]})
RELINKED: dict[str, Schema] = {
    "relinkedPlaythroughCount": WHOLE,
    "relinkedSessionCount": WHOLE,
    "relinkedTemplateCount": WHOLE,
}
DOCUMENT_TOO_LARGE = "CHARACTER_DOCUMENT_TOO_LARGE"


def _list(services: HttpServices, _: Call) -> Answer:
    return ok(
        characters=_lines(services),
        sorting={"mode": str(services.cast.mode())},
        missingCharacters=[
            {"id": one.id, "name": one.name, **({"sha256": one.sha256} if one.sha256 else {})}
            for one in services.cast.missing()
        ],
    )


def _lines(services: HttpServices) -> list[dict[str, Any]]:
    return [character_line(stored.id, stored.document) for stored in services.cast.all()]


def _create(services: HttpServices, call: Call) -> Answer:
    return _line_answer(services.changing.new_character(call.object.get("name") or ""))


def _line_answer(stored: Stored, **more: object) -> Answer:
    line = character_line(stored.id, stored.document)
    return ok(201, revision=stored.revision, character=line, **more)


def _import(services: HttpServices, call: Call) -> Answer:
    name = file_name_of(call.query.get("filename", ""), "character")
    stored = services.changing.take(Kind.CHARACTER, SourceFile(name=name, data=call.body))
    more: dict[str, object] = {"compatibility": object_of(stored.document.get("compatibility"))}
    recovery = services.cast.recover(stored.id)
    if recovery is not None:
        more["recovery"] = _recovery(recovery)
    return _line_answer(stored, **more)


def _recovery(found: Recovery) -> dict[str, object]:
    return {
        "previousId": found.previous_id,
        "characterId": found.character_id,
        "match": str(found.match),
        "restored": True,
        **_relinked(found.relinked),
    }


def _relinked(done: Relinked) -> dict[str, Any]:
    # Playthroughs belong to a part of the plugin that this one does not have.
    return {
        "relinkedPlaythroughCount": 0,
        "relinkedSessionCount": done.sessions,
        "relinkedTemplateCount": done.templates,
    }


def _order(services: HttpServices, call: Call) -> Answer:
    mode = SortMode(call.object["mode"])
    services.cast.arrange(mode, call.object.get("characterIds"))
    return ok(characters=_lines(services), sorting={"mode": str(mode)})


def _relink(services: HttpServices, call: Call) -> Answer:
    previous_id = call.object["previousCharacterId"]
    if not call.ignores_running:
        services.running.require_unused(Kind.CHARACTER, previous_id, CHARACTER.running[1])
    return ok(**_relinked(services.cast.relink(previous_id, call.object["characterId"])))


ROUTES = (
    Route(
        method="GET",
        path=CHARACTER.path,
        summary="List the characters in their order, and those that were deleted",
        family=CHARACTERS,
        handle=_list,
        success=Success(
            schema=success(
                characters=LINES,
                sorting=SORTING,
                missingCharacters=objects(id=TEXT, name=TEXT),
            )
        ),
    ),
    Route(
        method="POST",
        path=CHARACTER.path,
        summary="Make an empty character",
        family=CHARACTERS,
        handle=_create,
        success=CHARACTER.made(success(character=CHARACTER_LINE)),
        body=Body(limit_bytes=64 * KIB, schema=NAMED),
    ),
    Route(
        method="POST",
        path=f"{CHARACTER.path}/import",
        summary="Import a character from the bytes of its file: JSON, PNG, CHARX",
        family=CHARACTERS,
        handle=_import,
        success=CHARACTER.made(success(character=CHARACTER_LINE, compatibility=OPEN_OBJECT)),
        body=Body(limit_bytes=IMPORT_BYTES, media_types=IMPORT_TYPES),
        query=(FILE_NAME,),
        errors=((400, "WRONG_KIND"), (413, DOCUMENT_TOO_LARGE)),
    ),
    Route(
        method="PUT",
        path=f"{CHARACTER.path}/order",
        summary="Choose the order of the list, or arrange it anew",
        family=CHARACTERS,
        handle=_order,
        success=Success(schema=success(characters=LINES, sorting=SORTING)),
        body=Body(
            limit_bytes=512 * KIB,
            schema=closed(
                mode={"type": "string", "enum": [str(mode) for mode in SortMode]},
                optional={"characterIds": {**IDS, "maxItems": MAX_ORDERED_CHARACTERS}},
            ),
        ),
    ),
    Route(
        method="POST",
        path=f"{CHARACTER.path}/relink",
        summary="Give a character to everything that has bound one that is gone",
        family=CHARACTERS,
        handle=_relink,
        success=Success(schema=success(**RELINKED)),
        body=Body(
            limit_bytes=64 * KIB,
            schema=closed(previousCharacterId=RESOURCE_ID, characterId=RESOURCE_ID),
        ),
        query=(WHILE_RUNNING,),
        errors=(CHARACTER.not_found, CHARACTER.running),
        asks_host=True,
    ),
)
