"""What SillyTavern would do with an entry and this version does not: one table, always said.

An entry is decided as if the feature were not there. A row whose feature could make an entry fire
that does not fire here is checked for every entry in the index; a row whose feature could take an
entry away again is checked for those that fired.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tavern_format import Diagnostic, Entry, Severity


class Feature(NamedTuple):
    """One row."""

    code: str
    attribute: str
    severity: Severity
    present: Callable[[Entry], bool]
    remark: str


_IN_INDEX = (
    Feature(
        "VECTORS_NOT_EXECUTED", "vectorized", Severity.INFO,
        lambda entry: entry.vectorized,
        "asks for a search by meaning, which is not executed; its keys still count",
    ),
    Feature(
        "RECURSION_NOT_EXECUTED", "delay_until_recursion", Severity.WARNING,
        lambda entry: bool(entry.delay_until_recursion),
        "waits for recursion, which is not executed yet, and so never fires",
    ),
)  # fmt: skip
_WHEN_FIRED = (
    Feature(
        "PROBABILITY_NOT_EXECUTED", "probability", Severity.WARNING,
        lambda entry: entry.use_probability and entry.probability != 100,  # noqa: PLR2004 - percent
        "fires by chance only, which is not executed yet: it fired without a roll",
    ),
    Feature(
        "TIMED_EFFECT_NOT_EXECUTED", "sticky", Severity.WARNING,
        lambda entry: bool(entry.sticky),
        "is sticky, which is not executed yet: it needs a key again in the next scan",
    ),
    Feature(
        "TIMED_EFFECT_NOT_EXECUTED", "cooldown", Severity.WARNING,
        lambda entry: bool(entry.cooldown),
        "has a cooldown, which is not executed yet: it may fire again in the next scan",
    ),
    Feature(
        "AUTOMATION_NOT_EXECUTED", "automation_id", Severity.INFO,
        lambda entry: bool(entry.automation_id),
        "starts an automation in SillyTavern; there is none here",
    ),
)  # fmt: skip


def entry_diagnostics(entry: Entry, label: str, path: str) -> Iterator[Diagnostic]:
    """Name what could make an entry fire and is not executed; nothing for one switched off."""
    return _check(_IN_INDEX, entry, label, path) if entry.enabled else iter(())


def fired_diagnostics(fired: Sequence[tuple[Entry, str, str]]) -> Iterator[Diagnostic]:
    """Name what could have taken fired entries away; each as entry, label and path."""
    groups = Counter(name for entry, _, _ in fired for name in group_names(entry.group))
    for entry, label, path in fired:
        yield from _check(_WHEN_FIRED, entry, label, path)
        shared = [name for name in group_names(entry.group) if groups[name] > 1]
        if shared:
            remark = "fired with others of its inclusion group; choosing one is not executed yet"
            message = f"{label} {remark}."
            yield Diagnostic("GROUP_NOT_EXECUTED", Severity.WARNING, f"{path}/group", message)
    if fired:
        message = "No token budget is applied yet: every entry that fired is in the result."
        yield Diagnostic("BUDGET_NOT_EXECUTED", Severity.INFO, "/settings/budget_percent", message)


def group_names(group: str) -> tuple[str, ...]:
    """Split the inclusion groups of an entry, as SillyTavern does: blanks before a comma stay.

    >>> group_names("weather, mood")
    ('weather', 'mood')
    """
    first, *others = group.split(",")
    return tuple(name for name in (first, *(other.lstrip() for other in others)) if name)


def _check(
    features: Sequence[Feature], entry: Entry, label: str, path: str
) -> Iterator[Diagnostic]:
    for feature in features:
        if feature.present(entry):
            where = f"{path}/{feature.attribute}"
            yield Diagnostic(feature.code, feature.severity, where, f"{label} {feature.remark}.")
