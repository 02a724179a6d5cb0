"""One compile from the bytes of files: parse, match, compile, and keep every remark.

Owns which package gets what from which file. Must not know where the bytes came from or how the
result is shown.
"""

from attrs import frozen

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
from tavern_loader.service.groundwork import (
    INPUT_IDENTITY,
    Groundwork,
    scan_context,
    used_files,
    user_of,
)
from tavern_loader.service.resources import CompileRequest, Remark, Resources, read_resources
from tavern_matcher import ScanMessage, SeededDice, compile_index, match
from tavern_trace import digest


@frozen(kw_only=True)
class Compilation(Groundwork):
    """The parts, with everything that led to them."""

    profile: Profile


def compile_files(request: CompileRequest) -> Compilation:
    """Parse the files, match the books against chat and input, and compile the parts.

    Raises InputError for a file that cannot be used as what it was given for.
    """
    found = read_resources(request)
    user = user_of(request, found.chat)
    messages = _messages(request, found.chat, user)
    index = compile_index(found.books, request.settings)
    names = MacroContext(user=user.name, char=_char_name(found.card))
    matched = match(
        index,
        scan_context(found.card, messages, user, names),
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
        used=tuple(used_files(request, found, user)),
        books=found.books,
        match=matched,
        profile=profile,
        remarks=(
            *found.remarks,
            *(Remark("matching", diagnostic) for diagnostic in matched.diagnostics),
            *(Remark("compiling", diagnostic) for diagnostic in profile.diagnostics),
        ),
    )


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
