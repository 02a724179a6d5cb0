"""Which resource a person means.

Owns what counts as naming a resource. Must not know where resources are, or how choices are shown.
"""

from collections.abc import Callable, Sequence

from tavern_loader.domain.documents import Summary
from tavern_loader.errors import NotFoundError

MIN_PREFIX_CHARS = 4
"""So much of an id must be given at least."""


class UnclearReferenceError(NotFoundError):
    """No resource is meant, or several."""

    def __init__(self, code: str, message: str, *, choices: tuple[Summary, ...]) -> None:
        """Keep the resources that may have been meant."""
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
    raise UnclearReferenceError("RESOURCE_NOT_FOUND", message, choices=tuple(listed))
