"""Which prompts a request is made of: those of the order, the client's own, and the card's.

Owns the order in which their macros run. Must not know the budget.

Source: SillyTavern 1.19.0, public/scripts/openai.js (preparePromptsForChatCompletion).
"""

from collections.abc import Iterator, Mapping

import regex
from attrs import evolve, field, frozen

from tavern_compiler._js_json import array_index
from tavern_compiler._st_extensions import sources_of
from tavern_compiler._st_preset import OrderLine, PresetOrder, StPrompt
from tavern_compiler._st_settings import PromptSettings
from tavern_compiler._text import trim
from tavern_compiler.macro_context import KIB
from tavern_compiler.st_input import (
    ExtensionPosition,
    ExtensionPrompt,
    ProjectionProfile,
)
from tavern_compiler.st_macros import Macros
from tavern_compiler.st_prompt_inputs import PromptInputs
from tavern_compiler.st_result import MessageSource, MessageSourceKind
from tavern_format import Diagnostic, Severity

MAIN, CLOSING = "main", "jailbreak"
KNOWN_EXTENSIONS: Mapping[str, str] = {
    "1_memory": "summary",
    "2_floating_prompt": "authorsNote",
    "3_vectors": "vectorsMemory",
    "4_vectors_data_bank": "vectorsDataBank",
    "chromadb": "smartContext",
}
"""Key of an extension prompt to the identifier of its prompt, in the order they are placed."""
_ALWAYS_SYSTEM = frozenset({"3_vectors", "chromadb"})
_KEPT_OUT = frozenset({*KNOWN_EXTENSIONS, "PERSONA_DESCRIPTION", "QUIET_PROMPT", "DEPTH_PROMPT"})
_SIDES: Mapping[ExtensionPosition, bool] = {
    ExtensionPosition.BEFORE_PROMPT: True,
    ExtensionPosition.IN_PROMPT: False,
}
"""Positions beside the main prompt: True before it."""
_NO_WORD = regex.compile(r"\W", regex.ASCII)
_MAX_FORMATTED_CHARS = 4096 * KIB
_FORMAT_PLACE = regex.compile(r"\{(\d+)\}", regex.ASCII)


@frozen(kw_only=True)
class Collection:
    """The prompts in their places; a place here is a slot of the request."""

    prompts: tuple[StPrompt, ...]
    order: PresetOrder
    overridden: tuple[str, ...] = ()
    _places: Mapping[str, int] = field(init=False, repr=False, eq=False)

    @_places.default
    def _first_places(self) -> Mapping[str, int]:
        rows = reversed(list(enumerate(self.prompts)))
        return {prompt.identifier: at for at, prompt in rows}

    def index(self, identifier: str) -> int | None:
        """Find the first prompt of a name."""
        return self._places.get(identifier)

    def get(self, identifier: str) -> StPrompt | None:
        """Give the first prompt of a name."""
        at = self.index(identifier)
        return None if at is None else self.prompts[at]


def collect(
    inputs: PromptInputs,
    order: PresetOrder,
    settings: PromptSettings,
    macros: Macros,
    profile: ProjectionProfile,
) -> tuple[Collection, Macros]:
    """Collect all prompts, macros expanded."""
    own, macros = _client_prompts(inputs, settings, macros)
    prompts, macros = _ordered(order, macros, profile)
    unplaced = _filtered(order) if profile is ProjectionProfile.SAFE else frozenset()
    for prompt in own:
        prompts, macros = _merged(prompts, prompt, unplaced, macros, profile)
    collection = Collection(prompts=prompts, order=order)
    pairs = ((MAIN, inputs.system_prompt), (CLOSING, inputs.post_history))
    for identifier, text in pairs:
        source = inputs.sources.get(identifier, ())
        collection, macros = _override(collection, identifier, text, source, macros)
    if profile is ProjectionProfile.SAFE and collection.get(MAIN) is None:
        # Prompts beside the main prompt are lost in SillyTavern where that is not in the order.
        anchor = StPrompt(identifier=MAIN)
        collection = evolve(collection, prompts=(anchor, *collection.prompts))
    return collection, macros


def _ordered(
    order: PresetOrder, macros: Macros, profile: ProjectionProfile
) -> tuple[tuple[StPrompt, ...], Macros]:
    """Expand the prompts that are on, in order; a main prompt that is not stays as an anchor."""
    prompts: list[StPrompt] = []
    seen: set[str] = set()
    for line in order.lines:
        name = line.prompt.identifier
        repeated = name in seen
        if repeated and profile is ProjectionProfile.SAFE:
            continue
        if line.enabled and line.triggered:
            path = line.prompt.sources[0].path
            content, macros = macros.run(line.prompt.content, path)
            prompts.append(evolve(line.prompt, content=content))
            seen.add(name)
        elif name == MAIN:
            prompts.append(evolve(line.prompt, content=""))
            seen.add(name)
    return tuple(prompts), macros


def _filtered(order: PresetOrder) -> frozenset[str]:
    """Name the prompts that are on but not for this kind of generation."""

    def is_filtered(line: OrderLine) -> bool:
        return line.enabled and not line.triggered

    return frozenset(line.prompt.identifier for line in order.lines if is_filtered(line))


def _client_prompts(
    inputs: PromptInputs, settings: PromptSettings, macros: Macros
) -> tuple[list[StPrompt], Macros]:
    """List the prompts that no preset needs to have, in the order in which they are merged."""
    scenario, macros = _formatted(inputs.scenario, settings.scenario_format, "scenario", macros)
    personality, macros = _formatted(
        inputs.personality, settings.personality_format, "personality", macros
    )
    nudge, macros = macros.run(settings.group_nudge, "/preset/group_nudge_prompt")
    impersonation, macros = macros.run(settings.impersonation, "/preset/impersonation_prompt")
    before, macros = _format_lore(inputs.lore_before, settings.lore_format, macros)
    after, macros = _format_lore(inputs.lore_after, settings.lore_format, macros)
    texts = {
        "worldInfoBefore": before,
        "worldInfoAfter": after,
        "charDescription": inputs.description,
        "charPersonality": personality,
        "scenario": scenario,
        "impersonate": impersonation,
        "quietPrompt": inputs.quiet_prompt,
        "groupNudge": nudge,
        "bias": inputs.bias,
    }
    own = {
        "impersonate": setting_source("impersonation_prompt"),
        "groupNudge": setting_source("group_nudge_prompt"),
    }
    prompts = [
        StPrompt(
            identifier=name,
            content=text,
            role="assistant" if name == "bias" else "system",
            sources=own.get(name, inputs.sources.get(name, ())),
        )
        for name, text in texts.items()
    ]
    return [*prompts, *_extension_prompts(inputs)], macros


def setting_source(name: str) -> tuple[MessageSource, ...]:
    """Name a setting of the preset as a source."""
    return (MessageSource(kind=MessageSourceKind.PRESET, identifier=name, field=name),)


def _formatted(text: str, form: str, name: str, macros: Macros) -> tuple[str, Macros]:
    """Let a format stand in for a field that has a text; without a macro it is a fixed text."""
    return macros.run(form, f"/preset/{name}_format") if text and form else (text, macros)


def _format_lore(text: str, form: str, macros: Macros) -> tuple[str, Macros]:
    """Put lore into its format; a blank one is none, and so is one that makes too much of it."""
    if not text or not trim(form):
        return text, macros
    places = [found for found in _FORMAT_PLACE.finditer(form) if not found[1].strip("0")]
    if len(places) * len(text) > _MAX_FORMATTED_CHARS:
        message = "The format of lore makes more of it than is allowed: the lore stands as it is."
        path = "/preset/wi_format"
        told = Diagnostic("FORMAT_TOO_LARGE", Severity.WARNING, path, message)
        return text, evolve(macros, told=macros.told.plus((told,)))
    pieces: list[str] = []
    copied = 0
    for found in places:
        pieces += (form[copied : found.start()], text)
        copied = found.end()
    return "".join((*pieces, form[copied:])), macros


def _extension_prompts(inputs: PromptInputs) -> Iterator[StPrompt]:
    """List the prompts of extensions, the known ones first, and the persona among them."""
    rows = inputs.extension_prompts
    for key, name in KNOWN_EXTENSIONS.items():
        if key in rows and rows[key].value:
            yield _extension_prompt(key, name, rows[key])
    if inputs.persona:
        yield StPrompt(
            identifier="personaDescription",
            content=inputs.persona,
            role="system",
            sources=inputs.sources.get("personaDescription", ()),
        )
    for key, row in _in_insertion_order(rows):
        if key not in _KEPT_OUT and row.value and row.position in _SIDES:
            yield evolve(_extension_prompt(key, _NO_WORD.sub("_", key), row), extension=True)


def _in_insertion_order(
    rows: Mapping[str, ExtensionPrompt],
) -> Iterator[tuple[str, ExtensionPrompt]]:
    """List rows as JavaScript does: keys that are whole numbers first, then as they were set."""
    numbers = sorted((key for key in rows if _is_index(key)), key=int)
    others = (key for key in rows if not _is_index(key))
    return ((key, rows[key]) for key in (*numbers, *others))


def _is_index(key: str) -> bool:
    return array_index(key) is not None


def _extension_prompt(key: str, name: str, row: ExtensionPrompt) -> StPrompt:
    return StPrompt(
        identifier=name,
        content=row.value,
        role="system" if key in _ALWAYS_SYSTEM else row.role.name.lower(),
        at_start=_SIDES.get(row.position),
        sources=sources_of(key, row),
    )


def _merged(
    prompts: tuple[StPrompt, ...],
    own: StPrompt,
    unplaced: frozenset[str],
    macros: Macros,
    profile: ProjectionProfile,
) -> tuple[tuple[StPrompt, ...], Macros]:
    """Put a prompt of the client in the place of the preset's one of that name, else at the end."""
    name = own.identifier
    at = next((at for at, prompt in enumerate(prompts) if prompt.identifier == name), None)
    if at is None and name in unplaced:
        return prompts, macros
    path = own.sources[0].path if own.sources else ""
    if at is None:
        content, macros = macros.run(own.content, path)
        return (*prompts, evolve(own, content=content)), macros
    slot = prompts[at]
    if profile is ProjectionProfile.SAFE and slot.custom and not own.content:
        # A prompt of the user's own that happens to have a reserved name.
        return prompts, macros
    content, macros = macros.run(own.content, path)
    filled = evolve(
        own,
        content=content,
        role=own.role if slot.role is None else slot.role,
        in_chat=slot.in_chat,
        depth=slot.depth,
        order=slot.order,
        sources=(*own.sources, *slot.sources),
    )
    return (*prompts[:at], filled, *prompts[at + 1 :]), macros


def _override(
    collection: Collection,
    identifier: str,
    text: str,
    sources: tuple[MessageSource, ...],
    macros: Macros,
) -> tuple[Collection, Macros]:
    """Put the card's text in place of a prompt's; role and place stay the preset's."""
    at = collection.index(identifier)
    if not text or at is None:
        return collection, macros
    prompt = collection.prompts[at]
    if prompt.forbid_overrides or collection.order.is_disabled(identifier):
        return collection, macros
    path = sources[0].path if sources else ""
    scope = evolve(macros.scope, original=prompt.content)
    content, macros = macros.run(text, path, scope)
    replaced = evolve(prompt, content=content, sources=(*sources, *prompt.sources))
    prompts = (*collection.prompts[:at], replaced, *collection.prompts[at + 1 :])
    overridden = (*collection.overridden, identifier)
    return evolve(collection, prompts=prompts, overridden=overridden), macros
