"""What the host's configuration may set: limits and switches of the plugin's row.

Owns names, defaults and the most that can be asked for. What is not understood is the default.
Must not know what a setting does.

Source: the plugin contract, section 0 ("plugin config keys"), A8, C and D7.
"""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from tavern_loader.domain.inbox import InboxBounds, bounds_from_options

DEFAULT_PROFILE_BYTES = 524_288
MAX_PROFILE_BYTES = 2_097_152


@frozen(kw_only=True)
class HostSettings:
    """The settings of one host."""

    storage_dir: str | None = None
    """Folder of the stores; None: below the host's home."""
    max_profile_bytes: int = DEFAULT_PROFILE_BYTES
    bounds: InboxBounds = field(factory=InboxBounds)
    budget_tokens: int | None = None
    """Of lore in one step; None: a share of the model's context."""
    is_traced: bool = True
    privacy: str = "normal"
    """`strict` keeps names, keys and messages out of the trace."""
    trace_record_bytes: int | None = None
    """None: tavern-trace's own limit."""
    trace_total_bytes: int | None = None
    allowed_hosts: tuple[str, ...] = ()
    """Further host names that the API answers to."""
    allow_remote_clients: bool = False


def host_settings(config: Mapping[str, Any]) -> HostSettings:
    """Read the configuration of the plugin's row."""
    security, trace = _object(config, "security"), config.get("trace")
    sizes = _object(config, "traceAssemblies")
    books = _object(config, "worldBook")
    profile_bytes = _count(_object(config, "limits").get("maxProfileBytes"))
    storage = config.get("storageDir")
    hosts = security.get("allowedHosts")
    privacy = trace.get("privacy") if isinstance(trace, Mapping) else None
    return HostSettings(
        storage_dir=storage if isinstance(storage, str) and storage else None,
        max_profile_bytes=min(profile_bytes or DEFAULT_PROFILE_BYTES, MAX_PROFILE_BYTES),
        bounds=bounds_from_options({**_object(config, "pendingInput"), **books}),
        budget_tokens=_count(books.get("defaultTokenBudget")),
        is_traced=trace is not False,
        privacy="strict" if privacy == "strict" else "normal",
        trace_record_bytes=_count(sizes.get("maxRecordBytes")),
        trace_total_bytes=_count(sizes.get("maxTotalBytes")),
        allowed_hosts=tuple(
            host.lower()
            for host in (hosts if isinstance(hosts, list | tuple) else ())
            if isinstance(host, str)
        ),
        allow_remote_clients=security.get("allowRemoteClients") is True,
    )


def _object(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = config.get(name)
    return found if isinstance(found, Mapping) else {}


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if isinstance(value, int) and is_count else None
