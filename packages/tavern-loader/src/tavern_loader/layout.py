"""Text in columns for people: display width, cutting, wrapping.

Owns what a terminal does with a text: Chinese and Japanese letters take two cells, combining marks
none, and control characters of a resource must not reach it.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

ELLIPSIS = "…"
GAP = "  "
_WIDE = frozenset("WF")
_UNSEEN = frozenset({"Mn", "Me", "Cf"})
_CONTROL = frozenset({"Cc", "Cs", "Cf", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")
"""Format characters that words and emoji are made with; all others are taken out."""


def clean(text: str) -> str:
    """Make one line of a text, without anything that could steer a terminal."""
    line = " ".join(text.split())
    return "".join(
        char for char in line if char in _JOINERS or unicodedata.category(char) not in _CONTROL
    )


def width(text: str) -> int:
    """Count the terminal cells of a line.

    >>> width("猫 cat")
    6
    """
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.category(char) in _UNSEEN:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def cut(text: str, cells: int) -> str:
    """Shorten a line to a width, with an ellipsis where something is missing.

    >>> cut("猫猫猫", 5)
    '猫猫…'
    """
    return text if width(text) <= cells else _head(text, cells - 1) + ELLIPSIS


def _head(text: str, cells: int) -> str:
    taken = 0
    for place, char in enumerate(text):
        taken += _cells(char)
        if taken > cells:
            return text[:place]
    return text


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """Fill a line up to a width with blanks: behind it, or in front if it stands to the right."""
    blanks = " " * (cells - width(text))
    return blanks + text if right else text + blanks


def wrap(text: str, cells: int) -> Iterator[str]:
    """Break a text into lines at blanks, and a word that is too long anywhere."""
    line = ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if width(joined) <= cells:
            line = joined
            continue
        if line and width(word) <= cells:
            yield line
            line = word
            continue
        *full, line = _pieces(joined, cells)
        yield from full
    if line:
        yield line


def _pieces(text: str, cells: int) -> Iterator[str]:
    while width(text) > cells:
        # At least one character, or a wide one in a narrow column would never end.
        head = _head(text, cells) or text[0]
        yield head.rstrip()
        text = text[len(head) :].lstrip()
    yield text


def table(rows: Sequence[Sequence[str]], cells: int, *, right: Iterable[int] = ()) -> Iterator[str]:
    """Set rows in columns: each as wide as its widest, the last with what is left of the width.

    `right` numbers the columns that stand to the right.
    """
    if not rows:
        return
    columns = list(zip(*rows, strict=True))[:-1]
    widths = [max(map(width, column)) for column in columns]
    to_right = frozenset(right)
    for row in rows:
        head = "".join(
            pad(text, widths[place], right=place in to_right) + GAP
            for place, text in enumerate(row[:-1])
        )
        yield (head + cut(row[-1], max(cells - width(head), 1))).rstrip()
