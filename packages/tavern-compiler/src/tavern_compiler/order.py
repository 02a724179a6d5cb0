"""Which prompts of a preset are sent, and in which order.

Owns the choice of the prompt order. Must not know what a prompt says.

Source: SillyTavern 1.19.0, public/scripts/PromptManager.js; the plugin contract, section A12.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from tavern_compiler._text import trim
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
_ROLES = {"": "system", "system": "system", "assistant": "assistant", "model": "assistant"}
"""Role in the file to role that is asked for; everything else is the user's."""


@frozen
class PlacedPrompt:
    """A prompt with its place in the file and its switch."""

    index: int
    """Place in `Preset.prompts`."""
    prompt: Prompt
    enabled: bool

    @property
    def identifier(self) -> str:
        """Its name, made up from its place where the file gives none."""
        return self.prompt.identifier or f"prompt-{self.index + 1}"

    @property
    def role(self) -> str:
        """The role it asks for: system, user or assistant."""
        return _ROLES.get(self.prompt.role, "user")

    @property
    def path(self) -> str:
        """JSON pointer into the input of the compile."""
        return f"/preset/prompts/{self.index}"


@frozen
class OrderedPrompts:
    """All prompts of a preset, the ones that are switched off too."""

    prompts: tuple[PlacedPrompt, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def order_prompts(preset: Preset | None, trigger: str) -> OrderedPrompts:
    """Bring the prompts into their order.

    First those of the prompt order with its switches, then the others with their own. Without an
    order the prompts' own switches count, and without those SillyTavern's default order.
    """
    if preset is None:
        return OrderedPrompts()
    order = _usable_order(preset)
    placed = (
        [_by_itself(index, prompt) for index, prompt in enumerate(preset.prompts)]
        if order is None and any(prompt.enabled is not None for prompt in preset.prompts)
        else [*_ordered(preset.prompts, _DEFAULT if order is None else order)]
    )
    return OrderedPrompts(
        tuple(_triggered(one, trigger) for one in placed),
        tuple(_diagnostics(order, placed, trigger)),
    )


def _usable_order(preset: Preset) -> Sequence[OrderEntry] | None:
    """Choose 100001, else the one that names most of the prompts."""
    known = {prompt.identifier for prompt in preset.prompts}
    own = preset.order
    if own:
        return own
    orders = [found.order for found in preset.prompt_orders]
    hits = [sum(entry.identifier in known for entry in order) for order in orders]
    return orders[hits.index(max(hits))] if any(hits) else None


def _by_itself(index: int, prompt: Prompt) -> PlacedPrompt:
    enabled = prompt.enabled
    if enabled is None:
        enabled = not prompt.marker and bool(trim(prompt.content))
    return PlacedPrompt(index, prompt, enabled)


def _ordered(prompts: Sequence[Prompt], order: Sequence[OrderEntry]) -> Iterator[PlacedPrompt]:
    """List the prompts once each; of two with one identifier the first counts for the order."""
    places: Mapping[str, int] = {
        prompt.identifier: index for index, prompt in reversed([*enumerate(prompts)])
    }
    switches: dict[int, bool] = {}
    for entry in order:
        if entry.identifier in places:
            switches.setdefault(places[entry.identifier], entry.enabled)
    for index, enabled in switches.items():
        yield PlacedPrompt(index, prompts[index], enabled)
    for index, prompt in enumerate(prompts):
        if index not in switches:
            yield PlacedPrompt(index, prompt, prompt.enabled is True)


def _triggered(placed: PlacedPrompt, trigger: str) -> PlacedPrompt:
    if _is_for(placed.prompt, trigger):
        return placed
    return PlacedPrompt(placed.index, placed.prompt, enabled=False)


def _is_for(prompt: Prompt, trigger: str) -> bool:
    return not prompt.injection_trigger or trigger in prompt.injection_trigger


def _diagnostics(
    order: Sequence[OrderEntry] | None, placed: Sequence[PlacedPrompt], trigger: str
) -> Iterator[Diagnostic]:
    if order is None:
        message = "The preset has no usable prompt order; another one stands in for it."
        yield Diagnostic(
            "PROMPT_ORDER_SUBSTITUTED", Severity.INFO, "/preset/prompt_orders", message
        )
    for one in placed:
        if not one.enabled:
            continue
        if not _is_for(one.prompt, trigger):
            message = "The prompt is limited to other kinds of generation and is not sent."
            yield Diagnostic("PROMPT_TRIGGER_MISMATCH", Severity.INFO, one.path, message)
        elif one.prompt.injection_position is InjectionPosition.IN_CHAT:
            message = "The prompt asks for a depth in the chat and stays in its place here."
            yield Diagnostic("PROMPT_DEPTH_NOT_EXECUTED", Severity.WARNING, one.path, message)
