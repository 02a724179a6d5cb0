"""The manifest of a host's profile: what it says with the bridge, and without.

Owns the entries that make a folder a layer of a profile. Must not know where anything is.

Source: DSH 0.1.0-rc.8, `dsh plugin` and the templates of its profiles.
"""

from collections.abc import Mapping
from typing import Any

from tavern_loader.errors import LoaderError
from tavern_loader.ports import JsonObject

BRIDGE = "tavern-loader-dsh"
"""Name of the package, of its folder in the profile, and of the layer."""
LINK = f"link:./{BRIDGE}"
"""As `dsh plugin add` notes a folder, so that a later run of it keeps ours."""
OTHER_PLUGIN = "pmp-dsh-tavern"
"""The plugin that has the same sections, routes and stores: there can be one of the two."""

DEFAULT_PROFILE = "web"
"""What is meant where no profile is named."""

_BASE = "@deepseek-ai/dsh-base"
_TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "web": (_BASE, "@deepseek-ai/dsh-web-app"),
    "headless": (_BASE, "@deepseek-ai/dsh-headless"),
}
PATCH_TEMPLATE = """\
# Your patch layer for this dsh profile, applied after every bundle layer:
# a top-level YAML array of loader patch entries (id-targeted config
# overrides, disables, and insert lists; `!!js` expressions allowed).
[]
"""
WORKSPACE_TEMPLATE = """\
packages:
  - .

nodeLinker: hoisted
autoInstallPeers: false
"""


class ProfileError(LoaderError):
    """A profile is not one that can be worked on."""


def check_profile_name(name: str) -> None:
    """Refuse what cannot be a profile's name. Raises ProfileError."""
    if name in {"", ".", "..", "node_modules"} or "/" in name or "\\" in name:
        raise ProfileError("PROFILE_NAME_INVALID", "this cannot be the name of a profile")


def new_manifest(profile: str) -> dict[str, Any]:
    """Make the manifest that the host would make for a profile of this name."""
    return {
        "name": f"dsh-profile-{profile}",
        "private": True,
        "dependencies": {},
        "dsh": {"profile": {"bundles": list(_TEMPLATES.get(profile, (_BASE,)))}},
    }


def has_bridge(manifest: JsonObject) -> bool:
    """Whether the bridge is a layer, and a dependency that pnpm leaves alone."""
    return BRIDGE in bundles(manifest) and _dependencies(manifest).get(BRIDGE) == LINK


def with_bridge(manifest: JsonObject) -> dict[str, Any]:
    """Add the bridge as the last layer. Raises ProfileError beside the other plugin."""
    layers, dependencies = bundles(manifest), _dependencies(manifest)
    if OTHER_PLUGIN in layers:
        raise ProfileError(
            "OTHER_PLUGIN_INSTALLED",
            f"the profile has {OTHER_PLUGIN}, which does the same work on the same data: remove it"
            f" first (dsh plugin --profile NAME remove {OTHER_PLUGIN})",
        )
    if BRIDGE not in layers:
        layers = (*layers, BRIDGE)
    return _changed(manifest, layers, {**dependencies, BRIDGE: LINK})


def without_bridge(manifest: JsonObject) -> dict[str, Any]:
    """Take the bridge out; all else stays as it is."""
    layers = tuple(name for name in bundles(manifest) if name != BRIDGE)
    dependencies = {
        name: place for name, place in _dependencies(manifest).items() if name != BRIDGE
    }
    return _changed(manifest, layers, dependencies)


def bundles(manifest: JsonObject) -> tuple[str, ...]:
    """Read the layers of a profile. Raises ProfileError where they are of another shape."""
    profile = _object(_object(manifest, "dsh"), "profile")
    layers = profile.get("bundles", [])
    if not isinstance(layers, list) or not all(isinstance(name, str) for name in layers):
        raise _invalid("dsh.profile.bundles is not a list of names")
    return tuple(layers)


def _dependencies(manifest: JsonObject) -> JsonObject:
    return _object(manifest, "dependencies")


def _changed(
    manifest: JsonObject, layers: tuple[str, ...], dependencies: JsonObject
) -> dict[str, Any]:
    dsh = _object(manifest, "dsh")
    profile = {**_object(dsh, "profile"), "bundles": list(layers)}
    changed = {**manifest, "dsh": {**dsh, "profile": profile}}
    if dependencies or "dependencies" in manifest:
        changed["dependencies"] = dict(dependencies)
    return changed


def _object(parent: JsonObject, key: str) -> JsonObject:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise _invalid(f"{key} is not an object")
    return value


def _invalid(message: str) -> ProfileError:
    return ProfileError("PROFILE_MANIFEST_INVALID", f"the package.json of the profile: {message}")
