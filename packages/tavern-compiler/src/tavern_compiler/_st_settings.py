"""The settings of a preset that the prompt builder reads, with SillyTavern's defaults.

A setting the file does not name has SillyTavern's first value; of its longer texts none is kept
here, so that those are empty.

Source: SillyTavern 1.19.0, public/scripts/openai.js (default settings).
"""

from typing import Any

from attrs import frozen

from tavern_compiler._st_chat import Names
from tavern_format import Preset

_CONTEXT_TOKENS = 4095
_REPLY_TOKENS = 300


@frozen(kw_only=True)
class PromptSettings:
    """Settings of the prompt builder."""

    context_tokens: float = _CONTEXT_TOKENS
    reply_tokens: float = _REPLY_TOKENS
    names: Names | None = Names.DEFAULT
    """None: a number that SillyTavern does not know."""
    squash: bool = False
    continue_prefill: bool = False
    continue_postfix: str = " "
    assistant_prefill: str = ""
    send_if_empty: str = ""
    new_chat: str = "[Start a new Chat]"
    new_group_chat: str = ""
    new_example: str = "[Example Chat]"
    group_nudge: str = ""
    continue_nudge: str = ""
    impersonation: str = ""
    lore_format: str = "{0}"
    scenario_format: str = "{{scenario}}"
    personality_format: str = "{{personality}}"
    source: str = ""


_ATTRIBUTES = {
    "context_tokens": "context_size_tokens",
    "reply_tokens": "reply_size_tokens",
    "squash": "squash_system_messages",
    "continue_prefill": "continue_prefill",
    "continue_postfix": "continue_postfix",
    "assistant_prefill": "assistant_prefill",
    "send_if_empty": "send_if_empty",
    "new_chat": "new_chat_prompt",
    "new_group_chat": "new_group_chat_prompt",
    "new_example": "new_example_chat_prompt",
    "group_nudge": "group_nudge_prompt",
    "continue_nudge": "continue_nudge_prompt",
    "impersonation": "impersonation_prompt",
    "lore_format": "world_info_format",
    "scenario_format": "scenario_format",
    "personality_format": "personality_format",
}
"""Setting here to attribute of `Preset`."""


def prompt_settings(preset: Preset, source: str | None) -> PromptSettings:
    """Read a preset; `source` stands in for its own `chat_completion_source`."""
    named: dict[str, Any] = {
        name: value
        for name, attribute in _ATTRIBUTES.items()
        if (value := getattr(preset, attribute)) is not None
    }
    number = preset.names_behavior
    if number is not None:
        named["names"] = Names(int(number)) if number in tuple(Names) else None
    own_source = preset.raw.get("chat_completion_source")
    chosen = own_source if source is None else source
    return PromptSettings(**named, source=chosen if isinstance(chosen, str) else "")
