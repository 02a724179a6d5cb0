"""The records of requests between two writings: what is new in memory, the rest in one file.

Owns when the file is read and written, and the joining with what another process wrote meanwhile.
A fault of the file never reaches a step: it is reported once, and records stay in memory. Must not
know how a record comes about.

Source: the plugin contract, section D7.
"""

from collections.abc import Callable, Iterable
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
    """Held for a moment, by every step."""
    file_lock: AbstractContextManager[object] = field(factory=nullcontext)
    """Held while the file is read or written."""
    later: Callable[[Callable[[], None]], None] | None = None
    """Does what it is given in a moment, once for all who ask until then; None: nobody waits."""
    catch_up: Callable[[], object] = field(default=lambda: None)
    """Called before records are read: sees to it that what has happened is in them."""
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
            self.flush_soon()

    def store(self) -> TraceStore:
        """Give all records, those of other processes included."""
        self.catch_up()
        with self.file_lock:
            return _joined(self._read(), self._fresh())

    def flush_soon(self) -> None:
        """Write what is new in a moment: with many sessions, once for all of them."""
        if self.later is None:
            self.flush()
        else:
            self.later(self.flush)

    def flush(self) -> None:
        """Write what is new. A fault is reported, and what is new stays in memory."""
        with self.file_lock:
            fresh = self._fresh()
            if not fresh:
                return
            try:
                with self.file.exclusive():
                    joined = _joined(self._read(), fresh)
                    if not self._is_broken:
                        self.file.write(dump_store(joined))
                        self._revision = self.file.revision()
            except LoaderError as error:
                self._report(error.code)
                return
            self._store = joined
            self._forget(fresh)

    def _fresh(self) -> tuple[TraceRecord, ...]:
        with self.lock:
            return tuple(self._unwritten.values())

    def _forget(self, written: tuple[TraceRecord, ...]) -> None:
        """Drop what was written, unless it has changed since."""
        with self.lock:
            for record in written:
                key = (record.session_id, record.id)
                if self._unwritten.get(key) is record:
                    del self._unwritten[key]

    def _read(self) -> TraceStore:
        """Give what the file holds; it is read again if somebody else has changed it."""
        revision = self.file.revision()
        known = self._store
        if known is not None and (self._is_broken or revision == self._revision):
            return known
        self._store = TraceStore(limits=self.limits)
        try:
            data = self.file.read()
            if data is not None:
                self._store = load_store(data, self.limits)
        except (LoaderError, TraceError) as error:
            # It may be of a newer version, or somebody can repair it: it is not written over.
            self._is_broken = True
            self._report(error.code)
        self._revision = revision
        return self._store

    def _report(self, code: str) -> None:
        self.complain(f"the trace is not written: {code}")


def _joined(store: TraceStore, records: Iterable[TraceRecord]) -> TraceStore:
    for record in records:
        store = put(store, record)
    return evolve(store, remarks=())
