"""`tavern-loader trace`: what was sent, held against the session's own log."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from tavern_loader.adapters.console import complain
from tavern_loader.adapters.session_logs import LoggedHost
from tavern_loader.adapters.stored_bytes import OLD_ASSEMBLIES, OLD_AUDITS, StoredBytes
from tavern_loader.commands.command import Command, Ended, Outcome, add_home, add_json, installation
from tavern_loader.commands.showing import columns, document_text, lines_text, time_text
from tavern_loader.domain.js_values import iso_time, list_of, object_of, text_of
from tavern_loader.errors import HostError, NotFoundError
from tavern_loader.http_app import parts_alone
from tavern_loader.service.trace_reading import TraceReading, trace_reading

_MIN_PREFIX_CHARS = 4
_AVAILABLE = "available"
_OWN_PREFIX = "pmp-dsh-tavern:"
"""People know whose parts these are."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", metavar="ID", required=True)
    parser.add_argument(
        "--id", metavar="RECORD", help="of a record, or its beginning; else the newest is shown"
    )
    add_home(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> Outcome:
    held = installation(options)
    storage = held.storage
    host = LoggedHost(storage.root.parent)
    faults: list[str] = []
    reading = trace_reading(
        parts_alone(held, faults.append, host).shelf,
        old_audits=StoredBytes(storage, OLD_AUDITS),
        old_assemblies=StoredBytes(storage, OLD_ASSEMBLIES),
        inspect=host.inspect,
    )
    rows = [object_of(one) for one in list_of(reading.index(options.session).get("records"))]
    meant = _meant(rows, options.id)
    shown = None if meant is None else _detail(reading, options.session, meant)
    for line in faults:
        complain(line)
    code = 1 if faults else 0
    if options.json:
        document = {"sessionId": options.session, "records": rows, "record": shown}
        return Ended(document_text(document), code)
    if shown is None:
        return Ended(f"no records of session {options.session}\n", code)
    lines = [*_record_lines(shown)]
    if options.id is None:
        lines = [*_index_lines(rows), "", *lines]
    return Ended(lines_text((*lines, *_log_fault(host, options.session))), code)


def _meant(rows: list[Mapping[str, Any]], reference: str | None) -> str | None:
    ids = [text_of(row.get("id")) for row in rows]
    if reference is None:
        return ids[-1] if ids else None
    found = [one for one in ids if one == reference]
    if not found and len(reference) >= _MIN_PREFIX_CHARS:
        found = [one for one in ids if one.startswith(reference)]
    if len(found) != 1:
        message = "there is no record of this id" if not found else "several records begin so"
        raise NotFoundError("ASSEMBLY_NOT_FOUND", message)
    return found[0]


def _detail(reading: TraceReading, session_id: str, record_id: str) -> Mapping[str, Any]:
    return object_of(reading.detail(session_id, record_id).get("record"))


def _log_fault(host: LoggedHost, session_id: str) -> Iterator[str]:
    """Say why nothing could be proven, if the log is the reason."""
    try:
        if host.inspect(session_id) is None:
            yield "the session has no log here: nothing can be proven"
    except HostError as error:
        yield f"nothing can be proven: {error}"


def _index_lines(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    listed = [
        (
            text_of(row.get("id")),
            _place(row),
            time_text(iso_time(int(row.get("recordedAt") or 0))),
            text_of(row.get("status")),
            text_of(row.get("contentStatus")),
        )
        for row in reversed(rows)
    ]
    yield from columns(("record", "turn.step", "began", "status", "content"), listed)


def _place(row: Mapping[str, Any]) -> str:
    attempt = row.get("attempt")
    again = f" try {attempt}" if isinstance(attempt, int) and attempt > 1 else ""
    return f"{row.get('turn')}.{row.get('step')}{again}"


def _record_lines(record: Mapping[str, Any]) -> Iterator[str]:
    delivery = object_of(record.get("delivery"))
    model = "/".join(text_of(delivery.get(name)) for name in ("provider", "model"))
    yield f"Record {text_of(record.get('id'))}, turn {_place(record)}"
    yield f"  status: {text_of(record.get('status'))}"
    yield f"  texts: {text_of(record.get('contentStatus'))}"
    if model != "/":
        yield f"  model: {model}"
    for name in ("referenceError", "failureReferenceError"):
        if record.get(name):
            yield f"  {name}: {text_of(record.get(name))}"
    for name, title in (("sections", "Sections"), ("contexts", "Runtime contexts")):
        parts = [object_of(one) for one in list_of(record.get(name))]
        if parts:
            proven = sum(_is_proven(part) for part in parts)
            yield f"{title}: {len(parts)}, {proven} verified against the session's log"
            rows = [_part_row(part) for part in parts]
            yield from columns(("", "name", "utf-16", "from", "text"), rows)
    yield from _decision_lines(object_of(record.get("audit")))


def _is_proven(part: Mapping[str, Any]) -> bool:
    return part.get("contentStatus") == _AVAILABLE


def _part_row(part: Mapping[str, Any]) -> tuple[str, ...]:
    sources = [object_of(one) for one in list_of(part.get("sources"))]
    origin = ", ".join(f"{text_of(one.get('kind'))} {text_of(one.get('field'))}" for one in sources)
    fault = text_of(part.get("referenceError"))
    return (
        "ok" if _is_proven(part) else "?",
        text_of(part.get("name")).removeprefix(_OWN_PREFIX),
        str(part.get("utf16Units", "")),
        origin,
        text_of(part.get("text")) or fault,
    )


def _decision_lines(audit: Mapping[str, Any]) -> Iterator[str]:
    for book in map(object_of, list_of(audit.get("worldBooks"))):
        rows = [
            (
                "+" if one.get("decision") == "included" else "-",
                text_of(one.get("entryName")) or text_of(one.get("entryId")),
                text_of(one.get("reason")),
                ", ".join(text_of(key) for key in list_of(one.get("primaryMatches"))),
            )
            for one in map(object_of, list_of(book.get("decisions")))
        ]
        if rows:
            yield f"World book {text_of(object_of(book.get('resource')).get('name'))}"
            yield from columns(("", "entry", "reason", "keys found"), rows)
    found = [object_of(one) for one in list_of(audit.get("diagnostics"))]
    if found:
        yield f"Diagnostics: {len(found)}"
        told = [(text_of(one.get("code")), text_of(one.get("message"))) for one in found]
        yield from (f"  {line}" for line in columns(("code", "message"), told))


COMMANDS = (
    Command(
        name="trace",
        help="show what was sent, verified against the session's log",
        description="List the records of a session's requests, and show one: its sections, where"
        " each came from, and its text as the session's own log proves it.",
        add_options=_add_options,
        run=_run,
    ),
)
