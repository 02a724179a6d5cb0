"""RP mode in the real host: what a locked session may do, and when it is locked."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.dsh._host import DRIVEN, Driven, Home, eventually
from tests.dsh._install import Toolbox
from tests.dsh._model import Model
from tests.dsh._web import Web


@pytest.fixture(scope="module")
def host(
    toolbox: Toolbox, model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driven]:
    """Give a running host whose workspace has files, links out of it, and a secret."""
    with made(Home(toolbox, tmp_path_factory.mktemp("rp"), model)).driven() as running:
        yield running


def made(home: Home) -> Home:
    """Install the bridge, and put files into the workspace."""
    home.install(DRIVEN)
    home.add_driver()
    (home.workspace / "notes.txt").write_text("The otter sleeps.", encoding="utf-8")
    (home.workspace / ".env").write_text("KEY=1", encoding="utf-8")
    (home.folder / "diary.txt").write_text("Outside.", encoding="utf-8")
    (home.workspace / "way.txt").symlink_to(home.folder / "diary.txt")
    (home.workspace / "plain.txt").symlink_to(".env")
    return home


@pytest.fixture(scope="module")
def web(host: Driven) -> Web:
    return Web.of(host)


def locked(host: Driven, name: str) -> str:
    session = host.session(name)
    host.do("command", session=session, line="/rp")
    eventually(lambda: sandbox(host, session) == "read-only")
    return session


def sandbox(host: Driven, session: str) -> Any:
    modes = host.do("events", session=session, types=["sandbox/mode"])
    return modes[-1]["data"]["mode"]


def call(host: Driven, session: str, tool: str, **arguments: object) -> str:
    """Let the model call a tool; gives how the turn ended."""
    ended = host.say(session, f"go on\nTOOL {tool} {json.dumps(arguments)}")
    return str(ended["kind"])


def results(host: Driven, session: str) -> str:
    return json.dumps(host.do("events", session=session, types=["tool/result"]))


def test_a_command_locks_and_unlocks(host: Driven, web: Web) -> None:
    session = host.session("command")
    before = sandbox(host, session)
    said = json.dumps(host.do("command", session=session, line="/rp"))
    assert "Role-play mode is on" in said
    eventually(lambda: sandbox(host, session) == "read-only")
    assert "Role-play mode is on in this conversation" in host.step(session, "who are you?")
    rp = web.get(f"/v1/rp-mode?sessionId={session}").json["rp"]
    assert rp == {
        "active": True,
        "source": "command",
        "followSuppressed": False,
        "sandboxBefore": before,
    }
    assert "off" in json.dumps(host.do("command", session=session, line="/rp off"))
    eventually(lambda: sandbox(host, session) == before)
    assert "Role-play mode is on" not in host.step(session, "and now?")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"file_path": "way.txt"}),
        ("read", {"file_path": "plain.txt"}),
        ("read", {"file_path": ".env"}),
        ("read", {"file_path": "/etc/hostname"}),
        ("read", {"file_path": "../diary.txt"}),
        ("write", {"file_path": "new.txt", "content": "x"}),
        ("bash", {"command": "touch new.txt", "description": "d"}),
        ("grep", {"pattern": "KEY"}),
        ("glob", {"pattern": "*", "path": ".."}),
    ],
)
def test_a_locked_session_is_refused(
    host: Driven, web: Web, tool: str, arguments: dict[str, str]
) -> None:
    name = "refused-" + "".join(c if c.isalnum() else "-" for c in f"{tool}{arguments}")[:80]
    session = locked(host, name)
    assert call(host, session, tool, **arguments) != "completed"
    eventually(lambda: web.get(f"/v1/rp-alert?sessionId={session}").json["alert"])
    assert web.get(f"/v1/rp-alert?sessionId={session}").json["alert"]["toolName"] == tool
    said = results(host, session)
    assert "Role-play mode is on in this conversation" in said
    assert "Outside." not in said
    assert "KEY=1" not in said
    assert not (host.home.workspace / "new.txt").exists()


def test_it_reads_what_lies_in_its_workspace(host: Driven, web: Web) -> None:
    session = locked(host, "reading")
    assert call(host, session, "read", file_path="notes.txt") == "completed"
    assert "The otter sleeps." in results(host, session)
    assert call(host, session, "todo_write", todos=[]) == "completed"
    assert web.get(f"/v1/rp-alert?sessionId={session}").json["alert"] is None


def test_a_child_is_locked_and_its_alert_is_its_parents(host: Driven, web: Web) -> None:
    parent = locked(host, "parent")
    task = 'TOOL bash {"command": "touch new.txt", "description": "d"}'
    errand = {"prompt": f"do it\n{task}", "description": "d", "run_in_background": False}
    call(host, parent, "subagent", **errand)
    eventually(lambda: web.get(f"/v1/rp-alert?sessionId={parent}").json["alert"], 20)
    alert = web.get(f"/v1/rp-alert?sessionId={parent}").json["alert"]
    assert (alert["toolName"], alert["sessionId"]) == ("bash", parent)
    assert not (host.home.workspace / "new.txt").exists()
    (child,) = {one.session for one in host.home.model.steps if f"do it\n{task}" in one.said} - {
        parent
    }
    assert web.get(f"/v1/rp-mode?sessionId={child}").json["rp"]["active"] is True


def test_a_resumed_session_is_still_locked(host: Driven) -> None:
    session = locked(host, "resumed")
    host.step(session, "hello")
    host.do("dispose", session=session)
    host.do("resume", session=session)
    assert call(host, session, "bash", command="touch new.txt", description="d") != "completed"
    assert not (host.home.workspace / "new.txt").exists()
    host.do("command", session=session, line="/rp off")
    eventually(lambda: sandbox(host, session) == "workspace-write")


def test_a_lock_outlives_python_its_environment_and_what_it_stored(home: Home) -> None:
    """And a session that never was in RP mode works on."""
    made(home)
    store = home.storage / "session-selections.json"
    outside, inside = {"file_path": "../diary.txt"}, {"file_path": "notes.txt"}
    with home.driven() as host:
        session, free = locked(host, "locked"), host.session("free")
        host.step(free, "hello")
        kept = store.read_text(encoding="utf-8")
        store.write_text(kept[:-20], encoding="utf-8")
        # One Python has read it once; the next one never.
        for _ in range(2):
            assert call(host, session, "read", **outside) != "completed"
            assert call(host, free, "read", **outside) == "completed"
            _renew_python(host)
        assert call(host, session, "read", **inside) == "completed"
        store.write_text(kept, encoding="utf-8")
        for one in (session, free):
            host.do("dispose", session=one)
    home.settings(DRIVEN, python="/nowhere/python")
    _is_locked_without_python(home, session, free)
    assert "sessions in role-play mode stay locked" in home.errors
    installed = home.profile(DRIVEN) / "tavern-loader-dsh" / "installed.json"
    text = installed.read_text(encoding="utf-8")
    installed.write_text(text.replace("/index.js", "/gone.js"), encoding="utf-8")
    store.write_text(kept[:-20], encoding="utf-8")
    _is_locked_without_python(home, session, free)
    assert "the bridge cannot be loaded" in home.errors


def _renew_python(host: Driven) -> None:
    (gone,) = host.children()
    os.kill(gone, signal.SIGKILL)
    eventually(lambda: host.children() not in ([], [gone]))


def _is_locked_without_python(home: Home, session: str, free: str) -> None:
    with home.driven() as host:
        for one in (session, free):
            host.do("resume", session=one)
            call(host, one, "read", file_path="notes.txt")
        found = [results(host, one).rpartition("tool-result")[2] for one in (session, free)]
        assert "Role-play mode is on in this conversation, and Tavern" in found[0]
        assert "The otter sleeps." in found[1]
        for one in (session, free):
            host.do("dispose", session=one)
