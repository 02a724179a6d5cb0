"""One call of each public function of the four pure packages, and calls that do have effects.

Prints, as JSON, the effects of each: `python -m tests._effects_calls`. A function that is added to
a package is one row in CALLS; its name is the key. What comes lazily must be used up in the row.
"""

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import tavern_format as fmt
from tests._effects_watch import Watch

Calls = Mapping[str, Callable[[], object]]

BOOK = b'{"entries": {"0": {"uid": 0, "key": ["storm"], "content": "Rain."}}}'

CALLS: Calls = {
    "tavern_format.parse_world_book": lambda: fmt.parse_world_book(BOOK),
}

PLANTED: Calls = {
    "open": lambda: Path(__file__).read_bytes(),
    "os.scandir": lambda: list(os.scandir()),
    "os.urandom": lambda: os.urandom(1),
    "os.getenv": lambda: os.getenv("HOME"),
    "print": lambda: print(end=" "),  # noqa: T201
    "random.random": lambda: random.random() + 1,  # noqa: S311
    "socket.__new__": lambda: socket.socket().close(),
    "subprocess.Popen": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    "time.time": lambda: time.time() + 1,
}
"""Each has at least the effect that is its key."""


if __name__ == "__main__":
    watch = Watch()
    found = {
        table: {name: watch.effects(call) for name, call in calls.items()}
        for table, calls in {"calls": CALLS, "planted": PLANTED}.items()
    }
    print(json.dumps(found))  # noqa: T201
