"""A profile of the host on the disk: where its parts are, and files that are replaced whole.

Must not know why something is written.

Source: DSH 0.1.0-rc.8, the folders of its profiles.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from tavern_loader.adapters.atomic_json import load_object, unwritable, write_file
from tavern_loader.domain.dsh_profile import BRIDGE, ProfileError, bundles

MANIFEST = "package.json"
INSTALLED = "installed.json"
"""What the bridge's folder says about its environment."""

_FILE_MODE = 0o644
_FOLDER_MODE = 0o755


@frozen(kw_only=True)
class Profile:
    """One profile of one home of the host."""

    home: Path
    name: str

    @property
    def folder(self) -> Path:
        """Where the profile is."""
        return self.home / "profiles" / self.name

    @property
    def manifest_file(self) -> Path:
        """The manifest, which names the layers."""
        return self.folder / MANIFEST

    @property
    def bridge(self) -> Path:
        """The folder of the bridge."""
        return self.folder / BRIDGE

    @property
    def link(self) -> Path:
        """Where Node looks for the bridge."""
        return self.folder / "node_modules" / BRIDGE

    def manifest(self) -> dict[str, Any] | None:
        """Read the manifest; None without a profile. Raises ProfileError."""
        try:
            return load_object(self.manifest_file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            message = f"the package.json of the profile cannot be used: {error}"
            raise ProfileError("PROFILE_MANIFEST_INVALID", message) from error

    def installed(self) -> dict[str, Any] | None:
        """Read what the bridge's folder says about its environment; None if it cannot be read."""
        try:
            return load_object((self.bridge / INSTALLED).read_bytes())
        except (OSError, ValueError):
            return None


def profiles_with_bridge(home: Path) -> tuple[Profile, ...]:
    """List the profiles that have the bridge, by name, be it only its folder or its entry.

    None has, where nobody here may look.
    """
    try:
        names = sorted(os.listdir(home / "profiles"))  # noqa: PTH208 - names are all that is needed
    except OSError:
        return ()
    found = (Profile(home=home, name=name) for name in names)
    return tuple(profile for profile in found if _has_any_of_bridge(profile))


def _has_any_of_bridge(profile: Profile) -> bool:
    if os.path.lexists(profile.bridge):
        return True
    try:
        return BRIDGE in bundles(profile.manifest() or {})
    except ProfileError:
        return False


def contents_of(folder: Path) -> dict[str, bytes] | None:
    """Read the files of a folder; None without a folder."""
    if not folder.is_dir():
        return None
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def read_or_none(path: Path) -> bytes | None:
    """Read a file; None if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def object_or_none(data: bytes) -> dict[str, Any] | None:
    """Read a JSON object; None for anything else."""
    try:
        return load_object(data)
    except ValueError:
        return None


@contextmanager
def changing(profile: Profile) -> Iterator[None]:
    """Tell of files that cannot be read or written as StoreError (STORE_UNWRITABLE)."""
    try:
        yield
    except OSError as error:
        raise unwritable(str(error.filename or profile.folder), error) from error


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file whole, with the rights of a file that is not secret."""
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else _FILE_MODE
    write_file(path, data)
    path.chmod(mode)


def remove_path(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
