"""Cut a text into the tokens of the macro language.

Owns the modes of the reader: what may stand where inside `{{...}}`. Knows no macro and no grammar
beyond that. Linear in the text, and nothing recurses.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroLexer.js.
"""

import re
from collections.abc import Mapping
from enum import IntEnum, auto
from typing import NamedTuple

from tavern_compiler._text import JS_WHITE_SPACE

_WS = JS_WHITE_SPACE


class Kind(IntEnum):
    """Kinds of tokens."""

    TEXT = auto()
    START = auto()
    END = auto()
    FLAG = auto()
    NAME = auto()
    SLASHES = auto()
    DOT = auto()
    DOLLAR = auto()
    VARIABLE = auto()
    STEP = auto()
    """`++` and `--`, which take no value."""
    OPERATOR = auto()
    DOUBLE_COLON = auto()
    COLON = auto()
    SIGN = auto()
    """`=` and a quote: text in arguments, but tokens of their own."""
    WORD = auto()
    OTHER = auto()
    """A run of characters that mean nothing; what counts them one by one must look at the size."""
    EOF = auto()


class Token(NamedTuple):
    """One token; offsets are code points, the end is exclusive."""

    kind: Kind
    start: int
    end: int


class _Mode(IntEnum):
    MACRO = auto()
    NAME_END = auto()
    ARGUMENTS = auto()
    VARIABLE = auto()
    AFTER_VARIABLE = auto()
    VALUE = auto()


class _Move(NamedTuple):
    kind: Kind | None
    pop: bool = False
    push: _Mode | None = None


_OPERATORS = r"\?\?=|\?\?|\|\|=|\|\||-=|==|!=|>=|>|<=|<|\+=|="
_PATTERNS: Mapping[_Mode, re.Pattern[str]] = {
    _Mode.MACRO: re.compile(
        rf"(?P<end>\}}\}})|(?P<slashes>//)|(?P<dot>\.)|(?P<dollar>\$)|(?P<flag>[!?~#/>])"
        rf"|(?P<blank>[{_WS}]+)|(?P<name>[a-zA-Z][a-zA-Z0-9_-]*)"
    ),
    _Mode.NAME_END: re.compile(rf"(?P<over>(?=\}}\}}))|(?P<opens>[{_WS}]+|(?=[:|}}]))"),
    _Mode.ARGUMENTS: re.compile(
        rf'(?P<start>\{{\{{)|(?P<double_colon>::)|(?P<colon>:)|(?P<sign>[="])'
        rf"|(?P<word>[a-zA-Z][a-zA-Z0-9_-]*)|(?P<blank>[{_WS}]+)"
        rf'|(?P<other>(?:[^{{}}:="a-zA-Z{_WS}]|\}}(?!\}})|\{{(?!\{{))+)'
    ),
    _Mode.VARIABLE: re.compile(
        rf"(?P<blank>[{_WS}]+)|(?P<variable>[a-zA-Z](?:[a-zA-Z0-9_-]*[a-zA-Z0-9_])?)"
    ),
    _Mode.AFTER_VARIABLE: re.compile(
        rf"(?P<blank>[{_WS}]+)|(?P<step>\+\+|--)|(?P<operator>{_OPERATORS})"
    ),
    _Mode.VALUE: re.compile(
        rf"(?P<start>\{{\{{)|(?P<word>[a-zA-Z][a-zA-Z0-9_-]*)|(?P<blank>[{_WS}]+)"
        rf"|(?P<other>(?:[^{{}}a-zA-Z{_WS}]|\}}(?!\}})|\{{(?!\{{))+)"
    ),
}
_MOVES: Mapping[str, _Move] = {
    "blank": _Move(None),
    "end": _Move(Kind.END, pop=True),
    "slashes": _Move(Kind.SLASHES, push=_Mode.ARGUMENTS),
    "dot": _Move(Kind.DOT, push=_Mode.VARIABLE),
    "dollar": _Move(Kind.DOLLAR, push=_Mode.VARIABLE),
    "flag": _Move(Kind.FLAG),
    "name": _Move(Kind.NAME, push=_Mode.NAME_END),
    "over": _Move(None, pop=True),
    "opens": _Move(None, pop=True, push=_Mode.ARGUMENTS),
    "start": _Move(Kind.START, push=_Mode.MACRO),
    "double_colon": _Move(Kind.DOUBLE_COLON),
    "colon": _Move(Kind.COLON),
    "sign": _Move(Kind.SIGN),
    "word": _Move(Kind.WORD),
    "other": _Move(Kind.OTHER),
    "variable": _Move(Kind.VARIABLE, pop=True, push=_Mode.AFTER_VARIABLE),
    "step": _Move(Kind.STEP),
    "operator": _Move(Kind.OPERATOR, pop=True, push=_Mode.VALUE),
}
_NAME_END = re.compile(rf"[{_WS}:|}}]")
"""What may follow a name; anything else after it is skipped."""


def tokenize(text: str) -> list[Token]:
    """Cut a text into tokens; blanks inside macros and what is skipped after a name give none."""
    tokens: list[Token] = []
    modes: list[_Mode] = []
    at = 0
    while at < len(text):
        if not modes:
            at = _plain(text, at, tokens)
            modes = [_Mode.MACRO]
            continue
        found = _PATTERNS[modes[-1]].match(text, at)
        if found is not None:
            move = _MOVES[found.lastgroup or ""]
            if move.kind is not None:
                tokens.append(Token(move.kind, at, found.end()))
            if move.pop:
                modes.pop()
            if move.push is not None:
                modes.append(move.push)
            at = found.end()
        elif modes[-1] is _Mode.NAME_END:
            following = _NAME_END.search(text, at)
            at = following.start() if following else len(text)
        else:
            modes.pop()
    return tokens


def _plain(text: str, at: int, tokens: list[Token]) -> int:
    """Take the text up to the next opening and the opening: the last two of a run of braces."""
    opening = text.find("{{", at)
    if opening < 0:
        tokens.append(Token(Kind.TEXT, at, len(text)))
        return len(text)
    while text.startswith("{", opening + 2):
        opening += 1
    if opening > at:
        tokens.append(Token(Kind.TEXT, at, opening))
    tokens.append(Token(Kind.START, opening, opening + 2))
    return opening + 2
