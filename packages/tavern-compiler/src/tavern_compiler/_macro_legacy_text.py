"""A text that the old engine works on, and one of its replacements.

Owns the state of a text between two steps. Must not know any macro.

Source: SillyTavern 1.19.0, public/scripts/macros.js (evaluateMacros).
"""

from collections.abc import Callable
from datetime import datetime

from attrs import frozen

from tavern_compiler._js_random import string_hash
from tavern_compiler._macro_legacy_scan import Finder, Found
from tavern_compiler._macro_run import Run
from tavern_compiler._macro_source import remove_trims
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.macro_fields import field_names


class LegacyText:
    """One text, with what its steps need."""

    def __init__(
        self,
        run: Run,
        context: MacroContext,
        content: str,
        *,
        field: Callable[[str], str],
        whole: Callable[[MacroContext, str], str],
    ) -> None:
        """Expand all fields at once, as SillyTavern does, whether or not the text asks for them.

        `field` expands a field by its name, `whole` another text in another context.
        """
        self.run = run
        self.context = context
        self._raw = content
        self._raw_hash: int | None = None
        self.content = content
        self.original = context.original
        self.whole = whole
        names = field_names(context) if context.card else ()
        self._fields = {name: field(name) for name in names}

    @property
    def raw_hash(self) -> int:
        """Hash of the text before anything was done to it."""
        if self._raw_hash is None:
            self._raw_hash = string_hash(self._raw)
        return self._raw_hash

    def field(self, name: str) -> str:
        """Give a field of the card or the persona, expanded."""
        return self._fields.get(name, "")

    def draw(self) -> float:
        """Draw from the dice."""
        return self.run.draw("random")

    def step(self, count: int) -> None:
        """Count steps against the limit."""
        self.run.step(count)

    def now(self) -> datetime:
        """Give the time."""
        return self.run.now("date")

    def replace(self, step: "Step", *, listed: bool) -> None:
        """Do one step; where it raises, the text stays as it was."""
        if step.name.lower() in self.run.without:
            return
        if step.name == "trim":
            self.content = remove_trims(self.content)
            return
        pieces: list[str] = []
        copied = 0
        for found in step.find(self.content):
            result = self._result(step, found, listed=listed)
            pieces += (self.content[copied : found.start], result)
            copied = found.end
        if copied:
            self.content = "".join((*pieces, self.content[copied:]))

    def _result(self, step: "Step", found: Found, *, listed: bool) -> str:
        run = self.run
        run.span = (found.start, found.end)
        run.step(1)
        drawn = run.drawn
        result = step.give(self, found)
        process = self.context.post_process
        result = process(result) if process else result
        run.spend(len(result))
        if listed:
            run.note(step.name, run.span, result=result, drew=run.drawn > drawn)
        return result


@frozen
class Step:
    """One replacement."""

    name: str
    find: Finder
    give: Callable[[LegacyText, Found], str]
    old_form: bool = False
    """Whether it is looked for even where the text has no braces."""
