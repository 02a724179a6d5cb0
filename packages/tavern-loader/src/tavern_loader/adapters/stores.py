"""All stores of one installation, in the files and shapes of the plugin's JavaScript.

Owns names of files and folders, limits, and how documents lie in a folder. Must not know what a
document means.

Source: the plugin contract, sections 0 and F.
"""

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import frozen

from tavern_loader.adapters.atomic_json import (
    read_file,
    remove_file,
    remove_left_behind,
    signature_of,
    unreadable,
    write_file,
)
from tavern_loader.adapters.json_file import (
    MIB,
    Check,
    FileRules,
    JsonFile,
    ReadObject,
    Storage,
    read_object,
    require_revision,
    state_rules,
    write_object,
)
from tavern_loader.domain import bindings, documents, session_selections, templates
from tavern_loader.domain.documents import Kind
from tavern_loader.errors import NotFoundError, StoreError
from tavern_loader.lru import Lru
from tavern_loader.ports import JsonObject
from tavern_loader.store_ports import Change, Stored, Stores

PLUGIN_FOLDER = "pmp-dsh-tavern"
DEFAULT_HOME = "~/.dsh"
HOME_VARIABLE = "DSH_HOME"
KEPT_BYTES = 64 * MIB
"""Of the documents of one kind, measured in their files, that stay in memory."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


@frozen(kw_only=True)
class _Folder:
    """Where the documents of a kind lie, and how large they may be."""

    name: str
    document_bytes: int


_FOLDERS: Mapping[Kind, _Folder] = {
    Kind.PRESET: _Folder(name="presets", document_bytes=16 * MIB),
    Kind.CHARACTER: _Folder(name="characters", document_bytes=16 * MIB),
    # A book of 4 MiB stands in its document twice: as it came, and in the plugin's own fields.
    Kind.WORLD_BOOK: _Folder(name="world-books", document_bytes=64 * MIB),
    Kind.USER: _Folder(name="users", document_bytes=16 * MIB),
}
_COVERS = "character-artifacts"
_ORIGINALS = "character-originals"


def storage_root(dsh_home: str | None, environment: Mapping[str, str]) -> Path:
    """Find the folder of the stores: in the given home, else in DSH_HOME, else in `~/.dsh`.

    Raises StoreError (HOME_NOT_FOUND) if it cannot be said where that is.
    """
    home = dsh_home or environment.get(HOME_VARIABLE) or DEFAULT_HOME
    try:
        return Path(home).expanduser().absolute() / PLUGIN_FOLDER
    except (RuntimeError, OSError) as error:  # an unknown user; a folder that was removed
        raise StoreError("HOME_NOT_FOUND", f"there is no folder {home}") from error


def open_storage(root: Path) -> Storage:
    """Take a folder for the stores and clear away what writers that died left in it."""
    storage = Storage.at(root)
    now_s = time.time()
    for folder in ("", _COVERS, _ORIGINALS, *(folder.name for folder in _FOLDERS.values())):
        remove_left_behind(root / folder, now_s)
    return storage


@frozen
class _State:
    """A file that is a store of its own."""

    name: str
    code: str
    """What the codes of its faults begin with."""
    write_bytes: int
    read_bytes: int
    check: Check
    empty: JsonObject


_PRESET_STATE = _State(
    "state.json",
    "PRESET_STATE",
    MIB,
    MIB,
    documents.check_preset_state,
    documents.EMPTY_PRESET_STATE,
)
_CHARACTER_STATE = _State(
    "character-state.json",
    "CHARACTER_STATE",
    4 * MIB,
    8 * MIB,
    documents.check_character_state,
    documents.EMPTY_CHARACTER_STATE,
)
_SELECTIONS = _State(
    "session-selections.json",
    "SESSION_SELECTION",
    4 * MIB,
    8 * MIB,
    session_selections.check,
    session_selections.EMPTY,
)
_USER_BOOKS = _State(
    "user-world-book-bindings.json",
    "USER_WORLD_BOOK_BINDING",
    2 * MIB,
    8 * MIB,
    bindings.check,
    bindings.EMPTY_USER_BOOKS,
)
_RESOURCE_BOOKS = _State(
    "resource-world-book-bindings.json",
    "RESOURCE_WORLD_BOOK_BINDING",
    4 * MIB,
    16 * MIB,
    bindings.check,
    bindings.EMPTY_RESOURCE_BOOKS,
)
_TEMPLATES = _State(
    "session-templates.json",
    "SESSION_TEMPLATE",
    MIB // 2,
    4 * MIB,
    templates.check,
    templates.EMPTY,
)
_EXTRAS = _State(
    "loader-extras.json",
    "LOADER_EXTRAS",
    4 * MIB,
    8 * MIB,
    session_selections.check_extras,
    session_selections.EMPTY_EXTRAS,
)


def open_stores(storage: Storage) -> Stores:
    """Open all stores in a folder. Nothing is made or written before the first change."""

    def state(row: _State) -> JsonFile:
        rules = state_rules(row.code, row.write_bytes, row.read_bytes, row.check)
        return JsonFile(storage, row.name, rules, row.empty)

    return Stores(
        presets=JsonFolder(storage, Kind.PRESET),
        preset_state=state(_PRESET_STATE),
        characters=JsonFolder(storage, Kind.CHARACTER),
        character_covers=BlobFolder(storage, _COVERS),
        character_originals=BlobFolder(storage, _ORIGINALS),
        character_state=state(_CHARACTER_STATE),
        world_books=JsonFolder(storage, Kind.WORLD_BOOK),
        users=JsonFolder(storage, Kind.USER),
        selections=state(_SELECTIONS),
        user_books=state(_USER_BOOKS),
        resource_books=state(_RESOURCE_BOOKS),
        templates=state(_TEMPLATES),
        extras=state(_EXTRAS),
        exclusive=storage.lock.held,
    )


class JsonFolder:
    """The documents of a kind; implements the port `Documents`."""

    def __init__(self, storage: Storage, kind: Kind) -> None:
        """Keep each document in a file named after its id."""
        folder = _FOLDERS[kind]
        self._storage = storage
        self._kind = kind
        self._folder = storage.root / folder.name
        self._prefix = str(self._folder) + os.sep
        self._rules = FileRules(
            invalid=f"{kind.code}_DOCUMENT_INVALID",
            too_large_to_read=f"{kind.code}_DOCUMENT_TOO_LARGE",
            too_large_to_write=f"{kind.code}_DOCUMENT_TOO_LARGE",
            read_bytes=folder.document_bytes,
            write_bytes=folder.document_bytes,
            check=lambda document: documents.check_document(kind, document),
        )
        self._kept: Lru[str, ReadObject] = Lru(KEPT_BYTES)

    def ids(self) -> tuple[str, ...]:
        """List the ids, sorted. Raises StoreError."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - the only one that makes no objects
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise unreadable(self._folder.name, error) from error
        found = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return tuple(sorted(name for name in found if _ID.fullmatch(name)))

    def get(self, document_id: str) -> Stored:
        """Give a document; its file is read again only if it changed."""
        kept = self._kept.get(document_id)
        # As a text: a page that lists a thousand documents asks a thousand times.
        if kept is not None and signature_of(f"{self._prefix}{document_id}.json") == kept.signature:
            return kept.stored(document_id)
        found = read_object(self._storage, self._path(document_id), self._rules)
        if found is None:
            self._kept.drop(document_id)
            raise NotFoundError(f"{self._kind.code}_NOT_FOUND", f"no {self._kind} {document_id}")
        return self._keep(document_id, found)

    def readable(self) -> tuple[Stored, ...]:
        """Give all documents by id; one that cannot be read is left out."""
        found: list[Stored] = []
        for document_id in self.ids():
            with suppress(StoreError):
                found.append(self.get(document_id))
        return tuple(found)

    def create(self, document_id: str, document: JsonObject) -> Stored:
        """Keep a new document."""
        path = self._path(document_id)
        with self._storage.lock.held():
            if signature_of(path) is not None:
                message = f"there is a {self._kind} {document_id} already"
                raise StoreError(f"{self._kind.code}_ID_EXISTS", message)
            return self._write(document_id, path, dict(document))

    def change(self, document_id: str, change: Change, *, expected: str | None = None) -> Stored:
        """Replace a document by what is made of it, while nobody else can."""
        path = self._path(document_id)
        with self._storage.lock.held():
            before = self.get(document_id)
            require_revision(before.revision, expected)
            document = change(json.loads(json.dumps(before.document)))
            return self._write(document_id, path, document)

    def delete(self, document_id: str) -> bool:
        """Remove a document, also one that cannot be understood."""
        path = self._path(document_id)
        with self._storage.lock.held():
            self._kept.drop(document_id)
            return remove_file(path)

    def _write(self, document_id: str, path: Path, document: dict[str, Any]) -> Stored:
        written = write_object(self._storage, path, self._rules, document)
        return self._keep(document_id, written)

    def _keep(self, document_id: str, found: ReadObject) -> Stored:
        return self._kept.put(document_id, found, found.size_bytes).stored(document_id)

    def _path(self, document_id: str) -> Path:
        return self._folder / f"{_required(self._kind.code, document_id)}.json"


class BlobFolder:
    """Bytes beside documents; implements the port `Blobs`."""

    def __init__(self, storage: Storage, name: str) -> None:
        """Keep the bytes of each id in a file of its own."""
        self._storage = storage
        self._folder = storage.root / name

    def get(self, blob_id: str) -> bytes | None:
        """Give the bytes; None without any."""
        found = read_file(self._path(blob_id), KEPT_BYTES)
        return None if found is None else found.data

    def put(self, blob_id: str, data: bytes) -> None:
        """Keep bytes in place of others."""
        with self._storage.lock.held():
            write_file(self._path(blob_id), data)

    def delete(self, blob_id: str) -> bool:
        """Remove the bytes; False if there are none."""
        with self._storage.lock.held():
            return remove_file(self._path(blob_id))

    def _path(self, blob_id: str) -> Path:
        return self._folder / f"{_required('BLOB', blob_id)}.bin"


def _required(code: str, document_id: str) -> str:
    """Refuse what would lead out of a folder, or what the plugin would not take."""
    if not _ID.fullmatch(document_id):
        message = "an id is 1 to 100 letters, digits, - and _"
        raise NotFoundError(f"{code}_ID_INVALID", message)
    return document_id
