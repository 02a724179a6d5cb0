"""Everything the handlers may use: the same services as the command line and the host."""

from attrs import frozen

from tavern_loader.service.roleplay import Roleplay
from tavern_loader.service.settings import Settings
from tavern_loader.service.trace_reading import TraceReading


@frozen(kw_only=True)
class HttpServices:
    """The services of one installation."""

    settings: Settings
    roleplay: Roleplay
    traces: TraceReading
