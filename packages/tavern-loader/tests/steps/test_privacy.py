"""No word of an input reaches disk or console, whatever presets, cards and books do with it."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tavern_loader import cli
from tavern_loader.domain.selection import LoreChannel
from tests.step_scene import Generation, ModelSession, StepScene, card, preset, world

SAID = "Zwyvern xquarry {{setvar::smuggled::qlantern}} vharbour"
WORDS = ("zwyvern", "xquarry", "qlantern", "vharbour")
SPOKEN = "{{lastUserMessage}}"
"""What the name stands for in the texts of the tests."""

MACROS: Mapping[str, str] = {
    "variable": "{{setvar::x::SPOKEN}}",
    "variable with dice": "{{setvar::x::SPOKEN {{roll:d100000}}}}",
    "variable that grows": "{{addvar::x::SPOKEN}}",
    "variable of a variable": "{{setvar::x::SPOKEN}}{{setvar::y::<{{getvar::x}}>}}",
    "variable read later": "{{setvar::y::{{getvar::x}}}}{{setvar::x::SPOKEN}}",
    "variable by its sign": "{{.x = SPOKEN}}{{$g = SPOKEN}}{{.y += SPOKEN}}",
    "variable of the last message": "{{setvar::x::{{lastMessage}}}}",
    "variable with dice of the last message": "{{setvar::x::{{lastMessage}} {{roll:d100000}}}}",
    "variable named by it": "{{setvar::SPOKEN::1}}",
    "variable named by it with dice": "{{setvar::SPOKEN::{{roll:d100000}}}}",
    "variable turned around": "{{setvar::x::{{reverse:SPOKEN}}}}",
    "variable under a condition": "{{if SPOKEN}}{{setvar::x::SPOKEN}}{{/if}}",
    "shared variable": "{{setglobalvar::g::SPOKEN}}",
    "shared variable with dice": "{{setglobalvar::g::SPOKEN {{roll:d100000}}}}",
    "shared variable that grows": "{{addglobalvar::g::SPOKEN}}",
    "shared variable named by it": "{{setglobalvar::SPOKEN::1}}",
    "from shared to own": "{{setvar::y::{{getglobalvar::g}}}}{{setglobalvar::g::SPOKEN}}",
    "from own to shared": "{{setglobalvar::h::{{getvar::x}}}}{{setvar::x::SPOKEN}}",
    "macro named by it": "{{SPOKEN}}",
    "macro that takes it": "{{roll:SPOKEN}}{{pick::SPOKEN::b}}{{getvar::SPOKEN}}",
    "macro that cannot take it": "{{user::SPOKEN}}{{incvar::SPOKEN}}{{time_UTCSPOKEN}}",
    "comment": "{{// SPOKEN}}a",
}

ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "content": {"content": "SPOKEN{{setvar::l::SPOKEN {{roll:d100000}}}}"},
    "key": {"key": ["SPOKEN"], "content": "found", "sticky": 2, "cooldown": 2},
    "secondary key": {"key": ["a"], "keysecondary": ["SPOKEN"], "selective": True},
    "pattern": {"key": ["/SPOKEN/i", "/(SPOKEN/", "/(?<=SPOKEN*)/"], "content": "found"},
    "title": {"comment": "SPOKEN", "content": "found"},
    "group": {"group": "SPOKEN", "content": "found", "probability": 50, "useProbability": True},
    "outlet": {"position": 7, "outletName": "SPOKEN", "content": "SPOKEN"},
    "depth": {"position": 4, "depth": 2, "content": "SPOKEN"},
    "decorator": {"content": "@@activate SPOKEN\nSPOKEN"},
}


def asking(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Put the macro for the input into the texts of a resource."""
    written: dict[str, Any] = json.loads(json.dumps(resource).replace("SPOKEN", SPOKEN))
    return written


def kept_and_told(scene: StepScene, capfd: pytest.CaptureFixture[str]) -> str:
    """Read every file below the home, names included, and what was printed."""
    scene.settle()
    names = "\n".join(str(path.relative_to(scene.home)) for path in scene.home.rglob("*"))
    return "\n".join((scene.kept_texts(), names, *capfd.readouterr()))


def spoken_words(text: str) -> list[str]:
    """Find words of the input: as they are, turned around, in base64, or as escapes."""
    plain = text.casefold()
    forms: tuple[Callable[[str], str], ...] = (
        lambda word: word,
        lambda word: word[::-1],
        lambda word: base64.b64encode(word.encode()).decode().casefold()[:8],
        lambda word: "".join(f"\\u{ord(char):04x}" for char in word),
    )
    return [word for word in WORDS if any(form(word) in plain for form in forms)]


def talk(scene: StepScene, capfd: pytest.CaptureFixture[str]) -> Iterator[str]:
    """Let sessions speak, step after step, and give what is kept after each."""
    one = scene.session("one", generation=Generation.MESSAGE)
    one.insert(SAID)
    one.begin_turn()
    for _ in range(3):
        one.take_step()
        yield kept_and_told(scene, capfd)
    one.end_turn()
    other = scene.session("other").say("Nothing.").say("Nothing more.")
    yield kept_and_told(scene, capfd)
    one.say("And then?")
    fork = one.fork("fork", one.seq).say("Go on.")
    yield kept_and_told(scene, capfd)
    interrupted(fork)
    for session in (one, other, fork):
        scene.call("session/end", sessionId=session.id)
    yield kept_and_told(scene, capfd)
    scene.restart()
    for session in (one, other):
        session.open("resume")
        session.say("Hello again.")
    scene.call("shutdown")
    yield kept_and_told(scene, capfd)


def interrupted(session: ModelSession) -> None:
    """Say it in steps that end in every other way."""
    scene = session.scene
    session.insert(SAID)
    session.begin_turn()
    session.assemble()
    early = session.fork("early", session.seq)  # nobody has looked at the step's variables yet
    session.enter()
    session.assemble()  # the step before was never sent
    session.enter()
    session.request()
    failure = {"code": "HTTP_400", "message": f"temperature is invalid: {SAID}", "status": 400}
    place = {"turn": session.turn, "step": session.step}
    config = {"provider": "p", "model": "m"}
    scene.call("request", session=session.facts, config=config, refused=failure, **place)
    scene.call("request-error", session=session.facts, failure=failure, retry=False, **place)
    scene.call("agent-error", session=session.facts, error={"message": SAID})
    arguments = {"command": SAID}
    scene.call("tool", session=session.facts, name="bash", arguments=arguments)
    session.end_turn(kind="error", error={"code": "X", "message": SAID})
    early.say("Go.")


@pytest.mark.parametrize("name", MACROS)
def test_no_word_is_kept_by_a_macro(
    scene: StepScene, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    prompt = {"identifier": "tells", "content": f"[{MACROS[name]}]SPOKEN"}
    scene.bind(preset_id=scene.add(asking(preset(prompt))), character_id=scene.add(card()))
    assert [spoken_words(kept) for kept in talk(scene, capfd)] == [[]] * 7


@pytest.mark.parametrize("name", ENTRIES)
def test_no_word_is_kept_by_an_entry(
    scene: StepScene, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    entry = {"constant": "key" not in ENTRIES[name], **ENTRIES[name]}
    book = scene.add(asking(world(entry)))
    scene.bind(world_book_ids=(book,), lore_channel=LoreChannel.LATE)
    assert [spoken_words(kept) for kept in talk(scene, capfd)] == [[]] * 7


@pytest.mark.parametrize("number", range(8))
def test_no_word_is_kept_by_many_together(
    scene: StepScene, capfd: pytest.CaptureFixture[str], number: int
) -> None:
    macros, entries = list(MACROS.values()), list(ENTRIES.values())
    prompts = [
        {"identifier": f"p{at}", "content": macros[(number * 7 + at * 5) % len(macros)]}
        for at in range(6)
    ]
    book = [{"constant": True, **entries[(number + at) % len(entries)]} for at in range(3)]
    scene.bind(
        preset_id=scene.add(asking(preset(*prompts))),
        world_book_ids=(scene.add(asking(world(*book))),),
    )
    assert [spoken_words(kept) for kept in talk(scene, capfd)] == [[]] * 7


def test_no_word_is_kept_by_what_else_has_macros(
    scene: StepScene, capfd: pytest.CaptureFixture[str]
) -> None:
    script = {
        "scriptName": "SPOKEN",
        "findRegex": "/.+/",
        "replaceString": "{{setvar::s::SPOKEN}}$&",
        "placement": [1, 2, 3, 5],
        "promptOnly": True,
    }
    prompt = {"identifier": "main", "name": "SPOKEN", "content": "SPOKEN", "role": "system"}
    extensions = {"regex_scripts": [script]}
    fields = ("description", "personality", "scenario", "mes_example", "first_mes", "system_prompt")
    texts = {field: f"SPOKEN{{{{setvar::{field}::SPOKEN}}}}" for field in fields}
    asked = preset(prompt, stop=["SPOKEN"], temperature=2, extensions=extensions)
    scene.bind(
        preset_id=scene.add(asking(asked)),
        character_id=scene.add(asking(card(**texts, extensions=extensions))),
    )
    assert [spoken_words(kept) for kept in talk(scene, capfd)] == [[]] * 7


def test_no_word_is_kept_where_the_compile_without_it_fails(
    scene: StepScene, capfd: pytest.CaptureFixture[str]
) -> None:
    scene.config = {"limits": {"maxProfileBytes": 4096}}
    scene.restart()
    long = f"{{{{if SPOKEN}}}}short{{{{else}}}}{'long ' * 1000}{{{{/if}}}}"
    prompt = {"identifier": "tells", "content": f"{{{{setvar::x::SPOKEN}}}}{long}"}
    scene.bind(preset_id=scene.add(asking(preset(prompt))))
    assert [spoken_words(kept) for kept in talk(scene, capfd)] == [[]] * 7


def test_no_word_is_kept_of_an_input_that_nobody_has_sent(
    scene: StepScene, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "".join(MACROS.values())
    scene.bind(preset_id=scene.add(asking(preset({"identifier": "tells", "content": text}))))
    asked = ["active", "--session", "one", "--input", SAID, "--dsh-home", str(scene.home)]
    assert cli.main(asked) == 0
    assert spoken_words(capfd.readouterr().out) != []
    assert spoken_words(scene.kept_texts()) == []


def test_what_is_made_of_no_input_is_kept_all_the_same(scene: StepScene, tmp_path: Path) -> None:
    text = "{{incvar::n}}{{setvar::x::SPOKEN}}{{setglobalvar::g::yes}}"
    scene.bind(preset_id=scene.add(asking(preset({"identifier": "n", "content": text}))))
    session = scene.session()
    session.insert(SAID)
    session.begin_turn()
    session.take_step()
    session.take_step()
    session.end_turn()
    kept = json.loads(next(tmp_path.rglob("loader-memories/*.json")).read_text())
    assert [one["variables"] for one in kept["checkpoints"]] == [{"n": 1}, {"n": 2}]
    shared = json.loads(next(tmp_path.rglob("loader-variables.json")).read_text())
    assert shared["variables"] == {"g": "yes"}
