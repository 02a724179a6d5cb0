"""Reading the records of requests: the index of a session, one record with its proof, old audits.

Owns which history a record is held against, and the records of earlier versions beside those of
today. Must not know how a record comes about, nor HTTP.

Source: the plugin contract, sections D6, D9 and D10.
"""

from collections.abc import Callable, Sequence

from attrs import define, field

from tavern_loader.errors import HostError, LoaderError, NotFoundError
from tavern_loader.ports import BytesFile, JsonObject
from tavern_loader.service.trace_shelf import TraceShelf
from tavern_trace import (
    HistorySnapshot,
    LegacyRecord,
    ReferenceFault,
    SchemaError,
    TraceError,
    audits_document,
    capabilities_document,
    detail_document,
    history_from_json,
    index_document,
    legacy_detail_document,
    load_legacy_assemblies,
    load_legacy_audits,
    verify,
)

LegacyReader = Callable[[bytes], Sequence[LegacyRecord]]


@define(kw_only=True)
class LegacyFile:
    """A file of an earlier version; one that cannot be read counts as empty."""

    file: BytesFile
    load: LegacyReader
    _revision: object = field(default=None, init=False)
    _records: Sequence[LegacyRecord] = field(default=(), init=False)

    def records(self) -> Sequence[LegacyRecord]:
        """Give what the file holds; it is read again only if it has changed."""
        try:
            revision = self.file.revision()
            if revision != self._revision:
                data = self.file.read()
                self._records = () if data is None else self.load(data)
                self._revision = revision
        except (LoaderError, TraceError):
            self._records = ()
        return self._records


@define(kw_only=True)
class TraceReading:
    """Everything that can be read of the trace."""

    shelf: TraceShelf
    old_audits: LegacyFile
    old_assemblies: LegacyFile
    inspect: Callable[[str], JsonObject | None]
    """Reads the log of a session: meta and events; None if there is no such session."""

    def capabilities(self) -> JsonObject:
        """Say what the interface can do."""
        return capabilities_document(self.shelf.limits)

    def index(self, session_id: str) -> JsonObject:
        """List the records of a session, without texts, oldest first."""
        return index_document(self.shelf.store(), session_id, self._legacy())

    def audits(self, session_id: str) -> JsonObject:
        """List the audits of a session in the first version's form, oldest first."""
        return audits_document(self.shelf.store(), session_id, self.old_audits.records())

    def detail(self, session_id: str, record_id: str) -> JsonObject:
        """Give one record, with the texts that the session's log proves.

        Raises NotFoundError (ASSEMBLY_NOT_FOUND).
        """
        for record in self.shelf.store().records(session_id):
            if record.id == record_id:
                return detail_document(record, verify(record, self._history(session_id)))
        for old in reversed(self._legacy()):
            if (old.session_id, old.id) == (session_id, record_id):
                return legacy_detail_document(old)
        raise NotFoundError("ASSEMBLY_NOT_FOUND", "the record is missing or was evicted")

    def _legacy(self) -> Sequence[LegacyRecord]:
        return (*self.old_audits.records(), *self.old_assemblies.records())

    def _history(self, session_id: str) -> HistorySnapshot | ReferenceFault:
        try:
            log = self.inspect(session_id)
            if log is None:
                return ReferenceFault.HISTORY_UNAVAILABLE
            return history_from_json(log)
        except (HostError, SchemaError):
            return ReferenceFault.HISTORY_READ_FAILED


def trace_reading(
    shelf: TraceShelf,
    *,
    old_audits: BytesFile,
    old_assemblies: BytesFile,
    inspect: Callable[[str], JsonObject | None],
) -> TraceReading:
    """Join the shelf, the two files of earlier versions, and whoever reads a session's log."""
    return TraceReading(
        shelf=shelf,
        old_audits=LegacyFile(file=old_audits, load=load_legacy_audits),
        old_assemblies=LegacyFile(file=old_assemblies, load=load_legacy_assemblies),
        inspect=inspect,
    )
