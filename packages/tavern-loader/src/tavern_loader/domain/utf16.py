"""Lengths and ends of texts in UTF-16 code units, the unit of JavaScript's strings.

Owns nothing but the arithmetic. Must not know what a text is for.
"""

_UNIT_BYTES = 2
_ENCODING = "utf-16-le"


def size_utf16(text: str) -> int:
    """Count the code units of a text; a lone surrogate is one.

    >>> size_utf16("a\U0001f600")
    3
    """
    return len(text) if text.isascii() else len(_encoded(text)) // _UNIT_BYTES


def tail_utf16(text: str, limit_utf16: int, *, splits: bool = False) -> str:
    """Give the longest end of a text of at most so many code units.

    With `splits`, a character of two units may be cut in half, as JavaScript's `slice` does.

    >>> tail_utf16("ab\U0001f600", 1)
    ''
    """
    if limit_utf16 <= 0:
        return ""
    if _UNIT_BYTES * len(text) <= limit_utf16:
        return text
    if text.isascii():
        return text[-limit_utf16:]
    # No character is less than one unit: what lies further from the end cannot be in the result.
    kept = _encoded(text[-limit_utf16:])[-limit_utf16 * _UNIT_BYTES :]
    tail = kept.decode(_ENCODING, "surrogatepass")
    return tail[1:] if not splits and not text.endswith(tail) else tail


def _encoded(text: str) -> bytes:
    return text.encode(_ENCODING, "surrogatepass")
