"""Quick replies: sets of buttons, and the older form of slots.

Source: SillyTavern 1.19.0, public/scripts/extensions/quick-reply (index.js, src/QuickReplySet.js).
"""

from typing import Any

from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._fields import Field, json_type
from tavern_format._json_text import JsonObject
from tavern_format._kinds import FLAG, TEXT, js_truthy, nested_many, number
from tavern_format._structure import Origin, Spec
from tavern_format.diagnostics import Parsed, Remarks, info
from tavern_format.errors import LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits

SET_VERSION = 2


@frozen(kw_only=True, weakref_slot=False)
class QuickReply:
    """One button."""

    id: float = 0
    label: str = ""
    title: str = ""
    message: str = ""
    """Text or slash commands."""
    is_hidden: bool = False
    automation_id: str = ""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class QuickReplySet:
    """A named set of buttons."""

    name: str = ""
    disable_send: bool = False
    place_before_input: bool = False
    inject_input: bool = False
    replies: tuple[QuickReply, ...] = ()
    origin: Origin | None = field(default=None, repr=False, eq=False)


_REPLY_SPEC = Spec(
    "quick-reply",
    QuickReply,
    (
        Field("id", ("id",), number(0), default=0),
        Field("label", ("label",), TEXT, default=""),
        Field("title", ("title",), TEXT, default=""),
        Field("message", ("message",), TEXT, default=""),
        Field("is_hidden", ("isHidden",), FLAG, default=False),
        Field("automation_id", ("automationId",), TEXT, default=""),
    ),
)
_SET_SPEC = Spec(
    "quick-reply-set",
    QuickReplySet,
    (
        Field("name", ("name",), TEXT, default=""),
        Field("disable_send", ("disableSend",), FLAG, default=False),
        Field("place_before_input", ("placeBeforeInput",), FLAG, default=False),
        Field("inject_input", ("injectInput",), FLAG, default=False),
        Field("replies", ("qrList",), nested_many(_REPLY_SPEC)),
    ),
)


def parse_quick_replies(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[QuickReplySet]:
    """Parse a set of quick replies; slots of the older form are converted with a diagnostic.

    Raises MalformedResourceError (JSON_*, QUICK_REPLIES_SHAPE) and LimitExceededError.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    document = json_text.load(data, limits, found)
    if not isinstance(document, dict):
        message = f"quick replies are an object, not {json_type(document)}"
        raise MalformedResourceError("QUICK_REPLIES_SHAPE", message, path="")
    is_current = _is_current(document)
    listed = document.get("qrList" if is_current else "quickReplySlots")
    if isinstance(listed, list) and len(listed) > limits.entries:
        raise LimitExceededError(
            limit="entries", actual=len(listed), maximum=limits.entries, unit="quick replies"
        )
    if not is_current:
        document = migrate_quick_replies(document)
        message = "the older form with slots was converted"
        info(found, "QUICK_REPLIES_MIGRATED", "", message)
    return Parsed(_SET_SPEC.decode(document, "", found), found.all())


def dump_quick_replies(replies: QuickReplySet, *, indent: int | None = None) -> bytes:
    """Write a set in the present form."""
    written = _SET_SPEC.encode(replies)
    if replies.origin is None:
        written = {"version": SET_VERSION, **written}
    return json_text.dump(written, indent=indent)


def _is_current(document: JsonObject) -> bool:
    version = document.get("version")
    return version == SET_VERSION and isinstance(version, int) and not isinstance(version, bool)


_Filled = tuple[tuple[str, str, Any], ...]
"""New key, old key, and the value where the old one says nothing."""
_SET_KEYS: _Filled = (
    ("disableSend", "quickActionEnabled", False),
    ("placeBeforeInput", "placeBeforeInputEnabled", False),
    ("injectInput", "AutoInputInject", False),
)
_BUTTON_KEYS: _Filled = (
    ("label", "label", ""),
    ("title", "title", ""),
    ("message", "mes", ""),
    ("isHidden", "hidden", False),
    ("executeOnStartup", "autoExecute_appStartup", False),
    ("executeOnUser", "autoExecute_userMessage", False),
    ("executeOnAi", "autoExecute_botMessage", False),
    ("executeOnChatChange", "autoExecute_chatLoad", False),
    ("executeOnGroupMemberDraft", "autoExecute_groupMemberDraft", False),
    ("executeOnNewChat", "autoExecute_newChat", False),
    ("executeBeforeGeneration", "autoExecute_beforeGeneration", False),
    ("automationId", "automationId", ""),
)


def migrate_quick_replies(raw: JsonObject) -> JsonObject:
    """Convert slots (version 1) to a set of version 2, as SillyTavern does when it loads them.

    The old keys stay beside the new ones. Raises MalformedResourceError (QUICK_REPLIES_SHAPE)
    where there are no slots.
    """
    slots = raw.get("quickReplySlots")
    if not isinstance(slots, list):
        message = "neither a set of version 2 nor `quickReplySlots`"
        raise MalformedResourceError("QUICK_REPLIES_SHAPE", message, path="/quickReplySlots")
    return {
        **raw,
        "version": SET_VERSION,
        **_filled(raw, _SET_KEYS),
        "qrList": [_button(slot, at) for at, slot in enumerate(slots) if isinstance(slot, dict)],
    }


def _button(slot: JsonObject, at: int) -> JsonObject:
    menu = slot.get("contextMenu")
    return {
        "id": at + 1,
        **_filled(slot, _BUTTON_KEYS),
        "contextList": [
            {"set": item.get("preset"), "isChained": item.get("chain")}
            for item in (menu if isinstance(menu, list) else [])
            if isinstance(item, dict)
        ],
    }


def _filled(raw: JsonObject, table: _Filled) -> JsonObject:
    return {new: raw[old] if js_truthy(raw.get(old)) else fallback for new, old, fallback in table}
