"""What the metadata of a SillyTavern chat says beside its messages.

Owns the keys. A value of another type counts as missing: SillyTavern's own editors write these.

Source: SillyTavern 1.19.0, public/scripts/authors-note.js, variables.js, world-info.js, macros.js.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import field, frozen

from tavern_compiler import AuthorsNote, ChatOverrides, ExtensionPosition, MacroChat, Variables
from tavern_format import Chat, Role
from tavern_matcher import MatchState, state_from_json

N = TypeVar("N", ExtensionPosition, Role)


@frozen(kw_only=True)
class ChatFacts:
    """The facts."""

    note: AuthorsNote = field(factory=AuthorsNote)
    overrides: ChatOverrides = field(factory=ChatOverrides)
    variables: Variables = field(factory=Variables)
    macros: MacroChat = field(factory=MacroChat)
    """Without messages."""
    timed: MatchState = field(factory=MatchState)


def chat_facts(chat: Chat | None, file_name: str) -> ChatFacts:
    """Read the facts of a chat; `file_name` without its extension is how a chat is called."""
    if chat is None or chat.header is None:
        return ChatFacts()
    metadata = chat.header.metadata
    variables, timed = metadata.get("variables"), metadata.get("timedWorldInfo")
    seed, kept = metadata.get("pick_reroll_seed"), _number(metadata.get("chat_id_hash"))
    return ChatFacts(
        note=_note(metadata),
        overrides=ChatOverrides(
            system_prompt=_text(metadata, "system_prompt"),
            scenario=_text(metadata, "scenario"),
            message_examples=_text(metadata, "mes_example"),
        ),
        variables=Variables(local=variables if isinstance(variables, Mapping) else {}),
        macros=MacroChat(
            id=_text(metadata, "main_chat") or file_name,
            id_hash=kept,
            pick_seed=seed if isinstance(seed, str) else None,
        ),
        timed=state_from_json(timed if isinstance(timed, Mapping) else None),
    )


def _note(metadata: Mapping[str, Any]) -> AuthorsNote:
    usual = AuthorsNote()
    interval, depth = (_number(metadata.get(f"note_{name}")) for name in ("interval", "depth"))
    return AuthorsNote(
        text=_text(metadata, "note_prompt"),
        interval_messages=usual.interval_messages if interval is None else interval,
        position=_member(metadata.get("note_position"), usual.position),
        depth=usual.depth if depth is None else depth,
        role=_member(metadata.get("note_role"), usual.role),
    )


def _text(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _member(value: object, usual: N) -> N:
    kind = type(usual)
    return next((one for one in kind if _number(value) == one), usual)
