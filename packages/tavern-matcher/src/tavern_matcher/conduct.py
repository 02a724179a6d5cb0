"""What an entry does besides being found: switches, groups, chance, timed effects.

Owns the reading of these fields with JavaScript's rules. Most entries of a book are never touched
by a scan, so this is read when it is first needed. Must not know keys or messages.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, checkWorldInfo, filterByInclusionGroups.
"""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from tavern_matcher._js import UNDEFINED, is_number, to_number, to_text, truthy
from tavern_matcher.entry_fields import Fields

_SURE = 100
_NUMBERS = (int, float)
_LOGICS = range(4)


@frozen
class Conduct:
    """What an entry does once its keys were found, or before they are looked at."""

    triggers: tuple[Any, ...]
    filter_names: Any
    """A tuple, or a text, in which JavaScript looks for a part."""
    filter_tags: Any
    filter_excludes: bool
    delay: Any
    """UNDEFINED where there is none."""
    delay_level: float | str
    """0: not delayed until recursion."""
    exclude_recursion: bool
    prevent_recursion: bool
    selective: bool
    logic: int
    """0 to 3; -1: no logic at all, which never passes."""
    score_logic: int
    """The same for scores, where an absent logic is none."""
    use_group_scoring: bool | None
    group: Any
    group_override: bool
    group_weight: Any
    ignore_budget: bool
    rolls: bool
    probability: float
    sticky: Any
    cooldown: Any
    lasts: bool
    """Has a sticky effect or a cooldown."""


def read_conduct(fields: Fields) -> Conduct:
    """Read the fields of an entry."""
    get = fields.get
    triggers = get("triggers")
    names, tags, excludes = _read_filter(get("characterFilter"))
    probability = get("probability", UNDEFINED)
    use_scoring = get("useGroupScoring")
    return Conduct(
        triggers=tuple(triggers) if isinstance(triggers, list) else (),
        filter_names=names,
        filter_tags=tags,
        filter_excludes=excludes,
        delay=_given(get("delay")),
        delay_level=_level(get("delayUntilRecursion")),
        exclude_recursion=truthy(get("excludeRecursion")),
        prevent_recursion=truthy(get("preventRecursion")),
        selective=truthy(get("selective")),
        logic=0 if get("selectiveLogic") is None else _logic(get("selectiveLogic")),
        score_logic=_logic(get("selectiveLogic")),
        use_group_scoring=None if use_scoring is None else truthy(use_scoring),
        group=get("group") if truthy(get("group")) else "",
        group_override=truthy(get("groupOverride")),
        group_weight=_SURE if get("groupWeight") is None else get("groupWeight"),
        ignore_budget=truthy(get("ignoreBudget")),
        rolls=truthy(get("useProbability")) and not is_number(probability, _SURE),
        probability=to_number(probability),
        sticky=_given(get("sticky")),
        cooldown=_given(get("cooldown")),
        lasts=truthy(get("sticky")) or truthy(get("cooldown")),
    )


def _given(value: object) -> object:
    return value if truthy(value) else UNDEFINED


def _level(value: object) -> float | str:
    """A level, or a switch: `true` is level 1. Whatever else is no number compares as a text."""
    if not truthy(value):
        return 0
    return to_number(value) if isinstance(value, int | float) else to_text(value)


def _logic(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or value not in _LOGICS:
        return -1
    return int(value)


def _read_filter(value: object) -> tuple[Any, Any, bool]:
    if not isinstance(value, dict):
        return (), (), False
    names, tags = (_searchable(value.get(name)) for name in ("names", "tags"))
    return names, tags, truthy(value.get("isExclude", UNDEFINED))


def _searchable(value: object) -> Iterable[Any]:
    if isinstance(value, list):
        return tuple(value)
    return value if isinstance(value, str) else ()
