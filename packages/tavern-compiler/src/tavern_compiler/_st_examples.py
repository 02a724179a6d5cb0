"""Example dialogues: a card's text, and lore beside it, taken apart into turns.

Must not know the budget.

Source: SillyTavern 1.19.0, public/script.js (parseMesExamples) and public/scripts/openai.js
(parseExampleIntoIndividual).
"""

from collections.abc import Iterable, Iterator, Sequence

import regex
from attrs import frozen

from tavern_compiler._text import trim
from tavern_compiler.st_prompt_inputs import ExampleBlock, ExampleMessage
from tavern_compiler.st_result import MessageSource

START = "<START>"
_SPLIT = regex.compile(START, regex.IGNORECASE)
USER, BOT = "example_user", "example_assistant"


@frozen(kw_only=True)
class Speakers:
    """Whose names begin a turn."""

    user: str
    char: str
    members: tuple[str, ...] | None = None
    """All of the group; None outside of a group."""


def split_blocks(text: str) -> list[str]:
    """Split a text at its `<START>` lines, each block trimmed; a blank block stays."""
    if not text or text == START:
        return []
    if not text.startswith(START):
        text = f"{START}\n{trim(text)}"
    return [trim(block) for block in _SPLIT.split(text)[1:]]


def parse_block(
    block: str, speakers: Speakers, sources: Sequence[MessageSource] = ()
) -> ExampleBlock:
    """Split a block into turns.

    A turn ends only where the other side begins to speak, and lines before the first speaker
    belong to it. Without any speaker there is no turn.
    """
    # The line that the block's own end leaves is part of the last turn, and trimmed off there.
    lines = f"{block}\n".replace("\r", "").split("\n")
    turns = tuple(_turns(lines, speakers))
    unspoken = "" if turns else trim(block.replace("\r", ""))
    return ExampleBlock(messages=turns, unspoken=unspoken, sources=tuple(sources))


def _turns(lines: Iterable[str], speakers: Speakers) -> Iterator[ExampleMessage]:
    said: list[str] = []
    side, bot = "", speakers.char
    for line in lines:
        new_side, bot_now = _speaker(line, speakers, bot)
        if new_side and side and new_side != side:
            yield _turn(said, side, bot, speakers)
            said = []
        side, bot = new_side or side, bot_now
        said.append(line)
    if side:
        yield _turn(said, side, bot, speakers)


def _speaker(line: str, speakers: Speakers, bot: str) -> tuple[str, str]:
    """Say which side begins to speak, if one does, and who speaks for the other side by then."""
    if line.startswith(f"{speakers.user}:"):
        return USER, bot
    if line.startswith(f"{speakers.char}:"):
        return BOT, bot
    if any(line.startswith(f"{name}:") for name in speakers.members or ()):
        return BOT, line.partition(":")[0]
    return "", bot


def _turn(lines: Iterable[str], side: str, bot: str, speakers: Speakers) -> ExampleMessage:
    name = speakers.user if side == USER else bot
    text = trim("\n".join(lines).replace(f"{name}:", "", 1))
    shown = text if speakers.members is None else f"{name}: {text}"
    return ExampleMessage(content=shown, name=side)
