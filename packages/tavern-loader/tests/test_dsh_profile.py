"""The manifest of a profile, with the bridge and without."""

from typing import Any

import pytest

from tavern_loader.domain.dsh_profile import (
    BRIDGE,
    LINK,
    OTHER_PLUGIN,
    ProfileError,
    bundles,
    check_profile_name,
    has_bridge,
    new_manifest,
    with_bridge,
    without_bridge,
)

MANIFEST: dict[str, Any] = {
    "name": "dsh-profile-web",
    "private": True,
    "dependencies": {"another": "^1"},
    "dsh": {"profile": {"bundles": ["@deepseek-ai/dsh-base", "another"], "odd": 1}, "more": 2},
    "pnpm": {"kept": True},
}


def test_bridge_is_added_behind_all_others_and_nothing_else_changes() -> None:
    changed = with_bridge(MANIFEST)
    assert changed == {
        **MANIFEST,
        "dependencies": {"another": "^1", BRIDGE: LINK},
        "dsh": {
            "profile": {"bundles": ["@deepseek-ai/dsh-base", "another", BRIDGE], "odd": 1},
            "more": 2,
        },
    }
    assert list(changed) == list(MANIFEST)
    assert (has_bridge(MANIFEST), has_bridge(changed)) == (False, True)


def test_adding_twice_is_adding_once_and_taking_out_undoes_it() -> None:
    changed = with_bridge(MANIFEST)
    assert with_bridge(changed) == changed
    assert without_bridge(changed) == MANIFEST
    assert without_bridge(MANIFEST) == MANIFEST


def test_bridge_that_was_added_in_another_way_is_taken_over() -> None:
    other = {**MANIFEST, "dependencies": {BRIDGE: "link:/some/where"}}
    other["dsh"] = {"profile": {"bundles": [BRIDGE, "another"]}}
    assert not has_bridge(other)
    changed = with_bridge(other)
    assert changed["dependencies"] == {BRIDGE: LINK}
    assert bundles(changed) == (BRIDGE, "another")


def test_manifest_without_the_parts_gets_them() -> None:
    assert with_bridge({}) == {
        "dsh": {"profile": {"bundles": [BRIDGE]}},
        "dependencies": {BRIDGE: LINK},
    }


def test_other_plugin_is_not_joined() -> None:
    other = {"dsh": {"profile": {"bundles": [OTHER_PLUGIN]}}}
    with pytest.raises(ProfileError, match=OTHER_PLUGIN) as caught:
        with_bridge(other)
    assert caught.value.code == "OTHER_PLUGIN_INSTALLED"


ODD: list[dict[str, Any]] = [
    {"dsh": []},
    {"dsh": {"profile": 1}},
    {"dsh": {"profile": {"bundles": "x"}}},
    {"dsh": {"profile": {"bundles": [1]}}},
    {"dependencies": []},
]


@pytest.mark.parametrize("manifest", ODD, ids=range(len(ODD)))
def test_manifest_of_another_shape_is_refused(manifest: dict[str, Any]) -> None:
    with pytest.raises(ProfileError) as caught:
        with_bridge(manifest)
    assert caught.value.code == "PROFILE_MANIFEST_INVALID"


def test_new_manifest_is_the_hosts_own() -> None:
    assert new_manifest("headless") == {
        "name": "dsh-profile-headless",
        "private": True,
        "dependencies": {},
        "dsh": {"profile": {"bundles": ["@deepseek-ai/dsh-base", "@deepseek-ai/dsh-headless"]}},
    }
    assert bundles(new_manifest("web"))[1] == "@deepseek-ai/dsh-web-app"
    assert bundles(new_manifest("mine")) == ("@deepseek-ai/dsh-base",)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "node_modules"])
def test_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ProfileError) as caught:
        check_profile_name(name)
    assert caught.value.code == "PROFILE_NAME_INVALID"
    check_profile_name("web")
