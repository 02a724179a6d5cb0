"""Chats of other applications, as SillyTavern imports them.

One table row per application: how to know it, how to read its messages. Times are left out:
SillyTavern stamps the time of the import, and this package reads no clock.

Source: SillyTavern 1.19.0, src/endpoints/chats.js (importOobaChat, importAgnaiChat,
importKoboldLiteChat, importCAIChat, importRisuChat).
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from attrs import frozen

from tavern_format import _json_text as json_text
from tavern_format._fields import json_type
from tavern_format._json_text import JsonObject
from tavern_format.chat import Chat, ChatHeader, ChatMessage
from tavern_format.diagnostics import Parsed, Remarks
from tavern_format.errors import LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits


@frozen
class Names:
    """Who speaks where the file does not say."""

    user: str
    character: str


Line = tuple[bool, str, str]
"""Whether the user speaks, the speaker's name, the text."""


def import_chat(
    data: bytes, *, user_name: str, character_name: str, limits: Limits = DEFAULT_LIMITS
) -> Parsed[tuple[Chat, ...]]:
    """Read a chat of text-generation-webui, Agnai, KoboldAI Lite, CAI Tools or RisuAI (JSON).

    One file may hold several chats; `limits.chat_messages` bounds each, its header included.
    Raises MalformedResourceError (JSON_*, FOREIGN_CHAT_UNKNOWN) and LimitExceededError.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    document = json_text.load(data, limits, found)
    if not isinstance(document, dict):
        message = f"a chat export is an object, not {json_type(document)}"
        raise MalformedResourceError("FOREIGN_CHAT_UNKNOWN", message, path="")
    names = Names(user_name, character_name)
    for knows, read in _READERS:
        if knows(document):
            chats = tuple(_chat(lines, limits) for lines in read(document, names))
            return Parsed(chats, found.all())
    message = "no known chat export"
    if "visible" in document and "internal" in document:
        message += " (text-generation-webui: export the `data_visible` form)"
    raise MalformedResourceError("FOREIGN_CHAT_UNKNOWN", message, path="")


def _chat(lines: Iterator[Line], limits: Limits) -> Chat:
    messages = tuple(
        ChatMessage(name=name, is_user=is_user, text=text)
        for is_user, name, text in islice(lines, limits.chat_messages)
    )
    if len(messages) == limits.chat_messages:  # the header makes one line more
        raise LimitExceededError(
            limit="chat_messages",
            actual=limits.chat_messages + 1,
            maximum=limits.chat_messages,
            unit="lines",
        )
    header = ChatHeader(user_name="unused", character_name="unused")
    return Chat(header=header, messages=messages)


def _objects(value: object) -> Iterator[JsonObject]:
    return (
        (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _ooba(document: JsonObject, names: Names) -> Iterator[Iterator[Line]]:
    def lines() -> Iterator[Line]:
        for pair in document["data_visible"]:
            texts = [_text(item) for item in pair] if isinstance(pair, list) else []
            for at, text in enumerate(texts[:2]):
                if text:
                    yield at == 0, (names.user, names.character)[at], text

    yield lines()


def _agnai(document: JsonObject, names: Names) -> Iterator[Iterator[Line]]:
    yield (
        (
            bool(item.get("userId")),
            names.user if item.get("userId") else names.character,
            _text(item.get("msg")),
        )
        for item in _objects(document["messages"])
    )


_INPUT, _OUTPUT = "{{[INPUT]}}", "{{[OUTPUT]}}"


def _kobold(document: JsonObject, names: Names) -> Iterator[Iterator[Line]]:
    settings: Any = document["savedsettings"]
    user = _text(settings.get("chatname")) or names.user
    character = _text(settings.get("chatopponent")).split("||$||")[0] or names.character
    actions = document.get("actions")
    texts = [document.get("prompt"), *(actions if isinstance(actions, list) else [])]

    def lines() -> Iterator[Line]:
        for text in filter(None, map(_text, texts)):
            is_user = _INPUT in text
            said = text.replace(_INPUT, "").replace(_OUTPUT, "").strip()
            yield is_user, user if is_user else character, said

    yield lines()


def _cai(document: JsonObject, names: Names) -> Iterator[Iterator[Line]]:
    for history in _objects(document["histories"]["histories"]):
        yield (
            (
                _is_human(item),
                names.user if _is_human(item) else names.character,
                _text(item.get("text")),
            )
            for item in _objects(history.get("msgs"))
        )


def _is_human(item: JsonObject) -> bool:
    source = item.get("src")
    return isinstance(source, dict) and source.get("is_human") is True


def _risu(document: JsonObject, names: Names) -> Iterator[Iterator[Line]]:
    yield (
        (
            item.get("role") == "user",
            _text(item.get("name"))
            or (names.user if item.get("role") == "user" else names.character),
            _text(item.get("data")),
        )
        for item in _objects(document["data"]["message"])
    )


_Reader = Callable[[JsonObject, Names], Iterator[Iterator[Line]]]
_READERS: tuple[tuple[Callable[[JsonObject], bool], _Reader], ...] = (
    (lambda found: isinstance(found.get("savedsettings"), dict), _kobold),
    (
        lambda found: (
            isinstance(found.get("histories"), dict) and "histories" in found["histories"]
        ),
        _cai,
    ),
    (lambda found: isinstance(found.get("data_visible"), list), _ooba),
    (lambda found: isinstance(found.get("messages"), list), _agnai),
    (
        lambda found: (
            found.get("type") == "risuChat"
            and isinstance(found.get("data"), dict)
            and "message" in found["data"]
        ),
        _risu,
    ),
)
