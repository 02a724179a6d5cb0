"""The slots of a preset that are filled at compile time: one table.

Owns which marker stands for what. Must not know how a slot is filled.

Source: SillyTavern 1.19.0, public/scripts/PromptManager.js; the plugin contract, section A5.
"""

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from tavern_compiler.lore import LoreSide


class MarkerKind(StrEnum):
    """What fills a slot."""

    CHARACTER = "character"
    PERSONA = "persona"
    LORE = "lore"
    HISTORY = "history"
    """The host's own: nothing is emitted."""


@frozen
class Marker:
    """One row."""

    kind: MarkerKind
    target: str = ""
    """Field of the card, or side of the lore."""


MARKERS: Mapping[str, Marker] = {
    "charDescription": Marker(MarkerKind.CHARACTER, "description"),
    "charPersonality": Marker(MarkerKind.CHARACTER, "personality"),
    "scenario": Marker(MarkerKind.CHARACTER, "scenario"),
    "dialogueExamples": Marker(MarkerKind.CHARACTER, "messageExample"),
    "personaDescription": Marker(MarkerKind.PERSONA),
    "userDescription": Marker(MarkerKind.PERSONA),
    "userPersona": Marker(MarkerKind.PERSONA),
    "worldInfoBefore": Marker(MarkerKind.LORE, LoreSide.BEFORE),
    "worldInfoAfter": Marker(MarkerKind.LORE, LoreSide.AFTER),
    "chatHistory": Marker(MarkerKind.HISTORY),
}
"""By identifier of the prompt."""
