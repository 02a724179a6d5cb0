"""Files with a form of their own beside the JSON stores: trace records, memories of sessions.

Owns where they lie and how they are replaced. Must not know their form.

Source: the plugin contract, sections D2, D9 and F.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote

from tavern_loader.adapters.atomic_json import (
    StorageLock,
    read_file,
    remove_file,
    signature_of,
    write_file,
)
from tavern_loader.adapters.json_file import MIB, FileRules, Storage, read_object, write_object
from tavern_loader.errors import StoreError
from tavern_loader.ports import JsonObject

TRACE_RECORDS = "tavern-trace-records.json"
OLD_AUDITS = "tavern-traces.json"
"""Of the first version: read only."""
OLD_ASSEMBLIES = "tavern-assemblies.json"
"""Of schema 3: read only."""
MAX_TRACE_BYTES = 32 * MIB
MEMORIES_FOLDER = "loader-memories"
MAX_MEMORY_BYTES = 8 * MIB


class StoredBytes:
    """One file with a lock of its own; implements the port `BytesFile`."""

    def __init__(self, storage: Storage, name: str, limit_bytes: int = MAX_TRACE_BYTES) -> None:
        """Keep bytes under a name; a file over the limit is refused unread."""
        self._path = storage.root / name
        # A trace takes long to write: a session that begins meanwhile must not wait for it.
        self._lock = StorageLock(storage.root, name=f".{Path(name).stem}.lock")
        self._limit_bytes = limit_bytes

    def revision(self) -> object:
        """Give a value that differs whenever the file has changed; None without a file."""
        return signature_of(self._path)

    def read(self) -> bytes | None:
        """Give what is kept; None if nothing is."""
        found = read_file(self._path, self._limit_bytes)
        if found is not None and len(found.data) > self._limit_bytes:
            message = f"{self._path.name} has more than {self._limit_bytes} bytes and is not read"
            raise StoreError("STORE_FILE_TOO_LARGE", message)
        return None if found is None else found.data

    def write(self, data: bytes) -> None:
        """Put bytes in the place of the others, at once."""
        with self._lock.held():
            write_file(self._path, data)

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other writers out, those of other processes included."""
        return self._lock.held()


class SessionMemoryFolder:
    """What is kept of each session beside its selection; implements `SessionMemories`."""

    def __init__(self, storage: Storage) -> None:
        """Keep each session's document in a file of its own."""
        self._storage = storage
        self._folder = storage.root / MEMORIES_FOLDER
        self._rules = FileRules(
            invalid="SESSION_MEMORY_INVALID",
            too_large_to_read="SESSION_MEMORY_TOO_LARGE",
            too_large_to_write="SESSION_MEMORY_TOO_LARGE",
            read_bytes=MAX_MEMORY_BYTES,
            write_bytes=MAX_MEMORY_BYTES,
        )

    def get(self, session_id: str) -> JsonObject | None:
        """Give what is kept of a session; None if nothing is."""
        found = read_object(self._storage, self._path(session_id), self._rules)
        return None if found is None else found.document

    def put(self, session_id: str, document: JsonObject) -> None:
        """Keep a document in place of the other."""
        with self._storage.lock.held():
            write_object(self._storage, self._path(session_id), self._rules, dict(document))

    def delete(self, session_id: str) -> bool:
        """Forget a session; False if nothing is kept of it."""
        with self._storage.lock.held():
            return remove_file(self._path(session_id))

    def _path(self, session_id: str) -> Path:
        # A session's id may hold dots and colons: a dot could lead out of the folder.
        name = quote(session_id, safe="").replace(".", "%2E")
        return self._folder / f"{name}.json"
