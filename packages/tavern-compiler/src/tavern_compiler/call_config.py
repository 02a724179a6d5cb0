"""The few settings of a preset that a host passes on to a model.

Owns the mapping from sampler settings. Must not know prompts.

Source: the plugin contract, section A11.
"""

from attrs import frozen

from tavern_format import Preset

MAX_SAFE_INTEGER = 2**53 - 1
"""JavaScript's Number.MAX_SAFE_INTEGER."""
MAX_NUMBER = 1.7976931348623157e308
"""JavaScript's Number.MAX_VALUE."""
MAX_STOPS = 16
EFFORTS = frozenset({"low", "medium", "high", "xhigh"})


@frozen(kw_only=True)
class CallConfig:
    """None and an empty `stop` leave the host's own value in force."""

    temperature: float | None = None
    """Not clamped."""
    max_tokens: int | None = None
    """Of the answer."""
    reasoning_effort: str | None = None
    stop: tuple[str, ...] = ()


def call_config(preset: Preset | None) -> CallConfig:
    """Read the settings that a host can take from a preset."""
    if preset is None:
        return CallConfig()
    return CallConfig(
        temperature=_finite(preset.temperature),
        max_tokens=_positive(preset.reply_size_tokens) or _positive(preset.raw.get("max_tokens")),
        reasoning_effort=preset.reasoning_effort if preset.reasoning_effort in EFFORTS else None,
        stop=_stops(preset.raw.get("stop")),
    )


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Not `isfinite`: a whole number of a file may be too large to become a float.
    return value if -MAX_NUMBER <= value <= MAX_NUMBER else None


def _positive(value: object) -> int | None:
    number = _finite(value)
    if number is None or number != int(number) or not 1 <= number <= MAX_SAFE_INTEGER:
        return None
    return int(number)


def _stops(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(stop for stop in value if isinstance(stop, str) and stop)[:MAX_STOPS]
