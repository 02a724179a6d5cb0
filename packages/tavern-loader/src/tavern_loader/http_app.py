"""The HTTP API of one installation, joined: for the host's process, and for one that runs alone.

The host's process gives the parts it has already; alone, they are opened here. Must not know
routes.
"""

from collections.abc import Callable
from threading import RLock
from typing import Protocol

from attrs import frozen

from tavern_loader.adapters.clock import SystemClock
from tavern_loader.adapters.http.api import Api, TimeLimits
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.table import ROUTES
from tavern_loader.adapters.http.walls import Security
from tavern_loader.adapters.no_host import NoHost
from tavern_loader.adapters.settings_files import real_path, settings_in
from tavern_loader.adapters.stored_bytes import (
    OLD_ASSEMBLIES,
    OLD_AUDITS,
    TRACE_RECORDS,
    SessionMemoryFolder,
    StoredBytes,
)
from tavern_loader.adapters.tokens import estimate_tokens
from tavern_loader.adapters.variables_file import shared_variables_in
from tavern_loader.installation import Installation
from tavern_loader.ports import HostSession
from tavern_loader.service.active import Previewing
from tavern_loader.service.cast import Cast
from tavern_loader.service.changing import Changing
from tavern_loader.service.roleplay import Roleplay
from tavern_loader.service.running import OpenSessions, Running
from tavern_loader.service.session_state import SessionStates
from tavern_loader.service.settings import Settings
from tavern_loader.service.steps import Steps
from tavern_loader.service.trace_reading import trace_reading
from tavern_loader.service.trace_shelf import TraceShelf

Complain = Callable[[str], None]


class Host(HostSession, OpenSessions, Protocol):
    """The sessions of a host."""


@frozen(kw_only=True)
class HttpParts:
    """What the process of a host has, and its API takes."""

    host: Host
    settings: Settings
    roleplay: Roleplay
    shelf: TraceShelf
    preview: Previewing
    """`Steps.preview`."""


def http_api(
    installation: Installation,
    parts: HttpParts,
    complain: Complain,
    *,
    security: Security | None = None,
    limits: TimeLimits | None = None,
) -> Api:
    """Join the API of an installation; `complain` gets a line about every defect."""
    running = Running(library=installation.library, open=parts.host)
    services = HttpServices(
        stores=installation.stores,
        settings=parts.settings,
        roleplay=parts.roleplay,
        traces=trace_reading(
            parts.shelf,
            old_audits=StoredBytes(installation.storage, OLD_AUDITS),
            old_assemblies=StoredBytes(installation.storage, OLD_ASSEMBLIES),
            inspect=parts.host.inspect,
        ),
        library=installation.library,
        catalog=installation.catalog,
        importing=installation.importing,
        binding=installation.binding,
        templates=installation.templates,
        cast=Cast(installation.stores, installation.clock),
        running=running,
        changing=Changing(
            stores=installation.stores,
            running=running,
            importing=installation.importing,
            catalog=installation.catalog,
        ),
        preview=parts.preview,
    )
    return Api(
        ROUTES,
        services,
        security=security or Security(),
        limits=limits or TimeLimits(),
        complain=complain,
    )


def parts_alone(
    installation: Installation, complain: Complain, host: Host | None = None
) -> HttpParts:
    """Open the parts for a process that is no host's; `host` stands in for the missing one."""
    present: Host = host or NoHost()
    storage = installation.storage
    settings = settings_in(storage.root, storage.lock)
    roleplay = Roleplay(
        selections=installation.library,
        rules=settings,
        host=present,
        clock=installation.clock,
        real_path=real_path,
        new_lock=RLock,
    )
    steps = Steps(
        library=installation.library,
        states=SessionStates(SessionMemoryFolder(storage)),
        shared=shared_variables_in(storage),
        policy_text=roleplay.section_text,
        local_time=SystemClock().local_time,
        count_tokens=estimate_tokens,
    )
    return HttpParts(
        host=present,
        settings=settings,
        roleplay=roleplay,
        shelf=TraceShelf(
            file=StoredBytes(storage, TRACE_RECORDS),
            complain=complain,
            lock=RLock(),
            file_lock=RLock(),
        ),
        preview=steps.preview,
    )
