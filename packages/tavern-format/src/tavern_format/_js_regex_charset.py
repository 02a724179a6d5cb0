"""Sets of characters as sorted ranges, and JavaScript's own named ones.

Owns the arithmetic of sets and the closure under case. Knows no syntax. Source: ECMAScript
2023, 22.2.2.9 (CharacterClassEscape), 22.2.2.9.3 (WordCharacters), 12.2 and 12.3 (WhiteSpace,
LineTerminator).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ._js_regex_case_data import SIMPLE_FOLDING, SIMPLE_UPPER_CASE

Ranges = tuple[tuple[int, int], ...]
"""Inclusive, sorted, neither overlapping nor touching, once `normalise` has seen them."""

Orbits = Mapping[int, tuple[int, ...]]
"""For each character that has case: all characters equivalent to it, itself included."""

LAST_CODE_POINT = 0x10FFFF
LAST_UTF16_UNIT = 0xFFFF

DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
# The two letters outside ASCII that fold to one inside it: long s and the Kelvin sign.
WORD_FOLDED: Ranges = (*WORD, (0x17F, 0x17F), (0x212A, 0x212A))
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
SPACES: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)

_CASE_ROW = re.compile(r"([0-9A-F]+)(?:-([0-9A-F]+))?(?:/(\d))?:([+-][0-9A-F]+)")


def _read_orbits(table: str) -> Orbits:
    """Read a case table into a mapping from each character to its equivalents."""
    members: dict[int, list[int]] = {}
    for first, last, step, delta in _CASE_ROW.findall(table):
        for code in range(int(first, 16), int(last or first, 16) + 1, int(step or 1)):
            smallest = code + int(delta, 16)
            members.setdefault(smallest, [smallest]).append(code)
    return MappingProxyType(
        {code: tuple(sorted(codes)) for codes in members.values() for code in codes}
    )


UPPER_CASE_ORBITS = _read_orbits(SIMPLE_UPPER_CASE)
FOLDING_ORBITS = _read_orbits(SIMPLE_FOLDING)


def normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort ranges and join those that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def complement(ranges: Ranges, last_code: int) -> Ranges:
    """Everything from 0 to `last_code` that normalised `ranges` leave out."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for first, last in ranges:
        if first > start:
            gaps.append((start, first - 1))
        start = last + 1
    if start <= last_code:
        gaps.append((start, last_code))
    return tuple(gaps)


def close_over_case(ranges: Ranges, orbits: Orbits, last_code: int) -> Ranges:
    """Add to normalised `ranges` every character equivalent to one in them."""
    others = complement(ranges, last_code)
    # Walk whichever is shorter: what is inside, or what may have to come in.
    if _count(ranges) <= _count(others):
        added = {other for code in _with_case(ranges, orbits) for other in orbits[code]}
    else:
        added = {
            code
            for code in _with_case(others, orbits)
            if any(_contains(ranges, other) for other in orbits[code])
        }
    return normalise((*ranges, *((code, code) for code in added))) if added else ranges


def _count(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _with_case(ranges: Ranges, orbits: Orbits) -> Iterable[int]:
    for first, last in ranges:
        if last - first < len(orbits):
            yield from (code for code in range(first, last + 1) if code in orbits)
        else:
            yield from (code for code in orbits if first <= code <= last)


def _contains(ranges: Ranges, code: int) -> bool:
    index = bisect_right(ranges, (code, LAST_CODE_POINT))
    return index > 0 and code <= ranges[index - 1][1]


def read_ranges(text: str) -> Ranges:
    """Read hexadecimal code points and `first-last` ranges divided by blanks."""
    pairs = (word.partition("-") for word in text.split())
    return normalise((int(first, 16), int(last or first, 16)) for first, _, last in pairs)
