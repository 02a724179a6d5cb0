"""What a request was to hold and does not: nothing is left out without a word and its cost.

Looks at the finished draft only. Must not decide what is placed.

Source: SillyTavern 1.19.0, public/scripts/openai.js (populateChatCompletion).
"""

from collections.abc import Iterable, Iterator

from tavern_compiler._st_collection import KNOWN_EXTENSIONS, Collection
from tavern_compiler._st_draft import Draft, lose
from tavern_compiler._st_extensions import at_position, sources_of
from tavern_compiler._st_preset import StPrompt
from tavern_compiler._text import trim
from tavern_compiler.st_input import ExtensionPosition
from tavern_compiler.st_prompt_inputs import PromptInputs
from tavern_compiler.st_result import Dropped, MessageSource, PromptMessage
from tavern_format import Severity

_HISTORY, _EXAMPLES = "chatHistory", "dialogueExamples"
_OFF = "its marker is switched off, or not in the prompt order."


def missing(
    inputs: PromptInputs, collection: Collection, draft: Draft, over_budget: str | None
) -> Iterator[Dropped]:
    """List the blocks with a text that no slot holds and nobody has named yet."""
    known = _Known(draft)
    reason = f"it comes behind {over_budget}, which did not fit."
    behind = over_budget is not None
    if behind:
        yield from _unreached(inputs, collection, draft, known, reason)
    else:
        yield from _switched_off(collection, draft, known)
    for code, name, messages in (
        ("HISTORY_NOT_PLACED", _HISTORY, list(_history(inputs, draft, known))),
        ("EXAMPLES_NOT_PLACED", _EXAMPLES, list(_examples(inputs, draft, known))),
    ):
        if behind and messages:
            yield lose("NOT_REACHED", name, messages, reason)
        elif messages and collection.index(name) is None:
            yield lose(code, name, messages, _OFF, Severity.INFO)


class _Known:
    """The texts that are in the request, or were named as lost."""

    def __init__(self, draft: Draft) -> None:
        placed = [one for slot in draft.slots.values() for one in slot.messages]
        self._names = {one.identifier for one in placed}
        self._names |= {one.identifier for one in draft.dropped}
        self._sources = {source for one in placed for source in one.sources}
        self._sources |= {source for one in draft.dropped for source in one.sources}

    def has(self, name: str, sources: Iterable[MessageSource]) -> bool:
        """Tell whether a text is one of them."""
        return (name != "" and name in self._names) or any(
            source in self._sources for source in sources
        )


def _switched_off(collection: Collection, draft: Draft, known: _Known) -> Iterator[Dropped]:
    """Name the texts whose marker is off; a prompt that is off has none."""
    for prompt in collection.prompts:
        if not trim(prompt.content) or not collection.order.is_disabled(prompt.identifier):
            continue
        if not known.has(prompt.identifier, prompt.sources):
            message = draft.costs.message(prompt.role, prompt.content, None, prompt.sources)
            yield lose("PROMPT_OFF", prompt.identifier, (message,), _OFF, Severity.INFO)


def _unreached(
    inputs: PromptInputs, collection: Collection, draft: Draft, known: _Known, reason: str
) -> Iterator[Dropped]:
    """Name the prompts that were still to come, and the texts at a depth of the chat."""
    unwanted = set() if inputs.type == "impersonate" else {"impersonate"}
    if not inputs.in_group or inputs.type == "impersonate":
        unwanted.add("groupNudge")
    texts = [
        (prompt.identifier, prompt.role, prompt.content, prompt.sources)
        for prompt in collection.prompts
        if prompt.identifier not in unwanted and not _has_a_row(prompt)
    ]
    in_chat = at_position(inputs.extension_prompts, ExtensionPosition.IN_CHAT)
    texts += [(key, row.role.name.lower(), row.value, sources_of(key, row)) for key, row in in_chat]
    for name, role, content, sources in texts:
        if trim(content) and not known.has(name, sources):
            message = draft.costs.message(role, content, None, sources)
            yield lose("NOT_REACHED", name, (message,), reason)


def _has_a_row(prompt: StPrompt) -> bool:
    """Tell whether a prompt is only the shadow of an extension prompt at a depth of the chat."""
    beside = prompt.extension or prompt.identifier in KNOWN_EXTENSIONS.values()
    return beside and prompt.at_start is None


def _history(inputs: PromptInputs, draft: Draft, known: _Known) -> Iterator[PromptMessage]:
    for one in reversed(inputs.messages):
        if one.content and not known.has("", one.sources):
            yield draft.costs.message(one.role, one.content, None, one.sources)


def _examples(inputs: PromptInputs, draft: Draft, known: _Known) -> Iterator[PromptMessage]:
    for block in inputs.examples:
        if not known.has("", block.sources):
            for turn in block.messages:
                yield draft.costs.message(
                    "system", turn.content, None, block.sources, name=turn.name
                )
