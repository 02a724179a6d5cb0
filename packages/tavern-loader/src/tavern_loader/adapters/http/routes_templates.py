"""Session templates over HTTP.

Source: the plugin contract, section F.
"""

from tavern_loader.adapters.http.faults import TEMPLATES
from tavern_loader.adapters.http.route import KIB, Body, Route, Success
from tavern_loader.adapters.http.schema import (
    NOT_BLANK,
    OPEN_OBJECT,
    SESSION_ID,
    TEMPLATE_ID,
    TEXT,
    Schema,
    closed,
    needed,
    nullable,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.template_views import (
    LOOKED_AT,
    TEMPLATE,
    look,
    template_to_json,
)
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.selection import Selection
from tavern_loader.domain.session_selections import selection_from_json
from tavern_loader.domain.templates import MAX_NAME_CHARS, Template

BODY_BYTES = 64 * KIB
NOT_FOUND = (404, "SESSION_TEMPLATE_NOT_FOUND")
NAME: Schema = {"type": "string", "pattern": NOT_BLANK, "maxLength": MAX_NAME_CHARS}


def _list(services: HttpServices, _: Call) -> Answer:
    chosen = services.templates.selected()
    return ok(
        selectedId=None if chosen is None else chosen.id,
        templates=[
            {**template_to_json(one), **look(services, one.selection)}
            for one in services.templates.all()
        ],
    )


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
    return ok(template=template_to_json(template), **look(services, template.selection))


def _patch(services: HttpServices, call: Call) -> Answer:
    template_id = call.path["templateId"]
    changed = services.templates.change(
        template_id, name=call.object.get("name"), selection=_wanted(services, call, template_id)
    )
    return _answer(services, changed)


def _wanted(services: HttpServices, call: Call, template_id: str) -> Selection | None:
    if "sourceSessionId" in call.object:
        return services.library.selection(call.object["sourceSessionId"])
    if "selection" not in call.object:
        return None
    before = services.templates.get(template_id).selection
    return selection_from_json(call.object["selection"], before.lore_channel)


def _delete(services: HttpServices, call: Call) -> Answer:
    services.templates.delete(call.path["templateId"])
    return ok()


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
)
