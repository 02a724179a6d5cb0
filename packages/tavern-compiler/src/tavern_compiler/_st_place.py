"""The order in which a request is filled and paid.

Must not know how a text came to be.

Source: SillyTavern 1.19.0, public/scripts/openai.js (populateChatCompletion).
"""

from collections.abc import Iterable

from attrs import evolve, frozen

from tavern_compiler._st_chat import Names
from tavern_compiler._st_collection import KNOWN_EXTENSIONS, MAIN, Collection
from tavern_compiler._st_draft import Draft, OverBudgetError, Slot, lose
from tavern_compiler._st_fill import fill_examples, fill_history, safe_name
from tavern_compiler._st_inject import inject, lost_at_depth
from tavern_compiler._st_preset import StPrompt
from tavern_compiler._st_settings import PromptSettings
from tavern_compiler._text import trim
from tavern_compiler.st_prompt_inputs import HistoryMessage, PromptInputs
from tavern_compiler.st_result import PromptMessage

PRIMING_TOKENS = 3
"""What SillyTavern keeps for the start of every answer."""
_FIRST = (
    "worldInfoBefore",
    MAIN,
    "worldInfoAfter",
    "charDescription",
    "charPersonality",
    "scenario",
    "personaDescription",
)
"""Placed first, in this order: it decides what still fits, not where it stands."""
_CONTROLS = "controlPrompts"
_HISTORY, _EXAMPLES = "chatHistory", "dialogueExamples"
_BY_NAME = frozenset(
    {*_FIRST, "nsfw", "jailbreak", "enhanceDefinitions", "bias", _HISTORY, _EXAMPLES}
)
_NEVER_RELATIVE = frozenset({"impersonate", "quietPrompt", "groupNudge", "bias"})


@frozen(kw_only=True)
class Job:
    """What all steps share."""

    inputs: PromptInputs
    collection: Collection
    settings: PromptSettings
    pin_examples: bool = False


def fill(job: Job, draft: Draft) -> tuple[Draft, str | None]:
    """Fill a request; also name the mandatory prompt that did not fit, where one did not."""
    try:
        return _fill(job, draft.reserve(PRIMING_TOKENS)), None
    except OverBudgetError as fault:
        reason = "mandatory prompts are larger than what is left, and nothing after it gets in."
        lost = lose("MANDATORY_OVER_BUDGET", fault.identifier, fault.messages, reason)
        return fault.draft.drop(lost), fault.identifier


def _fill(job: Job, draft: Draft) -> Draft:
    draft = _place_all(job, draft, _FIRST)
    draft = evolve(draft, overridden=job.collection.overridden)
    controls = _controls(job, draft)
    reserved = Slot(identifier=_CONTROLS, messages=controls).tokens
    draft = draft.reserve(reserved)
    custom = [
        prompt.identifier
        for prompt in job.collection.prompts
        if prompt.custom and not prompt.in_chat
    ]
    draft = _place_all(job, draft, ("nsfw", "jailbreak", *custom, "enhanceDefinitions"))
    if trim(job.inputs.bias):
        draft = _place_all(job, draft, ("bias",))
    in_chat = [prompt for prompt in job.collection.prompts if prompt.in_chat]
    draft, in_chat = _beside_main(job, draft, in_chat)
    draft = _note_unplaced(job, draft)
    messages, prefill, draft = _prefill(job, draft)
    if prefill is not None:
        controls = (*controls, prefill)
        draft = draft.reserve(prefill.tokens)
        reserved += prefill.tokens
    draft = _chat_and_examples(job, draft, messages, in_chat)
    draft = draft.reserve(-reserved)
    return draft.put(Slot(identifier=_CONTROLS, messages=controls)) if controls else draft


def _place_all(job: Job, draft: Draft, names: Iterable[str]) -> Draft:
    """Place prompts by their names in their slots, unless they are off or at a depth."""
    collection = job.collection
    wanted: list[tuple[int, Slot]] = []
    for identifier in names:
        at = collection.index(identifier)
        if at is None or (collection.order.is_disabled(identifier) and identifier != MAIN):
            continue
        prompt = collection.prompts[at]
        if not prompt.in_chat:
            message = _message(draft, prompt, identifier)
            wanted.append((at, Slot(identifier=identifier, messages=(message,))))
    return draft.put_all(wanted)


def _message(draft: Draft, prompt: StPrompt, collection: str) -> PromptMessage:
    return draft.costs.message(
        prompt.role, prompt.content, prompt.identifier, prompt.sources, collection=collection
    )


def _controls(job: Job, draft: Draft) -> tuple[PromptMessage, ...]:
    """Make the prompts that always come last."""
    wanted = []
    impersonate = job.collection.get("impersonate")
    if job.inputs.type == "impersonate" and impersonate is not None:
        wanted.append(impersonate)
    quiet = job.collection.get("quietPrompt")
    if quiet is not None and quiet.content:
        wanted.append(quiet)
    return tuple(_message(draft, prompt, _CONTROLS) for prompt in wanted)


def _beside_main(job: Job, draft: Draft, in_chat: list[StPrompt]) -> tuple[Draft, list[StPrompt]]:
    """Put extension prompts before and after the main prompt; where that is at a depth, there."""
    collection = job.collection
    known = [collection.get(name) for name in KNOWN_EXTENSIONS.values()]
    beside = [prompt for prompt in known if prompt is not None]
    beside += [prompt for prompt in collection.prompts if prompt.extension]
    for prompt in beside:
        if prompt.at_start is None:
            continue
        main = next((at for at, one in enumerate(in_chat) if one.identifier == MAIN), None)
        if draft.has(MAIN):
            message = _message(draft, prompt, MAIN)
            draft = draft.insert(message, MAIN, at_start=prompt.at_start)
        elif main is not None:
            there = in_chat[main]
            copy = evolve(
                prompt, role=there.role, in_chat=True, depth=there.depth, order=there.order
            )
            at = main if prompt.at_start else main + 1
            in_chat = [*in_chat[:at], copy, *in_chat[at:]]
        else:
            reason = "it stands beside the main prompt, which is not in the prompt order."
            message = _message(draft, prompt, MAIN)
            draft = draft.drop(lose("MAIN_PROMPT_MISSING", prompt.identifier, (message,), reason))
    return draft, in_chat


def _note_unplaced(job: Job, draft: Draft) -> Draft:
    """Name the prompts of the preset that have a text and no place."""
    placed = {slot.identifier for slot in draft.slots.values()}
    for prompt in job.collection.prompts:
        name = prompt.identifier
        known = name in _BY_NAME or name in _NEVER_RELATIVE or prompt.at_start is not None
        if prompt.content and not prompt.in_chat and name not in placed and not known:
            if prompt.extension or name in KNOWN_EXTENSIONS.values():
                continue
            reason = "it is not marked as a prompt of the user's own (`system_prompt: false`)."
            message = _message(draft, prompt, name)
            draft = draft.drop(lose("PROMPT_NOT_PLACED", name, (message,), reason))
    return draft


def _prefill(
    job: Job, draft: Draft
) -> tuple[tuple[HistoryMessage, ...], PromptMessage | None, Draft]:
    """Take the message that is to be continued out of the chat; it comes last of all."""
    inputs, settings = job.inputs, job.settings
    messages = inputs.messages
    if inputs.type != "continue" or not settings.continue_prefill or not messages:
        return messages, None, draft
    newest, rest = messages[0], messages[1:]
    start, macros = "", draft.macros
    if newest.role == "assistant" and settings.source == "claude":
        start, macros = macros.run(settings.assistant_prefill, "/preset/assistant_prefill")
    named = settings.names is Names.COMPLETION and newest.name
    message = draft.costs.message(
        newest.role,
        "\n\n".join(text for text in (start, newest.content) if text),
        "continuePrefill",
        newest.sources,
        name=safe_name(newest.name or "", check=False) if named else None,
        collection=_CONTROLS,
    )
    return rest, message, evolve(draft, macros=macros)


def _chat_and_examples(
    job: Job, draft: Draft, messages: tuple[HistoryMessage, ...], in_chat: list[StPrompt]
) -> Draft:
    rows = job.inputs.extension_prompts
    injected = inject(messages, in_chat, rows, draft.macros)
    draft = evolve(draft, macros=injected.macros)
    history, examples = job.collection.index(_HISTORY), job.collection.index(_EXAMPLES)
    losses = [*lost_at_depth(in_chat, rows)]
    if history is None:
        reason = "the chat history, at whose depth it stands, is not in the prompt order."
        whole = [one for one in injected.messages if one.injected]
        losses = [
            (StPrompt(identifier="", content=one.content, sources=one.sources), reason)
            for one in whole
        ]
    for prompt, reason in losses:
        message = _message(draft, prompt, _HISTORY)
        draft = draft.drop(lose("INJECTION_LOST", prompt.identifier, (message,), reason))
    nudge = job.collection.get("groupNudge")
    if job.pin_examples:
        draft = fill_examples(job.inputs, job.settings, draft, examples)
    draft, continued = fill_history(
        job.inputs, job.settings, draft, (injected.messages, history, nudge, examples)
    )
    if not job.pin_examples:
        draft = fill_examples(job.inputs, job.settings, draft, examples)
    return draft if continued is None else draft.put(continued)
