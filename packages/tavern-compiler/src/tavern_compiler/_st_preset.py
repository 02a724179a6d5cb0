"""The prompts of a preset and their order, read as loosely as JavaScript reads them.

Owns what an odd value of a prompt means: a position that is a text, a depth that is missing. Must
not know which prompts there are.

Source: SillyTavern 1.19.0, public/scripts/PromptManager.js (Prompt, getPromptCollection,
shouldTrigger, isPromptDisabledForActiveCharacter).
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from tavern_compiler._js_number import to_number
from tavern_compiler._text import trim
from tavern_compiler.st_input import ProjectionProfile
from tavern_compiler.st_result import MessageSource, MessageSourceKind
from tavern_format import (
    DEFAULT_PROMPTS,
    GLOBAL_ORDER_ID,
    Diagnostic,
    Preset,
    complete_prompts,
    dump_preset,
)

DEFAULT_ORDER_NUMBER = 100.0
_DEFAULT_DEPTH = 4
_ROLES = frozenset({"system", "user", "assistant"})
_KNOWN = frozenset(row["identifier"] for row in DEFAULT_PROMPTS)


@frozen(kw_only=True)
class StPrompt:
    """One prompt of the collection that a request is built from."""

    identifier: str
    content: str = field(default="", repr=False)
    role: str | None = None
    """None: the file names none."""
    custom: bool = False
    """True: it is placed by its place in the order, and not by its name."""
    in_chat: bool = False
    depth: int | None = None
    """None: no depth that is ever reached."""
    order: float = DEFAULT_ORDER_NUMBER
    at_start: bool | None = None
    """Of an extension prompt beside the main prompt: before it; None: it is not beside it."""
    extension: bool = False
    forbid_overrides: bool = False
    sources: tuple[MessageSource, ...] = ()


@frozen(kw_only=True)
class OrderLine:
    """A line of the prompt order that has a prompt."""

    prompt: StPrompt
    enabled: bool
    triggered: bool
    """Whether the prompt is for this kind of generation."""


@frozen(kw_only=True)
class PresetOrder:
    """The order that counts."""

    lines: tuple[OrderLine, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    _off: Mapping[str, bool] = field(init=False, repr=False, eq=False)

    @_off.default
    def _first_lines(self) -> Mapping[str, bool]:
        return {line.prompt.identifier: not line.enabled for line in reversed(self.lines)}

    def is_disabled(self, identifier: str) -> bool:
        """Tell whether the first line of an identifier is switched off; without one it is not."""
        return self._off.get(identifier, False)


def read_order(
    preset: Preset,
    generation_type: str,
    profile: ProjectionProfile,
    default_texts: Mapping[str, str] | None = None,
) -> PresetOrder:
    """Read the prompts of the order that counts, each line with the first prompt of its name."""
    found: list[Diagnostic] = []
    texts = Preset(prompts=preset.prompts, prompt_orders=preset.prompt_orders)
    document = complete_prompts(
        json.loads(dump_preset(texts)), found.append, default_texts=default_texts
    )
    prompts: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for at, raw in enumerate(document["prompts"]):
        prompts.setdefault(str(raw["identifier"]), (at, raw))
    lines = [
        _line(entry, prompts[str(entry["identifier"])], generation_type, profile)
        for entry in _global_order(document)
    ]
    return PresetOrder(lines=tuple(lines), diagnostics=tuple(found))


def _global_order(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    groups = (
        group["order"]
        for group in document["prompt_order"]
        if str(group.get("character_id")) == str(GLOBAL_ORDER_ID)
    )
    return next(groups, [])


def _line(
    entry: Mapping[str, Any],
    prompt: tuple[int, Mapping[str, Any]],
    generation_type: str,
    profile: ProjectionProfile,
) -> OrderLine:
    at, raw = prompt
    triggers = raw.get("injection_trigger")
    only = triggers if isinstance(triggers, list) else []
    return OrderLine(
        prompt=_prompt(at, raw, profile),
        enabled=bool(entry.get("enabled")),
        triggered=not only or generation_type.lower().strip() in only,
    )


def _prompt(at: int, raw: Mapping[str, Any], profile: ProjectionProfile) -> StPrompt:
    content, role, flag = raw.get("content"), raw.get("role"), raw.get("system_prompt")
    role = role if isinstance(role, str) else None
    safe = profile is ProjectionProfile.SAFE
    place = _number(raw.get("injection_position"), safe=safe)
    depth = _number(raw.get("injection_depth"), safe=safe)
    order = _number(raw.get("injection_order"), safe=True)
    identifier = str(raw["identifier"])
    return StPrompt(
        identifier=identifier,
        content=content if isinstance(content, str) else "",
        role="system" if safe and role not in _ROLES else role,
        custom=flag is False if not safe else not flag and identifier not in _KNOWN,
        in_chat=place == 1,
        depth=_DEFAULT_DEPTH if safe and depth is None else _whole(depth),
        order=DEFAULT_ORDER_NUMBER if order is None else order,
        extension=raw.get("extension") is True,
        forbid_overrides=raw.get("forbid_overrides") is True,
        sources=(
            MessageSource(
                kind=MessageSourceKind.PRESET,
                identifier=identifier,
                field=f"prompts/{at}/content",
            ),
        ),
    )


def _number(value: object, *, safe: bool) -> float | None:
    """Read a number; with `safe` also one that is written as a text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if safe and isinstance(value, str):
        number = to_number(value)
        return None if math.isnan(number) or not trim(value) else number
    return None


def _whole(number: float | None) -> int | None:
    return int(number) if number is not None and number == number // 1 else None
