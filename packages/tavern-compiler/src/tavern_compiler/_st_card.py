"""The fields of the card, or of all cards of a group, as SillyTavern reads them for a generation.

Owns their order: every macro in them runs here for the first time, also in fields that are not
sent. Must not know where a field goes.

Source: SillyTavern 1.19.0, public/script.js (getCharacterCardFields, baseChatReplace) and
public/scripts/group-chats.js (getGroupCharacterCards).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex
from attrs import evolve, field, frozen

from tavern_compiler._text import trim
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.st_input import GroupChat, MemberCard, ProjectionInput
from tavern_compiler.st_macros import Macros
from tavern_compiler.st_result import MessageSource, MessageSourceKind
from tavern_format import CharacterCard, GenerationMode

_START = "<START>"
_NEWLINES = regex.compile(r"\n+")
_CHAR = regex.compile(r"\{\{\s*char\s*\}\}|<(?:BOT|CHAR)>", regex.IGNORECASE)
_FIELD_NAME = regex.compile(r"<FIELDNAME>", regex.IGNORECASE)


@frozen(kw_only=True)
class CardFields:
    """The fields that the prompt is made of, with their own macros expanded."""

    texts: Mapping[str, str]
    """By attribute of `CharacterCard`; `depth_prompt` too."""
    sources: Mapping[str, tuple[MessageSource, ...]] = field(factory=dict)

    def __getitem__(self, name: str) -> str:
        """Give a field; empty where there is none."""
        return self.texts.get(name, "")


@frozen(kw_only=True)
class _Joined:
    """How a field is joined over a group."""

    title: str
    """What `<FIELDNAME>` stands for."""
    override: str = ""
    starts: str = ""
    """What each text has to start with."""


@frozen(kw_only=True)
class _JoinedText:
    """A field joined over a group."""

    text: str = ""
    sources: tuple[MessageSource, ...] = ()
    raw: str = ""
    """The same before macros were expanded."""

    def plus(self, piece: str, raw: str, source: MessageSource) -> "_JoinedText":
        """Add a member's text; one that expands to nothing leaves no line, but runs again."""
        line = "\n" if piece and self.text else ""
        return _JoinedText(
            text=f"{self.text}{line}{piece}",
            sources=(*self.sources, source) if piece else self.sources,
            raw=f"{self.raw}{line}{raw}",
        )


def card_context(given: ProjectionInput) -> MacroContext:
    """Read the fields as the file and the chat's metadata have them, for the macros."""
    card, settings = given.character or CharacterCard(), given.settings
    persona = given.persona.description if given.persona else ""
    own = given.overrides
    system_prompt = own.system_prompt or card.system_prompt
    return MacroContext(
        description=trim(card.description),
        personality=trim(card.personality),
        scenario=trim(own.scenario or card.scenario),
        persona=trim(persona),
        message_examples=trim(own.message_examples or card.message_examples),
        system_prompt=trim(system_prompt) if settings.prefer_card_system_prompt else "",
        post_history_instructions=(
            trim(card.post_history_instructions) if settings.prefer_card_post_history else ""
        ),
        depth_prompt=trim(card.depth_prompt.prompt) if card.depth_prompt else "",
        creator_notes=trim(card.creator_notes),
        greeting=trim(card.greeting),
        character_version=card.character_version,
    )


_ORDER = (
    "system_prompt",
    "message_examples",
    "description",
    "personality",
    "persona",
    "scenario",
    "post_history_instructions",
    "depth_prompt",
    "creator_notes",
    "greeting",
)
_REPLACING = frozenset({"system_prompt", "post_history_instructions"})
_READ_WITHOUT_CARD = frozenset({"persona"})
_PATHS: Mapping[str, str] = {"depth_prompt": "depth_prompt/prompt"}
_GETTERS: Mapping[str, Callable[[CharacterCard], str]] = {
    "description": lambda card: card.description,
    "personality": lambda card: card.personality,
    "scenario": lambda card: card.scenario,
    "message_examples": lambda card: card.message_examples,
}


def read_fields(given: ProjectionInput, macros: Macros) -> tuple[CardFields, Macros]:
    """Read all fields once, in SillyTavern's order."""
    raw = macros.scope
    texts: dict[str, str] = {}
    sources: dict[str, tuple[MessageSource, ...]] = {}
    raws: dict[str, Any] = {}
    joined = _joined_fields(given)
    names = _ORDER if given.character else tuple(sorted(_READ_WITHOUT_CARD))
    for name in names:
        if given.group and name in joined:
            whole, macros = _join(given, given.group, name, joined[name], macros)
            texts[name], sources[name], raws[name] = whole.text, whole.sources, whole.raw
        else:
            path = f"/character/{_PATHS.get(name, name)}"
            texts[name], after = card_text(getattr(raw, name), macros, given, path=path)
            macros = _without_original(name, macros, after)
            sources[name] = (_source(given.character, name),)
    if given.character:
        for at, greeting in enumerate(given.character.alternate_greetings):
            path = f"/character/alternate_greetings/{at}"
            _, macros = card_text(trim(greeting), macros, given, path=path)
    scope = evolve(macros.scope, **raws)
    return CardFields(texts=texts, sources=sources), evolve(macros, scope=scope)


def _without_original(name: str, before: Macros, after: Macros) -> Macros:
    """Take back what was said of `{{original}}` where a later step has a text for it."""
    if name not in _REPLACING:
        return after
    told = after.told.since(before.told)
    kept = (one for one in told if not one.message.startswith("{{original}}"))
    return evolve(after, told=before.told.plus(kept))


def card_text(  # noqa: PLR0913 - a text and what is to be known of it
    text: str,
    macros: Macros,
    given: ProjectionInput,
    *,
    path: str,
    char: str | None = None,
    place: str | None = None,
) -> tuple[str, Macros]:
    """Expand a text that belongs to a card, or to an example in lore; `char` speaks for another."""
    scope: MacroContext = evolve(macros.scope, card=False)
    scope = scope if char is None else evolve(scope, char=char)
    text, macros = macros.run(text, path, scope, place)
    if given.settings.collapse_newlines:
        text = _NEWLINES.sub("\n", text)
    return text.replace("\r", ""), macros


def _source(card: CharacterCard | None, name: str, place: str = "") -> MessageSource:
    kind = MessageSourceKind.MEMBER if place else MessageSourceKind.CHARACTER
    kind = MessageSourceKind.PERSONA if name == "persona" else kind
    path = "description" if name == "persona" else f"{place}{_PATHS.get(name, name)}"
    return MessageSource(kind=kind, identifier=card.name if card else "", field=path)


def _joined_fields(given: ProjectionInput) -> dict[str, _Joined]:
    """Say which fields are joined over the group; none in a group whose cards are swapped."""
    group = given.group
    if group is None or group.mode is GenerationMode.SWAP or not group.members:
        return {}
    own = given.overrides
    return {
        "description": _Joined(title="Description"),
        "personality": _Joined(title="Personality"),
        "scenario": _Joined(title="Scenario", override=own.scenario),
        "message_examples": _Joined(
            title="Example Messages", override=own.message_examples, starts=_START
        ),
    }


def _join(
    given: ProjectionInput,
    group: GroupChat,
    name: str,
    how: _Joined,
    macros: Macros,
) -> tuple[_JoinedText, Macros]:
    """Join a field over the group, each member's text in that member's name."""
    path = f"/overrides/{name}"
    override, macros = card_text(trim(how.override), macros, given, path=path)
    if override:
        sources = (_source(given.character, name),)
        return _JoinedText(text=override, sources=sources, raw=trim(how.override)), macros
    done = _JoinedText()
    for at, member in _members(group):
        text = _member_text(member, name, how)
        if text:
            path = f"/group/members/{at}/card/{name}"
            piece, macros = _piece((text, path), how, member, given, macros)
            source = _source(member.card, name, f"{at}/card/")
            done = done.plus(piece, _unexpanded(text, how, group, member), source)
    return done, macros


def _unexpanded(text: str, how: _Joined, group: GroupChat, member: MemberCard) -> str:
    """Write a member's text for the macro of the field, which expands it anew: names are fixed."""
    around = f"{group.join_prefix}{text}{group.join_suffix}"
    named = _FIELD_NAME.sub(lambda _: how.title, around)
    return _CHAR.sub(lambda _: member.card.name, named)


def _member_text(member: MemberCard, name: str, how: _Joined) -> str:
    text = trim(_GETTERS[name](member.card))
    return f"{how.starts}\n{text}" if text and not text.startswith(how.starts) else text


def _members(group: GroupChat) -> Iterator[tuple[int, MemberCard]]:
    for at, member in enumerate(group.members):
        everybody = group.mode is GenerationMode.APPEND_DISABLED
        if everybody or member.speaking or not member.muted:
            yield at, member


def _piece(
    field: tuple[str, str],
    how: _Joined,
    member: MemberCard,
    given: ProjectionInput,
    macros: Macros,
) -> tuple[str, Macros]:
    """Put prefix and suffix around a member's text, given with its path; each speaks for it."""
    text, path = field
    group = given.group or GroupChat()
    done: list[str] = []
    # In SillyTavern's order: what stands around a text runs before it.
    for part, own_path in (
        (group.join_prefix, "/group/join_prefix"),
        (group.join_suffix, "/group/join_suffix"),
        (text, path),
    ):
        named = _FIELD_NAME.sub(lambda _: how.title, part)
        shown, macros = card_text(
            trim(named) if own_path is path else named,
            macros,
            given,
            path=own_path,
            char=member.card.name,
            place=own_path if own_path is path else f"{own_path}:{path}",
        )
        done.append(shown)
    prefix, suffix, shown = done
    return f"{prefix}{shown}{suffix}", macros
