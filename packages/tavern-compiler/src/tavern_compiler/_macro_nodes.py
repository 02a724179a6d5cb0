"""What the parser makes of a text: macros with the places of their arguments.

Plain values; all offsets are code points of the text that was parsed, ends are exclusive.
"""

from attrs import define, field


@define
class Argument:
    """One argument, without the blanks around it."""

    start: int = -1
    """Negative: there is nothing in it."""
    end: int = -1
    first_sign: int = -1
    """Where its first token stands that is not a macro; negative: there is none."""

    def cover(self, start: int, end: int) -> None:
        """Stretch the argument over a token or a macro."""
        if self.start < 0:
            self.start = start
        self.end = max(self.end, end)


@define
class Value:
    """What stands right of an operator."""

    start: int = -1
    end: int = -1
    macros: "list[Node]" = field(factory=list)

    def cover(self, start: int, end: int) -> None:
        """Stretch the value over a token or a macro."""
        if self.start < 0:
            self.start = start
        self.end = max(self.end, end)


@define
class Variable:
    """A variable in shorthand."""

    is_global: bool
    name: str = ""
    operator: str = ""
    value: Value | None = None


@define
class Node:
    """One `{{...}}`, complete or not."""

    start: int
    reach: int
    """End of the last token that belongs to it."""
    end: int | None = None
    """Behind the closing braces; None where they are missing."""
    assumed_end: bool = False
    """Whether the closing braces are missing and were taken as read."""
    flags: str = ""
    name: str = ""
    arguments: list[Argument] = field(factory=list)
    variable: Variable | None = None
    nested: "list[Node]" = field(factory=list)
    """Macros right inside it, in their order."""
    height: int = 1
    """How many macros are inside each other, it among them."""

    @property
    def complete(self) -> bool:
        """Whether it can be executed."""
        return self.end is not None
