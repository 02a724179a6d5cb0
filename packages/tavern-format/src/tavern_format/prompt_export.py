"""Exports of the prompt manager: prompts, and perhaps their order, apart from a preset.

Source: SillyTavern 1.19.0, public/scripts/PromptManager.js (export, import).
"""

from typing import Any

from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._fields import Field, json_type
from tavern_format._json_text import JsonObject
from tavern_format._kinds import ANYTHING, TEXT, nested_many
from tavern_format._structure import Origin, Spec
from tavern_format.diagnostics import Parsed, Remarks
from tavern_format.errors import LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.preset import ORDER_ENTRY_SPEC, PROMPT_SPEC, OrderEntry, Prompt


@frozen(kw_only=True, weakref_slot=False)
class PromptExport:
    """An export of prompts."""

    version: Any = 1
    """SillyTavern imports numbers only."""
    type: str = "full"
    """`full` or `character`."""
    prompts: tuple[Prompt, ...] = ()
    order: tuple[OrderEntry, ...] = ()
    origin: Origin | None = field(default=None, repr=False, eq=False)


_SPEC = Spec(
    "prompt-export",
    PromptExport,
    (
        Field("version", ("version",), ANYTHING, default=1),
        Field("type", ("type",), TEXT, default=""),
        Field("prompts", ("data", "prompts"), nested_many(PROMPT_SPEC)),
        Field("order", ("data", "prompt_order"), nested_many(ORDER_ENTRY_SPEC)),
    ),
)


def parse_prompt_export(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[PromptExport]:
    """Parse an export of prompts.

    Raises MalformedResourceError (JSON_*, PROMPT_EXPORT_SHAPE) and LimitExceededError.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    document = json_text.load(data, limits, found)
    if not isinstance(document, dict) or not _has_prompts(document):
        message = f"an export of prompts has `data.prompts`; this is {json_type(document)} without"
        raise MalformedResourceError("PROMPT_EXPORT_SHAPE", message, path="")
    for key in ("prompts", "prompt_order"):
        listed = document["data"].get(key)
        if isinstance(listed, list) and len(listed) > limits.entries:
            raise LimitExceededError(
                limit="entries", actual=len(listed), maximum=limits.entries, unit=f"items in {key}"
            )
    return Parsed(_SPEC.decode(document, "", found), found.all())


def dump_prompt_export(export: PromptExport, *, indent: int | None = None) -> bytes:
    """Write an export; an unedited one gives the JSON it was read from."""
    return json_text.dump(_SPEC.encode(export), indent=indent)


def _has_prompts(document: JsonObject) -> bool:
    data = document.get("data")
    return isinstance(data, dict) and isinstance(data.get("prompts"), list)
