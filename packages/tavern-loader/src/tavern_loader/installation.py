"""One installation: its stores and the services on them, joined.

The one place where the command line, the host and the pages get the same services from. Must not
know what any of them does with them.
"""

from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from tavern_loader.adapters.clock import RandomIdentities, SystemClock
from tavern_loader.adapters.json_file import Storage
from tavern_loader.adapters.stores import open_storage, open_stores, storage_root
from tavern_loader.ports import Clock, Identities
from tavern_loader.service.binding import Binding
from tavern_loader.service.catalog import Catalog
from tavern_loader.service.importing import Importing
from tavern_loader.service.library import Library
from tavern_loader.service.templates import SessionTemplates
from tavern_loader.store_ports import Stores


@frozen(kw_only=True)
class Installation:
    """The stores of one home of the host, and the services on them."""

    storage: Storage
    stores: Stores
    clock: Clock
    identities: Identities
    library: Library
    catalog: Catalog
    importing: Importing
    templates: SessionTemplates
    binding: Binding


def open_installation(
    root: Path, clock: Clock | None = None, identities: Identities | None = None
) -> Installation:
    """Open the stores in a folder; nothing is written before the first change.

    Without a clock and identities, those of the machine are used.
    """
    storage = open_storage(root)
    stores = open_stores(storage)
    clock, identities = clock or SystemClock(), identities or RandomIdentities()
    library = Library(stores, clock)
    templates = SessionTemplates(stores, clock, identities, library)
    return Installation(
        storage=storage,
        stores=stores,
        clock=clock,
        identities=identities,
        library=library,
        catalog=Catalog(stores, clock, library),
        importing=Importing(stores, clock, identities),
        templates=templates,
        binding=Binding(stores, clock, library, templates),
    )


def find_installation(dsh_home: str | None, environment: Mapping[str, str]) -> Installation:
    """Open the installation of a home of the host: the one given, else `$DSH_HOME`."""
    return open_installation(storage_root(dsh_home, environment))
