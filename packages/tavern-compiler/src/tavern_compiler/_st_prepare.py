"""From a card, a chat and lore to the texts that the prompt builder is given.

Owns the order of the steps: it decides which macro sees which variable. Must not know presets
beyond the two settings that change texts of the chat.

Source: SillyTavern 1.19.0, public/script.js (Generate up to the call of the prompt builder).
"""

from collections.abc import Mapping

from attrs import evolve, frozen

from tavern_compiler import _st_chat
from tavern_compiler._st_card import CardFields, card_context, card_text, read_fields
from tavern_compiler._st_examples import Speakers, parse_block, split_blocks
from tavern_compiler._st_extensions import (
    ExtensionTable,
    at_position,
    depth_notes,
    extension_table,
    joined,
    persona_source,
)
from tavern_compiler._st_lore import LoreTexts, expand_lore, finished_lore, lore_texts, rewrite_lore
from tavern_compiler._st_reasoning import with_reasoning
from tavern_compiler.macro_context import (
    GroupMember,
    HostFacts,
    MacroChat,
    MacroContext,
    MacroMeter,
)
from tavern_compiler.st_input import (
    ExtensionPosition,
    ProjectionInput,
    ProjectionProfile,
)
from tavern_compiler.st_macros import Macros
from tavern_compiler.st_prompt_inputs import ExampleBlock, PromptInputs
from tavern_compiler.st_result import MessageSource, MessageSourceKind
from tavern_format import PersonaPosition


@frozen(kw_only=True)
class ChatSettings:
    """What of a preset changes texts before the prompt builder has them."""

    names: _st_chat.Names | None = _st_chat.Names.DEFAULT
    continue_postfix: str = " "


@frozen(kw_only=True)
class Prepared:
    """The prompt builder's texts, and what was found on the way."""

    inputs: PromptInputs
    macros: Macros
    lore: LoreTexts
    table: ExtensionTable
    reasoned: frozenset[int]
    """Numbers of the messages whose reasoning is sent."""


def scope_of(given: ProjectionInput) -> MacroContext:
    """Say what macros may show."""
    card, group = given.character, given.group
    members = group.members if group else ()
    named = (member for member in members if member.card.name)
    shown = tuple(GroupMember(name=one.card.name, muted=one.muted) for one in named)
    return evolve(
        card_context(given),
        user=given.persona.name if given.persona else "User",
        char=given.char_name or (card.name if card else "") or "Assistant",
        group=shown or None,
        chat=MacroChat(messages=tuple(map(_st_chat.macro_message, given.chat))),
        host=HostFacts(collapse_newlines=given.settings.collapse_newlines),
        meter=MacroMeter(),
    )


def prepare(
    given: ProjectionInput,
    chat: ChatSettings,
    macros: Macros,
    *,
    profile: ProjectionProfile,
) -> Prepared:
    """Read card, chat and lore."""
    quiet, macros = macros.run(given.quiet_prompt, "/quiet_prompt")
    bias, macros = _st_chat.bias(given, macros)
    fields, macros = read_fields(given, macros)
    notes, macros = depth_notes(given, fields, macros)
    core, macros = with_reasoning(given, *_st_chat.core_chat(given, macros))
    lore, macros = _lore(given, macros, profile)
    examples, macros = _examples(given, fields, lore, macros)
    outlets = {} if given.skip_notes else {name: one.text for name, one in lore.outlets.items()}
    host = evolve(macros.scope.host, outlets=outlets)
    macros = evolve(macros, scope=evolve(macros.scope, host=host))
    place = _persona_place(given, profile)
    table = extension_table(given, notes, lore, place)
    macros = _run_anchors(table, macros)
    persona_here = given.persona is not None and place == PersonaPosition.IN_PROMPT
    inputs = PromptInputs(
        type=given.type,
        scope=evolve(macros.scope, meter=None),
        description=fields["description"],
        personality=fields["personality"],
        scenario=fields["scenario"],
        lore_before=lore.before.text,
        lore_after=lore.after.text,
        persona=given.persona.description if given.persona and persona_here else "",
        system_prompt=fields["system_prompt"],
        post_history=fields["post_history_instructions"],
        bias=bias,
        quiet_prompt=quiet,
        cycle_prompt=_st_chat.cycle_prompt(given, core, chat.continue_postfix),
        extension_prompts=table.rows,
        messages=_st_chat.history(given, core, chat.names),
        examples=examples,
        in_group=given.group is not None,
        sources=_sources(given, fields, lore),
    )
    reasoned = frozenset(one.index for one in core if one.reasoned)
    return Prepared(inputs=inputs, macros=macros, lore=lore, table=table, reasoned=reasoned)


def _lore(
    given: ProjectionInput, macros: Macros, profile: ProjectionProfile
) -> tuple[LoreTexts, Macros]:
    safe = profile is ProjectionProfile.SAFE
    if given.lore_expanded:
        return lore_texts(finished_lore(given.lore), safe=safe), macros
    lore, macros = rewrite_lore(*expand_lore(given.lore, macros))
    return lore_texts(lore, safe=safe), macros


def _persona_place(given: ProjectionInput, profile: ProjectionProfile) -> int:
    place = given.persona.position if given.persona else PersonaPosition.NONE
    # The old place after the character is nowhere in SillyTavern by now.
    if place is PersonaPosition.AFTER_CHAR and profile is ProjectionProfile.SAFE:
        return PersonaPosition.IN_PROMPT
    return place


def _examples(
    given: ProjectionInput, fields: CardFields, lore: LoreTexts, macros: Macros
) -> tuple[tuple[ExampleBlock, ...], Macros]:
    """Split the card's examples and put those of lore before and after; later ones further out."""
    scope = macros.scope
    members = None if given.group is None else tuple(one.name for one in scope.group or ())
    speakers = Speakers(user=scope.user, char=scope.char, members=members)
    own = fields.sources.get("message_examples", ())
    blocks = [(block, own) for block in split_blocks(fields["message_examples"])]
    for before, text in lore.examples:
        shown, macros = card_text(text.text, macros, given, path=text.sources[0].path)
        more = [(block, text.sources) for block in split_blocks(shown)]
        blocks = [*more, *blocks] if before else [*blocks, *more]
    if given.settings.strip_examples:
        blocks = []
    return tuple(parse_block(block, speakers, sources) for block, sources in blocks), macros


def _run_anchors(table: ExtensionTable, macros: Macros) -> Macros:
    """Expand what text completion would put around its story: variables change all the same."""
    for position in (ExtensionPosition.BEFORE_PROMPT, ExtensionPosition.IN_PROMPT):
        text, _ = joined(at_position(table.rows, position))
        _, after = macros.run(f"\n{text}\n" if text else "")
        macros = evolve(macros, state=after.state)
    return macros


def _sources(
    given: ProjectionInput, fields: CardFields, lore: LoreTexts
) -> Mapping[str, tuple[MessageSource, ...]]:
    once = {
        name: (MessageSource(kind=MessageSourceKind.GENERATION, identifier=name, field=field),)
        for name, field in (("quietPrompt", "quiet_prompt"), ("bias", "bias"))
    }
    return {
        **once,
        "worldInfoBefore": lore.before.sources,
        "worldInfoAfter": lore.after.sources,
        "charDescription": fields.sources.get("description", ()),
        "charPersonality": fields.sources.get("personality", ()),
        "scenario": fields.sources.get("scenario", ()),
        "personaDescription": (persona_source(given),),
        "main": fields.sources.get("system_prompt", ()),
        "jailbreak": fields.sources.get("post_history_instructions", ()),
    }
