"""The file of selections, as values: who has bound what, in the shape all versions share.

Owns reading one selection out of the file and putting one in, the step from version 1 to 2, and the
loader's own extras beside it. Must not know where the file is or what a bound id stands for.

Source: the plugin contract, sections E1 and F.
"""

import re
from collections.abc import Callable, Container, Mapping
from typing import Any

from attrs import evolve

from tavern_loader.domain.documents import JsonObject, Kind, check_schema
from tavern_loader.domain.js_values import (
    MAX_SAFE_INTEGER,
    id_of,
    ids_of,
    object_of,
    require,
    whole_of,
)
from tavern_loader.domain.rp_mode import rp_from_json, rp_to_json
from tavern_loader.domain.selection import MAX_BOOKS, CharacterChoice, LoreChannel, Selection
from tavern_loader.errors import StoreError

SCHEMA = 2
FIRST_SCHEMA = 1
"""In it, a session's selection stood under its id directly, without a time."""
MAX_SESSIONS = 2048
EMPTY: JsonObject = {"schemaVersion": SCHEMA, "sessions": {}}
EXTRAS_SCHEMA = 1
EMPTY_EXTRAS: JsonObject = {"schemaVersion": EXTRAS_SCHEMA, "sessions": {}, "templates": {}}
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
_SELECTION_KEYS = frozenset(
    {"presetId", "characterCardId", "userId", "worldBookIds", "character", "rp"}
)
_CHOICE_KEYS = frozenset(
    {"greetingIndex", "preferCharacterSystemPrompt", "preferCharacterPostHistory"}
)


def require_session_id(session_id: str) -> str:
    """Give the id of a session back. Raises ValueError for what cannot be one."""
    if not _SESSION_ID.fullmatch(session_id):
        raise ValueError("a session id is 1 to 200 letters, digits and ._:-")
    return session_id


def check(document: JsonObject) -> None:
    """Refuse what is no file of selections. Raises ValueError."""
    check_schema(document, FIRST_SCHEMA, SCHEMA)
    require(isinstance(document.get("sessions"), Mapping), "sessions is no object")


def check_extras(document: JsonObject) -> None:
    """Refuse what is no file of extras. Raises ValueError."""
    check_schema(document, EXTRAS_SCHEMA)


# --- one selection ---------------------------------------------------------------------------


def selection_from_json(value: object, channel: LoreChannel = LoreChannel.SYSTEM) -> Selection:
    """Read a stored selection; what is not understood counts as not bound."""
    found = object_of(value)
    return Selection(
        preset_id=id_of(found.get("presetId")),
        character_id=id_of(found.get("characterCardId")),
        user_id=id_of(found.get("userId")),
        world_book_ids=ids_of(found.get("worldBookIds"), MAX_BOOKS),
        character=_choice_from_json(object_of(found.get("character"))),
        rp=rp_from_json(found.get("rp")),
        lore_channel=channel,
        unknown={key: item for key, item in found.items() if key not in _SELECTION_KEYS},
    )


def selection_to_json(selection: Selection) -> dict[str, Any]:
    """Write a selection as it is stored; the lore channel has no place in it."""
    return {
        **selection.unknown,
        "presetId": selection.preset_id,
        "characterCardId": selection.character_id,
        "userId": selection.user_id,
        "worldBookIds": list(selection.world_book_ids),
        "character": _choice_to_json(selection),
        "rp": rp_to_json(selection.rp),
    }


def _choice_from_json(found: Mapping[str, Any]) -> CharacterChoice:
    return CharacterChoice(
        greeting_index=whole_of(found.get("greetingIndex"), 0) or 0,
        prefer_system_prompt=found.get("preferCharacterSystemPrompt") is not False,
        prefer_post_history=found.get("preferCharacterPostHistory") is not False,
        unknown={key: item for key, item in found.items() if key not in _CHOICE_KEYS},
    )


def _choice_to_json(selection: Selection) -> dict[str, Any]:
    choice = selection.character
    if selection.character_id is None and choice == CharacterChoice():
        return {}
    if not 0 <= choice.greeting_index <= MAX_SAFE_INTEGER:
        raise ValueError("a greeting has a number from 0 on")
    return {
        **choice.unknown,
        "greetingIndex": choice.greeting_index,
        "preferCharacterSystemPrompt": choice.prefer_system_prompt,
        "preferCharacterPostHistory": choice.prefer_post_history,
    }


# --- the file --------------------------------------------------------------------------------


def find(document: JsonObject, extras: JsonObject, session_id: str) -> Selection | None:
    """Give what a session has bound; None for one that was never seen."""
    sessions = object_of(document.get("sessions"))
    if session_id not in sessions:
        return None
    found = sessions[session_id]
    is_first = document.get("schemaVersion") == FIRST_SCHEMA
    selection = found if is_first else object_of(found).get("selection")
    return selection_from_json(selection, channel_of(extras, "sessions", session_id))


def with_selection(
    document: dict[str, Any], session_id: str, selection: Selection, now: str
) -> dict[str, Any]:
    """Put a session's selection into the file.

    Raises StoreError for one session too many: none is thrown out for it, since an old session
    would come back with other things bound.
    """
    done = migrated(document, now)
    known = object_of(done["sessions"].get(session_id))
    done["sessions"][session_id] = {
        **known,
        "selection": selection_to_json(selection),
        "updatedAt": now,
    }
    if len(done["sessions"]) > MAX_SESSIONS:
        message = (
            f"more than {MAX_SESSIONS} sessions have something bound: forget those that are gone"
        )
        raise StoreError("SESSION_SELECTION_LIMIT_REACHED", message)
    return done


def session_ids(document: JsonObject) -> tuple[str, ...]:
    """List the sessions of a file, in its order."""
    return tuple(object_of(document.get("sessions")))


def without_sessions(document: dict[str, Any], gone: Container[str]) -> dict[str, Any]:
    """Forget sessions, in the file of selections or in the extras."""
    sessions = object_of(document.get("sessions"))
    if not any(one in gone for one in sessions):
        return document
    kept = {key: one for key, one in sessions.items() if key not in gone}
    return {**document, "sessions": kept}


def without_resource(document: dict[str, Any], kind: Kind, gone: str, now: str) -> dict[str, Any]:
    """Unbind a resource from every session that has it."""
    done = migrated(document, now)
    for session_id, found in done["sessions"].items():
        record = object_of(found)
        before = selection_from_json(record.get("selection"))
        after = UNBIND[kind](before, gone)
        if after != before:
            done["sessions"][session_id] = {
                **record,
                "selection": selection_to_json(after),
                "updatedAt": now,
            }
    return done


UNBIND: Mapping[Kind, Callable[[Selection, str], Selection]] = {
    Kind.PRESET: lambda held, gone: (
        evolve(held, preset_id=None) if held.preset_id == gone else held
    ),
    Kind.CHARACTER: lambda held, gone: (
        evolve(held, character_id=None, character=CharacterChoice())
        if held.character_id == gone
        else held
    ),
    Kind.USER: lambda held, gone: evolve(held, user_id=None) if held.user_id == gone else held,
    Kind.WORLD_BOOK: lambda held, gone: evolve(
        held, world_book_ids=tuple(one for one in held.world_book_ids if one != gone)
    ),
}
"""How a selection looks without a resource of a kind."""


def migrated(document: dict[str, Any], now: str) -> dict[str, Any]:
    """Bring a file to the version that is written; `now` stands for times it does not have."""
    sessions = dict(object_of(document.get("sessions")))
    if document.get("schemaVersion") == FIRST_SCHEMA:
        sessions = {
            session_id: {"selection": selection_to_json(selection_from_json(one)), "updatedAt": now}
            for session_id, one in sessions.items()
        }
    return {**document, "schemaVersion": SCHEMA, "sessions": sessions}


# --- extras ----------------------------------------------------------------------------------


def channel_of(extras: JsonObject, owners: str, owner_id: str) -> LoreChannel:
    """Read the lore channel of a session (`sessions`) or a template (`templates`)."""
    found = object_of(object_of(extras.get(owners)).get(owner_id)).get("loreChannel")
    return LoreChannel.LATE if found == LoreChannel.LATE else LoreChannel.SYSTEM


def with_channel(
    extras: dict[str, Any], owners: str, owner_id: str, channel: LoreChannel
) -> dict[str, Any]:
    """Remember a lore channel; the usual one takes no place."""
    others = {key: one for key, one in object_of(extras.get(owners)).items() if key != owner_id}
    known = dict(object_of(object_of(extras.get(owners)).get(owner_id)))
    known.pop("loreChannel", None)
    if channel is not LoreChannel.SYSTEM:
        known["loreChannel"] = str(channel)
    return {**extras, owners: {**others, owner_id: known} if known else others}
