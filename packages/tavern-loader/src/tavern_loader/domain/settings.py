"""The small settings of one installation: interface, conversation, policy of RP mode.

Owns their shapes, defaults and limits. Must not know where they are kept.

Source: the plugin contract, sections E2 and F; `bubbleStyle` and `interactiveCards` as of 2.5.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

LOCALES = ("zh-CN", "en")
SCALE_STEPS = 20
"""Steps of a scale in 1: a step is 0.05."""
SCALE_FROM, SCALE_TO = 0.75, 1.5
MAX_POLICY_BYTES = 16 * 1024
MAX_ALLOWED_TOOLS = 200
TOOL_PATTERN = r"^[A-Za-z0-9_.:-]{1,64}\*?$"
"""A tool's name; with a star at its end, all names that begin so."""


class SettingsError(ValueError):
    """A value that is not allowed; the message says which and why."""


@frozen(kw_only=True)
class UiSettings:
    """How the pages look, and whether RP mode follows characters."""

    locale: str = LOCALES[0]
    scale: float = 1
    follows_characters: bool = True


@frozen(kw_only=True)
class ConversationSettings:
    """How conversations look."""

    text_scale: float = 1
    action_scale: float = 1
    extra: Mapping[str, Any] = field(factory=dict)
    """`bubbleStyle` and `interactiveCards`, if set: kept for the pages that use them."""


def ui_from_json(value: object) -> UiSettings:
    """Read what a page sent. Raises SettingsError for every key or value that is not known."""
    given = _known(value, ("locale", "scale", "rpFollowCharacter"))
    if given.get("locale") not in LOCALES:
        raise SettingsError(f"locale must be one of {', '.join(LOCALES)}")
    follows = given.get("rpFollowCharacter", True)
    if not isinstance(follows, bool):
        raise SettingsError("rpFollowCharacter must be true or false")
    return UiSettings(
        locale=given["locale"], scale=_scale(given, "scale"), follows_characters=follows
    )


def ui_to_json(settings: UiSettings) -> dict[str, Any]:
    """Write the settings as they are kept and sent."""
    return {
        "schemaVersion": 1,
        "locale": settings.locale,
        "scale": settings.scale,
        "rpFollowCharacter": settings.follows_characters,
    }


def conversation_from_json(value: object) -> ConversationSettings:
    """Read what a page sent. Raises SettingsError for every key or value that is not known."""
    given = _known(value, ("textScale", "actionScale", "bubbleStyle", "interactiveCards"))
    if not isinstance(given.get("interactiveCards", True), bool):
        raise SettingsError("interactiveCards must be true or false")
    if not isinstance(given.get("bubbleStyle", {}), Mapping):
        raise SettingsError("bubbleStyle must be an object")
    return ConversationSettings(
        text_scale=_scale(given, "textScale"),
        action_scale=_scale(given, "actionScale"),
        extra={key: given[key] for key in ("bubbleStyle", "interactiveCards") if key in given},
    )


def conversation_to_json(settings: ConversationSettings) -> dict[str, Any]:
    """Write the settings as they are kept and sent."""
    return {
        "schemaVersion": 1,
        "textScale": settings.text_scale,
        "actionScale": settings.action_scale,
        **settings.extra,
    }


def policy_section(value: object) -> str:
    """Normalise the text of the policy section; a blank one means no section.

    Raises SettingsError for a text of more than MAX_POLICY_BYTES, and for anything but a text.
    """
    if not isinstance(value, str):
        raise SettingsError("section must be a text")
    section = value.replace("\r\n", "\n")
    if not section.strip():
        return ""
    if len(section.encode("utf-8", "surrogatepass")) > MAX_POLICY_BYTES:
        raise SettingsError(f"section must not have more than {MAX_POLICY_BYTES} bytes")
    return section


def allowed_tools(value: object) -> tuple[str, ...]:
    """Read a list of tools, each named once. Raises SettingsError for what is no such list."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise SettingsError("allowedTools must be a list")
    if len(value) > MAX_ALLOWED_TOOLS:
        raise SettingsError(f"allowedTools must not name more than {MAX_ALLOWED_TOOLS} tools")
    if not all(isinstance(name, str) and re.fullmatch(TOOL_PATTERN[1:-1], name) for name in value):
        raise SettingsError("allowedTools must hold names of tools, with a * at most at the end")
    return tuple(dict.fromkeys(value))


def _known(value: object, keys: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingsError("an object is needed")
    if any(key not in keys for key in value):
        raise SettingsError(f"only {', '.join(keys)} can be set")
    return value


def _scale(given: Mapping[str, Any], key: str) -> float:
    value = given.get(key)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is None or not is_number or not SCALE_FROM <= value <= SCALE_TO:
        raise SettingsError(f"{key} must be a number from {SCALE_FROM} to {SCALE_TO}")
    steps: int = round(value * SCALE_STEPS)
    if not math.isclose(steps / SCALE_STEPS, value, abs_tol=1e-9):
        raise SettingsError(f"{key} must be a multiple of {1 / SCALE_STEPS}")
    # JavaScript writes 1.0 as 1; so do we.
    return steps // SCALE_STEPS if steps % SCALE_STEPS == 0 else round(steps / SCALE_STEPS, 2)
