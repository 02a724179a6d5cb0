"""Character cards: one model for every specification and carrier.

Owns the model. Tables are in `_card_spellings`; reading is in `_card_reading`, writing in
`_card_writing`; the containers (PNG, CHARX, BYAF) have modules of their own.

Source: Character Card V1, V2 and V3 specifications; SillyTavern 1.19.0, src/endpoints/characters.js
and src/character-card-parser.js.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from tavern_format._structure import Origin
from tavern_format.regex_script import RegexScript
from tavern_format.world_book import WorldBook


class CardSpec(StrEnum):
    """The shapes of the JSON (or YAML) object that is the card."""

    V1 = "v1"
    """Six fields at the top level."""
    V2 = "v2"
    """`spec: chara_card_v2`, fields under `data`."""
    V3 = "v3"
    """`spec: chara_card_v3`, fields under `data`."""
    GRADIO = "gradio"
    """Pygmalion and Gradio: `char_name`, `char_persona`, ..."""
    TEXT_GENERATION_WEBUI = "text-generation-webui"
    """`name`, `context`, `greeting`, usually YAML."""


class CardCarrier(StrEnum):
    """What kind of file the card came in."""

    JSON = "json"
    YAML = "yaml"
    PNG = "png"
    CHARX = "charx"
    BYAF = "byaf"


@frozen(kw_only=True, weakref_slot=False)
class DepthPrompt:
    """The character's note, put into the chat at a depth."""

    prompt: str = ""
    depth: float = 4
    """Messages from the end."""
    role: str = "system"
    """`system`, `user` or `assistant`."""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class Asset:
    """A V3 asset: a picture, a sound, a background, ..."""

    type: str = ""
    uri: str = ""
    """`ccdefault:`, `embeded://path`, `__asset:path`, `data:` or a web address (never fetched)."""
    name: str = ""
    ext: str = ""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class CharacterCard:
    """A character, as V3 names its fields. Texts hold macros as they are in the file.

    A V2 or V3 card takes everything from `data`; where its name is empty, the mirror at the top
    level stands in, as in SillyTavern.
    """

    name: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    greeting: str = ""
    """`first_mes`."""
    message_examples: str = ""
    """`mes_example`."""
    creator_notes: str = ""
    """For people; never sent to a model."""
    system_prompt: str = ""
    post_history_instructions: str = ""
    alternate_greetings: tuple[str, ...] = ()
    group_only_greetings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    creator: str = ""
    character_version: str = ""
    nickname: str = ""
    creator_notes_multilingual: Mapping[str, Any] = field(factory=dict)
    """Language code to text."""
    source: tuple[str, ...] = ()
    creation_date: float | None = None
    """Unix time in seconds."""
    modification_date: float | None = None
    """Unix time in seconds."""
    assets: tuple[Asset, ...] = ()
    talkativeness: float | None = None
    """0 to 1; SillyTavern takes 0.5 where nothing is said."""
    favorite: bool = False
    world: str = ""
    """Name of the linked world file (`extensions.world`)."""
    depth_prompt: DepthPrompt | None = None
    regex_scripts: tuple[RegexScript, ...] = ()
    character_book: WorldBook | None = None
    extensions: Mapping[str, Any] = field(factory=dict)
    """Everything under `data.extensions`, also what the fields above are read from."""
    spec: CardSpec = CardSpec.V2
    spec_version: str = ""
    """As the card says it: "2.0", "3.0", ..."""
    carrier: CardCarrier = CardCarrier.JSON
    picture: bytes = field(default=b"", repr=False, eq=False)
    """The PNG the card came in, what stands before a CHARX, a BYAF's first picture; or empty."""
    files: Mapping[str, bytes] = field(factory=dict, repr=False, eq=False)
    """Path to content: all other files of the CHARX or BYAF archive, asset chunks of a PNG."""
    origin: Origin | None = field(default=None, repr=False, eq=False)

    @property
    def raw(self) -> Mapping[str, Any]:
        """The JSON object the card was read from, before any edit; empty for a new card."""
        return {} if self.origin is None else self.origin.raw
