"""What sessions have bound, and everything behind it.

Owns the freeze of a session's selection at its first sight. What a selection stands for is found by
`resolving`. Must not know files, hosts, or how a prompt is made.

Source: the plugin contract, sections E1 and F.
"""

from collections.abc import Callable, Iterable

from tavern_loader.domain import session_selections, templates
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import id_of, iso_time
from tavern_loader.domain.selection import Selection
from tavern_loader.domain.session_selections import require_session_id
from tavern_loader.ports import Clock
from tavern_loader.service.bound_books import LIBRARY_SETTINGS
from tavern_loader.service.resolved import BoundBook, Resolved
from tavern_loader.service.resolving import Resolver
from tavern_loader.store_ports import Stores
from tavern_matcher import MatchSettings

__all__ = ["LIBRARY_SETTINGS", "BoundBook", "Library", "Resolved"]


class Library:
    """The selections and resources of one installation. Safe to use from several threads."""

    def __init__(
        self, stores: Stores, clock: Clock, settings: MatchSettings = LIBRARY_SETTINGS
    ) -> None:
        """Work on stores; `settings` are those of every scan."""
        self._stores = stores
        self._clock = clock
        self._resolver = Resolver(stores, settings)

    def ensure_selection(self, session_id: str, parent_id: str | None = None) -> Selection:
        """Give a session's selection, fixed at its first sight.

        A session with a parent, fork or subagent, begins with what its parent has at that moment,
        any other with the defaults. Raises StoreError if it cannot be read or kept, ValueError for
        what cannot be the id of a session.
        """
        known = self._known(session_id)
        if known is not None:
            return known
        with self._stores.exclusive():
            known = self._known(session_id)
            if known is not None:
                return known
            parent = None if parent_id is None else self._known(parent_id)
            return self._keep(session_id, self.defaults() if parent is None else parent)

    def has_selection(self, session_id: str) -> bool:
        """Whether a session has been seen. Raises as `selection`."""
        return self._known(session_id) is not None

    def selection(self, session_id: str) -> Selection:
        """Give a session's selection; for one that was never seen, what it would begin with.

        Raises StoreError, ValueError for what cannot be the id of a session.
        """
        known = self._known(session_id)
        return self.defaults() if known is None else known

    def defaults(self) -> Selection:
        """Give what a new session without a parent begins with.

        That is the chosen session template, else the chosen preset alone. Raises StoreError.
        """
        stored = self._stores.templates.read().document
        chosen = templates.selected_id(stored)
        if chosen is not None:
            return templates.find(stored, self._extras(), chosen).selection
        return Selection(
            preset_id=id_of(self._stores.preset_state.read().document.get("selectedId"))
        )

    def set_selection(self, session_id: str, selection: Selection) -> Selection:
        """Replace a session's selection. Raises as `change_selection`."""
        return self.change_selection(session_id, lambda _: selection)

    def change_selection(
        self, session_id: str, change: Callable[[Selection], Selection]
    ) -> Selection:
        """Replace a session's selection by what is made of it, while nobody else can.

        Raises StoreError if it cannot be read or kept, ValueError for what cannot be the id of a
        session, and what `change` raises; then nothing has changed.
        """
        with self._stores.exclusive():
            known = self._known(session_id)
            before = self.defaults() if known is None else known
            after = change(before)
            return before if after == known else self._keep(session_id, after)

    def session_ids(self) -> tuple[str, ...]:
        """List the sessions that have been seen. Raises StoreError."""
        return session_selections.session_ids(self._stores.selections.read().document)

    def forget_sessions(self, session_ids: Iterable[str]) -> None:
        """Drop what sessions have bound: at their next sight they begin anew. Raises StoreError."""
        gone = frozenset(session_ids)
        with self._stores.exclusive():
            self._stores.selections.change(
                lambda document: session_selections.without_sessions(document, gone)
            )
            self._stores.extras.change(
                lambda extras: session_selections.without_sessions(extras, gone)
            )

    def unbind_everywhere(self, kind: Kind, gone: str) -> None:
        """Take a resource that is no more out of all selections. Raises StoreError."""
        now = iso_time(self._clock.now_ms())
        with self._stores.exclusive():
            self._stores.selections.change(
                lambda document: session_selections.without_resource(document, kind, gone, now)
            )

    def resolve(self, selection: Selection) -> Resolved:
        """Give the resources of a selection. What cannot be found or read gets a diagnostic."""
        return self._resolver.resolve(selection)

    def _known(self, session_id: str) -> Selection | None:
        require_session_id(session_id)
        document = self._stores.selections.read().document
        return session_selections.find(document, self._extras(), session_id)

    def _keep(self, session_id: str, selection: Selection) -> Selection:
        # The extras first: what is told of a session that is not kept does no harm.
        self._stores.extras.change(
            lambda extras: session_selections.with_channel(
                extras, "sessions", session_id, selection.lore_channel
            )
        )
        now = iso_time(self._clock.now_ms())
        self._stores.selections.change(
            lambda document: session_selections.with_selection(document, session_id, selection, now)
        )
        return selection

    def _extras(self) -> dict[str, object]:
        return dict(self._stores.extras.read().document)
