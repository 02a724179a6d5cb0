"""Regex scripts: find and replace on messages, lore and reasoning, as SillyTavern does it.

Owns the public entrance. Must not know where a text comes from, nor how a pattern is bounded: that
is tavern-matcher's, one bound for keys and scripts.

Source: SillyTavern 1.19.0, public/scripts/extensions/regex/engine.js.
"""

from tavern_compiler._regex_run import Scripting
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.regex_values import ScriptCall, ScriptedText, ScriptLists, ScriptSettings


def apply_regex_scripts(
    text: str,
    scripts: ScriptLists,
    call: ScriptCall,
    context: MacroContext | None = None,
    settings: ScriptSettings | None = None,
) -> ScriptedText:
    r"""Run all scripts on a text, each on what the one before has left.

    A script that is invalid, takes too long or makes too much leaves the text as it was, with a
    diagnostic whose path names the script. Macros in find patterns, replacements and trimmed texts
    are expanded; each match sees the variables that the one before has set.

    Raises MacroError where a macro needs dice or the time and the context has none.

    >>> from tavern_format import RegexScript
    >>> script = RegexScript(name="stars", find_regex=r"/\*(.+?)\*/g", replace_string="<i>$1</i>",
    ...                      placement=(2,))
    >>> done = apply_regex_scripts("*Bows.* Hm. *Goes.*", ScriptLists(shared=(script,)),
    ...                            ScriptCall(placement=2))
    >>> done.text, done.runs[0].outcome, done.runs[0].matches
    ('<i>Bows.</i> Hm. <i>Goes.</i>', <ScriptOutcome.REPLACED: 'replaced'>, 2)
    """
    chosen = ScriptSettings() if settings is None else settings
    work = Scripting(
        lists=scripts,
        call=call,
        context=MacroContext() if context is None else context,
        settings=chosen,
    )
    return ScriptedText(
        text=work.whole(text),
        runs=tuple(work.runs),
        variables=work.variables(),
        diagnostics=tuple(work.diagnostics),
    )
