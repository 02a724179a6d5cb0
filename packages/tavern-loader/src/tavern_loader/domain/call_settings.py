"""The settings of a call to the model: the preset's over the host's, and the host's back again.

The host remembers what the last call was set to, ours included, and offers it for the next one. So
what we set is noted beside what stood there before: once a preset asks for nothing any more, its
values leave again. Must not know presets or sessions.

Source: the plugin contract, sections A11, E5 and E8; the host contract, section 6.
"""

import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

FIELDS = ("temperature", "maxTokens", "reasoningEffort", "stop")
"""The settings that a preset may ask for, in the host's names."""

Settings = Mapping[str, Any]


@frozen(kw_only=True)
class AppliedSettings:
    """What we have set in a session's calls."""

    ours: Settings = field(factory=dict)
    before: Settings = field(factory=dict)
    """What stood in the place of ours; a name that is not here had no value."""


NOTHING_APPLIED = AppliedSettings()


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
    for name in FIELDS:
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


# --- what a model refuses --------------------------------------------------------------------


@frozen(kw_only=True)
class Refusal:
    """Why a model does not take a configuration."""

    code: str = ""
    message: str = ""
    status: int | None = None
    """Of HTTP."""


_EFFORT_CODE = "UNSUPPORTED_REASONING_EFFORT"
_REFUSING_CODES = frozenset(
    {"INVALID_REQUEST", "UNSUPPORTED_PARAMETER", "INVALID_PARAMETER", "HTTP_400", "HTTP_422"}
)
_REFUSING_STATUSES = frozenset({400, 422})
_REFUSING_WORDS = re.compile(
    r"unsupported|not support|invalid|unknown|unexpected|unrecogni[sz]ed|must be|out of range"
    r"|exceed|too (?:large|small|many|long)",
    re.IGNORECASE,
)
_SPELLINGS: Mapping[str, re.Pattern[str]] = {
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "maxTokens": re.compile(r"\bmax_?(?:completion_|output_)?tokens\b", re.IGNORECASE),
    "reasoningEffort": re.compile(r"\breasoning[_ .]?effort\b", re.IGNORECASE),
    "stop": re.compile(r"\bstop(?:_?sequences?)?\b", re.IGNORECASE),
}


def refused_setting(refusal: Refusal, wanted: Settings) -> str | None:
    """Name the one setting of ours that a refusal is about; None if it may be about another thing.

    Only what says so counts: never a matter of keys, quotas, context sizes or servers.
    """
    if refusal.code == _EFFORT_CODE:
        return "reasoningEffort" if "reasoningEffort" in wanted else None
    is_about_parameters = refusal.code in _REFUSING_CODES or refusal.status in _REFUSING_STATUSES
    if not is_about_parameters or not _REFUSING_WORDS.search(refusal.message):
        return None
    named = [name for name in FIELDS if _SPELLINGS[name].search(refusal.message)]
    return named[0] if len(named) == 1 and named[0] in wanted else None


# --- JSON ------------------------------------------------------------------------------------


def applied_from_json(value: object) -> AppliedSettings:
    """Read what was kept; what is not understood counts as nothing."""
    kept = value if isinstance(value, Mapping) else {}
    return AppliedSettings(ours=_known(kept.get("ours")), before=_known(kept.get("before")))


def applied_to_json(applied: AppliedSettings) -> dict[str, Any]:
    """Write what is to be kept."""
    return {"ours": dict(applied.ours), "before": dict(applied.before)}


def _known(value: object) -> dict[str, Any]:
    found = value if isinstance(value, Mapping) else {}
    return {name: found[name] for name in FIELDS if name in found}
