"""A host with sessions in role-play mode, and what it is told."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from attrs import define, field

from tavern_loader.domain.rp_guard import REFUSAL
from tavern_loader.domain.rp_mode import RpSource, RpState, SandboxMode
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import HostError, StoreError
from tavern_loader.service.roleplay import CANCEL_REASON, HostWord, Roleplay, ToolVerdict

ON = RpState(active=True, source=RpSource.COMMAND)
LOCKED = RpState(active=True, source=RpSource.COMMAND, sandbox_before=SandboxMode.WORKSPACE_WRITE)
DENIED = ToolVerdict(deny=REFUSAL, cancel=CANCEL_REASON)


@define
class Memory:
    """Selections in memory."""

    kept: dict[str, Selection] = field(factory=dict)
    is_damaged: bool = False
    is_full: bool = False

    def selection(self, session_id: str) -> Selection:
        if self.is_damaged:
            raise StoreError("SESSION_SELECTION_INVALID", "the file cannot be used")
        return self.kept.get(session_id, Selection())

    def change_selection(
        self, session_id: str, change: Callable[[Selection], Selection]
    ) -> Selection:
        after = change(self.selection(session_id))
        if self.is_full:
            raise StoreError("STORE_UNWRITABLE", "the file cannot be written")
        self.kept[session_id] = after
        return self.kept[session_id]


@define
class Rules:
    text: str = "Stay in the story."
    tools: tuple[str, ...] = ()
    follows: bool = True

    def section(self) -> str:
        return self.text

    def allowed_tools(self) -> Sequence[str]:
        return self.tools

    def follows_characters(self) -> bool:
        return self.follows


@define
class Host:
    """Writes down what it is asked to do."""

    done: list[tuple[str, Any]] = field(factory=list)
    told: list[tuple[str, bool]] = field(factory=list)
    """Sessions, and whether they are locked."""
    headers: dict[str, dict[str, Any]] = field(factory=dict)
    is_gone: bool = False
    is_stuck: bool = False
    """It does not take a sandbox mode in time."""

    def set_sandbox_mode(self, session_id: str, mode: str) -> None:
        if self.is_stuck:
            raise HostError("HOST_TIMEOUT", "no answer")
        self.done.append((session_id, mode))

    def cancel(self, session_id: str, reason: str) -> None:
        raise AssertionError((session_id, reason))

    def lock_tools(self, locked: Sequence[str], free: Sequence[str], reason: str) -> None:
        assert reason == REFUSAL
        self.told += [*((one, True) for one in locked), *((one, False) for one in free)]

    def session_header(self, session_id: str) -> dict[str, Any] | None:
        if self.is_gone:
            raise HostError("LINK_CLOSED", "gone")
        self.done.append(("header", session_id))
        return self.headers.get(session_id)

    def inspect(self, session_id: str) -> dict[str, Any] | None:
        raise AssertionError(session_id)

    def is_running(self, session_id: str) -> bool:
        raise AssertionError(session_id)


class Clock:
    def now_ms(self) -> int:
        return 1_700_000_000_000


def real_path(folder: str, path: str) -> tuple[str, ...]:
    joined = path if path.startswith("/") else f"{folder}/{path}"
    return tuple(part for part in joined.split("/") if part)


@define
class Scene:
    """A host with its sessions."""

    memory: Memory = field(factory=Memory)
    rules: Rules = field(factory=Rules)
    host: Host = field(factory=Host)
    new_lock: Any = nullcontext
    roleplay: Roleplay = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin a new process: nothing in memory is left."""
        self.roleplay = Roleplay(
            selections=self.memory,
            rules=self.rules,
            host=self.host,
            clock=Clock(),
            real_path=real_path,
            new_lock=self.new_lock,
        )

    def event(self, session_id: str, kind: str, **data: Any) -> None:
        self.roleplay.on_event(session_id, {"type": kind, "seq": 1, "time": 0, "data": data})

    def sync(
        self,
        session_id: str,
        *modes: str,
        inherited: str | None = None,
        was_locked: bool = False,
        turn: bool = False,
        **header: Any,
    ) -> dict[str, Any]:
        """Tell all of a session: the modes of its own log, and what the host knows beside."""
        session = {"id": session_id, "header": header, "cwd": "/tea"}
        events = [*map(sandbox, modes), *([{"type": "turn/start", "data": {}}] if turn else [])]
        known = HostWord(sandbox=[inherited, *modes][-1], was_locked=was_locked)
        self.roleplay.on_sync(session, events, known=known)
        return session

    def start(
        self, session_id: str, source: str = "startup", mode: str = "workspace-write", **header: Any
    ) -> dict[str, Any]:
        """Begin or resume a session whose log says a mode."""
        session = self.sync(session_id, mode, **header)
        self.roleplay.on_session_start(session, source)
        return session


def sandbox(mode: str) -> Mapping[str, Any]:
    """Make the event of a mode."""
    return {"type": "sandbox/mode", "data": {"mode": mode}}
