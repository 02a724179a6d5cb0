"""Regex scripts in the projection: a `Rewrite` that runs them for the prompt.

Owns what scripts remember from text to text: the time they used up, and what was said already. Must
not know which texts there are.

Source: SillyTavern 1.19.0, public/script.js (Generate) and public/scripts/world-info.js.
"""

from attrs import evolve, field, frozen

from tavern_compiler._regex_run import Scripting
from tavern_compiler.macro_context import MacroContext, Variables
from tavern_compiler.regex_values import ScriptCall, ScriptLists, ScriptSettings
from tavern_compiler.st_macros import Rewrite, Rewritten, TextToRewrite, in_scope


@frozen(kw_only=True)
class _Memory:
    """Of a projection."""

    overtime_s: float = field(default=0.0, eq=False)
    """Used up by all scripts so far; no two machines agree on it."""
    said: frozenset[tuple[str, str]] = frozenset()
    """Codes and paths of diagnostics: each is told for the first text only."""


def rewrite_with(
    scripts: ScriptLists,
    context: MacroContext | None = None,
    settings: ScriptSettings | None = None,
) -> Rewrite:
    """Make a `Rewrite` of regex scripts, for those that are meant for the prompt.

    Names, card and chat are the projection's; all else is the context's: dice, time, host. The
    scripts of one projection share `ScriptLimits.total_s`. What it makes raises MacroError where a
    macro needs dice or the time and the context has none.
    """
    chosen = ScriptSettings() if settings is None else settings
    usual = MacroContext() if context is None else context

    def rewrite(given: TextToRewrite) -> Rewritten:
        memory = given.memory if isinstance(given.memory, _Memory) else _Memory()
        known = given.state if isinstance(given.state, Variables) else usual.variables
        work = Scripting(
            lists=scripts,
            call=ScriptCall(placement=given.placement, for_prompt=True, depth=given.depth),
            context=evolve(in_scope(usual, given.scope), variables=known),
            settings=chosen,
            overtime_s=memory.overtime_s,
        )
        text = work.whole(given.text)
        # The state of another kind of `Expand` is left to it.
        ours = given.state is None or isinstance(given.state, Variables)
        found = [one for one in work.diagnostics if (one.code, one.path) not in memory.said]
        said = memory.said | {(one.code, one.path) for one in found}
        return Rewritten(
            text=text,
            state=work.variables() if ours else given.state,
            memory=_Memory(overtime_s=work.overtime_s, said=said),
            runs=tuple(work.runs),
            diagnostics=tuple(found),
        )

    return rewrite
