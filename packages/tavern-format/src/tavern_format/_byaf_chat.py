"""A Backyard scenario's messages as a chat, the way SillyTavern imports them.

Owns the mapping of messages; names and the start time come from the caller.

Source: SillyTavern 1.19.0, src/byaf.js (getChatFromScenario).
"""

from datetime import UTC, datetime
from typing import Any

from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._byaf_values import first_text, is_truthy, items, member, rewrite_macros
from tavern_format._json_text import JsonObject
from tavern_format._kinds import number_of
from tavern_format.byaf import examples_of, read_byaf
from tavern_format.diagnostics import Parsed, Remarks
from tavern_format.errors import LimitExceededError
from tavern_format.limits import DEFAULT_LIMITS, Limits

_SETTINGS: tuple[tuple[str, str, Any], ...] = (
    ("model", "model", ""),
    ("temperature", "temperature", 1.2),
    ("top_k", "topK", 40),
    ("top_p", "topP", 0.9),
    ("min_p", "minP", 0.1),
    ("min_p_enabled", "minPEnabled", True),
    ("repeat_penalty", "repeatPenalty", 1.05),
    ("repeat_penalty_tokens", "repeatLastN", 256),
    ("by_prompt_template", "promptTemplate", "general"),
    ("grammar", "grammar", None),
)
"""Key in the chat, key in the scenario, value where the scenario has none."""
_URI_LETTERS = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'();/?:@&=+$,#"
)
"""What encodeURI leaves as it is."""


@frozen(kw_only=True)
class ByafChat:
    """The chat of one scenario."""

    title: str
    """Of the scenario; empty where it has none."""
    content: bytes = field(repr=False)
    """The chat file, as `parse_chat` reads it."""
    background: str | None
    """Path of the scenario's background picture in the archive (and in the card's `files`)."""


def byaf_chats(
    data: bytes,
    *,
    user_name: str,
    character_name: str | None = None,
    start_date: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Parsed[tuple[ByafChat, ...]]:
    """Make a chat of each scenario of a BYAF archive, in the archive's order.

    `character_name` is by default the name of the archive's card; `start_date` dates a greeting
    without messages. A background goes by its file name, without folders. Raises CarrierError
    (ZIP_*, BYAF_*), MalformedResourceError and LimitExceededError, as for the card.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    opened = read_byaf(data, limits, found)
    name = str(opened.card["data"]["name"]) if character_name is None else character_name
    chats = []
    for scenario, background in zip(opened.scenarios, opened.backgrounds, strict=True):
        content = chat_of_scenario(
            scenario,
            user_name=user_name,
            character_name=name,
            start_date=start_date,
            background_name=(background or "").rpartition("/")[2],
        )
        lines = content.count(b"\n") + 1
        if lines > limits.chat_messages:
            raise LimitExceededError(
                limit="chat_messages", actual=lines, maximum=limits.chat_messages, unit="lines"
            )
        title = member(scenario, "title")
        chats.append(
            ByafChat(
                title=title if isinstance(title, str) else "",
                content=content,
                background=background,
            )
        )
    return Parsed(tuple(chats), found.all())


def chat_of_scenario(
    scenario: JsonObject,
    *,
    user_name: str,
    character_name: str,
    start_date: str | None = None,
    background_name: str = "",
) -> bytes:
    """Write a scenario as a chat file: a header line and one line for each message.

    `start_date` dates the greeting of a scenario without messages (SillyTavern takes the clock).
    Equal numbers of human and AI messages are interleaved, as SillyTavern does to repair an old
    export. Messages that are not objects, or AI messages without outputs, are left out.
    """
    lines = [_header(scenario, background_name)]
    greeting = first_text(scenario)
    if is_truthy(greeting):
        date = _start(scenario) if items(scenario, "messages") else start_date
        dated = {} if date is None else {"send_date": date}
        lines.append({"name": character_name, "is_user": False, **dated, "mes": greeting})
    for message in _in_order(scenario):
        if message.get("type") == "human":
            lines.append(_human(message, user_name))
        elif items(message, "outputs"):
            lines.append(_ai(message, character_name))
    return b"\n".join(map(json_text.dump, lines))


def _header(scenario: JsonObject, background_name: str) -> JsonObject:
    settings = {
        key: default if member(scenario, source) is None else scenario[source]
        for key, source, default in _SETTINGS
    }
    narrative, optional = scenario.get("narrative"), scenario.get("canDeleteExampleMessages")
    metadata: JsonObject = {
        "scenario": "" if narrative is None else narrative,
        "mes_example": examples_of(scenario),
        "system_prompt": rewrite_macros(scenario.get("formattingInstructions")),
        "mes_examples_optional": False if optional is None else optional,
        "byaf_model_settings": settings,
        "chat_backgrounds": [background_name] if background_name else [],
        "custom_background": f'url("{_encode_uri(background_name)}")' if background_name else "",
    }
    return {"user_name": "unused", "character_name": "unused", "chat_metadata": metadata}


def _start(scenario: JsonObject) -> Any:  # noqa: ANN401
    dates = (member(message, "createdAt") for message in items(scenario, "messages"))
    return next((date for date in dates if date is not None), None)


def _in_order(scenario: JsonObject) -> list[JsonObject]:
    messages = [found for found in items(scenario, "messages") if isinstance(found, dict)]
    human = [message for message in messages if message.get("type") == "human"]
    ai = [message for message in messages if message.get("type") == "ai"]
    if len(human) != len(ai):
        return messages
    return [message for pair in zip(human, ai, strict=True) for message in pair]


def _human(message: JsonObject, user_name: str) -> JsonObject:
    date = _number(message.get("createdAt"))
    return {"name": user_name, "is_user": True, "send_date": date, "mes": message.get("text")}


def _ai(message: JsonObject, character_name: str) -> JsonObject:
    outputs = items(message, "outputs")
    newest = outputs[0]
    for output in outputs[1:]:
        if not _instant(newest) >= _instant(output):
            newest = output
    swipes = [member(output, "text") for output in outputs]
    return {
        "name": character_name,
        "is_user": False,
        "send_date": _number(member(newest, "createdAt")),
        "mes": member(newest, "text"),
        "swipes": swipes,
        "swipe_id": swipes.index(member(newest, "text")),
    }


def _number(value: object) -> float | None:
    """Do what Number() does and JSON after it: a date in words becomes null."""
    if isinstance(value, str):
        return number_of(value)
    return value if isinstance(value, int | float) else None


def _instant(output: object) -> float:
    """Give the time an output was last chosen in milliseconds; NaN, which is never newest."""
    active = member(output, "activeTimestamp")
    try:
        if isinstance(active, int | float):
            return float(active)
        moment = datetime.fromisoformat(active if isinstance(active, str) else "")
    except (ValueError, OverflowError):
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000


def _encode_uri(text: str) -> str:
    raw = text.encode("utf-8", "replace")
    return "".join(chr(byte) if byte in _URI_LETTERS else f"%{byte:02X}" for byte in raw)
