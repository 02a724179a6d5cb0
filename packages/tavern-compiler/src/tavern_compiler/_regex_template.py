"""What stands for a match: the replacement cut into literal text and references.

Owns SillyTavern's own references, which are not JavaScript's: `{{match}}`, `$1`, `$<name>`. Must
not know macros.

Source: SillyTavern 1.19.0, public/scripts/extensions/regex/engine.js (runRegexScript).
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from attrs import define, field, frozen

from tavern_compiler._text import utf16_length
from tavern_matcher import BoundedPattern

_MATCH = re.compile(r"\{\{match\}\}", re.IGNORECASE | re.ASCII)
_REFERENCE = re.compile(r"\$(?P<number>[0-9]+)|\$<(?P<name>[^>]+)>")
_MAX_DIGITS = 9
_NOWHERE = (-1, -1)


class Group(NamedTuple):
    """A reference by number or by name."""

    number: int
    """-1 where it is by name, or where the number is beyond any."""
    name: str = ""


class NotTextError(Exception):
    """A reference leads to something that is no text, where SillyTavern stops with an error."""


def read_template(text: str) -> tuple[str | Group, ...]:
    """Cut a replacement; a number takes all digits there are."""
    return tuple(_pieces(_MATCH.sub("$0", text)))


def _pieces(text: str) -> Iterator[str | Group]:
    copied = 0
    for found in _REFERENCE.finditer(text):
        if found.start() > copied:
            yield text[copied : found.start()]
        copied = found.end()
        digits = (found["number"] or "").lstrip("0")
        if found["name"]:
            yield Group(-1, found["name"])
        else:
            yield Group(int(digits or "0") if len(digits) <= _MAX_DIGITS else -1)
    if copied < len(text):
        yield text[copied:]


@frozen
class Whole:
    """A text that was searched."""

    subject: str
    group_count: int
    names: Mapping[str, int]
    trims: bool
    """Whether the script trims what it inserts."""

    @classmethod
    def of(cls, pattern: BoundedPattern, subject: str, *, trims: bool) -> "Whole":
        """Take what references need of a pattern."""
        return cls(subject, pattern.group_count, dict(pattern.group_names), trims)


@define
class Match:
    """One match in a text, asked for what references stand for.

    SillyTavern hands on what JavaScript tells a callback: behind the groups come the place of the
    match, the whole text and, where there are names, an object.
    """

    whole: Whole
    _offsets: tuple[int, int] = (0, 0)
    """The last place in the subject and in UTF-16 units: the next one is behind it."""
    spans: tuple[tuple[int, int], ...] = field(factory=tuple, init=False)

    def value(self, group: Group) -> str:
        """Give the text of a reference, in the subject's form. Raises NotTextError."""
        whole = self.whole
        number = whole.names.get(group.name, -1) if group.name else group.number
        if number <= whole.group_count:
            return self._part(number)
        behind = number - whole.group_count
        if behind == 1:
            return self._offset()
        if behind == 2:  # noqa: PLR2004 - the argument behind the offset
            return whole.subject
        if whole.names and behind == 3:  # noqa: PLR2004 - and the one behind that
            raise NotTextError("it refers to all named groups at once")
        return ""

    def _part(self, number: int) -> str:
        start, end = self.spans[number] if number >= 0 else _NOWHERE
        return self.whole.subject[start:end] if start >= 0 else ""

    def _offset(self) -> str:
        """Give the place of the match; 0 counts as nothing, and a number cannot be trimmed."""
        start = self.spans[0][0]
        known, units = self._offsets
        units += utf16_length(self.whole.subject[known:start])
        self._offsets = (start, units)
        if units and self.whole.trims:
            raise NotTextError("it trims a place, which is a number")
        return str(units) if units else ""
