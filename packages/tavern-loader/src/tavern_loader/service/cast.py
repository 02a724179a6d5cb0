"""The characters of an installation as a side bar shows them: in order, and the missing ones.

Owns what the return of a deleted character changes. Must not know files.

Source: the plugin contract, section F.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from tavern_loader.domain import character_list, session_selections
from tavern_loader.domain.character_list import Listed, Match, Missing, SortMode
from tavern_loader.domain.js_values import iso_time, list_of, object_of, text_of
from tavern_loader.ports import Clock, JsonObject
from tavern_loader.store_ports import Stored, Stores


@frozen(kw_only=True)
class Relinked:
    """What was given a character in place of a missing one."""

    sessions: int
    templates: int


@frozen(kw_only=True)
class Recovery:
    """A deleted character that came back."""

    previous_id: str
    character_id: str
    match: Match
    relinked: Relinked


class Cast:
    """The list of characters."""

    def __init__(self, stores: Stores, clock: Clock) -> None:
        """Work on stores."""
        self._stores = stores
        self._clock = clock

    def all(self) -> tuple[Stored, ...]:
        """List the characters in the order in use; one that cannot be read is left out."""
        held = {stored.id: stored for stored in self._stores.characters.readable()}
        state = self._stores.character_state.read().document
        listed = (_listed(stored) for stored in held.values())
        return tuple(held[one.id] for one in character_list.in_order(state, listed))

    def mode(self) -> SortMode:
        """Give the order in use. Raises StoreError."""
        return character_list.mode_of(self._stores.character_state.read().document)

    def missing(self) -> tuple[Missing, ...]:
        """List the characters that were deleted. Raises StoreError."""
        return character_list.missing_of(self._stores.character_state.read().document)

    def arrange(self, mode: SortMode, ids: Sequence[str] | None = None) -> None:
        """Choose an order. Raises ValueError unless ids names every character once, StoreError."""
        with self._stores.exclusive():
            listed = [_listed(stored) for stored in self._stores.characters.readable()]
            self._stores.character_state.change(
                lambda state: character_list.with_order(state, mode, ids, listed)
            )

    def relink(self, previous_id: str, character_id: str) -> Relinked:
        """Give a character to everything that has bound one that is gone.

        Raises NotFoundError for the character that shall take its place, StoreError.
        """
        with self._stores.exclusive():
            self._stores.characters.get(character_id)
            done = Relinked(
                sessions=self._replace_in_sessions(previous_id, character_id),
                templates=self._replace_in_templates(previous_id, character_id),
            )
            self._stores.character_state.change(
                lambda state: character_list.without_missing(state, previous_id)
            )
            return done

    def recover(self, character_id: str) -> Recovery | None:
        """Let a new character take the place of the missing one it is known for, if there is one.

        Raises NotFoundError, StoreError.
        """
        with self._stores.exclusive():
            new = _listed(self._stores.characters.get(character_id))
            state = self._stores.character_state.read().document
            if not character_list.missing_of(state):
                return None  # as nearly always: no need to look at all the others
            listed = [_listed(stored) for stored in self._stores.characters.readable()]
            found = character_list.recovery_of(state, new, listed)
            if found is None:
                return None
            missing, match = found
            return Recovery(
                previous_id=missing.id,
                character_id=character_id,
                match=match,
                relinked=self.relink(missing.id, character_id),
            )

    def _replace_in_sessions(self, previous_id: str, character_id: str) -> int:
        now = iso_time(self._clock.now_ms())
        count = 0

        def replace(document: dict[str, Any]) -> dict[str, Any]:
            nonlocal count
            done = session_selections.migrated(document, now)
            for session_id, record in done["sessions"].items():
                changed = _replaced(object_of(record), previous_id, character_id)
                if changed is not None:
                    count += 1
                    done["sessions"][session_id] = {**changed, "updatedAt": now}
            return done

        self._stores.selections.change(replace)
        return count

    def _replace_in_templates(self, previous_id: str, character_id: str) -> int:
        now = iso_time(self._clock.now_ms())
        count = 0

        def replace(document: dict[str, Any]) -> dict[str, Any]:
            nonlocal count
            kept: list[Mapping[str, Any]] = []
            for record in map(object_of, list_of(document.get("templates"))):
                changed = _replaced(record, previous_id, character_id)
                count += changed is not None
                kept.append(record if changed is None else {**changed, "updatedAt": now})
            return {**document, "templates": kept}

        self._stores.templates.change(replace)
        return count


def _replaced(record: JsonObject, previous_id: str, character_id: str) -> dict[str, Any] | None:
    selection = character_list.with_character_replaced(
        object_of(record.get("selection")), previous_id, character_id
    )
    return None if selection is None else {**record, "selection": selection}


def _listed(stored: Stored) -> Listed:
    source = object_of(stored.document.get("source"))
    return Listed(
        id=stored.id,
        name=text_of(stored.document.get("name")),
        updated_at=text_of(stored.document.get("updatedAt")),
        sha256=text_of(source.get("sha256")) or None,
    )
