"""A cursor over a JavaScript pattern, and the escapes that name one character or a class.

Owns the text form of escapes, numbers and group names. Knows no groups, no quantifiers and no
target dialect. Source: ECMAScript 2023, 22.2.1 with annex B.1.2, and what the engine V8 does
where annex B leaves a choice.
"""

import string

from attrs import define

from ._js_regex_ast import PropertyTerm
from ._js_regex_charset import (
    DIGITS,
    LAST_CODE_POINT,
    LAST_UTF16_UNIT,
    SPACES,
    WORD,
    WORD_FOLDED,
    Ranges,
    complement,
)
from ._js_regex_property_data import BINARY_PROPERTIES, GENERAL_CATEGORIES, SCRIPTS

_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
_SYNTAX_CHARACTERS = frozenset("^$\\.*+?()[]{}|/")
_LETTERS = frozenset(string.ascii_letters)
_DIGITS = frozenset(string.digits)
_OCTAL = frozenset(string.octdigits)
_HEX = frozenset(string.hexdigits)
_PROPERTY_CHARACTERS = _LETTERS | _DIGITS | frozenset("_=")
_PROPERTY_KINDS = {
    "General_Category": ("", GENERAL_CATEGORIES),
    "gc": ("", GENERAL_CATEGORIES),
    "Script": ("sc=", SCRIPTS),
    "sc": ("sc=", SCRIPTS),
    "Script_Extensions": ("scx=", SCRIPTS),
    "scx": ("scx=", SCRIPTS),
}
_MAX_HIGH, _MIN_LOW, _MAX_LOW, _MIN_HIGH = 0xDBFF, 0xDC00, 0xDFFF, 0xD800
_THREE_DIGIT_OCTAL = 0o40
"""Two octal digits of less than this leave room for a third below 256."""


class Fault(Exception):  # noqa: N818 - never leaves the parser, which turns it into a value
    """JavaScript refuses the pattern; `index` counts units of the reader's text."""

    def __init__(self, code: str, reason: str, index: int) -> None:
        super().__init__(code)
        self.code = code
        self.reason = reason
        self.index = index


@define
class Reader:
    """A position in a pattern, given as code points (u flag) or UTF-16 units."""

    text: str
    unicode: bool
    ignore_case: bool
    named_groups: bool = False
    index: int = 0
    property_count: int = 0

    def peek(self, ahead: int = 0) -> str:
        """The character `ahead` places on, or nothing at the end."""
        return self.text[self.index + ahead : self.index + ahead + 1]

    def next(self) -> str:
        """Step over one character and give it."""
        char = self.peek()
        self.index += 1
        return char

    def take(self, expected: str) -> bool:
        """Step over `expected` if it comes next."""
        if not self.text.startswith(expected, self.index):
            return False
        self.index += len(expected)
        return True

    def take_while(self, allowed: frozenset[str], most: int | None = None) -> str:
        """Step over as many of `allowed` as there are, at most `most`."""
        start = self.index
        end = len(self.text) if most is None else min(len(self.text), start + most)
        while self.index < end and self.text[self.index] in allowed:
            self.index += 1
        return self.text[start : self.index]


def read_class_escape(reader: Reader) -> tuple[Ranges, PropertyTerm | None] | None:
    """Read what follows a backslash if it names a class; else leave the reader where it is."""
    letter = reader.peek()
    last = LAST_CODE_POINT if reader.unicode else LAST_UTF16_UNIT
    folded = reader.unicode and reader.ignore_case
    named = {"d": DIGITS, "s": SPACES, "w": WORD_FOLDED if folded else WORD}
    if letter and letter in "dswDSW":
        reader.index += 1
        ranges = named[letter.lower()]
        return (ranges if letter.islower() else complement(ranges, last)), None
    if reader.unicode and letter and letter in "pP":
        reader.index += 1
        return (), PropertyTerm(name=_read_property(reader), negated=letter == "P")
    return None


def _read_property(reader: Reader) -> str:
    """Read `{name}` or `{kind=name}`; the result is `name`, `sc=name` or `scx=name`."""
    start = reader.index
    if reader.take("{"):
        kind, equals, name = reader.take_while(_PROPERTY_CHARACTERS).partition("=")
        if reader.take("}"):
            prefix, names = _PROPERTY_KINDS.get(kind, ("", frozenset[str]()))
            if not equals and (kind in GENERAL_CATEGORIES or kind in BINARY_PROPERTIES):
                reader.property_count += 1
                return kind
            if equals and name in names:
                reader.property_count += 1
                return prefix + name
    raise Fault("INVALID_PROPERTY", "not a Unicode property JavaScript knows", start)


def read_character_escape(reader: Reader, *, in_class: bool) -> int:
    """Read what follows a backslash as one character."""
    start = reader.index - 1
    char = reader.next()
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char == "c":
        return _read_control(reader, start, in_class=in_class)
    if char == "x":
        return _read_hex(reader, start)
    if char == "u":
        return _read_unicode(reader, start)
    if char in _OCTAL:
        return _read_octal(reader, char, start, in_class=in_class)
    return _read_identity(reader, char, start, in_class=in_class)


def _read_control(reader: Reader, start: int, *, in_class: bool) -> int:
    letter = reader.peek()
    allowed = _LETTERS | _DIGITS | {"_"} if in_class and not reader.unicode else _LETTERS
    if letter in allowed:
        reader.index += 1
        return ord(letter) & 0x1F
    if reader.unicode:
        raise Fault("INVALID_UNICODE_ESCAPE", "\\c needs a letter after it", start)
    reader.index -= 1  # The backslash stands for itself and the c is an ordinary character.
    return ord("\\")


def _read_hex(reader: Reader, start: int) -> int:
    before = reader.index
    digits = reader.take_while(_HEX, most=2)
    if len(digits) == 2:  # noqa: PLR2004
        return int(digits, 16)
    if reader.unicode:
        raise Fault("INVALID_ESCAPE", "\\x needs two hexadecimal digits", start)
    reader.index = before
    return ord("x")


def _read_unicode(reader: Reader, start: int) -> int:
    code = read_unicode_digits(reader, braces=reader.unicode, pairs=reader.unicode)
    if code is not None:
        return code
    if reader.unicode:
        raise Fault("INVALID_UNICODE_ESCAPE", "\\u needs hexadecimal digits", start)
    return ord("u")


def read_unicode_digits(reader: Reader, *, braces: bool, pairs: bool) -> int | None:
    r"""Read what follows `\u`; None, and nothing is consumed, if it is not well formed."""
    start = reader.index
    if braces and reader.take("{"):
        digits = reader.take_while(_HEX).lstrip("0") or "0"
        # Six digits are enough for every code point; more could be a very long number.
        if len(digits) <= 6 and reader.text[reader.index - 1] != "{" and reader.take("}"):  # noqa: PLR2004
            code = int(digits, 16)
            if code <= LAST_CODE_POINT:
                return code
        reader.index = start
        return None
    digits = reader.take_while(_HEX, most=4)
    if len(digits) < 4:  # noqa: PLR2004
        reader.index = start
        return None
    code = int(digits, 16)
    if pairs and _MIN_HIGH <= code <= _MAX_HIGH:
        return _read_low_half(reader, code)
    return code


def _read_low_half(reader: Reader, high: int) -> int:
    r"""Join a high surrogate with the `\u` escape of a low one, if that comes next."""
    start = reader.index
    if reader.take("\\u"):
        digits = reader.take_while(_HEX, most=4)
        if len(digits) == 4 and _MIN_LOW <= int(digits, 16) <= _MAX_LOW:  # noqa: PLR2004
            return join_surrogates(high, int(digits, 16))
    reader.index = start
    return high


def join_surrogates(high: int, low: int) -> int:
    """Give the code point that a surrogate pair stands for."""
    return 0x10000 + ((high - _MIN_HIGH) << 10) + (low - _MIN_LOW)


def _read_octal(reader: Reader, first: str, start: int, *, in_class: bool) -> int:
    if reader.unicode:
        if first == "0" and reader.peek() not in _DIGITS:
            return 0
        code = "INVALID_CLASS_ESCAPE" if in_class else "INVALID_DECIMAL_ESCAPE"
        raise Fault(code, "a number here refers to no group", start)
    value = int(first)
    if reader.peek() in _OCTAL:
        value = value * 8 + int(reader.next())
        if value < _THREE_DIGIT_OCTAL and reader.peek() in _OCTAL:
            value = value * 8 + int(reader.next())
    return value


def _read_identity(reader: Reader, char: str, start: int, *, in_class: bool) -> int:
    if not char:
        reader.index -= 1
        raise Fault("TRAILING_BACKSLASH", "the pattern ends in a backslash", start)
    if reader.unicode:
        legal = char in _SYNTAX_CHARACTERS or (in_class and char == "-")
    else:
        legal = not (char == "k" and reader.named_groups)
    if not legal:
        raise Fault("INVALID_ESCAPE", "this character must not be escaped here", start)
    return ord(char)


def read_group_name(reader: Reader) -> str:
    """Read a group's name and the `>` after it; the `<` is already behind the reader."""
    start = reader.index
    name = ""
    while not (name and reader.take(">")):
        char = _read_name_character(reader)
        if not _may_continue_name(name, char):
            raise Fault("INVALID_GROUP_NAME", "a group name must be an identifier", start)
        name += char
    return name


def _read_name_character(reader: Reader) -> str:
    """Read one character of a name: itself, an escape or a surrogate pair; "" if there is none."""
    char = reader.next()
    if char == "\\":
        code = read_unicode_digits(reader, braces=True, pairs=True) if reader.take("u") else None
        return "" if code is None else chr(code)
    low = reader.peek()
    if "\ud800" <= char <= "\udbff" and "\udc00" <= low <= "\udfff":
        reader.index += 1
        return chr(join_surrogates(ord(char), ord(low)))
    return char


def _may_continue_name(name: str, char: str) -> bool:
    if not char:
        return False
    if char == "$" or (name and char in "\u200c\u200d"):
        return True
    return f"{'a' if name else ''}{char}".isidentifier()
