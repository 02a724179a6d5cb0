"""The settings of a call to the model: the preset's over the host's, and the host's back again.

The host remembers what the last call was set to, ours included, and offers it for the next one. So
what we set is noted beside what stood there before: once a preset asks for nothing any more, its
values leave again. Must not know presets or sessions.

Source: the plugin contract, sections A11 and E5; the host contract, section 6, pitfall 3.
"""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from tavern_compiler import CallConfig

_FIELDS: Mapping[str, str] = {
    "temperature": "temperature",
    "maxTokens": "max_tokens",
    "reasoningEffort": "reasoning_effort",
    "stop": "stop",
}
"""The host's names, and ours."""

Settings = Mapping[str, Any]


@frozen(kw_only=True)
class AppliedSettings:
    """What we have set in a session's calls."""

    ours: Settings = field(factory=dict)
    before: Settings = field(factory=dict)
    """What stood in the place of ours; a name that is not here had no value."""


NOTHING_APPLIED = AppliedSettings()


def wanted_settings(config: CallConfig) -> dict[str, Any]:
    """Write what a preset asks for in the host's names."""
    values = {name: getattr(config, ours) for name, ours in _FIELDS.items()}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None and value != ()
    }


def apply_settings(
    config: Settings, wanted: Settings, applied: AppliedSettings = NOTHING_APPLIED
) -> tuple[dict[str, Any], AppliedSettings]:
    """Give the configuration of a call, and what is ours in it.

    >>> config, ours = apply_settings({"model": "m"}, {"temperature": 1.2})
    >>> apply_settings(config, {}, ours)[0]
    {'model': 'm'}
    """
    result = dict(config)
    set_by_us: dict[str, Any] = {}
    before: dict[str, Any] = {}
    for name in _FIELDS:
        is_ours = name in applied.ours and config.get(name) == applied.ours[name]
        origin = applied.before if is_ours else config
        _restore(result, name, origin)
        if name in wanted:
            result[name] = set_by_us[name] = wanted[name]
            _restore(before, name, origin)
    return result, AppliedSettings(ours=set_by_us, before=before)


def _restore(target: dict[str, Any], name: str, origin: Settings) -> None:
    target.pop(name, None)
    if name in origin:
        target[name] = origin[name]


def applied_from_json(value: object) -> AppliedSettings:
    """Read what was kept; what is not understood counts as nothing."""
    kept = value if isinstance(value, Mapping) else {}
    return AppliedSettings(ours=_known(kept.get("ours")), before=_known(kept.get("before")))


def applied_to_json(applied: AppliedSettings) -> dict[str, Any]:
    """Write what is to be kept."""
    return {"ours": dict(applied.ours), "before": dict(applied.before)}


def _known(value: object) -> dict[str, Any]:
    found = value if isinstance(value, Mapping) else {}
    return {name: found[name] for name in _FIELDS if name in found}
