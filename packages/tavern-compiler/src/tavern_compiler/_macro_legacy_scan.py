"""Find the macros of the old engine in a text, in time linear in it.

Owns one finder for each form of argument; what SillyTavern writes as regular expressions with
unbounded repetitions is a search for the next delimiter here. Must not know what a macro gives.

Source: SillyTavern 1.19.0, public/scripts/macros.js (evaluateMacros).
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tavern_compiler._text import JS_WHITE_SPACE

_FLAGS = re.IGNORECASE | re.ASCII
_LINE_END = re.compile("[\n\r\u2028\u2029]")
_PAST = 1 << 62


class Found(NamedTuple):
    """One macro: its span and what was captured."""

    start: int
    end: int
    groups: tuple[str, ...] = ()


Finder = Callable[[str], Iterator[Found]]
_Tail = Callable[["_Text", int], tuple[int, tuple[str, ...]] | None]
"""From the end of the head: the end of the macro and what was captured; None: it is none."""


class _Text:
    """A text with the next place of each delimiter remembered."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._next: dict[str, int] = {}

    def find(self, delimiter: str, at: int) -> int:
        """Find a delimiter from a place on; past the end where there is none."""
        known = self._next.get(delimiter, -1)
        if known < at:
            known = self.text.find(delimiter, at)
            known = _PAST if known < 0 else known
            self._next[delimiter] = known
        return known

    def line_end(self, at: int) -> int:
        known = self._next.get("\n\r", -1)
        if known < at:
            found = _LINE_END.search(self.text, at)
            known = found.start() if found else len(self.text)
            self._next["\n\r"] = known
        return known


def _finder(head: str, tail: _Tail) -> Finder:
    opening = re.compile(head, _FLAGS)

    def find(content: str) -> Iterator[Found]:
        text = _Text(content)
        at = 0
        while (found := opening.search(content, at)) is not None:
            rest = tail(text, found.end())
            at = found.end() if rest is None else rest[0]
            if rest is not None:
                yield Found(found.start(), rest[0], rest[1])

    return find


def literal(pattern: str) -> Finder:
    """Find a pattern without repetitions; its groups are captured."""
    compiled = re.compile(pattern, _FLAGS)
    return lambda content: (
        Found(*found.span(), tuple(group or "" for group in found.groups()))
        for found in compiled.finditer(content)
    )


def named(name: str) -> Finder:
    """Find `{{name}}`."""
    return literal(rf"\{{\{{(?:{name})\}}\}}")


def to_brace(head: str, *, empty: bool = False) -> Finder:
    """Find a head and all up to the next brace, which must be the first of two."""
    return _finder(head, lambda text, at: _to_brace(text, at, empty=empty))


def _to_brace(text: _Text, at: int, *, empty: bool) -> tuple[int, tuple[str, ...]] | None:
    end = text.find("}", at)
    if not text.text.startswith("}}", end) or (end == at and not empty):
        return None
    return end + 2, (text.text[at:end],)


def name_and_value(head: str, *, empty: bool) -> Finder:
    """Find a head, a name without colons, `::` and a value up to the next brace."""

    def tail(text: _Text, at: int) -> tuple[int, tuple[str, ...]] | None:
        colon = text.find(":", at)
        if colon == at or not text.text.startswith("::", colon):
            return None
        rest = _to_brace(text, colon + 2, empty=empty)
        return rest and (rest[0], (text.text[at:colon], *rest[1]))

    return _finder(head, tail)


def in_line(head: str) -> Finder:
    """Find a head and the shortest text up to two braces on the same line, one character at least.

    `{{reverse:x}}`.
    """

    def tail(text: _Text, at: int) -> tuple[int, tuple[str, ...]] | None:
        end = text.find("}}", at + 1)
        return (end + 2, (text.text[at:end],)) if end <= text.line_end(at) else None

    return _finder(head, tail)


def two_in_line(head: str) -> Finder:
    """Find a head and two texts with `::` between them on one line."""

    def tail(text: _Text, at: int) -> tuple[int, tuple[str, ...]] | None:
        line_end = text.line_end(at)
        middle = text.find("::", at)
        end = text.find("}}", middle + 2) if middle < line_end else _PAST
        if end > line_end:
            return None
        return end + 2, (text.text[at:middle], text.text[middle + 2 : end])

    return _finder(head, tail)


def to_last_quote(head: str) -> Finder:
    """Find a head and all up to the last quote before two braces on the same line."""

    def tail(text: _Text, at: int) -> tuple[int, tuple[str, ...]] | None:
        line_end = text.line_end(at)
        if text.find('"}}', at) >= line_end:
            return None
        end = text.text.rindex('"}}', at, line_end)
        return end + 3, (text.text[at:end],)

    return _finder(head, tail)


def comment(head: str) -> Finder:
    """Find a head and the shortest text up to two braces, over any number of lines."""

    def tail(text: _Text, at: int) -> tuple[int, tuple[str, ...]] | None:
        end = text.find("}}", at)
        return (end + 2, (text.text[at:end],)) if end < _PAST else None

    return _finder(head, tail)


def listed(name: str) -> Finder:
    """Find a list: after one colon, or after two where something follows them."""
    find = to_brace(rf"\{{\{{{name}[{JS_WHITE_SPACE}]?:")

    def cut(content: str) -> Iterator[Found]:
        for found in find(content):
            text = found.groups[0]
            yield found._replace(groups=(text[1:] if text[:1] == ":" and len(text) > 1 else text,))

    return cut
