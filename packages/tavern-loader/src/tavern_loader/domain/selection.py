"""What a session has bound, and which world books count because of it.

Owns the values and the order of binding sources. Must not know where they are kept or how a bound
id becomes a resource.

Source: the plugin contract, sections A10, E1 and F.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from tavern_loader.domain.rp_mode import RpState

MAX_BOOKS = 100
"""World books in one list: bound to a session, to a user, to a preset, to a character."""
BOOK_ORDER = "session-explicit-then-user-then-preset-then-character"
"""Name of the order in which lists of books are joined."""


class LoreChannel(StrEnum):
    """Where fired lore goes."""

    SYSTEM = "system"
    """Into the system prompt, at its place among the parts."""
    LATE = "late"
    """Behind the history as runtime context: what stands before it stays the same from step to
    step, so a provider's prefix cache holds."""


class BindingSource(StrEnum):
    """Why a world book counts for a session."""

    SESSION = "session"
    USER = "user"
    PRESET = "preset"
    CHARACTER = "character"


@frozen(kw_only=True)
class CharacterChoice:
    """What a person chose about the bound character."""

    greeting_index: int = 0
    """0: the first message; n: the n-th alternate greeting."""
    prefer_system_prompt: bool = True
    prefer_post_history: bool = True
    unknown: Mapping[str, Any] = field(factory=dict)
    """Keys of the stored object without a meaning here; they are written back."""


@frozen(kw_only=True)
class Selection:
    """Everything a session has bound."""

    preset_id: str | None = None
    character_id: str | None = None
    user_id: str | None = None
    world_book_ids: tuple[str, ...] = ()
    """Books bound to the session itself, in order."""
    character: CharacterChoice = field(factory=CharacterChoice)
    rp: RpState = field(factory=RpState)
    lore_channel: LoreChannel = LoreChannel.SYSTEM
    unknown: Mapping[str, Any] = field(factory=dict)
    """Keys of the stored object without a meaning here; they are written back."""


EMPTY_SELECTION = Selection()


@frozen(kw_only=True)
class WorldBookSelection:
    """The lists of bound books, and what comes of joining them."""

    explicit: tuple[str, ...] = ()
    user_bound: tuple[str, ...] = ()
    preset_bound: tuple[str, ...] = ()
    character_bound: tuple[str, ...] = ()
    effective: tuple[str, ...] = ()
    """Each book once, where it first occurs."""
    duplicates: tuple[str, ...] = ()
    """Books that occur more than once, each once, in the order of their second occurrence."""

    def sources(self, book_id: str) -> tuple[BindingSource, ...]:
        """Say which lists name a book."""
        return tuple(source for source, ids in self._lists() if book_id in ids)

    def _lists(self) -> Iterator[tuple[BindingSource, tuple[str, ...]]]:
        yield BindingSource.SESSION, self.explicit
        yield BindingSource.USER, self.user_bound
        yield BindingSource.PRESET, self.preset_bound
        yield BindingSource.CHARACTER, self.character_bound


def join_books(
    explicit: Sequence[str],
    user_bound: Sequence[str] = (),
    preset_bound: Sequence[str] = (),
    character_bound: Sequence[str] = (),
) -> WorldBookSelection:
    """Join the lists in their order; the first occurrence of a book wins.

    >>> join_books(["a", "b"], ["b", "c"]).effective
    ('a', 'b', 'c')
    """
    named = (*explicit, *user_bound, *preset_bound, *character_bound)
    effective: dict[str, None] = {}
    duplicates: dict[str, None] = {}
    for book_id in named:
        (duplicates if book_id in effective else effective)[book_id] = None
    return WorldBookSelection(
        explicit=tuple(explicit),
        user_bound=tuple(user_bound),
        preset_bound=tuple(preset_bound),
        character_bound=tuple(character_bound),
        effective=tuple(effective),
        duplicates=tuple(duplicates),
    )
