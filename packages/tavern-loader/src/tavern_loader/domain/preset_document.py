"""Stored presets: from a SillyTavern preset to the document, to the model, and back.

Owns the normal form of prompts and sampling that the document shows beside the raw preset. An
edited document is the raw preset with the edits applied, an unedited one is the raw preset itself.
Must not know files, or what is sent.

Source: the plugin contract, sections A11, A12 and F.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tavern_format import GLOBAL_ORDER_ID, Parsed, Preset, parse_preset
from tavern_loader.domain.documents import DOCUMENT_SCHEMA, JsonObject
from tavern_loader.domain.js_values import (
    list_of,
    name_of,
    number_of,
    object_of,
    strings_of,
    text_of,
    whole_of,
)

MAX_STOPS = 16
SOURCE_FORMAT = "sillytavern-chat-completion"
_EFFORTS = frozenset({"low", "medium", "high", "xhigh"})
ROLES = {"system": "system", "assistant": "assistant", "model": "assistant"}
_SAMPLERS = (
    "temperature",
    "frequency_penalty",
    "presence_penalty",
    "top_p",
    "top_k",
    "top_a",
    "min_p",
    "repetition_penalty",
    "openai_max_context",
    "openai_max_tokens",
    "reasoning_effort",
    "seed",
    "n",
)
_SAMPLING_KEYS = {
    "temperature": "temperature",
    "maxTokens": "openai_max_tokens",
    "reasoningEffort": "reasoning_effort",
    "stop": "stop",
}
"""Name in the document, key in the preset."""
_PROMPT_KEYS = {
    "identifier": "identifier",
    "name": "name",
    "role": "role",
    "content": "content",
    "marker": "marker",
    "systemPrompt": "system_prompt",
    "injectionPosition": "injection_position",
    "injectionDepth": "injection_depth",
}
"""The same for a prompt; its switch stands in the prompt order."""


def new_preset(raw: JsonObject, *, document_id: str, name: str, now: str) -> dict[str, Any]:
    """Make the document of a preset that was imported at `now`."""
    chosen = _chosen_order(raw)
    source: dict[str, Any] = {"format": SOURCE_FORMAT, "importedAt": now}
    if chosen is not None and "character_id" in chosen:
        source["selectedOrderCharacterId"] = chosen["character_id"]
    return {
        "schemaVersion": DOCUMENT_SCHEMA,
        "id": document_id,
        "name": name_of(name or raw.get("name"), "Imported preset"),
        "createdAt": now,
        "updatedAt": now,
        "source": {**source, "raw": dict(raw)},
        "systemPromptMode": "append",
        "sampling": _sampling(raw),
        "prompts": list(_prompts(raw, chosen)),
    }


def preset_of(document: JsonObject) -> Parsed[Preset]:
    """Give the preset that a document stands for, prompts in the order of the document.

    The place of a prompt in the document is its place in the preset: parts are named by it. Raises
    FormatError for a document that holds no usable preset.
    """
    raw = _edited_settings(document)
    prompts = [*_numbered(document)]
    raw["prompts"] = [
        {**_edited_prompt(prompt), "identifier": identifier, "enabled": prompt["enabled"] is True}
        for identifier, prompt in prompts
    ]
    raw["prompt_order"] = [_order(GLOBAL_ORDER_ID, prompts)]
    return parse_preset(json.dumps(raw).encode())


def exported_preset(document: JsonObject) -> dict[str, Any]:
    """Give the preset as SillyTavern reads it: the raw one, with the edits of the document."""
    raw = _edited_settings(document)
    before = [*_prompts(raw, _chosen_order(raw))]
    if list(list_of(document.get("prompts"))) == before:
        return raw
    prompts = [*_numbered(document)]
    raw["prompts"] = [
        {**_edited_prompt(prompt), "identifier": identifier} for identifier, prompt in prompts
    ]
    source = object_of(document.get("source"))
    chosen = source.get("selectedOrderCharacterId", GLOBAL_ORDER_ID)
    orders = [one for one in list_of(raw.get("prompt_order")) if isinstance(one, Mapping)]
    others = [one for one in orders if str(one.get("character_id")) != str(chosen)]
    raw["prompt_order"] = [*others, _order(chosen, prompts)]
    return raw


def is_replacing(document: JsonObject) -> bool:
    """Whether the preset stands in place of the host's own system prompt."""
    return document.get("systemPromptMode") == "replace"


# --- reading ---------------------------------------------------------------------------------


def identifier_of(prompt: JsonObject, index: int) -> str:
    """Name a prompt, by its place where it has no name."""
    return text_of(prompt.get("identifier")).strip() or f"prompt-{index + 1}"


def _chosen_order(raw: JsonObject) -> JsonObject | None:
    """Choose the order of the id that counts, else the one that names most of the prompts."""
    prompts = list_of(raw.get("prompts"))
    known = {identifier_of(object_of(prompt), at) for at, prompt in enumerate(prompts)}
    orders = [
        object_of(one)
        for one in list_of(raw.get("prompt_order"))
        if list_of(object_of(one).get("order"))
    ]
    global_id = str(GLOBAL_ORDER_ID)
    hits = [
        sum(text_of(object_of(entry).get("identifier")) in known for entry in order["order"])
        for order in orders
    ]
    for order in orders:
        if str(order.get("character_id")) == global_id:
            return order
    return orders[hits.index(max(hits))] if any(hits) else None


def _prompts(raw: JsonObject, chosen: JsonObject | None) -> Iterator[dict[str, Any]]:
    """Bring the prompts into their order, and say for each whether it is switched on."""
    listed = list_of(raw.get("prompts"))
    base = [_prompt(object_of(prompt), at) for at, prompt in enumerate(listed)]
    if chosen is None:
        for prompt in base:
            own = prompt["st"].get("enabled")
            has_text = not prompt["marker"] and prompt["content"].strip() != ""
            yield {**prompt, "enabled": own if isinstance(own, bool) else has_text}
        return
    places = {prompt["identifier"]: at for at, prompt in reversed([*enumerate(base)])}
    switches: dict[int, bool] = {}
    for found in map(object_of, chosen["order"]):
        at = places.get(text_of(found.get("identifier")))
        if at is not None:
            switches.setdefault(at, found.get("enabled") is True)
    yield from ({**base[at], "enabled": is_on} for at, is_on in switches.items())
    yield from (prompt for at, prompt in enumerate(base) if at not in switches)


def _prompt(raw: JsonObject, index: int) -> dict[str, Any]:
    """Give a prompt in the document's form; `st` is the prompt as it came."""
    numbers = {
        "injectionPosition": number_of(raw.get("injection_position")),
        "injectionDepth": number_of(raw.get("injection_depth")),
    }
    return {
        "identifier": identifier_of(raw, index),
        "name": name_of(raw.get("name"), f"Prompt {index + 1}"),
        "role": ROLES.get(text_of(raw.get("role")), "user"),
        "content": text_of(raw.get("content")),
        "enabled": raw.get("enabled") is True,
        "marker": raw.get("marker") is True,
        "systemPrompt": raw.get("system_prompt") is True,
        **{name: number for name, number in numbers.items() if number is not None},
        "st": dict(raw),
    }


def _sampling(raw: JsonObject) -> dict[str, Any]:
    """Read the settings that are passed on; `st` has all samplers as they came."""
    tokens = raw.get("openai_max_tokens")
    stop = raw.get("stop")
    held = {
        "temperature": number_of(raw.get("temperature")),
        "maxTokens": whole_of(raw.get("max_tokens") if tokens is None else tokens, 1),
        "reasoningEffort": effort_of(raw.get("reasoning_effort")),
        "stop": stops_of(stop) if isinstance(stop, list) else None,
    }
    st = {key: raw[key] for key in _SAMPLERS if key in raw}
    return {
        **{name: value for name, value in held.items() if value is not None},
        "st": {**st, "stop": stop} if isinstance(stop, list) else st,
    }


def effort_of(value: object) -> str | None:
    """Take an effort that a host knows."""
    return value if isinstance(value, str) and value in _EFFORTS else None


def stops_of(value: object) -> list[str]:
    """Take the texts that end an answer, at most 16."""
    return [one for one in strings_of(value) if one][:MAX_STOPS]


# --- writing ---------------------------------------------------------------------------------


def _edited_settings(document: JsonObject) -> dict[str, Any]:
    """Copy the raw preset and put the edited name and sampling into it."""
    raw = dict(object_of(object_of(document.get("source")).get("raw")))
    name = document.get("name")
    if "name" in raw and name != name_of(raw["name"], "Imported preset"):
        raw["name"] = name
    wanted = object_of(document.get("sampling"))
    before = _sampling(raw)
    samplers = object_of(wanted.get("st"))
    raw.update({key: one for key, one in samplers.items() if before["st"].get(key) != one})
    for ours, key in _SAMPLING_KEYS.items():
        if wanted.get(ours) == before.get(ours):
            continue
        raw.pop("max_tokens" if ours == "maxTokens" else key, None)
        raw.pop(key, None)
        if wanted.get(ours) is not None:
            raw[key] = wanted[ours]
    return raw


def _numbered(document: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """List the prompts of a document, each with an identifier of its own."""
    taken: set[str] = set()
    for at, found in enumerate(map(object_of, list_of(document.get("prompts")))):
        identifier = identifier_of(found, at)
        if identifier in taken:
            identifier = f"{identifier}#{at + 1}"
        taken.add(identifier)
        yield identifier, {"enabled": False, **found}


def _edited_prompt(prompt: JsonObject) -> dict[str, Any]:
    """Copy the prompt as it came and put the edited fields into it."""
    raw = dict(object_of(prompt.get("st")))
    before = _prompt(raw, 0)
    for ours, key in _PROMPT_KEYS.items():
        value = prompt.get(ours)
        if value == before.get(ours) or ours == "identifier":
            continue
        raw.pop(key, None)
        if value is not None:
            raw[key] = value
    return raw


def _order(character_id: object, prompts: Sequence[tuple[str, JsonObject]]) -> dict[str, Any]:
    return {
        "character_id": character_id,
        "order": [
            {"identifier": identifier, "enabled": prompt["enabled"] is True}
            for identifier, prompt in prompts
        ],
    }
