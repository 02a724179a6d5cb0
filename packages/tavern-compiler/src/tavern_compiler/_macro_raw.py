"""A macro as it stands in its text, with what is inside it replaced.

Owns what is shown of a macro that is not executed. Must not know why it is not.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroCstWalker.js.
"""

from typing import NamedTuple

from tavern_compiler._macro_nodes import Node


class Piece(NamedTuple):
    """An argument that was expanded, and where it stood."""

    start: int
    end: int
    text: str


def end_of(node: Node) -> int:
    """Give the end of a macro, or as far as it reaches where its end is missing."""
    return node.reach if node.end is None else node.end


def raw_text(text: str, node: Node, pieces: list[Piece]) -> str:
    """Give the macro itself, with what is inside it replaced.

    Of a text between tags the closing one is lost, and braces come in its place: so does
    SillyTavern.
    """
    copied = node.start + 2
    end = node.start if node.assumed_end else end_of(node) - (2 if node.complete else 0)
    if copied > end:
        return "{{}}"
    shown = ["{{"]
    for piece in pieces:
        shown += (text[copied : piece.start], piece.text)
        copied = piece.end
    return "".join((*shown, text[copied:end] if copied < end else "", "}}"))
