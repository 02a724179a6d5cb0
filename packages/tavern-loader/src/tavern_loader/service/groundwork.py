"""What every compile from files begins with: names, what can be scanned, what was used.

Owns what a result says about its files whatever is made of them. Must not know parts or messages.
"""

from collections.abc import Iterator, Mapping

import attrs
from attrs import evolve, field, frozen

from tavern_compiler import MacroContext, User, expand_macros
from tavern_format import CharacterCard, Chat
from tavern_loader.service.resources import CompileRequest, Remark, Resources
from tavern_matcher import (
    BookSource,
    MatchResult,
    NamedBook,
    ScanCharacter,
    ScanContext,
    ScanMessage,
    ScanSources,
)

INPUT_IDENTITY = "input"
"""Identity of the message that is not in the chat yet."""


@frozen(kw_only=True)
class UsedFile:
    """One line about what was used."""

    role: str
    """card, card book, world, preset, chat, input or persona."""
    name: str
    detail: str
    """What was found in it."""


@frozen(kw_only=True)
class Groundwork:
    """What led to a result."""

    used: tuple[UsedFile, ...]
    books: tuple[NamedBook, ...]
    """In the order in which the matcher got them."""
    match: MatchResult
    remarks: tuple[Remark, ...]
    """About files first, then matching, then what was made."""
    titles: Mapping[str, str] = field(factory=dict)
    """What people are shown in place of a name, such as an id; any other name is shown itself."""

    def title(self, name: str) -> str:
        """Give what people are shown for a name."""
        return self.titles.get(name, name)


def user_of(request: CompileRequest, chat: Chat | None) -> User:
    """Name the user: as asked, or as in the chat."""
    spoken = [message.name for message in (chat.messages if chat else ()) if message.is_user]
    name = request.user_name or next((name for name in reversed(spoken) if name), "") or "User"
    return User(name=name, description=request.persona)


def scan_context(
    card: CharacterCard | None,
    messages: tuple[ScanMessage, ...],
    user: User,
    names: MacroContext,
) -> ScanContext:
    """Say what is scanned: messages, and the texts of card and user, macros expanded."""
    sources = ScanSources(persona_description=user.description)
    if card is not None:
        sources = evolve(
            sources,
            character_description=card.description,
            character_personality=card.personality,
            character_depth_prompt=card.depth_prompt.prompt if card.depth_prompt else "",
            scenario=card.scenario,
            creator_notes=card.creator_notes,
        )
    texts = attrs.asdict(sources)
    return ScanContext(
        messages=messages,
        sources=ScanSources(
            **{name: expand_macros(text, names).text for name, text in texts.items()}
        ),
        character=None if card is None else ScanCharacter(avatar_name=card.name),
    )


def used_files(request: CompileRequest, found: Resources, user: User) -> Iterator[UsedFile]:
    """List what was used, with a word about each."""
    if request.card and found.card:
        kind = f"{found.card.name or 'no name'} ({found.card.spec}, {found.card.carrier})"
        yield UsedFile(role="card", name=request.card.name, detail=kind)
    for named in found.books:
        role = "card book" if named.source is BookSource.CHARACTER else "world"
        yield UsedFile(role=role, name=named.name, detail=_amount(len(named.book.entries), "entry"))
    if request.preset and found.preset:
        detail = _amount(len(found.preset.prompts), "prompt")
        yield UsedFile(role="preset", name=request.preset.name, detail=detail)
    if request.chat and found.chat:
        detail = _amount(len(found.chat.messages), "message")
        yield UsedFile(role="chat", name=request.chat.name, detail=detail)
    if request.input_text:
        yield UsedFile(role="input", name=user.name, detail=request.input_text)
    if request.persona:
        yield UsedFile(role="persona", name=user.name, detail=request.persona)


def _amount(number: int, noun: str) -> str:
    plural = noun if number == 1 else {"entry": "entries"}.get(noun, f"{noun}s")
    return f"{number} {plural}"
