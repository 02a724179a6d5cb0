"""The ways in which the bridge comes into a profile of the real host, and out of it again."""

import json
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tavern_loader.adapters.installing import bridge_source
from tests.dsh._host import HERE, Home
from tests.dsh._install import Toolbox
from tests.dsh._model import REPLY, Model

NAME = "tavern-loader-dsh"
PRESET = {"prompts": [{"identifier": "main", "name": "Main", "content": "MARK {{user}}."}]}


@pytest.fixture
def pnpm_home(home: Home) -> Home:
    return replace(home, with_pnpm=True)


@pytest.fixture(scope="module")
def stores(toolbox: Toolbox, model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep a preset, and let all sessions begin with it."""
    home = Home(toolbox, tmp_path_factory.mktemp("stores"), model)
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    path = home.folder / "mark.json"
    path.write_text(json.dumps({**PRESET, "prompt_order": order}), encoding="utf-8")
    for arguments in (("import", str(path)), ("bind", "--default", "--preset", "mark")):
        ran = home.loader(*arguments)
        assert ran.code == 0, ran.errors
    return home.storage


@pytest.fixture
def home(home: Home, stores: Path) -> Home:
    shutil.copytree(stores, home.storage)
    return home


def sends_parts(home: Home) -> bool:
    """Do one task; says whether the part reached the model."""
    before = len(home.model.steps)
    ran = home.headless("hello")
    assert (ran.code, ran.output.strip()) == (0, REPLY), ran.errors
    assert ran.errors == ""
    return "MARK User." in home.model.steps[before].system


def manifest(home: Home) -> bytes:
    return (home.profile("headless") / "package.json").read_bytes()


def test_install_and_uninstall_leave_the_host_as_it_was(home: Home) -> None:
    assert not sends_parts(home)  # and makes the profile
    before, files = manifest(home), sorted(home.profile("headless").rglob("*"))
    home.install("headless")
    assert sends_parts(home)
    ran = home.loader("uninstall", "--profile", "headless")
    assert (ran.code, ran.errors) == (0, "")
    assert f"kept all data: {home.storage}" in ran.output
    assert manifest(home) == before
    assert sorted(home.profile("headless").rglob("*")) == files
    assert (home.storage / "state.json").exists()


def test_install_makes_a_profile_and_does_nothing_twice(home: Home) -> None:
    assert "made the profile headless" in home.install("headless").output
    before = manifest(home)
    again = home.install("headless")
    assert again.output == "the bridge is installed already: nothing was changed\n"
    assert manifest(home) == before


def test_install_is_kept_by_pnpm_and_keeps_what_pnpm_did(pnpm_home: Home) -> None:
    home = pnpm_home
    plugin = home.folder / "another"
    shutil.copytree(HERE / "driver", plugin, ignore=shutil.ignore_patterns("*.js"))
    (plugin / "cordis.patch.yml").write_text("[]", encoding="utf-8")
    home.install("headless")
    ran = home.run([*home.dsh, "plugin", "--profile", "headless", "add", str(plugin)])
    assert ran.code == 0, ran.errors
    bundles = json.loads(manifest(home))["dsh"]["profile"]["bundles"]
    assert bundles[-2:] == [NAME, "tavern-test-driver"]
    assert sends_parts(home)
    assert home.loader("uninstall", "--profile", "headless").code == 0
    ran = home.run([*home.dsh, "plugin", "--profile", "headless", "install"])
    assert ran.code == 0, ran.errors
    left = json.loads(manifest(home))
    assert NAME not in json.dumps(left)
    assert left["dsh"]["profile"]["bundles"][-1] == "tavern-test-driver"
    assert not sends_parts(home)


def test_package_folder_can_be_added_by_the_host_itself(pnpm_home: Home) -> None:
    home = pnpm_home
    source = str(bridge_source())
    ran = home.run([*home.dsh, "plugin", "--profile", "headless", "add", source])
    assert ran.code == 0, ran.errors
    home.settings("headless", python=sys.executable)
    assert sends_parts(home)
    # The installer takes over what is there.
    assert "linked" in home.install("headless").output
    assert home.loader("doctor", "--profile", "headless").code == 0


def test_file_can_be_named_on_the_command_line(home: Home) -> None:
    row = {
        "id": "tavern-loader",
        "name": str(bridge_source() / "index.js"),
        "config": {"python": sys.executable},
    }
    overlay = home.folder / "overlay.yml"
    overlay.write_text(json.dumps([{"insert": [row]}]), encoding="utf-8")
    ran = home.run([*home.dsh, "--profile", "headless", "--patch", str(overlay), "hello"])
    assert (ran.code, ran.errors) == (0, "")
    assert "MARK User." in home.model.steps[-1].system


def test_profile_that_the_host_does_not_take_is_put_back(home: Home) -> None:
    home.install("headless")
    home.loader("uninstall", "--profile", "headless")
    patch = home.profile("headless") / "cordis.patch.yml"
    patch.write_text("- [", encoding="utf-8")
    before = manifest(home)
    script = str(home.toolbox.script)
    ran = home.loader("install", "--profile", "headless", "--dsh", script)
    assert ran.code == 1
    assert "PROFILE_DOES_NOT_BOOT" in ran.errors
    assert manifest(home) == before
    assert not (home.profile("headless") / NAME).exists()


def test_doctor_finds_nothing_wrong_after_an_installation(home: Home) -> None:
    home.install("web")
    script = str(home.toolbox.script)
    ran = home.loader("doctor", "--dsh", script, "--json")
    assert ran.code == 0, ran.output
    checks = json.loads(ran.output)["checks"]
    assert {one["name"]: one["status"] for one in checks} == dict.fromkeys(
        ("python", "node", "dsh", "profile", "bridge", "link", "boot", "stores"), "ok"
    )


def test_web_profile_serves_the_routes_and_ends_soon(home: Home) -> None:
    home.install("web")
    command = [*home.dsh, "web", "--no-open", "--port", "0"]
    with subprocess.Popen(
        command, cwd=home.workspace, env=home.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        guard = threading.Timer(40, process.kill)
        guard.start()
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if "http://" in line)
            address = line[line.index("http://") :].split()[0]
            status, body = get(f"{address}/pmp-dsh-tavern/api/v1/presets")
            assert (status, json.loads(body)["ok"]) == (200, True)
        finally:
            process.terminate()
            assert process.wait(5) == 0
            guard.cancel()


def get(address: str) -> tuple[int, bytes]:
    from urllib.request import urlopen

    with urlopen(address, timeout=20) as response:  # noqa: S310 (an address of this machine)
        return response.status, response.read()
