"""World books bound to a user, a preset or a character, as values of their two files.

Owns the lists, their limits and what deletion does to them. Must not know where the files are.

Source: the plugin contract, sections A10 and F.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from tavern_loader.domain.documents import JsonObject, Kind, check_schema
from tavern_loader.domain.js_values import ids_of, object_of, require
from tavern_loader.domain.selection import MAX_BOOKS
from tavern_loader.errors import StoreError

SCHEMA = 1
EMPTY_USER_BOOKS: JsonObject = {"schemaVersion": SCHEMA, "bindings": {}}
EMPTY_RESOURCE_BOOKS: JsonObject = {
    "schemaVersion": SCHEMA,
    "bindings": {"preset": {}, "character": {}},
}
_RESOURCE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Owner(StrEnum):
    """What books can be bound to, beside a session."""

    USER = "user"
    PRESET = "preset"
    CHARACTER = "character"


OWNER_KINDS: Mapping[Kind, Owner] = {
    Kind.USER: Owner.USER,
    Kind.PRESET: Owner.PRESET,
    Kind.CHARACTER: Owner.CHARACTER,
}
USER_FILE = (Owner.USER,)
"""Owners that the file of users is about."""
RESOURCE_FILE = (Owner.PRESET, Owner.CHARACTER)
"""Owners that the file of resources is about."""
MAX_USERS = 2048
MAX_RESOURCES = 4096
"""Presets and characters together."""


def check(document: JsonObject) -> None:
    """Refuse what is no file of bindings. Raises ValueError."""
    check_schema(document, SCHEMA)
    require(isinstance(document.get("bindings"), Mapping), "bindings is no object")


def books_of(document: JsonObject, owner: Owner, owner_id: str) -> tuple[str, ...]:
    """List the books bound to an owner, in order."""
    record = object_of(_owners(document, owner).get(owner_id))
    return ids_of(record.get("worldBookIds"), MAX_BOOKS)


def with_books(
    document: dict[str, Any], owner: Owner, owner_id: str, book_ids: Sequence[str], now: str
) -> dict[str, Any]:
    """Bind books to an owner in place of those bound before; an empty list binds none.

    Raises ValueError for an id that cannot be one and for more than 100 books, StoreError for one
    owner too many.
    """
    wanted = tuple(dict.fromkeys(book_ids))
    are_ids = all(map(_RESOURCE_ID.fullmatch, (owner_id, *wanted)))
    require(are_ids, "an id is 1 to 100 letters, digits, - and _")
    require(
        len(wanted) <= MAX_BOOKS, f"at most {MAX_BOOKS} world books can be bound to one {owner}"
    )
    owners = {key: one for key, one in _owners(document, owner).items() if key != owner_id}
    if wanted:
        known = object_of(_owners(document, owner).get(owner_id))
        owners[owner_id] = {**known, "worldBookIds": list(wanted), "updatedAt": now}
    done = _with_owners(document, owner, owners)
    _check_amount(done, owner)
    return done


def without_book(
    document: dict[str, Any], owners: Iterable[Owner], gone: str, now: str
) -> dict[str, Any]:
    """Take a deleted book out of the lists of the owners that a file is about."""
    for owner in owners:
        for owner_id in tuple(_owners(document, owner)):
            books = books_of(document, owner, owner_id)
            if gone in books:
                left = [one for one in books if one != gone]
                document = with_books(document, owner, owner_id, left, now)
    return document


def _owners(document: JsonObject, owner: Owner) -> Mapping[str, Any]:
    bindings = object_of(document.get("bindings"))
    return bindings if owner is Owner.USER else object_of(bindings.get(owner))


def _with_owners(
    document: dict[str, Any], owner: Owner, owners: Mapping[str, Any]
) -> dict[str, Any]:
    if owner is Owner.USER:
        return {**document, "bindings": dict(owners)}
    return {**document, "bindings": {**document["bindings"], str(owner): dict(owners)}}


def _check_amount(document: JsonObject, owner: Owner) -> None:
    is_user = owner is Owner.USER
    listed, maximum = (USER_FILE, MAX_USERS) if is_user else (RESOURCE_FILE, MAX_RESOURCES)
    if sum(len(_owners(document, one)) for one in listed) > maximum:
        code = f"{'USER' if is_user else 'RESOURCE'}_WORLD_BOOK_BINDING_LIMIT_REACHED"
        raise StoreError(code, f"world books are bound to more than {maximum} owners")
