"""SillyTavern's own messages from the bytes of files: parse, match, project, keep every remark.

Owns what stands in the chat when a request is made: the greeting of a chat that has none, and the
message about to be sent, as they are stored. Must not know how the result is shown.

Source: SillyTavern 1.19.0, public/script.js (sendMessageAsUser, getFirstMessage, Generate).
"""

from collections.abc import Iterator
from datetime import datetime

from attrs import evolve, frozen

from tavern_compiler import (
    CountTokens,
    MacroContext,
    MacroMessage,
    Projection,
    ProjectionInput,
    ProjectionProfile,
    ProjectionTools,
    ScriptCall,
    ScriptLists,
    ScriptSettings,
    apply_regex_scripts,
    expand_macros,
    expand_with,
    project_messages,
    rewrite_with,
)
from tavern_format import (
    CharacterCard,
    ChatMessage,
    Diagnostic,
    Persona,
    Placement,
    Preset,
    Severity,
    parse_preset,
)
from tavern_loader.domain.chat_facts import ChatFacts, chat_facts
from tavern_loader.service.groundwork import (
    INPUT_IDENTITY,
    Groundwork,
    scan_context,
    used_files,
    user_of,
)
from tavern_loader.service.reading import stem
from tavern_loader.service.resources import CompileRequest, Remark, Resources, read_resources
from tavern_matcher import (
    MatchProfile,
    MatchResult,
    ScanMessage,
    SeededDice,
    compile_index,
    match,
)

_MOST_TOKENS = 2**53
_EMPTY_PRESET = b'{"prompts": [], "prompt_order": []}'


@frozen(kw_only=True)
class MessageList(Groundwork):
    """The messages, with everything that led to them."""

    projection: Projection
    budget_tokens: float
    """Of the whole prompt: the preset's context less its reply."""


@frozen(kw_only=True)
class _Scene:
    """Everything that is known before anything is matched."""

    request: CompileRequest
    found: Resources
    facts: ChatFacts
    scripts: ScriptLists
    settings: ScriptSettings
    context: MacroContext
    """Names, card, time and dice; the messages of the chat are not in it."""
    chat: tuple[ChatMessage, ...] = ()
    spoken: bool = False
    """Whether the last message is the one about to be sent."""
    diagnostics: tuple[Diagnostic, ...] = ()


def project_files(
    request: CompileRequest, *, count_tokens: CountTokens, now: datetime
) -> MessageList:
    """Parse the files, match the books, and build the messages SillyTavern would send.

    Scripts of the card and of the preset run. `now` is what macros take for the time; dice follow
    from the request's seed. Raises InputError for a file that cannot be used as what it was given
    for.
    """
    found = read_resources(request)
    scene = _with_input(_with_greeting(_scene(request, found, now)))
    preset = found.preset or parse_preset(_EMPTY_PRESET).value
    budget = _budget(preset)
    matched = _match(scene, budget, count_tokens)
    projection = _project(scene, preset, matched, count_tokens)
    return MessageList(
        used=tuple(used_files(request, found, user_of(request, found.chat))),
        books=found.books,
        match=matched,
        projection=projection,
        budget_tokens=budget,
        remarks=(
            *found.remarks,
            *(Remark("matching", diagnostic) for diagnostic in matched.diagnostics),
            *(Remark("messages", one) for one in _diagnostics(scene, projection)),
        ),
    )


def _scene(request: CompileRequest, found: Resources, now: datetime) -> _Scene:
    user = user_of(request, found.chat)
    card = found.card or CharacterCard()
    messages = tuple(found.chat.messages) if found.chat else ()
    facts = chat_facts(found.chat, stem(request.chat.name) if request.chat else "")
    return _Scene(
        request=request,
        found=found,
        facts=facts,
        scripts=ScriptLists(
            preset=found.preset.regex_scripts if found.preset else (),
            character=card.regex_scripts,
            preset_allowed=request.use_scripts,
            character_allowed=request.use_scripts,
        ),
        settings=ScriptSettings(),
        context=MacroContext(
            user=user.name,
            char=card.name or "Assistant",
            description=card.description,
            personality=card.personality,
            scenario=facts.overrides.scenario or card.scenario,
            persona=user.description,
            message_examples=facts.overrides.message_examples or card.message_examples,
            system_prompt=facts.overrides.system_prompt or card.system_prompt,
            post_history_instructions=card.post_history_instructions,
            depth_prompt=card.depth_prompt.prompt if card.depth_prompt else "",
            creator_notes=card.creator_notes,
            character_version=card.character_version,
            greeting=card.greeting,
            alternate_greetings=card.alternate_greetings,
            chat=facts.macros,
            variables=facts.variables,
            now=now,
            dice=SeededDice(request.seed).for_scan(str(len(messages))),
        ),
        chat=messages,
    )


def _with_greeting(scene: _Scene) -> _Scene:
    """Open a chat without any message with the card's greeting, as SillyTavern stores it."""
    card = scene.found.card
    if scene.chat or card is None or not card.greeting:
        return scene
    call = ScriptCall(placement=Placement.AI_OUTPUT)
    done = apply_regex_scripts(card.greeting, scene.scripts, call, scene.context, scene.settings)
    return evolve(
        scene,
        chat=(ChatMessage(name=card.name, text=done.text),),
        context=evolve(scene.context, variables=done.variables),
        diagnostics=(*scene.diagnostics, *done.diagnostics),
    )


def _with_input(scene: _Scene) -> _Scene:
    """Put the message about to be sent behind the chat: scripts first, then its macros."""
    text = scene.request.input_text
    if not text:
        return scene
    context = _told(scene)
    call = ScriptCall(placement=Placement.USER_INPUT)
    done = apply_regex_scripts(text, scene.scripts, call, context, scene.settings)
    shown = expand_macros(done.text, evolve(context, variables=done.variables))
    said = ChatMessage(name=scene.context.user, is_user=True, text=shown.text)
    found = (evolve(one, path="/input_text") for one in shown.diagnostics)
    return evolve(
        scene,
        chat=(*scene.chat, said),
        spoken=True,
        context=evolve(scene.context, variables=shown.variables),
        diagnostics=(*scene.diagnostics, *done.diagnostics, *found),
    )


def _told(scene: _Scene) -> MacroContext:
    """Give the context with the chat so far."""
    messages = tuple(
        MacroMessage(
            text=one.text,
            is_user=one.is_user,
            is_system=one.is_system,
            send_date=one.send_date if isinstance(one.send_date, str | int | float) else None,
        )
        for one in scene.chat
    )
    return evolve(scene.context, chat=evolve(scene.context.chat, messages=messages))


def _match(scene: _Scene, budget_tokens: float, count_tokens: CountTokens) -> MatchResult:
    request, found = scene.request, scene.found
    context = _told(scene)
    messages = tuple(_scanned(scene, context))
    scanned = scan_context(found.card, messages, user_of(request, found.chat), context)
    return match(
        compile_index(found.books, request.settings),
        evolve(scanned, context_size_tokens=int(min(budget_tokens, _MOST_TOKENS))),
        scene.facts.timed,
        dice=SeededDice(request.seed).for_scan(str(len(messages))),
        count_tokens=count_tokens,
        expand=lambda text: expand_macros(text, context).text,
    )


def _scanned(scene: _Scene, context: MacroContext) -> Iterator[ScanMessage]:
    """Give the visible messages as they are searched: after the scripts for the prompt."""
    shown = [(at, one) for at, one in enumerate(scene.chat) if not one.is_system]
    for place, (at, one) in enumerate(shown):
        kind = Placement.USER_INPUT if one.is_user else Placement.AI_OUTPUT
        call = ScriptCall(placement=kind, for_prompt=True, depth=len(shown) - 1 - place)
        done = apply_regex_scripts(one.text, scene.scripts, call, context, scene.settings)
        is_input = scene.spoken and at == len(scene.chat) - 1
        identity = INPUT_IDENTITY if is_input else f"#{at + 1}"
        yield ScanMessage(identity=identity, speaker=one.name, text=done.text)


def _project(
    scene: _Scene, preset: Preset, matched: MatchResult, count_tokens: CountTokens
) -> Projection:
    user = user_of(scene.request, scene.found.chat)
    given = ProjectionInput(
        preset=preset,
        character=scene.found.card,
        persona=Persona(name=user.name, description=user.description),
        chat=scene.chat,
        lore=matched.placement,
        note=scene.facts.note,
        overrides=scene.facts.overrides,
    )
    strict = scene.request.settings.profile is MatchProfile.ST_1_19
    tools = ProjectionTools(
        expand=expand_with(scene.context),
        macro_state=scene.context.variables,
        rewrite=rewrite_with(scene.scripts, scene.context, scene.settings),
        profile=ProjectionProfile.ST_1_19 if strict else ProjectionProfile.SAFE,
    )
    return project_messages(given, count_tokens=count_tokens, tools=tools)


def _budget(preset: Preset) -> float:
    """Give the context less the reply, with SillyTavern's defaults."""
    context = 4095 if preset.context_size_tokens is None else preset.context_size_tokens
    reply = 300 if preset.reply_size_tokens is None else preset.reply_size_tokens
    return max(0, context - reply)


def _diagnostics(scene: _Scene, projection: Projection) -> Iterator[Diagnostic]:
    if scene.found.preset is None:
        message = "Without a preset SillyTavern's default order is used, without its own texts."
        yield Diagnostic("PRESET_MISSING", Severity.INFO, "", message)
    lists = {"preset": scene.scripts.preset, "character": scene.scripts.character}
    does = "here they run" if scene.request.use_scripts else "here they are off, as asked"
    for name, scripts in lists.items():
        if scripts:
            amount = f"{len(scripts)} regex script{'' if len(scripts) == 1 else 's'}"
            message = f"{amount}: SillyTavern asks before such scripts run, {does}."
            path = f"/{name}/regex_scripts"
            yield Diagnostic("REGEX_SCRIPTS_OF_FILES", Severity.INFO, path, message)
    yield from scene.diagnostics
    for one in projection.diagnostics:
        # Without a preset there is no order either: that was said.
        if scene.found.preset is not None or one.code != "PROMPT_ORDER_MISSING":
            yield one
