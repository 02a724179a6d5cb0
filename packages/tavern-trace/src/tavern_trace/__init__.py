"""Records of what was sent to a model, and why: in numbers, hashes and references, without texts.

`begin` a `Capture`, move the record on with `observe_*`, `fail`, `supersede` or `unload`, keep it
with `put`, and `verify` it against a `HistorySnapshot`. Everything is a value; nothing has an
effect.
"""

from tavern_trace._json import Json, JsonObject
from tavern_trace._tables import Foreign
from tavern_trace._version import __version__
from tavern_trace.api import (
    audits_document,
    capabilities_document,
    detail_document,
    index_document,
    index_row,
    legacy_detail_document,
    storage_document,
)
from tavern_trace.assembly import AssembledText, OfficialAssembly, OwnPart, SourceText
from tavern_trace.audit_header import HeaderFacts, header_facts
from tavern_trace.audit_view import CaptureIdentity, CompiledProfile, new_audit
from tavern_trace.changes import changed_since
from tavern_trace.codec import dump_record, load_record, record_from_json, record_to_json
from tavern_trace.errors import SchemaError, StoreTooLargeError, TraceError
from tavern_trace.fault import Found, ReferenceFault
from tavern_trace.hashing import Counts, counts, digest, json_stringify
from tavern_trace.history import HistoryEvent, HistorySnapshot
from tavern_trace.history_reading import extend_history, history_from_json, load_history
from tavern_trace.legacy import LegacyRecord, load_legacy_assemblies, load_legacy_audits
from tavern_trace.record import (
    Capture,
    begin,
    begin_failed,
    fail,
    next_attempt,
    note_parameters,
    observe_failure,
    observe_header,
    observe_message,
    observe_stream,
    observe_turn_end,
    supersede,
    supersede_excess,
    unload,
)
from tavern_trace.redaction import redact
from tavern_trace.reference import Failure, SentMessage, SentRequest
from tavern_trace.retention import (
    StoredRow,
    StoreLimits,
    StoreRemark,
    TraceStore,
    is_session_id,
    put,
    put_audits,
)
from tavern_trace.schema import (
    Changes,
    ContentStatus,
    Delivery,
    Draw,
    FailureRef,
    Part,
    Privacy,
    Provenance,
    Reference,
    ReferenceKind,
    SessionRef,
    Source,
    TraceRecord,
    Utf16Range,
)
from tavern_trace.status import (
    AuditStatus,
    RecordStatus,
    TraceEvent,
    next_audit_status,
    next_status,
)
from tavern_trace.store_document import dump_store, load_store, open_store
from tavern_trace.verify import Verification, verify

__all__ = [
    "AssembledText",
    "AuditStatus",
    "Capture",
    "CaptureIdentity",
    "Changes",
    "CompiledProfile",
    "ContentStatus",
    "Counts",
    "Delivery",
    "Draw",
    "Failure",
    "FailureRef",
    "Foreign",
    "Found",
    "HeaderFacts",
    "HistoryEvent",
    "HistorySnapshot",
    "Json",
    "JsonObject",
    "LegacyRecord",
    "OfficialAssembly",
    "OwnPart",
    "Part",
    "Privacy",
    "Provenance",
    "RecordStatus",
    "Reference",
    "ReferenceFault",
    "ReferenceKind",
    "SchemaError",
    "SentMessage",
    "SentRequest",
    "SessionRef",
    "Source",
    "SourceText",
    "StoreLimits",
    "StoreRemark",
    "StoreTooLargeError",
    "StoredRow",
    "TraceError",
    "TraceEvent",
    "TraceRecord",
    "TraceStore",
    "Utf16Range",
    "Verification",
    "__version__",
    "audits_document",
    "begin",
    "begin_failed",
    "capabilities_document",
    "changed_since",
    "counts",
    "detail_document",
    "digest",
    "dump_record",
    "dump_store",
    "extend_history",
    "fail",
    "header_facts",
    "history_from_json",
    "index_document",
    "index_row",
    "is_session_id",
    "json_stringify",
    "legacy_detail_document",
    "load_history",
    "load_legacy_assemblies",
    "load_legacy_audits",
    "load_record",
    "load_store",
    "new_audit",
    "next_attempt",
    "next_audit_status",
    "next_status",
    "note_parameters",
    "observe_failure",
    "observe_header",
    "observe_message",
    "observe_stream",
    "observe_turn_end",
    "open_store",
    "put",
    "put_audits",
    "record_from_json",
    "record_to_json",
    "redact",
    "storage_document",
    "supersede",
    "supersede_excess",
    "unload",
    "verify",
]
