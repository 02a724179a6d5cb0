"""One compile from the bytes of files: parse, match, compile, and keep every remark.

Owns which package gets what from which file. Must not know where the bytes came from or how the
result is shown.
"""

from collections.abc import Iterator

import attrs
from attrs import evolve, frozen

from tavern_compiler import (
    CompileInput,
    MacroContext,
    Profile,
    ResourceRef,
    SourceKind,
    User,
    compile_profile,
    expand_macros,
    lore_entries,
)
from tavern_format import CharacterCard, Chat
from tavern_loader.service.resources import CompileRequest, Remark, Resources, read_resources
from tavern_matcher import (
    BookSource,
    MatchResult,
    NamedBook,
    ScanCharacter,
    ScanContext,
    ScanMessage,
    ScanSources,
    SeededDice,
    compile_index,
    match,
)
from tavern_trace import digest

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
class Compilation:
    """The result, with everything that led to it."""

    used: tuple[UsedFile, ...]
    books: tuple[NamedBook, ...]
    """In the order in which the matcher got them."""
    match: MatchResult
    profile: Profile
    remarks: tuple[Remark, ...]
    """About files first, then matching, then compiling."""


def compile_files(request: CompileRequest) -> Compilation:
    """Parse the files, match the books against chat and input, and compile the parts.

    Raises InputError for a file that cannot be used as what it was given for.
    """
    found = read_resources(request)
    user = User(name=_user_name(request, found.chat), description=request.persona)
    messages = _messages(request, found.chat, user)
    index = compile_index(found.books, request.settings)
    names = MacroContext(user=user.name, char=_char_name(found.card))
    matched = match(
        index,
        _scan_context(found.card, messages, user, names),
        dice=SeededDice(request.seed).for_scan(str(len(messages))),
        expand=lambda text: expand_macros(text, names).text,
    )
    profile = compile_profile(
        CompileInput(
            preset=found.preset,
            character=found.card,
            user=user,
            lore=lore_entries(matched.placement),
            include_greeting=_is_opening(found.chat, request),
            resources=_references(request, found),
        )
    )
    return Compilation(
        used=tuple(_used(request, found, user)),
        books=found.books,
        match=matched,
        profile=profile,
        remarks=(
            *found.remarks,
            *(Remark("matching", diagnostic) for diagnostic in matched.diagnostics),
            *(Remark("compiling", diagnostic) for diagnostic in profile.diagnostics),
        ),
    )


def _user_name(request: CompileRequest, chat: Chat | None) -> str:
    """Name the user: as asked, or as in the chat."""
    spoken = [message.name for message in (chat.messages if chat else ()) if message.is_user]
    return request.user_name or next((name for name in reversed(spoken) if name), "") or "User"


def _char_name(card: CharacterCard | None) -> str:
    names = () if card is None else (card.nickname, card.name)
    return next((name for name in names if name.strip()), "Assistant")


def _messages(request: CompileRequest, chat: Chat | None, user: User) -> tuple[ScanMessage, ...]:
    """List what can be scanned: the visible messages by number, then the input."""
    written = [
        ScanMessage(identity=f"#{number}", speaker=message.name, text=message.text)
        for number, message in enumerate(chat.messages if chat else (), start=1)
        if not message.is_system
    ]
    if request.input_text:
        written.append(
            ScanMessage(identity=INPUT_IDENTITY, speaker=user.name, text=request.input_text)
        )
    return tuple(written)


def _is_opening(chat: Chat | None, request: CompileRequest) -> bool:
    """Whether nobody has answered yet and the user has spoken at most once."""
    visible = [message for message in (chat.messages if chat else ()) if not message.is_system]
    spoken = sum(message.is_user for message in visible) + bool(request.input_text)
    return all(message.is_user for message in visible) and spoken <= 1


def _scan_context(
    card: CharacterCard | None,
    messages: tuple[ScanMessage, ...],
    user: User,
    names: MacroContext,
) -> ScanContext:
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


def _references(request: CompileRequest, found: Resources) -> dict[SourceKind, ResourceRef]:
    """Name the resources after their files; the revision is the hash of the document."""
    given = (
        (SourceKind.PRESET, request.preset, found.preset),
        (SourceKind.CHARACTER, request.card, found.card),
    )
    return {
        kind: ResourceRef(id=file.name, revision=digest(model.raw))
        for kind, file, model in given
        if file is not None and model is not None
    }


def _used(request: CompileRequest, found: Resources, user: User) -> Iterator[UsedFile]:
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
