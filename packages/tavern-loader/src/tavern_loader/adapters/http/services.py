"""Everything the handlers may use: the same services as the command line and the host."""

from collections.abc import Callable

from attrs import frozen

from tavern_loader.domain.selection import Selection
from tavern_loader.service.binding import Binding
from tavern_loader.service.cast import Cast
from tavern_loader.service.catalog import Catalog
from tavern_loader.service.changing import Changing
from tavern_loader.service.compiling import StepResult
from tavern_loader.service.importing import Importing
from tavern_loader.service.library import Library
from tavern_loader.service.roleplay import Roleplay
from tavern_loader.service.running import Running
from tavern_loader.service.settings import Settings
from tavern_loader.service.templates import SessionTemplates
from tavern_loader.service.trace_reading import TraceReading
from tavern_loader.store_ports import Stores


@frozen(kw_only=True)
class HttpServices:
    """The services of one installation."""

    stores: Stores
    settings: Settings
    roleplay: Roleplay
    traces: TraceReading
    library: Library
    catalog: Catalog
    importing: Importing
    binding: Binding
    templates: SessionTemplates
    cast: Cast
    running: Running
    changing: Changing
    preview: Callable[[str, Selection], StepResult]
    """What would be sent now for a session with a selection; nothing is changed by asking."""
