"""The chat as the prompt builder takes it: roles, names in front, regex scripts, newest first.

Must not know the budget, nor what is put between messages.

Source: SillyTavern 1.19.0, public/script.js (Generate) and public/scripts/openai.js
(setOpenAIMessages).
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

from attrs import evolve, frozen

from tavern_compiler._text import trim
from tavern_compiler.macro_context import MacroMessage
from tavern_compiler.st_input import ProjectionInput
from tavern_compiler.st_macros import Macros
from tavern_compiler.st_prompt_inputs import HistoryMessage
from tavern_compiler.st_result import MessageSource, MessageSourceKind
from tavern_format import ChatMessage, Placement

_NARRATOR = "narrator"
_NO_BIAS_TYPES = frozenset({"impersonate", "continue"})


class Names(IntEnum):
    """How the model learns who speaks; SillyTavern's `names_behavior`."""

    NONE = -1
    DEFAULT = 0
    COMPLETION = 1
    """In the message's `name`."""
    CONTENT = 2
    """In front of every text."""


@frozen
class CoreMessage:
    """A message that is sent, with the text it has by then."""

    index: int
    """Its number in the whole chat."""
    message: ChatMessage
    text: str
    reasoned: bool = False
    """Whether its reasoning stands in front of it."""

    @property
    def narrator(self) -> bool:
        """Whether it is told by nobody."""
        return self.message.extra.get("type") == _NARRATOR


def macro_message(message: ChatMessage) -> MacroMessage:
    """Give what macros may ask about a message."""
    date = message.send_date
    return MacroMessage(
        text=message.text,
        is_user=message.is_user,
        is_system=message.is_system,
        send_date=date if isinstance(date, str | int | float) else None,
        swipe_index=message.swipe_id,
        swipe_count=len(message.swipes) if message.swipes else None,
    )


def core_chat(given: ProjectionInput, macros: Macros) -> tuple[tuple[CoreMessage, ...], Macros]:
    """Choose the messages that are sent, oldest first, and run regex scripts on them.

    The first message of the chat is expanded before anything else looks at it, hidden or not.
    """
    texts = [message.text for message in given.chat]
    if texts:
        texts[0], macros = macros.run(texts[0], "/chat/0/text")
        first = macro_message(evolve(given.chat[0], text=texts[0]))
        chat = macros.scope.chat
        macros = evolve(
            macros,
            scope=evolve(macros.scope, chat=evolve(chat, messages=(first, *chat.messages[1:]))),
        )
    shown = [at for at, message in enumerate(given.chat) if not message.is_system]
    if given.type == "swipe":
        shown = shown[:-1]
    # The message that is continued is not a finished one: it stands before depth 0.
    newest_depth = -1 if given.type == "continue" else 0
    core = []
    for place, at in enumerate(shown):
        message = given.chat[at]
        kind = Placement.USER_INPUT if message.is_user else Placement.AI_OUTPUT
        depth = len(shown) - 1 - place + newest_depth
        text, macros = macros.rewritten(texts[at], kind, f"/chat/{at}/text", depth)
        core.append(CoreMessage(at, message, "\n\n".join((text, *_titles(message.extra)))))
    return tuple(core), macros


def _titles(extra: Any) -> list[str]:  # noqa: ANN401 - `extra` is what extensions put there
    """List the titles of pictures that are to stand below the text."""
    media = extra.get("media")
    items = [item for item in media if isinstance(item, dict)] if isinstance(media, list) else []
    return [
        item["title"]
        for item in (extra, *items)
        if item.get("append_title") and isinstance(item.get("title"), str) and item["title"]
    ]


def history(
    given: ProjectionInput, core: Sequence[CoreMessage], names: Names | None
) -> tuple[HistoryMessage, ...]:
    """Give each message its role and name, newest first."""
    user = given.persona.name if given.persona else ""
    return tuple(
        HistoryMessage(
            role=_role(one),
            content=_named(one, names, in_group=given.group is not None, user=user).replace(
                "\r", ""
            ),
            name=one.message.name,
            sources=tuple(_sources(one)),
        )
        for one in reversed(core)
    )


def _sources(one: CoreMessage) -> Iterator[MessageSource]:
    for part in (*(("extra/reasoning",) if one.reasoned else ()), "text"):
        yield MessageSource(
            kind=MessageSourceKind.CHAT, identifier=str(one.index), field=f"{one.index}/{part}"
        )


def _role(one: CoreMessage) -> str:
    if one.narrator:
        return "system"
    return "user" if one.message.is_user else "assistant"


def _named(one: CoreMessage, names: Names | None, *, in_group: bool, user: str) -> str:
    message = one.message
    stranger = message.name != user
    # In a group SillyTavern names narrators too, and only there.
    by_default = stranger and (in_group or (bool(message.force_avatar) and not one.narrator))
    wanted = {Names.DEFAULT: by_default, Names.CONTENT: not one.narrator}
    in_front = names is not None and wanted.get(names, False)
    return f"{message.name}: {one.text}" if in_front else one.text


def bias(given: ProjectionInput, macros: Macros) -> tuple[str, Macros]:
    """Find the start of the answer: what the newest message of a user has, else the setting."""
    if given.type in _NO_BIAS_TYPES:
        return "", macros
    own = _message_bias(given)
    return macros.run(own or given.settings.user_bias, "/settings/user_bias")


def _message_bias(given: ProjectionInput) -> str:
    messages = given.chat[:-1] if given.type == "swipe" else given.chat
    for message in reversed(messages):
        if message.is_user or message.is_system or message.extra.get("type") == _NARRATOR:
            found = message.extra.get("bias")
            return found if isinstance(found, str) and trim(found) else ""
    return ""


def cycle_prompt(given: ProjectionInput, core: Sequence[CoreMessage], postfix: str) -> str:
    """Give the text that is to be continued; empty where nothing is."""
    if given.type != "continue":
        return ""
    newest = core[-1].text if core else ""
    return newest if newest.endswith(" ") else f"{newest}{postfix}"
