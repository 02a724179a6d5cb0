"""Which prompts of a preset are sent, and in which order.

Owns the choice of the prompt order. Must not know what a prompt says.

Source: SillyTavern 1.19.0, public/scripts/PromptManager.js; the plugin contract, section A12.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from tavern_compiler._text import trim
from tavern_compiler.rules import Rules
from tavern_format import (
    DEFAULT_ORDER,
    Diagnostic,
    InjectionPosition,
    OrderEntry,
    Preset,
    Prompt,
    Severity,
)

_DEFAULT = tuple(
    OrderEntry(identifier=identifier, enabled=enabled) for identifier, enabled in DEFAULT_ORDER
)
_ROLES = {"system": "system", "assistant": "assistant", "model": "assistant"}
"""Role in the file to role that is asked for; everything else is the user's."""


@frozen
class PlacedPrompt:
    """A prompt with its place in the file and its switch."""

    index: int
    """Place in `Preset.prompts`."""
    prompt: Prompt
    enabled: bool
    role: str
    """The role it asks for: system, user or assistant."""
    number: int
    """What sources call it by: its place in the file, or among the prompts in their order."""

    @property
    def identifier(self) -> str:
        """Its name, made up from its place where the file gives none."""
        return _name(self.index, self.prompt)

    @property
    def path(self) -> str:
        """JSON pointer into the input of the compile."""
        return f"/preset/prompts/{self.index}"


def _name(index: int, prompt: Prompt) -> str:
    return prompt.identifier or f"prompt-{index + 1}"


@frozen
class OrderedPrompts:
    """All prompts of a preset, the ones that are switched off too."""

    prompts: tuple[PlacedPrompt, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def order_prompts(preset: Preset | None, trigger: str, rules: Rules) -> OrderedPrompts:
    """Bring the prompts into their order.

    First those of the prompt order with its switches, then the others with their own. Without an
    order the prompts' own switches count, and without those SillyTavern's default order.
    """
    if preset is None:
        return OrderedPrompts()
    order = _usable_order(preset, rules)
    placed = tuple(_placed(preset.prompts, order, rules))
    return OrderedPrompts(
        tuple(_triggered(one, trigger) for one in placed) if rules.triggers else placed,
        tuple(_diagnostics(order, placed, trigger, rules)),
    )


def _usable_order(preset: Preset, rules: Rules) -> Sequence[OrderEntry] | None:
    """Choose 100001, else the one that names most of the prompts."""
    own = preset.order
    if own or (rules.plugin_order and own is not None):
        return own
    known = {_name(index, prompt) for index, prompt in enumerate(preset.prompts)}
    orders = [found.order for found in preset.prompt_orders]
    hits = [sum(entry.identifier in known for entry in order) for order in orders]
    usable = bool(hits) if rules.plugin_order else any(hits)
    return orders[hits.index(max(hits))] if usable else None


def _placed(
    prompts: Sequence[Prompt], order: Sequence[OrderEntry] | None, rules: Rules
) -> Iterator[PlacedPrompt]:
    own_switches = rules.plugin_order or any(prompt.enabled is not None for prompt in prompts)
    if order is not None:
        switches = _ordered(prompts, order, rules)
    elif own_switches:
        switches = {index: _own_switch(prompt) for index, prompt in enumerate(prompts)}
    else:
        switches = _ordered(prompts, _DEFAULT, rules)
    for number, (index, enabled) in enumerate(switches.items()):
        prompt = prompts[index]
        role = _ROLES.get(prompt.role, "user") if prompt.role else rules.default_role
        yield PlacedPrompt(index, prompt, enabled, role, number if rules.plugin_order else index)


def _own_switch(prompt: Prompt) -> bool:
    if prompt.enabled is None:
        return not prompt.marker and bool(trim(prompt.content))
    return prompt.enabled


def _ordered(
    prompts: Sequence[Prompt], order: Sequence[OrderEntry], rules: Rules
) -> dict[int, bool]:
    """Map places of prompts, in their order, to switches.

    Of two prompts with one identifier the first counts for the order and the other comes behind
    it; or the last counts and the other is not there at all.
    """
    numbered = [*enumerate(prompts)]
    counting = numbered if rules.plugin_order else reversed(numbered)
    places = {_name(index, prompt): index for index, prompt in counting}
    switches: dict[int, bool] = {}
    for entry in order:
        if entry.identifier in places:
            switches.setdefault(places[entry.identifier], entry.enabled)
    named = {_name(index, prompts[index]) for index in switches} if rules.plugin_order else ()
    for index, prompt in numbered:
        if _name(index, prompt) not in named:
            switches.setdefault(index, prompt.enabled is True)
    return switches


def _triggered(placed: PlacedPrompt, trigger: str) -> PlacedPrompt:
    if _is_for(placed.prompt, trigger):
        return placed
    return evolve(placed, enabled=False)


def _is_for(prompt: Prompt, trigger: str) -> bool:
    return not prompt.injection_trigger or trigger in prompt.injection_trigger


def _diagnostics(
    order: Sequence[OrderEntry] | None, placed: Sequence[PlacedPrompt], trigger: str, rules: Rules
) -> Iterator[Diagnostic]:
    if order is None:
        message = "The preset has no usable prompt order; another one stands in for it."
        yield Diagnostic(
            "PROMPT_ORDER_SUBSTITUTED", Severity.INFO, "/preset/prompt_orders", message
        )
    for one in placed:
        if not one.enabled:
            continue
        if rules.triggers and not _is_for(one.prompt, trigger):
            message = "The prompt is limited to other kinds of generation and is not sent."
            yield Diagnostic("PROMPT_TRIGGER_MISMATCH", Severity.INFO, one.path, message)
        elif one.prompt.injection_position is InjectionPosition.IN_CHAT:
            message = "The prompt asks for a depth in the chat and stays in its place here."
            yield Diagnostic("PROMPT_DEPTH_NOT_EXECUTED", Severity.WARNING, one.path, message)
