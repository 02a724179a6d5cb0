"""The records of requests between two writings: what is new in memory, the rest in one file.

Owns when the file is read and written, and the joining with what another process wrote meanwhile.
A fault of the file never reaches a step: it is reported once, and records stay in memory. Must not
know how a record comes about.

Source: the plugin contract, section D7.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from attrs import define, evolve, field

from tavern_loader.errors import LoaderError
from tavern_loader.ports import BytesFile
from tavern_trace import (
    StoreLimits,
    TraceError,
    TraceRecord,
    TraceStore,
    dump_store,
    load_store,
    put,
)

MAX_UNWRITTEN = 64
"""More records than this are written before the turn ends."""


@define(kw_only=True)
class TraceShelf:
    """All records of one installation. Safe to use from several threads with a real lock."""

    file: BytesFile
    limits: StoreLimits = field(factory=StoreLimits)
    complain: Callable[[str], None]
    """Told once when the file cannot be used: a code, no text of a record."""
    lock: AbstractContextManager[object] = field(factory=nullcontext)
    """Re-entrant."""
    _store: TraceStore | None = field(default=None, init=False)
    """What the file held when it was last read or written."""
    _revision: object = field(default=None, init=False)
    _unwritten: dict[tuple[str, str], TraceRecord] = field(factory=dict, init=False)
    """Newer than the file, in the order of change."""
    _is_broken: bool = field(default=False, init=False)

    def put(self, record: TraceRecord) -> None:
        """Keep a record in place of an earlier state of it."""
        with self.lock:
            key = (record.session_id, record.id)
            self._unwritten.pop(key, None)
            self._unwritten[key] = record
            is_full = len(self._unwritten) > MAX_UNWRITTEN
        if is_full:
            self.flush()

    def store(self) -> TraceStore:
        """Give all records, those of other processes included."""
        with self.lock:
            self._read()
            return self._joined()

    def flush(self) -> None:
        """Write what is new. A fault is reported, and what is new stays in memory."""
        with self.lock:
            if not self._unwritten:
                return
            try:
                with self.file.exclusive():
                    self._read()
                    joined = self._joined()
                    if not self._is_broken:
                        self.file.write(dump_store(joined))
                        self._revision = self.file.revision()
                    self._store = joined
                    self._unwritten.clear()
            except LoaderError as error:
                self._report(error.code)

    def _read(self) -> None:
        """Read the file if somebody else has changed it."""
        revision = self.file.revision()
        if self._is_broken or (self._store is not None and revision == self._revision):
            return
        try:
            data = self.file.read()
            empty = TraceStore(limits=self.limits)
            self._store = empty if data is None else load_store(data, self.limits)
            self._revision = revision
        except (LoaderError, TraceError) as error:
            # It may be of a newer version, or somebody can repair it: it is not written over.
            self._is_broken = True
            self._report(error.code)

    def _joined(self) -> TraceStore:
        joined = self._store or TraceStore(limits=self.limits)
        for record in self._unwritten.values():
            joined = put(joined, record)
        return evolve(joined, remarks=())

    def _report(self, code: str) -> None:
        self.complain(f"the trace is not written: {code}")
