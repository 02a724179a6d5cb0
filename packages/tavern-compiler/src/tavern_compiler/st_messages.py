"""The strict projection: a request's messages exactly as SillyTavern builds them.

Owns the public functions and the order of the three stages: texts, prompts, request. Each stage
returns a value; none of them looks at a clock, at dice or at a tokenizer of its own.

Source: SillyTavern 1.19.0, public/script.js (Generate) and public/scripts/openai.js
(prepareOpenAIMessages).
"""

from collections.abc import Mapping

from attrs import evolve, field, frozen

from tavern_compiler._st_collection import collect
from tavern_compiler._st_draft import Costs, Draft
from tavern_compiler._st_missing import missing
from tavern_compiler._st_place import Job, fill
from tavern_compiler._st_prepare import ChatSettings, prepare, scope_of
from tavern_compiler._st_preset import read_order
from tavern_compiler._st_remarks import remarks
from tavern_compiler._st_settings import prompt_settings
from tavern_compiler._st_squash import flatten
from tavern_compiler.macro_context import MacroContext, MacroMeter
from tavern_compiler.st_input import (
    CountTokens,
    ProjectionInput,
    ProjectionProfile,
    ProjectionSettings,
)
from tavern_compiler.st_macros import Expand, Macros, Rewrite, expand_with
from tavern_compiler.st_prompt_inputs import PromptInputs
from tavern_compiler.st_result import Projection
from tavern_format import Diagnostic, Preset


@frozen(kw_only=True)
class ProjectionTools:
    """What a projection calls beside a tokenizer, and how strict it is."""

    expand: Expand = field(factory=lambda: expand_with(MacroContext()))
    """Expands macros: see `expand_with`. The default has no dice and no time."""
    macro_state: object = None
    """What `expand` is given first; None: what it begins with by itself."""
    rewrite: Rewrite | None = None
    """Runs regex scripts for the prompt: see `rewrite_with`; None: there are none."""
    profile: ProjectionProfile = ProjectionProfile.ST_1_19
    default_texts: Mapping[str, str] | None = None
    """Texts of default prompts that the preset does not have, by identifier."""


def project_messages(
    given: ProjectionInput, *, count_tokens: CountTokens, tools: ProjectionTools | None = None
) -> Projection:
    """Build the messages of a chat-completion request.

    The budget is the preset's context less its reply; what has no room is in `Projection.dropped`
    with its cost. A prompt that must fit and does not ends the request there (`over_budget`).
    Raises what `tools.expand` raises: MacroError where a macro needs dice or the time.

    >>> from tavern_format import ChatMessage, parse_preset
    >>> preset = parse_preset(b'''{"new_chat_prompt": "", "prompts": [
    ...   {"identifier": "main", "content": "Be {{char}}."}], "prompt_order": [
    ...   {"character_id": 100001, "order": [{"identifier": "main", "enabled": true},
    ...   {"identifier": "chatHistory", "enabled": true}]}]}''').value
    >>> said = ChatMessage(name="User", is_user=True, text="Hi.")
    >>> given = ProjectionInput(preset=preset, char_name="Ada", chat=(said,))
    >>> [(one.role, one.content) for one in project_messages(given, count_tokens=len).messages]
    [('system', 'Be Ada.'), ('user', 'Hi.')]
    """
    chosen = ProjectionTools() if tools is None else tools
    inputs, found, macros = _prepare(given, chosen)
    costs = Costs(count_tokens=count_tokens, per_message=given.settings.tokens_per_message)
    done = _build(_Order(inputs, given.preset, given.settings), costs, chosen, macros)
    return evolve(done, diagnostics=(*found, *done.diagnostics))


def prompt_inputs(given: ProjectionInput, *, tools: ProjectionTools | None = None) -> PromptInputs:
    """Give the texts that the prompt builder starts from: what a frozen run input holds."""
    return _prepare(given, ProjectionTools() if tools is None else tools)[0]


def project_prompt_inputs(
    inputs: PromptInputs,
    preset: Preset,
    *,
    count_tokens: CountTokens,
    settings: ProjectionSettings | None = None,
    tools: ProjectionTools | None = None,
) -> Projection:
    """Build the messages of a request from texts that were frozen earlier, with any preset."""
    chosen = ProjectionTools() if tools is None else tools
    own = ProjectionSettings() if settings is None else settings
    scope = evolve(inputs.scope, meter=MacroMeter())
    macros = Macros(expand=chosen.expand, scope=scope, state=chosen.macro_state)
    costs = Costs(count_tokens=count_tokens, per_message=own.tokens_per_message)
    return _build(_Order(inputs, preset, own), costs, chosen, macros)


@frozen
class _Order:
    """What is to be built."""

    inputs: PromptInputs
    preset: Preset
    settings: ProjectionSettings


def _prepare(
    given: ProjectionInput, tools: ProjectionTools
) -> tuple[PromptInputs, tuple[Diagnostic, ...], Macros]:
    chosen = prompt_settings(given.preset, given.settings.completion_source)
    macros = Macros(
        expand=tools.expand,
        scope=scope_of(given),
        state=tools.macro_state,
        rewrite=tools.rewrite,
    )
    prepared = prepare(
        given,
        ChatSettings(names=chosen.names, continue_postfix=chosen.continue_postfix),
        macros,
        profile=tools.profile,
    )
    return prepared.inputs, tuple(remarks(given, prepared)), prepared.macros


def _build(wanted: _Order, costs: Costs, tools: ProjectionTools, macros: Macros) -> Projection:
    inputs, preset, settings = wanted.inputs, wanted.preset, wanted.settings
    chosen = prompt_settings(preset, settings.completion_source)
    order = read_order(preset, inputs.type, tools.profile, tools.default_texts)
    collection, macros = collect(inputs, order, chosen, macros, tools.profile)
    draft = Draft(
        budget=chosen.context_tokens - chosen.reply_tokens,
        macros=macros,
        costs=costs,
        profile=tools.profile,
    )
    job = Job(
        inputs=inputs,
        collection=collection,
        settings=chosen,
        pin_examples=settings.pin_examples,
    )
    draft, over_budget = fill(job, draft)
    draft = draft.drop(*missing(inputs, collection, draft, over_budget))
    return Projection(
        messages=flatten(draft, squash=chosen.squash and not settings.dry_run),
        dropped=draft.dropped,
        diagnostics=(
            *order.diagnostics,
            *draft.macros.diagnostics,
            *(one.diagnostic for one in draft.dropped),
        ),
        overridden=draft.overridden,
        over_budget=over_budget,
        tokens_left=draft.budget,
        scripts=draft.macros.scripts,
        macro_state=draft.macros.state,
    )
