"""The reader of a JavaScript character class, from its opening bracket to the closing one.

Owns ranges and the dash's double meaning. Knows nothing of what stands around the class.
Source: ECMAScript 2023, 22.2.1 (CharacterClass) with annex B.1.2.
"""

from ._js_regex_ast import CharClass, PropertyTerm
from ._js_regex_charset import Ranges, normalise
from ._js_regex_reader import Fault, Reader, read_character_escape, read_class_escape


def read_class(reader: Reader) -> CharClass:
    """Read a class; the opening bracket is already behind the reader."""
    start = reader.index - 1
    negated = reader.take("^")
    ranges: list[tuple[int, int]] = []
    terms: list[PropertyTerm] = []
    while not reader.take("]"):
        low, low_term = _read_class_part(reader, start)
        parts = low
        terms += low_term
        if reader.peek() == "-" and reader.peek(1) not in ("]", ""):
            dash = reader.index
            reader.index += 1
            high, high_term = _read_class_part(reader, start)
            terms += high_term
            parts = _join_range(low, high, unicode=reader.unicode, index=dash)
        ranges += parts
    return CharClass(
        ranges=normalise(ranges), properties=tuple(terms), negated=negated, offset=start
    )


def _join_range(low: Ranges, high: Ranges, *, unicode: bool, index: int) -> Ranges:
    """Make a range of two parts of a class, or keep both beside a dash."""
    if len(low) == len(high) == 1 and low[0][0] == low[0][1] and high[0][0] == high[0][1]:
        if low[0][0] > high[0][0]:
            reason = "a range's bounds are out of order"
            raise Fault("CLASS_RANGE_OUT_OF_ORDER", reason, index)
        return ((low[0][0], high[0][0]),)
    if unicode:
        raise Fault("INVALID_CLASS_RANGE", "a class cannot bound a range", index)
    return (*low, *high, (ord("-"), ord("-")))


def _read_class_part(reader: Reader, start: int) -> tuple[Ranges, tuple[PropertyTerm, ...]]:
    """Read one character or escape inside a class."""
    if not reader.peek():
        raise Fault("UNTERMINATED_CLASS", "a class is not closed", start)
    if reader.take("\\"):
        found = read_class_escape(reader)
        if found is not None:
            return found[0], () if found[1] is None else (found[1],)
        if reader.take("b"):
            code = 0x08
        elif reader.unicode and reader.take("-"):
            code = ord("-")
        else:
            code = read_character_escape(reader, in_class=True)
    else:
        code = ord(reader.next())
    return ((code, code),), ()
