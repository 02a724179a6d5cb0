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


def call_config(preset: Preset | None, *, other_max_tokens: bool = True) -> CallConfig:
    """Read the settings that a host can take from a preset.

    `other_max_tokens` tells whether `max_tokens` counts where `openai_max_tokens` is no size.
    """
    if preset is None:
        return CallConfig()
    own = preset.reply_size_tokens
    absent = own is None and preset.raw.get("openai_max_tokens") is None
    other = preset.raw.get("max_tokens") if absent or other_max_tokens else None
    return CallConfig(
        temperature=_finite(preset.temperature),
        max_tokens=_positive(own) or _positive(other),
        reasoning_effort=preset.reasoning_effort if preset.reasoning_effort in EFFORTS else None,
        stop=_stops(preset.raw.get("stop")),
    )


def call_config_json(config: CallConfig) -> dict[str, object]:
    """Write what is set under the host's names: temperature, maxTokens, reasoningEffort, stop."""
    fields = {
        "temperature": config.temperature,
        "maxTokens": config.max_tokens,
        "reasoningEffort": config.reasoning_effort,
        "stop": list(config.stop) or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


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
