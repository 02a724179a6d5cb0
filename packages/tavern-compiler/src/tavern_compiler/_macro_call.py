"""One call of a macro, with everything its row may ask for.

Owns the way from a row back into the engine. Must not know any macro.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroRegistry.js.
"""

from datetime import datetime
from typing import Protocol

from tavern_compiler._macro_nodes import Node
from tavern_compiler._macro_run import Run
from tavern_compiler._macro_scopes import Scope
from tavern_compiler._macro_source import Source
from tavern_compiler._macro_variables import Store
from tavern_compiler._text import JS_WHITE_SPACE, trim
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.macro_table import Macro


class Text(Protocol):
    """The text that a macro stands in."""

    run: Run
    context: MacroContext

    @property
    def text_hash(self) -> int:
        """Hash of the whole text."""

    def again(self, source: Source) -> str:
        """Expand a text as a whole one."""

    def field(self, name: str) -> str:
        """Expand a field of the card."""

    def original(self) -> str:
        """Take the text that is replaced."""


class Call:
    """What a row is called with: see `MacroCall`."""

    def __init__(
        self, text: Text, source: Source, node: Node, args: tuple[str, ...], scope: Scope | None
    ) -> None:
        """Keep the call and what it stands in."""
        self.args = args
        self.scoped = scope is not None
        self.keeps_blanks = "#" in node.flags
        self._text = text
        self._source = source
        self._node = node
        self._scope = scope

    @property
    def offset_utf16(self) -> int:
        """Where SillyTavern says that it stands."""
        return self._source.utf16_at(self._node.start)

    @property
    def text_hash(self) -> int:
        """Hash of the whole text that is expanded."""
        return self._text.text_hash

    def expand(self, text: str, argument: int | None = None, start: int = 0) -> str:
        """Expand a text as if it were a whole one."""
        source = Source(text, self.offset_utf16, fixed=self._text.run.span)
        at = -1 if argument is None else self._argument_start(argument)
        if at >= 0:
            source.rewriting = self._source.rewriting
            source.start = self._source.start + at + start
        return self._text.again(source)

    def _argument_start(self, index: int) -> int:
        arguments = self._node.arguments
        if index < len(arguments):
            return arguments[index].start
        return self._scope.start if self._scope else -1

    def draw(self) -> float:
        """Draw from the dice."""
        return self._text.run.draw(self._node.name.lower())

    def field(self, name: str) -> str:
        """Give a field of the card."""
        return self._text.field(name)

    def store(self, *, shared: bool) -> Store:
        """Give a store of variables."""
        return self._text.run.store(shared=shared)

    def original(self) -> str:
        """Take the text that is replaced."""
        return self._text.original()

    def spend(self, chars: int) -> None:
        """Count code points against the limit."""
        self._text.run.spend(chars)

    def step(self, count: int) -> None:
        """Count steps against the limit."""
        self._text.run.step(count)

    def now(self) -> datetime:
        """Give the time."""
        return self._text.run.now(self._node.name)

    def find(self, name: str) -> Macro | None:
        """Look up a row."""
        return self._text.run.rows.get(trim(name).lower())


def dedent(text: str) -> str:
    """Take the indent of the first line with a text off every line, and blanks off both ends."""
    lines = text.split("\n")
    first = next((line for line in lines if trim(line)), "")
    indent = _indent(first)
    if indent == 0:
        return trim(text)
    return trim(
        "\n".join(
            line[indent:] if _indent(line) >= indent else line.lstrip(JS_WHITE_SPACE)
            for line in lines
        )
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
