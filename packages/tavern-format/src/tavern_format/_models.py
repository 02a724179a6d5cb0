"""A sequence of models that is made when it is first looked into. Knows nothing of the models."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

M = TypeVar("M")


class Models(Sequence[M]):
    """An immutable sequence of models, made together when one of them is first needed.

    Of a book that is only checked, converted or counted, no entry is ever made.
    """

    __slots__ = ("_count", "_made", "_make")

    def __init__(self, count: int, make: Callable[[], Iterable[M]]) -> None:
        """Remember how to make all `count` models."""
        self._count = count
        self._make = make
        self._made: dict[int, tuple[M, ...]] = {}

    def _all(self) -> tuple[M, ...]:
        if not self._made:
            # setdefault is atomic: threads that come together get one set of models.
            self._made.setdefault(0, tuple(self._make()))
        return self._made[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> M: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[M, ...]: ...
    def __getitem__(self, index: int | slice) -> M | tuple[M, ...]:
        return self._all()[index]

    def __add__(self, other: Iterable[M]) -> tuple[M, ...]:
        return (*self._all(), *other)

    def __iter__(self) -> Iterator[M]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Models | tuple):
            return self._all() == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


def as_models(entries: Iterable[M]) -> Sequence[M]:
    """Make a tuple of what a caller gives; what is lazy stays so."""
    return entries if isinstance(entries, Models) else tuple(entries)
