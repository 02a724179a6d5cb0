"""The record of one request, schema 4: what was sent, in numbers, hashes, names and references.

Owns values only. Must not know how they are spelled in JSON (`codec`), how they come about
(`record`) or what a host's history looks like (`history`). No value here holds a text that a
resource owns.

Source: the plugin contract, sections A3, D2, D3, D5.
"""

from enum import StrEnum

from attrs import field, frozen

from tavern_trace._json import EMPTY, Json, JsonObject
from tavern_trace._tables import NOTHING_FOREIGN, Foreign
from tavern_trace.status import RecordStatus

SCHEMA_VERSION = 4
BODY_STORAGE = "official-session"
"""Where the texts are: in the host's own session, nowhere else."""
SOURCE_MAPPING = "section-contributors"
CAPTURE_STAGE = "tavern-waterfall-return"
DELIVERY_STAGE = "llm/stream"
SECTION_SEPARATOR = "\n\n"
"""Between two sections of the system text: two UTF-16 units."""


class ContentStatus(StrEnum):
    """Whether the texts of a record can be had. The values are stable."""

    REFERENCE_ONLY = "reference-only"
    """As stored: there are references, nobody has followed them yet."""
    ASSEMBLY_UNAVAILABLE = "assembly-unavailable"
    """What was assembled could not be told; never overwritten."""
    OMITTED_SIZE_LIMIT = "omitted-size-limit"
    """The record was too large and only its identity is left; never overwritten."""
    AVAILABLE = "available"
    """As read: every text was found and is proven."""
    PARTIALLY_AVAILABLE = "partially-available"
    REFERENCE_UNAVAILABLE = "reference-unavailable"
    LEGACY_METADATA_ONLY = "legacy-metadata-only"

    @property
    def is_final(self) -> bool:
        """Whether no reading may overwrite it."""
        return self in _FINAL


_FINAL = frozenset({ContentStatus.ASSEMBLY_UNAVAILABLE, ContentStatus.OMITTED_SIZE_LIMIT})
VERDICTS = frozenset(
    {
        ContentStatus.AVAILABLE,
        ContentStatus.PARTIALLY_AVAILABLE,
        ContentStatus.REFERENCE_UNAVAILABLE,
    }
)
"""What only a reading may say; stored, they are `reference-only` again."""


class Provenance(StrEnum):
    """Whether the sources of a part are known."""

    SECTION_CONTRIBUTORS = "section-contributors"
    UNKNOWN = "unknown"


class Privacy(StrEnum):
    """How much a record says besides numbers and hashes."""

    NORMAL = "normal"
    STRICT = "strict"
    """Without keys, names of entries, groups and users, stop texts and messages of remarks."""


class ReferenceKind(StrEnum):
    """The three ways to point into a host's history."""

    SYSTEM_MESSAGE = "system-message"
    REQUEST_HEADER_SYSTEM = "request-header-system"
    CONTEXT_SECTION = "context-section"


@frozen(kw_only=True)
class Utf16Range:
    """A piece of a text, in UTF-16 units."""

    start_utf16: int
    end_utf16: int
    """Behind the last unit."""
    foreign: Foreign = NOTHING_FOREIGN


@frozen(kw_only=True)
class Reference:
    """A pointer to a text in the host's history, with what proves that it is the same text."""

    kind: str
    """A ReferenceKind; a later version may have others, which verify as a mismatch."""
    event_seq: int
    event_type: str
    message_id: str | None = None
    """None: a request header is no message."""
    message_hash: str | None = None
    """Of the message's content blocks."""
    text_hash: str
    """Of the whole text of the message or header."""
    source_section_index: int | None = None
    """Which named section of a context snapshot; None for system texts."""
    source_section_name: str | None = None
    range: Utf16Range | None = None
    """Which piece of the text; None: all of it."""
    foreign: Foreign = NOTHING_FOREIGN


@frozen(kw_only=True)
class SessionRef:
    """Which session, as it was when the request was sent."""

    session_id: str
    format_version: int
    created_at: Json
    """As the host writes it: a text or a number."""
    log_cut_seq: int
    """The last event that existed."""
    foreign: Foreign = NOTHING_FOREIGN


@frozen(kw_only=True)
class FailureRef:
    """A pointer to the event that says why a request failed."""

    event_seq: int
    event_type: str
    event_hash: str
    session: SessionRef
    foreign: Foreign = NOTHING_FOREIGN


@frozen(kw_only=True)
class Source:
    """One resource that contributed to a part."""

    kind: str
    """preset, character, user, worldbook."""
    resource_id: str | None = None
    resource_revision: str | None = None
    """SHA-256 of the resource's document."""
    field: str = ""
    relationship: str = "input"
    """`input`, or `placement-only` where the text was wholly replaced."""
    chars: int
    """Code points of the source's text."""
    utf16: int
    utf8_bytes: int
    identifier: str | None = None
    """Of a preset's prompt."""
    role: str | None = None
    """The role the preset asked for."""
    entry_id: str | None = None
    """Of a world book entry, inside its book."""
    qualified_entry_id: str | None = None
    text_hash: str
    foreign: Foreign = NOTHING_FOREIGN


@frozen(kw_only=True)
class Part:
    """One non-empty section of the system text, or one runtime context."""

    name: str
    index: int
    """Place in the host's assembly, empty ones counted."""
    chars: int
    """Code points."""
    utf16: int
    utf8_bytes: int
    text_hash: str
    provenance: str = Provenance.UNKNOWN
    sources: tuple[Source, ...] = ()
    offset_utf16: int | None = None
    """Where it begins in the system text; None for contexts."""
    reference: Reference | None = None
    """None: nothing proves where its text is."""
    foreign: Foreign = NOTHING_FOREIGN


@frozen(kw_only=True)
class Delivery:
    """What was seen when the request left."""

    stage: str = DELIVERY_STAGE
    log_cut_seq: int | None = None
    session_version: int | None = None
    system_hashes: tuple[str, ...] = ()
    """One for each system text of the request."""
    assembly_verified: bool = False
    """True only if exactly one system text is the assembly, whole and unchanged."""
    system_message_index: int | None = None
    """Which one; None unless verified."""
    provider: str | None = None
    model: str | None = None
    tool_names: tuple[str, ...] = ()
    history_verified: bool = False
    """The same text also has a reference into the history."""
    foreign: Foreign = NOTHING_FOREIGN


@frozen(kw_only=True)
class Changes:
    """What differs from the previous record of the session."""

    previous_id: str
    common_prefix_utf16: int
    """Units at the head of the system text that are equal, counted in whole parts."""
    added: tuple[str, ...] = ()
    """Names of parts, as in this record."""
    removed: tuple[str, ...] = ()
    """As in the previous record."""
    changed: tuple[str, ...] = ()
    """Same origin, other text; as in this record."""
    foreign: Foreign = NOTHING_FOREIGN


def _is_finite(_: object, __: object, value: float) -> None:
    if value - value != 0:
        raise ValueError("a draw is a finite number")


@frozen(kw_only=True)
class Draw:
    """One number that chance gave to the matcher, in the order of drawing."""

    purpose: str
    """What the matcher asked for; empty where privacy is strict."""
    value: float = field(validator=_is_finite)
    foreign: Foreign = NOTHING_FOREIGN


@frozen(kw_only=True)
class TraceRecord:
    """One request to a model, from its assembly on."""

    id: str
    session_id: str
    turn: int
    step: int
    attempt: int
    """From 1: how often this step of this turn was tried."""
    recorded_at_ms: int
    """Milliseconds since 1970."""
    status: RecordStatus
    content_status: ContentStatus = ContentStatus.REFERENCE_ONLY
    audit: JsonObject | None = field(default=None, repr=False)
    """The audit record of the first API version; see `audit_view`."""
    selection: JsonObject = field(default=EMPTY, repr=False)
    """What the session had selected."""
    sections: tuple[Part, ...] = field(default=(), repr=False)
    contexts: tuple[Part, ...] = field(default=(), repr=False)
    assembly_hash: str | None = None
    """Of all sections, joined by an empty line."""
    parameters: JsonObject | None = field(default=None, repr=False)
    """What the call was to be set to, and what it was in the end: requested, effective, fallbacks,
    attempt."""
    delivery: Delivery | None = None
    """None: the request has not been seen."""
    session_ref: SessionRef | None = None
    system_message_refs: tuple[Reference | None, ...] | None = None
    """One for each system text of the request; None where nothing proves it."""
    failure_ref: FailureRef | None = None
    legacy_capture_id: str | None = None
    """Kept where the audit itself is left out."""
    compiler_fingerprint: str | None = None
    changes: Changes | None = None
    draws: tuple[Draw, ...] = ()
    privacy: Privacy | None = None
    """Strict: names are left out, of what comes later, too; None: nothing is."""
    foreign: Foreign = NOTHING_FOREIGN

    @property
    def failure_status(self) -> ContentStatus | None:
        """As stored: a reference nobody has followed yet, or nothing."""
        return None if self.failure_ref is None else ContentStatus.REFERENCE_ONLY

    @property
    def capture_id(self) -> str | None:
        """The identity that old audits and records share; the only one they are matched by."""
        found = (self.audit or EMPTY).get("captureId") or self.legacy_capture_id
        return found if isinstance(found, str) else None
