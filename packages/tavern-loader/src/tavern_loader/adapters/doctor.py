"""Looking for what keeps the plugin from working: one check a line, each with its remedy.

Owns the checks and their order: those of the machine, those of each profile, those of the stores.
Changes nothing.
"""

import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from attrs import evolve, frozen

from tavern_loader._version import __version__
from tavern_loader.adapters.atomic_json import load_object
from tavern_loader.adapters.dsh_program import DshProgram, find_node, run
from tavern_loader.adapters.installing import bridge_source
from tavern_loader.adapters.json_file import DAMAGED_FOLDER
from tavern_loader.adapters.link_trial import try_link
from tavern_loader.adapters.profile_folder import Profile
from tavern_loader.domain.checkup import Check, failed, fine, warned
from tavern_loader.domain.dsh_profile import (
    BRIDGE,
    DEFAULT_PROFILE,
    OTHER_PLUGIN,
    ProfileError,
    bundles,
    has_bridge,
)

OLDEST_NODE = (22, 19)
UNUSABLE_NODES = frozenset({23})
TRIED_HOST = "0.1.0-rc.8"
SLOW_START_S = 3.0


@frozen(kw_only=True)
class Patient:
    """What is looked at."""

    profiles: tuple[Profile, ...]
    dsh: DshProgram | None
    storage: Path


def examine(patient: Patient) -> Iterator[Check]:
    """Make all checks, in order."""
    for check in _FIRST:
        yield from check(patient)
    for profile in patient.profiles:
        for name, look in _OF_PROFILES.items():
            found = _allowed(name, look(profile, patient))
            yield from (evolve(one, profile=profile.name) for one in found)
    yield from _allowed("stores", _stores(patient))


def _allowed(name: str, checks: Iterator[Check]) -> Iterator[Check]:
    """Give what is found; what nobody here may look at is a finding, too."""
    try:
        yield from checks
    except OSError as error:
        reason = error.strerror or type(error).__name__
        remedy = "give yourself the right to read it"
        yield failed(name, f"{error.filename} cannot be looked at: {reason}", remedy)


def _install(profile: Profile) -> str:
    """Say how the bridge gets into a profile."""
    named = "" if profile.name == DEFAULT_PROFILE else f" --profile {shlex.quote(profile.name)}"
    return f"run: tavern-loader install{named}"


def _python(_: Patient) -> Iterator[Check]:
    version = platform.python_version()
    yield fine("python", f"{version}, tavern-loader {__version__} ({sys.executable})")


def _node(_: Patient) -> Iterator[Check]:
    found = find_node()
    if found is None:
        remedy = "install Node 22.19 or newer, which DSH needs too"
        yield warned("node", "there is no node on the path", remedy)
        return
    version = run([found, "--version"]).output.strip()
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    usable = tuple(numbers) >= OLDEST_NODE and numbers[0] not in UNUSABLE_NODES
    if usable:
        yield fine("node", f"{version} ({found})")
    else:
        yield failed(
            "node", f"{version or 'it does not run'} ({found})", "install Node 22.19, 24 or newer"
        )


def _dsh(patient: Patient) -> Iterator[Check]:
    if patient.dsh is None:
        remedy = "put it on the path, or name it: tavern-loader doctor --dsh FILE"
        yield warned("dsh", "there is no dsh on the path, so it cannot be asked", remedy)
        return
    version = patient.dsh.version()
    command = " ".join(patient.dsh.command)
    if version is None:
        yield failed("dsh", f"it does not run ({command})", "install DSH again")
    elif version != TRIED_HOST:
        remedy = f"if something does not work, try {TRIED_HOST}"
        yield warned("dsh", f"{version}; tried with {TRIED_HOST} ({command})", remedy)
    else:
        yield fine("dsh", f"{version} ({command})")


def _profile(profile: Profile, _: Patient) -> Iterator[Check]:
    try:
        manifest = profile.manifest()
        layers = bundles(manifest or {})
    except ProfileError as error:
        yield failed("profile", error.message, f"repair {profile.manifest_file}")
        return
    if manifest is None:
        yield failed("profile", f"there is no profile {profile.folder}", _install(profile))
    elif OTHER_PLUGIN in layers:
        remedy = f"remove one: dsh plugin --profile {profile.name} remove {OTHER_PLUGIN}"
        yield failed("profile", f"{OTHER_PLUGIN} is installed too, and does the same", remedy)
    elif not has_bridge(manifest):
        yield failed("profile", f"{profile.folder} does not have the bridge", _install(profile))
    else:
        yield fine("profile", f"{profile.folder} has the bridge")


def _bridge(profile: Profile, _: Patient) -> Iterator[Check]:
    installed = profile.installed()
    if installed is None:
        yield failed("bridge", f"{profile.bridge} is missing or damaged", _install(profile))
        return
    target = Path(str(installed.get("bridge")))
    if not (profile.link / "package.json").is_file():
        yield failed(
            "bridge", f"{profile.link} leads nowhere: DSH does not boot", _install(profile)
        )
    elif not target.is_file():
        yield failed("bridge", f"{target} is gone: DSH runs without Tavern", _install(profile))
    elif target != bridge_source() / "index.js":
        fact = f"it belongs to another environment ({target.parent})"
        yield warned("bridge", fact, f"to use this one, {_install(profile)}")
    elif installed.get("version") != __version__:
        yield warned("bridge", f"it is of version {installed.get('version')}", _install(profile))
    else:
        yield fine("bridge", f"{BRIDGE} {__version__}")


def _link(profile: Profile, _: Patient) -> Iterator[Check]:
    installed = profile.installed() or {}
    python = str(installed.get("python", sys.executable))
    trial = try_link(python, profile.home)
    if trial.answer is None:
        yield failed("link", f"{python} does not answer: {trial.reason}", _install(profile))
    elif trial.seconds > SLOW_START_S:
        remedy = "look for a slow disk, or a program that looks at every file"
        yield warned("link", f"answered only after {trial.seconds:.1f} s", remedy)
    else:
        yield fine("link", f"answered after {trial.seconds:.2f} s ({python})")


def _boot(profile: Profile, patient: Patient) -> Iterator[Check]:
    if patient.dsh is None or not profile.manifest_file.exists():
        return
    ran = patient.dsh.compose(profile.home, profile.name)
    if ran.code != 0:
        yield failed("boot", f"DSH does not take the profile: {ran.last_words}", _install(profile))
    elif not re.search(r"^\s*-?\s*id: tavern-loader$", ran.output, re.MULTILINE):
        remedy = f"look for it in {profile.folder / 'cordis.patch.yml'}"
        yield failed("boot", "DSH takes the profile, but without the bridge", remedy)
    else:
        yield fine("boot", "DSH takes the profile, with the bridge")


def _stores(patient: Patient) -> Iterator[Check]:
    storage = patient.storage
    if not storage.exists():
        yield fine("stores", f"nothing is kept yet ({storage})")
        return
    if not os.access(storage, os.R_OK | os.W_OK | os.X_OK):
        yield failed("stores", f"{storage} cannot be written", "give yourself the right to")
        return
    found = (*storage.glob("*.json"), *storage.glob("*/*.json"))
    paths = [path for path in found if path.parent.name != DAMAGED_FOLDER]
    damaged = [path for path in sorted(paths) if not _is_object(path)]
    for path in damaged:
        remedy = "put back a good copy, or move it away"
        yield failed("stores", f"{path.relative_to(storage)} is no JSON object", remedy)
    if not damaged:
        yield fine("stores", f"{len(paths)} files can be read ({storage})")


def _is_object(path: Path) -> bool:
    try:
        load_object(path.read_bytes())
    except (OSError, ValueError):
        return False
    return True


_FIRST: tuple[Callable[[Patient], Iterator[Check]], ...] = (_python, _node, _dsh)
_OF_PROFILES: Mapping[str, Callable[[Profile, Patient], Iterator[Check]]] = {
    "profile": _profile,
    "bridge": _bridge,
    "link": _link,
    "boot": _boot,
}
