"""Chat-completion presets: the model.

Owns the model and its tables. What SillyTavern does to an old or incomplete preset when it loads it
is in `preset_migration`; which prompt is sent where is tavern-compiler's.

Source: SillyTavern 1.19.0, public/scripts/openai.js (settingsToUpdate, default settings) and
public/scripts/PromptManager.js.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from attrs import field, frozen

from tavern_format._fields import Field, Kind, Misfit
from tavern_format._kinds import (
    FLAG,
    MAPPING,
    NUMBER,
    TEXT,
    choice,
    js_number_text,
    nested_many,
    number,
    optional,
    texts,
)
from tavern_format._structure import Origin, Spec
from tavern_format.regex_script import SCRIPTS, RegexScript

GLOBAL_ORDER_ID = 100001
"""`character_id` of the one prompt order that SillyTavern uses."""


class InjectionPosition(IntEnum):
    """Where a prompt goes; SillyTavern's numbers."""

    RELATIVE = 0
    """In its place of the prompt order."""
    IN_CHAT = 1
    """Into the chat history, at `injection_depth`."""


@frozen(kw_only=True, weakref_slot=False)
class Prompt:
    """One block of a preset."""

    identifier: str = ""
    """Stable name; empty where the file gives none (SillyTavern then makes one up)."""
    name: str = ""
    role: str = ""
    """`system`, `user` or `assistant`; empty where the file gives none."""
    content: str = ""
    system_prompt: bool = False
    marker: bool = False
    """True: a slot that is filled at run time."""
    enabled: bool | None = None
    """The prompt's own switch; the prompt order decides where there is one."""
    injection_position: InjectionPosition = InjectionPosition.RELATIVE
    injection_depth: float = 4
    """Messages from the end."""
    injection_order: float = 100
    injection_trigger: tuple[str, ...] = ()
    """Generation types the prompt is limited to; empty: all."""
    forbid_overrides: bool = False
    """True: a card may not replace this prompt."""
    extension: bool = False
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class OrderEntry:
    """One line of a prompt order."""

    identifier: str = ""
    enabled: bool = False
    """Only JSON `true` switches a prompt on."""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class PromptOrder:
    """The sequence of prompts for one character id."""

    character_id: int | float | str | None = None
    """100001 is the one that counts; others are left from older versions."""
    order: tuple[OrderEntry, ...] = ()
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class Preset:
    """A chat-completion preset. Settings without an attribute of their own are in `raw`.

    None means that the file does not say; SillyTavern then leaves the previous setting in force.
    """

    temperature: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    top_a: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    seed: float | None = None
    context_size_tokens: float | None = None
    """`openai_max_context`."""
    reply_size_tokens: float | None = None
    """`openai_max_tokens`."""
    reasoning_effort: str | None = None
    stream: bool | None = None
    """`stream_openai`."""
    names_behavior: float | None = None
    """-1 none, 0 default, 1 completion, 2 content."""
    squash_system_messages: bool | None = None
    continue_prefill: bool | None = None
    continue_postfix: str | None = None
    use_system_prompt: bool | None = None
    """`use_sysprompt`."""
    send_if_empty: str | None = None
    impersonation_prompt: str | None = None
    new_chat_prompt: str | None = None
    new_group_chat_prompt: str | None = None
    new_example_chat_prompt: str | None = None
    continue_nudge_prompt: str | None = None
    group_nudge_prompt: str | None = None
    world_info_format: str | None = None
    """`wi_format`; `{0}` stands for the text."""
    scenario_format: str | None = None
    personality_format: str | None = None
    assistant_prefill: str | None = None
    assistant_impersonation: str | None = None
    prompts: tuple[Prompt, ...] = ()
    prompt_orders: tuple[PromptOrder, ...] = ()
    """In file order, all character ids."""
    regex_scripts: tuple[RegexScript, ...] = ()
    extensions: Mapping[str, Any] = field(factory=dict)
    origin: Origin | None = field(default=None, repr=False, eq=False)

    @property
    def raw(self) -> Mapping[str, Any]:
        """The JSON object the preset was read from, before any edit; empty for a new preset."""
        return {} if self.origin is None else self.origin.raw

    @property
    def order(self) -> tuple[OrderEntry, ...] | None:
        """The order SillyTavern uses: the first one of character id 100001; None without one."""
        for found in self.prompt_orders:
            if _spelled(found.character_id) == str(GLOBAL_ORDER_ID):
                return found.order
        return None


def _spelled(character_id: float | str | None) -> str:
    """Spell an id as JavaScript's `String(id)` does: 100001.0 is 100001."""
    return (
        js_number_text(character_id) if isinstance(character_id, int | float) else str(character_id)
    )


def _read_enabled(value: object) -> bool:
    """Only `true` itself switches a prompt on in SillyTavern."""
    if value is None:
        return False
    raise Misfit(False, "true or false")  # noqa: FBT003 - a JSON value


def _read_character_id(_: object) -> None:
    raise Misfit(None, "a number or a string")


_OPTIONAL_NUMBER = optional(NUMBER)
_OPTIONAL_TEXT = optional(TEXT)
_OPTIONAL_FLAG = optional(FLAG)
_INJECTION = choice(
    {int(place): place for place in InjectionPosition}, InjectionPosition.RELATIVE, "0 or 1"
)

PROMPT_SPEC = Spec(
    "prompt",
    Prompt,
    (
        *(Field(name, (name,), TEXT, default="") for name in ("identifier", "name", "content")),
        Field("role", ("role",), TEXT, default="", sparse=True),
        Field("system_prompt", ("system_prompt",), FLAG, default=False),
        Field("marker", ("marker",), FLAG, default=False),
        Field("enabled", ("enabled",), _OPTIONAL_FLAG, sparse=True),
        Field("injection_position", ("injection_position",), _INJECTION, default=0),
        Field("injection_depth", ("injection_depth",), number(4), default=4),
        Field("injection_order", ("injection_order",), number(100), default=100),
        Field("injection_trigger", ("injection_trigger",), texts(split=True), default=[]),
        Field("forbid_overrides", ("forbid_overrides",), FLAG, default=False),
        Field("extension", ("extension",), FLAG, default=False),
    ),
)
ORDER_ENTRY_SPEC = Spec(
    "order-entry",
    OrderEntry,
    (
        Field("identifier", ("identifier",), TEXT, default=""),
        Field("enabled", ("enabled",), Kind(FLAG.exact, _read_enabled), default=False),
    ),
)
_ORDER_SPEC = Spec(
    "prompt-order",
    PromptOrder,
    (
        Field(
            "character_id",
            ("character_id",),
            Kind(frozenset({int, float, str, type(None)}), _read_character_id),
        ),
        Field("order", ("order",), nested_many(ORDER_ENTRY_SPEC)),
    ),
)


def _setting(attribute: str, kind: Kind, key: str = "") -> Field:
    return Field(attribute, (key or attribute,), kind, sparse=True)


PRESET_SPEC = Spec(
    "preset",
    Preset,
    (
        *(
            _setting(name, _OPTIONAL_NUMBER)
            for name in (
                "temperature",
                "frequency_penalty",
                "presence_penalty",
                "top_p",
                "top_k",
                "top_a",
                "min_p",
                "repetition_penalty",
                "seed",
                "names_behavior",
            )
        ),
        _setting("context_size_tokens", _OPTIONAL_NUMBER, "openai_max_context"),
        _setting("reply_size_tokens", _OPTIONAL_NUMBER, "openai_max_tokens"),
        _setting("stream", _OPTIONAL_FLAG, "stream_openai"),
        _setting("use_system_prompt", _OPTIONAL_FLAG, "use_sysprompt"),
        _setting("squash_system_messages", _OPTIONAL_FLAG),
        _setting("continue_prefill", _OPTIONAL_FLAG),
        _setting("world_info_format", _OPTIONAL_TEXT, "wi_format"),
        *(
            _setting(name, _OPTIONAL_TEXT)
            for name in (
                "reasoning_effort",
                "continue_postfix",
                "send_if_empty",
                "impersonation_prompt",
                "new_chat_prompt",
                "new_group_chat_prompt",
                "new_example_chat_prompt",
                "continue_nudge_prompt",
                "group_nudge_prompt",
                "scenario_format",
                "personality_format",
                "assistant_prefill",
                "assistant_impersonation",
            )
        ),
        Field("prompts", ("prompts",), nested_many(PROMPT_SPEC)),
        Field("prompt_orders", ("prompt_order",), nested_many(_ORDER_SPEC)),
        Field("extensions", ("extensions",), MAPPING),
        Field("regex_scripts", ("extensions", "regex_scripts"), SCRIPTS, sparse=True),
    ),
)
