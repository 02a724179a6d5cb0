"""Presets, and what is active, over HTTP.

Source: the plugin contract, section F.
"""

from tavern_compiler import call_config_json
from tavern_loader.adapters.http import resources
from tavern_loader.adapters.http.faults import PRESETS
from tavern_loader.adapters.http.route import (
    KIB,
    MIB,
    WHILE_RUNNING,
    Body,
    Parameter,
    Route,
    Success,
)
from tavern_loader.adapters.http.schema import (
    OPEN_OBJECT,
    RESOURCE_ID,
    SESSION_ID,
    SESSION_PATTERN,
    TEXT,
    needed,
    nullable,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.summaries import PRESET_LINE, preset_line
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import id_of, text_of
from tavern_loader.service.audit import audit_of
from tavern_loader.service.binding import Wish
from tavern_loader.service.catalog import Form
from tavern_loader.service.reading import SourceFile

BODY_BYTES = 2 * MIB
NOBODY = "preview"
"""Stands for the session where none is asked about."""
DOCUMENT = needed(id=TEXT, name=TEXT, prompts={"type": "array", "items": OPEN_OBJECT})
PRESET = success(preset=DOCUMENT)
MAYBE_SESSION = Parameter(
    name="sessionId",
    schema={"type": "string", "pattern": f"^({SESSION_PATTERN[1:-1]})?$"},
    about="A session of the host; without one, what new sessions begin with.",
)
NAMED = needed(id=TEXT, name=TEXT)
NOT_FOUND = (404, "PRESET_NOT_FOUND")
RUNNING = (409, "PRESET_AGENT_RUNNING")
ACTIVE = success(
    selected=nullable(PRESET_LINE),
    selection=OPEN_OBJECT,
    sessionSelection=OPEN_OBJECT,
    worldBookSelection=OPEN_OBJECT,
    resources=OPEN_OBJECT,
    callConfig=OPEN_OBJECT,
    diagnostics={"type": "array", "items": OPEN_OBJECT},
    audit=OPEN_OBJECT,
)


def _list(services: HttpServices, call: Call) -> Answer:
    session_id = call.query.get("sessionId")
    chosen = services.stores.preset_state.read().document.get("selectedId")
    return ok(
        presets=resources.lines(services, Kind.PRESET, preset_line),
        selectedId=(
            services.library.selection(session_id).preset_id if session_id else id_of(chosen)
        ),
    )


def _create(services: HttpServices, call: Call) -> Answer:
    made = services.importing.new_preset(call.object.get("name") or "")
    stored = services.catalog.get(Kind.PRESET, made.id)
    return resources.document_answer("preset", stored, 201)


def _import(services: HttpServices, call: Call) -> Answer:
    content: str = call.object["content"]
    file = SourceFile(name="preset.json", data=content.encode("utf-8", "surrogatepass"))
    name = call.object.get("name") or ""
    stored = services.changing.take(Kind.PRESET, file, name=name)
    return resources.document_answer("preset", stored, 201)


def _get(services: HttpServices, call: Call) -> Answer:
    stored = services.catalog.get(Kind.PRESET, call.path["presetId"])
    return resources.document_answer("preset", stored)


def _put(services: HttpServices, call: Call) -> Answer:
    stored = services.catalog.edit(
        Kind.PRESET, call.path["presetId"], call.object, expected=call.revision
    )
    return resources.document_answer("preset", stored)


def _delete(services: HttpServices, call: Call) -> Answer:
    return resources.delete(services, Kind.PRESET, call.path["presetId"], call)


def _export(services: HttpServices, call: Call) -> Answer:
    return resources.export_answer(services, Kind.PRESET, call.path["presetId"], Form.JSON)


def _scripts(services: HttpServices, call: Call) -> Answer:
    return resources.scripts_answer(services.catalog.get(Kind.PRESET, call.path["presetId"]))


def _put_scripts(services: HttpServices, call: Call) -> Answer:
    return resources.replace_scripts(services, Kind.PRESET, call.path["presetId"], call)


def _books(services: HttpServices, call: Call) -> Answer:
    return resources.books_answer(services, Owner.PRESET, call.path["presetId"])


def _put_books(services: HttpServices, call: Call) -> Answer:
    return resources.bind_books(services, Owner.PRESET, call.path["presetId"], call)


def _select(services: HttpServices, call: Call) -> Answer:
    preset_id, session_id = call.object["id"], call.object.get("sessionId")
    if session_id:
        wish = Wish(preset_id=preset_id or "")
        resources.bind_session(services, session_id, wish, "PRESET_AGENT_RUNNING")
    else:
        services.catalog.select_preset(preset_id)
    if preset_id is None:
        return ok(selected=None)
    document = services.catalog.get(Kind.PRESET, preset_id).document
    return ok(selected={"id": preset_id, "name": text_of(document.get("name"))})


def _active(services: HttpServices, call: Call) -> Answer:
    session_id = call.query.get("sessionId")
    library = services.library
    selection = library.selection(session_id) if session_id else library.defaults()
    done = services.preview(session_id or NOBODY, selection)
    audit = audit_of(done)
    preset = done.given.resolved.documents.get("preset")
    return ok(
        selected=None if preset is None else _line_of(services, selection.preset_id),
        selection=audit["selection"],
        sessionSelection=audit["sessionSelection"],
        worldBookSelection=audit["worldBookSelection"],
        resources=audit["resources"],
        callConfig=call_config_json(done.profile.call_config),
        diagnostics=audit["diagnostics"],
        audit=audit,
    )


def _line_of(services: HttpServices, preset_id: str | None) -> dict[str, object] | None:
    if preset_id is None:
        return None
    return preset_line(preset_id, services.catalog.get(Kind.PRESET, preset_id).document)


ROUTES = (
    Route(
        method="GET",
        path="/v1/presets",
        summary="List the presets, the latest change first, and which is selected",
        family=PRESETS,
        handle=_list,
        success=Success(
            schema=success(
                presets={"type": "array", "items": PRESET_LINE}, selectedId=nullable(TEXT)
            )
        ),
        query=(MAYBE_SESSION,),
    ),
    Route(
        method="POST",
        path="/v1/presets",
        summary="Make a preset with one empty prompt",
        family=PRESETS,
        handle=_create,
        success=Success(schema=PRESET, status=201, has_etag=True, gives=("presetId", "/preset/id")),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema={"type": "object", "properties": {"name": nullable(TEXT)}},
        ),
    ),
    Route(
        method="POST",
        path="/v1/import",
        summary="Import a SillyTavern preset from its JSON text",
        family=PRESETS,
        handle=_import,
        success=Success(schema=PRESET, status=201, has_etag=True, gives=("presetId", "/preset/id")),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema={
                "type": "object",
                "properties": {"content": TEXT, "name": nullable(TEXT)},
                "required": ["content"],
            },
        ),
    ),
    Route(
        method="GET",
        path="/v1/presets/{presetId}",
        summary="Read a preset",
        family=PRESETS,
        handle=_get,
        success=Success(schema=PRESET, has_etag=True),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PUT",
        path="/v1/presets/{presetId}",
        summary="Change name, mode, sampling and prompts; what is left out stays",
        family=PRESETS,
        handle=_put,
        success=Success(schema=PRESET, has_etag=True),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema={
                "type": "object",
                "properties": {
                    "systemPromptMode": {"type": "string", "enum": ["append", "replace"]},
                    "sampling": OPEN_OBJECT,
                    "prompts": {"type": "array", "items": OPEN_OBJECT},
                },
            },
        ),
        errors=(NOT_FOUND,),
        takes_revision=True,
    ),
    Route(
        method="DELETE",
        path="/v1/presets/{presetId}",
        summary="Delete a preset and unbind it everywhere",
        family=PRESETS,
        handle=_delete,
        success=Success(schema=success()),
        query=(WHILE_RUNNING,),
        errors=(NOT_FOUND, RUNNING),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/presets/{presetId}/export",
        summary="Save a preset as SillyTavern reads it",
        family=PRESETS,
        handle=_export,
        success=Success(schema=OPEN_OBJECT),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="GET",
        path="/v1/presets/{presetId}/regex-scripts",
        summary="Read the regular expression scripts of a preset",
        family=PRESETS,
        handle=_scripts,
        success=resources.SCRIPTS_ANSWER,
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PUT",
        path="/v1/presets/{presetId}/regex-scripts",
        summary="Replace the regular expression scripts of a preset",
        family=PRESETS,
        handle=_put_scripts,
        success=resources.SCRIPTS_ANSWER,
        body=Body(limit_bytes=BODY_BYTES, schema=resources.SCRIPTS_BODY),
        errors=(NOT_FOUND,),
        takes_revision=True,
    ),
    Route(
        method="GET",
        path="/v1/presets/{presetId}/world-books",
        summary="Read which world books a preset brings",
        family=PRESETS,
        handle=_books,
        success=Success(schema=resources.books_schema(Owner.PRESET)),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PUT",
        path="/v1/presets/{presetId}/world-books",
        summary="Replace the world books a preset brings",
        family=PRESETS,
        handle=_put_books,
        success=Success(schema=resources.books_schema(Owner.PRESET)),
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
        method="POST",
        path="/v1/select",
        summary="Select a preset for a session, or for new sessions",
        family=PRESETS,
        handle=_select,
        success=Success(schema=success(selected=nullable(NAMED))),
        body=Body(
            limit_bytes=64 * KIB,
            schema={
                "type": "object",
                "properties": {
                    "id": nullable(RESOURCE_ID),
                    "sessionId": nullable(SESSION_ID),
                },
                "required": ["id"],
            },
        ),
        errors=(NOT_FOUND, RUNNING, *resources.SELECTION_LIMITS),
    ),
    Route(
        method="GET",
        path="/v1/active",
        summary="Say what would be sent now and why, without any text of a prompt",
        family=PRESETS,
        handle=_active,
        success=Success(schema=ACTIVE),
        query=(MAYBE_SESSION,),
        errors=((413, "TAVERN_PROFILE_TOO_LARGE"),),
    ),
)
