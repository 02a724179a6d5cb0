"""The process of the host's other half: its streams, its signals, its end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PROGRAM = """
import time
from pathlib import Path
from tavern_loader.adapters.console import complain
from tavern_loader.adapters.hosting import end_process, run_host

class Built:
    inline = {}

    def __init__(self, home, host):
        self.methods = {"talk": self.talk, "stuck": lambda params, _: time.sleep(60)}

    def talk(self, params, _):
        print("to standard output")
        complain("a line\\n  of complaint")
        return {"read": input_is_empty()}

    def close(self):
        complain("closed")

def input_is_empty():
    import sys
    return sys.stdin.read() == ""

end_process(run_host(Built, Path(".")))
"""


@contextmanager
def started(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def ask(process: "subprocess.Popen[bytes]", method: str) -> object:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}) + "\n"
    pipe(process.stdin).write(line.encode())
    pipe(process.stdin).flush()
    return json.loads(pipe(process.stdout).readline())["result"]


def test_only_messages_reach_standard_output(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        assert ask(process, "talk") == {"read": True}
        pipe(process.stdin).close()
        assert pipe(process.stdout).read() == b""
        errors = pipe(process.stderr).read().decode().splitlines()
        assert process.wait(5) == 0
    assert sorted(errors) == [
        "tavern-loader: a line of complaint",
        "tavern-loader: closed",
        "to standard output",
    ]


def test_interrupt_is_left_to_the_host(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        ask(process, "ping")
        os.kill(process.pid, signal.SIGINT)
        assert ask(process, "ping") == {}


def test_work_that_does_not_end_does_not_keep_it(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        line = json.dumps({"jsonrpc": "2.0", "method": "stuck", "params": {}}) + "\n"
        pipe(process.stdin).write(line.encode())
        ask(process, "ping")
        begun = time.monotonic()
        pipe(process.stdin).close()
        assert process.wait(10) == 0
        assert time.monotonic() - begun < 6
