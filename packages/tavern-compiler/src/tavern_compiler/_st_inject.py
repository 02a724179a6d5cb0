"""Prompts at a depth: they are put between the messages of the chat, counted from its end.

Must not know the budget: what is injected here is paid like any message.

Source: SillyTavern 1.19.0, public/scripts/openai.js (populationInjectionPrompts).
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from tavern_compiler._st_extensions import Row, at_position, joined, sources_of
from tavern_compiler._st_preset import DEFAULT_ORDER_NUMBER, StPrompt
from tavern_compiler._text import trim
from tavern_compiler.st_input import ExtensionPosition, ExtensionPrompt
from tavern_compiler.st_macros import Macros
from tavern_compiler.st_prompt_inputs import HistoryMessage
from tavern_compiler.st_result import MessageSource
from tavern_format import Role

MAX_DEPTH = 10_000
"""SillyTavern's MAX_INJECTION_DEPTH: what is deeper never appears."""
_ROLES: tuple[Role, ...] = (Role.SYSTEM, Role.USER, Role.ASSISTANT)
"""From the end of the chat backwards."""


@frozen
class Injected:
    """The chat with what was put between its messages, newest first."""

    messages: tuple[HistoryMessage, ...]
    macros: Macros


def inject(
    messages: Sequence[HistoryMessage],
    prompts: Sequence[StPrompt],
    rows: Mapping[str, ExtensionPrompt],
    macros: Macros,
) -> Injected:
    """Put prompts and extension prompts at their depths; what is too deep stands at the start."""
    mixed = list(messages)
    count = 0
    for depth, here in sorted(_by_depth(prompts, rows).items()):
        added, macros = _at_depth(here, macros)
        mixed[depth + count : depth + count] = added
        count += len(added)
    return Injected(tuple(mixed), macros)


@frozen
class _Depth:
    """What stands at one depth."""

    prompts: list[StPrompt] = field(factory=list)
    rows: dict[Role, list[Row]] = field(factory=dict)
    """Of extensions, by their keys in JavaScript's order."""


def _by_depth(
    prompts: Sequence[StPrompt], rows: Mapping[str, ExtensionPrompt]
) -> dict[int, _Depth]:
    found: dict[int, _Depth] = {}
    for prompt in prompts:
        if prompt.depth is not None and is_reached(prompt.depth) and prompt.content:
            found.setdefault(prompt.depth, _Depth()).prompts.append(prompt)
    for key, row in at_position(rows, ExtensionPosition.IN_CHAT):
        if is_reached(row.depth):
            here = found.setdefault(int(row.depth), _Depth())
            here.rows.setdefault(row.role, []).append((key, row))
    return found


def is_reached(depth: float) -> bool:
    """Tell whether a depth is one of those SillyTavern looks at."""
    return 0 <= depth <= MAX_DEPTH and depth == depth // 1


def _at_depth(here: _Depth, macros: Macros) -> tuple[list[HistoryMessage], Macros]:
    """Make the messages of one depth, the one nearest to the end of the chat first."""
    added: list[HistoryMessage] = []
    slots: dict[tuple[float, str | None], list[StPrompt]] = {}
    for prompt in here.prompts:
        slots.setdefault((prompt.order, prompt.role), []).append(prompt)
    orders = {DEFAULT_ORDER_NUMBER, *(order for order, _ in slots)}
    for order in sorted(orders, reverse=True):
        for role in _ROLES:
            name = role.name.lower()
            own = slots.get((order, name), [])
            others = ""
            more: tuple[MessageSource, ...] = ()
            if order == DEFAULT_ORDER_NUMBER:
                others, more, macros = _extension_text(here.rows.get(role, []), macros)
            text = _both("\n".join(one.content for one in own), others)
            if text:
                sources = tuple(source for one in own for source in one.sources)
                added.append(
                    HistoryMessage(
                        role=name, content=text, injected=True, sources=(*sources, *more)
                    )
                )
    return added, macros


def _extension_text(
    rows: Sequence[Row], macros: Macros
) -> tuple[str, tuple[MessageSource, ...], Macros]:
    text, sources = joined(rows)
    text, macros = macros.run(text, sources[0].path if sources else "")
    return text, sources, macros


def _both(*texts: str) -> str:
    return "\n".join(trim(text) for text in texts if text)


def lost_at_depth(
    prompts: Sequence[StPrompt], rows: Mapping[str, ExtensionPrompt]
) -> Iterator[tuple[StPrompt, str]]:
    """List the prompts that no depth or role lets in, with the reason."""
    roles = {role.name.lower() for role in _ROLES}
    for prompt in prompts:
        if not prompt.content:
            continue
        if prompt.depth is None or not is_reached(prompt.depth):
            yield prompt, "its depth is no whole number from 0 to 10000."
        elif prompt.role not in roles:
            yield prompt, "its role is none of system, user, assistant."
    for key, row in at_position(rows, ExtensionPosition.IN_CHAT):
        if not is_reached(row.depth):
            prompt = StPrompt(identifier=key, content=row.value, sources=sources_of(key, row))
            yield prompt, "its depth is no whole number from 0 to 10000."
