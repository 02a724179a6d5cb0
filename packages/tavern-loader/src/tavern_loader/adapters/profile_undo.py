"""A profile as it was before a change, to be put back when the change fails half-way.

Owns what is remembered, and where that is kept meanwhile which stood in the place of the link. Must
not know what is changed, or why it fails.
"""

import os
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from tavern_loader.adapters.profile_folder import (
    Profile,
    contents_of,
    remove_path,
    write_whole,
)


def set_aside(profile: Profile) -> None:
    """Move away what stands in the place of the link, whatever it is."""
    if os.path.lexists(profile.link):
        remove_path(_aside(profile))
        profile.link.rename(_aside(profile))


@frozen
class Before:
    """The state of a profile before a change."""

    profile: Profile
    missing: Path | None
    """The topmost folder that is not there, down to that of the profile."""
    names: frozenset[str]
    """What is in the folder."""
    manifest: bytes | None
    bridge: dict[str, bytes] | None
    had_link: bool

    @classmethod
    def of(cls, profile: Profile) -> "Before":
        """Look at a profile, which need not be there. Raises OSError."""
        folder, manifest = profile.folder, profile.manifest_file
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        return cls(
            profile,
            missing[-1] if missing else None,
            frozenset(path.name for path in folder.iterdir()) if folder.is_dir() else frozenset(),
            manifest.read_bytes() if manifest.exists() else None,
            contents_of(profile.bridge),
            os.path.lexists(profile.link),
        )

    def keep_change(self) -> None:
        """The change has been made: nothing is needed any more."""
        remove_path(_aside(self.profile))

    def put_back(self) -> None:
        """Make the profile what it was. Raises OSError, StoreError."""
        profile, aside = self.profile, _aside(self.profile)
        if os.path.lexists(aside):
            remove_path(profile.link)
            aside.rename(profile.link)
        elif not self.had_link:
            remove_path(profile.link)
        self._put_back_bridge()
        if self.manifest is not None:
            write_whole(profile.manifest_file, self.manifest)
        if profile.folder.is_dir():
            for path in profile.folder.iterdir():
                if path.name not in self.names:
                    remove_path(path)
        self._remove_folders()

    def _put_back_bridge(self) -> None:
        if self.bridge is None:
            return  # a folder that was made is removed with all that is new
        for name in (contents_of(self.profile.bridge) or {}).keys() - self.bridge.keys():
            remove_path(self.profile.bridge / name)
        for name, data in self.bridge.items():
            write_whole(self.profile.bridge / name, data)

    def _remove_folders(self) -> None:
        folder = self.profile.folder
        with suppress(OSError):  # the host may have put something beside the profile
            while self.missing is not None and folder.is_relative_to(self.missing):
                folder.rmdir()
                folder = folder.parent


def _aside(profile: Profile) -> Path:
    return profile.link.with_name(f".{profile.link.name}.before")
