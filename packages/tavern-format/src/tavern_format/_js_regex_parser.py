"""The reader of whole JavaScript patterns: text in, syntax tree or fault out.

Owns groups, alternatives, quantifiers and references. Knows no target dialect. It
walks the pattern once with its own stack, so that no nesting exhausts Python's. Source:
ECMAScript 2023, 22.2.1 with annex B.1.2; the verdicts are those of the engine V8 in Node 20.
"""

import re

from attrs import Factory, define, frozen

from . import _js_regex_ast as ast
from ._js_regex_class_parser import read_class
from ._js_regex_reader import (
    Fault,
    Reader,
    read_character_escape,
    read_class_escape,
    read_group_name,
)

MAX_GROUPS = 65535
UNBOUNDED = 2**31 - 1
"""Repeat counts from here on are the same to JavaScript's engine."""

_INTERVAL = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_SIMPLE_QUANTIFIERS = {"*": (0, UNBOUNDED), "+": (1, UNBOUNDED), "?": (0, 1)}
_LOOKS = {"(?=": (True, False), "(?!": (True, True), "(?<=": (False, False), "(?<!": (False, True)}
_ASSERTIONS: dict[str, ast.AssertionKind] = {"^": "start", "$": "end"}
_WORD_ASSERTIONS: dict[str, ast.AssertionKind] = {"b": "boundary", "B": "not_boundary"}
_CAPTURE = re.compile(r"\\.|\[(?:[^\]\\]|\\.)*\]?|\((?!\?)|(\(\?<(?![=!]))", re.DOTALL)


@frozen(kw_only=True)
class Parsed:
    """A pattern JavaScript accepts, as a tree."""

    root: ast.Node
    group_count: int
    names: tuple[tuple[str, int], ...]
    references: frozenset[int]
    """Numbers of the groups that something refers to."""

    has_properties: bool
    too_deep: int | None
    """Index of a bracket nested deeper than allowed; the tree is then incomplete."""


@define
class _Frame:
    """An open bracket, or the pattern as a whole."""

    opener: str
    start: int
    groups_before: int
    index: int | None = None
    options: list[ast.Node] = Factory(list)
    parts: list[ast.Node] = Factory(list)

    def close(self) -> ast.Node:
        """Give what was read since the bracket."""
        return ast.choice((*self.options, ast.sequence(tuple(self.parts))))


def parse(text: str, *, unicode: bool, ignore_case: bool, max_nesting: int) -> Parsed:
    """Read a pattern given as code points (`unicode`) or UTF-16 units; raises `Fault`."""
    captures = [match for match in _CAPTURE.finditer(text) if match[0][0] == "("]
    reader = Reader(
        text=text,
        unicode=unicode,
        ignore_case=ignore_case,
        named_groups=any(match[1] for match in captures),
    )
    return _Parser(reader=reader, group_total=len(captures), max_nesting=max_nesting).run()


@define
class _Parser:
    reader: Reader
    group_total: int
    max_nesting: int
    groups_started: int = 0
    names: dict[str, int] = Factory(dict)
    references: list[ast.BackReference] = Factory(list)
    too_deep: int | None = None
    stack: list[_Frame] = Factory(list)

    def run(self) -> Parsed:
        self.stack.append(_Frame(opener="", start=0, groups_before=0))
        while char := self.reader.peek():
            self._step(char)
        if len(self.stack) > 1:
            raise Fault("UNTERMINATED_GROUP", "a bracket is not closed", self.stack[-1].start)
        return Parsed(
            root=self.stack[0].close(),
            group_count=self.groups_started,
            names=tuple(self.names.items()),
            references=frozenset(map(self._resolve, self.references)),
            has_properties=self.reader.property_count > 0,
            too_deep=self.too_deep,
        )

    def _resolve(self, reference: ast.BackReference) -> int:
        if isinstance(reference.target, int):
            return reference.target
        if reference.target not in self.names:
            reason = "no group has the name referred to"
            raise Fault("UNKNOWN_NAMED_REFERENCE", reason, reference.offset)
        return self.names[reference.target]

    def _step(self, char: str) -> None:
        """Read one part, bracket or bar."""
        if char == "|":
            self.reader.index += 1
            frame = self.stack[-1]
            frame.options.append(ast.sequence(tuple(frame.parts)))
            frame.parts = []
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char in _ASSERTIONS:
            self.reader.index += 1
            self.stack[-1].parts.append(ast.Assertion(kind=_ASSERTIONS[char]))
        elif char == "\\":
            self._escape()
        elif char in "*+?{}]":
            self._stray(char)
        else:
            self._atom(char)

    def _open(self) -> None:
        """Read an opening bracket of any kind."""
        reader = self.reader
        start = reader.index
        look = next((opener for opener in _LOOKS if reader.take(opener)), None)
        frame = _Frame(opener=look or "(", start=start, groups_before=self.groups_started)
        self.stack.append(frame)
        if look or reader.take("(?:"):
            return
        if reader.take("(?<"):
            name = read_group_name(reader)
            if name in self.names:
                raise Fault("DUPLICATE_GROUP_NAME", "two groups have one name", start)
            self.names[name] = self.groups_started + 1
        elif reader.take("(?"):
            raise Fault("INVALID_GROUP", "JavaScript has no such bracket", start)
        else:
            reader.index += 1
        self.groups_started += 1
        if self.groups_started > MAX_GROUPS:
            raise Fault("TOO_MANY_GROUPS", "more groups than JavaScript allows", start)
        frame.index = self.groups_started

    def _close(self) -> None:
        """Read a closing bracket and the quantifier after it."""
        if len(self.stack) == 1:
            raise Fault("UNMATCHED_BRACKET", "this bracket closes nothing", self.reader.index)
        self.reader.index += 1
        frame = self.stack.pop()
        body = frame.close()
        if len(self.stack) > self.max_nesting:
            # Keep reading for JavaScript's verdict, but build no tree that deep.
            self.too_deep = frame.start if self.too_deep is None else self.too_deep
            body = ast.EMPTY
        if frame.opener in _LOOKS:
            ahead, negative = _LOOKS[frame.opener]
            node = ast.look(body, ahead=ahead, negative=negative)
            repeatable = ahead and not self.reader.unicode
        else:
            node = ast.group(body, frame.index)
            repeatable = True
        self._add(node, frame.groups_before, repeatable=repeatable)

    def _stray(self, char: str) -> None:
        """Judge a quantifier's character that follows nothing it could repeat."""
        reader = self.reader
        if char in "*+?" or (char == "{" and _INTERVAL.match(reader.text, reader.index)):
            raise Fault("NOTHING_TO_REPEAT", "a quantifier follows nothing", reader.index)
        if reader.unicode:
            raise Fault("LONE_BRACKET", "with the u flag this must be escaped", reader.index)
        self._atom(char)

    def _atom(self, char: str) -> None:
        """Read a dot, a class or a character that stands for itself."""
        self.reader.index += 1
        node: ast.Node
        if char == ".":
            node = ast.Dot()
        elif char == "[":
            node = read_class(self.reader)
        else:
            node = ast.Char(code=ord(char))
        self._add(node, self.groups_started)

    def _escape(self) -> None:
        """Read a backslash and what belongs to it."""
        reader = self.reader
        start = reader.index
        reader.index += 1
        if reader.peek() in _WORD_ASSERTIONS:
            self.stack[-1].parts.append(ast.Assertion(kind=_WORD_ASSERTIONS[reader.next()]))
            return
        node: ast.Node | None = self._reference(start)
        if node is None and (found := read_class_escape(reader)):
            ranges, term = found
            terms = () if term is None else (term,)
            node = ast.CharClass(ranges=ranges, properties=terms, offset=start)
        if node is None:
            node = ast.Char(code=read_character_escape(reader, in_class=False))
        self._add(node, self.groups_started)

    def _reference(self, start: int) -> ast.BackReference | None:
        """Read a reference to a group; None, and nothing is consumed, if it is none."""
        reader = self.reader
        target: int | str | None = None
        if reader.peek() in frozenset("123456789"):
            target = self._group_number(start)
        elif reader.peek() == "k" and (reader.unicode or reader.named_groups):
            if not reader.take("k<"):
                raise Fault("INVALID_NAMED_REFERENCE", "\\k needs a name in <>", start)
            target = read_group_name(reader)
        if target is None:
            return None
        reference = ast.BackReference(target=target, offset=start)
        self.references.append(reference)
        return reference

    def _group_number(self, start: int) -> int | None:
        reader = self.reader
        before = reader.index
        digits = reader.take_while(frozenset("0123456789"))
        # A longer number is beyond every pattern's groups, and slow to read.
        if len(digits) <= len(str(MAX_GROUPS)) and int(digits) <= self.group_total:
            return int(digits)
        if reader.unicode:
            raise Fault("INVALID_ESCAPE", "a number here refers to no group", start)
        reader.index = before
        return None

    def _add(self, node: ast.Node, groups_before: int, *, repeatable: bool = True) -> None:
        """Keep a part, together with the quantifier that may follow it."""
        reader = self.reader
        start = reader.index
        counts = _read_quantifier(reader)
        if counts is not None:
            if not repeatable:
                raise Fault("INVALID_QUANTIFIER", "this cannot be repeated", start)
            least, most = counts
            node = ast.repeat(
                node,
                least=least,
                most=None if most == UNBOUNDED else most,
                lazy=reader.take("?"),
                groups=range(groups_before + 1, self.groups_started + 1),
            )
        self.stack[-1].parts.append(node)


def _read_quantifier(reader: Reader) -> tuple[int, int] | None:
    char = reader.peek()
    if char in _SIMPLE_QUANTIFIERS:
        reader.index += 1
        return _SIMPLE_QUANTIFIERS[char]
    if char != "{":
        return None
    interval = _INTERVAL.match(reader.text, reader.index)
    if interval is None:
        if reader.unicode:
            raise Fault("INCOMPLETE_QUANTIFIER", "this brace is no quantifier", reader.index)
        return None
    least = _read_count(interval[1])
    most = least if interval[2] is None else _read_count(interval[3] or str(UNBOUNDED))
    if most < least:
        reason = "a quantifier's bounds are out of order"
        raise Fault("QUANTIFIER_OUT_OF_ORDER", reason, reader.index)
    reader.index = interval.end()
    return least, most


def _read_count(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    return UNBOUNDED if len(significant) > len(str(UNBOUNDED)) else min(int(significant), UNBOUNDED)
