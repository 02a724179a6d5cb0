"""Settings and the policy of RP mode over HTTP.

Source: the plugin contract, section F; `allowedTools` is an addition of ours.
"""

from tavern_loader.adapters.http.faults import SETTINGS
from tavern_loader.adapters.http.route import KIB, Body, Route, Success
from tavern_loader.adapters.http.schema import (
    BOOLEAN,
    OPEN_OBJECT,
    TEXT,
    Schema,
    closed,
    needed,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call, ok
from tavern_loader.domain.rp_guard import REFUSAL
from tavern_loader.domain.settings import (
    LOCALES,
    MAX_ALLOWED_TOOLS,
    MAX_POLICY_BYTES,
    SCALE_FROM,
    SCALE_STEPS,
    SCALE_TO,
    TOOL_PATTERN,
    conversation_to_json,
    ui_to_json,
)

SCALE: Schema = {
    "type": "number",
    "enum": [
        step / SCALE_STEPS
        for step in range(round(SCALE_FROM * SCALE_STEPS), round(SCALE_TO * SCALE_STEPS) + 1)
    ],
}
LOCALE: Schema = {"type": "string", "enum": list(LOCALES)}
TOOLS: Schema = {
    "type": "array",
    "items": {"type": "string", "pattern": TOOL_PATTERN},
    "maxItems": MAX_ALLOWED_TOOLS,
}
UI_ANSWER = success(
    settings=needed(
        schemaVersion={"type": "integer"}, locale=LOCALE, scale=SCALE, rpFollowCharacter=BOOLEAN
    )
)
CONVERSATION_ANSWER = success(
    settings=needed(schemaVersion={"type": "integer"}, textScale=SCALE, actionScale=SCALE)
)
POLICY_ANSWER = success(section=TEXT, defaultSection=TEXT, custom=BOOLEAN, allowedTools=TOOLS)


def _get_ui(services: HttpServices, _: Call) -> Answer:
    return ok(settings=ui_to_json(services.settings.ui()))


def _put_ui(services: HttpServices, call: Call) -> Answer:
    return ok(settings=ui_to_json(services.settings.set_ui(call.object)))


def _reset_ui(services: HttpServices, _: Call) -> Answer:
    return ok(settings=ui_to_json(services.settings.reset_ui()))


def _get_conversation(services: HttpServices, _: Call) -> Answer:
    return ok(settings=conversation_to_json(services.settings.conversation()))


def _put_conversation(services: HttpServices, call: Call) -> Answer:
    return ok(settings=conversation_to_json(services.settings.set_conversation(call.object)))


def _reset_conversation(services: HttpServices, _: Call) -> Answer:
    return ok(settings=conversation_to_json(services.settings.reset_conversation()))


def _get_policy(services: HttpServices, _: Call) -> Answer:
    policy = services.settings.policy()
    return ok(
        section=policy.section,
        defaultSection=REFUSAL,
        custom=policy.is_custom,
        allowedTools=list(policy.allowed_tools),
    )


def _put_policy(services: HttpServices, call: Call) -> Answer:
    if "section" in call.object:
        services.settings.set_section(call.object["section"])
    if "allowedTools" in call.object:
        services.settings.set_allowed_tools(call.object["allowedTools"])
    return _get_policy(services, call)


def _reset_policy(services: HttpServices, call: Call) -> Answer:
    services.settings.reset_section()
    return _get_policy(services, call)


ROUTES = (
    Route(
        method="GET",
        path="/v1/ui-settings",
        summary="Read language, scale, and whether RP mode follows characters",
        family=SETTINGS,
        handle=_get_ui,
        success=Success(schema=UI_ANSWER),
    ),
    Route(
        method="PUT",
        path="/v1/ui-settings",
        summary="Replace the interface settings",
        family=SETTINGS,
        handle=_put_ui,
        success=Success(schema=UI_ANSWER),
        body=Body(
            limit_bytes=KIB,
            schema=closed(locale=LOCALE, scale=SCALE, optional={"rpFollowCharacter": BOOLEAN}),
        ),
    ),
    Route(
        method="DELETE",
        path="/v1/ui-settings",
        summary="Go back to the default interface settings",
        family=SETTINGS,
        handle=_reset_ui,
        success=Success(schema=UI_ANSWER),
    ),
    Route(
        method="GET",
        path="/v1/conversation-settings",
        summary="Read how conversations look",
        family=SETTINGS,
        handle=_get_conversation,
        success=Success(schema=CONVERSATION_ANSWER),
    ),
    Route(
        method="PUT",
        path="/v1/conversation-settings",
        summary="Replace the conversation settings",
        family=SETTINGS,
        handle=_put_conversation,
        success=Success(schema=CONVERSATION_ANSWER),
        body=Body(
            limit_bytes=16 * KIB,
            schema=closed(
                textScale=SCALE,
                actionScale=SCALE,
                optional={"bubbleStyle": OPEN_OBJECT, "interactiveCards": BOOLEAN},
            ),
        ),
    ),
    Route(
        method="DELETE",
        path="/v1/conversation-settings",
        summary="Go back to the default conversation settings",
        family=SETTINGS,
        handle=_reset_conversation,
        success=Success(schema=CONVERSATION_ANSWER),
    ),
    Route(
        method="GET",
        path="/v1/rp-policy",
        summary="Read the text of the policy section and the list of further tools",
        family=SETTINGS,
        handle=_get_policy,
        success=Success(schema=POLICY_ANSWER),
    ),
    Route(
        method="PUT",
        path="/v1/rp-policy",
        summary="Replace the text, a blank one for no section; or the list of further tools",
        family=SETTINGS,
        handle=_put_policy,
        success=Success(schema=POLICY_ANSWER),
        body=Body(
            limit_bytes=4 * MAX_POLICY_BYTES,
            schema={
                "type": "object",
                "properties": {
                    "section": {"type": "string", "maxLength": MAX_POLICY_BYTES},
                    "allowedTools": TOOLS,
                },
                "anyOf": [{"required": ["section"]}, {"required": ["allowedTools"]}],
            },
        ),
    ),
    Route(
        method="DELETE",
        path="/v1/rp-policy",
        summary="Go back to the default text; the list of further tools stays",
        family=SETTINGS,
        handle=_reset_policy,
        success=Success(schema=POLICY_ANSWER),
    ),
)
