"""Settings and the policy of RP mode over HTTP.

Source: the plugin contract, section F; `allowedTools` is an addition of ours.
"""

from collections.abc import Callable

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
VERSION: Schema = {"type": "integer"}
Handle = Callable[[HttpServices, Call], Answer]


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


def _rows(
    path: str, answer: Schema, body: Body, *rows: tuple[str, Handle, str]
) -> tuple[Route, ...]:
    """Make the rows of one setting: each a method, who serves it, and what it does."""
    return tuple(
        Route(
            method=method,
            path=path,
            summary=summary,
            family=SETTINGS,
            handle=handle,
            success=Success(schema=answer),
            body=body if method == "PUT" else None,
        )
        for method, handle, summary in rows
    )


ROUTES = (
    *_rows(
        "/v1/ui-settings",
        success(
            settings=needed(
                schemaVersion=VERSION, locale=LOCALE, scale=SCALE, rpFollowCharacter=BOOLEAN
            )
        ),
        Body(
            limit_bytes=KIB,
            schema=closed(locale=LOCALE, scale=SCALE, optional={"rpFollowCharacter": BOOLEAN}),
        ),
        ("GET", _get_ui, "Read language, scale, and whether RP mode follows characters"),
        ("PUT", _put_ui, "Replace the interface settings"),
        ("DELETE", _reset_ui, "Go back to the default interface settings"),
    ),
    *_rows(
        "/v1/conversation-settings",
        success(settings=needed(schemaVersion=VERSION, textScale=SCALE, actionScale=SCALE)),
        Body(
            limit_bytes=16 * KIB,
            schema=closed(
                textScale=SCALE,
                actionScale=SCALE,
                optional={"bubbleStyle": OPEN_OBJECT, "interactiveCards": BOOLEAN},
            ),
        ),
        ("GET", _get_conversation, "Read how conversations look"),
        ("PUT", _put_conversation, "Replace the conversation settings"),
        ("DELETE", _reset_conversation, "Go back to the default conversation settings"),
    ),
    *_rows(
        "/v1/rp-policy",
        success(section=TEXT, defaultSection=TEXT, custom=BOOLEAN, allowedTools=TOOLS),
        Body(
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
        ("GET", _get_policy, "Read the text of the policy section and the list of further tools"),
        (
            "PUT",
            _put_policy,
            "Replace the text, a blank one for no section; or the list of further tools",
        ),
        ("DELETE", _reset_policy, "Go back to the default text; the list of further tools stays"),
    ),
)
