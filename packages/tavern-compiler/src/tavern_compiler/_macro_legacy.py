"""SillyTavern's old engine: replacements in a fixed order, each over the whole text.

Owns the chain. Later steps see what earlier ones gave, so places noted are those in the text as the
step found it. A step that fails leaves the text as it was.

Source: SillyTavern 1.19.0, public/scripts/macros.js (evaluateMacros).
"""

import re

from attrs import evolve

from tavern_compiler._js_json import NestedTooDeepError
from tavern_compiler._macro_legacy_names import environment_steps
from tavern_compiler._macro_legacy_steps import AFTER, BEFORE
from tavern_compiler._macro_legacy_text import LegacyText
from tavern_compiler._macro_run import Run
from tavern_compiler._macro_variables import MacroRefusal
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.macro_fields import field_text, prepared

_LEFT = re.compile(r"\{\{(?P<name>[^{}\n]*)\}\}")


def expand_legacy(run: Run, context: MacroContext, text: str) -> str:
    """Expand a text as the old engine does; what is left between braces is named."""
    shown = _expanded(run, context, text, listed=True)
    for found in _LEFT.finditer(shown):
        refusal = MacroRefusal("the old engine knows no macro of this form")
        run.refuse(found["name"].partition(":")[0], found.span(), refusal)
    return shown


def _expanded(run: Run, context: MacroContext, content: str, *, listed: bool = False) -> str:
    text = LegacyText(
        run,
        context,
        content,
        field=lambda name: _field(run, context, name),
        whole=lambda other, inner: _expanded(run, other, inner),
    )
    for step in (*BEFORE, *environment_steps(text), *AFTER):
        if not text.content or ("{{" not in text.content and not step.old_form):
            break
        try:
            text.replace(step, listed=listed)
        except MacroRefusal as refusal:
            run.refuse(step.name, run.span, refusal)
        except NestedTooDeepError as fault:
            run.refuse(step.name, run.span, MacroRefusal(str(fault)))
    return text.content


def _field(run: Run, context: MacroContext, name: str) -> str:
    text = field_text(context, name)
    if not text:
        return ""
    inner = evolve(
        context, card=False, user_override=None, char_override=None, group_override=None,
        original=None, dynamic={}, post_process=None,
    )  # fmt: skip
    return prepared(_expanded(run, inner, text), context.host)
