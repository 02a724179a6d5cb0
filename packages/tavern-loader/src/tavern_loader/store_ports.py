"""What the use cases need of the stores, as protocols; adapters implement them.

Must not name a file or a folder. Documents are JSON objects: what they mean is in
`domain.documents`.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from attrs import field, frozen

from tavern_loader.domain.documents import Kind
from tavern_loader.ports import JsonObject

Change = Callable[[dict[str, Any]], dict[str, Any]]
"""From the object that is kept to the one to keep; it may change the one it is given."""


@frozen(kw_only=True)
class Stored:
    """A document as it is kept."""

    id: str
    document: JsonObject = field(repr=False)
    """Shared with other readers: never change it."""
    revision: str
    """SHA-256 of the kept bytes, hexadecimal."""


class Documents(Protocol):
    """Documents of one kind, each under an id."""

    def ids(self) -> tuple[str, ...]:
        """List the ids, sorted."""
        ...

    def get(self, document_id: str) -> Stored:
        """Give a document.

        Raises NotFoundError, StoreError with the code of the kind for a damaged document.
        """
        ...

    def readable(self) -> tuple[Stored, ...]:
        """Give all documents by id; one that cannot be read is left out."""
        ...

    def create(self, document_id: str, document: JsonObject) -> Stored:
        """Keep a new document. Raises StoreError for an id in use and for one that is too large."""
        ...

    def change(self, document_id: str, change: Change, *, expected: str | None = None) -> Stored:
        """Replace a document by what is made of it, while nobody else can.

        Raises RevisionConflictError if `expected` is given and is not the revision, NotFoundError,
        StoreError for a damaged document and for one that gets too large.
        """
        ...

    def delete(self, document_id: str) -> bool:
        """Remove a document; False if there is none."""
        ...


class Blobs(Protocol):
    """Bytes, each under the id of the document they belong to."""

    def get(self, blob_id: str) -> bytes | None:
        """Give the bytes; None without any."""
        ...

    def put(self, blob_id: str, data: bytes) -> None:
        """Keep bytes in place of others."""
        ...

    def delete(self, blob_id: str) -> bool:
        """Remove the bytes; False if there are none."""
        ...


class StateFile(Protocol):
    """One object that is read and replaced as a whole."""

    def read(self) -> Stored:
        """Give what is kept, or what an empty store begins with.

        Raises StoreError for a damaged or too large file.
        """
        ...

    def change(self, change: Change, *, expected: str | None = None) -> Stored:
        """Replace the object by what is made of it, while nobody else can.

        Raises RevisionConflictError if `expected` is given and is not the revision, StoreError for
        a damaged file and for an object that gets too large.
        """
        ...


@frozen(kw_only=True)
class Stores:
    """All stores of one installation."""

    presets: Documents
    preset_state: StateFile
    characters: Documents
    character_covers: Blobs
    """Pictures, PNG, without card texts."""
    character_originals: Blobs
    """Archives that characters came in: the files in them have no place in a document."""
    character_state: StateFile
    world_books: Documents
    users: Documents
    selections: StateFile
    user_books: StateFile
    resource_books: StateFile
    templates: StateFile
    extras: StateFile
    """What only this loader keeps: it has no place in the files of the shared shape."""
    exclusive: Callable[[], AbstractContextManager[None]]
    """Keeps other writers out while several stores are changed."""

    def documents(self, kind: Kind) -> Documents:
        """Give the documents of a kind."""
        found: Mapping[Kind, Documents] = {
            Kind.PRESET: self.presets,
            Kind.CHARACTER: self.characters,
            Kind.WORLD_BOOK: self.world_books,
            Kind.USER: self.users,
        }
        return found[kind]
