"""What SillyTavern does to an old or incomplete preset when it loads one.

Three steps, each a function of JSON values: renamed settings, missing prompts and orders, and the
merge of a prompt export into a preset. Nothing here runs by itself: parsing keeps files as they
are.

Source: SillyTavern 1.19.0, public/scripts/openai.js (migrateChatCompletionSettings),
public/scripts/PromptManager.js (sanitizeServiceSettings, checkForMissingPrompts, import).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from tavern_format._fields import json_type
from tavern_format._json_text import JsonObject
from tavern_format.diagnostics import Report, error, info, pointer, warn
from tavern_format.errors import MalformedResourceError
from tavern_format.preset import GLOBAL_ORDER_ID


@frozen
class Rename:
    """One renamed setting or value."""

    old_key: str
    old_value: bool | str | re.Pattern[str]
    new_key: str
    new_value: Any
    """The value, or a function of the old one."""


def _renamed(key: str, old: str | re.Pattern[str], new: object) -> Rename:
    return Rename(key, old, key, new)


_LATEST: Callable[[str], str] = lambda name: f"{name}-latest"  # noqa: E731 - a table cell
_GEMINI = (
    ("gemini-3.1-flash-lite-preview", "gemini-3.1-flash-lite"),
    ("gemini-3.1-flash-image-preview", "gemini-3.1-flash-image"),
    ("gemini-3-pro-image-preview", "gemini-3-pro-image"),
)

RENAMES: tuple[Rename, ...] = (
    Rename("names_in_completion", True, "names_behavior", 1),  # noqa: FBT003 - a JSON value
    _renamed("chat_completion_source", "palm", "makersuite"),
    _renamed("custom_prompt_post_processing", "claude", "merge"),
    _renamed("ai21_model", re.compile("^j2-"), "jamba-large"),
    *(_renamed(key, *names) for names in _GEMINI for key in ("google_model", "vertexai_model")),
    *(
        Rename(f"{medium}_inlining", value, "media_inlining", value)
        for medium, value in (("image", False), ("image", True), ("video", True), ("audio", True))
    ),
    Rename("claude_use_sysprompt", True, "use_sysprompt", True),  # noqa: FBT003
    Rename("use_makersuite_sysprompt", True, "use_sysprompt", True),  # noqa: FBT003
    _renamed("mistralai_model", re.compile("^(mistral-medium|mistral-small)$"), _LATEST),
    _renamed("deepseek_model", re.compile("^deepseek-(chat|reasoner|coder)$"), "deepseek-v4-flash"),
    *(
        Rename("openrouter_sort_models", value, "sort_models", value)
        for value in ("alphabetically", "pricing.prompt", "context_length")
    ),
    Rename("openrouter_group_models", True, "group_models", True),  # noqa: FBT003
)
"""In SillyTavern's order. A row whose key is renamed deletes the old key even where the value does
not match, so that a later row of the same key never acts: SillyTavern's own fault, kept."""


def migrate_settings(settings: Mapping[str, Any]) -> JsonObject:
    """Rename what older versions of SillyTavern called otherwise; returns a new object."""
    done = dict(settings)
    for row in RENAMES:
        if row.old_key not in done:
            continue
        value = done[row.old_key]
        if _matches(value, row.old_value):
            done[row.new_key] = row.new_value(value) if callable(row.new_value) else row.new_value
        if row.old_key != row.new_key:
            del done[row.old_key]
    return done


def _matches(value: object, old: bool | str | re.Pattern[str]) -> bool:  # noqa: FBT001
    if isinstance(old, re.Pattern):
        text = value if isinstance(value, str) else _javascript_text(value)
        return old.search(text) is not None
    return type(value) is type(old) and value == old


def _javascript_text(value: object) -> str:
    if isinstance(value, dict | list):
        return ""
    return "null" if value is None else str(value).lower()


_SYSTEM = {"system_prompt": True}
_MARKER = {**_SYSTEM, "marker": True}
_TEXT = {**_SYSTEM, "role": "system", "content": ""}
DEFAULT_PROMPTS: tuple[JsonObject, ...] = (
    {"identifier": "main", "name": "Main Prompt", **_TEXT},
    {"identifier": "nsfw", "name": "Auxiliary Prompt", **_TEXT},
    {"identifier": "dialogueExamples", "name": "Chat Examples", **_MARKER},
    {"identifier": "jailbreak", "name": "Post-History Instructions", **_TEXT},
    {"identifier": "chatHistory", "name": "Chat History", **_MARKER},
    {"identifier": "worldInfoAfter", "name": "World Info (after)", **_MARKER},
    {"identifier": "worldInfoBefore", "name": "World Info (before)", **_MARKER},
    {"identifier": "enhanceDefinitions", "name": "Enhance Definitions", **_TEXT, "marker": False},
    {"identifier": "charDescription", "name": "Char Description", **_MARKER},
    {"identifier": "charPersonality", "name": "Char Personality", **_MARKER},
    {"identifier": "scenario", "name": "Scenario", **_MARKER},
    {"identifier": "personaDescription", "name": "Persona Description", **_MARKER},
)
"""The prompts every preset has, without the texts that SillyTavern ships for two of them."""

DEFAULT_ORDER: tuple[tuple[str, bool], ...] = (
    ("main", True),
    ("worldInfoBefore", True),
    ("personaDescription", True),
    ("charDescription", True),
    ("charPersonality", True),
    ("scenario", True),
    ("enhanceDefinitions", False),
    ("nsfw", True),
    ("worldInfoAfter", True),
    ("dialogueExamples", True),
    ("chatHistory", True),
    ("jailbreak", True),
)
"""Identifier and switch, in the order that stands in for a missing one."""

_LEGACY = (("main_prompt", "main"), ("nsfw_prompt", "nsfw"), ("jailbreak_prompt", "jailbreak"))


def complete_prompts(
    preset: Mapping[str, Any],
    report: Report,
    *,
    default_texts: Mapping[str, str] | None = None,
    make_identifier: Callable[[int], str] = "prompt-{}".format,
) -> JsonObject:
    """Give a preset the prompts and the order that SillyTavern would work with.

    Old `main_prompt`-like settings become prompts, missing default prompts are appended (with the
    text `default_texts` names for their identifier, else none), a missing order of character id
    100001 is filled in, order lines without a prompt go. Odd items are reported (ITEM_TYPE) and
    skipped where SillyTavern would fail. `make_identifier(n)` names a nameless prompt by its index
    (SillyTavern draws a random one), by a greater number where that name is taken. Returns a new
    object. Raises MalformedResourceError (PRESET_SHAPE) where the prompts are no array, ValueError
    where `make_identifier` runs out of free names.
    """
    texts = {} if default_texts is None else default_texts
    done = dict(preset)
    prompts = list(_prompts(done, report, make_identifier))
    _move_legacy(done, prompts, texts)
    present = {prompt["identifier"] for prompt in prompts}
    prompts += [
        _with_text(prompt, texts)
        for prompt in DEFAULT_PROMPTS
        if prompt["identifier"] not in present
    ]
    done["prompts"] = prompts
    done["prompt_order"] = _orders(done, {prompt["identifier"] for prompt in prompts}, report)
    return done


def _prompts(
    preset: Mapping[str, Any], report: Report, make_identifier: Callable[[int], str]
) -> Iterator[JsonObject]:
    given = [] if preset.get("prompts") is None else _array(preset, "prompts")
    usable = dict(_usable(given, "/prompts", report))
    taken = {prompt.get("identifier") for prompt in usable.values()}
    taken.update(prompt["identifier"] for prompt in DEFAULT_PROMPTS)
    further = iter(range(len(given), 2 * len(given) + len(taken)))
    for at, prompt in usable.items():
        if prompt.get("identifier"):
            yield prompt
            continue
        number: int | None = at
        while number is not None and (name := make_identifier(number)) in taken:
            number = next(further, None)
        if number is None:
            message = "make_identifier gives names only that are taken"
            raise ValueError(message)
        taken.add(name)
        yield {**prompt, "identifier": name}


def _usable(
    prompts: Iterable[object], path: str, report: Report
) -> Iterator[tuple[int, JsonObject]]:
    """Pick the prompts whose identifier, if any, can be one; report every other item."""
    for at, prompt in enumerate(prompts):
        if not isinstance(prompt, dict):
            message = f"{json_type(prompt)} is no prompt; it was skipped"
            error(report, "ITEM_TYPE", pointer(path, at), message)
        elif isinstance(prompt.get("identifier"), dict | list):
            message = f"{json_type(prompt['identifier'])} is no identifier; the prompt was skipped"
            error(report, "ITEM_TYPE", pointer(path, at, "identifier"), message)
        else:
            yield at, prompt


def _array(preset: Mapping[str, Any], key: str) -> list[Any]:
    value = preset.get(key)
    if not isinstance(value, list):
        found = json_type(value) if key in preset else "nothing"
        message = f"`{key}` must be an array, not {found}"
        raise MalformedResourceError("PRESET_SHAPE", message, path=pointer("", key))
    return value


def _with_text(prompt: JsonObject, texts: Mapping[str, str]) -> JsonObject:
    text = texts.get(prompt["identifier"])
    return {**prompt} if text is None else {**prompt, "content": text}


def _move_legacy(preset: JsonObject, prompts: list[JsonObject], texts: Mapping[str, str]) -> None:
    """Move texts of before 2023 into their prompts; in SillyTavern this fails without `main`."""
    for key, identifier in _LEGACY:
        text = preset.get(key)
        if not text:
            continue
        at = next((i for i, found in enumerate(prompts) if found["identifier"] == identifier), None)
        if at is None:
            default = next(row for row in DEFAULT_PROMPTS if row["identifier"] == identifier)
            at = len(prompts)
            prompts.append(_with_text(default, texts))
        prompts[at] = {**prompts[at], "content": text}
        del preset[key]


def _orders(preset: JsonObject, known: set[str], report: Report) -> list[JsonObject]:
    given = preset.get("prompt_order")
    orders = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    groups = [item for item in orders if isinstance(item.get("order"), list)]
    if not any(_is_global(group) for group in groups):
        code = "PROMPT_ORDER_MISSING"
        message = f"no order for character id {GLOBAL_ORDER_ID}: the default order was taken"
        warn(report, code, "/prompt_order", message)
        order = [{"identifier": name, "enabled": enabled} for name, enabled in DEFAULT_ORDER]
        return [*groups, {"character_id": GLOBAL_ORDER_ID, "order": order}]
    return [
        {**group, "order": _known_lines(group["order"], known, report)}
        if _is_global(group)
        else group
        for group in groups
    ]


def _known_lines(lines: list[Any], known: set[str], report: Report) -> list[Any]:
    kept = [line for line in lines if isinstance(line, dict) and _names_one_of(line, known)]
    if len(kept) < len(lines):
        message = "lines without a prompt were dropped"
        info(report, "PROMPT_ORDER_ORPHAN", "/prompt_order", message)
    return kept


def _names_one_of(line: JsonObject, known: set[str]) -> bool:
    identifier = line.get("identifier")
    return not isinstance(identifier, dict | list) and identifier in known


def _is_global(group: object) -> bool:
    return isinstance(group, dict) and str(group.get("character_id")) == str(GLOBAL_ORDER_ID)


def merge_prompt_export(
    preset: Mapping[str, Any], export: Mapping[str, Any], report: Report
) -> JsonObject:
    """Merge a prompt-manager export into a preset: newer prompts win, by identifier.

    The preset should have gone through `complete_prompts`. The lines of the export's order replace
    the lines of the present order one by one, as SillyTavern's merge does. Prompts of either side
    that SillyTavern would fail on are left out, each with an ITEM_TYPE diagnostic. Raises
    MalformedResourceError (PROMPT_EXPORT_SHAPE, PRESET_SHAPE) where SillyTavern refuses or fails.
    """
    data = _export_data(export)
    merged: dict[Any, JsonObject] = {}
    for at, prompt in _usable(_array(preset, "prompts"), "/prompts", report):
        if prompt.get("identifier") is None:
            _remark_nameless(pointer("/prompts", at), report)
        else:
            merged[prompt["identifier"]] = prompt
    for at, prompt in enumerate(data["prompts"]):
        if isinstance(prompt, dict) and isinstance(prompt.get("identifier"), str):
            merged[prompt["identifier"]] = {**merged.get(prompt["identifier"], {}), **prompt}
        else:
            _remark_nameless(pointer("/data/prompts", at), report)
    lines = data.get("prompt_order")
    orders = [
        _merge_order(group, lines, pointer("/prompt_order", at), report)
        if _is_global(group) and isinstance(lines, list)
        else group
        for at, group in enumerate(_array(preset, "prompt_order"))
    ]
    return {**preset, "prompts": list(merged.values()), "prompt_order": orders}


def _remark_nameless(path: str, report: Report) -> None:
    message = "a prompt without an identifier was skipped"
    warn(report, "ITEM_TYPE", path, message)


def _merge_order(group: JsonObject, lines: list[Any], path: str, report: Report) -> JsonObject:
    present = group.get("order")
    if not isinstance(present, list):
        message = f"the order is {json_type(present)}; the lines of the export replace it"
        error(report, "ITEM_TYPE", pointer(path, "order"), message)
        present = []
    return {**group, "order": [*lines, *present[len(lines) :]]}


def _export_data(export: Mapping[str, Any]) -> JsonObject:
    data = export.get("data")
    version = export.get("version")
    numbered = isinstance(version, int | float) and not isinstance(version, bool)
    if not numbered or not isinstance(export.get("type"), str) or not isinstance(data, dict):
        message = "no prompt export: it has a number `version`, a text `type` and an object `data`"
        raise MalformedResourceError("PROMPT_EXPORT_SHAPE", message, path="")
    if not isinstance(data.get("prompts"), list):
        message = f"the prompts must be an array, not {json_type(data.get('prompts'))}"
        raise MalformedResourceError("PROMPT_EXPORT_SHAPE", message, path="/data/prompts")
    return data
