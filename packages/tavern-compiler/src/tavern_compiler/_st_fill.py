"""History and example dialogues: as much of them as the budget has room for.

Owns SillyTavern's own way of trimming: the newest messages of the chat stay, the first examples
stay, and nothing is skipped to fit a later one. Must not know other prompts.

Source: SillyTavern 1.19.0, public/scripts/openai.js (populateChatHistory,
populateDialogueExamples).
"""

from collections.abc import Iterator, Sequence

import regex
from attrs import evolve, frozen

from tavern_compiler._st_chat import Names
from tavern_compiler._st_collection import setting_source
from tavern_compiler._st_draft import Draft, Slot, lose, total
from tavern_compiler._st_examples import BOT
from tavern_compiler._st_preset import StPrompt
from tavern_compiler._st_settings import PromptSettings
from tavern_compiler._text import trim
from tavern_compiler.st_input import ProjectionProfile
from tavern_compiler.st_prompt_inputs import (
    ExampleBlock,
    ExampleMessage,
    HistoryMessage,
    PromptInputs,
)
from tavern_compiler.st_result import Dropped, PromptMessage

_HISTORY, _EXAMPLES, _NUDGE = "chatHistory", "dialogueExamples", "continueNudge"
_VALID_NAME = regex.compile(r"[a-zA-Z0-9_]{1,64}", regex.ASCII)
_NOT_IN_NAMES = regex.compile(r"[^a-zA-Z0-9_]", regex.ASCII)
_MAX_NAME_CHARS = 64


def safe_name(name: str, *, check: bool = True) -> str:
    """Make a name that providers take: letters, digits and `_`, at most 64 in UTF-16."""
    if check and _VALID_NAME.fullmatch(name):
        return name
    units = "".join("__" if ord(char) > 0xFFFF else char for char in name)  # noqa: PLR2004
    return _NOT_IN_NAMES.sub("_", units)[:_MAX_NAME_CHARS]


@frozen(kw_only=True)
class _Chat:
    """The messages that compete for the budget, and those that are paid before them."""

    messages: tuple[HistoryMessage, ...]
    """Newest first."""
    start: PromptMessage
    """Says that a chat begins."""
    group_nudge: PromptMessage | None = None
    continued: Slot | None = None


def fill_history(
    inputs: PromptInputs,
    settings: PromptSettings,
    draft: Draft,
    chat: tuple[Sequence[HistoryMessage], int | None, StPrompt | None, int | None],
) -> tuple[Draft, Slot | None]:
    """Fill the slot of the history: messages newest first, its place, the group's nudge.

    Gives the draft, and what is to be continued where the caller has to put it behind all else.
    """
    messages, place, nudge, examples = chat
    if place is None:
        return draft, None
    draft = draft.put(Slot(identifier=_HISTORY), place)
    known, draft = _known_costs(inputs, settings, draft, messages, nudge)
    draft = _empty_reply(settings, draft, known.messages)
    draft = _newest_messages(settings, draft, known.messages)
    draft = draft.reserve(-known.start.tokens).insert(known.start, _HISTORY, at_start=True)
    if known.group_nudge is not None:
        freed = draft.reserve(-known.group_nudge.tokens)
        draft = freed.insert(known.group_nudge, _HISTORY)
    if known.continued is None:
        return draft, None
    draft = draft.reserve(-known.continued.tokens)
    collides = draft.end == examples and draft.profile is ProjectionProfile.SAFE
    if collides:
        return draft, known.continued
    return draft.put(known.continued), None


def _known_costs(
    inputs: PromptInputs,
    settings: PromptSettings,
    draft: Draft,
    messages: Sequence[HistoryMessage],
    nudge: StPrompt | None,
) -> tuple[_Chat, Draft]:
    """Make and reserve what is sent with any history: its head, the nudges, the last message."""
    setting = "new_group_chat_prompt" if inputs.in_group else "new_chat_prompt"
    text = settings.new_group_chat if inputs.in_group else settings.new_chat
    text, macros = draft.macros.run(text, f"/preset/{setting}")
    start = draft.costs.message("system", text, "newMainChat", setting_source(setting))
    draft = evolve(draft, macros=macros).reserve(start.tokens)
    group = None
    if inputs.in_group and nudge is not None and inputs.type != "impersonate":
        group = draft.costs.message(nudge.role, nudge.content, nudge.identifier, nudge.sources)
        draft = draft.reserve(group.tokens)
    continued = None
    rest = tuple(messages)
    if inputs.type == "continue" and inputs.cycle_prompt and not settings.continue_prefill:
        continued, rest, draft = _continued(inputs, settings, draft, rest)
        draft = draft.reserve(continued.tokens)
    chat = _Chat(messages=rest, start=start, group_nudge=group, continued=continued)
    return chat, draft


def _continued(
    inputs: PromptInputs,
    settings: PromptSettings,
    draft: Draft,
    messages: tuple[HistoryMessage, ...],
) -> tuple[Slot, tuple[HistoryMessage, ...], Draft]:
    """Take the newest message of the chat out of it, to stand before a nudge to go on."""
    macros = draft.macros
    extra = {"lastChatMessage": trim(inputs.cycle_prompt)}
    path = "/preset/continue_nudge_prompt"
    nudge, macros = macros.run(settings.continue_nudge, path, evolve(macros.scope, dynamic=extra))
    own: list[PromptMessage] = []
    at = next((at for at, one in enumerate(messages) if not one.injected), None)
    if at is not None:
        newest = messages[at]
        messages = (*messages[:at], *messages[at + 1 :])
        content, macros = macros.run(newest.content, _path(newest))
        own.append(
            draft.costs.message(newest.role, content, None, newest.sources, collection=_NUDGE)
        )
    nudge, macros = macros.run(nudge, path)
    source = setting_source("continue_nudge_prompt")
    own.append(draft.costs.message("system", nudge, _NUDGE, source, collection=_NUDGE))
    return Slot(identifier=_NUDGE, messages=tuple(own)), messages, evolve(draft, macros=macros)


def _path(message: HistoryMessage) -> str:
    return message.sources[0].path if message.sources else ""


def _empty_reply(
    settings: PromptSettings, draft: Draft, messages: Sequence[HistoryMessage]
) -> Draft:
    """Say something for the user where the chat ends with an answer; an injection ends it too."""
    text = settings.send_if_empty
    if not text or not messages or messages[0].role != "assistant":
        return draft
    macros = draft.macros
    if draft.profile is ProjectionProfile.SAFE:
        text, macros = macros.run(text, "/preset/send_if_empty")
    source = setting_source("send_if_empty")
    message = draft.costs.message("user", text, "emptyUserMessageReplacement", source)
    draft = evolve(draft, macros=macros)
    if draft.affords(message.tokens):
        return draft.insert(message, _HISTORY)
    reason = "there is no room for it."
    return draft.drop(lose("EMPTY_REPLY_DROPPED", message.identifier or "", (message,), reason))


def _newest_messages(
    settings: PromptSettings, draft: Draft, messages: Sequence[HistoryMessage]
) -> Draft:
    """Insert messages from the newest on; the first one that does not fit ends the chat."""
    kept: list[PromptMessage] = []
    budget, macros = draft.budget, draft.macros
    at = 0
    for at, one in enumerate(messages):
        content, macros = macros.run(one.content, _path(one))
        message = _history_message(settings, draft, one, content, len(messages) - at)
        if budget - message.tokens < 0:
            break
        if message.content:
            budget -= message.tokens
            kept.append(message)
    else:
        at = len(messages)
    lost = _too_old(settings, draft, messages, at)
    filled = draft.extend(kept[::-1], _HISTORY, at_start=True)
    return evolve(filled, macros=macros).drop(*lost)


def _history_message(
    settings: PromptSettings, draft: Draft, one: HistoryMessage, content: str, number: int
) -> PromptMessage:
    named = settings.names is Names.COMPLETION and one.name
    return draft.costs.message(
        one.role,
        content,
        f"{_HISTORY}-{number}",
        one.sources,
        name=safe_name(one.name or "") if named else None,
        collection=_HISTORY,
    )


def _too_old(
    settings: PromptSettings, draft: Draft, messages: Sequence[HistoryMessage], start: int
) -> Iterator[Dropped]:
    for at in range(start, len(messages)):
        one = messages[at]
        message = _history_message(settings, draft, one, one.content, len(messages) - at)
        reason = (
            "the budget ends here, and the chat with it."
            if at == start
            else "an earlier message from the end of the chat did not fit."
        )
        yield lose("HISTORY_MESSAGE_DROPPED", message.identifier or "", (message,), reason)


def fill_examples(
    inputs: PromptInputs, settings: PromptSettings, draft: Draft, place: int | None
) -> Draft:
    """Fill the slot of the examples, a block at a time; the first that does not fit ends them."""
    if place is None:
        return draft
    draft = draft.put(Slot(identifier=_EXAMPLES), place)
    if not inputs.examples:
        return draft
    text, macros = draft.macros.run(settings.new_example, "/preset/new_example_chat_prompt")
    source = setting_source("new_example_chat_prompt")
    heading = draft.costs.message("system", text, "newChat", source, collection=_EXAMPLES)
    draft = evolve(draft, macros=macros)
    kept: list[PromptMessage] = []
    lost: list[Dropped] = []
    left = draft.budget
    for number, block in enumerate(inputs.examples):
        messages = (heading, *_example_messages(draft, block, number))
        if block.unspoken and draft.profile is ProjectionProfile.ST_1_19:
            lost.append(_unspoken(draft, block, number))
        if left - total(messages) < 0:
            lost += _no_room(draft, inputs.examples, number, heading)
            break
        shown = [one for one in messages if one.content]
        kept += shown
        left -= total(shown)
    return draft.extend(kept, _EXAMPLES).drop(*lost)


def _example_messages(draft: Draft, block: ExampleBlock, number: int) -> Iterator[PromptMessage]:
    turns = block.messages
    if block.unspoken and draft.profile is ProjectionProfile.SAFE:
        turns = (ExampleMessage(content=block.unspoken, name=BOT),)
    for turn, one in enumerate(turns):
        identifier = f"{_EXAMPLES} {number}-{turn}"
        yield draft.costs.message(
            "system", one.content, identifier, block.sources, name=one.name, collection=_EXAMPLES
        )


def _unspoken(draft: Draft, block: ExampleBlock, number: int) -> Dropped:
    identifier = f"{_EXAMPLES} {number}"
    message = draft.costs.message("system", block.unspoken, identifier, block.sources)
    reason = "nobody speaks in it."
    return lose("EXAMPLES_WITHOUT_SPEAKER", identifier, (message,), reason)


def _no_room(
    draft: Draft, blocks: Sequence[ExampleBlock], start: int, heading: PromptMessage
) -> Iterator[Dropped]:
    for number, block in enumerate(blocks[start:], start):
        messages = (*_example_messages(draft, block, number), heading)
        reason = (
            "there is no room for it."
            if number == start
            else "an earlier block of examples did not fit."
        )
        yield lose("EXAMPLES_DROPPED", f"{_EXAMPLES} {number}", messages, reason)
