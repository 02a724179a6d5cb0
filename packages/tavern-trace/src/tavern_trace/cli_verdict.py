"""What the command line prints of a verification, as lines of text and JSON values.

Owns the words and columns, and what counts as proven. Texts of a session are shown only where they
were asked for. Must not know files or streams.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tavern_trace._columns import clean, printable, table
from tavern_trace.api import detail_document
from tavern_trace.cli_report import shown_ids
from tavern_trace.fault import Found
from tavern_trace.schema import ContentStatus, Part, TraceRecord
from tavern_trace.verify import Verification

VERDICT_HEAD = ("ID", "TURN", "TRY", "SECTIONS", "CONTEXTS", "CONTENT", "REASON")


def is_proven(record: TraceRecord, found: Verification) -> bool:
    """Tell whether every text of a record was recovered."""
    whole = found.content_status is ContentStatus.AVAILABLE
    request = found.request_content_status is None and bool(record.system_message_refs)
    return whole and request and found.failure_fault is None


def verdict_lines(
    results: Sequence[tuple[TraceRecord, Verification]], cells: int, *, texts: bool
) -> Iterator[str]:
    """Say what a history proves of each record, and of each part that it does not."""
    names = shown_ids([record for record, _ in results])
    rows = [_verdict_row(*result, name) for result, name in zip(results, names, strict=True)]
    yield from table(VERDICT_HEAD, rows, cells)
    for (record, found), name in zip(results, names, strict=True):
        pairs = _pairs(record, found)
        for part, one in pairs:
            if one.fault is not None and found.fault is None:
                yield clean(f"{name} {part.name}: {one.fault.value}")
        yield from _failure_lines(found, name, texts=texts)
        for part, one in pairs if texts else ():
            if one.text is not None:
                yield from ("", clean(f"--- {name} {part.name}"))
                yield from map(printable, one.text.splitlines())


def _failure_lines(found: Verification, name: str, *, texts: bool) -> Iterator[str]:
    if found.failure_fault is not None:
        yield clean(f"{name} failure: {found.failure_fault.value}")
    if found.failure is not None:
        message = found.failure.message if texts else None
        told = " ".join(filter(None, (found.failure.code, message)))
        yield clean(f"{name} failed: {told}")


def _pairs(record: TraceRecord, found: Verification) -> list[tuple[Part, Found]]:
    parts = (*record.sections, *record.contexts)
    return list(zip(parts, (*found.sections, *found.contexts), strict=True))


def _verdict_row(record: TraceRecord, found: Verification, name: str) -> Sequence[object]:
    return (
        name,
        f"{record.turn}.{record.step}",
        record.attempt,
        _share(found.sections),
        _share(found.contexts),
        found.content_status.value,
        found.fault.value if found.fault else "-",
    )


def _share(found: Sequence[Found]) -> str:
    return f"{sum(one.fault is None for one in found)}/{len(found)}"


def verdict_json(
    results: Iterable[tuple[TraceRecord, Verification]], *, texts: bool
) -> list[dict[str, Any]]:
    """Give the detail document of each record; texts only where they were asked for."""
    records: list[dict[str, Any]] = [
        detail_document(record, found)["record"] for record, found in results
    ]
    return records if texts else [_without_texts(record) for record in records]


def _without_texts(record: dict[str, Any]) -> dict[str, Any]:
    bare = {key: item for key, item in record.items() if key not in ("systemMessages", "failure")}
    for key in ("sections", "contexts"):
        if key in bare:
            bare[key] = [{k: v for k, v in part.items() if k != "text"} for part in bare[key]]
    return bare
