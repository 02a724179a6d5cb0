"""The result of a scan: values, most of which are only made when somebody asks for them.

Owns the shape of the result. Must not decide anything.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

from tavern_format import Diagnostic
from tavern_matcher.budget import BudgetUse
from tavern_matcher.decision import Decision, Draw, EntryId
from tavern_matcher.decisions import Decisions
from tavern_matcher.frames import ScanLoop
from tavern_matcher.placement import Activated, Placement, Rewrite, activated_of, place
from tavern_matcher.scan import Scan
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.state import MatchState


class MatchResult:
    """Everything one scan found out. Two results are equal if all they say is equal.

    It holds on to the index and the texts of its scan for as long as it lives: most of what it says
    is made from them when it is asked for, and then kept.
    """

    def __init__(  # noqa: PLR0913 - one value each
        self,
        scan: Scan,
        fired: Sequence[ScanEntry] = (),
        rewrite: Rewrite | None = None,
        *,
        diagnostics: tuple[Diagnostic, ...] = (),
        loops: tuple[ScanLoop, ...] = (),
        draws: tuple[Draw, ...] = (),
        budget: BudgetUse | None = None,
        aborted: str | None = None,
    ) -> None:
        """Keep what was found; `match` makes results, nobody else does."""
        self._scan = scan
        self._fired = fired
        self._rewrite = rewrite
        self.diagnostics = diagnostics
        """Those of the index first."""
        self.loops = loops
        self.draws = draws
        """Every random number that was drawn, in order."""
        self.budget = budget or BudgetUse()
        self.aborted = aborted
        """Code of what ends SillyTavern's scan without a result; then nothing fired."""

    @cached_property
    def activated(self) -> tuple[Activated, ...]:
        """Entries that fired, in the order in which they did, those without a text included."""
        return tuple(
            activated_of(one, self._scan.content_of(one), self._rewrite) for one in self._fired
        )

    @cached_property
    def state(self) -> MatchState:
        """The timed effects for the next scan."""
        judge = self._scan.judge
        goes_on = judge.rules.timed_effects and not judge.context.dry_run
        return judge.timed.after(self._fired if goes_on else ())

    @cached_property
    def placement(self) -> Placement:
        """Their texts by position."""
        rules = self._scan.index.settings.rules
        return place(self.activated, as_fired=rules.placed_as_fired)

    @cached_property
    def decisions(self) -> Decisions:
        """One for every entry of the index, in visiting order; each is made when asked for."""
        scan = None if self.aborted else self._scan
        limit = self.budget.limit_tokens
        return Decisions(self._scan.index, self._scan.judge, scan, self._by_place, limit)

    def _by_place(self) -> Mapping[tuple[str, int], Activated]:
        return {(one.entry.book, one.entry.index): one for one in self.activated}

    def decision(self, entry: EntryId) -> Decision:
        """Give the decision about one entry. Raises LookupError if the index has none."""
        return self.decisions.of(entry)

    def _values(self) -> tuple[object, ...]:
        return (
            *(self.activated, self.placement, self.state, self.diagnostics, self.loops),
            *(self.draws, self.budget, self.aborted, self.decisions),
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MatchResult):
            return self._values() == other._values()
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.activated, self.diagnostics, self.draws))

    def __repr__(self) -> str:
        fired = ", ".join(one.entry.qualified for one in self.activated)
        return f"<MatchResult: {len(self.activated)} fired ({fired})>"
