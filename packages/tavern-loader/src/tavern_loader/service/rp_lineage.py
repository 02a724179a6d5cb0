"""The sessions a host runs, and which session each came from.

Owns what the link's messages say about sessions, and the way up through parents. Must not know what
RP mode is made of beyond the value it keeps for a session.
"""

from collections.abc import Iterator, Mapping

from attrs import define, field

from tavern_loader.domain.rp_mode import RpSession
from tavern_loader.errors import HostError
from tavern_loader.ports import HostSession, JsonObject


@define
class LiveSession:
    """A session that the host runs."""

    parent_id: str | None = None
    depth: int = 0
    """How many delegations it is away from a person; a fork is no delegation."""
    cwd: str | None = None
    machine: RpSession = field(factory=RpSession)
    """Without `stored`, which is read where it is kept."""


@define(kw_only=True)
class Lineages:
    """Every live session, and the parents of those that were or are looked up."""

    host: HostSession
    live: dict[str, LiveSession] = field(factory=dict)
    _parents: dict[str, str | None] = field(factory=dict, init=False)
    """Of sessions that are not live."""

    def take_in(self, session: JsonObject) -> LiveSession:
        """Take in what a message says about its session."""
        live = self.live.setdefault(str(session["id"]), LiveSession())
        header = session.get("header")
        facts = header if isinstance(header, Mapping) else {}
        parent, depth = facts.get("parentSession"), facts.get("delegationDepth")
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
            live = self.live.get(current)
            current = live.parent_id if live is not None else self._parents.get(current)

    def learn_ancestors(self, session_id: str | None) -> None:
        """Read whom those ancestors came from that the host does not run."""
        seen: set[str] = set()
        while session_id is not None and session_id not in seen:
            seen.add(session_id)
            live = self.live.get(session_id)
            if live is None and session_id not in self._parents:
                self._parents[session_id] = self._read_parent(session_id)
            session_id = live.parent_id if live is not None else self._parents.get(session_id)

    def forget(self, session_id: str) -> None:
        """Take a session for ended; its parent stays known to its children."""
        live = self.live.pop(session_id, None)
        if live is not None:
            self._parents[session_id] = live.parent_id

    def _read_parent(self, session_id: str) -> str | None:
        try:
            log = self.host.inspect(session_id)
        except HostError:
            return None  # a delegated child of a locked session is locked by itself
        meta = log.get("meta") if log is not None else None
        parent = meta.get("parentSession") if isinstance(meta, Mapping) else None
        return parent if isinstance(parent, str) and parent else None
