"""Which settings are taken, whoever sends them."""

from collections.abc import Callable

import pytest

from tavern_loader.domain.settings import (
    MAX_POLICY_BYTES,
    SettingsError,
    allowed_tools,
    conversation_from_json,
    policy_section,
    ui_from_json,
)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (ui_from_json, []),
        (ui_from_json, {"locale": "en", "scale": 1, "more": 1}),
        (ui_from_json, {"locale": ["en"], "scale": 1}),
        (ui_from_json, {"locale": "en", "scale": float("nan")}),
        (ui_from_json, {"locale": "en", "scale": True}),
        (ui_from_json, {"locale": "en", "scale": 0.76}),
        (ui_from_json, {"locale": "en", "scale": 1, "rpFollowCharacter": 1}),
        (conversation_from_json, {"textScale": 1}),
        (conversation_from_json, {"textScale": 1, "actionScale": 1, "bubbleStyle": []}),
        (conversation_from_json, {"textScale": 1, "actionScale": 1, "interactiveCards": 0}),
        (policy_section, None),
        (policy_section, "x" * (MAX_POLICY_BYTES + 1)),
        (allowed_tools, "bash"),
        (allowed_tools, None),
        (allowed_tools, ["*"]),
        (allowed_tools, ["a", 7]),
        (allowed_tools, [f"tool{number}" for number in range(201)]),
    ],
)
def test_a_value_that_is_not_allowed_is_refused(
    read: Callable[[object], object], value: object
) -> None:
    with pytest.raises(SettingsError):
        read(value)


@pytest.mark.parametrize(
    ("text", "section"),
    [("a\r\nb", "a\nb"), ("", ""), (" \r\n", ""), ("x" * MAX_POLICY_BYTES,) * 2, (" a ", " a ")],
)
def test_a_policy_is_normalised(text: str, section: str) -> None:
    assert policy_section(text) == section
