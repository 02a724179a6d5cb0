"""The bridge in a profile: put in, taken out, put back when it fails; and what the doctor says."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tavern_loader import cli
from tavern_loader.adapters import doctor, installing, profile_undo
from tavern_loader.adapters.dsh_program import DshProgram, find_dsh, run
from tavern_loader.adapters.installing import bridge_source, install, uninstall
from tavern_loader.adapters.link_trial import try_link
from tavern_loader.adapters.profile_folder import Profile
from tavern_loader.domain.dsh_profile import BRIDGE, LINK, ProfileError
from tavern_loader.errors import StoreError

PYTHON = "/somewhere/python"
ODDLY_WRITTEN = b'{"dsh":{"profile":{"bundles":["base"]}},\n "name":"x"}'
Capture = pytest.CaptureFixture[bytes]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no check fail because the machine is busy."""
    monkeypatch.setattr(doctor, "SLOW_START_S", 60.0)


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(home=tmp_path / "home", name="web")


@pytest.fixture
def made(profile: Profile) -> Profile:
    profile.folder.mkdir(parents=True)
    profile.manifest_file.write_bytes(ODDLY_WRITTEN)
    return profile


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], DshProgram]:
    """Make a stand-in for the host's program out of a line of shell."""

    def make(line: str) -> DshProgram:
        path = tmp_path / "dsh"
        path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        path.chmod(0o755)
        return DshProgram((str(path),))

    return make


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_bridge_that_was_put_in_by_hand_is_taken_out_as_well(made: Profile) -> None:
    by_hand = {"dsh": {"profile": {"bundles": [BRIDGE]}}, "dependencies": {BRIDGE: "link:x"}}
    made.manifest_file.write_text(json.dumps(by_hand), encoding="utf-8")
    install(made, PYTHON, None)
    uninstall(made)
    left = json.loads(made.manifest_file.read_bytes())
    assert left["dsh"]["profile"]["bundles"] == []
    assert BRIDGE not in left.get("dependencies", {})


def test_missing_profile_is_made_as_the_host_makes_it(profile: Profile) -> None:
    done = install(profile, PYTHON, None)
    assert done.steps[0] == "made the profile web"
    assert not done.is_checked
    assert names(profile.folder) == [
        "cordis.patch.yml",
        "node_modules",
        "package.json",
        "pnpm-workspace.yaml",
        BRIDGE,
    ]
    manifest = profile.manifest()
    assert manifest is not None
    assert manifest["dependencies"] == {BRIDGE: LINK}
    assert manifest["dsh"]["profile"]["bundles"][-1] == BRIDGE


def test_folder_holds_what_the_host_needs_and_names_the_environment(made: Profile) -> None:
    done = install(made, PYTHON, None)
    assert len(done.steps) == 3
    assert names(made.bridge) == [
        "cordis.patch.yml",
        "index.js",
        "installed.json",
        "package.json",
        "profile-package.json",
    ]
    assert made.installed() == {
        "python": PYTHON,
        "arguments": ["-P", "-m", "tavern_loader", "host"],
        "bridge": str(bridge_source() / "index.js"),
        "version": "0.1.0",
    }
    package = json.loads((made.link / "package.json").read_bytes())
    assert package["name"] == BRIDGE
    assert (made.link / package["main"]).is_file()
    assert (made.link / package["dsh"]["bundle"]["patch"]).is_file()


def test_second_installation_changes_nothing(made: Profile) -> None:
    install(made, PYTHON, None)
    before = {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")}
    assert install(made, PYTHON, None).steps == ()
    assert {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")} == before


def test_installation_from_another_environment_takes_over(made: Profile) -> None:
    install(made, PYTHON, None)
    (step,) = install(made, "/other/python", None).steps
    assert "/other/python" in step
    uninstall(made)
    assert made.manifest_file.read_bytes() == ODDLY_WRITTEN


def test_uninstall_gives_the_very_bytes_back(made: Profile) -> None:
    install(made, PYTHON, None)
    assert len(uninstall(made).steps) == 3
    assert names(made.folder) == ["package.json"]
    assert made.manifest_file.read_bytes() == ODDLY_WRITTEN
    assert uninstall(made).steps == ()


def test_uninstall_keeps_what_others_did_meanwhile(made: Profile) -> None:
    install(made, PYTHON, None)
    manifest: Any = made.manifest()
    manifest["dsh"]["profile"]["bundles"].append("later")
    made.manifest_file.write_text(json.dumps(manifest), encoding="utf-8")
    (made.folder / "node_modules" / "later").mkdir()
    uninstall(made)
    assert made.manifest() == {
        "dsh": {"profile": {"bundles": ["base", "later"]}},
        "name": "x",
        "dependencies": {},
    }
    assert names(made.folder / "node_modules") == ["later"]


def test_uninstall_without_a_profile_is_nothing(profile: Profile) -> None:
    assert uninstall(profile).steps == ()
    assert not profile.home.exists()


@pytest.mark.parametrize("broken", ["link", "folder", "manifest"])
def test_installation_repairs_what_is_missing(made: Profile, broken: str) -> None:
    install(made, PYTHON, None)
    whole = {path: path.is_file() and path.read_bytes() for path in made.folder.rglob("*")}
    if broken == "link":
        made.link.unlink()
        made.link.symlink_to("nowhere")
    elif broken == "folder":
        (made.bridge / "index.js").write_text("", encoding="utf-8")
    else:
        made.manifest_file.write_bytes(ODDLY_WRITTEN)
    assert install(made, PYTHON, None).steps
    now = {path: path.is_file() and path.read_bytes() for path in made.folder.rglob("*")}
    assert now == whole


def test_copy_stands_where_links_are_not_allowed(
    made: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "symlink_to", refuse)
    install(made, PYTHON, None)
    assert not made.link.is_symlink()
    assert (made.link / "index.js").is_file()
    assert install(made, PYTHON, None).steps == ()
    uninstall(made)
    assert names(made.folder) == ["package.json"]


def test_host_is_asked_and_a_refusal_undoes_everything(
    made: Profile, program: Callable[[str], DshProgram]
) -> None:
    dsh = program('echo "$DSH_HOME $*" > "$DSH_HOME/asked"; echo "dsh: no such bundle" >&2; exit 1')
    with pytest.raises(ProfileError, match="dsh: no such bundle") as caught:
        install(made, PYTHON, dsh)
    assert caught.value.code == "PROFILE_DOES_NOT_BOOT"
    asked = (made.home / "asked").read_text(encoding="utf-8")
    assert asked == f"{made.home} --profile web --dump-config\n"
    assert names(made.folder) == ["package.json"]
    assert made.manifest_file.read_bytes() == ODDLY_WRITTEN
    assert install(made, PYTHON, program("exit 0")).is_checked


def test_refusal_puts_an_older_installation_back(
    made: Profile, program: Callable[[str], DshProgram]
) -> None:
    install(made, PYTHON, None)
    with pytest.raises(ProfileError):
        install(made, "/other/python", program("exit 1"))
    installed = made.installed()
    assert installed is not None
    assert installed["python"] == PYTHON
    assert made.link.is_symlink()


def everything(folder: Path) -> dict[str, object]:
    """Give what is in a folder, with contents and with where links lead to."""
    return {
        str(path.relative_to(folder)): (
            path.readlink() if path.is_symlink() else path.is_dir() or path.read_bytes()
        )
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("made_by", ["host", "us"])
def test_refusal_leaves_no_profile_that_was_not_there(
    profile: Profile, program: Callable[[str], DshProgram], made_by: str
) -> None:
    made = profile.folder if made_by == "host" else profile.home / "elsewhere"
    manifest = made / "package.json"
    dsh = program(f"mkdir -p {made}; [ -e {manifest} ] || echo '{{}}' > {manifest}; exit 1")
    with pytest.raises(ProfileError, match="nothing was changed"):
        install(profile, PYTHON, dsh)
    assert not (profile.home / "profiles").exists()


@pytest.mark.parametrize("kind", ["link", "folder", "file"])
def test_refusal_puts_back_what_stood_in_the_place_of_the_link(
    made: Profile, program: Callable[[str], DshProgram], kind: str
) -> None:
    made.link.parent.mkdir()
    if kind == "link":
        made.link.symlink_to("/somewhere/else")
    elif kind == "folder":
        (made.link / "lib").mkdir(parents=True)
        (made.link / "lib" / "index.js").write_text("theirs", encoding="utf-8")
    else:
        made.link.write_text("theirs", encoding="utf-8")
    (made.folder / "cordis.yml").write_text("mine", encoding="utf-8")
    before = everything(made.folder)
    with pytest.raises(ProfileError):
        install(made, PYTHON, program("exit 1"))
    assert everything(made.folder) == before
    install(made, PYTHON, program("exit 0"))
    assert names(made.link.parent) == [BRIDGE]


def test_refusal_puts_back_a_folder_of_an_older_bridge(
    made: Profile, program: Callable[[str], DshProgram]
) -> None:
    made.bridge.mkdir()
    (made.bridge / "index.js").write_text("old", encoding="utf-8")
    before = everything(made.folder)
    with pytest.raises(ProfileError):
        install(made, PYTHON, program("exit 1"))
    assert everything(made.folder) == before


def test_profile_that_cannot_be_put_back_is_said_to_be_so(
    made: Profile, program: Callable[[str], DshProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(profile_undo, "write_whole", fail)
    with pytest.raises(ProfileError, match="nor could the profile be put back") as caught:
        install(made, PYTHON, program("exit 1"))
    assert caught.value.code == "PROFILE_NOT_PUT_BACK"


def test_failure_half_way_undoes_everything(made: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Profile) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(installing, "_link", fail)
    with pytest.raises(KeyboardInterrupt):
        install(made, PYTHON, None)
    assert names(made.folder) == ["package.json"]
    assert made.manifest_file.read_bytes() == ODDLY_WRITTEN


def test_a_folder_that_cannot_be_written_is_told_as_such(
    made: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(_: Profile) -> None:
        raise PermissionError(13, "Permission denied", str(made.link))

    monkeypatch.setattr(installing, "_link", forbid)
    with pytest.raises(StoreError, match=f"{made.link} cannot be written: Permission denied"):
        install(made, PYTHON, None)
    assert names(made.folder) == ["package.json"]


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff"])
def test_manifest_that_cannot_be_read_is_left_alone(made: Profile, data: bytes) -> None:
    made.manifest_file.write_bytes(data)
    with pytest.raises(ProfileError, match="cannot be used"):
        install(made, PYTHON, None)
    with pytest.raises(ProfileError, match="cannot be used"):
        uninstall(made)
    assert made.manifest_file.read_bytes() == data


def test_rights_of_the_manifest_stay(made: Profile) -> None:
    made.manifest_file.chmod(0o640)
    install(made, PYTHON, None)
    assert made.manifest_file.stat().st_mode & 0o777 == 0o640
    assert (made.bridge / "index.js").stat().st_mode & 0o777 == 0o644


# --- the command line --------------------------------------------------------------------------


def test_commands_say_what_they_did(
    profile: Profile, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    home = ("--dsh-home", str(profile.home))
    assert cli.main(["install", *home]) == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert lines[0] == "made the profile web"
    assert lines[-1] == "start DSH again to use it"
    assert "the host was not asked" in lines[-2]
    assert cli.main(["install", *home]) == 0
    assert b"nothing was changed" in capsysbinary.readouterr().out
    assert cli.main(["uninstall", *home, "--json"]) == 0
    told = json.loads(capsysbinary.readouterr().out)
    assert (told["profile"], told["changed"], len(told["steps"])) == ("web", True, 3)
    assert cli.main(["uninstall", *home]) == 0
    assert capsysbinary.readouterr().out == b"the bridge is not installed: nothing was changed\n"


def test_wrong_profile_name_is_one_line(profile: Profile, capsysbinary: Capture) -> None:
    assert cli.main(["install", "--dsh-home", str(profile.home), "--profile", "../x"]) == 1
    assert b"PROFILE_NAME_INVALID" in capsysbinary.readouterr().err


def checks(capsysbinary: Capture, profile: Profile, *more: str) -> dict[str, dict[str, str]]:
    code = cli.main(["doctor", "--dsh-home", str(profile.home), "--json", *more])
    found = json.loads(capsysbinary.readouterr().out)["checks"]
    assert code == int(any(one["status"] == "fail" for one in found))
    return {one["name"]: one for one in found}


def test_doctor_names_what_is_missing_with_the_remedy(
    profile: Profile, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    found = checks(capsysbinary, profile)
    assert {name: one["status"] for name, one in found.items()} == {
        "python": "ok",
        "node": "warn",
        "dsh": "warn",
        "profile": "fail",
        "bridge": "fail",
        "link": "ok",
        "stores": "ok",
    }
    assert found["profile"]["remedy"] == "run: tavern-loader install"
    assert all(one["remedy"] for one in found.values() if one["status"] != "ok")


def test_doctor_looks_at_every_part(
    made: Profile,
    capsysbinary: Capture,
    program: Callable[[str], DshProgram],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dsh = program('[ "$1" = --version ] && echo 0.1.0-rc.8 || echo "- id: tavern-loader"')
    node = Path(dsh.command[0]).with_name("node")
    node.write_text("#!/bin/sh\necho v20.1.0\n", encoding="utf-8")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", str(node.parent))
    install(made, sys.executable, None)
    storage = made.home / "pmp-dsh-tavern"
    storage.mkdir()
    (storage / "state.json").write_text("{}", encoding="utf-8")
    found = checks(capsysbinary, made)
    bad = {name for name, one in found.items() if one["status"] != "ok"}
    assert bad == {"node"}
    assert found["node"]["fact"].startswith("v20.1.0")
    (storage / "state.json").write_text("{", encoding="utf-8")
    (made.bridge / "installed.json").write_text('{"bridge": "/gone/index.js"}', encoding="utf-8")
    found = checks(capsysbinary, made)
    assert "state.json is no JSON object" in found["stores"]["fact"]
    assert "/gone/index.js is gone" in found["bridge"]["fact"]


def test_doctor_looks_at_every_profile_that_has_the_bridge(
    tmp_path: Path, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    home = tmp_path / "home"
    for name in ("b c", "a"):
        install(Profile(home=home, name=name), sys.executable, None)
    plain = Profile(home=home, name="web")
    plain.folder.mkdir()
    plain.manifest_file.write_bytes(ODDLY_WRITTEN)
    (home / "profiles" / "b c" / BRIDGE / "installed.json").unlink()
    code = cli.main(["doctor", "--dsh-home", str(home)])
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert code == 1
    assert [line.split()[:3] for line in lines[3:-1]] == [
        ["ok", "profile", "a:"],
        ["ok", "bridge", "a:"],
        ["ok", "link", "a:"],
        ["ok", "profile", "b"],
        ["fail", "bridge", "b"],
        ["ok", "link", "b"],
    ]
    assert lines[7].endswith("; run: tavern-loader install --profile 'b c'")
    found = checks(capsysbinary, Profile(home=home, name="a"), "--profile", "a")
    assert {one["profile"] for one in found.values()} == {"", "a"}
    for name in ("b c", "a"):
        uninstall(Profile(home=home, name=name))
    found = checks(capsysbinary, plain)
    assert found["profile"]["profile"] == "web"
    assert found["profile"]["fact"].endswith("web does not have the bridge")


def test_doctor_sees_a_profile_whose_bridge_is_half_gone(
    made: Profile, capsysbinary: Capture
) -> None:
    other = Profile(home=made.home, name="other")
    install(other, sys.executable, None)
    other.manifest_file.write_text("{", encoding="utf-8")
    assert checks(capsysbinary, made)["profile"]["remedy"] == f"repair {other.manifest_file}"
    other.manifest_file.write_text(
        json.dumps({"dsh": {"profile": {"bundles": [BRIDGE]}}}), encoding="utf-8"
    )
    shutil.rmtree(other.bridge)
    assert checks(capsysbinary, made)["bridge"]["profile"] == "other"


def test_doctor_tells_what_it_may_not_look_at(
    made: Profile, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(made, sys.executable, None)

    def forbid(look: Callable[[Path], bool]) -> Callable[[Path], bool]:
        def forbidden(path: Path) -> bool:
            if path.is_relative_to(made.home):
                raise PermissionError(13, "Permission denied", str(path))
            return look(path)

        return forbidden

    def listed(folder: Path) -> list[str]:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setenv("PATH", "")
    for name in ("exists", "is_file"):
        monkeypatch.setattr(Path, name, forbid(getattr(Path, name)))
    monkeypatch.setattr(os, "listdir", listed)
    found = checks(capsysbinary, made)
    assert {name: found[name]["status"] for name in ("profile", "bridge", "link", "stores")} == {
        "profile": "ok",
        "bridge": "fail",
        "link": "ok",
        "stores": "fail",
    }
    assert found["bridge"]["fact"].endswith("package.json cannot be looked at: Permission denied")
    assert found["stores"]["remedy"] == "give yourself the right to read it"


def test_doctor_sees_the_other_plugin(made: Profile, capsysbinary: Capture) -> None:
    install(made, sys.executable, None)
    manifest: Any = made.manifest()
    manifest["dsh"]["profile"]["bundles"].append("pmp-dsh-tavern")
    made.manifest_file.write_text(json.dumps(manifest), encoding="utf-8")
    found = checks(capsysbinary, made, "--dsh", "/nowhere/dsh")
    assert "remove one" in found["profile"]["remedy"]
    assert found["dsh"]["status"] == "fail"


def test_link_is_tried_as_the_bridge_uses_it(tmp_path: Path) -> None:
    trial = try_link(sys.executable, tmp_path)
    assert trial.answer is not None
    assert trial.answer["protocol"] == 1
    assert os.listdir(tmp_path) == []  # noqa: PTH208 (names are all that matters)


def test_python_that_does_not_answer_is_told(tmp_path: Path) -> None:
    assert try_link("/nowhere/python", tmp_path).reason == "No such file or directory"
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\necho broken >&2; exit 4\n", encoding="utf-8")
    silent.chmod(0o755)
    assert try_link(str(silent), tmp_path).reason == "broken"


def test_program_is_found_by_name_by_file_and_as_a_script(tmp_path: Path) -> None:
    assert find_dsh("/nowhere/dsh") == DshProgram(("/nowhere/dsh",))
    script = find_dsh(str(tmp_path / "bin.js"))
    assert script is not None
    assert script.command[1] == str(tmp_path / "bin.js")
    assert run(["/nowhere/dsh"]).code == 127
