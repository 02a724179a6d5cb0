"""What of the input is not in any part, and why: nothing is left out without a word.

Owns the remarks about fields that are never sent and settings that are not executed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tavern_compiler._text import trim
from tavern_compiler.inputs import CompileInput, character_texts
from tavern_format import CharacterCard, Diagnostic, Preset, RegexScript, Severity

_NEVER_SENT: Mapping[str, Callable[[CharacterCard], object]] = {
    "creator_notes": lambda card: trim(card.creator_notes),
    "creator_notes_multilingual": lambda card: card.creator_notes_multilingual,
    "group_only_greetings": lambda card: card.group_only_greetings,
    "tags": lambda card: card.tags,
    "creator": lambda card: trim(card.creator),
    "character_version": lambda card: trim(card.character_version),
}
"""Fields for people and programs, by attribute of the card."""

_NEUTRAL_FORMATS: Mapping[str, str] = {
    "world_info_format": "{0}",
    "scenario_format": "{{scenario}}",
    "personality_format": "{{personality}}",
}
"""Formats of the preset that put something around a text, and what they are when they do not."""


def unsent_diagnostics(given: CompileInput) -> Iterator[Diagnostic]:
    """Name what is in the input and not in the parts."""
    if given.character is not None:
        yield from _card(given, given.character)
        yield from _scripts(given.character.regex_scripts, "/character")
    if given.preset is not None:
        yield from _formats(given.preset)
        yield from _scripts(given.preset.regex_scripts, "/preset")


def _card(given: CompileInput, card: CharacterCard) -> Iterator[Diagnostic]:
    names = [name for name, read in _NEVER_SENT.items() if read(card)]
    if names:
        message = f"Never sent to a model: {', '.join(names)}."
        yield _info("CHARACTER_FIELDS_NEVER_SENT", "/character", message)
    yield from _greetings(given, card)
    for attribute, reason in _declined(given):
        message = f"The card's {attribute} is not sent: {reason}."
        yield _info("CHARACTER_FIELD_NOT_SENT", f"/character/{attribute}", message)


def _greetings(given: CompileInput, card: CharacterCard) -> Iterator[Diagnostic]:
    greetings = (card.greeting, *card.alternate_greetings)
    index = given.options.greeting_index
    if not 0 <= index < len(greetings):
        message = f"There is no greeting {index}: the card has {len(greetings)}, counted from 0."
        yield Diagnostic("GREETING_NOT_FOUND", Severity.WARNING, "/options/greeting_index", message)
    others = [other for other in range(len(greetings)) if other != index and trim(greetings[other])]
    if others:
        message = f"Greetings that were not chosen are not sent: {', '.join(map(str, others))}."
        yield _info("GREETINGS_NOT_CHOSEN", "/character/alternate_greetings", message)


def _declined(given: CompileInput) -> Iterator[tuple[str, str]]:
    """List the fields with a text that the caller asked not to send."""
    texts = character_texts(given, declined=True)
    reasons = {
        "systemPrompt": ("system_prompt", "the preset's prompt is preferred"),
        "postHistoryInstructions": (
            "post_history_instructions",
            "the preset's prompt is preferred",
        ),
        "greeting": ("greeting", "the chat has begun, and the greeting stands in it"),
    }
    return (reasons[name] for name in texts)


def _formats(preset: Preset) -> Iterator[Diagnostic]:
    for attribute, neutral in _NEUTRAL_FORMATS.items():
        if getattr(preset, attribute) not in (None, "", neutral):
            message = f"The preset's {attribute} is not executed: the text stands as it is."
            yield Diagnostic(
                "FORMAT_NOT_EXECUTED", Severity.WARNING, f"/preset/{attribute}", message
            )


def _scripts(scripts: Sequence[RegexScript], path: str) -> Iterator[Diagnostic]:
    active = [script for script in scripts if not script.disabled]
    if active:
        message = f"Parts are not rewritten: regex scripts that do not run here, {len(active)}."
        path = f"{path}/regex_scripts"
        yield Diagnostic("REGEX_SCRIPTS_NOT_EXECUTED", Severity.WARNING, path, message)


def _info(code: str, path: str, message: str) -> Diagnostic:
    return Diagnostic(code, Severity.INFO, path, message)
