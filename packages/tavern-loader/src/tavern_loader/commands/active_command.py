"""`tavern-loader active`: what a session would send now, and why."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve

from tavern_compiler import CompilerError
from tavern_loader.adapters.console import complain
from tavern_loader.adapters.session_logs import LoggedHost
from tavern_loader.commands.bind_command import selection_json, selection_lines
from tavern_loader.commands.command import Command, Outcome, add_home, add_json, installation
from tavern_loader.commands.showing import columns, document_text, lines_text, terminal_width
from tavern_loader.document import json_document
from tavern_loader.domain.documents import Kind
from tavern_loader.errors import HostError, LoaderError
from tavern_loader.http_app import parts_alone
from tavern_loader.layout import clean, wrap
from tavern_loader.report import text_report
from tavern_loader.service.active import Active, Prefix, active
from tavern_loader.service.compile_files import Compilation
from tavern_loader.service.groundwork import UsedFile
from tavern_loader.service.library import BoundBook
from tavern_loader.service.resources import Remark
from tavern_loader.service.templates import Preview
from tavern_matcher import MatcherError


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", metavar="ID", required=True)
    parser.add_argument("--input", metavar="TEXT", default="", help="a message about to be sent")
    add_home(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> Outcome:
    held = installation(options)
    host = LoggedHost(held.storage.root.parent)
    try:
        selection = held.library.selection(options.session)
    except ValueError as error:
        options.usage_error(str(error))
    log, missing = None, "this session has no log"
    try:
        log = host.inspect(options.session)
    except HostError as error:
        missing = str(error)
    try:
        preview = parts_alone(held, complain, host).preview
        found = active(preview, options.session, selection, log, options.input)
    except (CompilerError, MatcherError) as error:
        raise LoaderError(error.code, str(error).removeprefix(f"{error.code}: ")) from error
    bound = held.templates.preview(selection)
    told = None if log is not None else missing
    done = _compilation(bound, found, told)
    if options.json:
        return document_text(_document(options.session, bound, found, done))
    return lines_text(_head(options.session, bound, found, told)) + "\n" + _body(found, done)


def _compilation(bound: Preview, found: Active, missing: str | None) -> Compilation:
    """Give a step as what a compile from files gives, so that one report shows both."""
    step = found.step
    resolved = step.given.resolved
    used = [UsedFile(role="world book", name=one.id, detail=one.title) for one in resolved.books]
    spoken = f"{len(found.history.messages)} messages"
    used.append(UsedFile(role="history", name="", detail=missing or spoken))
    used.extend(
        UsedFile(role="input", name="", detail=one.text) for one in step.given.activation.pending
    )
    return Compilation(
        used=tuple(used),
        books=tuple(one.named for one in resolved.books),
        match=step.match,
        profile=step.profile,
        remarks=(
            *resolved.diagnostics,
            *(Remark("matching", one) for one in step.match.diagnostics),
            *(Remark("compiling", one) for one in step.profile.diagnostics),
        ),
        titles=titles(bound, resolved.books),
    )


def titles(bound: Preview, books: Iterable[BoundBook]) -> dict[str, str]:
    """Give what people are shown for ids: names, with the id where two of a kind have one name."""
    named = [(str(one.kind), one.id, one.name) for one in bound.contents if not one.missing]
    for book in books:
        is_inside = book.owner_character_id is not None
        name = f"{book.title} (in the card)" if is_inside else book.title
        named.append((str(Kind.WORLD_BOOK), book.id, name))
    times = Counter((kind, name) for kind, _, name in dict.fromkeys(named))
    return {
        known_as: name if name and times[kind, name] == 1 else f"{name} ({known_as})".strip()
        for kind, known_as, name in named
    }


def _head(session_id: str, bound: Preview, found: Active, missing: str | None) -> Iterator[str]:
    yield f"Session {session_id}"
    yield from (f"  {line}" for line in selection_lines(bound, ids=False))
    if missing is not None:
        yield f"  its history is not at hand: {clean(missing)}"
    for prefix in found.prefixes:
        yield from (f"  {line}" for line in wrap(_prefix(prefix), terminal_width() - 2))


def _prefix(prefix: Prefix) -> str:
    changes = prefix.changes
    said = "as bound" if prefix.is_bound else "if it were bound"
    where = f"; it parts in {changes.first_difference}" if changes.first_difference else ""
    return (
        f"lore {prefix.channel} ({said}): the first {changes.common_prefix_bytes:,} of"
        f" {changes.current_bytes:,} bytes of the system text are the same without the input"
        f"{where}"
    )


def _body(found: Active, done: Compilation) -> str:
    late = found.step.profile.late_parts
    report = text_report(done, terminal_width(), title="Used")
    if not late:
        return report
    rows = [(part.name.split(":", 2)[-1], str(part.size_chars), part.text) for part in late]
    return (
        report
        + "\n"
        + lines_text(
            ["Late lore: behind the history, as runtime context", *columns(_LATE_HEAD, rows)]
        )
    )


_LATE_HEAD = ("name", "chars", "text")


def _document(
    session_id: str, bound: Preview, found: Active, done: Compilation
) -> Mapping[str, Any]:
    late = evolve(done, profile=evolve(done.profile, parts=found.step.profile.late_parts))
    return {
        "sessionId": session_id,
        **selection_json(bound),
        "prefixes": [
            {
                "loreChannel": str(prefix.channel),
                "isBound": prefix.is_bound,
                "commonBytes": prefix.changes.common_prefix_bytes,
                "systemBytes": prefix.changes.current_bytes,
                "firstDifference": prefix.changes.first_difference,
            }
            for prefix in found.prefixes
        ],
        "compiled": json_document(done) | {"late_parts": json_document(late)["parts"]},
    }


COMMANDS = (
    Command(
        name="active",
        help="show what a session would send now, and why",
        description="Show the prompt parts of a session as they would be sent now, the reason for"
        " every world book entry, and all remarks. Nothing is sent or changed.",
        add_options=_add_options,
        run=_run,
    ),
)
