"""New and edited presets, and the regular expression scripts inside presets and cards.

Owns what of a preset can be edited. The raw preset stays as it came: `exported_preset` joins the
two. Must not know files.

Source: the plugin contract, section F.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tavern_loader.domain.documents import DOCUMENT_SCHEMA, JsonObject, Kind
from tavern_loader.domain.js_values import (
    list_of,
    name_of,
    number_of,
    object_of,
    require,
    text_of,
    whole_of,
)
from tavern_loader.domain.preset_document import ROLES, effort_of, identifier_of, stops_of

_SCRIPT_PLACES = (
    ("regex_scripts",),
    ("extensions", "regex_scripts"),
    ("data", "extensions", "regex_scripts"),
)
"""Where scripts are looked for in a raw resource, first found first."""


def blank_preset(*, document_id: str, name: str, now: str) -> dict[str, Any]:
    """Make a new preset with one empty prompt."""
    return {
        "schemaVersion": DOCUMENT_SCHEMA,
        "id": document_id,
        "name": name_of(name, "Untitled preset"),
        "createdAt": now,
        "updatedAt": now,
        "source": {"format": "dsh-tavern", "createdAt": now},
        "systemPromptMode": "append",
        "sampling": {"temperature": 1, "st": {}},
        "prompts": [
            {
                "identifier": "main",
                "name": "Main prompt",
                "role": "system",
                "content": "",
                "enabled": True,
                "marker": False,
                "systemPrompt": False,
                "st": {},
            }
        ],
    }


def edited_preset(document: dict[str, Any], patch: JsonObject, now: str) -> dict[str, Any]:
    """Change a preset: name, mode, sampling and prompts, each replaced as a whole if it is given.

    Raises ValueError for a value of another kind.
    """
    done = {**document, "updatedAt": now}
    if "name" in patch:
        done["name"] = name_of(patch["name"], text_of(document.get("name")))
    if "systemPromptMode" in patch:
        mode = patch["systemPromptMode"]
        require(mode in ("append", "replace"), "systemPromptMode is append or replace")
        done["systemPromptMode"] = mode
    if "sampling" in patch:
        require(isinstance(patch["sampling"], Mapping), "sampling is no object")
        done["sampling"] = _sampling(object_of(document.get("sampling")), patch["sampling"])
    if "prompts" in patch:
        require(isinstance(patch["prompts"], list), "prompts is no list")
        done["prompts"] = [_prompt(one, at) for at, one in enumerate(patch["prompts"])]
    return done


def _sampling(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    stop = stops_of(patch["stop"]) if isinstance(patch.get("stop"), list) else before.get("stop")
    told = {
        "temperature": number_of(patch.get("temperature")),
        "maxTokens": whole_of(patch.get("maxTokens"), 1),
        "reasoningEffort": effort_of(patch.get("reasoningEffort")),
        "stop": stop,
    }
    samplers = patch["st"] if isinstance(patch.get("st"), Mapping) else before.get("st")
    kept = {name: value for name, value in before.items() if name not in told and name != "st"}
    given = {name: value for name, value in told.items() if value is not None}
    return {**kept, **given, "st": dict(object_of(samplers))}


def _prompt(found: object, at: int) -> dict[str, Any]:
    require(isinstance(found, Mapping), f"prompt {at} is no object")
    prompt = object_of(found)
    return {
        **prompt,
        "identifier": identifier_of(prompt, at),
        "name": name_of(prompt.get("name"), f"Prompt {at + 1}"),
        "role": ROLES.get(text_of(prompt.get("role")), "user"),
        "content": text_of(prompt.get("content")),
        "enabled": prompt.get("enabled") is True,
        "marker": prompt.get("marker") is True,
        "systemPrompt": prompt.get("systemPrompt") is True,
        "st": dict(object_of(prompt.get("st"))),
    }


# --- regular expression scripts --------------------------------------------------------------


def regex_scripts_of(document: JsonObject) -> Sequence[Any]:
    """List the scripts of a preset or a character, as they came."""
    raw = object_of(object_of(document.get("source")).get("raw"))
    place = _place(raw)
    return () if place is None else list_of(_at(raw, place))


def with_regex_scripts(
    document: dict[str, Any], kind: Kind, scripts: object, now: str
) -> dict[str, Any]:
    """Replace all scripts of a preset or a character. Raises ValueError for what is no script."""
    listed = list_of(scripts)
    are_scripts = isinstance(scripts, list) and all(isinstance(one, Mapping) for one in listed)
    require(are_scripts, "regex scripts are a list of objects")
    source = object_of(document.get("source"))
    raw = dict(object_of(source.get("raw")))
    inside = kind is Kind.CHARACTER and source.get("format") != "sillytavern-v1"
    place = _place(raw) or _SCRIPT_PLACES[2 if inside else 1]
    return {
        **document,
        "updatedAt": now,
        "source": {**source, "raw": _put(raw, place, list(listed))},
    }


def _place(raw: Mapping[str, Any]) -> tuple[str, ...] | None:
    found = (place for place in _SCRIPT_PLACES if isinstance(_at(raw, place), list))
    return next(found, None)


def _at(raw: Mapping[str, Any], place: tuple[str, ...]) -> object:
    found: object = raw
    for name in place:
        found = object_of(found).get(name)
    return found


def _put(raw: Mapping[str, Any], place: tuple[str, ...], value: object) -> dict[str, Any]:
    name, *inner = place
    if not inner:
        return {**raw, name: value}
    return {**raw, name: _put(object_of(raw.get(name)), tuple(inner), value)}
