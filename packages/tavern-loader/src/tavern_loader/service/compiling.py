"""One step's prompt as a value: match the books against what is said, compile the parts.

Owns which fact goes to which package. The same input gives the same result: dice follow from the
session, the turn and the step, the time is an argument. Must not know sessions, stores or a host's
messages; whoever wants to see what would be sent calls the same function as a real step.
"""

from collections.abc import Mapping
from datetime import datetime

import attrs
from attrs import evolve, field, frozen

from tavern_compiler import (
    CompileInput,
    HostFacts,
    LoreChannel,
    MacroChat,
    MacroContext,
    MacroMessage,
    Profile,
    User,
    Variables,
    compile_profile,
    expand_macros,
)
from tavern_loader.domain.activation import ActivationContext, ActivationMessage
from tavern_loader.domain.history import History, Speaker
from tavern_loader.domain.memory import START, Checkpoint, clock
from tavern_loader.ports import TokenCounter
from tavern_loader.service.library import Resolved
from tavern_loader.service.shared_variables import SharedValues
from tavern_matcher import (
    MatchResult,
    ScanCharacter,
    ScanContext,
    ScanMessage,
    ScanSources,
    SeededDice,
    match,
)

_UNREAD = ScanMessage(identity="", text="")
"""Stands for a message that is too far back to be read: the clock of timed effects counts it."""
_UNREAD_IN_MACROS = MacroMessage()


@frozen(kw_only=True)
class Lapse:
    """An earlier question of the host about the session that was not answered."""

    method: str
    turn: int | None = None
    step: int | None = None
    reason: str = ""


@frozen(kw_only=True)
class StepInput:
    """Everything one step's prompt is made from."""

    session_id: str
    chat_id: str
    """The session that all forks go back to: `{{pick}}` picks the same in all of them."""
    turn: int = 0
    step: int = 0
    seq: int = 0
    """Number of the next event of the log."""
    resolved: Resolved = field(repr=False)
    history: History = field(factory=History, repr=False)
    activation: ActivationContext = field(factory=ActivationContext, repr=False)
    base: Checkpoint = START
    """What the steps before have left."""
    shared: SharedValues = field(factory=SharedValues, repr=False)
    """Variables of all chats."""
    now: datetime | None = None
    count_tokens: TokenCounter | None = None
    model: str = ""
    context_tokens: int | None = None
    """Size of the model's context; None: nobody knows."""
    budget_tokens: int | None = None
    """Of lore; None: a share of the context."""
    max_profile_bytes: int
    lapses: tuple[Lapse, ...] = ()
    """Steps before this one went on without us; the audit says so."""


@frozen(kw_only=True)
class StepResult:
    """One step's prompt, and everything that led to it."""

    given: StepInput = field(repr=False)
    match: MatchResult = field(repr=False)
    profile: Profile = field(repr=False)
    after: Checkpoint = field(repr=False)
    """What holds after the step."""


def run_step(given: StepInput) -> StepResult:
    """Match and compile. Raises CompilerError (TAVERN_PROFILE_TOO_LARGE), MatcherError."""
    length_messages, unseen_messages = clock(given.base, given.activation.length_messages)
    macros = _macros(given)
    matched = match(
        given.resolved.index,
        _scan_context(given, macros, length_messages),
        given.base.timed,
        dice=macros.dice,
        count_tokens=given.count_tokens,
        expand=lambda text: expand_macros(text, macros).text,
    )
    compiled = CompileInput(
        preset=given.resolved.preset,
        character=given.resolved.character,
        user=given.resolved.user,
        match=matched,
        options=given.resolved.options,
        include_greeting=given.history.is_opening,
        system_prompt_mode=given.resolved.system_prompt_mode,
        resources=given.resolved.references,
        lore_channel=LoreChannel(given.resolved.lore_channel),
        max_profile_bytes=given.max_profile_bytes,
        macros=macros,
    )
    profile = compile_profile(compiled)
    after = Checkpoint(
        seq=given.seq,
        turn=given.turn,
        step=given.step,
        length_messages=length_messages,
        unseen_messages=unseen_messages,
        timed=matched.state,
        variables=profile.variables.local,
    )
    return StepResult(given=given, match=matched, profile=profile, after=after)


# --- what macros and scan see ----------------------------------------------------------------


def _user(resolved: Resolved) -> User:
    return resolved.user or User()


def _user_name(resolved: Resolved) -> str:
    return _user(resolved).name or "User"


def _char_name(resolved: Resolved) -> str:
    card = resolved.character
    names = () if card is None else (card.nickname, card.name)
    return next((name for name in names if name.strip()), "Assistant")


def _macros(given: StepInput) -> MacroContext:
    resolved, card = given.resolved, given.resolved.character
    context = MacroContext(
        user=_user_name(resolved),
        char=_char_name(resolved),
        persona=_user(resolved).description,
        chat=MacroChat(id=given.chat_id, messages=_macro_messages(given)),
        host=HostFacts(model=given.model, generation_type="normal"),
        variables=Variables(local=given.base.variables, shared=given.shared.values),
        now=given.now,
        dice=SeededDice(given.session_id).for_scan(f"{given.turn}/{given.step}"),
    )
    if card is None:
        return context
    return evolve(
        context,
        description=card.description,
        personality=card.personality,
        scenario=card.scenario,
        message_examples=card.message_examples,
        system_prompt=card.system_prompt,
        post_history_instructions=card.post_history_instructions,
        depth_prompt=card.depth_prompt.prompt if card.depth_prompt else "",
        creator_notes=card.creator_notes,
        character_version=card.character_version,
        greeting=card.greeting,
        alternate_greetings=card.alternate_greetings,
    )


def _macro_messages(given: StepInput) -> tuple[MacroMessage, ...]:
    read = given.activation.messages
    unread = max(given.activation.length_messages - len(read), 0)
    return (
        *((_UNREAD_IN_MACROS,) * unread),
        *(MacroMessage(text=one.text, is_user=one.speaker is Speaker.USER) for one in read),
    )


def _scan_context(given: StepInput, macros: MacroContext, length_messages: int) -> ScanContext:
    card = given.resolved.character
    read = given.activation.messages
    names = {Speaker.USER: macros.user, Speaker.ASSISTANT: macros.char}
    return ScanContext(
        messages=(
            *((_UNREAD,) * max(length_messages - len(read), 0)),
            *(_scan_message(place, one, names) for place, one in enumerate(read)),
        ),
        sources=_sources(macros),
        character=None if card is None else ScanCharacter(avatar_name=card.name),
        # The preset's own size of the context is a setting of SillyTavern's: here the host owns it.
        context_size_tokens=given.context_tokens,
        budget_tokens=given.budget_tokens,
    )


def _scan_message(
    place: int, message: ActivationMessage, names: Mapping[Speaker, str]
) -> ScanMessage:
    return ScanMessage(
        identity=message.id or f"{message.origin}-{place}",
        speaker=names[message.speaker],
        text=message.text,
    )


def _sources(macros: MacroContext) -> ScanSources:
    texts = ScanSources(
        persona_description=macros.persona,
        character_description=macros.description,
        character_personality=macros.personality,
        character_depth_prompt=macros.depth_prompt,
        scenario=macros.scenario,
        creator_notes=macros.creator_notes,
    )
    return ScanSources(
        **{
            name: expand_macros(text, macros).text if text else ""
            for name, text in attrs.asdict(texts).items()
        }
    )
