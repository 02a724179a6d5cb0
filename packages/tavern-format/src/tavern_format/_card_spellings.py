"""Where each field of a card lives in each specification: one table per spelling.

`mirrors` lists the further places that repeat a field. SillyTavern writes V2 cards with their V1
fields at the top level; an edit must show there too, or readers of V1 see the old text.
"""

from collections.abc import Sequence

from tavern_format._fields import Column, Field, Kind
from tavern_format._json_text import JsonObject
from tavern_format._kinds import (
    FLAG,
    MAPPING,
    NUMBER,
    NUMBER_OR_TEXT,
    TEXT,
    TEXT_OR_TEXTS,
    nested,
    nested_many,
    number,
    optional,
    texts,
)
from tavern_format._structure import Spec
from tavern_format.card import Asset, CardSpec, CharacterCard, DepthPrompt
from tavern_format.regex_script import SCRIPTS

_V1_KEYS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
_V2_KEYS = (
    *_V1_KEYS,
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "alternate_greetings",
    "tags",
    "creator",
    "character_version",
    "extensions",
)
REQUIRED_KEYS: dict[CardSpec, tuple[str, ...]] = {
    CardSpec.V1: _V1_KEYS,
    CardSpec.V2: _V2_KEYS,
    CardSpec.V3: (*_V2_KEYS, "group_only_greetings"),
    CardSpec.GRADIO: (),
    CardSpec.TEXT_GENERATION_WEBUI: (),
}
"""What each specification calls required; nothing but a name is required here."""

_TEXTS = texts()
_TAGS = texts(split=True)
_OPTIONAL_NUMBER = optional(NUMBER)
_TALKATIVENESS = optional(NUMBER_OR_TEXT)

_DEPTH_PROMPT = nested(
    Spec(
        "depth-prompt",
        DepthPrompt,
        (
            Field("prompt", ("prompt",), TEXT, default=""),
            Field("depth", ("depth",), number(4), default=4),
            Field("role", ("role",), TEXT, default="system"),
        ),
    )
)
_ASSETS = nested_many(
    Spec(
        "asset",
        Asset,
        tuple(Field(name, (name,), TEXT, default="") for name in ("type", "uri", "name", "ext")),
    )
)

_TEXT_KEYS = {
    "name": "name",
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "greeting": "first_mes",
    "message_examples": "mes_example",
    "creator_notes": "creator_notes",
    "system_prompt": "system_prompt",
    "post_history_instructions": "post_history_instructions",
    "creator": "creator",
    "character_version": "character_version",
    "nickname": "nickname",
}
_LIST_KEYS = ("alternate_greetings", "group_only_greetings")


def _data(attribute: str, key: str, kind: Kind, default: object = None) -> Field:
    sparse = key not in REQUIRED_KEYS[CardSpec.V2]
    return Field(attribute, ("data", key), kind, default=default, sparse=sparse)


def _extension(attribute: str, key: str, kind: Kind, default: object = None) -> Field:
    return Field(attribute, ("data", "extensions", key), kind, default=default, sparse=True)


def _fetch_name(objects: Sequence[JsonObject], _: Sequence[str | int]) -> Column:
    """Take the name from `data`; where that is empty, from the mirror at the top.

    An object without `data` is a card of another shape on its way into this one: no name yet.
    """
    return [_name_of(raw["data"], raw) if "data" in raw else "" for raw in objects]


def _name_of(data: JsonObject, raw: JsonObject) -> object:
    inner, outer = data.get("name"), raw.get("name")
    return outer if isinstance(outer, str) and not inner else inner


_DATA_FIELDS = (
    Field("name", ("data", "name"), TEXT, default="", fetch=_fetch_name),
    *(_data(attribute, key, TEXT, "") for attribute, key in _TEXT_KEYS.items() if key != "name"),
    *(_data(name, name, _TEXTS, []) for name in _LIST_KEYS),
    _data("tags", "tags", _TAGS, []),
    _data("creator_notes_multilingual", "creator_notes_multilingual", MAPPING),
    _data("source", "source", TEXT_OR_TEXTS, []),
    _data("creation_date", "creation_date", _OPTIONAL_NUMBER),
    _data("modification_date", "modification_date", _OPTIONAL_NUMBER),
    _data("assets", "assets", _ASSETS),
    _data("extensions", "extensions", MAPPING),
    _extension("talkativeness", "talkativeness", _TALKATIVENESS),
    _extension("favorite", "fav", FLAG, default=False),
    _extension("world", "world", TEXT, ""),
    _extension("depth_prompt", "depth_prompt", _DEPTH_PROMPT),
    _extension("regex_scripts", "regex_scripts", SCRIPTS),
)
_MIRRORS = {
    **{
        attribute: ((key,),)
        for attribute, key in {
            **_TEXT_KEYS,
            **dict(zip(_LIST_KEYS, _LIST_KEYS, strict=True)),
        }.items()
    },
    "name": (("name",), ("char_name",)),
    "description": (("description",), ("char_persona",), ("context",)),
    "scenario": (("scenario",), ("world_scenario",)),
    "greeting": (("first_mes",), ("char_greeting",), ("greeting",)),
    "message_examples": (("mes_example",), ("example_dialogue",)),
    "creator_notes": (("creatorcomment",), ("creator_notes",)),
    "tags": (("tags",),),
    "talkativeness": (("talkativeness",),),
    "favorite": (("fav",),),
}


def _top(attribute: str, key: str) -> Field:
    return Field(attribute, (key,), TEXT, default="")


_V1_FIELDS = (
    *(
        _top(name, _TEXT_KEYS[name])
        for name in (
            "name",
            "description",
            "personality",
            "scenario",
            "greeting",
            "message_examples",
            "creator",
        )
    ),
    Field(
        "creator_notes",
        ("creatorcomment",),
        TEXT,
        fetch=lambda objects, _: [
            raw.get("creator_notes", "")
            if raw.get("creatorcomment") is None
            else raw["creatorcomment"]
            for raw in objects
        ],
        store=lambda target, value: target.update(
            {"creator_notes" if target.get("creatorcomment") is None else "creatorcomment": value}
        ),
    ),
    Field("tags", ("tags",), _TAGS, default=[]),
    Field("talkativeness", ("talkativeness",), _TALKATIVENESS, sparse=True),
    Field("favorite", ("fav",), FLAG, default=False),
)
_GRADIO_FIELDS = (
    _top("name", "char_name"),
    _top("description", "char_persona"),
    _top("scenario", "world_scenario"),
    _top("greeting", "char_greeting"),
    _top("message_examples", "example_dialogue"),
)
_WEBUI_FIELDS = (
    _top("name", "name"),
    _top("description", "context"),
    _top("greeting", "greeting"),
)

_DATA_SPEC = Spec("data", CharacterCard, _DATA_FIELDS, _MIRRORS)
"""V2 and V3 keep their fields in the same places; V3 knows more of them."""

CARD_SPECS: dict[CardSpec, Spec[CharacterCard]] = {
    CardSpec.V1: Spec("v1", CharacterCard, _V1_FIELDS),
    CardSpec.V2: _DATA_SPEC,
    CardSpec.V3: _DATA_SPEC,
    CardSpec.GRADIO: Spec("gradio", CharacterCard, _GRADIO_FIELDS),
    CardSpec.TEXT_GENERATION_WEBUI: Spec("text-generation-webui", CharacterCard, _WEBUI_FIELDS),
}

LABELS = {CardSpec.V2: ("chara_card_v2", "2.0"), CardSpec.V3: ("chara_card_v3", "3.0")}
"""`spec` and `spec_version` as each specification asks for them."""


def recognise_label(raw: JsonObject) -> CardSpec:
    """Tell V3 from V2, for a card with its fields under `data`: everything else counts as V2."""
    return CardSpec.V3 if raw.get("spec") == LABELS[CardSpec.V3][0] else CardSpec.V2


def version_text(version: object) -> str:
    """Give the text of a `spec_version`; numbers as the specifications would write them."""
    if isinstance(version, str):
        return version
    if isinstance(version, bool) or not isinstance(version, int | float):
        return ""
    if isinstance(version, int):  # it may be too large to become a float
        return f"{version}.0"
    return f"{version:.1f}" if version.is_integer() else repr(version)
