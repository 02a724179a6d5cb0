"""Kills a writer at one of its steps after the other, and looks at what is left each time.

Usage: python crash_child.py FOLDER SCENARIO. Prints one JSON document: the number of steps, and the
states that a reader found. A process of its own, since it forks.
"""

import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tavern_format import CharacterCard, dump_card_png
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.selection import LoreChannel, Selection
from tavern_loader.installation import Installation, open_installation
from tavern_loader.service.reading import SourceFile

CALLS = ("open", "fsync", "replace", "unlink", "mkdir", "close")
CARD = SourceFile(name="Nell.png", data=dump_card_png(CharacterCard(name="Nell")))


class _HalfWriter(io.BufferedWriter):
    """Lets the first half of what is written reach the disk before the next step."""

    def write(self, data: Any) -> int:
        half = len(data) // 2
        super().write(data[:half])
        self.flush()
        step()
        return half + super().write(data[half:])


steps_left = -1
"""Steps until the end; negative: no end."""
steps_made = 0


def step() -> None:
    global steps_left, steps_made  # noqa: PLW0603 - it is counted in the whole process
    steps_made += 1
    steps_left -= 1
    if steps_left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def watch() -> None:
    """Count a step before and after every call that changes something."""

    def stepped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            step()
            result = real(*arguments, **named)
            step()
            return result

        return call

    for name in CALLS:
        setattr(os, name, stepped(getattr(os, name)))
    os.fdopen = lambda handle, _mode: _HalfWriter(io.FileIO(handle, "wb"))  # type: ignore[assignment]


def begin(opened: Installation) -> None:
    """Make the state that every scenario begins with."""
    opened.importing.take(CARD)
    (character,) = opened.stores.characters.ids()
    bound = Selection(character_id=character, lore_channel=LoreChannel.LATE)
    opened.library.set_selection("s1", bound)


def bind(opened: Installation) -> None:
    opened.library.set_selection("s2", Selection(preset_id="p", lore_channel=LoreChannel.LATE))


def take(opened: Installation) -> None:
    opened.importing.take(CARD)


def delete(opened: Installation) -> None:
    (character,) = opened.stores.characters.ids()
    opened.catalog.delete(Kind.CHARACTER, character)


def edit(opened: Installation) -> None:
    (character,) = opened.stores.characters.ids()
    opened.catalog.edit(Kind.CHARACTER, character, {"description": "x" * 10_000})


SCENARIOS: dict[str, Callable[[Installation], None]] = {
    "bind": bind,
    "take": take,
    "delete": delete,
    "edit": edit,
}


def look(root: Path) -> dict[str, Any]:
    """Read everything, as the next process does, and write once more."""
    opened = open_installation(root)
    characters = {
        one: opened.stores.characters.get(one).document for one in opened.stores.characters.ids()
    }
    opened.templates.save("after", Selection())
    return {
        "characters": len(characters),
        "covers": [opened.stores.character_covers.get(one) is not None for one in characters],
        "described": [len(one["data"]["description"]) for one in characters.values()],
        "bound": [opened.library.selection(one).character_id is not None for one in ("s1",)],
        "second": opened.library.has_selection("s2"),
        "channel": str(opened.library.selection("s2").lore_channel),
        "templates": len(opened.templates.all()),
        "damaged": (root / "damaged").exists(),
    }


def run(root: Path, scenario: Callable[[Installation], None], at_step: int) -> bool:
    """Run a scenario in a child that dies at a step; True if it came to its end before."""
    child = os.fork()
    if child == 0:
        opened = open_installation(root)
        watch()
        global steps_left  # noqa: PLW0603 - it is counted in the whole process
        steps_left = at_step
        scenario(opened)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    if os.WEXITSTATUS(status):
        raise RuntimeError(f"the scenario failed at step {at_step}")
    return True


def main(folder: Path, name: str) -> None:
    ready = folder / "ready"
    begin(open_installation(ready))
    seen: list[dict[str, Any]] = []
    at_step = 0
    done = False
    while not done:
        at_step += 1
        root = folder / "now"
        shutil.copytree(ready, root)
        done = run(root, SCENARIOS[name], at_step)
        found = look(root)
        if found not in seen:
            seen.append(found)
        shutil.rmtree(root)
    print(json.dumps({"steps": at_step - 1, "seen": seen}))  # noqa: T201 - the answer of the script


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
