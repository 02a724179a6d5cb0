"""CODES.md lists the codes of the source, all of them and no others."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

import tavern_format
from tavern_format.errors import LimitExceededError
from tavern_format.limits import DEFAULT_LIMITS, Limits

SOURCE = Path(tavern_format.__file__).parent
PAGE = Path(__file__).parents[1] / "CODES.md"

CODE = re.compile("[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""Every code is of two words at least; no other text of the source is spelt so, but for names."""
SEVERITIES = {"warn": "warning", "info": "info", "error": "error"}
ERRORS = ("MalformedResourceError", "CarrierError", "UnsupportedVersionError")
NAME_LISTS = ("__all__", "_NAMES")
RESULTS = ("NotRegex", "InvalidPattern", "Untranslatable", "Deviation")


def trees() -> list[ast.Module]:
    return [ast.parse(file.read_text("utf-8")) for file in sorted(SOURCE.rglob("*.py"))]


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Go through the source without lists of names and comparisons (codes made elsewhere)."""
    for node in ast.iter_child_nodes(tree):
        exported = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in NAME_LISTS
        if not exported and not isinstance(node, ast.Compare):
            yield node
            yield from nodes(node)


def code_in(node: ast.AST | None) -> str | None:
    text = node.value if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) and CODE.fullmatch(text) else None


def codes_of_source() -> set[str]:
    found = {code_in(node) for tree in trees() for node in nodes(tree)}
    return {code for code in found if code is not None}


def kinds_of_source() -> Iterator[tuple[str, str]]:
    """Give code and kind of the calls that name both."""
    for call in (node for tree in trees() for node in nodes(tree) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        named = next((item.value for item in call.keywords if item.arg == "code"), None)
        arguments = [code_in(node) for node in (*call.args[:2], named)]
        for code in filter(None, arguments):
            if name in SEVERITIES:
                yield code, SEVERITIES[name]
            elif name in ERRORS:
                yield code, "raised"
            elif name in RESULTS:
                yield code, f"`{name}`"


def rows() -> list[list[str]]:
    """Give the cells of each table row whose first one is a name in backticks."""
    lines = PAGE.read_text("utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]


def code_rows() -> list[list[str]]:
    return [row for row in rows() if CODE.fullmatch(row[0].strip("`"))]


def codes_of_page() -> list[str]:
    return [row[0].strip("`") for row in code_rows()]


def test_every_code_of_the_source_has_a_row() -> None:
    assert codes_of_source() - set(codes_of_page()) == set()


def test_every_row_has_a_code_of_the_source() -> None:
    assert set(codes_of_page()) - codes_of_source() == set()


def test_no_code_has_two_rows() -> None:
    assert len(codes_of_page()) == len(set(codes_of_page()))


def test_rows_tell_how_each_code_is_raised_or_reported() -> None:
    told = {row[0].strip("`"): row[1].split(", ") for row in code_rows()}
    found = set(kinds_of_source())
    assert {kind for _, kind in found} >= {"raised", *SEVERITIES.values()}
    assert {(code, kind) for code, kind in found if kind not in told.get(code, [])} == set()


def test_every_limit_has_a_row_with_its_default() -> None:
    told = {row[0].strip("`"): row[3] for row in rows() if row not in code_rows()}
    names = [limit.name for limit in attrs.fields(Limits)]
    assert told == {name: f"{getattr(DEFAULT_LIMITS, name):,}" for name in names}


def test_every_limit_names_the_code_of_passing_it() -> None:
    told = {row[0].strip("`"): row[1].strip("`") for row in rows() if row not in code_rows()}
    assert told.pop("diagnostics") == "DIAGNOSTICS_DROPPED"
    assert set(told.values()) == {LimitExceededError.CODE}
