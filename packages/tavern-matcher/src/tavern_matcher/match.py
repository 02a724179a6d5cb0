"""One scan: every entry of an index against one context.

Owns the order of the steps: decide, place, remark. Randomness, token counting and macros come in
as arguments. This version makes one pass: no recursion, groups, chance or budget.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, checkWorldInfo.
"""

from collections.abc import Callable, Iterator, Sequence

from attrs import field, frozen

from tavern_format import Diagnostic, Severity
from tavern_matcher.context import ScanContext
from tavern_matcher.decide import Expand, Scan, decide
from tavern_matcher.decision import Decision
from tavern_matcher.features import fired_diagnostics
from tavern_matcher.index import Index, IndexedEntry, label_of
from tavern_matcher.placement import Activated, Placement, place
from tavern_matcher.scan_text import scan_text
from tavern_matcher.state import MatchState

Dice = Callable[[str], float]
"""Draws a number in [0, 1); told what for."""
CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""


@frozen(kw_only=True)
class MatchResult:
    """Everything one scan found out."""

    activated: tuple[Activated, ...] = ()
    """Entries that fired, in the order in which they did, those without a text included."""
    placement: Placement = field(factory=Placement)
    decisions: Sequence[Decision] = field(default=(), repr=False)
    """One for every entry of the index, in visiting order."""
    state: MatchState = field(factory=MatchState)
    """For the next scan."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Those of the index first."""


def match(  # noqa: PLR0913 - three values, and three functions by name
    index: Index,
    context: ScanContext,
    state: MatchState | None = None,
    *,
    dice: Dice | None = None,  # noqa: ARG001 - nothing is drawn yet
    count_tokens: CountTokens | None = None,  # noqa: ARG001 - no budget is applied yet
    expand: Expand | None = None,
) -> MatchResult:
    """Decide which entries fire, and say why for each.

    The same arguments give the same result. `expand` expands macros in keys; contents are given
    back with their macros. `dice` and `count_tokens` are not used yet: entries fire as if their
    chance were 100 % and the budget without end, and a diagnostic says so where it matters.
    """
    scan = Scan(context, scan_text(context, index.settings), expand)
    decisions = tuple(decide(indexed, scan) for indexed in index.entries)
    fired = [
        indexed
        for indexed, decision in zip(index.entries, decisions, strict=True)
        if decision.fired
    ]
    activated = tuple(_activated(indexed) for indexed in fired)
    state = state or MatchState()
    return MatchResult(
        activated=activated,
        placement=place(activated),
        decisions=decisions,
        state=state,
        diagnostics=(
            *index.diagnostics,
            *_state_diagnostics(state),
            *_macro_diagnostics(index, expand),
            *_tag_diagnostics(index, context),
            *fired_diagnostics([(one.entry, label_of(one), one.path) for one in fired]),
        ),
    )


def _activated(indexed: IndexedEntry) -> Activated:
    entry = indexed.entry
    return Activated(
        entry=indexed.identity,
        content=indexed.content,
        position=entry.position,
        order=entry.order,
        depth=entry.depth,
        role=entry.role,
        outlet_name=entry.outlet_name,
    )


def _state_diagnostics(state: MatchState) -> Iterator[Diagnostic]:
    if state.sticky or state.cooldown:
        message = "The chat has running timed effects; they are kept and not executed yet."
        yield Diagnostic("STATE_NOT_EXECUTED", Severity.WARNING, "/state", message)


def _macro_diagnostics(index: Index, expand: Expand | None) -> Iterator[Diagnostic]:
    if expand is not None:
        return
    for indexed in index.entries:
        if indexed.entry.enabled and any("{{" in key.written for key in indexed.keys):
            remark = "has macros in its keys, and nothing to expand them was given"
            message = f"{label_of(indexed)} {remark}."
            path = f"{indexed.path}/keys"
            yield Diagnostic("KEY_MACRO_NOT_EXPANDED", Severity.WARNING, path, message)


def _tag_diagnostics(index: Index, context: ScanContext) -> Iterator[Diagnostic]:
    if context.character is not None and context.character.tags is not None:
        return
    for indexed in index.entries:
        found = indexed.entry.character_filter
        if indexed.entry.enabled and found is not None and found.tags:
            remark = "is filtered by tags of the character, which are not known: it is let in"
            path = f"{indexed.path}/character_filter/tags"
            message = f"{label_of(indexed)} {remark}."
            yield Diagnostic("CHARACTER_TAGS_UNKNOWN", Severity.INFO, path, message)
