"""The bridge in a profile of the host: put in, taken out, looked at.

Owns the files of a profile that are the bridge's: its folder, the link to it in `node_modules`, and
two entries of the manifest. What fails half-way is put back, so that the profile boots as before.
Works without pnpm, and leaves what pnpm would leave.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from attrs import frozen

from tavern_loader._version import __version__
from tavern_loader.adapters.atomic_json import dump_object
from tavern_loader.adapters.dsh_program import DshProgram
from tavern_loader.adapters.link_trial import HOST_ARGUMENTS
from tavern_loader.adapters.profile_folder import (
    INSTALLED,
    MANIFEST,
    Profile,
    changing,
    contents_of,
    object_or_none,
    read_or_none,
    remove_path,
    write_whole,
)
from tavern_loader.adapters.profile_undo import Before, set_aside
from tavern_loader.domain.dsh_profile import (
    BRIDGE,
    PATCH_TEMPLATE,
    WORKSPACE_TEMPLATE,
    ProfileError,
    has_bridge,
    new_manifest,
    with_bridge,
    without_bridge,
)
from tavern_loader.errors import LoaderError

BACKUP = "profile-package.json"
"""The manifest of the profile as it was before, in the bridge's folder."""

_PACKAGE_FILES = {
    "package.json": "package.json",
    "cordis.patch.yml": "cordis.patch.yml",
    "index.js": "profile/index.js",
}
"""File of the bridge's folder to file of this package's `dsh`."""


def bridge_source() -> Path:
    """Find the JavaScript of this package."""
    return Path(str(files("tavern_loader") / "dsh"))


@frozen(kw_only=True)
class Done:
    """What was done, in order, a line each; nothing if all was so before."""

    steps: tuple[str, ...]
    is_checked: bool
    """Whether the host itself was asked if it takes the profile."""


def install(profile: Profile, python: str, dsh: DshProgram | None) -> Done:
    """Put the bridge into a profile, which is made if it is missing.

    Raises ProfileError if the host does not take the profile, StoreError if files cannot be
    written. Then all is as before, unless the error is PROFILE_NOT_PUT_BACK.
    """
    with changing(profile):
        before = Before.of(profile)
        try:
            steps = [*_make_profile(profile, dsh), *_put_in(profile, python)]
            if steps and dsh is not None:
                _check(profile, dsh)
            before.keep_change()
        except ProfileError as error:
            _put_back(before, error)
            raise ProfileError(error.code, f"{error.message}; nothing was changed") from error
        except BaseException as error:
            _put_back(before, error)
            raise
    return Done(steps=tuple(steps), is_checked=dsh is not None)


def _put_back(before: Before, error: BaseException) -> None:
    try:
        before.put_back()
    except (LoaderError, OSError) as fault:
        told = str(error) or type(error).__name__
        message = f"{told}; nor could the profile be put back as it was: {fault}"
        raise ProfileError("PROFILE_NOT_PUT_BACK", message) from error


def uninstall(profile: Profile) -> Done:
    """Take the bridge out of a profile; a part that is missing is no fault.

    Raises ProfileError for a manifest that cannot be used, StoreError.
    """
    with changing(profile):
        return Done(steps=tuple(_take_out(profile)), is_checked=False)


def _make_profile(profile: Profile, dsh: DshProgram | None) -> Iterator[str]:
    if profile.manifest() is not None:
        return
    if dsh is not None:
        dsh.compose(profile.home, profile.name)  # makes the profiles it knows
    if profile.manifest() is None:
        texts = {
            "cordis.patch.yml": PATCH_TEMPLATE.encode(),
            "pnpm-workspace.yaml": WORKSPACE_TEMPLATE.encode(),
            MANIFEST: dump_object(new_manifest(profile.name)),
        }
        for name, data in texts.items():
            if not (profile.folder / name).exists():
                write_whole(profile.folder / name, data)
    yield f"made the profile {profile.name}"


def _put_in(profile: Profile, python: str) -> Iterator[str]:
    manifest = profile.manifest() or {}
    wanted = with_bridge(manifest)
    folder = _folder_files(python)
    if not has_bridge(manifest):
        folder[BACKUP] = profile.manifest_file.read_bytes()
    if any(read_or_none(profile.bridge / name) != data for name, data in folder.items()):
        for name, data in folder.items():
            write_whole(profile.bridge / name, data)
        yield f"wrote {profile.bridge} (bridge {__version__}, Python {python})"
    if not _is_linked(profile):
        _link(profile)
        yield f"linked {profile.link}"
    if wanted != manifest:
        write_whole(profile.manifest_file, dump_object(wanted))
        backup = profile.bridge / BACKUP
        yield f"added {BRIDGE} to {profile.manifest_file} (as it was: {backup})"


def _folder_files(python: str) -> dict[str, bytes]:
    source = bridge_source()
    bridge = {
        "python": python,
        "arguments": list(HOST_ARGUMENTS),
        "bridge": str(source / "index.js"),
        "version": __version__,
    }
    found = {name: (source / place).read_bytes() for name, place in _PACKAGE_FILES.items()}
    return {**found, INSTALLED: dump_object(bridge)}


def _check(profile: Profile, dsh: DshProgram) -> None:
    ran = dsh.compose(profile.home, profile.name)
    if ran.code != 0:
        message = f"the host does not take the profile: {ran.last_words}"
        raise ProfileError("PROFILE_DOES_NOT_BOOT", message)


def _take_out(profile: Profile) -> Iterator[str]:
    manifest = profile.manifest()
    if manifest is not None and (changed := without_bridge(manifest)) != manifest:
        backup = read_or_none(profile.bridge / BACKUP)
        old = None if backup is None else object_or_none(backup)
        # What nobody else has touched meanwhile gets its very bytes back, unless those had it too.
        untouched = old is not None and with_bridge(old) == manifest and without_bridge(old) == old
        data = backup if untouched and backup is not None else dump_object(changed)
        write_whole(profile.manifest_file, data)
        yield f"took {BRIDGE} out of {profile.manifest_file}"
    for path in (profile.link, profile.bridge):
        if os.path.lexists(path):
            remove_path(path)
            yield f"removed {path}"
    with suppress(OSError):
        profile.link.parent.rmdir()  # only if it is empty


def _is_linked(profile: Profile) -> bool:
    """Whether Node finds the bridge: a link to it, or a copy where links are not allowed."""
    if profile.link.is_symlink():
        return profile.link.resolve() == profile.bridge.resolve()
    return contents_of(profile.link) == contents_of(profile.bridge)


def _link(profile: Profile) -> None:
    set_aside(profile)
    profile.link.parent.mkdir(parents=True, exist_ok=True)
    try:
        profile.link.symlink_to(Path("..") / BRIDGE, target_is_directory=True)
    except OSError:  # a system, or a user, without links
        shutil.copytree(profile.bridge, profile.link)
