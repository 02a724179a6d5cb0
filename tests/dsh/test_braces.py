"""The host's own renderer takes every text of ours, and changes none."""

import json
import random
import subprocess

from tavern_loader.domain.protection import VARIABLES, protect
from tests.dsh._host import HERE
from tests.dsh._install import Toolbox

PIECES = ("{", "}", "{{", "}}", "{{{", "}}}", "{{user}}", "{{ x }}", "{{a::b}}", "{{}}", "x", "\n")
MORE = (
    *VARIABLES,
    "{{tavern_lb}}",
    "{{cwd}}",
    "龙",
    "\U0001f409",
    "\ud83d",
    "$&",
    "$1",
    "\\",
    "\0",
)
TEXTS = 5000


def render(toolbox: Toolbox, texts: list[str]) -> list[dict[str, str]]:
    variables = {"cwd": "/w", **VARIABLES}
    asked = [{"text": text, "variables": variables} for text in texts]
    renderer = toolbox.packages / "dsh-system-prompt" / "lib" / "index.js"
    done = subprocess.run(
        [str(toolbox.node), str(HERE / "js" / "render.mjs"), str(renderer)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[dict[str, str]] = json.loads(done.stdout)
    return answers


def test_texts_go_through_unchanged(toolbox: Toolbox) -> None:
    draw = random.Random(20261130)  # noqa: S311 (nothing is secret here)
    texts = ["".join(draw.choices((*PIECES, *MORE), k=draw.randrange(1, 12))) for _ in range(TEXTS)]
    answers = render(toolbox, [protect(text) for text in texts])
    assert [one for one in answers if "error" in one] == []
    assert [one["section"] for one in answers] == texts
    assert [one["context"] for one in answers] == texts


def test_without_protection_most_of_them_fail(toolbox: Toolbox) -> None:
    answers = render(toolbox, ["{{user}}", "{{ x }}", "{{{x}}}", "{{}}", "a {{ b", "}} c"])
    assert ["error" in one for one in answers] == [True, True, True, True, False, False]
