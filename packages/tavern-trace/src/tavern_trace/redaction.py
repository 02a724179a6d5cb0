"""What never gets into a record: texts of resources, texts and verdicts of a reading.

Owns the tables of what is taken out, of stored documents on every load and write, and of records
that are to say less. Must not know where records are kept.

Source: the plugin contract, sections D6, D7 and K13.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, fields, has

from tavern_trace._json import (
    EMPTY,
    MAX_NESTING,
    FrozenObject,
    Json,
    JsonObject,
    as_array,
    as_object,
    as_text,
)
from tavern_trace._tables import Foreign
from tavern_trace.errors import SchemaError
from tavern_trace.schema import BODY_STORAGE, VERDICTS, ContentStatus, Privacy, TraceRecord

BODY_KEYS = frozenset({"text", "content", "body", "messages", "systemMessages", "description"})
"""Fields that hold texts, at any depth: schema 4 has none of these names."""
RECORD_KEYS = frozenset(
    {
        *("failure", "failureReferenceError", "referenceError", "requestContentStatus"),
        *("requestAssembly", "nativeRequest", "nativeRequestError", "nativeProvenance"),
    }
)
"""Fields of a record that only a reading adds."""
PART_KEYS = frozenset({"contentStatus", "referenceError"})
"""The same of a section or context."""
PART_LISTS = ("sections", "contexts")
NEVER_STORED = BODY_KEYS | RECORD_KEYS | (PART_KEYS - {"contentStatus"})
"""Names of fields that no stored record has anywhere; `contentStatus` is the record's own, too."""
TEXT_STATUS = "not-stored"
_SCALARS = frozenset({str, int, bool, float, type(None)})


def strip_bodies(document: Mapping[str, object]) -> dict[str, object]:
    """Take everything out of a record's JSON that must not be stored; nothing else changes.

    Raises SchemaError, NESTED_TOO_DEEP.
    """
    taken_out = BODY_KEYS | RECORD_KEYS
    stripped = {key: _without_texts(item) for key, item in document.items() if key not in taken_out}
    for key in PART_LISTS:
        parts = stripped.get(key)
        if isinstance(parts, list):
            stripped[key] = [_without_verdict(part) for part in parts]
    forced: dict[str, object] = {"bodyStorage": BODY_STORAGE, "sourceTextStored": False}
    if as_text(stripped.get("contentStatus")) in VERDICTS:
        forced["contentStatus"] = ContentStatus.REFERENCE_ONLY.value
    if stripped.get("failureRef"):
        forced["failureStatus"] = ContentStatus.REFERENCE_ONLY.value
    return stripped | forced


def is_stripped(document: Mapping[str, object]) -> bool:
    """Tell whether a record's own fields are as `strip_bodies` would leave them.

    Of what is in them it says nothing: that takes a search for `NEVER_STORED`.
    """
    failure = ContentStatus.REFERENCE_ONLY.value if document.get("failureRef") else None
    return (
        document.get("bodyStorage") == BODY_STORAGE
        and document.get("sourceTextStored") is False
        and as_text(document.get("contentStatus")) not in VERDICTS
        and (failure is None or document.get("failureStatus") == failure)
    )


def _without_texts(value: object, depth: int = 1) -> object:
    if depth >= MAX_NESTING:
        raise SchemaError("NESTED_TOO_DEEP", f"more than {MAX_NESTING} levels")
    if isinstance(value, Mapping):
        return {
            key: item if type(item) in _SCALARS else _without_texts(item, depth + 1)
            for key, item in value.items()
            if key not in BODY_KEYS
        }
    if isinstance(value, list | tuple):
        return [_without_texts(item, depth + 1) for item in value]
    if isinstance(value, str | int | float | None):
        return value
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _without_verdict(part: object) -> object:
    if not isinstance(part, Mapping):
        return part
    return {key: item for key, item in part.items() if key not in PART_KEYS}


# --- privacy ---------------------------------------------------------------------------------

Blank = Callable[[Json], Json]


def _nothing(_: Json) -> Json:
    return None


def _no_items(_: Json) -> Json:
    return ()


def _no_text(_: Json) -> Json:
    return ""


def _blank(rows: Mapping[str, Blank]) -> Blank:
    """Blank some fields of an object, where it has them."""
    return lambda value: (
        FrozenObject({key: rows[key](item) if key in rows else item for key, item in value.items()})
        if isinstance(value, Mapping)
        else value
    )


def _each(change: Blank) -> Blank:
    return lambda value: tuple(change(item) for item in as_array(value))


def _without(key: str) -> Blank:
    return lambda value: FrozenObject(
        {name: item for name, item in as_object(value).items() if name != key}
    )


_DECISION: Mapping[str, Blank] = {
    "entryName": _no_text,
    "primaryKeys": _no_items,
    "secondaryKeys": _no_items,
    "primaryMatches": _no_items,
    "secondaryMatches": _no_items,
    "groupName": _nothing,
}
_AUDIT: Mapping[str, Blank] = {
    "assembly": _blank({"callConfig": _without("stop")}),
    "resources": _blank({"userProfile": _blank({"name": _no_text})}),
    "worldBooks": _each(_blank({"decisions": _each(_blank(_DECISION))})),
    "diagnostics": _each(_blank({"message": _no_text})),
}
"""What a strict record leaves out of its audit. Ids stay: without them it explains nothing."""
_PARAMETERS: Mapping[str, Blank] = {
    "requested": _without("stop"),
    "effective": _without("stop"),
    "fallbacks": _each(_blank({"message": _no_text})),
}


def redact_audit(audit: JsonObject, privacy: Privacy) -> JsonObject:
    """Make an audit say no more than a privacy allows."""
    if privacy is not Privacy.STRICT:
        return audit
    return as_object(_blank(_AUDIT)(audit))


def redact(record: TraceRecord, privacy: Privacy | str | None = None) -> TraceRecord:
    """Make a record say no more than a privacy allows; None: its own.

    Strict: no keys and matches, no names of entries, groups and users, no stop texts, no messages
    of remarks, no purposes of draws, no unknown fields. Numbers, hashes, ids, reasons, names of
    parts and resources stay. What is added to a strict record is made strict, too. Raises
    ValueError for an unknown privacy.
    """
    wanted = record.privacy if privacy is None else Privacy(privacy)
    if wanted is not Privacy.STRICT:
        return record
    strict: TraceRecord = _known_only(record)
    return evolve(
        strict,
        audit=None if record.audit is None else redact_audit(record.audit, Privacy.STRICT),
        parameters=record.parameters and as_object(_blank(_PARAMETERS)(record.parameters)),
        draws=tuple(evolve(draw, purpose="") for draw in strict.draws),
        privacy=Privacy.STRICT,
    )


def _known_only(value: Any) -> Any:  # noqa: ANN401 - a record, or whatever one holds
    """Leave unknown fields out, at every level of a record."""
    if isinstance(value, Foreign):
        return evolve(value, fields=EMPTY)
    if isinstance(value, tuple):
        return tuple(map(_known_only, value))
    if not has(type(value)):
        return value
    held = {one.name: _known_only(getattr(value, one.name)) for one in fields(type(value))}
    return evolve(value, **held)
