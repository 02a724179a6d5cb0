"""Which tool calls of a locked session pass, with real files and links."""

import json
from pathlib import Path
from typing import Any

import pytest

from tavern_loader.adapters.settings_files import real_path
from tavern_loader.domain.rp_guard import TOOLS, Guard, Rule, Why, is_secret_name

CASES = json.loads((Path(__file__).parent / "cases" / "rp_guard.json").read_bytes())
ALLOWED = ("mcp__dice__roll", "mcp__calendar__*")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    for folder in (workspace / "sub", tmp_path / "other", tmp_path / "workspace-old"):
        folder.mkdir(parents=True)
    for name in ("notes.txt", ".env", "server.key", "sub/deep.txt"):
        (workspace / name).write_text("text", encoding="utf-8")
    (tmp_path / "other" / "diary.txt").write_text("secret", encoding="utf-8")
    (workspace / "escape.txt").symlink_to(tmp_path / "other" / "diary.txt")
    (workspace / "way").symlink_to(tmp_path / "other")
    (workspace / "plain.txt").symlink_to(".env")
    (workspace / "fake.pem").symlink_to("notes.txt")
    (workspace / "loop").symlink_to("loop")
    (tmp_path / "linked").symlink_to(workspace)
    return tmp_path


def filled(value: Any, home: Path) -> Any:
    if isinstance(value, dict):
        return {key: filled(item, home) for key, item in value.items()}
    if isinstance(value, str):
        return value.replace("{workspace}", str(home / "workspace")).replace("{home}", str(home))
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_call_is_judged(case: dict[str, Any], home: Path) -> None:
    workspace = filled(case.get("workspace", "{workspace}"), home)
    guard = Guard(
        workspace=workspace, real_path=real_path, allowed_tools=case.get("allowed", ALLOWED)
    )
    expected = None if case["refused"] is None else Why(case["refused"])
    assert guard.refuses(case["tool"], filled(case["arguments"], home)) == expected


def test_every_path_that_is_refused_on_the_disk_really_leads_out(home: Path) -> None:
    """The guard errs on the safe side only: what it lets read lies in the workspace."""
    guard = Guard(workspace=str(home / "workspace"), real_path=real_path)
    for path in (home / "workspace").rglob("*"):
        if guard.refuses("read", {"file_path": str(path)}) is None and path.exists():
            assert path.resolve().is_relative_to(home / "workspace")


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.production", ".credentials.yml", ".credentials.yaml", "credentials.json"),
        *("secrets.json", ".netrc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
        *("a.pem", "a.key", "a.p12", "a.PFX", ".pem"),
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_name(name.upper())


@pytest.mark.parametrize(
    "name",
    ["env", ".environment", "credentials.json.md", "id_rsa.pub", "keys", "a.keys", "pem", "my.env"],
)
def test_other_names_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_every_tool_with_a_path_has_its_argument_named() -> None:
    guard = Guard(workspace="/somewhere", real_path=lambda _, __: None)
    for tool, rule in TOOLS.items():
        if rule in (Rule.READ, Rule.LIST):
            assert guard.refuses(tool, {"file_path": "x", "path": "x"}) is Why.OUTSIDE
