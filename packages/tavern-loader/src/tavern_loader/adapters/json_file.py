"""One JSON object in one file: read when it changed, replaced whole, never trusted blindly.

Owns what happens to a file that cannot be understood: it stays as it is, a copy is kept aside, and
nothing is written over it. Must not know what the object means; a check is given to it.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import field, frozen

from tavern_loader.adapters.atomic_json import (
    FileBytes,
    Signature,
    StorageLock,
    digest,
    dump_object,
    load_object,
    make_folder,
    read_file,
    signature_of,
    write_file,
)
from tavern_loader.errors import DamagedError, RevisionConflictError, StoreError
from tavern_loader.ports import JsonObject
from tavern_loader.store_ports import Change, Stored

DAMAGED_FOLDER = "damaged"
MIB = 1024 * 1024

Check = Callable[[JsonObject], None]
"""Raises ValueError, with a reason that quotes nothing, for an object of another shape."""


def _accept(_: JsonObject) -> None:
    """Take every object."""


@frozen(kw_only=True)
class FileRules:
    """What a file may be, and the codes of what is wrong with it."""

    invalid: str
    """Code for what cannot be understood."""
    too_large_to_read: str
    too_large_to_write: str
    read_bytes: int
    write_bytes: int
    check: Check = _accept


def state_rules(code: str, write_bytes: int, read_bytes: int, check: Check) -> FileRules:
    """Make the rules of a state file; the codes begin with `code`."""
    return FileRules(
        invalid=f"{code}_FILE_INVALID",
        too_large_to_read=f"{code}_FILE_TOO_LARGE",
        too_large_to_write=f"{code}_STORAGE_LIMIT_REACHED",
        read_bytes=read_bytes,
        write_bytes=write_bytes,
        check=check,
    )


@frozen
class Storage:
    """The folder of all stores and the lock on it."""

    root: Path
    lock: StorageLock = field(eq=False, repr=False)

    @classmethod
    def at(cls, root: Path) -> "Storage":
        """Take a folder that need not exist yet."""
        return cls(root, StorageLock(root))

    def name_of(self, path: Path) -> str:
        """Name a file inside the folder, for messages."""
        return path.relative_to(self.root).as_posix()


@frozen(kw_only=True)
class ReadObject:
    """An object as it was found in its file."""

    signature: Signature
    document: dict[str, Any] = field(repr=False)
    revision: str
    size_bytes: int

    def stored(self, document_id: str) -> Stored:
        """Give what callers see of it."""
        return Stored(id=document_id, document=self.document, revision=self.revision)


def read_object(storage: Storage, path: Path, rules: FileRules) -> ReadObject | None:
    """Read and check the object of a file; None without a file.

    Raises DamagedError for what cannot be understood, StoreError for what is too large.
    """
    found = read_file(path, rules.read_bytes)
    if found is None:
        return None
    if len(found.data) > rules.read_bytes:
        message = f"{storage.name_of(path)} has more than {rules.read_bytes} bytes and is not read"
        raise StoreError(rules.too_large_to_read, message)
    try:
        document = load_object(found.data)
        rules.check(document)
    except ValueError as error:
        raise _damaged(storage, path, rules, found.data, str(error)) from error
    return _as_read(found, document)


def write_object(
    storage: Storage, path: Path, rules: FileRules, document: dict[str, Any]
) -> ReadObject:
    """Check an object and put it in the place of a file. The lock must be held.

    Raises StoreError for one that is too large, ValueError for one of another shape.
    """
    data = dump_object(document)
    if len(data) > rules.write_bytes:
        message = f"{storage.name_of(path)} would have {len(data)} of {rules.write_bytes} bytes"
        raise StoreError(rules.too_large_to_write, message)
    rules.check(document)
    return _as_read(FileBytes(signature=write_file(path, data), data=data), document)


def require_revision(found: str, expected: str | None) -> None:
    """Refuse to replace what is not what the caller has seen. Raises RevisionConflictError."""
    if expected is not None and expected != found:
        message = "somebody else changed this meanwhile: read it again"
        raise RevisionConflictError("REVISION_CONFLICT", message)


class JsonFile:
    """A state file; implements the port `StateFile`."""

    def __init__(self, storage: Storage, name: str, rules: FileRules, empty: JsonObject) -> None:
        """Keep an object under `name`; without a file it is `empty`."""
        self._storage = storage
        self._path = storage.root / name
        self._rules = rules
        empty_data = dump_object(empty)
        self._empty = Stored(id=name, document=empty, revision=digest(empty_data))
        self._empty_data = empty_data
        self._last: ReadObject | None = None

    def read(self) -> Stored:
        """Give the object; the file is read again only if it changed."""
        last = self._last
        if last is not None and signature_of(self._path) == last.signature:
            return last.stored(self._path.name)
        found = read_object(self._storage, self._path, self._rules)
        self._last = found
        return self._empty if found is None else found.stored(self._path.name)

    def change(self, change: Change, *, expected: str | None = None) -> Stored:
        """Replace the object by what is made of it, while nobody else can."""
        with self._storage.lock.held():
            before = self.read()
            require_revision(before.revision, expected)
            document = change(json.loads(json.dumps(before.document)))
            if document == before.document:
                return before
            self._last = write_object(self._storage, self._path, self._rules, document)
            return self._last.stored(self._path.name)


def _as_read(found: FileBytes, document: dict[str, Any]) -> ReadObject:
    return ReadObject(
        signature=found.signature,
        document=document,
        revision=digest(found.data),
        size_bytes=len(found.data),
    )


def _damaged(
    storage: Storage, path: Path, rules: FileRules, data: bytes, reason: str
) -> DamagedError:
    name = storage.name_of(path)
    kept_as = f"{DAMAGED_FOLDER}/{name.replace('/', '.')}.{digest(data)[:8]}"
    with suppress(StoreError):  # a full disk is no reason to hide the damage
        _keep(storage.root / kept_as, data)
    message = f"{name} cannot be used: {reason}; repair it or move it away (copy: {kept_as})"
    return DamagedError(rules.invalid, message, file=name, kept_as=kept_as)


def _keep(path: Path, data: bytes) -> None:
    if signature_of(path) is None:
        make_folder(path.parent)
        write_file(path, data)
