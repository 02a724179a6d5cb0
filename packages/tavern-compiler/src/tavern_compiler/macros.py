"""Macros: the public entrance, one function over all engines.

Owns the result. Must not know where a text comes from, nor any macro by name.

Source: SillyTavern 1.19.0, public/script.js (substituteParams); the plugin contract, section A7.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

from attrs import evolve, field, frozen

from tavern_compiler._macro_engine import Evaluation
from tavern_compiler._macro_legacy import expand_legacy
from tavern_compiler._macro_plugin import expand_plugin
from tavern_compiler._macro_readings import Readings
from tavern_compiler._macro_rows_core import CORE
from tavern_compiler._macro_rows_state import STATE
from tavern_compiler._macro_rows_time import TIME
from tavern_compiler._macro_rows_variables import VARIABLES
from tavern_compiler._macro_run import MacroUse, Run
from tavern_compiler._text import trim
from tavern_compiler.macro_context import MacroContext, MacroLimits, Variables
from tavern_compiler.macro_table import Macro, Rows, rows_by_name
from tavern_format import Diagnostic

MACROS: tuple[Macro, ...] = (*CORE, *STATE, *TIME, *VARIABLES)
"""All rows of SillyTavern 1.19's new engine."""
_ROWS = rows_by_name(MACROS)


class MacroProfile(StrEnum):
    """Which engine is followed: one of SillyTavern's two, or the plugin's."""

    NEW = "st-1.19"
    """Reader, grammar, one pass: the default of SillyTavern 1.19."""
    LEGACY = "legacy"
    """A chain of replacements in a fixed order; later ones see what earlier ones gave."""
    DSH_TAVERN = "dsh-tavern"
    """The plugin's own, far smaller: what it does not know is removed, braces are broken up."""


@frozen(kw_only=True)
class Expansion:
    """A text with its macros expanded."""

    text: str
    used: tuple[MacroUse, ...] = ()
    """In the order in which they end; those of the card's fields are not among them."""
    variables: Variables = field(factory=Variables)
    """Both stores afterwards."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Paths are empty: only the caller knows where the text stands."""


@frozen(kw_only=True)
class MacroSettings:
    """How texts are expanded; made once for many texts."""

    macros: tuple[Macro, ...] = ()
    """Further rows; they win over those of the same name. Only the new engine has such a thing."""
    without: frozenset[str] = frozenset()
    """Names and aliases of macros that are not executed."""
    limits: MacroLimits = field(factory=MacroLimits)
    profile: MacroProfile = MacroProfile.NEW
    left_out: frozenset[str] = field(init=False, repr=False, eq=False)
    """`without` in lower case."""
    rows: Rows = field(init=False, repr=False, eq=False)
    """By lower-cased name and alias."""

    readings: Readings = field(factory=Readings, init=False, repr=False, eq=False)
    """Texts that were read already: most come again in the next turn."""

    @left_out.default
    def _lowered(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.without)

    @rows.default
    def _all_rows(self) -> Rows:
        rows = {**_ROWS, **rows_by_name(self.macros)}
        return {name: row for name, row in rows.items() if name not in self.left_out}


_DEFAULTS = MacroSettings()


def expand_macros(
    text: str, context: MacroContext, settings: MacroSettings = _DEFAULTS
) -> Expansion:
    r"""Replace the macros of a text; names are compared without case, results are not read again.

    A macro that is unknown, called wrongly or beyond a limit stays verbatim with a diagnostic;
    macros inside it are expanded. At the end `\{` and `\}` become braces.

    Raises MacroError where a macro needs dice or the time and the context has none, ValueError
    where dice give no number of at least 0 and below 1.

    >>> expand_macros("{{char}} greets {{User}}.", MacroContext(user="Bo", char="Aria")).text
    'Aria greets Bo.'
    """
    if not has_marks(text):
        shown = trim(text) if settings.profile is MacroProfile.DSH_TAVERN else text
        return Expansion(text=shown, variables=context.variables)
    return _expansion(run_of(context, settings), context, text, settings)


def expand_at(
    text: str, context: MacroContext, settings: MacroSettings, variables: Variables, place: str
) -> Expansion:
    """Do the same with other variables and another place than the context's: for many texts."""
    if not has_marks(text):
        return Expansion(text=text, variables=variables)
    run = Run(context, settings, variables=variables, place=place)
    return _expansion(run, context, text, settings)


def _expansion(run: Run, context: MacroContext, text: str, settings: MacroSettings) -> Expansion:
    return Expansion(
        text=expand_in(run, context, text, settings.profile),
        used=tuple(run.noted),
        variables=run.variables(),
        diagnostics=run.told(),
    )


def has_marks(text: str) -> bool:
    """Tell whether a text can hold a macro, old or new, or anything to unescape."""
    # Three searches in C: a set of signs would be asked about every single one.
    return "{" in text or "}" in text or "<" in text


def _expand_new(run: Run, context: MacroContext, text: str) -> str:
    return Evaluation(run, context, text, listed=True).whole()


_ENGINES: Mapping[MacroProfile, Callable[[Run, MacroContext, str], str]] = {
    MacroProfile.NEW: _expand_new,
    MacroProfile.LEGACY: expand_legacy,
    MacroProfile.DSH_TAVERN: expand_plugin,
}


def run_of(context: MacroContext, settings: MacroSettings) -> Run:
    """Begin a run: stores and limits of one text, or of several that share them."""
    return Run(context, settings)


def expand_in(run: Run, context: MacroContext, text: str, profile: MacroProfile) -> str:
    """Expand one text of a run."""
    return _ENGINES[profile](run, context, text)


def names_only(context: MacroContext) -> MacroContext:
    """Empty everything but names: card fields cannot hold each other, as in SillyTavern."""
    return evolve(context, card=False, original=None)


def at_path(diagnostics: tuple[Diagnostic, ...], path: str) -> tuple[Diagnostic, ...]:
    """Say where the expanded text stands."""
    return diagnostics and tuple(evolve(found, path=path) for found in diagnostics)
