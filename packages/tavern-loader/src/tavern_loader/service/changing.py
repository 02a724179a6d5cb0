"""Changes that pages ask for: on the revision they have seen, and not under a running session.

Owns both conditions, for every kind of change. Must not know what a change does.

Source: the plugin contract, sections E3, F and K.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import frozen

from tavern_format import ResourceKind, detect
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.user_document import new_user
from tavern_loader.errors import InputError, NotFoundError, RevisionConflictError
from tavern_loader.service.catalog import Catalog
from tavern_loader.service.importing import Imported, Importing
from tavern_loader.service.reading import SourceFile
from tavern_loader.service.running import Running
from tavern_loader.store_ports import Stored, Stores

T = TypeVar("T")

UNTITLED_CHARACTER = "Untitled character"
UNTITLED_BOOK = "Untitled world book"
_CARD_TEXTS = ("description", "personality", "scenario", "first_mes", "mes_example")
_FILE_KINDS = {
    Kind.PRESET: ResourceKind.CHAT_COMPLETION_PRESET,
    Kind.CHARACTER: ResourceKind.CHARACTER_CARD,
    Kind.WORLD_BOOK: ResourceKind.WORLD_BOOK,
}


@frozen(kw_only=True)
class Terms:
    """On what terms a resource may be changed."""

    revision: str | None = None
    """The one the caller has seen; None: any."""
    ignores_running: bool = False


@frozen(kw_only=True)
class Changing:
    """Changes on terms."""

    stores: Stores
    running: Running
    importing: Importing
    catalog: Catalog

    def on_terms(self, kind: Kind, document_id: str, terms: Terms, act: Callable[[], T]) -> T:
        """Do something to a resource, or to what it binds, on terms that hold until it is done.

        Raises RevisionConflictError, SessionRunningError, NotFoundError, and what `act` raises.
        """
        if not terms.ignores_running:
            self.running.require_unused(kind, document_id, f"{kind.code}_AGENT_RUNNING")
        with self.stores.exclusive():
            # Without a revision nothing is read: what is damaged can still be deleted.
            if terms.revision is not None:
                stored = self.stores.documents(kind).get(document_id)
                if stored.revision != terms.revision:
                    message = f"the {kind} has changed meanwhile"
                    raise RevisionConflictError("REVISION_CONFLICT", message)
            return act()

    def delete(self, kind: Kind, document_id: str, terms: Terms) -> None:
        """Delete a resource and unbind it everywhere. Raises as `on_terms`."""
        if not self.on_terms(
            kind, document_id, terms, lambda: self.catalog.delete(kind, document_id)
        ):
            raise NotFoundError(f"{kind.code}_NOT_FOUND", f"no {kind} {document_id}")

    def take(self, kind: Kind, file: SourceFile, *, name: str = "") -> Stored:
        """Keep a file as one kind of resource.

        Raises InputError for a file of another kind and for one that cannot be kept, StoreError.
        """
        found = detect(file.data).kind
        if found is not _FILE_KINDS[kind]:
            message = f"this is a file of kind {found}, not a {kind}"
            raise InputError("WRONG_KIND", message, file=file.name)
        imported: Imported = self.importing.take(file, name=name).resources[0]
        return self.stores.documents(imported.kind).get(imported.id)

    def new_character(self, name: str) -> Stored:
        """Keep a character of whom only the name is said. Raises StoreError."""
        data = {"name": name.strip() or UNTITLED_CHARACTER, **dict.fromkeys(_CARD_TEXTS, "")}
        card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
        return self.take(Kind.CHARACTER, _made_up(card))

    def new_world_book(self, name: str) -> Stored:
        """Keep a world book without entries. Raises StoreError."""
        book = {"name": name.strip() or UNTITLED_BOOK, "entries": {}}
        return self.take(Kind.WORLD_BOOK, _made_up(book))

    def new_user(self, name: str, description: str, user_id: str | None = None) -> Stored:
        """Keep a user, under an id of the caller's choice if there is one.

        Raises ValueError for a name that cannot be, StoreError for an id in use.
        """
        if user_id is None:
            return self.stores.users.get(self.importing.new_user(name, description).id)
        document = new_user(document_id=user_id, name=name, description=description)
        return self.stores.users.create(user_id, document)


def _made_up(document: Mapping[str, Any]) -> SourceFile:
    return SourceFile(name="", data=json.dumps(document).encode())
