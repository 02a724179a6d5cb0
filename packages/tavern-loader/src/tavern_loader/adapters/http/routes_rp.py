"""RP mode of a session over HTTP.

Source: the plugin contract, section F.
"""

import attrs

from tavern_loader.adapters.http.faults import SETTINGS
from tavern_loader.adapters.http.route import KIB, SESSION, Body, Parameter, Route, Success
from tavern_loader.adapters.http.schema import (
    BOOLEAN,
    SESSION_ID,
    TEXT,
    Schema,
    needed,
    nullable,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.rp_mode import RpOutcome, rp_to_json
from tavern_loader.service.rp_alerts import RpAlert

RP_STATE = needed(
    active=BOOLEAN,
    source=nullable(TEXT),
    followSuppressed=BOOLEAN,
    sandboxBefore=nullable(TEXT),
)
VIEW: dict[str, Schema] = {
    "rp": RP_STATE,
    "pending": nullable(RP_STATE),
    "followCharacter": BOOLEAN,
}
ALERT = nullable(
    needed(id={"type": "integer"}, sessionId=SESSION_ID, toolName=TEXT, at={"type": "integer"})
)
OUTCOME: Schema = {"type": "string", "enum": [str(outcome) for outcome in RpOutcome]}
ALERT_ID = Parameter(
    name="id",
    schema={"type": "string", "pattern": r"^[0-9]{1,15}$"},
    about="Take the alert only if it is this one.",
)


def _get_mode(services: HttpServices, call: Call) -> Answer:
    view = services.roleplay.view(call.query["sessionId"])
    return ok(
        rp=rp_to_json(view.rp),
        pending=None if view.pending is None else rp_to_json(view.pending),
        followCharacter=view.follow_character,
    )


def _put_mode(services: HttpServices, call: Call) -> Answer:
    session_id = call.object["sessionId"]
    outcome = services.roleplay.set_active(session_id, active=call.object["active"])
    view = services.roleplay.view(session_id)
    return ok(
        outcome=str(outcome),
        rp=rp_to_json(view.pending or view.rp),
        pending=None if view.pending is None else rp_to_json(view.pending),
        followCharacter=view.follow_character,
    )


def _get_alert(services: HttpServices, call: Call) -> Answer:
    return ok(alert=_alert(services.roleplay.alerts.get(call.query["sessionId"])))


def _take_alert(services: HttpServices, call: Call) -> Answer:
    wanted = call.query.get("id")
    alert = services.roleplay.alerts.take(
        call.query["sessionId"], None if wanted is None else int(wanted)
    )
    return ok(alert=_alert(alert))


def _alert(alert: RpAlert | None) -> dict[str, object] | None:
    if alert is None:
        return None
    names = {"id": "id", "session_id": "sessionId", "tool": "toolName", "at_ms": "at"}
    return {names[key]: value for key, value in attrs.asdict(alert).items()}


ROUTES = (
    Route(
        method="GET",
        path="/v1/rp-mode",
        summary="Read RP mode of a session, and what waits for its next step",
        family=SETTINGS,
        handle=_get_mode,
        success=Success(schema=success(**VIEW)),
        query=(SESSION,),
    ),
    Route(
        method="PUT",
        path="/v1/rp-mode",
        summary="Switch RP mode of a session",
        family=SETTINGS,
        handle=_put_mode,
        success=Success(schema=success(outcome=OUTCOME, **VIEW)),
        body=Body(limit_bytes=KIB, schema=needed(sessionId=SESSION_ID, active=BOOLEAN)),
        asks_host=True,
    ),
    Route(
        method="GET",
        path="/v1/rp-alert",
        summary="Read the alert about a refused call that the user has not seen yet",
        family=SETTINGS,
        handle=_get_alert,
        success=Success(schema=success(alert=ALERT)),
        query=(SESSION,),
    ),
    Route(
        method="DELETE",
        path="/v1/rp-alert",
        summary="Take the alert away",
        family=SETTINGS,
        handle=_take_alert,
        success=Success(schema=success(alert=ALERT)),
        query=(SESSION, ALERT_ID),
        keeps_nothing=True,
    ),
)
