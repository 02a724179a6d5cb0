"""Captured prompts: final messages with the lore that was active, read and written.

Owns the shape of the document. Must not know how a prompt is built, nor what becomes of it.

Source: the shape that agent front ends on SillyTavern's base use (`promptSnapshot`), of 2026.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from tavern_compiler._st_json import (
    Report,
    object_of,
    objects_of,
    odd,
    read_object,
    text_of,
    write_object,
)
from tavern_compiler.errors import CompilerError
from tavern_format import Diagnostic, Parsed, Severity

_PAYLOAD, _ACTIVATION = "chatCompletionPayload", "worldInfoActivation"
_TOOL_KEYS = ("tools", "tool_choice")


@frozen(kw_only=True)
class SnapshotMessage:
    """One final message."""

    role: str
    content: str = field(repr=False)
    name: str | None = None
    raw: Mapping[str, Any] = field(factory=dict, repr=False, eq=False)
    """As it was read; fields that are not above survive in it."""


@frozen(kw_only=True)
class SnapshotEntry:
    """One entry of a world book that was active."""

    world: str
    uid: str | float | None = None
    title: str = ""
    constant: bool = False
    content: str = field(default="", repr=False)
    position: str = ""
    """before, after, an_top, an_bottom, depth, em_top, em_bottom, outlet; empty: not said."""
    raw: Mapping[str, Any] = field(factory=dict, repr=False, eq=False)


@frozen(kw_only=True)
class PromptSnapshot:
    """A captured prompt."""

    messages: tuple[SnapshotMessage, ...]
    entries: tuple[SnapshotEntry, ...] = ()
    trigger: str = ""
    """Generation type of the scan that the entries are from."""
    timestamp_ms: float | None = None
    initial_history_messages: int = -1
    """How many of the newest real messages a run is to begin with; -1: all."""
    model: str = ""
    raw: Mapping[str, Any] = field(factory=dict, repr=False, eq=False)


def parse_prompt_snapshot(data: bytes) -> Parsed[PromptSnapshot]:
    """Read a captured prompt.

    Raises CompilerError with code SNAPSHOT_TOO_LARGE, SNAPSHOT_JSON or SNAPSHOT_SHAPE, and what a
    run refuses as well: SNAPSHOT_NO_MESSAGES, SNAPSHOT_TOOLS (tools of others, tool turns),
    SNAPSHOT_STREAM.
    """
    found: list[Diagnostic] = []
    document = read_object(data, "a prompt snapshot")
    payload = object_of(document, _PAYLOAD, "", found.append)
    _refuse(payload)
    path = f"/{_PAYLOAD}"
    messages = tuple(
        _message(raw, f"{path}/messages/{at}", found.append)
        for at, raw in objects_of(payload, "messages", path, found.append)
    )
    if not messages:
        raise CompilerError("SNAPSHOT_NO_MESSAGES", "the snapshot holds no message")
    activation = object_of(document, _ACTIVATION, "", found.append)
    policy = object_of(document, "contextPolicy", "", found.append)
    stamp, history = activation.get("timestampMs"), policy.get("initialChatHistoryMessages")
    snapshot = PromptSnapshot(
        messages=messages,
        entries=_entries(activation, found.append),
        trigger=text_of(activation, "trigger", f"/{_ACTIVATION}", found.append),
        timestamp_ms=stamp if _is_number(stamp) else None,
        initial_history_messages=history if type(history) is int else -1,
        model=text_of(payload, "model", path, found.append),
        raw=document,
    )
    if not snapshot.model:
        message = "The snapshot names no model."
        found.append(Diagnostic("SNAPSHOT_NO_MODEL", Severity.WARNING, f"{path}/model", message))
    return Parsed(snapshot, tuple(found))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse(payload: Mapping[str, Any]) -> None:
    messages = payload.get("messages")
    turns = [one for one in messages if isinstance(one, dict)] if type(messages) is list else []
    tool_turn = any(one.get("role") == "tool" or one.get("tool_calls") for one in turns)
    if tool_turn or any(payload.get(key) is not None for key in _TOOL_KEYS):
        raise CompilerError("SNAPSHOT_TOOLS", "the snapshot holds tools or turns of tools")
    if payload.get("stream") is True:
        raise CompilerError("SNAPSHOT_STREAM", "the snapshot is a request for a stream")


def _message(raw: Mapping[str, Any], path: str, report: Report) -> SnapshotMessage:
    name = raw.get("name")
    return SnapshotMessage(
        role=text_of(raw, "role", path, report) or "system",
        content=_content(raw, path, report),
        name=name if isinstance(name, str) else None,
        raw=raw,
    )


def _content(raw: Mapping[str, Any], path: str, report: Report) -> str:
    """Read a text, or the texts of a list of parts; pictures and the like are reported."""
    content = raw.get("content")
    if not isinstance(content, list):
        return text_of(raw, "content", path, report)
    texts = []
    for at, part in enumerate(content):
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            texts.append(text)
        else:
            report(odd(f"{path}/content/{at}", "a text"))
    return "\n".join(texts)


def _entries(activation: Mapping[str, Any], report: Report) -> tuple[SnapshotEntry, ...]:
    path = f"/{_ACTIVATION}"
    return tuple(
        SnapshotEntry(
            world=text_of(raw, "world", f"{path}/entries/{at}", report),
            uid=raw["uid"] if isinstance(raw.get("uid"), str | int | float) else None,
            title=text_of(raw, "displayName", f"{path}/entries/{at}", report),
            constant=raw.get("constant") is True,
            content=text_of(raw, "content", f"{path}/entries/{at}", report),
            position=text_of(raw, "position", f"{path}/entries/{at}", report),
            raw=raw,
        )
        for at, raw in objects_of(activation, "entries", path, report)
    )


def dump_prompt_snapshot(snapshot: PromptSnapshot) -> bytes:
    """Write a snapshot: what was read, with the edits; unknown fields survive."""
    nothing: Report = _ignore
    payload = object_of(snapshot.raw, _PAYLOAD, "", nothing)
    model = {"model": snapshot.model} if snapshot.model or "model" in payload else {}
    messages = [_message_to_json(one) for one in snapshot.messages]
    document = {**snapshot.raw, _PAYLOAD: {**payload, **model, "messages": messages}}
    policy = object_of(snapshot.raw, "contextPolicy", "", nothing)
    if policy or snapshot.initial_history_messages != -1 or not snapshot.raw:
        limit = {"initialChatHistoryMessages": snapshot.initial_history_messages}
        kept = policy if policy and snapshot.initial_history_messages == -1 else {}
        document["contextPolicy"] = kept or {**policy, **limit}
    if snapshot.entries or snapshot.trigger or _ACTIVATION in snapshot.raw:
        document[_ACTIVATION] = _activation_to_json(snapshot)
    return write_object(document)


def _ignore(_: Diagnostic) -> None:
    """Take a remark that was made when the document was read."""


def _message_to_json(message: SnapshotMessage) -> dict[str, Any]:
    unread = _message(message.raw, "", _ignore) if message.raw else None
    if unread == message:
        return dict(message.raw)
    done = {**message.raw, "role": message.role, "content": message.content}
    return {**done, "name": message.name} if message.name else done


def _activation_to_json(snapshot: PromptSnapshot) -> dict[str, Any]:
    activation = object_of(snapshot.raw, _ACTIVATION, "", _ignore)
    stamp = {} if snapshot.timestamp_ms is None else {"timestampMs": snapshot.timestamp_ms}
    trigger = {"trigger": snapshot.trigger} if snapshot.trigger else {}
    entries = [
        {**one.raw, **{key: value for key, value in _fields(one) if value is not None}}
        for one in snapshot.entries
    ]
    return {**activation, **stamp, **trigger, "entries": entries}


def _fields(entry: SnapshotEntry) -> Iterator[tuple[str, Any]]:
    """List an entry's fields; what neither it nor its raw form says is left out."""
    yield "world", entry.world
    yield "uid", entry.uid
    yield "displayName", entry.title if entry.title or not entry.raw else None
    yield "constant", entry.constant if entry.constant or not entry.raw else None
    yield "content", entry.content
    yield "position", entry.position or None
