"""What is said about texts that no prompt of the request will hold.

Must not decide anything: every remark is about what has happened already.

Source: SillyTavern 1.19.0, public/scripts/world-info.js and public/scripts/authors-note.js.
"""

from collections.abc import Iterator

from tavern_compiler._st_prepare import Prepared
from tavern_compiler.st_input import ProjectionInput
from tavern_format import Diagnostic, PersonaPosition, Severity, pointer

_BESIDE_NOTE = frozenset({PersonaPosition.TOP_AN, PersonaPosition.BOTTOM_AN})
_NOT_SENT = ("media", "file", "files", "tool_invocations")
_REASONING = "reasoning"


def remarks(given: ProjectionInput, prepared: Prepared) -> Iterator[Diagnostic]:
    """Name what was given and is not sent, and why."""
    if not prepared.table.note_due:
        yield from _without_note(given, prepared)
    for one in given.lore.unplaced:
        message = "The entry has no known place, or no outlet, and is not in the request."
        path = pointer("/lore", one.entry.book, one.entry.index)
        yield _warning("LORE_NOT_PLACED", path, message)
    if given.skip_notes and (prepared.lore.depth_rows or prepared.lore.outlets):
        message = "Lore at a depth and in outlets is left out of this generation."
        yield _warning("LORE_SKIPPED", "/skip_notes", message)
    if given.persona and given.persona.position is PersonaPosition.AFTER_CHAR:
        message = "This place of the persona is an old one that SillyTavern knows no more."
        yield _warning("PERSONA_PLACE_OLD", "/persona/position", message)
    for at, said in enumerate(given.chat):
        names = _NOT_SENT if at in prepared.reasoned else (*_NOT_SENT, _REASONING)
        extras = [name for name in names if said.extra.get(name) and not said.is_system]
        if extras:
            message = f"Only the text of the message is sent, without: {', '.join(extras)}."
            yield _warning("MESSAGE_EXTRA_NOT_SENT", f"/chat/{at}/extra", message)


def _without_note(given: ProjectionInput, prepared: Prepared) -> Iterator[Diagnostic]:
    for text in (prepared.lore.note_top, prepared.lore.note_bottom):
        for source in text.sources:
            message = "The entry goes with the author's note, which is not due."
            yield _warning("NOTE_NOT_DUE", source.path, message)
    if given.persona and given.persona.description and given.persona.position in _BESIDE_NOTE:
        message = "The persona goes with the author's note, which is not due."
        yield _warning("NOTE_NOT_DUE", "/persona/description", message)


def _warning(code: str, path: str, message: str) -> Diagnostic:
    return Diagnostic(code, Severity.WARNING, path, message)
