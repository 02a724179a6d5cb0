"""The last step: slots become one list, and neighbouring system messages one message.

Must not know what a message is about.

Source: SillyTavern 1.19.0, public/scripts/openai.js (squashSystemMessages, getChat).
"""

from collections.abc import Iterable

from attrs import evolve

from tavern_compiler._st_draft import Draft
from tavern_compiler.st_result import PromptMessage

_APART = frozenset({"newMainChat", "newChat", "groupNudge"})
"""Identifiers of messages that stay by themselves."""


def flatten(draft: Draft, *, squash: bool) -> tuple[PromptMessage, ...]:
    """List the messages that have a text, in the order of their slots."""
    messages = [one for _, slot in sorted(draft.slots.items()) for one in slot.messages]
    kept = _squashed(messages) if squash else messages
    return tuple(one for one in kept if one.content)


def _squashed(messages: Iterable[PromptMessage]) -> list[PromptMessage]:
    """Merge neighbours that both may be; an empty system message is no neighbour."""
    kept: list[PromptMessage] = []
    for one in messages:
        if one.role == "system" and not one.content:
            continue
        message = evolve(one, collection=None)
        if kept and _may_merge(kept[-1]) and _may_merge(message):
            kept[-1] = _merged(kept[-1], message)
        else:
            kept.append(message)
    return kept


def _may_merge(message: PromptMessage) -> bool:
    return message.role == "system" and not message.name and message.identifier not in _APART


def _merged(first: PromptMessage, second: PromptMessage) -> PromptMessage:
    return evolve(
        first,
        content=f"{first.content}\n{second.content}",
        tokens=first.tokens + second.tokens,
        sources=(*first.sources, *second.sources),
    )
