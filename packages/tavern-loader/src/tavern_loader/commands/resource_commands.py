"""`import`, `list`, `show`, `export`, `delete`: the resources of an installation."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from tavern_loader.adapters.console import complain
from tavern_loader.commands.command import (
    Command,
    Ended,
    Outcome,
    add_home,
    add_json,
    installation,
)
from tavern_loader.commands.files import STDIN, read_source, write_file
from tavern_loader.commands.naming import REFERENCE, meant
from tavern_loader.commands.showing import (
    amount_text,
    columns,
    document_text,
    lines_text,
    remark_json,
    remark_lines,
    short_name,
    summary_json,
    time_text,
)
from tavern_loader.domain.documents import Kind, summary
from tavern_loader.domain.js_values import object_of
from tavern_loader.errors import InputError, LoaderError
from tavern_loader.layout import clean
from tavern_loader.service.catalog import Catalog, Form
from tavern_loader.service.importing import ImportedFile

_BODIES = frozenset({"raw", "prompts", "data", "book"})
"""Keys of documents that `show` leaves out for people: they hold the resource itself."""


# --- import ----------------------------------------------------------------------------------


def _import(options: argparse.Namespace) -> Outcome:
    importing = installation(options).importing
    done: list[ImportedFile] = []
    failed: list[tuple[str, LoaderError]] = []
    for path in options.files:
        try:
            done.append(importing.take(read_source(path), name=options.name or ""))
        except InputError as error:
            failed.append((path, error))
        except LoaderError as error:  # of a store, which says nothing of the file
            complain(f"error: {clean(path)}: {error}")
            failed.append((path, error))
    if options.json:
        print_text = document_text(
            {"files": [*_imported_json(done)], "failed": [*_failures(failed)]}
        )
    else:
        print_text = lines_text(_imported_lines(done, failed))
    return Ended(print_text, 1 if failed else 0)


def _imported_json(done: list[ImportedFile]) -> Iterator[dict[str, Any]]:
    for file in done:
        yield {
            "file": file.name,
            "detected": file.detected,
            "container": file.container,
            "resources": [
                {
                    "kind": str(one.kind),
                    "id": one.id,
                    "name": one.name,
                    "diagnostics": [remark_json(file.name, found) for found in one.remarks],
                }
                for one in file.resources
            ],
        }


def _failures(failed: list[tuple[str, LoaderError]]) -> Iterator[dict[str, Any]]:
    for path, error in failed:
        yield {"file": path, "code": error.code, "message": error.message}


def _imported_lines(
    done: list[ImportedFile], failed: list[tuple[str, LoaderError]]
) -> Iterator[str]:
    rows = [
        (short_name(file.name), file.detected, one.id, one.name)
        for file in done
        for one in file.resources
    ]
    if rows:
        yield from columns(("file", "is", "id", "name"), rows)
    for file in done:
        for one in file.resources:
            for found in one.remarks:
                yield from remark_lines(file.name, found)
    for _, error in failed:
        if isinstance(error, InputError):
            yield f"not kept: {clean(str(error))}"


def _import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="or - for standard input")
    parser.add_argument("--name", help="for a resource that has no name of its own")
    add_home(parser)
    add_json(parser)


# --- list and show ---------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> Outcome:
    catalog = installation(options).catalog
    kinds = [Kind(kind) for kind in options.kind] or list(Kind)
    listings = [(kind, catalog.listing(kind)) for kind in kinds]
    problems = [remark for _, listing in listings for remark in listing.problems]
    if options.json:
        return document_text(
            {
                "resources": [
                    summary_json(one) for _, listing in listings for one in listing.summaries
                ],
                "problems": [remark_json(one.source, one.diagnostic) for one in problems],
            }
        )
    rows = [
        (str(kind), short_name(one.name), amount_text(one), time_text(one.updated_at), one.id)
        for kind, listing in listings
        for one in listing.summaries
    ]
    lines = [*columns(("kind", "name", "holds", "changed", "id"), rows)] if rows else ["nothing"]
    for one in problems:
        lines.extend(remark_lines(one.source, one.diagnostic))
    return lines_text(lines)


def _list_options(parser: argparse.ArgumentParser) -> None:
    names = [str(kind) for kind in Kind]
    parser.add_argument("kind", nargs="*", metavar="KIND", help=f"only of {', '.join(names)}")
    add_home(parser)
    add_json(parser)


def _checked_list(options: argparse.Namespace) -> Outcome:
    for kind in options.kind:
        if kind not in tuple(Kind):
            options.usage_error(f"there is no kind {kind}; there are: {', '.join(Kind)}")
    return _list(options)


def _show(options: argparse.Namespace) -> Outcome:
    catalog = installation(options).catalog
    kind, document_id = _meant(catalog, options)
    stored = catalog.get(kind, document_id)
    if options.json:
        return document_text(stored.document)
    found = summary(kind, document_id, stored.document)
    rows = [
        ("kind", str(kind)),
        ("name", found.name),
        ("id", document_id),
        ("holds", amount_text(found)),
        ("revision", stored.revision),
        *_facts(stored.document),
    ]
    return lines_text(columns(("", ""), [row for row in rows if row[1]]))


def _facts(document: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in document.items():
        if key in _BODIES or (not before and key in ("id", "name", "schemaVersion")):
            continue
        if isinstance(value, Mapping):
            yield from _facts(object_of(value), f"{before}{key}.")
        elif isinstance(value, list):
            yield f"{before}{key}", f"{len(value)}" if value else ""
        elif value is not None:
            yield f"{before}{key}", str(value)


# --- export and delete -----------------------------------------------------------------------


def _export(options: argparse.Namespace) -> Outcome:
    catalog = installation(options).catalog
    kind, document_id = _meant(catalog, options)
    try:
        file = catalog.exported(kind, document_id, Form(options.form) if options.form else None)
    except ValueError as error:
        options.usage_error(str(error))
    if options.output == STDIN:
        return file.data
    path = _file_name(file.name) if options.output is None else options.output
    write_file(path, file.data)
    return f"{path}: {len(file.data)} bytes, {file.media_type}\n"


def _file_name(name: str) -> str:
    """Make a name that cannot lead out of the folder."""
    kept = "".join("_" if char in '/\\:*?"<>|' or char < " " else char for char in name)
    return kept.lstrip(".") or "resource"


def _export_options(parser: argparse.ArgumentParser) -> None:
    _add_reference(parser)
    forms = [str(form) for form in Form]
    parser.add_argument("--form", choices=forms, help="else PNG for a picture, JSON for the rest")
    parser.add_argument("--output", metavar="FILE", help="else named after it; - standard output")
    add_home(parser)


def _delete(options: argparse.Namespace) -> Outcome:
    catalog = installation(options).catalog
    found = (meant(catalog, one, _kind(options)) for one in options.resources)
    named = list(dict.fromkeys(found))  # all are found before the first one is gone
    for kind, document_id in named:
        catalog.delete(kind, document_id)
    if options.json:
        listed = [{"kind": str(kind), "id": document_id} for kind, document_id in named]
        return document_text({"deleted": listed})
    return lines_text(f"deleted: {kind} {document_id}" for kind, document_id in named)


def _delete_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("resources", nargs="+", metavar="RESOURCE", help=REFERENCE)
    _add_kind(parser)
    add_home(parser)
    add_json(parser)


def _add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("resource", metavar="RESOURCE", help=REFERENCE)
    _add_kind(parser)


def _add_kind(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kind", choices=[str(kind) for kind in Kind], help="look there only")


def _kind(options: argparse.Namespace) -> Kind | None:
    return Kind(options.kind) if options.kind else None


def _meant(catalog: Catalog, options: argparse.Namespace) -> tuple[Kind, str]:
    return meant(catalog, options.resource, _kind(options))


def _show_options(parser: argparse.ArgumentParser) -> None:
    _add_reference(parser)
    add_home(parser)
    add_json(parser)


COMMANDS = (
    Command(
        name="import",
        help="keep files: cards, world books, presets, personas; says what each file is",
        add_options=_import_options,
        run=_import,
    ),
    Command(
        name="list",
        help="list the resources that are kept",
        add_options=_list_options,
        run=_checked_list,
    ),
    Command(
        name="show",
        help="show a resource; with --json, its whole document",
        add_options=_show_options,
        run=_show,
    ),
    Command(
        name="export",
        help="write a resource to a file that SillyTavern reads",
        add_options=_export_options,
        run=_export,
    ),
    Command(
        name="delete",
        help="delete resources, and unbind them everywhere",
        add_options=_delete_options,
        run=_delete,
    ),
)
