"""How commands on the stores show things: tables for people, one document for programs."""

import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tavern_format import Diagnostic
from tavern_loader.domain.documents import Kind, Summary
from tavern_loader.layout import clean, cut, table, wrap
from tavern_loader.report import DEFAULT_WIDTH

MAX_NAME_CELLS = 28


def terminal_width() -> int:
    """Give the width of the terminal; what goes into a file or a program has a usual one."""
    if sys.stdout is None or not sys.stdout.isatty():
        return DEFAULT_WIDTH
    return shutil.get_terminal_size((DEFAULT_WIDTH, 0)).columns


def document_text(document: object) -> str:
    """Write one JSON document."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def lines_text(lines: Iterable[str]) -> str:
    """Join lines to a text that ends with one."""
    return "".join(f"{line}\n" for line in lines)


def columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Set rows in columns under their heads, cut to the width of the terminal."""
    listed = [tuple(clean(text) for text in row) for row in rows]
    yield from table([tuple(head), *listed], terminal_width())


def short_name(name: str) -> str:
    """Cut a name so that it leaves room for other columns."""
    return cut(clean(name), MAX_NAME_CELLS)


def time_text(time: str) -> str:
    """Shorten a stored time to the minute; UTC."""
    return time[:16].replace("T", " ")


def summary_json(summary: Summary) -> dict[str, Any]:
    """Write a line about a resource as values."""
    return {
        "kind": str(summary.kind),
        "id": summary.id,
        "name": summary.name,
        "format": summary.format,
        "updatedAt": summary.updated_at,
        "amount": summary.amount,
    }


def amount_text(summary: Summary) -> str:
    """Say how much is in a resource."""
    if summary.amount is None:
        return ""
    singular, plural = _NOUNS[summary.kind]
    return f"{summary.amount} {singular if summary.amount == 1 else plural}"


_NOUNS = {
    Kind.PRESET: ("prompt", "prompts"),
    Kind.CHARACTER: ("greeting", "greetings"),
    Kind.WORLD_BOOK: ("entry", "entries"),
    Kind.USER: ("", ""),
}


def remark_json(source: str, found: Diagnostic) -> dict[str, Any]:
    """Write a remark as values."""
    return {
        "source": source,
        "severity": str(found.severity),
        "code": found.code,
        "path": found.path,
        "message": found.message,
    }


def remark_lines(source: str, found: Diagnostic) -> Iterator[str]:
    """Say a remark in lines."""
    place = f" {found.path}" if found.path else ""
    text = f"{source}: {found.severity} {found.code}{place}: {found.message}"
    yield from (f"  {line}" for line in wrap(clean(text), max(terminal_width() - 2, 20)))
