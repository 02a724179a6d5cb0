"""From a preset, a card, a user and fired lore to ordered, named parts.

Owns the sequence of the steps and the size limit. Must not know what a step does.

Source: the plugin contract, sections A1, A4 and A8.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from attrs import evolve, frozen

from tavern_compiler._text import trim, utf8_length, utf16_length
from tavern_compiler.call_config import call_config
from tavern_compiler.errors import ProfileTooLargeError
from tavern_compiler.fallback import fallback_actions, late_actions
from tavern_compiler.inputs import CompileInput
from tavern_compiler.job import Action, Consumed, Job, Step, job_of
from tavern_compiler.lore import LoreEntry, candidate_count, lore_diagnostics, ranked
from tavern_compiler.markers import MARKERS
from tavern_compiler.order import OrderedPrompts, order_prompts
from tavern_compiler.parts import SEPARATOR, name_parts
from tavern_compiler.profile import LoreLimit, Profile, UserInjection
from tavern_compiler.prompts import prompt_action
from tavern_compiler.unsent import unsent_diagnostics
from tavern_format import Diagnostic, Severity


def compile_profile(given: CompileInput) -> Profile:
    """Compile ordered parts; the same input gives the same result.

    Prompts come in the preset's order with markers filled, then whatever of persona, card and lore
    no prompt asked for. Of lore that does not fit the limit the lowest order is left out, with a
    diagnostic. Raises ProfileTooLargeError when the rest alone does not fit, and ValueError where
    dice give no number of at least 0 and below 1.
    """
    choice = _choice(given)
    profile = _compile(given, choice, choice.count)
    size_bytes = profile.size_utf8_bytes
    if size_bytes <= given.max_profile_bytes:
        return _limited(profile, choice, choice.count, size_bytes)
    return _shortened(given, choice, size_bytes)


@frozen
class _Choice:
    """The lore of a compile, and what of it is tried at all."""

    lore: tuple[LoreEntry, ...]
    places: Sequence[int]
    """From the entry that stays longest to the one that goes first."""
    count: int
    """So many, from the first, are tried."""
    max_input_bytes: int


def _choice(given: CompileInput) -> _Choice:
    lore = given.fired()
    places = ranked(lore, by_order=given.rules.highest_order_stays)
    most = 2 * given.max_profile_bytes
    return _Choice(lore, places, candidate_count(lore, places, most), most)


def _shortened(given: CompileInput, choice: _Choice, measured_bytes: int) -> Profile:
    """Keep as many entries, from the first ranked on, as fit.

    Sizes follow from the contents but for macros, so a guess is right or nearly so; what is left
    between what fits and what does not is halved until it is known.
    """
    limit = given.max_profile_bytes
    best, fitting, failing = _compile(given, choice, 0), 0, choice.count
    if best.size_utf8_bytes > limit:
        raise ProfileTooLargeError(actual_bytes=best.size_utf8_bytes, limit_bytes=limit)
    guess = _guess(choice, limit - best.size_utf8_bytes)
    guesses = iter((guess, guess + 1, guess - 1))
    while failing - fitting > 1:
        count = next((one for one in guesses if fitting < one < failing), 0)
        count = count or (fitting + failing) // 2
        tried = _compile(given, choice, count)
        if tried.size_utf8_bytes <= limit:
            best, fitting = tried, count
        else:
            failing = count
    return _limited(best, choice, fitting, measured_bytes)


def _guess(choice: _Choice, left_bytes: int) -> int:
    sizes = (
        utf8_length(trim(choice.lore[place].content)) + len(SEPARATOR)
        for place in choice.places[: choice.count]
    )
    return sum(used <= left_bytes for used in accumulate(sizes))


def _limited(profile: Profile, choice: _Choice, kept: int, measured_bytes: int) -> Profile:
    """Say what of the lore is left out."""
    omitted = len(choice.lore) - kept
    if not omitted:
        return profile
    limit = LoreLimit(
        max_profile_bytes=profile.given.max_profile_bytes,
        max_lore_input_bytes=choice.max_input_bytes,
        measured_bytes=measured_bytes,
        retained_entries=kept,
        omitted_entries=omitted,
    )
    message = (
        f"{omitted} of {len(choice.lore)} lore entries are left out"
        f" to keep the profile within {limit.max_profile_bytes} bytes."
    )
    found = Diagnostic("TAVERN_PROFILE_LORE_LIMITED", Severity.WARNING, "/lore", message)
    return evolve(profile, lore_limit=limit, diagnostics=(*profile.diagnostics, found))


def _compile(given: CompileInput, choice: _Choice, lore_count: int) -> Profile:
    kept = sorted(choice.places[:lore_count])
    job = job_of(given, tuple((place, choice.lore[place]) for place in kept))
    ordered = order_prompts(given.preset, given.trigger, job.rules)
    steps = _run(job, _actions(job, ordered), Consumed(variables=given.macros.variables))
    late = _run(job, late_actions(given.lore_channel), steps[-1].consumed)
    parts = name_parts(part for step in steps for part in step.parts)
    return Profile(
        given=given,
        parts=parts,
        late_parts=name_parts((part for step in late for part in step.parts), len(parts)),
        call_config=call_config(given.preset, other_max_tokens=job.rules.other_max_tokens),
        system_prompt_mode=given.system_prompt_mode,
        active_lore=tuple(
            one.qualified_id for one in job.lore if one.side is not None and trim(one.entry.content)
        ),
        user_injection=_user_injection(job, late[-1].consumed),
        variables=late[-1].consumed.variables,
        diagnostics=(
            *ordered.diagnostics,
            *(found for step in (*steps, *late) for found in step.diagnostics),
            *lore_diagnostics((one[:2] for one in job.lore), stray=job.rules.stray_side),
            *unsent_diagnostics(given),
        ),
    )


def _actions(job: Job, ordered: OrderedPrompts) -> Iterator[Action]:
    off = {
        MARKERS[placed.identifier]: placed.path
        for placed in ordered.prompts
        if not placed.enabled and placed.identifier in MARKERS
    }
    for placed in ordered.prompts:
        if placed.enabled:
            yield prompt_action(placed, job.rules)
    yield from fallback_actions(job, off)


def _run(job: Job, actions: Iterable[Action], consumed: Consumed) -> list[Step]:
    def next_step(step: Step, action: Action) -> Step:
        return action(job, step.consumed)

    return list(accumulate(actions, next_step, initial=Step(consumed=consumed)))


def _user_injection(job: Job, consumed: Consumed) -> UserInjection:
    return UserInjection(
        selected=job.given.user is not None,
        description_available=bool(job.persona),
        description_utf16=utf16_length(job.persona),
        description_insertions=int(bool(consumed.persona)),
        description_placement=consumed.persona or "none",
    )
