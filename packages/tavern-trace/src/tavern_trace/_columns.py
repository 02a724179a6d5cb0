"""Text in columns for a terminal: East Asian letters take two cells, control characters none.

Owns widths and tables. Must not know what is shown.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

_WIDE = frozenset("WF")
_UNSEEN = frozenset({"Mn", "Me", "Cf"})
_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_GAP = "  "
_ELLIPSIS = "…"


def clean(text: str) -> str:
    """Make one line of a text that cannot steer a terminal."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """Take out of a line what could steer a terminal."""
    return "".join(char for char in text if unicodedata.category(char) not in _STEERING)


def width(text: str) -> int:
    """Count the cells of a line.

    >>> width("猫 cat")
    6
    """
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.category(char) in _UNSEEN:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def cut(text: str, cells: int) -> str:
    """Shorten a line to a number of cells.

    >>> cut("猫猫猫", 5)
    '猫猫…'
    """
    if width(text) <= cells:
        return text
    taken = 0
    for place, char in enumerate(text):
        taken += _cells(char)
        if taken >= cells:
            return text[:place] + _ELLIPSIS
    return text


def table(head: Sequence[str], rows: Iterable[Sequence[object]], cells: int) -> Iterator[str]:
    """Set rows under a head; numbers stand to the right, the last column takes what is left."""
    given = [list(row) for row in rows]
    texts = [list(head), *([clean(str(item)) for item in row] for row in given)]
    widths = [max(map(width, column)) for column in zip(*texts, strict=True)]
    right = [all(isinstance(row[at], int) for row in given) for at in range(len(head))]
    for row in texts:
        line = _GAP.join(
            _padded(text, widths[at], right=right[at]) for at, text in enumerate(row[:-1])
        )
        line += _GAP if len(row) > 1 else ""
        yield (line + cut(row[-1], max(cells - width(line), 8))).rstrip()


def _padded(text: str, cells: int, *, right: bool) -> str:
    blanks = " " * (cells - width(text))
    return blanks + text if right else text + blanks
