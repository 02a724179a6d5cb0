"""The real host in a home of its own: started for one task, or steered by the driver within it."""

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.dsh._install import Toolbox
from tests.dsh._model import Model

HERE = Path(__file__).parent
PS = "/bin/ps"
TIMEOUT_S = 60.0
DRIVEN = "driven"
"""The profile that the driver steers."""


@dataclass(frozen=True)
class Ran:
    """A process that has ended."""

    code: int
    output: str
    errors: str
    seconds: float


@dataclass(frozen=True)
class Home:
    """A home of the host: its profiles, sessions and stores."""

    toolbox: Toolbox
    folder: Path
    model: Model
    with_pnpm: bool = False

    @property
    def home(self) -> Path:
        """`$DSH_HOME`."""
        return self.folder / "home"

    @property
    def storage(self) -> Path:
        """Where the loader keeps its files."""
        return self.home / "pmp-dsh-tavern"

    @property
    def workspace(self) -> Path:
        """The folder in which sessions run."""
        made = self.folder / "workspace"
        made.mkdir(exist_ok=True)
        return made

    @property
    def environment(self) -> dict[str, str]:
        """What every process gets."""
        folders = [str(self.toolbox.node_folder)]
        if self.with_pnpm:
            folders.append(str(self.toolbox.pnpm_folder))
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "PATH": os.pathsep.join([*folders, "/usr/bin", "/bin"]),
            "DSH_HOME": str(self.home),
            "DSH_TELEMETRY_DISABLED": "1",
            "DEEPSEEK_API_KEY": "sk-on-this-machine",
            "DEEPSEEK_BASE_URL": self.model.url,
        }

    @property
    def dsh(self) -> list[str]:
        """The command of the host."""
        return [str(self.toolbox.node), str(self.toolbox.script)]

    def run(self, command: Sequence[str], **more: str) -> Ran:
        """Run a program to its end."""
        begun = time.monotonic()
        done = subprocess.run(
            command,
            cwd=self.workspace,
            env={**self.environment, **more},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        return Ran(done.returncode, done.stdout, done.stderr, time.monotonic() - begun)

    def loader(self, *arguments: str) -> Ran:
        """Run the loader's command line."""
        return self.run([sys.executable, "-m", "tavern_loader", *arguments])

    def headless(self, task: str, **more: str) -> Ran:
        """Let the host do one task."""
        return self.run([*self.dsh, "--profile", "headless", task], **more)

    def profile(self, name: str) -> Path:
        """Give the folder of a profile."""
        return self.home / "profiles" / name

    def install(self, profile: str) -> Ran:
        """Install the bridge."""
        ran = self.loader("install", "--profile", profile, "--dsh", str(self.toolbox.script))
        assert ran.code == 0, ran.errors
        return ran

    def settings(self, profile: str, **config: object) -> None:
        """Set the bridge's settings in the user's layer of a profile."""
        row = {"id": "tavern-loader", "config": config}
        # JSON is YAML.
        (self.profile(profile) / "cordis.patch.yml").write_text(json.dumps([row]), encoding="utf-8")

    def fault_python(self) -> tuple[str, Path]:
        """Make a stand-in for Python that runs the fault host; gives it, and its folder."""
        folder = self.folder / "faults"
        folder.mkdir(exist_ok=True)
        command = self.folder / "fault-python"
        script = f'exec "{sys.executable}" "{HERE / "_fault_host.py"}" "{folder}"'
        command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        command.chmod(0o755)
        return str(command), folder

    def add_driver(self) -> None:
        """Put the driver into its profile."""
        profile = self.profile(DRIVEN)
        modules = profile / "node_modules"
        modules.mkdir(exist_ok=True)
        (modules / "tavern-test-driver").symlink_to(HERE / "driver", target_is_directory=True)
        path = profile / "package.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        manifest["dsh"]["profile"]["bundles"].append("tavern-test-driver")
        path.write_text(json.dumps(manifest), encoding="utf-8")

    @contextmanager
    def driven(self, code: int = 0) -> Iterator["Driven"]:
        """Start the host with the driver; at the end it must end with this code, and soon."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(TIMEOUT_S)
            port = str(server.getsockname()[1])
            with (self.folder / "driven.err").open("w") as errors:
                process = subprocess.Popen(
                    [*self.dsh, "--profile", DRIVEN],
                    cwd=self.workspace,
                    env={**self.environment, "TAVERN_DRIVER_PORT": port},
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                )
                try:
                    connection, _ = server.accept()
                    with connection:
                        yield Driven(self, process, connection)
                        # Closing alone would not: the thread that reads holds it too.
                        with suppress(OSError):
                            connection.shutdown(socket.SHUT_RDWR)
                    assert process.wait(10) == code, self.errors
                finally:
                    process.kill()
                    process.wait()

    @property
    def errors(self) -> str:
        """What the steered host has written to standard error."""
        return (self.folder / "driven.err").read_text(encoding="utf-8")


@dataclass
class Driven:
    """A running host."""

    home: Home
    process: "subprocess.Popen[bytes]"
    connection: socket.socket
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _waiting: dict[int, Future[Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Wait until everything of the host has started."""
        ready: Future[Any] = Future()
        self._waiting[0] = ready
        threading.Thread(target=self._read, daemon=True).start()
        ready.result(TIMEOUT_S)

    def begin(self, operation: str, **params: object) -> Future[Any]:
        """Ask the driver, and do not wait."""
        number = next(self._ids)
        answer: Future[Any] = Future()
        self._waiting[number] = answer
        line = json.dumps({"id": number, "op": operation, **params}) + "\n"
        with self._lock:
            self.connection.sendall(line.encode())
        return answer

    def do(self, operation: str, **params: object) -> Any:
        """Ask the driver."""
        return self.begin(operation, **params).result(TIMEOUT_S)

    def session(self, name: str, **params: object) -> str:
        """Make a session with an agent."""
        self.do("create", session=name, cwd=str(self.home.workspace), **params)
        return name

    def say(self, session: str, text: str) -> Mapping[str, Any]:
        """Say something, and give how the turn ended."""
        ended: Mapping[str, Any] = self.do("say", session=session, text=text)
        return ended

    def step(self, session: str, text: str) -> str:
        """Say something that must be answered; gives the system prompt of the last request."""
        assert self.say(session, text) == {"kind": "completed"}, self.home.errors
        return self.home.model.steps_of(session)[-1].system

    def children(self) -> list[int]:
        """List the processes that the host has started."""
        done = subprocess.run(
            [PS, "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
        )
        pairs = (map(int, line.split()) for line in done.stdout.splitlines())
        return [pid for pid, parent in pairs if parent == self.process.pid]

    def _read(self) -> None:
        with self.connection.makefile("rb") as lines:
            for line in lines:
                answer = json.loads(line)
                waiting = self._waiting.pop(answer["id"])
                if "error" in answer:
                    waiting.set_exception(AssertionError(answer["error"]))
                else:
                    waiting.set_result(answer["ok"])


def eventually(fact: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not become so"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    done = subprocess.run(
        [PS, "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")
