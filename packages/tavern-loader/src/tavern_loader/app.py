"""The process that a host starts, joined: the one place that knows every adapter and service.

Services are made when the host says how it is set up; the HTTP side when its first request comes,
so that no start waits for it. Must not know any rule.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Protocol

from attrs import define, evolve, field

from tavern_loader.adapters.background import Background
from tavern_loader.adapters.clock import SystemClock
from tavern_loader.adapters.console import complain
from tavern_loader.adapters.late_http import MESSAGES, HttpSide, LateHttp
from tavern_loader.adapters.settings_files import real_path, settings_in
from tavern_loader.adapters.soon import Soon
from tavern_loader.adapters.stored_bytes import TRACE_RECORDS, SessionMemoryFolder, StoredBytes
from tavern_loader.adapters.stores import storage_root
from tavern_loader.adapters.tokens import estimate_tokens
from tavern_loader.adapters.variables_file import shared_variables_in
from tavern_loader.domain.host_settings import HostSettings, host_settings
from tavern_loader.errors import LoaderError
from tavern_loader.installation import Installation, open_installation
from tavern_loader.ports import Cancellation, HostSession, JsonObject
from tavern_loader.service.host_methods import HostService
from tavern_loader.service.host_parts import Handler
from tavern_loader.service.library import Library
from tavern_loader.service.parameters import Parameters
from tavern_loader.service.roleplay import Roleplay
from tavern_loader.service.running import OpenSessions
from tavern_loader.service.session_state import SessionStates
from tavern_loader.service.settings import Settings
from tavern_loader.service.steps import Steps
from tavern_loader.service.trace_shelf import TraceShelf
from tavern_loader.service.tracing import Tracing
from tavern_trace import Privacy, StoreLimits

RECORD_DELAY_S = 0.1
"""How long a record waits to be made: a step that follows at once goes first."""
WRITE_DELAY_S = 0.4
"""How long records wait to be written, for all sessions at once."""
Inline = Callable[[JsonObject], None]


class Host(HostSession, OpenSessions, Protocol):
    """The host at the other end of a link."""

    def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification; raises HostError."""
        ...


@define
class HostApp:
    """All that a link to one host needs; it knows most methods once the host said what it is."""

    _home: Path
    _host: Host
    _warmed: Callable[[], object]
    _methods: dict[str, Handler] = field(init=False, repr=False)
    service: HostService | None = field(default=None, init=False, repr=False)
    """None until the host has introduced itself."""
    _http: LateHttp | None = field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Know one method to begin with."""
        self._methods = {"initialize": self._initialize}

    @property
    def methods(self) -> Mapping[str, Handler]:
        """The function for each method."""
        return self._methods

    @property
    def inline(self) -> Mapping[str, Inline]:
        """The notifications that are handled on the reading thread."""
        return {name: partial(self._take_http, name) for name in MESSAGES}

    def close(self) -> None:
        """Write what is not written yet."""
        if self._http is not None:
            self._http.close()
        if self.service is not None:
            self.service.close()

    def _initialize(self, params: JsonObject, cancellation: Cancellation) -> JsonObject | None:
        if self.service is None:
            settings = host_settings(Parameters(params).object_or_empty("config"))
            self.service, self._http = _join(self._home, self._host, settings, self._warmed)
            self._methods.update(self.service.methods)
            self._methods["initialize"] = self._initialize
        return self.service.methods["initialize"](params, cancellation)

    def _take_http(self, name: str, params: JsonObject) -> None:
        if self._http is not None:
            self._http.take(name, params)


def host_methods(home: Path, host: Host, *, warmed: Callable[[], object] = lambda: None) -> HostApp:
    """Make what a link to a host needs.

    `home` is the folder of the host; `warmed` is called when all is read that most sessions use.
    """
    return HostApp(home, host, warmed)


def _join(
    home: Path, host: Host, settings: HostSettings, warmed: Callable[[], object]
) -> tuple[HostService, LateHttp]:
    root = storage_root(str(home), {})
    if settings.storage_dir is not None:
        root = Path(settings.storage_dir).expanduser().absolute()
    installation = open_installation(root)
    storage = installation.storage
    rules = settings_in(storage.root, storage.lock)
    roleplay = Roleplay(
        selections=installation.library,
        rules=rules,
        host=host,
        clock=installation.clock,
        real_path=real_path,
        new_lock=RLock,
    )
    steps = Steps(
        library=installation.library,
        states=SessionStates(SessionMemoryFolder(storage), settings.bounds, complain),
        shared=shared_variables_in(storage),
        policy_text=roleplay.section_text,
        local_time=SystemClock().local_time,
        count_tokens=estimate_tokens,
        max_profile_bytes=settings.max_profile_bytes,
        budget_tokens=settings.budget_tokens,
    )
    background = Background(installation.clock, RECORD_DELAY_S, complain)
    shelf = TraceShelf(
        file=StoredBytes(storage, TRACE_RECORDS),
        limits=_trace_limits(settings),
        complain=complain,
        lock=RLock(),
        file_lock=RLock(),
        later=Soon(WRITE_DELAY_S),
        catch_up=background.drain,
    )
    service = HostService(
        steps=steps,
        tracing=Tracing(
            shelf=shelf,
            clock=background,
            identities=installation.identities,
            privacy=Privacy(settings.privacy),
            is_on=settings.is_traced,
        ),
        roleplay=roleplay,
        history_messages=settings.bounds.scan_messages,
        complain=complain,
        background=background,
    )
    background.submit(partial(_warm_up, installation.library, warmed), at_once=True)
    opened = partial(_open_http, installation, host, rules, service, settings)
    return service, LateHttp(opened, host.tell, complain)


def _warm_up(library: Library, warmed: Callable[[], object]) -> None:
    """Read what most sessions begin with, while the host still boots."""
    try:
        # A file that cannot be read is told to the session that needs it.
        with suppress(LoaderError):
            library.resolve(library.defaults())
    finally:
        warmed()


def _open_http(
    installation: Installation,
    host: Host,
    rules: Settings,
    service: HostService,
    settings: HostSettings,
) -> HttpSide:
    # Not at the top: a start must not wait for the web framework.
    from tavern_loader.adapters.http.link_bridge import LinkBridge  # noqa: PLC0415
    from tavern_loader.adapters.http.walls import Security  # noqa: PLC0415
    from tavern_loader.http_app import HttpParts, http_api  # noqa: PLC0415

    parts = HttpParts(
        host=host,
        settings=rules,
        roleplay=service.roleplay,
        shelf=service.tracing.shelf,
        preview=service.steps.preview,
    )
    security = Security(
        allowed_hosts=frozenset(settings.allowed_hosts),
        allow_remote_clients=settings.allow_remote_clients,
    )
    return LinkBridge(http_api(installation, parts, complain, security=security), host.tell)


def _trace_limits(settings: HostSettings) -> StoreLimits:
    limits = StoreLimits()
    if settings.trace_record_bytes is not None:
        limits = evolve(limits, record_bytes=settings.trace_record_bytes)
    if settings.trace_total_bytes is not None:
        limits = evolve(limits, total_bytes=settings.trace_total_bytes)
    return limits
