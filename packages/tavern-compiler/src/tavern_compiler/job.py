"""What all steps of a compile share: the job, what is consumed, what a step gives, how macros run.

A step turns what is consumed so far into parts and what is consumed then; nothing is changed in
place. Must not know which steps there are.

Source: the plugin contract, sections A4 to A7.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from attrs import evolve, field, frozen

from tavern_compiler._macro_variables import MacroRefusal
from tavern_compiler._text import trim
from tavern_compiler.inputs import CompileInput, char_name, character_texts, user_name
from tavern_compiler.lore import LoreEntry, LoreSide, NumberedLore, side_of
from tavern_compiler.macro_context import MacroContext, MacroMeter, Variables
from tavern_compiler.macro_table import Macro, MacroCall
from tavern_compiler.macros import (
    MACROS,
    Expansion,
    MacroProfile,
    MacroSettings,
    expand_at,
    names_only,
)
from tavern_compiler.parts import Part
from tavern_compiler.rules import Rules
from tavern_format import Diagnostic


@frozen(kw_only=True)
class Consumed:
    """What stands in a part already and is not appended again."""

    fields: frozenset[str] = frozenset()
    """Of the card."""
    lore: frozenset[str] = frozenset()
    """Sides."""
    persona: str | None = None
    """Where the persona stands: `preset-marker:<identifier>`, `preset-macro:<identifier>`,
    `fallback`; empty: it was asked for and gives no text; None: nobody has asked for it."""
    variables: Variables = field(factory=Variables)
    """Of macros, as the parts before have left them."""

    def plus(
        self,
        variables: Variables,
        *,
        fields: Iterable[str] = (),
        lore: Iterable[str] = (),
        persona: str | None = None,
    ) -> "Consumed":
        """Add what a step has shown; a persona that is there already stays where it is."""
        # Not `evolve`: this is done for every step of every compile.
        return Consumed(
            fields=self.fields.union(fields) if fields else self.fields,
            lore=self.lore.union(lore) if lore else self.lore,
            persona=persona if self.persona is None else self.persona,
            variables=variables,
        )


@frozen(kw_only=True)
class Step:
    """What one step gives."""

    consumed: Consumed
    parts: tuple[Part, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class FiredLore(NamedTuple):
    """An entry of the lore, with what is asked about it again and again."""

    place: int
    """In the input."""
    entry: LoreEntry
    side: LoreSide | None
    """Where it stands; None: nowhere."""
    book_id: str
    qualified_id: str
    dice_place: str
    """What dice are told of: two entries of one id draw for themselves."""


@frozen(kw_only=True)
class Job:
    """What all steps share."""

    given: CompileInput
    rules: Rules
    texts: Mapping[str, str]
    """Fields of the card that may be sent, trimmed, in fallback order."""
    lore: tuple[FiredLore, ...]
    """What of the lore fits."""
    persona: str
    context: MacroContext
    """With the persona, whether or not it stands somewhere already."""
    names: MacroContext
    """The same without card and persona: for the card's own fields."""
    without_persona: MacroContext
    macro_settings: MacroSettings
    alone: bool
    """Whether there is nothing but a preset."""

    def context_after(self, consumed: Consumed) -> MacroContext:
        """Give the macros' values: the persona is shown once only."""
        return self.context if consumed.persona is None else self.without_persona

    def expand(
        self, text: str, context: MacroContext, variables: Variables, place: str
    ) -> Expansion:
        """Expand the macros of a text, with the variables as they are by then.

        `place` is what dice are told of: it names the text and not its number among the parts, so
        that one more entry of lore changes no other's luck.
        """
        expansion = expand_at(text, context, self.macro_settings, variables, place)
        if self.alone or self.rules.shares_variables:
            return expansion
        # Not `evolve`: this is done for every text of every compile.
        return Expansion(
            text=expansion.text,
            used=expansion.used,
            variables=variables,
            diagnostics=expansion.diagnostics,
        )


Action = Callable[[Job, Consumed], Step]


def job_of(given: CompileInput, lore: tuple[NumberedLore, ...]) -> Job:
    """Prepare what all steps of one compile share."""
    rules = given.rules
    texts = character_texts(given)
    persona = trim(given.user.description) if given.user else ""
    context = evolve(
        given.macros,
        user=user_name(given),
        char=char_name(given),
        description=texts.get("description", ""),
        personality=texts.get("personality", ""),
        scenario=texts.get("scenario", ""),
        message_examples=texts.get("messageExample", ""),
        persona=persona,
        meter=MacroMeter(),
    )
    names = names_only(context)
    alone = given.character is None and given.user is None and not lore
    if alone and not rules.card_macros_alone:
        context = names
    return Job(
        given=given,
        rules=rules,
        texts=texts,
        lore=tuple(_fired(given, rules, lore)),
        persona=persona,
        context=context,
        names=names,
        without_persona=evolve(context, persona="") if persona else context,
        macro_settings=_settings(rules.macro_profile, context),
        alone=alone,
    )


def _fired(given: CompileInput, rules: Rules, lore: Iterable[NumberedLore]) -> Iterator[FiredLore]:
    stray = rules.stray_side
    seen: Counter[str] = Counter()
    for place, entry in lore:
        book_id = given.book_id(entry)
        side = side_of(entry, stray=stray)
        qualified = f"{book_id}:{entry.uid}"
        seen[qualified] += 1
        own = qualified if seen[qualified] == 1 else f"{qualified}#{seen[qualified]}"
        yield FiredLore(place, entry, side, book_id, qualified, f"/lore/{own}")


def _repeated_original(_: MacroCall, context: MacroContext) -> str:
    if context.original is None:
        message = "nothing is replaced here"
        raise MacroRefusal(message)
    return context.original


_SECTION_MACROS = (
    Macro(
        name="mesExamples",
        value=lambda call, _: call.field("message_examples"),
        field="messageExample",
    ),
    Macro(name="original", value=_repeated_original),
)
"""Rows that differ in sections: examples without headings, `{{original}}` as often as it stands."""

_Kind = tuple[MacroProfile, bool, bool]


def _settings_of(profile: MacroProfile, *, dice: bool, time: bool) -> MacroSettings:
    idle = (row for row in MACROS if (row.draws and not dice) or (row.reads_clock and not time))
    without = frozenset(name for row in idle for name in row.names)
    return MacroSettings(macros=_SECTION_MACROS, without=without, profile=profile)


_SETTINGS: Mapping[_Kind, MacroSettings] = {
    (profile, dice, time): _settings_of(profile, dice=dice, time=time)
    for profile in (MacroProfile.NEW, MacroProfile.DSH_TAVERN)
    for dice in (False, True)
    for time in (False, True)
}
"""By engine, and whether there are dice and a time: without them not what needs them is run."""


def _settings(profile: MacroProfile, context: MacroContext) -> MacroSettings:
    return _SETTINGS[profile, context.dice is not None, context.now is not None]
