"""Presets, and what is active, over HTTP.

Source: the plugin contract, section F.
"""

from tavern_compiler import call_config_json
from tavern_loader.adapters.http.choices import choice_errors, choose
from tavern_loader.adapters.http.faults import PRESETS
from tavern_loader.adapters.http.resources import NAMED, Resource, lines
from tavern_loader.adapters.http.route import KIB, MIB, Body, Parameter, Route, Success
from tavern_loader.adapters.http.schema import (
    OBJECTS,
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
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import id_of, text_of
from tavern_loader.service.audit import audit_of
from tavern_loader.service.binding import Wish
from tavern_loader.service.reading import SourceFile

BODY_BYTES = 2 * MIB
NOBODY = "preview"
"""Stands for the session where none is asked about."""
PRESET = Resource(
    kind=Kind.PRESET,
    family=PRESETS,
    path="/v1/presets",
    answer=success(preset=needed(id=TEXT, name=TEXT, prompts=OBJECTS)),
)
MAYBE_SESSION = Parameter(
    name="sessionId",
    schema={"type": "string", "pattern": f"^({SESSION_PATTERN[1:-1]})?$"},
    about="A session of the host; without one, what new sessions begin with.",
)
ACTIVE = success(
    selected=nullable(PRESET_LINE),
    selection=OPEN_OBJECT,
    sessionSelection=OPEN_OBJECT,
    worldBookSelection=OPEN_OBJECT,
    resources=OPEN_OBJECT,
    callConfig=OPEN_OBJECT,
    diagnostics=OBJECTS,
    audit=OPEN_OBJECT,
)


def _list(services: HttpServices, call: Call) -> Answer:
    session_id = call.query.get("sessionId")
    chosen = services.stores.preset_state.read().document.get("selectedId")
    return ok(
        presets=lines(services, Kind.PRESET, preset_line),
        selectedId=(
            services.library.selection(session_id).preset_id if session_id else id_of(chosen)
        ),
    )


def _create(services: HttpServices, call: Call) -> Answer:
    made = services.importing.new_preset(call.object.get("name") or "")
    stored = services.catalog.get(Kind.PRESET, made.id)
    return PRESET.document(stored, 201)


def _import(services: HttpServices, call: Call) -> Answer:
    content: str = call.object["content"]
    file = SourceFile(name="preset.json", data=content.encode("utf-8", "surrogatepass"))
    name = call.object.get("name") or ""
    stored = services.changing.take(Kind.PRESET, file, name=name)
    return PRESET.document(stored, 201)


def _select(services: HttpServices, call: Call) -> Answer:
    preset_id, session_id = call.object["id"], call.object.get("sessionId")
    if session_id:
        choose(services, session_id, Wish(preset_id=preset_id or ""), PRESET)
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
        path=PRESET.path,
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
        path=PRESET.path,
        summary="Make a preset with one empty prompt",
        family=PRESETS,
        handle=_create,
        success=PRESET.made(),
        body=Body(limit_bytes=BODY_BYTES, schema=NAMED),
    ),
    Route(
        method="POST",
        path="/v1/import",
        summary="Import a SillyTavern preset from its JSON text",
        family=PRESETS,
        handle=_import,
        success=PRESET.made(),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema={
                "type": "object",
                "properties": {"content": TEXT, "name": nullable(TEXT)},
                "required": ["content"],
            },
        ),
        errors=((400, "WRONG_KIND"),),
    ),
    *PRESET.document_routes(
        "PUT",
        "Change name, mode, sampling and prompts; what is left out stays",
        Body(
            limit_bytes=BODY_BYTES,
            schema={
                "type": "object",
                "properties": {
                    "systemPromptMode": {"type": "string", "enum": ["append", "replace"]},
                    "sampling": OPEN_OBJECT,
                    "prompts": OBJECTS,
                },
            },
        ),
    ),
    PRESET.export_route("export", "Save a preset as SillyTavern reads it"),
    *PRESET.script_routes(BODY_BYTES),
    *PRESET.book_routes(),
    Route(
        method="POST",
        path="/v1/select",
        summary="Select a preset for a session, or for new sessions",
        family=PRESETS,
        handle=_select,
        success=Success(schema=success(selected=nullable(needed(id=TEXT, name=TEXT)))),
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
        errors=choice_errors(PRESET),
        asks_host=True,
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
