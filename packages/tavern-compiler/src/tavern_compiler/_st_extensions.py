"""The table of extension prompts of one generation: notes, persona and lore beside what is given.

Everything that is put into the chat at a depth, or before or after the main prompt, has one row
under its key; of one depth and role, keys decide the order. Must not know presets.

Source: SillyTavern 1.19.0, public/script.js (setExtensionPrompt, getExtensionPrompt,
addPersonaDescriptionExtensionPrompt), public/scripts/authors-note.js (setFloatingPrompt),
public/scripts/world-info.js (end of checkWorldInfo).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from tavern_compiler._st_card import CardFields, card_text
from tavern_compiler._st_lore import LoreTexts
from tavern_compiler._text import trim
from tavern_compiler.st_input import ExtensionPosition, ExtensionPrompt, ProjectionInput
from tavern_compiler.st_macros import Macros
from tavern_compiler.st_result import MessageSource, MessageSourceKind
from tavern_format import DepthPrompt, GenerationMode, Persona, PersonaPosition, Role, pointer

NOTE_KEY = "2_floating_prompt"
PERSONA_KEY = "PERSONA_DESCRIPTION"
DEPTH_KEY = "DEPTH_PROMPT"
_ROLES: Mapping[str, Role] = {
    "system": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
_ABOVE_NOTE = PersonaPosition.TOP_AN
_BESIDE_NOTE = frozenset({PersonaPosition.TOP_AN, PersonaPosition.BOTTOM_AN})

Row = tuple[str, ExtensionPrompt]


@frozen(kw_only=True)
class ExtensionTable:
    """All rows, and whether the author's note is due."""

    rows: Mapping[str, ExtensionPrompt]
    note_due: bool


def depth_notes(
    given: ProjectionInput, fields: CardFields, macros: Macros
) -> tuple[tuple[Row, ...], Macros]:
    """Make the rows of the characters' notes: of all who are joined, else of the one who speaks."""
    rows, macros = _group_notes(given, macros)
    if rows:
        return rows, macros
    note = given.character.depth_prompt if given.character else None
    row = _note_row(note or DepthPrompt(), fields["depth_prompt"])
    return ((DEPTH_KEY, evolve(row, sources=fields.sources.get("depth_prompt", ()))),), macros


def _group_notes(given: ProjectionInput, macros: Macros) -> tuple[tuple[Row, ...], Macros]:
    group = given.group
    if group is None or group.mode is GenerationMode.SWAP:
        return (), macros
    rows: list[Row] = []
    for at, member in enumerate(group.members):
        note = member.card.depth_prompt
        if note is None or (member.muted and not member.speaking):
            continue
        path = f"/group/members/{at}/card/depth_prompt/prompt"
        text, macros = card_text(trim(note.prompt), macros, given, path=path, char=member.card.name)
        if text:
            source = MessageSource(
                kind=MessageSourceKind.MEMBER,
                identifier=member.card.name,
                field=f"{at}/card/depth_prompt/prompt",
            )
            row = evolve(_note_row(note, text), sources=(source,))
            rows.append((f"{DEPTH_KEY}_{len(rows)}", row))
    return tuple(rows), macros


def _note_row(note: DepthPrompt, text: str) -> ExtensionPrompt:
    return ExtensionPrompt(
        value=text,
        position=ExtensionPosition.IN_CHAT,
        depth=note.depth,
        role=_ROLES.get(note.role, Role.SYSTEM),
    )


def is_note_due(given: ProjectionInput) -> bool:
    """Tell whether the author's note is to be sent now; hidden messages of the user count."""
    interval = given.note.interval_messages
    if interval == 1:
        return True
    said = sum(message.is_user for message in given.chat)
    return said > 0 and interval > 0 and said >= interval and said % interval == 0


def extension_table(
    given: ProjectionInput, notes: Sequence[Row], lore: LoreTexts, persona_position: int
) -> ExtensionTable:
    """Collect all rows: those given, then the generation's own, which win over equal keys."""
    kept = {
        key: row for key, row in given.extension_prompts.items() if not key.startswith(DEPTH_KEY)
    }
    due = is_note_due(given)
    own: list[Row] = [*notes]
    if due:
        own.append((NOTE_KEY, _authors_note(given, lore, persona_position)))
    if not given.skip_notes:
        own += lore.depth_rows
    if given.persona and persona_position == PersonaPosition.AT_DEPTH:
        own.append((PERSONA_KEY, _persona_at_depth(given, given.persona)))
    without = {key: row for key, row in kept.items() if key not in (NOTE_KEY, PERSONA_KEY)}
    return ExtensionTable(rows={**without, **dict(own)}, note_due=due)


def _authors_note(
    given: ProjectionInput, lore: LoreTexts, persona_position: int
) -> ExtensionPrompt:
    """Put lore and persona around the note; without the note an empty line stands for it."""
    note = given.note
    around = f"{lore.note_top.text}\n{note.text}\n{lore.note_bottom.text}"
    text = around.removeprefix("\n").removesuffix("\n")
    own = (MessageSource(kind=MessageSourceKind.NOTE, identifier="", field="text"),)
    sources = (*lore.note_top.sources, *(own if note.text else ()), *lore.note_bottom.sources)
    persona = given.persona
    if persona and persona.description and persona_position in _BESIDE_NOTE:
        above = persona_position == _ABOVE_NOTE
        pair = (persona.description, text) if above else (text, persona.description)
        text = "\n".join(pair)
        about = (persona_source(given),)
        sources = (*about, *sources) if above else (*sources, *about)
    return ExtensionPrompt(
        value=text, position=note.position, depth=note.depth, role=note.role, sources=sources
    )


def _persona_at_depth(given: ProjectionInput, persona: Persona) -> ExtensionPrompt:
    return ExtensionPrompt(
        value=persona.description,
        position=ExtensionPosition.IN_CHAT,
        depth=persona.depth,
        role=_role_of(persona.role),
        sources=(persona_source(given),),
    )


def _role_of(number: float) -> Role:
    return Role(int(number)) if number in tuple(Role) else Role.SYSTEM


def persona_source(given: ProjectionInput) -> MessageSource:
    """Name the persona's description as a source."""
    name = given.persona.name if given.persona else ""
    return MessageSource(kind=MessageSourceKind.PERSONA, identifier=name, field="description")


def at_position(rows: Mapping[str, ExtensionPrompt], position: ExtensionPosition) -> Iterator[Row]:
    """List the rows of one place that have a text, by their keys in JavaScript's order."""
    for key in sorted(rows, key=lambda key: key.encode("utf-16-be", "surrogatepass")):
        if rows[key].value and rows[key].position is position:
            yield key, rows[key]


def joined(rows: Iterable[Row]) -> tuple[str, tuple[MessageSource, ...]]:
    """Join texts, each trimmed, with their sources."""
    found = [*rows]
    sources = tuple(source for key, row in found for source in sources_of(key, row))
    return "\n".join(trim(row.value) for _, row in found), sources


def sources_of(key: str, row: ExtensionPrompt) -> tuple[MessageSource, ...]:
    """Give the sources of a row; its own key where it names none."""
    own = MessageSource(
        kind=MessageSourceKind.EXTENSION, identifier=key, field=pointer("", key, "value")[1:]
    )
    return row.sources or (own,)
