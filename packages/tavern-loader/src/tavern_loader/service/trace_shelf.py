"""The records of requests between two writings: what is new in memory, the rest in one file.

Owns when the file is read and written, and the joining with what another process wrote meanwhile.
A fault of the file never reaches a step: it is reported once, and the latest records wait in memory
until it has passed. Must not know how a record comes about.

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
    open_store,
    put,
)

MAX_UNWRITTEN = 64
"""More records than this are written before the turn ends; if they cannot be, the oldest go."""
_PASSING = "STORE_UNREADABLE"
"""The code of a fault that says nothing of what is in the file."""


@define(kw_only=True)
class TraceShelf:
    """All records of one installation. Safe to use from several threads with a real lock."""

    file: BytesFile
    limits: StoreLimits = field(factory=StoreLimits)
    complain: Callable[[str], None]
    """Told once, until it can be written again, what is wrong: a code, no text of a record."""
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
    _damage: tuple[object, LoaderError | TraceError] | None = field(default=None, init=False)
    """Which revision of the file cannot be understood, and why: it is not read again."""
    _told: set[str] = field(factory=set, init=False)
    """What was complained about since the file was last written."""

    def put(self, record: TraceRecord) -> None:
        """Keep a record in place of an earlier state of it."""
        with self.lock:
            key = (record.session_id, record.id)
            self._unwritten.pop(key, None)
            self._unwritten[key] = record
            is_full = len(self._unwritten) > MAX_UNWRITTEN
            is_failing = bool(self._told)
        if is_full and is_failing:
            self._give_up_oldest()
        elif is_full:
            self.flush_soon()

    def store(self) -> TraceStore:
        """Give all records, those of other processes included."""
        self.catch_up()
        with self.file_lock:
            try:
                known = self._read()
            except (LoaderError, TraceError) as error:
                self._report(error.code)
                known = self._store or TraceStore(limits=self.limits)
            return _joined(known, self._fresh())

    def flush_soon(self) -> None:
        """Write what is new in a moment: with many sessions, once for all of them."""
        if self.later is None:
            self.flush()
        else:
            self.later(self.flush)

    def flush(self) -> None:
        """Write what is new. A fault is reported, and the latest of it stays in memory."""
        with self.file_lock:
            fresh = self._fresh()
            if not fresh:
                return
            try:
                with self.file.exclusive():
                    joined = _joined(self._read(), fresh)
                    self.file.write(dump_store(joined))
                    self._revision = self.file.revision()
            except (LoaderError, TraceError) as error:
                self._report(error.code)
                self._give_up_oldest()
                return
            self._store = joined
            self._forget(fresh)

    def _fresh(self) -> tuple[TraceRecord, ...]:
        with self.lock:
            return tuple(self._unwritten.values())

    def _forget(self, written: tuple[TraceRecord, ...]) -> None:
        """Drop what was written, unless it has changed since."""
        with self.lock:
            self._told.clear()
            for record in written:
                key = (record.session_id, record.id)
                if self._unwritten.get(key) is record:
                    del self._unwritten[key]

    def _give_up_oldest(self) -> None:
        """Keep no more than a session can do without: a trace is never worth a host's memory."""
        with self.lock:
            excess = len(self._unwritten) - MAX_UNWRITTEN
            for key in tuple(self._unwritten)[: max(excess, 0)]:
                del self._unwritten[key]
        if excess > 0:
            self._tell(f"only the latest {MAX_UNWRITTEN} records of the trace are kept")

    def _read(self) -> TraceStore:
        """Give what the file holds; it is read again if somebody else has changed it.

        Raises LoaderError, TraceError. A file that cannot be understood may be of a newer version,
        or somebody can repair it: it is not written over.
        """
        revision = self.file.revision()
        if self._damage is not None and self._damage[0] == revision:
            raise self._damage[1]
        if self._store is not None and revision == self._revision:
            return self._store
        try:
            data = self.file.read()
            store = (
                TraceStore(limits=self.limits) if data is None else open_store(data, self.limits)
            )
        except (LoaderError, TraceError) as error:
            self._damage = None if error.code == _PASSING else (revision, error)
            raise
        self._store, self._revision, self._damage = store, revision, None
        return store

    def _report(self, code: str) -> None:
        self._tell(f"the trace cannot be used: {code}")

    def _tell(self, complaint: str) -> None:
        with self.lock:
            is_known = complaint in self._told
            self._told.add(complaint)
        if not is_known:
            self.complain(complaint)


def _joined(store: TraceStore, records: Iterable[TraceRecord]) -> TraceStore:
    for record in records:
        store = put(store, record)
    return evolve(store, remarks=())
