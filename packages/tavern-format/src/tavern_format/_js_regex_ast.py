"""The syntax tree of a JavaScript pattern, with what later steps ask about each node.

Owns: node types and the facts computed once, when a node is built, from its children's. Knows
neither how patterns are written nor what they are translated to. Source: ECMAScript 2023,
sections 22.2.1 and 22.2.2 (pattern syntax and semantics).
"""

from typing import Literal

from attrs import frozen

from ._js_regex_charset import Ranges

AssertionKind = Literal["start", "end", "boundary", "not_boundary"]


@frozen(kw_only=True)
class Facts:
    """What is known of a node without running it."""

    nullable: bool = False
    """It can match without consuming anything."""

    only_empty: bool = False
    """It never consumes anything."""

    empty_last: bool = True
    """Whenever it can match empty, it tries that after every other way."""

    weight: int = 1
    """How many parts the `regex` module makes of it: it writes required repeats out."""

    sure_groups: frozenset[int] = frozenset()
    """Groups that have a value after every successful match of the node."""


EMPTY_FACTS = Facts(nullable=True, only_empty=True)
LEAF_FACTS = Facts()


@frozen(kw_only=True)
class Char:
    """One character, given by its code point or UTF-16 unit."""

    code: int
    facts: Facts = LEAF_FACTS


@frozen(kw_only=True)
class Dot:
    """Any character, or with the s flag unset any that ends no line."""

    facts: Facts = LEAF_FACTS


@frozen(kw_only=True)
class PropertyTerm:
    """A Unicode property inside a class; `name` is spelt as in JavaScript."""

    name: str
    negated: bool


@frozen(kw_only=True)
class CharClass:
    """A set of characters, before case folding and before `negated` applies."""

    ranges: Ranges
    properties: tuple[PropertyTerm, ...] = ()
    negated: bool = False
    offset: int = 0
    facts: Facts = LEAF_FACTS


@frozen(kw_only=True)
class Assertion:
    """A test of the position that has no body."""

    kind: AssertionKind
    facts: Facts = EMPTY_FACTS


@frozen(kw_only=True)
class BackReference:
    """What an earlier group matched; by number, or by name until names are resolved."""

    target: int | str
    offset: int
    facts: Facts = Facts(nullable=True)


@frozen(kw_only=True)
class Group:
    """A bracketed part; `index` is None when it does not capture."""

    body: "Node"
    index: int | None
    facts: Facts


@frozen(kw_only=True)
class Look:
    """A lookahead or lookbehind."""

    body: "Node"
    ahead: bool
    negative: bool
    facts: Facts


@frozen(kw_only=True)
class Repeat:
    """A quantified part; `most` is None when unbounded."""

    body: "Node"
    least: int
    most: int | None
    lazy: bool
    groups: range
    """Numbers of the capturing groups inside `body`."""

    facts: Facts


@frozen(kw_only=True)
class Sequence:
    """Parts one after the other; without parts it matches empty."""

    parts: tuple["Node", ...]
    facts: Facts


@frozen(kw_only=True)
class Choice:
    """Alternatives in order of preference; at least two."""

    options: tuple["Node", ...]
    facts: Facts


Node = (
    Char | Dot | CharClass | Assertion | BackReference | Group | Look | Repeat | Sequence | Choice
)

EMPTY = Sequence(parts=(), facts=EMPTY_FACTS)


def sequence(parts: tuple[Node, ...]) -> Node:
    """Join parts; a single part stands for itself."""
    if len(parts) == 1:
        return parts[0]
    facts = [part.facts for part in parts]
    nullable = all(fact.nullable for fact in facts)
    return Sequence(
        parts=parts,
        facts=Facts(
            nullable=nullable,
            only_empty=all(fact.only_empty for fact in facts),
            empty_last=not nullable or all(fact.empty_last for fact in facts),
            weight=sum(fact.weight for fact in facts),
            sure_groups=frozenset[int]().union(*(fact.sure_groups for fact in facts)),
        ),
    )


def choice(options: tuple[Node, ...]) -> Node:
    """Join alternatives; a single one stands for itself."""
    if len(options) == 1:
        return options[0]
    facts = [option.facts for option in options]
    return Choice(
        options=options,
        facts=Facts(
            nullable=any(fact.nullable for fact in facts),
            only_empty=all(fact.only_empty for fact in facts),
            empty_last=facts[-1].empty_last and not any(fact.nullable for fact in facts[:-1]),
            weight=1 + sum(fact.weight for fact in facts),
            sure_groups=facts[0].sure_groups.intersection(*(f.sure_groups for f in facts[1:])),
        ),
    )


def group(body: Node, index: int | None) -> Node:
    """Bracket a part."""
    inner = body.facts
    sure = inner.sure_groups if index is None else inner.sure_groups | {index}
    return Group(
        body=body,
        index=index,
        facts=Facts(
            nullable=inner.nullable,
            only_empty=inner.only_empty,
            empty_last=inner.empty_last,
            weight=1 + inner.weight,
            sure_groups=sure,
        ),
    )


def look(body: Node, *, ahead: bool, negative: bool) -> Node:
    """Make a lookaround; a negative one leaves no captures behind."""
    return Look(
        body=body,
        ahead=ahead,
        negative=negative,
        facts=Facts(
            nullable=True,
            only_empty=True,
            weight=1 + body.facts.weight,
            sure_groups=frozenset() if negative else body.facts.sure_groups,
        ),
    )


def repeat(body: Node, *, least: int, most: int | None, lazy: bool, groups: range) -> Node:
    """Quantify a part."""
    inner = body.facts
    nullable = least == 0 or inner.nullable
    only_empty = inner.only_empty or most == 0
    if least == 0:
        empty_last = only_empty or not lazy
    else:
        empty_last = not inner.nullable or (inner.empty_last and not lazy)
    copies = least if least == most else least + 1
    return Repeat(
        body=body,
        least=least,
        most=most,
        lazy=lazy,
        groups=groups,
        facts=Facts(
            nullable=nullable,
            only_empty=only_empty,
            empty_last=empty_last,
            weight=1 + inner.weight * copies,
            sure_groups=inner.sure_groups if least > 0 else frozenset(),
        ),
    )
