"""Read tokens into macros, and go on after what cannot be read.

Owns the grammar and the recovery from faults, which decides what becomes of broken macros: a
missing token is taken as read, one token too many is skipped, or the reader goes on at the next
token that some open rule can follow with. A stack of its own, so depth costs no recursion.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroParser.js, and how npm chevrotain
11.2.0 recovers.
"""

import re
from collections.abc import Callable, Mapping
from enum import IntEnum, auto

from attrs import define

from tavern_compiler._macro_lexer import Kind, Token, tokenize
from tavern_compiler._macro_nodes import Argument, Node, Value, Variable

Kinds = frozenset[Kind]

_VALUE: Kinds = frozenset({Kind.START, Kind.WORD, Kind.OTHER})
_ARGUMENT: Kinds = _VALUE | {Kind.COLON, Kind.SIGN}
_ONE_ARGUMENT: Kinds = _ARGUMENT | {Kind.DOUBLE_COLON}
_DOCUMENT: Kinds = frozenset({Kind.TEXT, Kind.START})
_END: Kinds = frozenset({Kind.END})
_SEPARATOR: Kinds = frozenset({Kind.DOUBLE_COLON})
_NOTHING: Kinds = frozenset()
_OPENERS: Kinds = frozenset({Kind.FLAG, Kind.DOT, Kind.DOLLAR, Kind.SLASHES, Kind.NAME})
"""What makes two braces a macro, outside of macros."""
_AFTER_VARIABLE: Kinds = frozenset({Kind.STEP, Kind.OPERATOR, Kind.END})


class _Place(IntEnum):
    """Where a macro stands."""

    DOCUMENT = auto()
    ARGUMENT = auto()
    ONE_ARGUMENT = auto()
    VALUE = auto()


_FOLLOWS: Mapping[_Place, Kinds] = {
    _Place.DOCUMENT: _DOCUMENT,
    _Place.ARGUMENT: _ARGUMENT,
    _Place.ONE_ARGUMENT: _ONE_ARGUMENT,
    _Place.VALUE: _VALUE,
}
"""What can follow a macro in its place: the reader may go on there."""
_MISSING_END: Mapping[_Place, Kinds] = {
    _Place.DOCUMENT: _DOCUMENT,
    _Place.ARGUMENT: _ONE_ARGUMENT | _END,
    _Place.ONE_ARGUMENT: _ONE_ARGUMENT | _END,
    _Place.VALUE: _VALUE | _END,
}
"""Before which closing braces are taken as read."""


class _State(IntEnum):
    """What a macro waits for."""

    HEAD = auto()
    VARIABLE = auto()
    ARGUMENT = auto()
    ONE_ARGUMENT = auto()
    VALUE = auto()
    END = auto()


_PLACES: Mapping[_State, _Place] = {
    _State.ARGUMENT: _Place.ARGUMENT,
    _State.ONE_ARGUMENT: _Place.ONE_ARGUMENT,
    _State.VALUE: _Place.VALUE,
}
_ACCEPTED: Mapping[_State, Kinds] = {
    _State.ARGUMENT: _ARGUMENT,
    _State.ONE_ARGUMENT: _ONE_ARGUMENT,
    _State.VALUE: _VALUE,
}
# Rules that are open in a state, innermost first, each with what can follow it there.
_RULES: Mapping[_State, tuple[Kinds, ...]] = {
    _State.HEAD: (),
    _State.VARIABLE: (_END,),
    _State.ARGUMENT: (_SEPARATOR, _NOTHING, _END),
    _State.ONE_ARGUMENT: (_NOTHING, _NOTHING, _END),
    _State.VALUE: (_NOTHING, _NOTHING, _END),
    _State.END: (),
}


@define
class _Frame:
    """A macro that is being read."""

    node: Node
    place: _Place
    outer: Kinds
    """What can follow the rules that are open outside of the macro, and the macro itself."""
    state: _State = _State.HEAD


def parse(text: str, step: Callable[[int], None]) -> list[Node]:
    """Read the macros that stand outside of other macros, complete or not, in their order.

    Two braces that no macro can begin with are an incomplete one.

    `step` is told how many tokens there are, before they are read.
    """
    tokens = tokenize(text)
    step(len(tokens))
    return _Parser(text, tokens).parse()


_PLAIN_TOKENS = 3
"""Braces, name, braces."""
_PLAIN_NAME = re.compile(r"\{\{([a-zA-Z][a-zA-Z0-9_-]*)\}\}")


def plain_names(text: str) -> tuple[list[Node], int] | None:
    """Read a text in which every brace belongs to a macro that is a name and nothing else.

    Most texts are of this kind, and none of their macros can be a tag. `parse` gives the same nodes
    of as many tokens, more slowly. None: the text is not of this kind.
    """
    count, odd = divmod(text.count("{"), 2)
    if odd or text.count("}") != 2 * count:
        return None
    nodes = []
    token_count = _PLAIN_TOKENS * count
    copied = 0
    # `find` and not the pattern looks for the next one: it is ten times as fast.
    start = text.find("{")
    while start >= 0:
        found = _PLAIN_NAME.match(text, start)
        if found is None:
            return None
        end = found.end()
        nodes.append(Node(start, end, end, name=found[1]))
        token_count += start > copied
        copied = end
        start = text.find("{", end)
    return None if len(nodes) != count else (nodes, token_count + (copied < len(text)))


class _Parser:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        eof = Token(Kind.EOF, len(text), len(text))
        # The reader looks one token ahead, and never goes on behind the first end.
        self._tokens = [*tokens, eof, eof]
        self._at = 0
        self._frames: list[_Frame] = []
        self._found: list[Node] = []
        self._steps: Mapping[_State, Callable[[_Frame], None]] = {
            _State.HEAD: self._head,
            _State.VARIABLE: self._variable,
            _State.ARGUMENT: self._content,
            _State.ONE_ARGUMENT: self._content,
            _State.VALUE: self._content,
            _State.END: self._end,
        }

    def parse(self) -> list[Node]:
        while True:
            if self._frames:
                frame = self._frames[-1]
                self._steps[frame.state](frame)
            elif not self._document():
                return self._found

    def _look(self, ahead: int = 0) -> Token:
        return self._tokens[self._at + ahead]

    def _document(self) -> bool:
        """Take one token outside of macros; what belongs nowhere is passed over."""
        if self._look().kind is Kind.EOF:
            return False
        token = self._look()
        if token.kind is Kind.START and self._look(1).kind in _OPENERS:
            self._open(_Place.DOCUMENT, _NOTHING)
            return True
        if token.kind is Kind.START:
            self._found.append(Node(token.start, token.end))
        self._at += 1
        return True

    def _open(self, place: _Place, outer: Kinds) -> None:
        token = self._look()
        self._at += 1
        node = Node(token.start, token.end)
        self._frames.append(_Frame(node, place, outer | _FOLLOWS[place]))

    def _take(self, frame: _Frame) -> Token:
        token = self._look()
        self._at += 1
        frame.node.reach = max(frame.node.reach, token.end)
        return token

    def _head(self, frame: _Frame) -> None:
        node = frame.node
        while self._look().kind is Kind.FLAG:
            node.flags += self._text[self._take(frame).start]
        kind = self._look().kind
        if kind in (Kind.DOT, Kind.DOLLAR):
            self._take(frame)
            node.variable = Variable(is_global=kind is Kind.DOLLAR)
            frame.state = _State.VARIABLE
        elif kind in (Kind.SLASHES, Kind.NAME):
            token = self._take(frame)
            node.name = self._text[token.start : token.end]
            self._after_name(frame)
        else:
            self._recover()

    def _after_name(self, frame: _Frame) -> None:
        kind = self._look().kind
        if kind is Kind.DOUBLE_COLON:
            self._take(frame)
            frame.node.arguments.append(Argument())
            frame.state = _State.ARGUMENT
        elif kind in _ARGUMENT:
            if kind is Kind.COLON:
                self._take(frame)
            frame.node.arguments.append(Argument())
            frame.state = _State.ONE_ARGUMENT
            if self._look().kind not in _ONE_ARGUMENT:
                self._recover()
        else:
            frame.state = _State.END

    def _variable(self, frame: _Frame) -> None:
        variable = frame.node.variable or Variable(is_global=False)
        if self._look().kind is not Kind.VARIABLE and self._look().kind not in _AFTER_VARIABLE:
            if self._look(1).kind is not Kind.VARIABLE or not self._is_single(self._look()):
                self._recover()
                return
            self._at += 1
        if self._look().kind is Kind.VARIABLE:
            token = self._take(frame)
            variable.name = self._text[token.start : token.end]
        frame.state = _State.END
        if self._look().kind in (Kind.STEP, Kind.OPERATOR):
            token = self._take(frame)
            variable.operator = self._text[token.start : token.end]
            if token.kind is Kind.OPERATOR:
                variable.value = Value()
                frame.state = _State.VALUE

    def _content(self, frame: _Frame) -> None:
        token = self._look()
        if token.kind is Kind.START:
            outside = _RULES[frame.state]
            self._open(_PLACES[frame.state], frame.outer.union(*outside))
        elif token.kind in _ACCEPTED[frame.state]:
            self._take(frame)
            self._cover(frame, token.start, token.end)
        elif token.kind is Kind.DOUBLE_COLON and frame.state is _State.ARGUMENT:
            self._take(frame)
            frame.node.arguments.append(Argument())
        else:
            frame.state = _State.END

    def _cover(self, frame: _Frame, start: int, end: int, *, sign: bool = True) -> None:
        value = frame.node.variable.value if frame.node.variable else None
        if value is not None:
            value.cover(start, end)
            return
        argument = frame.node.arguments[-1]
        argument.cover(start, end)
        if sign and argument.first_sign < 0:
            argument.first_sign = start

    def _end(self, frame: _Frame) -> None:
        token = self._look()
        if token.kind is not Kind.END:
            if token.kind in _MISSING_END[frame.place]:
                frame.node.assumed_end = True
                self._close()
                return
            if self._look(1).kind is not Kind.END or not self._is_single(token):
                self._recover()
                return
            self._at += 1
        frame.node.end = self._take(frame).end
        self._close()

    def _is_single(self, token: Token) -> bool:
        """Tell whether a token is one to SillyTavern as well: it takes other characters apart."""
        if token.kind is not Kind.OTHER:
            return True
        return token.end - token.start == 1 and ord(self._text[token.start]) < 1 << 16

    def _close(self) -> None:
        """Hand the innermost macro to what it stands in."""
        node = self._frames.pop().node
        if not self._frames:
            self._found.append(node)
            return
        outer = self._frames[-1]
        outer.node.nested.append(node)
        outer.node.height = max(outer.node.height, node.height + 1)
        outer.node.reach = max(outer.node.reach, node.reach)
        self._cover(outer, node.start, node.reach, sign=False)
        if outer.state is _State.VALUE and outer.node.variable and outer.node.variable.value:
            outer.node.variable.value.macros.append(node)

    def _recover(self) -> None:
        """Go on where the innermost open rule can be followed that is followed first."""
        while self._frames:
            frame = self._frames[-1]
            rules = _RULES[frame.state]
            for at, follows in enumerate(rules):
                if self._resume(follows, frame.outer.union(*rules[at:])):
                    # Only a whole argument can be followed by another one.
                    frame.state = _State.ARGUMENT if follows is _SEPARATOR else _State.END
                    return
            resumed = self._resume(_FOLLOWS[frame.place], frame.outer)
            self._close()
            if resumed:
                return
        self._at = len(self._tokens) - 2

    def _resume(self, follows: Kinds, followers: Kinds) -> bool:
        at = self._at
        stops = followers | {Kind.EOF}
        while self._tokens[at].kind not in stops:
            at += 1
        if self._tokens[at].kind not in follows:
            return False
        self._at = at
        return True
