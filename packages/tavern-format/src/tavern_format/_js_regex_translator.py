"""From a JavaScript syntax tree to a pattern with the same matches in the `regex` module.

Owns what differs in how the two run: references to groups that have no value, values that do
not outlive a repetition, repetitions that consume nothing. Source: ECMAScript 2023, 22.2.2
(RepeatMatcher, BackreferenceMatcher) against the module's VERSION0 behaviour.

Three devices carry the differences:

- A reference is written as a conditional, since one without a value matches empty.
- At each repetition JavaScript takes the values of the groups inside away. Here they are set
  to the empty text instead, which a reference cannot tell from no value.
- JavaScript rejects a repetition that consumed nothing. Where that can be seen from outside,
  a helper group keeps all text after the repetition's start, and finding it again at the end
  means that the position is the same. In a lookbehind the text before it serves.
"""

from attrs import Factory, define

from . import _js_regex_ast as ast
from ._js_regex_parser import Parsed
from ._js_regex_writer import Refusal, Writer

MAX_NODES = 50_000
"""Parts written before giving up: a repetition that is written twice doubles what it holds."""


def write_pattern(parsed: Parsed, writer: Writer) -> str:
    """Write the whole tree; raises `Refusal`."""
    translator = _Translator(writer=writer, parsed=parsed, name_all=False)
    text = translator.write(parsed.root, backward=False)
    if not translator.helpers:
        return text
    # Helper groups would shift the numbers of those after them, unless all have been named first.
    translator = _Translator(writer=writer, parsed=parsed, name_all=True)
    text = translator.write(parsed.root, backward=False)
    numbers = range(1, parsed.group_count + 1)
    if not numbers:
        return text
    return f"(?(DEFINE){''.join(map(_empty_group, numbers))}){text}"


def _empty_group(index: int) -> str:
    return f"(?P<_{index}>)"


@define
class _Translator:
    writer: Writer
    parsed: Parsed
    name_all: bool
    named: set[int] = Factory(set)
    open_groups: set[int] = Factory(set)
    helpers: int = 0
    nodes: int = 0

    def write(self, node: ast.Node, *, backward: bool) -> str:
        """Write one part; `backward` inside a lookbehind, which is matched from its end."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            reason = "nested repetitions that can be empty grow too large"
            raise Refusal("TRANSLATION_TOO_LARGE", reason, 0)
        match node:
            case ast.Sequence():
                text = self._sequence(node, backward=backward)
            case ast.Choice():
                text = "|".join(self.write(option, backward=backward) for option in node.options)
            case ast.Group():
                text = self._group(node, backward=backward)
            case ast.Repeat():
                text = self._repeat(node, backward=backward)
            case ast.Look():
                sign = f"{'' if node.ahead else '<'}{'!' if node.negative else '='}"
                text = f"(?{sign}{self.write(node.body, backward=not node.ahead)})"
            case ast.BackReference():
                text = self._reference(node)
            case _:
                text = self._leaf(node)
        return text

    def _leaf(self, node: ast.Char | ast.Dot | ast.CharClass | ast.Assertion) -> str:
        match node:
            case ast.Char():
                return self.writer.char(node.code)
            case ast.Dot():
                return self.writer.dot()
            case ast.CharClass():
                return self.writer.char_class(node)
            case ast.Assertion():
                return self.writer.assertion(node.kind)

    def _sequence(self, node: ast.Sequence, *, backward: bool) -> str:
        """Write parts in order, with neighbouring characters as runs."""
        written: list[str] = []
        run: list[int] = []
        for part in node.parts:
            if isinstance(part, ast.Char) and not self.writer.splits_run(part.code):
                run.append(part.code)
                continue
            written += [self.writer.run(tuple(run)), self.write(part, backward=backward)]
            run = []
        written.append(self.writer.run(tuple(run)))
        return "".join(written)

    def _group(self, node: ast.Group, *, backward: bool) -> str:
        index = node.index
        if index is None:
            return f"(?:{self.write(node.body, backward=backward)})"
        self.open_groups.add(index)
        body = self.write(node.body, backward=backward)
        self.open_groups.discard(index)
        name = f"?P<_{index}>" if self.name_all or index in self.named else ""
        return f"({name}{body})"

    def _reference(self, node: ast.BackReference) -> str:
        names = dict(self.parsed.names)
        index = names[node.target] if isinstance(node.target, str) else node.target
        if index in self.open_groups:
            # A group has no value before its end, so this can only match empty.
            return "(?:)"
        text = f"\\g<{index}>"
        if self.writer.ignore_case:
            text = f"(?i:{text})"
        return f"(?:(?({index}){text}|))"

    def _repeat(self, node: ast.Repeat, *, backward: bool) -> str:
        body = node.body.facts
        if body.only_empty:
            # Only the required repetitions take place, and all give the same.
            count = "{0}" if node.least == 0 else ""
            return f"(?:{self.write(node.body, backward=backward)}){count}"
        if node.most == 0 or not body.nullable or (body.empty_last and not node.groups):
            return self._round(node, (node.least, node.most), guarded=False, backward=backward)
        rounds: list[str] = []
        if node.least:
            self.named.update(node.groups)
            counts = (node.least, node.least)
            rounds.append(self._round(node, counts, guarded=False, backward=backward))
        if node.most is None or node.most > node.least:
            counts_left = (0, None if node.most is None else node.most - node.least)
            rounds.append(self._round(node, counts_left, guarded=True, backward=backward))
        return "".join(reversed(rounds) if backward else rounds)

    def _round(
        self, node: ast.Repeat, counts: tuple[int, int | None], *, guarded: bool, backward: bool
    ) -> str:
        """Write a repetition; `guarded` makes each round consume something."""
        resets = self._resets(node)
        self.named.update(resets)
        before = "".join(map(_empty_group, resets))
        after = ""
        if guarded:
            self.helpers += 1
            helper = f"_p{self.helpers}"
            look, not_again = ("(?<=", "(?<!") if backward else ("(?=", "(?!")
            before = f"{look}(?P<{helper}>.*)){before}"
            after = f"{not_again}\\g<{helper}>)"
        body = self.write(node.body, backward=backward)
        if before and isinstance(node.body, ast.Choice):
            body = f"(?:{body})"
        if before or not _is_atom(node.body):
            body = f"{after}{body}{before}" if backward else f"{before}{body}{after}"
            body = f"(?:{body})"
        return f"{body}{_quantifier(*counts, lazy=node.lazy)}"

    def _resets(self, node: ast.Repeat) -> range:
        """Groups whose value of the round before could be seen in or after a round."""
        if node.most == 1:
            return range(0)
        sure = node.body.facts.sure_groups
        stale = [i for i in node.groups if i not in sure or i in self.parsed.references]
        # Those before the last one come along: a group is numbered where it first appears.
        return range(node.groups.start, stale[-1] + 1) if stale else range(0)


def _is_atom(node: ast.Node) -> bool:
    return isinstance(node, ast.Char | ast.Dot | ast.CharClass | ast.Group | ast.BackReference)


def _quantifier(least: int, most: int | None, *, lazy: bool) -> str:
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if simple is not None:
        counts = simple
    elif most is None:
        counts = f"{{{least},}}"
    elif least == most:
        counts = f"{{{least}}}"
    else:
        counts = f"{{{least},{most}}}"
    return f"{counts}{'?' if lazy else ''}"
