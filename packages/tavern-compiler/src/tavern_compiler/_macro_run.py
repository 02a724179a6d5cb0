"""The state of one expansion: stores, limits, and what is reported.

Owns counting and noting. Must not know how a text is read.
"""

from datetime import datetime
from typing import Protocol

from attrs import frozen

from tavern_compiler._macro_readings import Readings
from tavern_compiler._macro_variables import MacroRefusal, Store
from tavern_compiler.errors import MacroError
from tavern_compiler.macro_context import MacroContext, MacroLimits, Variables
from tavern_compiler.macro_table import Rows
from tavern_format import Diagnostic, Severity

Span = tuple[int, int]
_MAX_REFUSALS = 16
"""After so many macros that would give too much, nothing more is expanded."""
_DRAW_STEPS = 16
"""What a draw counts as: dice that follow from a seed take as long as reading so many words."""


class LimitRefusal(MacroRefusal):
    """A macro asks for more than is allowed; `code` names the limit."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the stable upper-snake code beside the reason."""
        super().__init__(message)
        self.code = code


@frozen(kw_only=True)
class MacroUse:
    """One macro of a text."""

    name: str
    """As the table spells it; as the text does where the table does not have it."""
    start_chars: int
    """Code points, in the text before anything was expanded."""
    end_chars: int
    result_chars: int | None = None
    """Code points of what stands there now; None: the macro itself still does."""
    field: str | None = None
    """The field it rendered."""
    drew: bool = False
    """Whether dice were thrown for it, or for a field that it rendered."""
    reason: str | None = None
    """Why it stays as it is."""

    @property
    def expanded(self) -> bool:
        """Whether it was replaced."""
        return self.result_chars is not None


class Means(Protocol):
    """What a run takes of the settings."""

    @property
    def rows(self) -> Rows:
        """By lower-cased name and alias."""

    @property
    def limits(self) -> MacroLimits:
        """How much a text may ask for."""

    @property
    def left_out(self) -> frozenset[str]:
        """Names that are not executed, in lower case."""

    @property
    def readings(self) -> Readings:
        """Texts that were read already."""


class Run:
    """One expansion from its first macro to its last."""

    def __init__(
        self,
        context: MacroContext,
        means: Means,
        *,
        variables: Variables | None = None,
        place: str | None = None,
    ) -> None:
        """Begin with the stores as they are; nothing the caller gave is changed.

        `variables` and `place` stand for the context's.
        """
        self.context = context
        self.place = context.place if place is None else place
        self.rows = means.rows
        self.limits = means.limits
        self.without = means.left_out
        self.readings = means.readings
        self.noted: list[MacroUse] = []
        self.diagnostics: list[Diagnostic] = []
        self.depth = 0
        self.drawn = 0
        self.draws: dict[str, int] = {}
        """How often each macro of the text has drawn, by name and place."""
        self.span: Span = (0, 0)
        """Of the macro that is being executed."""
        self.exhausted = False
        """Whether steps or output are used up: nothing more is expanded."""
        self._steps = 0
        self._meter = context.meter
        self._output_chars = 0
        self._refused = 0
        self._exhausted_by = "MACRO_STEP_LIMIT"
        self._codes: set[str] = set()
        self._untold = 0
        self._given = context.variables if variables is None else variables
        self._stores: tuple[Store, Store] | None = None
        """Of the chat and of the user; most texts look at neither."""

    def enter(self, height: int) -> None:
        """Begin a macro with so many inside each other. Raises LimitRefusal beyond a limit."""
        if self.depth + height - 1 > self.limits.depth_macros:
            message = f"more than {self.limits.depth_macros} macros are inside each other"
            raise LimitRefusal("MACRO_DEPTH_LIMIT", message)
        self.step(1)

    def step(self, count: int) -> None:
        """Count steps. Raises LimitRefusal beyond the limit."""
        self._steps += count
        if self.exhausted:
            message = "the text has asked for too much before"
            raise LimitRefusal(self._exhausted_by, message)
        if self._steps > self.limits.steps:
            self.exhausted = True
            message = f"the text takes more than {self.limits.steps} steps"
            raise LimitRefusal(self._exhausted_by, message)
        if self._meter is not None:
            self._meter.steps += count
            if self._meter.steps > self.limits.total_steps:
                self.exhausted = True
                message = f"all texts together take more than {self.limits.total_steps} steps"
                raise LimitRefusal(self._exhausted_by, message)

    def spend(self, chars: int) -> None:
        """Count what a macro gives or stores. Raises LimitRefusal beyond the limit."""
        if self._output_chars + chars > self.limits.output_chars:
            self._refused += 1
            if self._refused >= _MAX_REFUSALS:
                self.exhausted, self._exhausted_by = True, "MACRO_OUTPUT_LIMIT"
            message = f"macros give more than {self.limits.output_chars} characters"
            raise LimitRefusal("MACRO_OUTPUT_LIMIT", message)
        self._output_chars += chars

    def store(self, *, shared: bool) -> Store:
        """Give a store of variables."""
        if self._stores is None:
            given = self._given
            self._stores = Store(given.local, self.spend), Store(given.shared, self.spend)
        return self._stores[shared]

    def variables(self) -> Variables:
        """Give both stores as values."""
        if self._stores is None:
            return self._given
        local, other = self._stores
        return Variables(local=local.values, shared=other.values)

    def draw(self, name: str) -> float:
        """Draw from the dice. Raises MacroError without any, ValueError on a number not below 1."""
        dice = self.context.dice
        if dice is None:
            raise self.missing("MACRO_DICE_MISSING", f"{{{{{name}}}}} needs dice")
        self.step(_DRAW_STEPS)
        self.drawn += 1
        purpose = f"{name}@{self.span[0]}"
        count = self.draws[purpose] = self.draws.get(purpose, 0) + 1
        if count > 1:
            purpose = f"{purpose}#{count}"
        number = dice(f"{self.place}:{purpose}" if self.place else purpose)
        if not 0 <= number < 1:
            message = f"dice give at least 0 and below 1, not {number}"
            raise ValueError(message)
        return number

    def now(self, name: str) -> datetime:
        """Give the time. Raises MacroError without any."""
        if self.context.now is None:
            raise self.missing("MACRO_CLOCK_MISSING", f"{{{{{name}}}}} needs the time")
        return self.context.now

    def missing(self, code: str, message: str) -> MacroError:
        """Make the error of a source that the caller did not give."""
        start, end = self.span
        text = f"{message}; it stands at characters {start}-{end}"
        return MacroError(code, text, start_chars=start, end_chars=end)

    def note(
        self, name: str, span: Span, *, result: str, drew: bool, field: str | None = None
    ) -> None:
        """Record a macro that was replaced."""
        start, end = span
        self.noted.append(
            MacroUse(
                name=name,
                start_chars=start,
                end_chars=end,
                result_chars=len(result),
                field=field,
                drew=drew,
            )
        )

    def refuse(self, name: str, span: Span, refusal: MacroRefusal) -> None:
        """Record a macro that stays as it is; a limit is said once."""
        reason = str(refusal)
        code = refusal.code if isinstance(refusal, LimitRefusal) else "MACRO_NOT_EXECUTED"
        if code != "MACRO_NOT_EXECUTED":
            if code in self._codes:
                return
            self._codes.add(code)
        else:
            start, end = span
            self.noted.append(MacroUse(name=name, start_chars=start, end_chars=end, reason=reason))
        called = f"{{{{{name}}}}}" if name else "A macro without a name"
        place = f"at characters {span[0]}-{span[1]}"
        message = f"{called} {place} is not executed and stays as it is: {reason}."
        self.tell(code, message)

    def tell(self, code: str, message: str) -> None:
        """Make a diagnostic; beyond the limit it is counted only, unless it is about a limit."""
        if len(self.diagnostics) >= self.limits.diagnostics and code not in self._codes:
            self._untold += 1
        else:
            self.diagnostics.append(Diagnostic(code, Severity.WARNING, "", message))

    def told(self) -> tuple[Diagnostic, ...]:
        """Give all diagnostics; those that were too many are counted in one."""
        if not self._untold:
            return tuple(self.diagnostics)
        message = f"{self._untold} more macros are not executed and stay as they are."
        more = Diagnostic("MACRO_MORE_NOT_EXECUTED", Severity.WARNING, "", message)
        return (*self.diagnostics, more)
