"""One scan: every entry of an index against one context.

Owns the joining of the steps, and the result. Randomness, token counting and macros come in as
arguments.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, checkWorldInfo.
"""

from collections.abc import Iterator, Mapping

from attrs import frozen

from tavern_matcher.budget import BudgetUse, CountTokens, Purse, budget_limit, utf16_quarter
from tavern_matcher.candidates import Expand, Judge
from tavern_matcher.context import ScanContext
from tavern_matcher.draws import Dice, Drawer
from tavern_matcher.entry_fields import entry_fields
from tavern_matcher.errors import ScanAbortedError
from tavern_matcher.haystack import Haystack
from tavern_matcher.index import Index
from tavern_matcher.placement import Rewrite
from tavern_matcher.remarks import (
    abort_diagnostic,
    fired_diagnostics,
    scan_diagnostics,
    timeout_diagnostics,
)
from tavern_matcher.result import MatchResult
from tavern_matcher.scan import Scan
from tavern_matcher.scan_cache import ScanCache
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.scan_text import context_texts
from tavern_matcher.state import MatchState
from tavern_matcher.timed import timed_effects
from tavern_matcher.touch import Watch


def match(  # noqa: PLR0913 - three values, and functions and a cache by name
    index: Index,
    context: ScanContext,
    state: MatchState | None = None,
    *,
    dice: Dice | None = None,
    count_tokens: CountTokens | None = None,
    expand: Expand | None = None,
    rewrite: Rewrite | None = None,
    cache: ScanCache | None = None,
) -> MatchResult:
    """Decide which entries fire, and say why for each.

    The same arguments give the same result, but for patterns that run into their time limit.

    `state` is what the scan before gave back; None: no timed effect is running. `dice` draws a
    number from 0 to below 1 and is told what for: `group/<loop>/<name>` or
    `chance/<loop>/<book>#<place>`. `count_tokens` counts the tokens of a text; without it, or
    without a size to take a share of, no budget is applied and a diagnostic says so. `expand`
    expands macros in keys and contents; `rewrite` gives the last shape to a text that is placed.
    Both may be called later, when the result is read. `cache` is used in place of the index's own.

    Nothing that was given is changed, and threads may share an index.

    Raises:
        DiceMissingError: a random number was needed and no dice was given, or it has none.
        ValueError: the dice drew a number that is not from 0 to below 1.

    Source: SillyTavern 1.19.0, public/scripts/world-info.js, checkWorldInfo.
    """
    means = Means(dice, count_tokens, expand, rewrite, cache)
    return scan_once(index, context, state or MatchState(), means)


@frozen
class Means:
    """What a scan is given besides values."""

    dice: Dice | None = None
    count_tokens: CountTokens | None = None
    expand: Expand | None = None
    rewrite: Rewrite | None = None
    cache: ScanCache | None = None


def scan_once(
    index: Index,
    context: ScanContext,
    state: MatchState,
    means: Means,
    assumed: frozenset[int] = frozenset(),
) -> MatchResult:
    """Do what `match` says; entries that are `assumed` count as found whatever their keys say."""
    scan = _prepare(index, context, state, means, assumed)
    limit = budget_limit(index.settings, context, means.count_tokens)
    scan.purses = _purses(scan, limit, means)
    if not index.entries:
        return _nothing(scan)
    try:
        if index.broken is not None:
            raise _unreadable(index.broken)
        scan.run()
    except ScanAbortedError as error:
        return _nothing(scan, error)
    return _result(scan, limit, means)


def _prepare(
    index: Index, context: ScanContext, state: MatchState, means: Means, assumed: frozenset[int]
) -> Scan:
    """Join what judges, what is looked at, and what draws."""
    settings = index.settings
    by_hash = settings.rules.state_by_hash_alone
    timed = timed_effects(state, index.entries, len(context.messages), by_hash_alone=by_hash)
    if settings.rules.timed_effects and not context.dry_run:
        timed.resume()
    haystack = Haystack(
        settings,
        index.table,
        context_texts(context, include_names=settings.include_names, rules=settings.rules),
        index.cache if means.cache is None else means.cache,
    )
    forced = _forced(index, context)
    judge = Judge(settings, context, haystack, timed, index.reader, means.expand, forced, assumed)
    gated = index.survey.gated | timed.cooldown
    drawer = Drawer(means.dice, default_zero=settings.rules.missing_dice_rolls_zero)
    return Scan(index, judge, Watch(index, haystack, judge.closes, gated), drawer)


def _forced(index: Index, context: ScanContext) -> Mapping[str, ScanEntry]:
    """Make the entries ready that fire whatever their keys say."""
    forced: dict[str, ScanEntry] = {}
    raw = index.settings.rules.reads_fields_raw
    for given in context.forced:
        fields = entry_fields(given.entry, raw=raw)
        made = index.reader.read(given.book, -1, -1, given.entry, fields)
        made.content, made.decorators = given.entry.content, ()
        listed = next((one for one in index.entries if one.key == made.key), None)
        if listed is not None:
            made.book, made.index, made.place = listed.book, listed.index, listed.place
            forced[made.key] = made
    return forced


def _purses(scan: Scan, limit: int | None, means: Means) -> Mapping[str, Purse]:
    rules = scan.judge.rules
    # Not the scan itself: it holds the purses, and nothing would be free before a collection.
    drawer, loops = scan.drawer, scan.loops
    return {
        name: Purse(
            rules,
            limit,
            means.count_tokens or utf16_quarter,
            means.expand,
            lambda kind, purpose: drawer.draw(kind, purpose, len(loops) + 1),
            scan.judge.timed.is_sticky,
        )
        for name in (scan.index.books if rules.books_apart else ("",))
    }


def _unreadable(entry: ScanEntry) -> ScanAbortedError:
    """Name the entry that makes SillyTavern use no entry of any book."""
    what, path = "is no entry", entry.path
    if entry.unread is None:
        what, path = "has a content that is no text", f"{path}/content"
    return ScanAbortedError("ENTRY_UNREADABLE", f"{entry.label} {what}", path)


def _nothing(scan: Scan, end: ScanAbortedError | None = None) -> MatchResult:
    """Give the result of a scan that SillyTavern ends early, or that has no entries."""
    found = [] if end is None else [abort_diagnostic(end.code, end.message, end.path)]
    return MatchResult(
        scan,
        diagnostics=(*scan.index.diagnostics, *found),
        aborted=None if end is None else end.code,
    )


def _result(scan: Scan, limit: int | None, means: Means) -> MatchResult:
    index, judge = scan.index, scan.judge
    fired = tuple(scan.activated.values())
    return MatchResult(
        scan,
        fired,
        means.rewrite,
        diagnostics=(
            *index.diagnostics,
            *scan_diagnostics(
                index.survey.remarkable,
                judge.context,
                expands=means.expand is not None,
                settings=index.settings,
            ),
            *timeout_diagnostics(tuple(_timed_out(scan))),
            *fired_diagnostics(fired, index.remarks_when_fired, budget=limit is not None),
        ),
        loops=tuple(scan.loops),
        draws=tuple(scan.drawer.drawn),
        budget=BudgetUse(
            limit_tokens=limit,
            used_tokens=sum(purse.used for purse in scan.purses.values()),
            overflowed=scan.overflowed,
        ),
    )


def _timed_out(scan: Scan) -> Iterator[tuple[ScanEntry, str, int]]:
    """Find the keys whose search was given up."""
    given_up = scan.judge.haystack.patterns.timed_out
    if not given_up:
        return
    for entry in scan.index.entries:
        for attribute in ("keys", "secondary_keys"):
            for place_in, key in enumerate(getattr(entry, attribute)):
                if scan.judge.ready(entry, key).pattern in given_up:
                    yield entry, attribute, place_in
