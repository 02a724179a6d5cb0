"""Taking over a whole configuration, of another session or a template, over HTTP.

Source: the plugin contract, section F.
"""

from collections.abc import Mapping
from typing import Any

from tavern_loader.adapters.http.choices import SELECTION_LIMITS
from tavern_loader.adapters.http.faults import TEMPLATES, ApiError
from tavern_loader.adapters.http.route import WHILE_RUNNING, Body, Route, Success
from tavern_loader.adapters.http.routes_templates import BODY_BYTES, NOT_FOUND
from tavern_loader.adapters.http.schema import (
    BOOLEAN,
    OPEN_OBJECT,
    SESSION_ID,
    TEMPLATE_ID,
    Schema,
    needed,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.template_views import DIAGNOSTICS, LOOKED_AT, diagnostics, look
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.selection import Selection
from tavern_loader.domain.session_selections import selection_to_json
from tavern_loader.service.templates import ConfigurationError

RUNNING = (409, "SESSION_CONFIGURATION_AGENT_RUNNING")
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


def _source(services: HttpServices, source: Mapping[str, Any]) -> Selection:
    if source["mode"] == "current":
        return services.library.selection(source["sessionId"])
    return services.templates.get(source["templateId"]).selection


def _preview(services: HttpServices, call: Call) -> Answer:
    selection = _source(services, call.object["source"])
    looked_at = look(services, selection)
    return ok(
        selection=selection_to_json(selection),
        **looked_at,
        available=not looked_at["diagnostics"],
    )


def _apply(services: HttpServices, call: Call) -> Answer:
    session_id = call.object["targetSessionId"]
    if not call.ignores_running:
        services.running.require_idle(session_id, RUNNING[1])
    wanted = _source(services, call.object["source"])
    before = services.library.selection(session_id)
    try:
        after = services.templates.apply(session_id, wanted)
    except ConfigurationError as error:
        details = {"diagnostics": diagnostics(error.faults)}
        raise ApiError(409, error.code, error.message, details=details) from error
    services.roleplay.on_selection_change(session_id, before, after)
    applied = services.library.selection(session_id)
    return ok(selection=selection_to_json(applied), diagnostics=[])


ROUTES = (
    Route(
        method="POST",
        path="/v1/session-configurations/preview",
        summary="Say what a configuration would bind, and what of it is missing",
        family=TEMPLATES,
        handle=_preview,
        success=Success(schema=success(selection=OPEN_OBJECT, available=BOOLEAN, **LOOKED_AT)),
        body=Body(limit_bytes=BODY_BYTES, schema=needed(source=SOURCE)),
        errors=(NOT_FOUND,),
        keeps_nothing=True,
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
            RUNNING,
            *SELECTION_LIMITS,
        ),
        asks_host=True,
    ),
)
