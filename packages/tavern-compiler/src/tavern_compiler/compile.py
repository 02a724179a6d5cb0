"""From a preset, a card, a user and fired lore to ordered, named parts.

Owns the sequence of the steps and the size limit. Must not know what a step does.

Source: the plugin contract, sections A1, A4 and A8.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from attrs import evolve, field, frozen

from tavern_compiler._text import to_utf8, trim, utf16_length
from tavern_compiler.call_config import CallConfig, call_config
from tavern_compiler.errors import ProfileTooLargeError
from tavern_compiler.fallback import fallback_actions
from tavern_compiler.inputs import (
    CompileInput,
    SystemPromptMode,
    char_name,
    character_texts,
    user_name,
)
from tavern_compiler.lore import highest, lore_diagnostics, side_of
from tavern_compiler.macro_context import Variables
from tavern_compiler.markers import MARKERS
from tavern_compiler.order import OrderedPrompts, order_prompts
from tavern_compiler.parts import Part, name_parts
from tavern_compiler.prompts import prompt_action
from tavern_compiler.steps import Action, Consumed, Job, Step, macro_settings
from tavern_compiler.unsent import unsent_diagnostics
from tavern_format import Diagnostic, Severity

SEPARATOR = "\n\n"
"""Between the texts of two parts."""
MAX_LORE_ENTRIES = 4096


@frozen(kw_only=True)
class UserInjection:
    """What became of the user's description."""

    selected: bool = False
    description_available: bool = False
    description_utf16: int = 0
    description_insertions: int = 0
    """0 or 1."""
    description_placement: str = "none"
    """`none`, `preset-marker:<identifier>`, `preset-macro:<identifier>` or `fallback`."""


@frozen(kw_only=True)
class Profile:
    """The result of a compile."""

    parts: tuple[Part, ...] = ()
    call_config: CallConfig = field(factory=CallConfig)
    system_prompt_mode: SystemPromptMode = SystemPromptMode.APPEND
    active_lore: tuple[str, ...] = ()
    """Qualified ids of the entries that stand in a part, in the order they were given."""
    user_injection: UserInjection = field(factory=UserInjection)
    variables: Variables = field(factory=Variables)
    """The stores of macro variables after the last part."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Paths lead into the `CompileInput`."""

    @property
    def system_text(self) -> str:
        """The texts of all parts, with an empty line between two."""
        return SEPARATOR.join(part.text for part in self.parts)

    @property
    def size_utf8_bytes(self) -> int:
        """Bytes of the system text in UTF-8."""
        return len(to_utf8(self.system_text))


def compile_profile(given: CompileInput) -> Profile:
    """Compile ordered parts; the same input gives the same result.

    Prompts come in the preset's order with markers filled, then whatever of persona, card and lore
    no prompt asked for. Of lore that does not fit the limit the lowest order is left out, with a
    diagnostic. Raises ProfileTooLargeError when the rest alone does not fit.
    """
    profile = _compile(given, min(len(given.lore), MAX_LORE_ENTRIES))
    if profile.size_utf8_bytes > given.max_profile_bytes:
        return _shortened(given)
    return profile


def _shortened(given: CompileInput) -> Profile:
    """Keep as much lore of the highest order as fits."""
    limit = given.max_profile_bytes
    smallest = _compile(given, 0).size_utf8_bytes
    if smallest > limit:
        raise ProfileTooLargeError(actual_bytes=smallest, limit_bytes=limit)
    counts = range(min(len(given.lore), MAX_LORE_ENTRIES) + 1)
    fitting = bisect_right(counts, limit, key=lambda count: _compile(given, count).size_utf8_bytes)
    return _compile(given, fitting - 1)


def _compile(given: CompileInput, lore_count: int) -> Profile:
    job = _job(given, lore_count)
    ordered = order_prompts(given.preset, given.trigger)
    steps = _run(job, ordered)
    return Profile(
        parts=name_parts(part for step in steps for part in step.parts),
        call_config=call_config(given.preset),
        system_prompt_mode=given.system_prompt_mode,
        active_lore=tuple(
            entry.qualified_id
            for _, entry in job.lore
            if trim(entry.content) and side_of(entry) is not None
        ),
        user_injection=_user_injection(job, steps[-1].consumed),
        variables=steps[-1].consumed.variables,
        diagnostics=(
            *ordered.diagnostics,
            *(found for step in steps for found in step.diagnostics),
            *lore_diagnostics(job.lore),
            *unsent_diagnostics(given),
            *_limit_diagnostics(given, len(given.lore) - lore_count),
        ),
    )


def _job(given: CompileInput, lore_count: int) -> Job:
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
    )
    lore = highest(given.lore, lore_count)
    return Job(
        given=given, texts=texts, lore=lore, persona=persona, context=context,
        macro_settings=macro_settings(given.macros),
    )  # fmt: skip


def _run(job: Job, ordered: OrderedPrompts) -> list[Step]:
    off = {
        MARKERS[placed.identifier]: placed.path
        for placed in ordered.prompts
        if not placed.enabled and placed.identifier in MARKERS
    }
    actions = (
        *(prompt_action(placed) for placed in ordered.prompts if placed.enabled),
        *fallback_actions(off),
    )

    first = Consumed(variables=job.given.macros.variables)

    def next_step(step: Step, action: Action) -> Step:
        return action(job, step.consumed)

    return list(accumulate(actions, next_step, initial=Step(consumed=first)))


def _user_injection(job: Job, consumed: Consumed) -> UserInjection:
    return UserInjection(
        selected=job.given.user is not None,
        description_available=bool(job.persona),
        description_utf16=utf16_length(job.persona),
        description_insertions=int(consumed.persona is not None),
        description_placement=consumed.persona or "none",
    )


def _limit_diagnostics(given: CompileInput, omitted: int) -> Iterator[Diagnostic]:
    if omitted:
        message = (
            f"{omitted} of {len(given.lore)} lore entries are left out"
            f" to keep the profile within {given.max_profile_bytes} bytes."
        )
        yield Diagnostic("TAVERN_PROFILE_LORE_LIMITED", Severity.WARNING, "/lore", message)
