"""How fast a compile is, against fast-tavern and, where its source is given, the JavaScript plugin.

Run as a script: `python bench_compile.py [FOLDER]`. FOLDER, or else TAVERN_DATA, holds
`default_Seraphina.png`, `Eldoria.json` and `openai-Default.json` of SillyTavern; without it the
sample set of tavern-loader stands in. TAVERN_PLUGIN is a folder with the plugin's source, which
runs under Node. Everybody compiles the same; the medians of one process run are compared. Exit
status 1 when a target is missed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from attrs import evolve, frozen

from tavern_compiler import (
    CompileInput,
    CompileProfile,
    LoreChannel,
    LoreEntry,
    Profile,
    User,
    compile_profile,
    diff,
)
from tavern_format import (
    CharacterCard,
    Position,
    Preset,
    WorldBook,
    card_to_json,
    parse_card,
    parse_preset,
    parse_world_book,
)
from tavern_matcher import (
    SHIPPED_SETTINGS,
    Index,
    MatchResult,
    NamedBook,
    ScanCache,
    ScanContext,
    ScanMessage,
    SeededDice,
    compile_index,
    match,
)

# It brings no types, and is there only where the benchmarks run.
fast_tavern: Any = import_module("fast_tavern")

MESSAGES = 40
MOST_MS = 2.0
"""Match and compile of a real card, book and preset."""
ROUNDS = 100
SIZES = (10, 100, 1000, 4096)
ACCEPTED = 957
"""Entries that fire of 10,000 in the book on which the plugin was measured."""
HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "tavern-loader" / "src" / "tavern_loader" / "samples"
REAL = ("default_Seraphina.png", "Eldoria.json", "openai-Default.json")
SHIPPED = ("ferry.card.json", "ferry.world.json", "ferry.preset.json")


@frozen
class Scene:
    """A card, a book and a preset, parsed and indexed, and a chat."""

    name: str
    card: CharacterCard
    book: WorldBook
    preset: Preset
    index: Index
    context: ScanContext
    raw_book: Mapping[str, Any]
    raw_preset: Mapping[str, Any]


def scene_of(folder: Path | None) -> Scene:
    """Read the files; the chat names the keys of the book in turn."""
    names, base = (SHIPPED, SAMPLES) if folder is None else (REAL, folder)
    card_data, book_data, preset_data = ((base / name).read_bytes() for name in names)
    book = parse_world_book(book_data).value
    keys = [key for entry in book.entries for key in entry.keys]
    texts = [
        f"We walked on through the evening, and somebody spoke of {keys[3 * at % len(keys)]}. "
        + "Nothing else was said for a while, and the lamps went out one after the other. " * 3
        for at in range(MESSAGES)
    ]
    messages = tuple(
        ScanMessage(identity=str(at), speaker=("User", "Other")[at % 2], text=text)
        for at, text in enumerate(texts)
    )
    return Scene(
        name=", ".join(names),
        card=parse_card(card_data).value,
        book=book,
        preset=parse_preset(preset_data).value,
        index=compile_index([NamedBook(name="book", book=book)], SHIPPED_SETTINGS),
        context=ScanContext(messages=messages, context_size_tokens=8000),
        raw_book=json.loads(book_data),
        raw_preset=json.loads(preset_data),
    )


def timed(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Give the median of some rounds, in milliseconds."""
    return median(_samples(action, rounds))


def _samples(action: Callable[[], object], rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        start = perf_counter()
        action()
        yield (perf_counter() - start) * 1e3


_TURN = "match and compile, one new message"
_PEER = "fast-tavern's build_prompt"


# --- the real shape ---------------------------------------------------------------------------


def show_scene(scene: Scene) -> Iterator[str]:
    """Time match and compile of a whole scene; gives what is missed."""
    user = User(name="User", description="A courier who came by the river.")

    def scan(cache: ScanCache, context: ScanContext = scene.context) -> MatchResult:
        return match(scene.index, context, dice=SeededDice("bench"), cache=cache)

    def primed() -> ScanCache:
        cache = ScanCache()
        scan(cache, evolve(scene.context, messages=scene.context.messages[:-1]))
        return cache

    def build(found: MatchResult) -> Profile:
        given = CompileInput(preset=scene.preset, character=scene.card, user=user, match=found)
        return compile_profile(given)

    found = scan(ScanCache())
    profile = build(found)
    params = fast_tavern_params(scene)
    actions: Mapping[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
        _TURN: (primed, lambda cache: build(scan(cache))),
        "the same, no message seen before": (ScanCache, lambda cache: build(scan(cache))),
        "compile alone": (lambda: found, build),
        "its fingerprint": (lambda: profile, lambda done: done.fingerprint),
        _PEER: (lambda: params, fast_tavern.build_prompt),
    }
    rows: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, (prepare, action) in actions.items():
            given = prepare()
            start = perf_counter()
            action(given)
            rows[name].append((perf_counter() - start) * 1e3)
    times = {name: median(taken) for name, taken in rows.items()}
    print(f"{scene.name}; {MESSAGES} messages, {len(profile.active_lore)} entries fire,")
    print(f"  {len(profile.parts)} parts, {profile.size_utf8_bytes:,} bytes")
    for name, taken in times.items():
        print(f"  {name:36} {taken:8.3f} ms {taken / times[_TURN]:6.2f}x", flush=True)
    if times[_TURN] > MOST_MS:
        yield f"match and compile take {times[_TURN]:.2f} ms, not {MOST_MS} ms"
    if times[_PEER] < times[_TURN]:
        yield "fast-tavern is faster"


def fast_tavern_params(scene: Scene) -> dict[str, Any]:
    """Give fast-tavern the same; what it leaves out, it need not do."""
    card = card_to_json(scene.card)
    return {
        "preset": fast_tavern.convert_preset_from_silly_tavern(dict(scene.raw_preset)),
        "character": fast_tavern.convert_character_from_silly_tavern(card),
        "globals": {
            "worldBooks": [fast_tavern.convert_worldbook_from_silly_tavern(dict(scene.raw_book))]
        },
        "history": [
            {"role": "user" if at % 2 == 0 else "model", "content": message.text}
            for at, message in enumerate(scene.context.messages)
        ],
        "macros": {"user": "User"},
        "view": "model",
        "options": {"rng": lambda: 0.5, "recentHistoryForWorldbook": 2},
    }


# --- much lore --------------------------------------------------------------------------------


def lore_of(count: int, tail: str = "") -> tuple[LoreEntry, ...]:
    return tuple(
        LoreEntry(
            book="book",
            uid=str(uid),
            content=f"What is to be known about number {uid}. " * 3 + tail,
            position=(Position.BEFORE, Position.AFTER)[uid % 2],
            order=uid % 200,
        )
        for uid in range(count)
    )


def show_growth() -> None:
    """Show that cost grows with parts and text, and not faster."""
    card = CharacterCard(name="Maren", description="{{char}} runs the ferry.")
    tails = {"plain": "", "one macro each": "{{char}}", "over the limit": ""}
    print("entries of lore: compile in ms (microseconds an entry), median")
    print("         " + "".join(f"{name:>24}" for name in tails))
    for size in SIZES:
        line = f"  {size:>7,}"
        for name, tail in tails.items():
            lore = lore_of(size, tail)
            most = 60 * size if name == "over the limit" else 2 * 1024 * 1024
            given = CompileInput(character=card, lore=lore, max_profile_bytes=most)
            taken = timed(lambda given=given: compile_profile(given), 15)  # type: ignore[misc]
            line += f"{taken:>13.2f} ({taken * 1e3 / size:>6.1f})"
        print(line, flush=True)


def show_prefix() -> None:
    """Show what a new entry leaves of the text in front of it, in both channels."""
    card = CharacterCard(name="Maren", description="{{char}} runs the ferry. " * 80)
    lore = lore_of(20)
    print("one of 20 entries is another: bytes at the head that stay")
    for channel in LoreChannel:
        preset = parse_preset(
            b'{"prompts": [{"identifier": "worldInfoBefore", "marker": true, "enabled": true},'
            b' {"identifier": "charDescription", "marker": true, "enabled": true}]}'
        ).value
        before, after = (
            compile_profile(
                CompileInput(preset=preset, character=card, lore=some, lore_channel=channel)
            )
            for some in (lore[:-1], lore[1:])
        )
        changes = diff(before, after)
        stays = changes.common_prefix_bytes
        print(f"  {channel:8} {stays:>6,} of {changes.previous_bytes:,}", flush=True)


# --- the plugin -------------------------------------------------------------------------------


def show_plugin() -> Iterator[str]:
    """Compare with the plugin on the lore that fires of a book of 10,000 entries."""
    folder, node = os.environ.get("TAVERN_PLUGIN"), shutil.which("node")
    if not folder or not node:
        print("the plugin: TAVERN_PLUGIN names no folder with its source, or Node is not there")
        return
    print(f"{ACCEPTED} entries of lore, median ms: this package, profile dsh-tavern | the plugin")
    for name, tail in (("plain", ""), ("one macro each", "{{char}}")):
        lore = lore_of(ACCEPTED, tail)
        theirs = _plugin(node, folder, lore)
        card = CharacterCard(name="Maren", description="{{char}} runs the ferry.")
        given = CompileInput(character=card, lore=lore, profile=CompileProfile.DSH_TAVERN)
        assert compile_profile(given).system_text == theirs["text"], "the texts differ"
        ours = timed(lambda given=given: compile_profile(given), 30)  # type: ignore[misc]
        plugin = median(theirs["samples"])
        first = theirs["samples"][0]
        print(f"  {name:16} {ours:8.2f} | {plugin:8.2f}, first {first:8.2f}  {plugin / ours:6.2f}x")
    yield from ()


def _plugin(node: str, folder: str, lore: tuple[LoreEntry, ...]) -> dict[str, Any]:
    given = {
        "character": {
            "id": "c", "name": "Maren",
            "data": {"name": "Maren", "description": "{{char}} runs the ferry."},
        },
        "loreEntries": [
            {
                "resourceId": one.book, "id": one.qualified_id, "uid": int(one.uid or 0),
                "content": one.content,
                "position": "before" if one.position is Position.BEFORE else "after",
            }
            for one in lore
        ],
    }  # fmt: skip
    command = [node, str(HERE / "_plugin.mjs"), folder]
    request = json.dumps({"input": given, "rounds": 30, "warmup": 0})
    run = subprocess.run(command, input=request, capture_output=True, text=True, check=True)  # noqa: S603
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def main() -> int:
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TAVERN_DATA")
    missed = list(show_scene(scene_of(Path(folder) if folder else None)))
    show_growth()
    show_prefix()
    missed += show_plugin()
    for name in missed:
        print(f"MISSED: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
