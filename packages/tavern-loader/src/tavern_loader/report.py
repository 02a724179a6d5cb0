"""A compilation as text for people.

Owns the words and the order of the report: files, parts, world books, remarks. Knows no terminal:
the width is an argument, and there is no colour.
"""

from collections.abc import Iterable, Iterator

from tavern_compiler import Part, PartSource, SourceKind
from tavern_loader.layout import clean, cut, table, wrap
from tavern_loader.service.compile_files import Compilation
from tavern_loader.service.groundwork import Groundwork
from tavern_loader.service.resources import Remark
from tavern_matcher import Decision, explain

DEFAULT_WIDTH = 100
MIN_WIDTH = 40
_MAX_NAME = 46
_MAX_SOURCE = 30
_NAME_SHARE = 0.4
_SOURCE_SHARE = 0.25
"""Parts of the width that a column may take before it is cut."""
_INDENT = "    "


def text_report(done: Compilation, width: int = DEFAULT_WIDTH, *, title: str = "") -> str:
    """Render the report; `width` is counted in terminal cells, and taken as MIN_WIDTH at least."""
    cells = max(width, MIN_WIDTH)
    return join(
        files_section(done, cells, title),
        _parts(done, cells),
        *books_sections(done, cells),
        remarks_section(done, cells),
    )


def join(*sections: Iterable[str]) -> str:
    """Put sections one below the other."""
    return "\n".join("\n".join(lines) + "\n" for lines in sections)


def files_section(done: Groundwork, cells: int, title: str) -> Iterator[str]:
    """List the files that were used."""
    yield title or "Files"
    rows = [
        (
            f"  {used.role}",
            cut(clean(done.title(used.name)), _at_most(_MAX_SOURCE, _SOURCE_SHARE, cells)),
            clean("" if used.name in done.titles else used.detail),
        )
        for used in done.used
    ]
    yield from table(rows, cells)


def _parts(done: Compilation, cells: int) -> Iterator[str]:
    parts = done.profile.parts
    if not parts:
        yield "Parts: none"
        return
    size = sum(part.size_chars for part in parts)
    yield from wrap(
        f"Parts: {len(parts)}, {size} characters"
        f" (each name begins with {_common_prefix(parts[0])})",
        cells,
    )
    head = ("  name", "from", "chars", "text")
    rows = [
        (
            f"  {cut(clean(_short_name(part)), _at_most(_MAX_NAME, _NAME_SHARE, cells))}",
            cut(clean(_origin(part, done)), _at_most(_MAX_SOURCE, _SOURCE_SHARE, cells)),
            str(part.size_chars),
            clean(part.text),
        )
        for part in parts
    ]
    yield from table([head, *rows], cells, right=[2])


def _at_most(most: int, share: float, cells: int) -> int:
    return min(most, int(cells * share))


def _common_prefix(part: Part) -> str:
    return part.name[: len(part.name) - len(_short_name(part))]


def _short_name(part: Part) -> str:
    """Take off what all names begin with."""
    return part.name.split(":", 2)[2]


def _origin(part: Part, done: Groundwork) -> str:
    return " + ".join(_source(source, done) for source in part.sources)


def _source(source: PartSource, done: Groundwork) -> str:
    if source.kind is SourceKind.PRESET:
        return f"{source.identifier} ({source.role})"
    if source.kind is SourceKind.WORLD_BOOK:
        return f"{done.title(source.resource_id or '')} #{source.entry_id}"
    return {SourceKind.CHARACTER: "card"}.get(source.kind, source.kind.value)


def books_sections(done: Groundwork, cells: int) -> Iterator[Iterator[str]]:
    """Say of each world book which entries fired, and why."""
    for named in done.books:
        decisions = sorted(
            (one for one in done.match.decisions if one.entry.book == named.name),
            key=lambda one: one.entry.index,
        )
        yield _book(done.title(named.name), decisions, cells)


def _book(name: str, decisions: list[Decision], cells: int) -> Iterator[str]:
    fired = sum(decision.fired for decision in decisions)
    yield cut(f"World book {clean(name)}: {fired} of {len(decisions)} fired", cells)
    for decision in decisions:
        mark = "  + " if decision.fired else "  - "
        first, *others = wrap(clean(explain(decision)), cells - len(mark))
        yield mark + first
        yield from (_INDENT + line for line in others)


def remarks_section(done: Groundwork, cells: int) -> Iterator[str]:
    """List all diagnostics."""
    if not done.remarks:
        yield "Diagnostics: none"
        return
    yield f"Diagnostics: {len(done.remarks)}"
    for remark in done.remarks:
        yield from _remark(remark, done, cells)


def _remark(remark: Remark, done: Groundwork, cells: int) -> Iterator[str]:
    found = remark.diagnostic
    place = clean(f"{done.title(remark.source)} {found.path}".strip())
    yield cut(f"  {found.severity:<7}  {found.code}  {place}", cells)
    yield from (_INDENT + line for line in wrap(clean(found.message), cells - len(_INDENT)))
