"""The audit of the first API version: what was chosen, and why, in names, numbers and reasons.

Owns its fields and its limits. It takes what the compiler says about its own work and leaves every
text of a resource behind. Unlike its model it
keeps the order and all four sources of world books. Must not know the record it stands in.

Source: the plugin contract, sections A10, D4, D8 and K5.
"""

from collections.abc import Mapping

from attrs import field, frozen

from tavern_trace._clips import (
    KEY_UTF16,
    MESSAGE_UTF16,
    NAME_UTF16,
    SHORT_UTF16,
    Clip,
    is_true,
    name_or_null,
    number_or_null,
    number_or_zero,
    one_of,
    taken,
    text,
    text_or_null,
    texts,
    whole_or_null,
    whole_or_zero,
    wholes,
)
from tavern_trace._json import (
    EMPTY,
    Json,
    JsonObject,
    as_array,
    as_object,
    freeze_object,
)
from tavern_trace.audit_header import NO_AUTHORITY
from tavern_trace.hashing import counts, digest
from tavern_trace.redaction import redact_audit
from tavern_trace.schema import Privacy
from tavern_trace.status import AuditStatus

AUDIT_SCHEMA_VERSION = 1
PROFILE_SECTION = "pmp-dsh-tavern:profile"
PROFILE_ORDER = 10
CALL_CONFIG_FIELDS = ("temperature", "maxTokens", "reasoningEffort", "stop")
MAX_BOOKS = 32
MAX_DECIDED_BOOKS = 16
MAX_DECISIONS = 128
"""Over all books."""
MAX_DIAGNOSTICS = 64
MAX_IDS = 200
MAX_KEYS = 16
MAX_CLAIMS = 4
BOOK_ORDERS = (
    "session-explicit-then-user-then-preset-then-character",
    "session-explicit-then-user",
)

_IDS = texts(MAX_IDS)
_KEYS = texts(MAX_KEYS)
SELECTION_ROWS: Mapping[str, Clip] = {
    "presetId": name_or_null,
    "characterCardId": name_or_null,
    "userProfileId": name_or_null,
    "worldBookIds": _IDS,
}
BOOK_SELECTION_ROWS: Mapping[str, Clip] = {
    "explicitIds": _IDS,
    "userBoundIds": _IDS,
    "presetBoundIds": _IDS,
    "characterBoundIds": _IDS,
    "effectiveIds": _IDS,
    "duplicateIds": _IDS,
    "order": one_of(*BOOK_ORDERS),
}
RESOURCE_ROWS: Mapping[str, Clip] = {
    "id": name_or_null,
    "name": text(NAME_UTF16),
    "kind": name_or_null,
    "format": name_or_null,
    "entryCount": whole_or_null,
    "matchedEntryCount": whole_or_null,
}
BUDGET_ROWS: Mapping[str, Clip] = {
    "limit": number_or_null,
    "used": number_or_zero,
    "remaining": number_or_null,
}
DECISION_ROWS: Mapping[str, Clip] = {
    "resourceId": name_or_null,
    "entryId": text_or_null(SHORT_UTF16),
    "entryName": text(KEY_UTF16),
    "decision": one_of("included", other="rejected"),
    "reason": text(SHORT_UTF16),
    "primaryKeys": _KEYS,
    "secondaryKeys": _KEYS,
    "primaryMatches": _KEYS,
    "secondaryMatches": _KEYS,
    "secondaryLogic": name_or_null,
    "groupName": name_or_null,
    "groupWeight": number_or_null,
    "groupOverride": is_true,
    "probability": number_or_null,
    "probabilityRoll": number_or_null,
    "tokenCost": number_or_null,
    "requestedPosition": name_or_null,
    "appliedPosition": name_or_null,
    "approximatePosition": is_true,
}
ACTIVATION_ROWS: Mapping[str, Clip] = {
    "kind": one_of("durable-plus-pending-input", other="durable-history-only"),
    "durableMessageCount": whole_or_null,
    "pendingMessageCount": whole_or_zero,
    "includedPendingMessageCount": whole_or_zero,
    "duplicatePendingMessageCount": whole_or_zero,
    "scannedMessageCount": whole_or_null,
    "scannedCharacters": whole_or_null,
    "truncated": is_true,
    "claimEventSeqs": wholes(MAX_CLAIMS),
    "invalidEventCount": whole_or_zero,
}
DIAGNOSTIC_ROWS: Mapping[str, Clip] = {
    "code": text(SHORT_UTF16),
    "severity": text(24),
    "message": text(MESSAGE_UTF16),
    "resourceId": name_or_null,
    "entryId": text_or_null(SHORT_UTF16),
}
_EARLIER_NAMES: Mapping[str, str] = {"userProfileId": "userId"}


@frozen(kw_only=True)
class CompiledProfile:
    """What the compiler made, as an audit takes it in."""

    system_text: str = field(repr=False)
    """Measured and hashed, not kept."""
    system_prompt_mode: str = "append"
    call_config: JsonObject = field(default=EMPTY, converter=freeze_object, repr=False)
    audit: JsonObject = field(default=EMPTY, converter=freeze_object, repr=False)
    """The compiler's own audit; only the fields of the tables above are taken over."""


@frozen(kw_only=True)
class CaptureIdentity:
    """Which request of which session."""

    record_id: str
    session_id: str
    turn: int
    step: int
    attempt: int
    at_ms: int
    """Milliseconds since 1970."""


def new_audit(
    profile: CompiledProfile,
    identity: CaptureIdentity,
    *,
    session_format_version: int | None = None,
    privacy: Privacy | str = Privacy.NORMAL,
) -> JsonObject:
    """Make the audit of a request that begins. Raises ValueError for an unknown privacy."""
    found = profile.audit
    audit: dict[str, Json] = {
        "schemaVersion": AUDIT_SCHEMA_VERSION,
        "sessionFormatVersion": session_format_version,
        "id": f"{identity.turn}:{identity.step}:{identity.attempt}",
        "captureId": identity.record_id,
        "sessionId": identity.session_id,
        "turn": identity.turn,
        "step": identity.step,
        "attempt": identity.attempt,
        "recordedAt": identity.at_ms,
        "updatedAt": identity.at_ms,
        "status": AuditStatus.AWAITING_HEADER.value,
        "assembly": _assembly(profile),
        "selection": taken(as_object(found.get("selection")), SELECTION_ROWS, _EARLIER_NAMES),
        "worldBookSelection": taken(
            as_object(found.get("worldBookSelection")), BOOK_SELECTION_ROWS
        ),
        "resources": _resources(as_object(found.get("resources"))),
        "worldBooks": _books(as_object(found.get("worldBooks"))),
        "activation": taken(as_object(found.get("activation")), ACTIVATION_ROWS),
        "diagnostics": tuple(
            taken(as_object(item), DIAGNOSTIC_ROWS)
            for item in as_array(found.get("diagnostics"))[:MAX_DIAGNOSTICS]
        ),
        "authority": NO_AUTHORITY,
        "sensitiveContentStored": False,
        "entersModelHistory": False,
    }
    return redact_audit(freeze_object(audit), Privacy(privacy))


def _assembly(profile: CompiledProfile) -> JsonObject:
    mode = "replace" if profile.system_prompt_mode == "replace" else "append"
    config = profile.call_config
    return {
        "fingerprint": name_or_null(profile.audit.get("fingerprint")),
        "profileSection": PROFILE_SECTION,
        "profileOrder": PROFILE_ORDER,
        "systemPromptMode": mode,
        "systemCharacters": counts(profile.system_text).utf16,
        "systemFingerprint": digest(profile.system_text),
        "callConfig": {key: config[key] for key in CALL_CONFIG_FIELDS if key in config},
    }


def _resource(value: Json) -> Json:
    return taken(value, RESOURCE_ROWS) if isinstance(value, Mapping) else None


def _resources(found: JsonObject) -> JsonObject:
    books = (_resource(book) for book in as_array(found.get("worldBooks"))[:MAX_BOOKS])
    return {
        "preset": _resource(found.get("preset")),
        "characterCard": _resource(found.get("characterCard")),
        "userProfile": _resource(found.get("userProfile", found.get("user"))),
        "worldBooks": tuple(book for book in books if book is not None),
    }


def _books(found: JsonObject) -> tuple[Json, ...]:
    books: list[Json] = []
    left = MAX_DECISIONS
    for item in as_array(found.get("resources"))[:MAX_DECIDED_BOOKS]:
        book = as_object(item)
        decisions = as_array(book.get("decisions"))[:left]
        left -= len(decisions)
        books.append(
            {
                "resource": _resource(book.get("resource", book)),
                "budget": taken(as_object(book.get("budget")), BUDGET_ROWS),
                "decisions": tuple(taken(as_object(one), DECISION_ROWS) for one in decisions),
            }
        )
    return tuple(books)
