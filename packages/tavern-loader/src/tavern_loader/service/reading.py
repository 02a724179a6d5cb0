"""From the bytes of one file to a parsed resource of the kind that was asked for.

Owns the refusal of files that are something else. Must not know where bytes come from.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from attrs import field, frozen

from tavern_format import Container, FormatError, Parsed, ResourceKind, detect
from tavern_loader.errors import InputError

M = TypeVar("M")

_EXTENSION = re.compile(r"(?<=.)\.[A-Za-z0-9]{1,5}$")
_KIND_NAMES = {
    ResourceKind.CHARACTER_CARD: "a character card",
    ResourceKind.WORLD_BOOK: "a world book",
    ResourceKind.CHAT_COMPLETION_PRESET: "a chat-completion preset",
    ResourceKind.CHAT: "a chat",
}


@frozen(kw_only=True)
class SourceFile:
    """A file that was read."""

    name: str
    """As people should see it: without folders."""
    data: bytes = field(repr=False)


def read(
    file: SourceFile | None, parse: Callable[[bytes], Parsed[M]], kind: ResourceKind
) -> Parsed[M] | None:
    """Parse a file as one kind of resource; None without a file.

    Raises InputError with the code of the fault, or WRONG_KIND for a file of another kind.
    """
    if file is None:
        return None
    try:
        parsed = parse(file.data)
    except FormatError as error:
        _refuse_other_kind(file, kind)
        message = str(error).removeprefix(f"{error.code}: ")
        raise InputError(error.code, message, file=file.name) from error
    # A picture can hold anything; what could be parsed was in it.
    if detect(file.data).container is Container.TEXT:
        _refuse_other_kind(file, kind)
    return parsed


def _refuse_other_kind(file: SourceFile, kind: ResourceKind) -> None:
    found = detect(file.data).kind
    if found not in (kind, ResourceKind.UNKNOWN):
        name = _KIND_NAMES.get(found) or f"a file of kind {found}"
        message = f"this is {name}, not {_KIND_NAMES[kind]}"
        raise InputError("WRONG_KIND", message, file=file.name)


def stem(name: str) -> str:
    """Take the extension off a file name.

    >>> stem("Eldoria.json")
    'Eldoria'
    """
    return _EXTENSION.sub("", name)
