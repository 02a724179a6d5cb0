"""Reading and writing chat-completion presets, and what to remark about them."""

from collections import Counter

from tavern_format import _json_text as json_text
from tavern_format._fields import json_type
from tavern_format._json_text import JsonObject
from tavern_format.detection import name_document
from tavern_format.diagnostics import Parsed, Remarks, Report, info, pointer, warn
from tavern_format.errors import LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.preset import GLOBAL_ORDER_ID, PRESET_SPEC, Preset
from tavern_format.preset_migration import RENAMES
from tavern_format.preset_settings import KNOWN_SETTINGS, PRIVATE_SETTINGS
from tavern_format.regex_script import remark_scripts

_MARKS = (
    KNOWN_SETTINGS
    | {row.old_key for row in RENAMES}
    | {
        "main_prompt",
        "nsfw_prompt",
        "jailbreak_prompt",
    }
)


def parse_preset(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[Preset]:
    """Parse a chat-completion preset.

    Nothing is migrated or completed: see `preset_migration`. Raises MalformedResourceError
    (JSON_*, PRESET_SHAPE for a document with no setting that SillyTavern knows) and
    LimitExceededError.
    Source: SillyTavern 1.19.0, public/scripts/openai.js, settingsToUpdate.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    document = json_text.load(data, limits, found)
    raw = _require_preset(document)
    _check_counts(raw, limits)
    preset = PRESET_SPEC.decode(raw, "", found)
    _remark(preset, raw, found)
    return Parsed(preset, found.all())


def dump_preset(preset: Preset, *, indent: int | None = None) -> bytes:
    """Write a preset; an unedited one gives the JSON it was read from."""
    return json_text.dump(PRESET_SPEC.encode(preset), indent=indent)


def _require_preset(document: object) -> JsonObject:
    if not isinstance(document, dict):
        message = f"a preset is an object, not {json_type(document)}"
        raise MalformedResourceError("PRESET_SHAPE", message, path="")
    if document and document.keys().isdisjoint(_MARKS):
        kind = name_document(document)
        message = "no setting of a chat-completion preset in this object"
        message = message if kind is None else f"this is {kind}, not a chat-completion preset"
        raise MalformedResourceError("PRESET_SHAPE", message, path="")
    return document


def _check_counts(raw: JsonObject, limits: Limits) -> None:
    for key in ("prompts", "prompt_order"):
        value = raw.get(key)
        count = len(value) if isinstance(value, list) else 0
        if count > limits.entries:
            raise LimitExceededError(
                limit="entries", actual=count, maximum=limits.entries, unit=f"items in {key}"
            )


def _remark(preset: Preset, raw: JsonObject, report: Report) -> None:
    if preset.order is None:
        message = f"no prompt order for character id {GLOBAL_ORDER_ID}: SillyTavern takes its own"
        warn(report, "PROMPT_ORDER_MISSING", "/prompt_order", message)
    counts = Counter(prompt.identifier for prompt in preset.prompts)
    seen: set[str] = set()
    for prompt in preset.prompts:
        place = pointer("/prompts", prompt.origin.key if prompt.origin else 0)
        if not prompt.identifier:
            info(report, "IDENTIFIER_MISSING", place, "SillyTavern makes up an identifier")
        elif prompt.identifier in seen and counts[prompt.identifier] > 1:
            warn(report, "IDENTIFIER_REPEATED", place, "the first prompt of this identifier wins")
        seen.add(prompt.identifier)
    for key in sorted(PRIVATE_SETTINGS & raw.keys()):
        if raw[key]:
            message = "may hold something private: look before you share the file"
            info(report, "PRIVATE_SETTING", pointer("", key), message)
    places = [
        pointer("/extensions/regex_scripts", script.origin.key if script.origin else 0)
        for script in preset.regex_scripts
    ]
    remark_scripts(preset.regex_scripts, places, report)
