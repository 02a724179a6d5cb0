"""What a macro is: one row of a table, with the function that gives its value.

Owns the shape of a row, of its parameters and of a call. Must not know any macro by name.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroRegistry.js.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from attrs import frozen

from tavern_compiler._js_number import to_number
from tavern_compiler._macro_variables import Store
from tavern_compiler._text import trim
from tavern_compiler.macro_context import MacroContext


class ValueType(StrEnum):
    """What an argument must read as."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"


_INTEGER = re.compile(r"-?[0-9]+")
_BOOLEANS = frozenset({"on", "true", "1", "off", "false", "0"})
_READS_AS: Mapping[ValueType, Callable[[str], bool]] = {
    ValueType.STRING: lambda _: True,
    ValueType.INTEGER: lambda text: _INTEGER.fullmatch(trim(text)) is not None,
    ValueType.NUMBER: lambda text: math.isfinite(to_number(text)),
    ValueType.BOOLEAN: lambda text: trim(text).lower() in _BOOLEANS,
}


@frozen
class Parameter:
    """One argument of a macro."""

    name: str
    optional: bool = False
    types: tuple[ValueType, ...] = (ValueType.STRING,)

    def takes(self, text: str) -> bool:
        """Tell whether a text reads as one of the types."""
        return any(_READS_AS[kind](text) for kind in self.types)


class MacroCall(Protocol):
    """One call of a macro, as its row sees it."""

    @property
    def args(self) -> tuple[str, ...]:
        """Arguments, expanded already unless the row is lazy; a list macro gets its items."""

    @property
    def scoped(self) -> bool:
        """Whether the last argument stood between an opening and a closing tag."""

    @property
    def keeps_blanks(self) -> bool:
        """Whether the flag `#` is set."""

    @property
    def offset_utf16(self) -> int:
        """Where SillyTavern says that it stands, in UTF-16 units."""

    @property
    def text_hash(self) -> int:
        """The hash of the whole text that is expanded."""

    def expand(self, text: str, argument: int | None = None, start: int = 0) -> str:
        """Expand a text, with everything that is done to a whole one.

        `argument` and the start of the text in it tell where it stands; spans need that only.
        """

    def now(self) -> datetime:
        """Give the time. Raises MacroError where there is none."""

    def draw(self) -> float:
        """Draw from the dice. Raises MacroError where there are none."""

    def field(self, name: str) -> str:
        """Give a field of the card or the persona, expanded."""

    def store(self, *, shared: bool) -> Store:
        """Give the variables of the user (shared) or of the chat."""

    def original(self) -> str:
        """Take the text that is replaced. Raises MacroRefusal where there is none."""

    def spend(self, chars: int) -> None:
        """Count code points against the limit. Raises MacroRefusal beyond it."""

    def step(self, count: int) -> None:
        """Count steps against the limit. Raises MacroRefusal beyond it."""

    def find(self, name: str) -> "Macro | None":
        """Look up a row by name or alias."""


Value = Callable[[MacroCall, MacroContext], object]
"""Gives text, or a JSON value that becomes one; raises MacroRefusal to leave the macro as it is."""


@frozen(kw_only=True)
class Macro:
    """One row of the table."""

    name: str
    value: Value
    aliases: tuple[str, ...] = ()
    hidden_aliases: tuple[str, ...] = ()
    """Understood, but not to be offered."""
    parameters: tuple[Parameter, ...] = ()
    takes_list: bool = False
    """Whether any number of arguments may follow."""
    lazy: bool = False
    """Whether the row expands its arguments itself."""
    returns: tuple[ValueType, ...] = (ValueType.STRING,)
    field: str | None = None
    """The field it renders, under its name in parts; `persona` is the user's description."""
    draws: bool = False
    """Whether it needs dice."""
    reads_clock: bool = False

    @property
    def min_arguments(self) -> int:
        """How many arguments it needs."""
        return sum(not parameter.optional for parameter in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """Give the name and all aliases."""
        return (self.name, *self.aliases, *self.hidden_aliases)

    def takes(self, count: int) -> bool:
        """Tell whether a number of arguments is right."""
        if not count and not self.parameters:
            return True
        return count >= self.min_arguments and (self.takes_list or count <= len(self.parameters))

    def takes_scope(self, count: int) -> bool:
        """Tell whether a text between tags may be one more argument than there are."""
        return not self.takes_list and self.takes(count + 1)


Rows = Mapping[str, Macro]


def rows_by_name(macros: Iterable[Macro]) -> Rows:
    """Index rows by lower-cased name and alias; later rows win."""
    return {name.lower(): macro for macro in macros for name in macro.names}
