"""What was compiled and why, without any text of a resource: names, ids, numbers, hashes, reasons.

Owns the record and its JSON, whose keys are those of the plugin. Sessions, selections and what was
scanned are the host's: it adds them. Must not decide anything.

Source: the plugin contract, sections A3, A10 and B7, with all ids of all books kept (K5).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from tavern_compiler.call_config import CallConfig, call_config_json
from tavern_compiler.inputs import BookRef, CompileInput, ResourceRef
from tavern_compiler.lore import SIDES
from tavern_compiler.parts import Part, PartSource, SourceKind
from tavern_format import Diagnostic, Position
from tavern_matcher import BudgetUse, Decision

AUDIT_SCHEMA = 1
PROFILE_SECTION = "pmp-dsh-tavern:profile"
PROFILE_ORDER = 10
_POSITIONS: Mapping[Position, str] = {
    Position.BEFORE: "before_character_definition",
    Position.AFTER: "after_character_definition",
    Position.AN_TOP: "before_author_note",
    Position.AN_BOTTOM: "after_author_note",
    Position.AT_DEPTH: "at_depth",
    Position.EM_TOP: "before_example_messages",
    Position.EM_BOTTOM: "after_example_messages",
    Position.OUTLET: "outlet",
}
"""The contract's names."""
_KINDS: Mapping[bool, str] = {False: "standalone-world-book", True: "embedded-character-book"}


@frozen(kw_only=True)
class BookAudit:
    """One world book."""

    book: BookRef
    entry_count: int = 0
    """0 where the lore did not come from a match."""
    active_ids: tuple[str, ...] = ()
    """Qualified ids of its entries that stand in a part."""
    decisions: tuple[Decision, ...] = field(default=(), repr=False)
    """Entries that fired first, in visiting order."""


@frozen(kw_only=True)
class Audit:
    """The record of one compile."""

    fingerprint: str
    resources: Mapping[SourceKind, ResourceRef]
    """Of preset, character and user, as the caller named them."""
    books: tuple[BookAudit, ...]
    """In the order in which they first come up."""
    budget: BudgetUse | None
    """Of the scan; None: the lore did not come from a match."""
    active_lore: tuple[str, ...]
    system_prompt_mode: str
    system_utf16: int
    """Size of the system text."""
    call_config: CallConfig
    parts: tuple[Part, ...] = field(repr=False)
    """The late ones last."""
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)


def book_audits(given: CompileInput, active_lore: Iterable[str]) -> tuple[BookAudit, ...]:
    """Describe every book that was scanned or that lore is from."""
    decisions: dict[str, list[Decision]] = {}
    for decision in () if given.match is None else given.match.decisions:
        decisions.setdefault(decision.entry.book, []).append(decision)
    for entry in given.fired():
        decisions.setdefault(entry.book, [])
    ids = dict.fromkeys(active_lore)
    active: dict[str, list[str]] = {}
    for entry in given.fired():
        if (qualified := given.qualified_id(entry)) in ids:
            active.setdefault(entry.book, []).append(qualified)
    return tuple(
        BookAudit(
            book=given.books.get(name) or BookRef(id=name, name=name),
            entry_count=len(found),
            active_ids=tuple(active.get(name, ())),
            decisions=tuple(sorted(found, key=lambda one: not one.fired)),
        )
        for name, found in decisions.items()
    )


def audit_to_json(audit: Audit, *, max_decisions: int | None = None) -> dict[str, Any]:
    """Write an audit as a JSON object; `max_decisions` bounds the decisions of all books together.

    Keys are those of the plugin's audit; session, selection and activation are left to the host.
    """
    resource = {kind: _resource(audit.resources.get(kind)) for kind in SourceKind}
    left = iter(range(max_decisions)) if max_decisions is not None else None
    active = frozenset(audit.active_lore)
    return {
        "schemaVersion": AUDIT_SCHEMA,
        "resources": {
            "preset": resource[SourceKind.PRESET],
            "characterCard": resource[SourceKind.CHARACTER],
            "user": resource[SourceKind.USER],
            "worldBooks": [_book(one) for one in audit.books],
        },
        "diagnostics": [_diagnostic(one) for one in audit.diagnostics],
        "activeLoreEntries": list(audit.active_lore),
        "worldBooks": {
            "resources": [
                {
                    "resource": _book(one),
                    "budget": _budget(audit.budget),
                    "decisions": [_decision(one, active, made) for made in _bounded(one, left)],
                }
                for one in audit.books
            ]
        },
        "composition": {
            "section": {"name": PROFILE_SECTION, "order": PROFILE_ORDER},
            "systemPromptMode": audit.system_prompt_mode,
            "profileCharacters": audit.system_utf16,
            "callConfigFields": list(call_config_json(audit.call_config)),
            "parts": [_part(part) for part in audit.parts],
        },
        "fingerprint": audit.fingerprint,
    }


def _bounded(book: BookAudit, left: Iterator[int] | None) -> Iterable[Decision]:
    if left is None:
        return book.decisions
    return [decision for decision, _ in zip(book.decisions, left, strict=False)]


def _resource(ref: ResourceRef | None) -> dict[str, Any] | None:
    if ref is None:
        return None
    return {"id": ref.id, "name": ref.name, "revision": ref.revision}


def _book(one: BookAudit) -> dict[str, Any]:
    return {
        "id": one.book.id,
        "name": one.book.name,
        "kind": _KINDS[one.book.embedded],
        "revision": one.book.revision,
        "bindingSources": list(one.book.bindings),
        "entryCount": one.entry_count,
        "matchedEntryCount": sum(decision.fired for decision in one.decisions),
        "activeEntryIds": list(one.active_ids),
    }


def _budget(used: BudgetUse | None) -> dict[str, Any] | None:
    if used is None:
        return None
    limit = used.limit_tokens
    remaining = None if limit is None else limit - used.used_tokens
    return {"limit": limit, "used": used.used_tokens, "remaining": remaining}


def _decision(one: BookAudit, active: frozenset[str], made: Decision) -> dict[str, Any]:
    uid = made.entry.qualified.removeprefix(f"{made.entry.book}:")
    side, exact = (None, True) if made.position is None else SIDES[made.position]
    is_sent = f"{one.book.id}:{uid}" in active
    skipped = made.fired and made.position is Position.OUTLET
    return {
        "resourceId": one.book.id,
        "entryId": uid,
        "entryName": made.title,
        "decision": "included" if is_sent else "rejected",
        "reason": "outlet-unsupported" if skipped else str(made.reason),
        "primaryKeys": list(made.keys),
        "secondaryKeys": list(made.secondary_keys),
        "primaryMatches": [found.key for found in made.primary_matches],
        "secondaryMatches": [found.key for found in made.secondary_matches],
        "secondaryLogic": None if made.logic is None else made.logic.name.lower(),
        "groupName": made.group or None,
        "probability": made.threshold,
        "probabilityRoll": None if made.draw is None else made.draw.value,
        "tokenCost": made.tokens,
        "requestedPosition": None if made.position is None else _POSITIONS[made.position],
        "appliedPosition": side if is_sent else None,
        "approximatePosition": skipped or not exact,
    }


def _diagnostic(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.code,
        "severity": str(found.severity),
        "path": found.path,
        "message": found.message,
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        **_sizes(part),
        "provenance": part.provenance,
        "sources": [_source(one) for one in part.sources],
    }


def _source(source: PartSource) -> dict[str, Any]:
    more = {
        "identifier": source.identifier,
        "role": source.role,
        "entryId": source.entry_id,
        "qualifiedEntryId": source.qualified_entry_id,
    }
    return {
        "kind": str(source.kind),
        "resourceId": source.resource_id,
        "resourceRevision": source.resource_revision,
        "field": source.field,
        "relationship": str(source.relationship),
        **_sizes(source),
        **{key: value for key, value in more.items() if value is not None},
    }


def _sizes(of: Part | PartSource) -> dict[str, Any]:
    return {
        "characters": of.size_chars,
        "utf16Units": of.size_utf16,
        "utf8Bytes": of.size_utf8_bytes,
        "textHash": of.hash,
    }
