"""What the plugin costs: `nox -s dsh -- figures`. With the host alone beside it, in one run.

Prints Markdown: the time it adds to an assembly by size of the world book, the time it adds to a
start, the memory of Python over many steps, and whether sessions beside each other keep apart.
"""

# ruff: noqa: T201 (it prints what it measured)

import json
import platform
import random
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.dsh._host import DRIVEN, PS, Driven, Home
from tests.dsh._install import VERSION, bring
from tests.dsh._model import Model

SIZES = (100, 1000, 10_000)
STEPS = 60
WARM_STEPS = 5
STARTS = 9
MEMORY_STEPS = (100, 400, 700, 1000)
STEPS_A_SESSION = 50
SESSIONS = 200
VOCABULARY = 4000
WORDS_A_MESSAGE = 120
SEED = 20261130


def main() -> None:
    """Measure everything, one after another."""
    toolbox = bring()
    with tempfile.TemporaryDirectory() as folder, Model() as model:
        homes = iter(
            Home(toolbox, _made(Path(folder) / f"home-{number}"), model) for number in range(10)
        )
        python, node = platform.python_version(), _node_version(next(homes))
        print(f"DSH {VERSION}, Node {node}, Python {python}, {platform.machine()}\n")
        _assemblies(homes)
        _starts(next(homes))
        _memory(next(homes))
        _crowd(next(homes))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _node_version(home: Home) -> str:
    return home.run([str(home.toolbox.node), "--version"]).output.strip().removeprefix("v")


# --- time of an assembly ---------------------------------------------------------------------


def _assemblies(homes: Iterator[Home]) -> None:
    print("| assembly | p50 ms | p95 ms | added p50 | added p95 |\n|---|---|---|---|---|")
    bare = _quantiles(_timed(next(homes), None))
    print(f"| the host alone | {bare[0]:.1f} | {bare[1]:.1f} | | |")
    for size in SIZES:
        found = _quantiles(_timed(next(homes), size))
        added = (found[0] - bare[0], found[1] - bare[1])
        print(
            f"| {size:,} entries | {found[0]:.1f} | {found[1]:.1f}"
            f" | {added[0]:.1f} | {added[1]:.1f} |"
        )


def _timed(home: Home, size: int | None) -> list[float]:
    """Time the assemblies of one chat that grows; without a size, of the host alone."""
    with _running(home, size) as host:
        draw = random.Random(SEED)  # noqa: S311 (nothing is secret here)
        session = host.session("measured")
        for _ in range(WARM_STEPS):
            host.step(session, _message(draw))
        host.do("watch")
        for _ in range(STEPS):
            host.step(session, _message(draw))
        timings: list[float] = host.do("timed")
    return timings


@contextmanager
def _running(home: Home, size: int | None) -> Iterator[Driven]:
    home.install(DRIVEN)
    if size is None:
        home.loader("uninstall", "--profile", DRIVEN)
    else:
        _fill(home, size)
    home.add_driver()
    with home.driven() as host:
        yield host


def _fill(home: Home, size: int) -> None:
    """Keep a world book, and let all sessions begin with it."""
    path = home.folder / "book.json"
    path.write_text(json.dumps(_book(size)), encoding="utf-8")
    for arguments in (
        ("import", "--name", "Measured", str(path)),
        ("bind", "--default", "--world-book", "Measured"),
    ):
        ran = home.loader(*arguments)
        assert ran.code == 0, ran.errors


def _book(size: int) -> dict[str, object]:
    """Make a book of whose entries about one in ten is spoken of, whatever its size."""
    draw = random.Random(size)  # noqa: S311 (nothing is secret here)
    entries = {}
    for uid in range(size):
        spoken = draw.random() < 0.1
        first = _word(draw.randrange(VOCABULARY)) if spoken else f"unsaid{uid}"
        keys = [first, f"never{uid}", f"nobody {uid}"]
        text = f"Entry {uid} tells of {first}, and of nothing else."
        entries[str(uid)] = {"uid": uid, "key": keys, "content": text, "order": uid % 100}
    return {"name": "Measured", "entries": entries}


def _message(draw: random.Random) -> str:
    return " ".join(_word(draw.randrange(VOCABULARY)) for _ in range(WORDS_A_MESSAGE)) + "."


def _word(number: int) -> str:
    """Make a word for a number, as long as words are."""
    syllables = ("ka", "lo", "mi", "ne", "ru", "sa", "ti", "vo", "xe", "yu")
    return "".join(syllables[int(digit)] for digit in f"{number:04}")


def _quantiles(values: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(values, n=20)
    return statistics.median(values), cuts[18]


# --- start, memory, many at once -------------------------------------------------------------


def _starts(home: Home) -> None:
    """Time whole runs of one task, by turns without and with the plugin."""
    _fill(home, 1000)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    home.headless("warm")
    for number in range(2 * STARTS):
        installed = bool(number % 2)
        if installed:
            home.install("headless")
        else:
            home.loader("uninstall", "--profile", "headless")
        ran = home.headless("hello")
        assert ran.code == 0, ran.errors
        seconds[installed].append(ran.seconds)
    alone, both = (statistics.median(seconds[key]) for key in (False, True))
    least = min(seconds[True]) - min(seconds[False])
    print(f"\nOne headless task: {alone:.2f} s, with the plugin {both:.2f} s (+{both - alone:.2f};")
    print(f"+{least:.2f} between the shortest, when the machine had least else to do).")


def _memory(home: Home) -> None:
    with _running(home, 1000) as host:
        draw = random.Random(SEED)  # noqa: S311 (nothing is secret here)
        sizes = []
        for number in range(MEMORY_STEPS[-1] + 1):
            session = f"memory-{number // STEPS_A_SESSION}"
            if number % STEPS_A_SESSION == 0:
                host.session(session)
            host.step(session, _message(draw))
            if number in MEMORY_STEPS:
                sizes.append(f"{_resident_mib(host.children()[0]):.0f} MiB after {number:,}")
    print(f"\nPython, steps of {STEPS_A_SESSION} a session: {', '.join(sizes)}.")


def _resident_mib(pid: int) -> float:
    command = [PS, "-o", "rss=", "-p", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def _crowd(home: Home) -> None:
    """Let many sessions speak at once, each of another entry."""
    path = home.folder / "book.json"
    entries = {
        str(number): {"uid": number, "key": [f"word{number}q"], "content": f"Only <{number}>."}
        for number in range(SESSIONS)
    }
    path.write_text(json.dumps({"name": "Measured", "entries": entries}), encoding="utf-8")
    home.loader("import", "--name", "Measured", str(path))
    home.loader("bind", "--default", "--world-book", "Measured")
    home.install(DRIVEN)
    home.add_driver()
    with home.driven() as host:
        names = [host.session(f"crowd-{number}") for number in range(SESSIONS)]
        waiting = [
            host.begin("say", session=name, text=f"word{number}q")
            for number, name in enumerate(names)
        ]
        ended = [one.result(300) for one in waiting]
        systems = [host.home.model.steps_of(name)[0].system for name in names]
    right = sum(
        one == {"kind": "completed"} and f"<{number}>" in system and system.count("Only <") == 1
        for number, (one, system) in enumerate(zip(ended, systems, strict=True))
    )
    print(f"\n{SESSIONS} sessions at once: {right} got their own text and nobody else's.")


if __name__ == "__main__":
    main()
