"""Settings as small JSON files, and the real paths of the guard.

Must not know what a setting means.
"""

import os
from pathlib import Path

from attrs import define, field

from tavern_loader.adapters.atomic_json import (
    Signature,
    StorageLock,
    dump_object,
    load_object,
    read_file,
    remove_file,
    signature_of,
    write_file,
)
from tavern_loader.errors import StoreError
from tavern_loader.ports import JsonObject
from tavern_loader.service.settings import Settings

SMALL_BYTES = 1024
LARGE_BYTES = 64 * 1024
"""A policy of 16 KiB of text, with everything escaped."""


@define
class JsonSettingsFile:
    """A settings file; it is read again only when it has changed."""

    path: Path
    lock: StorageLock
    limit_bytes: int
    _seen: tuple[Signature, JsonObject] | None = field(default=None, init=False)

    def read(self) -> JsonObject | None:
        """Give what is kept; None without a file. Raises StoreError for a damaged one."""
        signature = signature_of(self.path)
        seen = self._seen
        if seen is not None and seen[0] == signature:
            return seen[1]
        found = None if signature is None else read_file(self.path, self.limit_bytes)
        if found is None:
            return None
        if len(found.data) > self.limit_bytes:
            raise StoreError("SETTINGS_TOO_LARGE", f"{self.path.name} is too large")
        try:
            document = load_object(found.data)
        except ValueError as error:
            raise StoreError("SETTINGS_DAMAGED", f"{self.path.name}: {error}") from error
        self._seen = (found.signature, document)
        return document

    def write(self, document: JsonObject) -> None:
        """Replace the file. Raises StoreError."""
        data = dump_object(document)
        if len(data) > self.limit_bytes:
            raise StoreError("SETTINGS_TOO_LARGE", f"{self.path.name} would be too large")
        with self.lock.held():
            write_file(self.path, data)

    def remove(self) -> None:
        """Remove the file. Raises StoreError."""
        with self.lock.held():
            remove_file(self.path)


def settings_in(folder: Path, lock: StorageLock) -> Settings:
    """Give the settings kept in a folder."""

    def file(name: str, limit_bytes: int) -> JsonSettingsFile:
        return JsonSettingsFile(folder / name, lock, limit_bytes)

    return Settings(
        ui_file=file("ui-settings.json", SMALL_BYTES),
        # 2.5 of the plugin raised its limit from 512 bytes to 16 KiB for bubble styles.
        conversation_file=file("conversation-settings.json", 16 * SMALL_BYTES),
        policy_file=file("rp-policy.json", LARGE_BYTES),
        tools_file=file("rp-tools.json", 16 * SMALL_BYTES),
    )


def real_path(folder: str, path: str) -> tuple[str, ...] | None:
    """Give the components of a real path, links resolved; None for one there cannot be.

    What does not exist is resolved as far as it does. A path that means one thing when its ".." are
    taken off first, as Node does, and another when links are followed first is none.
    """
    if not Path(folder).is_absolute():
        return None
    joined = os.path.join(folder, path)  # noqa: PTH118 - pathlib drops what a system may not
    try:
        followed, shortened = (
            os.path.normcase(os.path.realpath(one)) for one in (joined, os.path.normpath(joined))
        )
    except (OSError, ValueError):  # a loop of links, a zero byte
        return None
    return Path(followed).parts if followed == shortened else None
