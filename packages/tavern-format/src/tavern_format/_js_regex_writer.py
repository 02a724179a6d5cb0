"""How single characters, classes and positions are written in the `regex` module's dialect.

Owns the spelling of everything that has no parts. Everything but ASCII letters and digits is
escaped, so that nothing the module knows beyond JavaScript (fuzzy counts, set operators,
POSIX classes, its own escapes) can arise by accident, and the result is plain ASCII.
"""

from attrs import frozen

from . import _js_regex_ast as ast
from ._js_regex_charset import (
    FOLDING_ORBITS,
    LAST_CODE_POINT,
    LAST_UTF16_UNIT,
    LINE_ENDS,
    UPPER_CASE_ORBITS,
    WORD,
    WORD_FOLDED,
    Orbits,
    Ranges,
    close_over_case,
    complement,
    normalise,
    read_ranges,
)
from ._js_regex_property_data import (
    CASE_ADDITIONS,
    CASE_PROPERTIES,
    GENERAL_CATEGORIES,
    LONG_NAMES,
    UNSUPPORTED_PROPERTIES,
)

ANYTHING = "."
"""Every translation has the DOTALL flag."""

NOTHING = "(?!)"
_LAST_BYTE, _LAST_ASCII = 0xFF, 0x7F
_KIND_NAMES = {"sc=": "Script=", "scx=": "Script_Extensions="}


class Refusal(Exception):  # noqa: N818 - never leaves the translator, which makes a value of it
    """JavaScript accepts this, but it cannot be expressed."""

    def __init__(self, code: str, reason: str, index: int) -> None:
        super().__init__(code)
        self.code = code
        self.reason = reason
        self.index = index


@frozen(kw_only=True)
class Writer:
    """The spelling of parts under one set of flags."""

    unicode: bool
    ignore_case: bool
    multiline: bool
    dot_all: bool
    ascii_only: bool
    """The translation has the module's ASCII flag: its own `\\w`, `\\d`, `\\b` and folding are
    then JavaScript's, and faster than a spelt out set."""

    @property
    def orbits(self) -> Orbits:
        """Which characters count as one."""
        if not self.ignore_case:
            return {}
        return FOLDING_ORBITS if self.unicode else UPPER_CASE_ORBITS

    @property
    def last(self) -> int:
        """The greatest character there is."""
        return LAST_CODE_POINT if self.unicode else LAST_UTF16_UNIT

    def char(self, code: int) -> str:
        """Write one character, with all it is equivalent to."""
        orbit = self.orbits.get(code)
        if orbit is None:
            return _literal(code)
        return f"[{''.join(map(_literal, orbit))}]"

    def run(self, codes: tuple[int, ...]) -> str:
        """Write characters that follow one another and are repeated, if at all, together."""
        # A caseless run is searched for as one string; a row of sets is several times slower.
        if self.ascii_only and len(codes) > 1 and all(map(self._folds_in_ascii, codes)):
            text = "".join(map(_literal, codes))
            return f"(?i:{text})" if any(code in self.orbits for code in codes) else text
        return "".join(map(self.char, codes))

    def _folds_in_ascii(self, code: int) -> bool:
        return all(other <= _LAST_ASCII for other in self.orbits.get(code, ()))

    def splits_run(self, code: int) -> bool:
        """Whether a caseless run cannot contain this character."""
        return not self._folds_in_ascii(code)

    def dot(self) -> str:
        """Write JavaScript's dot."""
        return ANYTHING if self.dot_all else _set(LINE_ENDS, negated=True)

    def assertion(self, kind: ast.AssertionKind) -> str:
        """Write a test of the position."""
        if kind == "start":
            return rf"(?<!{_set(LINE_ENDS, negated=True)})" if self.multiline else r"\A"
        if kind == "end":
            return rf"(?!{_set(LINE_ENDS, negated=True)})" if self.multiline else r"\Z"
        if self.ascii_only and not (self.unicode and self.ignore_case):
            return r"\b" if kind == "boundary" else r"\B"
        word = _set(WORD_FOLDED if self.unicode and self.ignore_case else WORD)
        if kind == "boundary":
            return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
        return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"

    def char_class(self, node: ast.CharClass) -> str:
        """Write a class; raises `Refusal` for a property that cannot be had."""
        ranges = node.ranges
        if self.ignore_case:
            added = [pair for term in node.properties for pair in self._case_additions(term, node)]
            ranges = close_over_case(normalise((*ranges, *added)), self.orbits, self.last)
        if not node.properties:
            return self._plain_set(ranges, negated=node.negated)
        terms = "".join(_property(term, node.offset) for term in node.properties)
        return f"[{'^' if node.negated else ''}{_members(ranges)}{terms}]"

    def _case_additions(self, term: ast.PropertyTerm, node: ast.CharClass) -> Ranges:
        if term.name in CASE_PROPERTIES:
            reason = "a property of letter case together with the flags i and u"
            raise Refusal("PROPERTY_IGNORING_CASE", reason, node.offset)
        return read_ranges(CASE_ADDITIONS.get(f"{'P' if term.negated else 'p'}:{term.name}", ""))

    def _plain_set(self, ranges: Ranges, *, negated: bool) -> str:
        others = complement(ranges, self.last)
        inside, outside = (others, ranges) if negated else (ranges, others)
        if not outside:
            return ANYTHING
        if not inside:
            return NOTHING
        if self.ascii_only and WORD in (inside, outside):
            return r"\w" if inside == WORD else r"\W"
        if len(outside) < len(inside):
            return _set(outside, negated=True)
        return _set(inside)


def _set(ranges: Ranges, *, negated: bool = False) -> str:
    if not negated and len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _literal(ranges[0][0])
    return f"[{'^' if negated else ''}{_members(ranges)}]"


def _members(ranges: Ranges) -> str:
    return "".join(
        _literal(first) if first == last else f"{_literal(first)}-{_literal(last)}"
        for first, last in ranges
    )


def _literal(code: int) -> str:
    char = chr(code)
    if code <= _LAST_ASCII and char.isprintable():
        return char if char.isalnum() or char == " " else f"\\{char}"
    if code <= _LAST_BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= LAST_UTF16_UNIT else f"\\U{code:08x}"


def _property(term: ast.PropertyTerm, offset: int) -> str:
    if term.name in UNSUPPORTED_PROPERTIES:
        reason = "a property the regex module does not have"
        raise Refusal("UNSUPPORTED_PROPERTY", reason, offset)
    # Some short names mean something else to the module, so all are given in full.
    name = LONG_NAMES.get(term.name, term.name)
    if name in GENERAL_CATEGORIES:
        # Bare, some of these names mean a POSIX class to the module.
        name = f"General_Category={name}"
    for prefix, kind in _KIND_NAMES.items():
        if name.startswith(prefix):
            name = kind + name.removeprefix(prefix)
    return f"\\{'P' if term.negated else 'p'}{{{name}}}"
