"""Text as JavaScript sees it: white space, lower case, and places counted in UTF-16 units."""

from bisect import bisect_left
from collections.abc import Sequence

import regex

JS_WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What `trim` and `\\s` take in JavaScript.

Python takes U+0085 and U+001C to U+001F as well, and not U+FEFF.
"""

_GROWS = "\u0130"
"""The one letter that is longer in lower case: it becomes two code points."""
_WHITE_SPACE_RUN = regex.compile(f"[{JS_WHITE_SPACE}]")
_LAST_BMP = "\uffff"


def trim(text: str) -> str:
    """Strip white space as JavaScript does."""
    return text.strip(JS_WHITE_SPACE)


def has_space(text: str) -> bool:
    """Whether JavaScript would split the text at white space."""
    return not text.isalnum() and _WHITE_SPACE_RUN.search(text) is not None


def utf16_length(text: str) -> int:
    """Count the UTF-16 code units: what JavaScript calls the length.

    >>> utf16_length("a🦊")
    3
    """
    return len(text) + sum(char > _LAST_BMP for char in text)


def growths(text: str) -> list[int]:
    """List the places in `text.lower()` of what lower case has added, for `unfold`."""
    if _GROWS not in text:
        return []
    places = (place for place, char in enumerate(text) if char == _GROWS)
    return [place + before + 1 for before, place in enumerate(places)]


def unfold(grown: Sequence[int], offset: int) -> int:
    """Translate a place in `text.lower()` to the place in the text that has these growths.

    >>> unfold(growths("\u0130 x"), len("\u0130 ".lower()))
    2
    """
    return offset - bisect_left(grown, offset)
