"""Aligning an audit with the request header that the host logged.

Owns what a header proves, and what a header is. The compiled text and the effective one come in to
be compared and hashed; neither is kept. Must not know how an audit is made.

Source: the plugin contract, sections D4 and D8 ("authority").
"""

from attrs import field, frozen

from tavern_trace._clips import name_or_null
from tavern_trace._json import EMPTY, FrozenObject, JsonObject, as_object, freeze_object
from tavern_trace.hashing import digest, json_stringify
from tavern_trace.history import REQUEST_HEADER, SYSTEM_MESSAGE, HistorySnapshot, message_text
from tavern_trace.status import AuditStatus, TraceEvent, next_audit_status

AUTHORITY_KIND = "dsh-request-header"
NO_AUTHORITY: JsonObject = FrozenObject(
    {
        "kind": AUTHORITY_KIND,
        "headerEventSeq": None,
        "headerReason": None,
        "headerReused": None,
        "headerFingerprint": None,
        "systemFingerprint": None,
        "configFingerprint": None,
        "tavernProfilePresent": None,
        "tavernCallConfigApplied": None,
    }
)
"""No header was seen: nothing is known."""


@frozen(kw_only=True)
class HeaderFacts:
    """The request header that the host last logged."""

    event_seq: int
    reason: str | None = None
    header: JsonObject = field(default=EMPTY, converter=freeze_object, repr=False)
    system_text: str = field(default="", repr=False)
    system_source: str = REQUEST_HEADER


def header_facts(history: HistorySnapshot) -> HeaderFacts | None:
    """Find the request header in force, and the system text that goes with it."""
    event = history.latest(REQUEST_HEADER)
    if event is None:
        return None
    header = as_object(event.data.get("header"))
    reason = event.data.get("reason")
    system, source = event.header_system, REQUEST_HEADER
    if system is None:
        shown = [one for one in history.surface_events() if one.type == SYSTEM_MESSAGE]
        system = message_text(shown[-1].message or {}) if shown else ""
        source = SYSTEM_MESSAGE if shown else REQUEST_HEADER
    return HeaderFacts(
        event_seq=event.seq,
        reason=reason if isinstance(reason, str) else None,
        header=header,
        system_text=system,
        system_source=source,
    )


def advance_audit(
    audit: JsonObject,
    event: TraceEvent,
    *,
    at_ms: int,
    header: HeaderFacts | None = None,
    profile_text: str = "",
) -> JsonObject:
    """Move an audit on by an event; one that is final stays as it is.

    With a header it also says what the header proves: `profile_text` is the compiled system text,
    looked for in the effective one and not kept.
    """
    try:
        status = AuditStatus(str(audit.get("status")))
    except ValueError:
        return audit
    after = next_audit_status(status, event)
    if after is status:
        return audit
    moved = dict(audit) | {"updatedAt": at_ms, "status": after.value}
    if header is not None:
        moved["authority"] = _authority(
            header,
            reused=event is not TraceEvent.HEADER_LOGGED,
            profile_text=profile_text,
            call_config=as_object(as_object(audit.get("assembly")).get("callConfig")),
        )
    return freeze_object(moved)


def _authority(
    header: HeaderFacts, *, reused: bool, profile_text: str, call_config: JsonObject
) -> JsonObject:
    """Say what a header proves; the fingerprints are hashes of what the host logged."""
    config = as_object(header.header.get("config"))
    return FrozenObject(
        {
            "kind": AUTHORITY_KIND,
            "headerEventSeq": header.event_seq,
            "headerReason": name_or_null(header.reason),
            "headerReused": reused,
            "headerFingerprint": digest(header.header),
            "systemFingerprint": digest(header.system_text),
            "systemSource": header.system_source,
            "configFingerprint": digest(config),
            "tavernProfilePresent": profile_text in header.system_text if profile_text else None,
            "tavernCallConfigApplied": all(
                json_stringify(config.get(key)) == json_stringify(value)
                for key, value in call_config.items()
            ),
        }
    )
