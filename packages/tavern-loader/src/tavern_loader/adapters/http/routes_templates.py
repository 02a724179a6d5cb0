"""Session templates, and taking over a whole configuration, over HTTP.

Source: the plugin contract, section F.
"""

from collections.abc import Mapping
from typing import Any

from tavern_loader.adapters.http.faults import TEMPLATES, ApiError
from tavern_loader.adapters.http.resources import SELECTION_LIMITS
from tavern_loader.adapters.http.route import KIB, WHILE_RUNNING, Body, Route, Success
from tavern_loader.adapters.http.schema import (
    BOOLEAN,
    ID_PATTERN,
    NOT_BLANK,
    OPEN_OBJECT,
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
from tavern_loader.domain.selection import Selection
from tavern_loader.domain.session_selections import selection_from_json, selection_to_json
from tavern_loader.domain.templates import MAX_NAME_CHARS, Template
from tavern_loader.service.templates import ConfigurationError, Content, Fault

BODY_BYTES = 64 * KIB
RUNNING_CODE = "SESSION_CONFIGURATION_AGENT_RUNNING"
NOT_FOUND = (404, "SESSION_TEMPLATE_NOT_FOUND")
TEMPLATE_ID: Schema = {"type": "string", "pattern": ID_PATTERN}
NAME: Schema = {"type": "string", "pattern": NOT_BLANK, "maxLength": MAX_NAME_CHARS}
TEMPLATE = needed(id=TEXT, name=TEXT, selection=OPEN_OBJECT, createdAt=TEXT, updatedAt=TEXT)
DIAGNOSTICS = objects(code=TEXT, field=TEXT, resourceId=TEXT, message=TEXT)
LOOKED_AT: dict[str, Schema] = {"contents": OPEN_OBJECT, "diagnostics": DIAGNOSTICS}
SOURCE: Schema = {
    "type": "object",
    "properties": {"mode": {"type": "string", "enum": ["current", "template"]}},
    "required": ["mode"],
    "anyOf": [
        {
            "properties": {
                "mode": {"type": "string", "enum": ["current"]},
                "sessionId": SESSION_ID,
            },
            "required": ["sessionId"],
        },
        {
            "properties": {
                "mode": {"type": "string", "enum": ["template"]},
                "templateId": TEMPLATE_ID,
            },
            "required": ["templateId"],
        },
    ],
}


def template_to_json(template: Template) -> dict[str, Any]:
    """Write a template."""
    return {
        "id": template.id,
        "name": template.name,
        "selection": selection_to_json(template.selection),
        "createdAt": template.created_at,
        "updatedAt": template.updated_at,
    }


def _list(services: HttpServices, _: Call) -> Answer:
    chosen = services.templates.selected()
    return ok(
        selectedId=None if chosen is None else chosen.id,
        templates=[
            {**template_to_json(one), **_look(services, one.selection)}
            for one in services.templates.all()
        ],
    )


def _look(services: HttpServices, selection: Selection) -> dict[str, Any]:
    preview = services.templates.preview(selection)
    return {
        "contents": _contents(selection, preview.contents),
        "diagnostics": _diagnostics(preview.faults),
    }


def _contents(selection: Selection, contents: tuple[Content, ...]) -> dict[str, Any]:
    found: Mapping[Kind, list[dict[str, Any]]] = {kind: [] for kind in Kind}
    for one in contents:
        found[one.kind].append({"id": one.id, "name": one.name, "missing": one.missing})
    return {
        "preset": next(iter(found[Kind.PRESET]), None),
        "characterCard": next(iter(found[Kind.CHARACTER]), None),
        "user": next(iter(found[Kind.USER]), None),
        "worldBooks": found[Kind.WORLD_BOOK],
        "character": selection_to_json(selection)["character"],
    }


def _diagnostics(faults: tuple[Fault, ...]) -> list[dict[str, str]]:
    return [
        {
            "code": one.code,
            "field": one.field,
            "resourceId": one.resource_id,
            "message": one.message,
        }
        for one in faults
    ]


def _create(services: HttpServices, call: Call) -> Answer:
    selection = services.library.selection(call.object["sourceSessionId"])
    template = services.templates.save(call.object["name"], selection, choose=False)
    return ok(201, template=template_to_json(template))


def _select(services: HttpServices, call: Call) -> Answer:
    template_id = call.object["id"]
    services.templates.choose(template_id)
    template = None if template_id is None else services.templates.get(template_id)
    return ok(
        selectedId=template_id,
        template=None if template is None else template_to_json(template),
    )


def _get(services: HttpServices, call: Call) -> Answer:
    return _answer(services, services.templates.get(call.path["templateId"]))


def _answer(services: HttpServices, template: Template) -> Answer:
    return ok(template=template_to_json(template), **_look(services, template.selection))


def _patch(services: HttpServices, call: Call) -> Answer:
    template_id = call.path["templateId"]
    selection: Selection | None = None
    if "sourceSessionId" in call.object:
        selection = services.library.selection(call.object["sourceSessionId"])
    elif "selection" in call.object:
        before = services.templates.get(template_id).selection
        selection = selection_from_json(call.object["selection"], before.lore_channel)
    changed = services.templates.change(
        template_id, name=call.object.get("name"), selection=selection
    )
    return _answer(services, changed)


def _delete(services: HttpServices, call: Call) -> Answer:
    services.templates.delete(call.path["templateId"])
    return ok()


def _source(services: HttpServices, source: Mapping[str, Any]) -> Selection:
    if source["mode"] == "current":
        return services.library.selection(source["sessionId"])
    return services.templates.get(source["templateId"]).selection


def _preview(services: HttpServices, call: Call) -> Answer:
    selection = _source(services, call.object["source"])
    looked_at = _look(services, selection)
    return ok(
        selection=selection_to_json(selection),
        **looked_at,
        available=not looked_at["diagnostics"],
    )


def _apply(services: HttpServices, call: Call) -> Answer:
    session_id = call.object["targetSessionId"]
    if not call.ignores_running:
        services.running.require_idle(session_id, RUNNING_CODE)
    wanted = _source(services, call.object["source"])
    before = services.library.selection(session_id)
    try:
        after = services.templates.apply(session_id, wanted)
    except ConfigurationError as error:
        details = {"diagnostics": _diagnostics(error.faults)}
        raise ApiError(409, error.code, error.message, details=details) from error
    services.roleplay.on_selection_change(session_id, before, after)
    applied = services.library.selection(session_id)
    return ok(selection=selection_to_json(applied), diagnostics=[])


ROUTES = (
    Route(
        method="GET",
        path="/v1/session-templates",
        summary="List the session templates, and which new sessions begin with",
        family=TEMPLATES,
        handle=_list,
        success=Success(
            schema=success(
                selectedId=nullable(TEXT), templates={"type": "array", "items": TEMPLATE}
            )
        ),
    ),
    Route(
        method="POST",
        path="/v1/session-templates",
        summary="Keep what a session has bound as a template",
        family=TEMPLATES,
        handle=_create,
        success=Success(
            schema=success(template=TEMPLATE), status=201, gives=("templateId", "/template/id")
        ),
        body=Body(limit_bytes=BODY_BYTES, schema=needed(name=NAME, sourceSessionId=SESSION_ID)),
        errors=(
            (409, "SESSION_TEMPLATE_LIMIT_REACHED"),
            (413, "SESSION_TEMPLATE_STORAGE_LIMIT_REACHED"),
        ),
    ),
    Route(
        method="POST",
        path="/v1/session-templates/select",
        summary="Choose the template that new sessions begin with, or none",
        family=TEMPLATES,
        handle=_select,
        success=Success(schema=success(selectedId=nullable(TEXT), template=nullable(TEMPLATE))),
        body=Body(limit_bytes=BODY_BYTES, schema=needed(id=nullable(TEMPLATE_ID))),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="GET",
        path="/v1/session-templates/{templateId}",
        summary="Read a template, what it binds, and what of it is missing",
        family=TEMPLATES,
        handle=_get,
        success=Success(schema=success(template=TEMPLATE, **LOOKED_AT)),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="PATCH",
        path="/v1/session-templates/{templateId}",
        summary="Rename a template, or give it another selection",
        family=TEMPLATES,
        handle=_patch,
        success=Success(schema=success(template=TEMPLATE, **LOOKED_AT)),
        body=Body(
            limit_bytes=BODY_BYTES,
            schema={
                **closed(
                    optional={
                        "name": NAME,
                        "selection": OPEN_OBJECT,
                        "sourceSessionId": SESSION_ID,
                    }
                ),
                "not": {"required": ["selection", "sourceSessionId"]},
            },
        ),
        errors=(NOT_FOUND, (413, "SESSION_TEMPLATE_STORAGE_LIMIT_REACHED")),
    ),
    Route(
        method="DELETE",
        path="/v1/session-templates/{templateId}",
        summary="Delete a template",
        family=TEMPLATES,
        handle=_delete,
        success=Success(schema=success()),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="POST",
        path="/v1/session-configurations/preview",
        summary="Say what a configuration would bind, and what of it is missing",
        family=TEMPLATES,
        handle=_preview,
        success=Success(schema=success(selection=OPEN_OBJECT, available=BOOLEAN, **LOOKED_AT)),
        body=Body(limit_bytes=BODY_BYTES, schema=needed(source=SOURCE)),
        errors=(NOT_FOUND,),
    ),
    Route(
        method="POST",
        path="/v1/session-configurations/apply",
        summary="Give a session a whole configuration, all of it or nothing",
        family=TEMPLATES,
        handle=_apply,
        success=Success(schema=success(selection=OPEN_OBJECT, diagnostics=DIAGNOSTICS)),
        body=Body(limit_bytes=BODY_BYTES, schema=needed(targetSessionId=SESSION_ID, source=SOURCE)),
        query=(WHILE_RUNNING,),
        errors=(
            NOT_FOUND,
            (409, "SESSION_CONFIGURATION_UNAVAILABLE"),
            (409, RUNNING_CODE),
            *SELECTION_LIMITS,
        ),
    ),
)
