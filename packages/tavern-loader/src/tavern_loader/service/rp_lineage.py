"""The sessions a host runs, and which session each came from.

Owns what the link's messages say about sessions, and the way up through parents. Must not know what
RP mode is made of beyond the values it keeps for a session.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from typing import Any

from attrs import define, evolve, field

from tavern_loader.domain import rp_mode
from tavern_loader.domain.rp_mode import RpSession, RpState
from tavern_loader.errors import HostError
from tavern_loader.ports import HostSession, JsonObject

Lock = AbstractContextManager[object]
NewLock = Callable[[], Lock]
"""Makes a re-entrant lock."""


@define(kw_only=True)
class LiveSession:
    """A session that the host runs."""

    changing: Lock = field(factory=nullcontext, eq=False, repr=False)
    """Held while a change is computed, stored and appended: the next one finds it done."""
    parent_id: str | None = None
    depth: int = 0
    """How many delegations it is away from a person; a fork is no delegation."""
    cwd: str | None = None
    machine: RpSession = field(factory=RpSession)
    """Without `stored`, which is read where it is kept."""
    replayed: RpSession | None = None
    """What a sync that is not complete has brought so far."""
    is_synced: bool = False
    was_locked: bool = False
    """What the host was told by the process before this one."""
    seen: RpState | None = None
    """What was stored when it could be read last; None if it never could."""

    def observe(self, event: JsonObject) -> None:
        """Take in an event of the log."""
        self.machine = _observed(self.machine, event)

    def replay(
        self, events: Sequence[JsonObject], *, is_first: bool, is_last: bool, sandbox: str | None
    ) -> None:
        """Take in the log anew; what is known counts until the last part is there.

        `sandbox` is the mode that the whole log says last: a fork has inherited, and not logged it.
        """
        begun = RpSession() if is_first else self.replayed or self.machine
        self.replayed = reduce(_observed, events, begun)
        if is_last:
            done = rp_mode.observe(self.replayed, "sandbox/mode", {"mode": sandbox})
            self.machine, self.replayed = evolve(done, pending=self.machine.pending), None


@define(kw_only=True)
class Lineages:
    """Every live session, and the parents of those that were or are looked up.

    Safe to use from several threads: `live` is replaced by nobody, and changed under the lock.
    """

    host: HostSession
    new_lock: NewLock = nullcontext
    live: dict[str, LiveSession] = field(factory=dict, init=False)
    _parents: dict[str, str | None] = field(factory=dict, init=False)
    """Of sessions that are not live."""
    _unanswered: set[str] = field(factory=set, init=False)
    """Sessions about which the host gave no answer when it was asked."""
    _lock: Lock = field(init=False)

    @_lock.default
    def _new_lock(self) -> Lock:
        return self.new_lock()

    def take_in(self, session: JsonObject) -> LiveSession:
        """Take in what a message says about its session."""
        header = session.get("header")
        facts = header if isinstance(header, Mapping) else {}
        parent, depth = facts.get("parentSession"), facts.get("delegationDepth")
        with self._lock:
            session_id = str(session["id"])
            live = self.live.get(session_id)
            if live is None:
                live = self.live[session_id] = LiveSession(changing=self.new_lock())
            live.parent_id = parent if isinstance(parent, str) and parent else live.parent_id
            live.depth = depth if isinstance(depth, int) else live.depth
            folders = (facts.get("cwd"), session.get("cwd"), live.cwd)
            live.cwd = next((one for one in folders if isinstance(one, str) and one), None)
        return live

    def chain(self, session_id: str) -> Iterator[str]:
        """List a session and its ancestors, itself first; a circle is walked once."""
        seen: set[str] = set()
        current: str | None = session_id
        while current is not None and current not in seen:
            seen.add(current)
            yield current
            current = self._parent(current)

    def below(self, session_id: str) -> tuple[str, ...]:
        """List the live sessions that are this one or came from it."""
        with self._lock:
            return tuple(one for one in self.live if session_id in self.chain(one))

    def is_whole(self, session_id: str) -> bool:
        """Whether all ancestors of a live session are known."""
        *_, last = self.chain(session_id)
        return last in self.live or last in self._parents

    def learn_ancestors(self, session_id: str, *, is_repeated: bool = False) -> None:
        """Read whom those ancestors of a live session came from that the host does not run.

        Where the host has not answered it is asked again only if `is_repeated`: somebody may be
        waiting.
        """
        if is_repeated:
            self._unanswered.difference_update(self.chain(session_id))
        for one in self.chain(session_id):
            if one in self.live or one in self._parents:
                continue
            if one in self._unanswered or not self._read_parent(one):
                return

    def forget(self, session_id: str) -> LiveSession | None:
        """Take a session for ended, and give it; its parent stays known to its children."""
        with self._lock:
            live = self.live.pop(session_id, None)
            if live is not None:
                self._parents[session_id] = live.parent_id
        return live

    def _parent(self, session_id: str) -> str | None:
        live = self.live.get(session_id)
        return live.parent_id if live is not None else self._parents.get(session_id)

    def _read_parent(self, session_id: str) -> bool:
        """Ask the host; False if it gives no answer."""
        try:
            header = self.host.session_header(session_id)
        except HostError:
            self._unanswered.add(session_id)
            return False
        parent = header.get("parentSession") if header is not None else None
        with self._lock:
            self._parents[session_id] = parent if isinstance(parent, str) and parent else None
        return True


def _observed(machine: RpSession, event: JsonObject) -> RpSession:
    data: Any = event.get("data")
    kind = event.get("type")
    if not isinstance(kind, str):
        return machine
    return rp_mode.observe(machine, kind, data if isinstance(data, Mapping) else {})
