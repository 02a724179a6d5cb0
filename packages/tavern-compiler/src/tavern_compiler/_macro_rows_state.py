"""Rows that read state: names, the card, the chat, the host.

Source: SillyTavern 1.19.0, public/scripts/macros/definitions/env-macros.js, chat-macros.js,
state-macros.js, instruct-macros.js.
"""

from collections.abc import Callable

from tavern_compiler._js_number import number_text, to_number
from tavern_compiler.macro_context import HostFacts, InstructTexts, MacroContext, MacroMessage
from tavern_compiler.macro_fields import example_blocks, greeting_name
from tavern_compiler.macro_table import Macro, MacroCall, Parameter, Value, ValueType

_INTEGER = (ValueType.INTEGER,)


def user_name(context: MacroContext) -> str:
    """Name the user."""
    return context.user if context.user_override is None else context.user_override


def char_name(context: MacroContext) -> str:
    """Name the character that speaks."""
    return context.char if context.char_override is None else context.char_override


def group_names(context: MacroContext, *, muted: bool = True) -> str:
    """Name the members of the group, or the one character."""
    if context.group_override is not None:
        return context.group_override
    if context.group is None:
        return char_name(context)
    return ", ".join(one.name for one in context.group if muted or not one.muted)


def _others(context: MacroContext) -> str:
    if context.group_override is not None:
        return context.group_override
    if context.group is None:
        return user_name(context)
    speaker = char_name(context)
    # SillyTavern leaves out who is muted here, although nothing in the name says so.
    others = (one for one in context.group if not one.muted and one.name != speaker)
    return ", ".join(one.name for one in others)


def _context(read: Callable[[MacroContext], object]) -> Value:
    return lambda _, context: read(context)


def _host(read: Callable[[HostFacts], object]) -> Value:
    return lambda _, context: read(context.host)


def _field(name: str) -> Value:
    return lambda call, _: call.field(name)


def _card_row(name: str, field: str, *aliases: str, part: str | None = None) -> Macro:
    return Macro(name=name, value=_field(field), aliases=aliases, field=part)


def _examples(call: MacroCall, context: MacroContext) -> str:
    heading = "<START>\n"
    if context.host.text_completion and context.host.instruct is None:
        separator = context.host.example_separator
        heading = f"{call.expand(separator)}\n" if separator else ""
    return example_blocks(call.field("message_examples"), heading)


def _greeting(call: MacroCall, context: MacroContext) -> str:
    index = to_number(call.args[0]) if call.args else 0.0
    count = len(context.alternate_greetings) if context.card else 0
    name = greeting_name(int(index) if abs(index) <= count else -1, count)
    return "" if name is None else call.field(name)


# --- the chat --------------------------------------------------------------------------------


def last_index(
    context: MacroContext, wanted: Callable[[MacroMessage], bool], *, swiping: bool = False
) -> int | None:
    """Find the last message that is wanted; one whose swipe is being made counts if `swiping`."""
    known = context.chat.last_seen
    key = (wanted, swiping)
    if key not in known:
        messages = context.chat.messages
        places = (
            at
            for at in range(len(messages) - 1, -1, -1)
            if (swiping or not _is_swiping(messages[at])) and wanted(messages[at])
        )
        known[key] = next(places, None)
    return known[key]


def _is_swiping(message: MacroMessage) -> bool:
    count, index = message.swipe_count, message.swipe_index
    return count is not None and index is not None and index >= count


def last_text(context: MacroContext, wanted: Callable[[MacroMessage], bool]) -> str:
    """Give the text of the last message that is wanted."""
    at = last_index(context, wanted)
    return "" if at is None else context.chat.messages[at].text


def any_message(_: MacroMessage) -> bool:
    """Want every message."""
    return True


def of_user(message: MacroMessage) -> bool:
    """Want what the user wrote."""
    return message.is_user and not message.is_system


def of_char(message: MacroMessage) -> bool:
    """Want what a character wrote."""
    return not message.is_user and not message.is_system


def swipe_count(context: MacroContext) -> int | None:
    """Count the swipes of the last message."""
    at = last_index(context, any_message, swiping=True)
    return None if at is None else context.chat.messages[at].swipe_count


def swipe_number(context: MacroContext) -> str | None:
    """Number the swipe of the last message that is shown, from 1."""
    at = last_index(context, any_message, swiping=True)
    index = None if at is None else context.chat.messages[at].swipe_index
    return None if index is None else number_text(index + 1.0)


def chat_range(context: MacroContext) -> str:
    """Give the numbers of the first and the last message."""
    count = len(context.chat.messages)
    return f"0-{count - 1}" if count else ""


# --- templates -------------------------------------------------------------------------------


def instruct(read: Callable[[InstructTexts], str]) -> Value:
    """Read a sequence, while instruct mode is on."""
    return lambda _, context: read(context.host.instruct) if context.host.instruct else ""


def _active_system_prompt(call: MacroCall, context: MacroContext) -> str:
    own = context.host.system_prompt
    if own is None:
        return ""
    return (call.field("system_prompt") if context.host.prefer_card_system_prompt else "") or own


STATE: tuple[Macro, ...] = (
    Macro(name="user", value=_context(user_name)),
    Macro(name="char", value=_context(char_name)),
    Macro(name="group", value=_context(group_names), hidden_aliases=("charIfNotGroup",)),
    Macro(name="groupNotMuted", value=_context(lambda at: group_names(at, muted=False))),
    Macro(name="notChar", value=_context(_others)),
    _card_row("charPrompt", "system_prompt"),
    _card_row("charInstruction", "post_history_instructions"),
    _card_row("charDescription", "description", "description", part="description"),
    _card_row("charPersonality", "personality", "personality", part="personality"),
    _card_row("charScenario", "scenario", "scenario", part="scenario"),
    _card_row("persona", "persona", part="persona"),
    _card_row("mesExamplesRaw", "message_examples", part="messageExample"),
    Macro(name="mesExamples", value=_examples, field="messageExample"),
    _card_row("charDepthPrompt", "depth_prompt"),
    _card_row("charCreatorNotes", "creator_notes", "creatorNotes"),
    Macro(name="charFirstMessage", value=_greeting, aliases=("greeting",),
          parameters=(Parameter("index", optional=True, types=_INTEGER),)),
    Macro(name="charVersion", value=_context(lambda at: at.character_version if at.card else ""),
          hidden_aliases=("version", "char_version")),
    Macro(name="model", value=_host(lambda at: at.model)),
    Macro(name="original", value=lambda call, _: call.original()),
    Macro(name="isMobile", value=_host(lambda at: at.is_mobile), returns=(ValueType.BOOLEAN,)),
    Macro(name="input", value=_host(lambda at: at.input_text)),
    Macro(name="maxPrompt", value=_host(lambda at: at.context_tokens - at.response_tokens),
          aliases=("maxPromptTokens",), returns=_INTEGER),
    Macro(name="maxContext", value=_host(lambda at: at.context_tokens),
          aliases=("maxContextTokens",), returns=_INTEGER),
    Macro(name="maxResponse", value=_host(lambda at: at.response_tokens),
          aliases=("maxResponseTokens",), returns=_INTEGER),
    Macro(name="lastGenerationType", value=_host(lambda at: at.generation_type)),
    Macro(name="hasExtension", value=lambda call, at: call.args[0] in at.host.extensions,
          parameters=(Parameter("extensionName"),)),
    Macro(name="lastMessage", value=_context(lambda at: last_text(at, any_message))),
    Macro(name="lastMessageId", value=_context(lambda at: last_index(at, any_message)),
          returns=_INTEGER),
    Macro(name="lastUserMessage", value=_context(lambda at: last_text(at, of_user))),
    Macro(name="lastCharMessage", value=_context(lambda at: last_text(at, of_char))),
    Macro(name="firstIncludedMessageId", value=_context(lambda at: at.chat.first_included),
          returns=_INTEGER),
    Macro(name="firstDisplayedMessageId", value=_context(lambda at: at.chat.first_displayed),
          returns=_INTEGER),
    Macro(name="lastSwipeId", value=_context(swipe_count), returns=_INTEGER),
    Macro(name="currentSwipeId", value=_context(swipe_number), returns=_INTEGER),
    Macro(name="allChatRange", value=_context(chat_range)),
    Macro(name="instructStoryStringPrefix", value=instruct(lambda at: at.story_prefix)),
    Macro(name="instructStoryStringSuffix", value=instruct(lambda at: at.story_suffix)),
    Macro(name="instructUserPrefix", value=instruct(lambda at: at.user_prefix),
          aliases=("instructInput",)),
    Macro(name="instructUserSuffix", value=instruct(lambda at: at.user_suffix)),
    Macro(name="instructAssistantPrefix", value=instruct(lambda at: at.assistant_prefix),
          aliases=("instructOutput",)),
    Macro(name="instructAssistantSuffix", value=instruct(lambda at: at.assistant_suffix),
          aliases=("instructSeparator",)),
    Macro(name="instructSystemPrefix", value=instruct(lambda at: at.system_prefix)),
    Macro(name="instructSystemSuffix", value=instruct(lambda at: at.system_suffix)),
    Macro(name="instructFirstAssistantPrefix",
          value=instruct(lambda at: at.first_assistant_prefix or at.assistant_prefix),
          aliases=("instructFirstOutputPrefix",)),
    Macro(name="instructLastAssistantPrefix",
          value=instruct(lambda at: at.last_assistant_prefix or at.assistant_prefix),
          aliases=("instructLastOutputPrefix",)),
    Macro(name="instructStop", value=instruct(lambda at: at.stop)),
    Macro(name="instructUserFiller", value=instruct(lambda at: at.user_filler)),
    Macro(name="instructSystemInstructionPrefix",
          value=instruct(lambda at: at.system_instruction_prefix)),
    Macro(name="instructFirstUserPrefix",
          value=instruct(lambda at: at.first_user_prefix or at.user_prefix),
          aliases=("instructFirstInput",)),
    Macro(name="instructLastUserPrefix",
          value=instruct(lambda at: at.last_user_prefix or at.user_prefix),
          aliases=("instructLastInput",)),
    Macro(name="defaultSystemPrompt", value=_host(lambda at: at.system_prompt),
          aliases=("instructSystem", "instructSystemPrompt")),
    Macro(name="systemPrompt", value=_active_system_prompt),
    Macro(name="exampleSeparator", value=_host(lambda at: at.example_separator),
          aliases=("chatSeparator",)),
    Macro(name="chatStart", value=_host(lambda at: at.chat_start)),
    Macro(name="authorsNote", value=_host(lambda at: at.authors_note)),
    Macro(name="charAuthorsNote", value=_host(lambda at: at.char_authors_note)),
    Macro(name="defaultAuthorsNote", value=_host(lambda at: at.default_authors_note)),
    Macro(name="reasoningPrefix", value=_host(lambda at: at.reasoning_prefix)),
    Macro(name="reasoningSuffix", value=_host(lambda at: at.reasoning_suffix)),
    Macro(name="reasoningSeparator", value=_host(lambda at: at.reasoning_separator)),
)  # fmt: skip
