"""Resources as people name them on the command line, and what is said where a name means none.

Owns the words, and how near a wrong name is to a right one. Must not know what is done with a
resource.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from tavern_loader.domain.documents import Kind, Summary
from tavern_loader.errors import NotFoundError
from tavern_loader.layout import clean, cut
from tavern_loader.service.catalog import Catalog
from tavern_loader.service.finding import UnclearReferenceError

REFERENCE = "an id, the beginning of one, or a name"
MAX_CHOICES = 10
COMPARED_CHARS = 80
"""So much of a name is compared; what people mistype is shorter."""
LEAST_LIKENESS = 0.5
_MAX_NAME_CELLS = 40


def meant(catalog: Catalog, reference: str, kind: Kind | None = None) -> tuple[Kind, str]:
    """Give kind and id of the one resource that is meant.

    Raises NotFoundError (RESOURCE_NOT_FOUND, RESOURCE_AMBIGUOUS), which names what there is.
    """
    try:
        return catalog.find(reference, kind)
    except UnclearReferenceError as error:
        is_none = error.code == "RESOURCE_NOT_FOUND"
        named = _names(error.choices, reference) if is_none else _ids(error.choices)
        shown = list(dict.fromkeys(named))
        listed = ", ".join(shown[:MAX_CHOICES])
        more = len(shown) - MAX_CHOICES
        listed += f", and {more} more" if more > 0 else ""
        there = "; there are: " if is_none else ": "
        told = f"{error.message}{there}{listed}" if listed else f"{error.message}; none is kept"
        raise NotFoundError(error.code, told) from error


def _names(choices: Sequence[Summary], wanted: str) -> Iterator[str]:
    for one in _by_likeness(choices, wanted.casefold()):
        name = cut(clean(one.name), _MAX_NAME_CELLS)
        yield f"“{name}”" if name else one.id


def _ids(choices: Sequence[Summary]) -> Iterator[str]:
    yield from (f"{one.kind} {one.id}" for one in choices)


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
