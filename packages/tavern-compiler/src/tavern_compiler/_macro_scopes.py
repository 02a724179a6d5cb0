"""Put opening and closing tags together: `{{name}}...{{/name}}`.

Owns which closing tag belongs to which opening one. Must not know what a macro does.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroCstWalker.js.
"""

from collections.abc import Callable, Iterator, Sequence

from attrs import define, frozen

from tavern_compiler._macro_nodes import Node

COMMENT = "//"
TakesScope = Callable[[str, int], bool]
"""By name and number of arguments."""


@frozen
class Scope:
    """What stands between two tags, and where the closing one ends."""

    start: int
    end: int
    closed: int


@define
class Item:
    """One complete macro outside of others."""

    node: Node
    raw: bool = False
    """Whether it stays as it is."""
    scope: Scope | None = None


@define
class _Tag:
    item: Item
    name: str
    closing: bool
    takes_scope: bool
    matched: bool = False


def complete_macros(nodes: Sequence[Node]) -> Iterator[Node]:
    """Walk the complete macros in the order of the text; of an incomplete one, those inside it."""
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        if node.complete:
            yield node
        else:
            pending += reversed(node.nested)


def is_closing(text: str, node: Node) -> bool:
    """Tell whether a macro is a closing tag; `{{///}}` closes a comment."""
    if "/" in node.flags:
        return True
    if node.name != COMMENT or not node.arguments:
        return False
    first = node.arguments[0].first_sign
    return first >= 0 and text[first] == "/"


def pair_tags(
    text: str, nodes: Sequence[Node], takes_scope: TakesScope, step: Callable[[int], None]
) -> list[Item]:
    """Give the macros to be looked at, those between two tags left out.

    `step` is told how many tags were compared.
    """
    items = [Item(node) for node in complete_macros(nodes)]
    named = [item for item in items if item.node.name and item.node.variable is None]
    if not any(is_closing(text, item.node) for item in named):
        return items
    tags = [
        _Tag(item, node.name.lower(), is_closing(text, node),
             takes_scope(node.name, len(node.arguments)))
        for item in named
        for node in (item.node,)
    ]  # fmt: skip
    _pair(tags, step)
    inside = -1
    kept = []
    for item in items:
        if item.node.start >= inside:
            kept.append(item)
            inside = item.scope.closed if item.scope else inside
    return kept


def _pair(tags: list[_Tag], step: Callable[[int], None]) -> None:
    by_name: dict[str, list[int]] = {}
    for at, tag in enumerate(tags):
        by_name.setdefault(tag.name, []).append(at)
    matches = {name: _matches(tags, places) for name, places in by_name.items()}
    outside = 0
    for at, tag in enumerate(tags):
        closing = None if tag.closing or tag.matched else matches[tag.name].get(at)
        if at < outside or closing is None:
            continue
        tag.matched = tags[closing].matched = True
        if tag.takes_scope:
            first, last = tag.item.node, tags[closing].item.node
            tag.item.scope = Scope(first.end or 0, last.start, last.end or 0)
            outside = closing
        else:
            tag.item.raw = tags[closing].item.raw = True
            # The closing tag is taken: others of the name have to be matched anew.
            places = [place for place in by_name[tag.name] if place > at]
            step(len(places))
            by_name[tag.name] = places
            matches[tag.name] = _matches(tags, places)
    for tag in tags:
        tag.item.raw = tag.item.raw or (tag.closing and not tag.matched)


def _matches(tags: list[_Tag], places: list[int]) -> dict[int, int]:
    """Find the closing tag of each opening one of a name, from the end of the text on."""
    open_closings: list[int] = []
    found: dict[int, int] = {}
    for place in reversed(places):
        tag = tags[place]
        if tag.matched:
            continue
        if tag.closing:
            open_closings.append(place)
        elif open_closings:
            found[place] = open_closings.pop() if tag.takes_scope else open_closings[-1]
    return found
