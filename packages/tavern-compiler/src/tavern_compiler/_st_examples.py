"""Example dialogues: a card's text, and lore beside it, taken apart into turns.

Must not know the budget.

Source: SillyTavern 1.19.0, public/script.js (parseMesExamples) and public/scripts/openai.js
(parseExampleIntoIndividual).
"""

from collections.abc import Iterator, Sequence

import regex
from attrs import evolve, field, frozen

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
    state = _State(speakers=speakers, bot=speakers.char)
    # The line that the block's own end leaves is part of the last turn, and trimmed off there.
    lines = f"{block}\n".replace("\r", "").split("\n")
    for line in lines:
        state = state.read(line)
    turns = tuple(state.all_turns())
    unspoken = "" if turns else trim(block.replace("\r", ""))
    return ExampleBlock(messages=turns, unspoken=unspoken, sources=tuple(sources))


@frozen(kw_only=True)
class _State:
    """A block read up to some line."""

    speakers: Speakers
    bot: str
    """Who spoke last for the other side; named in groups."""
    side: str = ""
    lines: tuple[str, ...] = ()
    turns: tuple[ExampleMessage, ...] = field(default=())

    def read(self, line: str) -> "_State":
        """Read one more line."""
        side, bot = self._speaker(line)
        after = self
        if side and self.side and side != self.side:
            after = evolve(self, turns=(*self.turns, self._turn()), lines=())
        return evolve(after, side=side or self.side, bot=bot, lines=(*after.lines, line))

    def _speaker(self, line: str) -> tuple[str, str]:
        names = self.speakers
        if line.startswith(f"{names.user}:"):
            return USER, self.bot
        if line.startswith(f"{names.char}:"):
            return BOT, self.bot
        if any(line.startswith(f"{name}:") for name in names.members or ()):
            return BOT, line.partition(":")[0]
        return "", self.bot

    def _turn(self) -> ExampleMessage:
        name = self.speakers.user if self.side == USER else self.bot
        text = trim("\n".join(self.lines).replace(f"{name}:", "", 1))
        shown = text if self.speakers.members is None else f"{name}: {text}"
        return ExampleMessage(content=shown, name=self.side)

    def all_turns(self) -> Iterator[ExampleMessage]:
        """List the turns, the one that is still open last."""
        yield from self.turns
        if self.side:
            yield self._turn()
