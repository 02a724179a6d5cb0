"""SillyTavern's messages as text for people.

Owns the words about messages, what was dropped and what scripts did; files, world books and remarks
are those of every report. Knows no terminal: the width is an argument.
"""

from collections.abc import Iterator

from tavern_compiler import Dropped, PromptMessage, ScriptOutcome, ScriptUse
from tavern_loader.layout import clean, cut, table, wrap
from tavern_loader.report import MIN_WIDTH, books_sections, files_section, join, remarks_section
from tavern_loader.service.project_files import MessageList

_WIDE = 60
"""From this width on there is room for both sizes of a message."""
_MAX_ROLE, _ROLE_SHARE = 26, 0.24
_MAX_SOURCE, _SOURCE_SHARE = 34, 0.3
"""How much of the width a column may take before it is cut."""
_MAX_SOURCES = 2
_SHOWN_SCRIPT_USES = 20


def message_report(done: MessageList, width: int, *, title: str = "", counted_with: str) -> str:
    """Render the report; `counted_with` says what a token is here."""
    cells = max(width, MIN_WIDTH)
    return join(
        files_section(done, cells, title),
        _messages(done, cells, counted_with),
        *_dropped(done.projection.dropped, cells),
        *_scripts(done.projection.scripts, cells),
        *books_sections(done, cells),
        remarks_section(done, cells),
    )


def _messages(done: MessageList, cells: int, counted_with: str) -> Iterator[str]:
    messages = done.projection.messages
    tokens = sum(one.tokens for one in messages)
    yield from wrap(
        f"Messages: {len(messages)}, about {tokens:,} of {done.budget_tokens:,.0f} tokens"
        f" ({counted_with})",
        cells,
    )
    if done.projection.over_budget is not None:
        lost = clean(done.projection.over_budget)
        yield from wrap(f"The request ends before {lost}: it does not fit and must.", cells)
    head = ("  role", "from", "tokens", "chars", "text")
    rows: list[tuple[str, ...]] = [head, *(_row(one, cells) for one in messages)]
    if cells < _WIDE:
        rows = [(*row[:3], row[-1]) for row in rows]
    yield from table(rows, cells, right=range(2, len(rows[0]) - 1))


def _row(message: PromptMessage, cells: int) -> tuple[str, str, str, str, str]:
    return (
        f"  {cut(clean(_role(message)), min(_MAX_ROLE, int(cells * _ROLE_SHARE)))}",
        cut(clean(_origin(message)), min(_MAX_SOURCE, int(cells * _SOURCE_SHARE))),
        str(message.tokens),
        str(len(message.content)),
        clean(message.content),
    )


def _role(message: PromptMessage) -> str:
    return f"{message.role} ({message.name})" if message.name else message.role


def _origin(message: PromptMessage) -> str:
    names = [source.path.removeprefix("/") for source in message.sources]
    more = f" + {len(names) - _MAX_SOURCES} more" if len(names) > _MAX_SOURCES else ""
    return " + ".join(names[:_MAX_SOURCES]) + more


def _dropped(dropped: tuple[Dropped, ...], cells: int) -> Iterator[Iterator[str]]:
    if dropped:
        yield _dropped_rows(dropped, cells)


def _dropped_rows(dropped: tuple[Dropped, ...], cells: int) -> Iterator[str]:
    yield f"Not sent: {len(dropped)}, about {sum(one.tokens for one in dropped):,} tokens"
    rows = [
        (
            f"  {cut(clean(one.identifier) or '-', int(cells * _SOURCE_SHARE))}",
            str(one.tokens),
            one.diagnostic.code,
        )
        for one in dropped
    ]
    yield from table([("  what", "tokens", "why"), *rows], cells, right=[1])


def _scripts(uses: tuple[ScriptUse, ...], cells: int) -> Iterator[Iterator[str]]:
    if uses:
        yield _script_rows(uses, cells)


def _script_rows(uses: tuple[ScriptUse, ...], cells: int) -> Iterator[str]:
    changed = len({one.text_path for one in uses if one.run.outcome is ScriptOutcome.REPLACED})
    yield f"Regex scripts: {changed} texts changed"
    rows = [
        (
            f"  {cut(clean(one.run.name) or '-', int(cells * _ROLE_SHARE))}",
            cut(clean(one.text_path).removeprefix("/"), int(cells * _SOURCE_SHARE)),
            f"{one.run.origin}: {one.run.outcome} {one.run.matches or ''}".rstrip(),
        )
        for one in uses[:_SHOWN_SCRIPT_USES]
    ]
    yield from table([("  script", "text", "what it did"), *rows], cells)
    if len(uses) > _SHOWN_SCRIPT_USES:
        yield f"  ... and {len(uses) - _SHOWN_SCRIPT_USES} more"
