"""The rule table: what each profile of a compile decides, one column a profile.

Owns the differences between the profiles as data; every step asks this table and no step asks for
the name of a profile. Why a fault of the plugin is repaired in `safe` is in COMPATIBILITY.md, row
by row. Must not know the input of a compile.

Source: the plugin contract, sections A4 to A8, A11, A12 and K.
"""

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from tavern_compiler.lore import LoreSide
from tavern_compiler.macros import MacroProfile


class CompileProfile(StrEnum):
    """Whose rules hold for a list of parts."""

    SAFE = "safe"
    """The plugin's contract with its faults repaired and SillyTavern's macros."""
    DSH_TAVERN = "dsh-tavern"
    """The JavaScript plugin as it is, with its faults and its own macros."""


@frozen(kw_only=True)
class Rules:
    """One column of the table; the defaults are those of `safe`."""

    # Which prompts, in which order
    plugin_order: bool = False
    """A preset without a usable order goes by its prompts' own switches and texts, never by
    SillyTavern's default order; of two prompts with one identifier the last counts; prompts are
    numbered as they are sent and not as they stand in the file."""
    default_role: str = "system"
    """Of a prompt that names none."""
    triggers: bool = True
    """Prompts for other kinds of generation are left out."""

    # Slots
    slots_by_flag: bool = False
    """A prompt is a slot if it says so; else its identifier is enough."""
    slots_once: bool = True
    """What stands in a part already is not put in again by a second slot."""
    macros_consume: bool = True
    """A field that a macro has shown is not appended."""

    # Overrides
    override_once: bool = True
    """A card's text stands in for one prompt only, however many have the identifier."""
    original_is_raw: bool = False
    """`{{original}}` brings in the prompt before its macros have run, and they run in the card's
    text; else it brings in what the prompt says."""

    # Macros
    macro_profile: MacroProfile = MacroProfile.NEW
    shares_variables: bool = True
    """All parts see each other's variables; else only where there is nothing but a preset."""
    lore_sees_card: bool = True
    """Macros of card fields and persona mean something in lore."""
    empty_macros_are_sources: bool = False
    """A field is a source wherever its macro stands, even if it gave nothing."""
    card_macros_alone: bool = True
    """Macros of card fields and persona are known where there is nothing but a preset."""

    # Lore
    highest_order_stays: bool = True
    """Where not all lore fits; else the first ones given stay."""
    stray_side: LoreSide | None = None
    """Where lore without a known position goes; None: nowhere."""

    # Call settings
    other_max_tokens: bool = True
    """An `openai_max_tokens` that is no size gives way to `max_tokens`; else only an absent one."""


RULES: Mapping[CompileProfile, Rules] = {
    CompileProfile.SAFE: Rules(),
    CompileProfile.DSH_TAVERN: Rules(
        plugin_order=True,
        default_role="user",
        triggers=False,
        slots_by_flag=True,
        slots_once=False,
        macros_consume=False,
        override_once=False,
        original_is_raw=True,
        macro_profile=MacroProfile.DSH_TAVERN,
        shares_variables=False,
        lore_sees_card=False,
        empty_macros_are_sources=True,
        card_macros_alone=False,
        highest_order_stays=False,
        stray_side=LoreSide.AFTER,
        other_max_tokens=False,
    ),
}
