"""Group chats: the JSON file that lists the members.

Source: SillyTavern 1.19.0, src/endpoints/groups.js.
"""

from enum import IntEnum
from typing import Any

from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._fields import Field, json_type
from tavern_format._json_text import JsonObject
from tavern_format._kinds import FLAG, TEXT, choice, js_truthy, number, texts
from tavern_format._structure import Origin, Spec
from tavern_format.diagnostics import Parsed, Remarks
from tavern_format.errors import MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits


class ActivationStrategy(IntEnum):
    """Who speaks next; SillyTavern's numbers."""

    NATURAL = 0
    LIST = 1
    MANUAL = 2
    POOLED = 3


class GenerationMode(IntEnum):
    """How the members' cards are joined; SillyTavern's numbers."""

    SWAP = 0
    APPEND = 1
    APPEND_DISABLED = 2


@frozen(kw_only=True, weakref_slot=False)
class Group:
    """One group."""

    id: str = ""
    name: str = "New Group"
    members: tuple[str, ...] = ()
    """Avatar file names."""
    disabled_members: tuple[str, ...] = ()
    chat_id: str = ""
    chats: tuple[str, ...] = ()
    allow_self_responses: bool = False
    activation_strategy: ActivationStrategy = ActivationStrategy.NATURAL
    generation_mode: GenerationMode = GenerationMode.SWAP
    join_prefix: str = ""
    """`generation_mode_join_prefix`."""
    join_suffix: str = ""
    """`generation_mode_join_suffix`."""
    auto_mode_delay_s: float = 5
    avatar_url: str = ""
    favorite: bool = False
    origin: Origin | None = field(default=None, repr=False, eq=False)


_STRATEGY = choice(
    {int(way): way for way in ActivationStrategy}, ActivationStrategy.NATURAL, "0 to 3"
)
_MODE = choice({int(mode): mode for mode in GenerationMode}, GenerationMode.SWAP, "0 to 2")
_SPEC = Spec(
    "group",
    Group,
    (
        Field("id", ("id",), TEXT, default=""),
        Field("name", ("name",), TEXT, default="New Group"),
        Field("members", ("members",), texts(), default=[]),
        Field("disabled_members", ("disabled_members",), texts(), default=[]),
        Field("chat_id", ("chat_id",), TEXT, default=""),
        Field("chats", ("chats",), texts(), default=[]),
        Field("allow_self_responses", ("allow_self_responses",), FLAG, default=False),
        Field("activation_strategy", ("activation_strategy",), _STRATEGY, default=0),
        Field("generation_mode", ("generation_mode",), _MODE, default=0),
        Field("join_prefix", ("generation_mode_join_prefix",), TEXT, default=""),
        Field("join_suffix", ("generation_mode_join_suffix",), TEXT, default=""),
        Field("auto_mode_delay_s", ("auto_mode_delay",), number(5), default=5),
        Field("avatar_url", ("avatar_url",), TEXT, default=""),
        Field("favorite", ("fav",), FLAG, default=False),
    ),
)


def parse_group(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[Group]:
    """Parse a group file. Raises MalformedResourceError (JSON_*, GROUP_SHAPE)."""
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    document = json_text.load(data, limits, found)
    if not isinstance(document, dict):
        message = f"a group is an object, not {json_type(document)}"
        raise MalformedResourceError("GROUP_SHAPE", message, path="")
    return Parsed(_SPEC.decode(document, "", found), found.all())


def dump_group(group: Group, *, indent: int | None = None) -> bytes:
    """Write a group; an unedited one gives the JSON it was read from."""
    return json_text.dump(_SPEC.encode(group), indent=indent)


def new_group(request: JsonObject, *, group_id: str) -> JsonObject:
    """Make the JSON of a new group from what a client asks for, as SillyTavern's server does.

    Only the known keys are taken; `group_id` is the id of the group and of its first chat where
    the request names none.
    """
    chat_id = _or(request.get("chat_id"), group_id)
    known: dict[str, Any] = {
        "id": group_id,
        "name": _or(request.get("name"), "New Group"),
        "members": _or(request.get("members"), []),
        "avatar_url": request.get("avatar_url"),
        "allow_self_responses": js_truthy(request.get("allow_self_responses")),
        "activation_strategy": _or(request.get("activation_strategy"), 0),
        "generation_mode": _or(request.get("generation_mode"), 0),
        "disabled_members": _or(request.get("disabled_members"), []),
        "fav": request.get("fav"),
        "chat_id": chat_id,
        "chats": _or(request.get("chats"), [group_id]),
        "auto_mode_delay": 5
        if request.get("auto_mode_delay") is None
        else request["auto_mode_delay"],
        "generation_mode_join_prefix": _or(request.get("generation_mode_join_prefix"), ""),
        "generation_mode_join_suffix": _or(request.get("generation_mode_join_suffix"), ""),
    }
    optional_keys = ("avatar_url", "fav")
    return {
        key: value for key, value in known.items() if key in request or key not in optional_keys
    }


def _or(value: object, fallback: object) -> object:
    return value if js_truthy(value) else fallback
