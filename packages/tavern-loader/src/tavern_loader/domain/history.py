"""The host's messages as a scan takes them: who said it, and what.

Owns the rule of which messages are conversation. What the host adds for itself, such as snapshots
of runtime contexts, results of tools and notes about subagents, has the role of the user in its
log: only the source tells. Must not know sessions or bounds.

Source: the host contract, section 5 ("Message"), and the plugin contract, sections A6, B5 and C.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen


class Speaker(StrEnum):
    """Who says a message; the values are the host's roles."""

    USER = "user"
    ASSISTANT = "assistant"


SOURCES: Mapping[str, tuple[Speaker, frozenset[str | None]]] = {
    "user": (Speaker.USER, frozenset({None, "user"})),
    "assistant": (Speaker.ASSISTANT, frozenset({None, "model"})),
}
"""By role: who speaks, and the kinds of sources that are conversation; None: it has no source."""


@frozen(kw_only=True)
class SpokenMessage:
    """One message of the conversation."""

    id: str | None
    speaker: Speaker
    text: str = field(repr=False)


@frozen(kw_only=True)
class History:
    """The conversation so far, as far as its texts are at hand."""

    messages: tuple[SpokenMessage, ...] = ()
    """The latest ones that have a text, oldest first."""
    earlier_user: int = 0
    """Messages of the user before these."""
    earlier_assistant: int = 0

    @property
    def earlier(self) -> int:
        """Messages before those whose texts are at hand."""
        return self.earlier_user + self.earlier_assistant

    @property
    def is_opening(self) -> bool:
        """Whether nobody has answered yet, and the user has spoken at most once."""
        spoken = [message.speaker for message in self.messages]
        answered = self.earlier_assistant + spoken.count(Speaker.ASSISTANT)
        return not answered and self.earlier_user + spoken.count(Speaker.USER) <= 1


def speaker_of(message: Mapping[str, Any]) -> Speaker | None:
    """Say who speaks in a message of the host; None for what is no conversation."""
    return _speaker(message.get("role"), _source_kind(message.get("source")))


def _source_kind(source: object) -> object:
    return source.get("kind") if isinstance(source, Mapping) else source


def _speaker(role: object, kind: object) -> Speaker | None:
    found = SOURCES.get(role) if isinstance(role, str) else None
    return found[0] if found and (kind is None or kind in found[1]) else None


def text_of(message: Mapping[str, Any]) -> str:
    """Join the text blocks of a message with line breaks; other blocks have no text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list | tuple) else ()
    return "\n".join(
        block["text"]
        for block in blocks
        if isinstance(block, Mapping)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )


def id_of(message: Mapping[str, Any]) -> str | None:
    """Give the id of a message; None if it has none that is a text."""
    identity = message.get("id")
    return identity if isinstance(identity, str) and identity else None


def read_history(
    messages: Iterable[Mapping[str, Any]], earlier: Mapping[str, int] | None = None
) -> History:
    """Keep the conversation of a host's messages.

    `earlier` counts older messages by `<role>/<kind of source>`, the kind empty without a source.
    """
    spoken = (
        SpokenMessage(id=id_of(message), speaker=speaker, text=text)
        for message in messages
        if (speaker := speaker_of(message)) and (text := text_of(message))
    )
    counted = dict.fromkeys(Speaker, 0)
    for name, number in (earlier or {}).items():
        role, _, kind = name.partition("/")
        speaker = _speaker(role, kind or None)
        if speaker is not None:
            counted[speaker] += number
    return History(
        messages=tuple(spoken),
        earlier_user=counted[Speaker.USER],
        earlier_assistant=counted[Speaker.ASSISTANT],
    )
