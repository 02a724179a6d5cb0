"""Personas: the backup file with all of a user's personas.

Source: SillyTavern 1.19.0, public/scripts/personas.js (onBackupPersonas, onPersonasRestoreInput).
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import attrs
from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._fields import Field, json_type
from tavern_format._json_text import JsonObject
from tavern_format._kinds import TEXT, choice, number
from tavern_format._structure import Origin, Spec
from tavern_format.diagnostics import Parsed, Remarks, Report, info, pointer, warn
from tavern_format.errors import MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits


class PersonaPosition(IntEnum):
    """Where the description goes; SillyTavern's numbers."""

    IN_PROMPT = 0
    AFTER_CHAR = 1
    """Deprecated; acts as IN_PROMPT."""
    TOP_AN = 2
    BOTTOM_AN = 3
    AT_DEPTH = 4
    NONE = 9


@frozen(kw_only=True, weakref_slot=False)
class Persona:
    """One persona."""

    avatar: str = ""
    """Avatar file name: the identity of a persona."""
    name: str = ""
    description: str = ""
    position: PersonaPosition = PersonaPosition.IN_PROMPT
    depth: float = 2
    """Messages from the end, for AT_DEPTH."""
    role: float = 0
    """0 system, 1 user, 2 assistant."""
    lorebook: str = ""
    title: str = ""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True)
class PersonaBackup:
    """The whole backup, personas in file order."""

    personas: tuple[Persona, ...] = ()
    default_persona: str | None = None
    """Avatar of the persona that new chats take."""
    raw: Mapping[str, Any] = field(factory=dict, repr=False, eq=False)


_POSITION = choice(
    {int(place): place for place in PersonaPosition}, PersonaPosition.IN_PROMPT, "a position"
)
_SPEC = Spec(
    "persona",
    Persona,
    (
        Field("description", ("description",), TEXT, default=""),
        Field("position", ("position",), _POSITION, default=0),
        Field("depth", ("depth",), number(2), default=2),
        Field("role", ("role",), number(0), default=0),
        Field("lorebook", ("lorebook",), TEXT, default=""),
        Field("title", ("title",), TEXT, default=""),
    ),
)


def parse_personas(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[PersonaBackup]:
    """Parse a backup of personas.

    A description without a persona is reported and kept (SillyTavern skips it). Raises
    MalformedResourceError (JSON_*, PERSONAS_SHAPE) and LimitExceededError.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    document = json_text.load(data, limits, found)
    if not isinstance(document, dict):
        message = f"a backup of personas is an object, not {json_type(document)}"
        raise MalformedResourceError("PERSONAS_SHAPE", message, path="")
    names = _members(document, "personas")
    descriptions = _members(document, "persona_descriptions")
    personas = tuple(
        _read(avatar, name, descriptions.get(avatar), found) for avatar, name in names.items()
    )
    for avatar in descriptions.keys() - names.keys():
        message = "a description without a persona: SillyTavern skips it, it is kept"
        info(found, "PERSONA_MISSING", pointer("/persona_descriptions", avatar), message)
    backup = PersonaBackup(personas=personas, default_persona=_default_of(document), raw=document)
    return Parsed(backup, found.all())


def dump_personas(backup: PersonaBackup, *, indent: int | None = None) -> bytes:
    """Write a backup: what was read, with the edits."""
    names = {persona.avatar: _name_to_json(persona, backup.raw) for persona in backup.personas}
    written = {persona.avatar: _SPEC.encode(persona) for persona in backup.personas}
    before = _numbered(backup.raw.get("persona_descriptions"))
    known = _numbered(backup.raw.get("personas")).keys()
    descriptions = {
        avatar: written.get(avatar, value) if isinstance(value, dict) else value
        for avatar, value in before.items()
        if avatar in names or avatar not in known
    }
    for persona in backup.personas:
        if persona.avatar not in before and persona != Persona(
            avatar=persona.avatar, name=persona.name
        ):
            descriptions[persona.avatar] = written[persona.avatar]
    done = {
        **backup.raw,
        "personas": _like(backup.raw.get("personas"), names),
        "persona_descriptions": _like(backup.raw.get("persona_descriptions"), descriptions),
    }
    if backup.default_persona != _default_of(backup.raw):
        done["default_persona"] = backup.default_persona
    return json_text.dump(done, indent=indent)


def restore_personas(current: Mapping[str, Any], backup: Mapping[str, Any]) -> JsonObject:
    """Merge a backup into the present personas as SillyTavern does: present ones win.

    Takes and returns JSON objects with `personas`, `persona_descriptions` and `default_persona`. A
    description comes along only with a persona of its own; the backup's default persona counts
    when there is such a persona.
    """
    names = dict(_numbered(current.get("personas")))
    descriptions = dict(_numbered(current.get("persona_descriptions")))
    for avatar, name in _numbered(backup.get("personas")).items():
        names.setdefault(avatar, name)
    for avatar, description in _numbered(backup.get("persona_descriptions")).items():
        if avatar in names:
            descriptions.setdefault(avatar, description)
    default = backup.get("default_persona")
    known = isinstance(default, str) and default in names
    return {
        "personas": names,
        "persona_descriptions": descriptions,
        "default_persona": default if known else current.get("default_persona"),
    }


def _default_of(document: Mapping[str, Any]) -> str | None:
    default = document.get("default_persona")
    return default if isinstance(default, str) else None


def _members(document: JsonObject, key: str) -> JsonObject:
    value = document.get(key)
    if not isinstance(value, dict | list):
        message = f"`{key}` must be an object, not {json_type(value)}"
        raise MalformedResourceError("PERSONAS_SHAPE", message, path=pointer("", key))
    return _numbered(value)


def _numbered(value: object) -> JsonObject:
    """Look at an array as JavaScript does: an object with the indices as keys."""
    if isinstance(value, list):
        return {str(at): item for at, item in enumerate(value)}
    return value if isinstance(value, dict) else {}


def _like(before: object, members: JsonObject) -> Any:  # noqa: ANN401
    same_keys = isinstance(before, list) and list(members) == list(_numbered(before))
    return list(members.values()) if same_keys else members


def _read(avatar: str, name: object, raw: object, report: Report) -> Persona:
    place = pointer("/personas", avatar)
    if not isinstance(name, str):
        message = f"the name is {json_type(name)}; the text is kept"
        warn(report, "FIELD_TYPE", place, message)
    described = pointer("/persona_descriptions", avatar)
    if raw is not None and not isinstance(raw, dict):
        message = f"an object is needed here, not {json_type(raw)}; the text is kept"
        warn(report, "FIELD_TYPE", described, message)
    persona = _SPEC.decode(raw if isinstance(raw, dict) else {}, described, report, avatar)
    return attrs.evolve(persona, avatar=avatar, name=_name_of(name))


def _name_of(name: object) -> str:
    plain = isinstance(name, int | float) and not isinstance(name, bool)
    return str(name) if isinstance(name, str) or plain else ""


def _name_to_json(persona: Persona, raw: Mapping[str, Any]) -> object:
    before = _numbered(raw.get("personas")).get(persona.avatar)
    return before if _name_of(before) == persona.name and before is not None else persona.name
