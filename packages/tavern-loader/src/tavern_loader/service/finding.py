"""Which resource a person means, and which they may have meant.

Owns what counts as naming a resource, and how near a wrong name is to a right one. Must not know
where resources are, or how choices are shown.
"""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from tavern_loader.domain.documents import Summary
from tavern_loader.errors import NotFoundError

MIN_PREFIX_CHARS = 4
"""So much of an id must be given at least."""
COMPARED_CHARS = 80
"""So much of a name is compared; what people mistype is shorter."""
LEAST_LIKENESS = 0.5


class UnclearReferenceError(NotFoundError):
    """No resource is meant, or several."""

    def __init__(self, code: str, message: str, *, choices: tuple[Summary, ...]) -> None:
        """Keep the resources that may have been meant, the likeliest first."""
        super().__init__(code, message)
        self.choices = choices


def find(listed: Sequence[Summary], reference: str, what: str) -> Summary:
    """Find the one that is meant: by id, by name, or by the beginning of an id.

    Raises UnclearReferenceError: RESOURCE_NOT_FOUND with all that are listed, RESOURCE_AMBIGUOUS
    with those that are meant.
    """
    wanted = reference.casefold()
    tests: tuple[Callable[[Summary], bool], ...] = (
        lambda one: one.id == reference,
        lambda one: one.name == reference,
        lambda one: one.name.casefold() == wanted,
        lambda one: len(reference) >= MIN_PREFIX_CHARS and one.id.startswith(reference),
    )
    for means in tests:
        found = tuple(one for one in listed if means(one))
        if len(found) == 1:
            return found[0]
        if found:
            message = f"{len(found)} resources are meant"
            raise UnclearReferenceError("RESOURCE_AMBIGUOUS", message, choices=found)
    message = f"there is no {what} of this name or id"
    choices = tuple(_by_likeness(listed, wanted))
    raise UnclearReferenceError("RESOURCE_NOT_FOUND", message, choices=choices)


def _by_likeness(listed: Sequence[Summary], wanted: str) -> Iterator[Summary]:
    """Give those whose name is like the wanted one, the likest first; then all others."""
    likeness = {at: _likeness(one.name.casefold(), wanted) for at, one in enumerate(listed)}
    near = [at for at, share in likeness.items() if share >= LEAST_LIKENESS]
    near.sort(key=lambda at: -likeness[at])
    yield from (listed[at] for at in near)
    yield from (listed[at] for at, share in likeness.items() if share < LEAST_LIKENESS)


def _likeness(name: str, wanted: str) -> float:
    """Compare two names: 1 if one holds the other, as "mar" and "maren"."""
    if wanted.strip() and (wanted in name or (name.strip() and name in wanted)):
        return 1.0
    return SequenceMatcher(None, name[:COMPARED_CHARS], wanted[:COMPARED_CHARS]).ratio()
