"""Which scripts run on a text: one row of reasons, in the order in which SillyTavern asks.

Must not know patterns.

Source: SillyTavern 1.19.0, public/scripts/extensions/regex/engine.js (getRegexedString).
"""

from collections.abc import Callable

from tavern_compiler.regex_values import ScriptCall, ScriptOutcome
from tavern_format import RegexScript

_Check = Callable[[RegexScript, ScriptCall], bool]


def _other_call(script: RegexScript, call: ScriptCall) -> bool:
    """A plain script has changed the stored text, and is not run again on it."""
    wanted = (script.markdown_only and call.for_display) or (script.prompt_only and call.for_prompt)
    plain = not (script.markdown_only or script.prompt_only or call.for_display or call.for_prompt)
    return not (wanted or plain)


def _outside(script: RegexScript, call: ScriptCall) -> bool:
    """Below -1 there is no lower bound, below 0 no upper one."""
    if call.depth is None:
        return False
    low, high = script.min_depth, script.max_depth
    too_new = low is not None and low >= -1 and call.depth < low
    return too_new or (high is not None and high >= 0 and call.depth > high)


_CHECKS: tuple[tuple[ScriptOutcome, _Check], ...] = (
    (ScriptOutcome.OTHER_CALL, _other_call),
    (ScriptOutcome.NOT_ON_EDIT, lambda script, call: call.is_edit and not script.run_on_edit),
    (ScriptOutcome.OUTSIDE_DEPTH, _outside),
    (ScriptOutcome.OTHER_PLACEMENT, lambda script, call: call.placement not in script.placement),
    (ScriptOutcome.DISABLED, lambda script, _: script.disabled),
    (ScriptOutcome.NO_PATTERN, lambda script, _: not script.find_regex),
)


def reason_to_skip(script: RegexScript, call: ScriptCall) -> ScriptOutcome | None:
    """Say why a script does not run; None: it does."""
    return next((outcome for outcome, skips in _CHECKS if skips(script, call)), None)
