"""What a step decided, as the audit that traces and pages show: names, numbers and reasons.

Owns the shape of contract A10 and the rows of decisions. Decisions are made when they are written,
so a reader who wants few of them pays for few. No text of a resource is in an audit, but keys and
names are. Must not know records or requests.

Source: the plugin contract, sections A10, B6, B7 and K5.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tavern_compiler import call_config_json
from tavern_format import Diagnostic, Entry, Position, SelectiveLogic, Severity
from tavern_loader.domain.names import PROFILE_ORDER, PROFILE_SECTION
from tavern_loader.domain.selection import BOOK_ORDER, WorldBookSelection
from tavern_loader.domain.session_selections import selection_to_json
from tavern_loader.domain.utf16 import size_utf16
from tavern_loader.service.compiling import Lapse, StepResult
from tavern_loader.service.library import BoundBook
from tavern_matcher import Decision

SCHEMA_VERSION = 1
_POSITIONS: Mapping[Position, tuple[str, str | None, bool]] = {
    Position.BEFORE: ("before_character_definition", "before", True),
    Position.AFTER: ("after_character_definition", "after", True),
    Position.AN_TOP: ("before_author_note", "before", False),
    Position.AN_BOTTOM: ("after_author_note", "after", False),
    Position.AT_DEPTH: ("at_depth", "after", False),
    Position.EM_TOP: ("before_example_messages", "before", False),
    Position.EM_BOTTOM: ("after_example_messages", "after", False),
    Position.OUTLET: ("outlet", None, True),
}
"""The contract's name of a position, the side of the character that stands for it, and whether
that is what the position means."""
_LOGICS: Mapping[SelectiveLogic, str] = {
    SelectiveLogic.AND_ANY: "and_any",
    SelectiveLogic.NOT_ALL: "not_all",
    SelectiveLogic.NOT_ANY: "not_any",
    SelectiveLogic.AND_ALL: "and_all",
}


def audit_of(done: StepResult, *, max_decisions: int | None = None) -> dict[str, Any]:
    """Write the audit of a step; its fingerprint is that of what the model is shown.

    Of decisions, those of entries that fired come first, in their order, then the others as the
    books are visited; `max_decisions` of them over all books.
    """
    given = done.given
    selection = selection_to_json(given.resolved.selection)
    audit: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "sessionId": given.session_id,
        "selection": {**selection, "worldBookIds": list(given.resolved.world_books.effective)},
        "sessionSelection": selection,
        "worldBookSelection": world_books_to_json(given.resolved.world_books),
        "resources": resources_of(done),
        "diagnostics": [*diagnostics_of(done)],
        "activeLoreEntries": list(done.profile.active_lore),
        "worldBooks": {"resources": _decided_books(done, max_decisions)},
        "activation": given.activation.metadata(),
        "composition": {
            "section": {"name": PROFILE_SECTION, "order": PROFILE_ORDER},
            "systemPromptMode": str(done.profile.system_prompt_mode),
            "profileCharacters": size_utf16(done.profile.system_text),
            "callConfigFields": [*call_config_json(done.profile.call_config)],
        },
    }
    return {**audit, "fingerprint": done.profile.fingerprint}


def world_books_to_json(found: WorldBookSelection) -> dict[str, Any]:
    """Write which books are bound by what."""
    return {
        "explicitIds": list(found.explicit),
        "userBoundIds": list(found.user_bound),
        "presetBoundIds": list(found.preset_bound),
        "characterBoundIds": list(found.character_bound),
        "effectiveIds": list(found.effective),
        "duplicateIds": list(found.duplicates),
        "order": BOOK_ORDER,
    }


def resources_of(done: StepResult) -> dict[str, Any]:
    """List the resources, books with what of them is active."""
    documents = done.given.resolved.documents
    listed = documents.get("worldBooks")
    books = listed if isinstance(listed, list | tuple) else ()
    return {**documents, "worldBooks": [{**book, **_activity(done, book["id"])} for book in books]}


def _activity(done: StepResult, book_id: str) -> dict[str, Any]:
    fired = {one.entry.qualified for one in done.match.activated if one.entry.book == book_id}
    return {
        "matchedEntryCount": len(fired),
        "activeEntryIds": [one for one in done.profile.active_lore if one in fired],
    }


def diagnostics_of(done: StepResult) -> Iterator[dict[str, Any]]:
    """List what was odd: in the link first, about resources, then matching, then compiling."""
    for lapse in done.given.lapses:
        yield _lapse_to_json(lapse)
    for remark in done.given.resolved.diagnostics:
        yield {**diagnostic_to_json(remark.diagnostic), "resourceId": remark.source}
    for diagnostic in (*done.match.diagnostics, *done.profile.diagnostics):
        yield diagnostic_to_json(diagnostic)


def _lapse_to_json(lapse: Lapse) -> dict[str, Any]:
    place = "" if lapse.turn is None else f" of turn {lapse.turn}, step {lapse.step}"
    return {
        "code": "HOST_CALL_LAPSED",
        "severity": str(Severity.WARNING),
        "path": "",
        "message": f"{lapse.method}{place} was not answered: {lapse.reason}",
    }


def diagnostic_to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Write one diagnostic."""
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "path": diagnostic.path,
        "message": diagnostic.message,
    }


# --- decisions -------------------------------------------------------------------------------


def _decided_books(done: StepResult, max_decisions: int | None) -> list[dict[str, Any]]:
    books = {book.id: book for book in done.given.resolved.books}
    rows: dict[str, list[dict[str, Any]]] = {book_id: [] for book_id in books}
    for decision in islice(_by_interest(done), max_decisions):
        book = books[decision.entry.book]
        rows[book.id].append(_decision_to_json(decision, book, done))
    used = done.match.budget
    limit = used.limit_tokens
    budget = {
        "limit": limit,
        "used": used.used_tokens,
        "remaining": None if limit is None else limit - used.used_tokens,
    }
    resources = {book["id"]: book for book in resources_of(done)["worldBooks"]}
    return [
        {
            "resource": resources.get(book_id, {"id": book_id}),
            "budget": budget,
            "decisions": decisions,
        }
        for book_id, decisions in rows.items()
    ]


def _by_interest(done: StepResult) -> Iterator[Decision]:
    """Give the decisions, those of entries that fired first."""
    decisions: Sequence[Decision] = done.match.decisions
    index = done.given.resolved.index
    fired = [index.find(one.entry).number for one in done.match.activated]
    yield from (decisions[place] for place in fired)
    known = frozenset(fired)
    yield from (decisions[place] for place in range(len(decisions)) if place not in known)


def _decision_to_json(decision: Decision, book: BoundBook, done: StepResult) -> dict[str, Any]:
    entries = book.named.book.entries
    at = decision.entry.index
    entry = entries[at] if at < len(entries) else Entry()
    position = decision.position
    requested, side, is_exact = (None, None, True) if position is None else _POSITIONS[position]
    is_sent = decision.entry.qualified in done.profile.active_lore
    is_outlet = decision.fired and position is Position.OUTLET
    draw = decision.draw
    rolled = draw is not None and draw.purpose.startswith("chance/")
    uid = decision.entry.uid
    return {
        "resourceId": book.id,
        "entryId": None if uid is None else str(uid),
        "entryName": decision.title,
        "decision": "included" if is_sent else "rejected",
        "reason": _reason(decision, entry),
        "primaryKeys": list(decision.keys),
        "secondaryKeys": list(decision.secondary_keys),
        "primaryMatches": [found.key for found in decision.primary_matches],
        "secondaryMatches": [found.key for found in decision.secondary_matches],
        "secondaryLogic": None if decision.logic is None else _LOGICS[decision.logic],
        "groupName": entry.group or None,
        "groupWeight": entry.group_weight,
        "groupOverride": entry.group_override,
        "probability": entry.probability if entry.use_probability else 100,
        "probabilityRoll": draw.value if draw is not None and rolled else None,
        "tokenCost": decision.tokens,
        "requestedPosition": requested,
        "appliedPosition": side if is_sent else None,
        "approximatePosition": is_outlet or not is_exact,
    }


def _reason(decision: Decision, entry: Entry) -> str:
    """Say why an entry is sent or not: one that fired may still have no place, or no text."""
    if decision.fired and not entry.content.strip():
        return "empty-content"
    if decision.fired and decision.position is Position.OUTLET:
        return "outlet-unsupported"
    return str(decision.reason)
